// SPDX-License-Identifier: MIT
// Megatron-LM's arguments of experts, of degrees of parallelism, of batches and of pipelines.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "experiment/launchers/argument_files.h"
#include "experiment/launchers/megatron_rows.h"
#include "workload/training/pipeline/layout.h"

namespace orrery::experiment {
namespace {

using R = LaunchReading;
using W = LaunchWriting;
using S = ArgumentShape;
using workload::ParallelDimension;

// --- experts

bool has_experts(const R& r) { return r.number_or("--num-experts", 0) > 0; }
bool has_experts(const W& w) { return w.model().experts > 0; }

std::int64_t expert_hidden(const R& r) {
  return r.number_or("--moe-ffn-hidden-size", r.number_or("--ffn-hidden-size", 0));
}

void read_shared_experts(R& r) {
  const std::int64_t shared = r.number_or("--moe-shared-expert-intermediate-size", 0), one = expert_hidden(r);
  if (!has_experts(r) || shared <= 0 || one <= 0) return;
  const std::int64_t count = (shared + one / 2) / one;
  if (shared % one != 0)
    r.leave_out(fmt::format("shared experts are as wide as others here, {}: counted as {}", one, count));
  if (count > 0) r.set("workload.model.shared_experts", count);
}

// Leading dense layers and an interval behind them, the last of each so many with experts, that give `list`.
std::optional<std::pair<std::int64_t, std::int64_t>> depth_rule(const std::vector<std::int64_t>& list) {
  const auto first = std::ranges::find(list, 1) - list.begin();
  constexpr std::int64_t kMostInterval = 16;
  for (std::int64_t interval = 1; interval <= std::min<std::int64_t>(kMostInterval, first + 1); ++interval) {
    const std::int64_t dense = first + 1 - interval;
    bool fits = true;
    for (std::int64_t layer = dense; fits && layer < static_cast<std::int64_t>(list.size()); ++layer)
      fits = (list[static_cast<std::size_t>(layer)] != 0) == ((layer - dense + 1) % interval == 0);
    if (fits) return std::pair(dense, interval);
  }
  return std::nullopt;
}

// Layers that have experts: as a rule where there is one, else as kinds of layers, over and over.
void read_layer_frequency(R& r) {
  if (!has_experts(r) || !r.given("--moe-layer-freq")) return;
  std::vector<std::int64_t> list = python_list(r.text_or("--moe-layer-freq"));
  if (list.empty())
    return r.error(fmt::format("'--moe-layer-freq' is '{}'; a number or a list of 0 and 1 is expected",
                               printable(r.text_or("--moe-layer-freq"), 60)),
                   "--moe-layer-freq ([0]*3+[1]*58)");
  const bool is_number = list.size() == 1 && list.front() > 0;
  if (is_number) {  // layers 0, N, 2N and so on have experts
    const std::int64_t interval = std::min<std::int64_t>(list.front(), 1000);
    list.assign(static_cast<std::size_t>(interval), 0);
    list.front() = 1;
    if (r.number_or("--num-layers", 0) % interval == 0) std::ranges::reverse(list);  // of as many, one
  }
  if (std::ranges::find(list, 1) == list.end())
    return r.error("'--moe-layer-freq' has no layer with experts", "leave --num-experts out");
  if (const auto rule = depth_rule(list)) {
    if (rule->first > 0) r.set("workload.model.dense_layers", rule->first);
    if (rule->second > 1) r.set("workload.model.expert_interval", rule->second);
    return;
  }
  std::string pattern;
  for (const std::int64_t layer : list) pattern += layer == 0 ? "D" : "E";
  r.set("workload.model.kinds", std::string("{D: {feed_forward: dense}, E: {feed_forward: experts}}"));
  r.set("workload.model.pattern", pattern);
}

// "([0]*3+[1]*58)": what follows in each layer, in runs.
void write_layer_frequency(W& w) {
  const workload::TransformerSpec& model = w.model();
  if (!has_experts(w) || model.expert_layers() == model.layers) return;
  std::string runs;
  for (std::int64_t layer = 0; layer < model.layers;) {
    std::int64_t end = layer;
    while (end < model.layers && model.has_experts(end) == model.has_experts(layer)) ++end;
    runs += fmt::format("{}[{}]*{}", runs.empty() ? "" : "+", model.has_experts(layer) ? 1 : 0, end - layer);
    layer = end;
  }
  w.add("(" + runs + ")");
}

void read_dispatch(R& r) {
  if (!has_experts(r) || r.number_or("--expert-model-parallel-size", 1) <= 1) return;
  const std::string type =
      r.word_or("--moe-token-dispatcher-type", "allgather", "allgather alltoall alltoall_seq flex");
  const std::string backend = r.text_or("--moe-flex-dispatcher-backend", "deepep");
  const bool is_flex = type == "flex" || r.is_on("--moe-enable-deepep");
  r.set("workload.experts.dispatch", std::string(is_flex               ? (backend == "hybridep" ? "hybridep" : "deepep")
                                                 : type == "allgather" ? "all-gather"
                                                                       : "all-to-all"));
}

void write_dispatch(W& w) {
  if (!has_experts(w) || w.job().parallel.expert <= 1) return;
  const std::string& name = w.job().experts.dispatch.name;
  w.add(std::string(name == "all-gather" ? "allgather" : name == "all-to-all" ? "alltoall" : "flex"));
}

bool is_flex(const W& w) {
  const std::string& name = w.job().experts.dispatch.name;
  return has_experts(w) && w.job().parallel.expert > 1 && name != "all-gather" && name != "all-to-all";
}

std::vector<ArgumentRow> expert_model_rows() {
  return {
      {"--num-experts", "--num-moe-experts", S::kNumber, [](R& r) { r.set_number("workload.model.experts"); },
       [](W& w) {
         if (has_experts(w)) w.add(w.model().experts);
       }},
      {"--moe-router-topk", "", S::kNumber,
       [](R& r) {
         if (has_experts(r)) r.set("workload.model.experts_per_token", r.number_or("--moe-router-topk", 2));
       },
       [](W& w) {
         if (has_experts(w)) w.add(w.model().experts_per_token);
       }},
      {"--moe-ffn-hidden-size", "", S::kNumber,
       [](R& r) {
         if (has_experts(r) && expert_hidden(r) > 0) r.set("workload.model.expert_hidden", expert_hidden(r));
       },
       [](W& w) {
         if (has_experts(w)) w.add(w.model().expert_hidden);
       }},
      {"--moe-shared-expert-intermediate-size", "", S::kNumber, read_shared_experts,
       [](W& w) {
         if (w.model().shared_experts > 0) w.add(w.model().shared_experts * w.model().expert_hidden);
       }},
      {"--moe-layer-freq", "", S::kText, read_layer_frequency, write_layer_frequency},
      {"--moe-router-num-groups", "", S::kNumber,
       [](R& r) {
         if (has_experts(r)) r.set_number("workload.model.expert_groups");
       },
       [](W& w) {
         if (w.model().expert_groups > 1) w.add(w.model().expert_groups);
       }},
      {"--moe-router-group-topk", "", S::kNumber,
       [](R& r) {
         if (has_experts(r)) r.set_number("workload.model.groups_per_token");
       },
       [](W& w) {
         if (w.model().expert_groups > 1) w.add(w.model().groups_per_token);
       }},
  };
}

std::vector<ArgumentRow> expert_job_rows() {
  return {
      {"--moe-token-dispatcher-type", "", S::kText, read_dispatch, write_dispatch},
      {"--moe-enable-deepep", "", S::kSwitch, nullptr,
       [](W& w) {
         if (is_flex(w) && w.job().experts.dispatch.name == "deepep") w.add();
       }},
      {"--moe-flex-dispatcher-backend", "", S::kText, nullptr,
       [](W& w) {
         if (is_flex(w)) w.add(w.job().experts.dispatch.name);
       }},
      {"--moe-shared-expert-overlap", "", S::kSwitch,
       [](R& r) {
         if (has_experts(r) && r.is_on("--moe-shared-expert-overlap")) r.set("workload.experts.overlap_shared", true);
       },
       [](W& w) {
         if (w.job().experts.overlap_shared) w.add();
       }},
      {"--moe-expert-capacity-factor", "", S::kReal,
       [](R& r) {
         const double factor = r.real_or("--moe-expert-capacity-factor", -1);
         if (has_experts(r) && factor > 0) r.set("workload.experts.capacity_factor", fmt::format("{}", factor));
       },
       [](W& w) {
         if (w.job().experts.capacity > 0) w.add(fmt::format("{}", w.job().experts.capacity));
       }},
      {"--moe-pad-expert-input-to-capacity", "", S::kSwitch,
       [](R& r) {
         if (r.is_on("--moe-pad-expert-input-to-capacity")) r.set("workload.experts.pad_to_capacity", true);
       },
       [](W& w) {
         if (w.job().experts.pads) w.add();
       }},
      {"--moe-router-padding-for-fp8", "--moe-router-padding-for-quantization", S::kSwitch,
       [](R& r) {
         // 32 rows of mxfp8, 16 of fp8: the arguments' own help.
         const bool is_mx = r.text_or("--fp8-recipe") == "mxfp8";
         if (r.is_on("--moe-router-padding-for-fp8"))
           r.set("workload.experts.row_multiple", std::int64_t{is_mx ? 32 : 16});
       },
       [](W& w) {
         if (w.job().experts.row_multiple > 1) w.add();
       }},
      {"--moe-grouped-gemm", "", S::kSwitch,
       [](R& r) {
         if (has_experts(r))
           r.set("workload.software.footprint.grouped", std::int64_t{r.is_on("--moe-grouped-gemm") ? 4 : 0});
       },
       [](W& w) {
         if (has_experts(w) && w.job().software.footprint.grouped > 0) w.add();
       }},
  };
}

// --- degrees

void read_degrees(R& r) {
  r.set("workload.parallel.tensor", r.number_or("--tensor-model-parallel-size", 1));
  const std::int64_t shared = r.number_or("--tensor-model-parallel-size", 1) *
                              r.number_or("--pipeline-model-parallel-size", 1) *
                              r.number_or("--context-parallel-size", 1);
  const std::int64_t world = world_of(r);
  if (shared > 0 && world % shared != 0)
    return r.error(fmt::format("a replica has {} ranks, which do not divide the {} of the cluster", shared, world),
                   "--nodes N says how many nodes the script is for");
  if (r.files().ranks == 0 || shared <= 0)
    r.set("workload.parallel.data", std::string("rest"));
  else
    r.set("workload.parallel.data", std::max<std::int64_t>(1, r.files().ranks / shared));
}

void read_context_kind(R& r) {
  if (r.number_or("--context-parallel-size", 1) <= 1) return;
  const std::vector<std::string> kinds = r.list("--cp-comm-type");
  const std::string kind = kinds.empty() ? "p2p" : kinds.front();
  if (std::ranges::any_of(kinds, [&](const std::string& other) { return other != kind; }))
    r.leave_out(fmt::format("all layers exchange alike here: by {}", kind));
  const std::vector<std::pair<std::string_view, std::string_view>> known = {{"p2p", "ring"},
                                                                            {"allgather", "all-gather"},
                                                                            {"all_gather", "all-gather"},
                                                                            {"a2a", "all-to-all"},
                                                                            {"a2a+p2p", "all-to-all+ring"}};
  const auto found = std::ranges::find(known, kind, [](const auto& pair) { return std::string(pair.first); });
  if (found == known.end())
    return r.error(
        fmt::format("'--cp-comm-type' is '{}'; one of p2p, allgather, a2a, a2a+p2p is expected", printable(kind, 40)));
  r.set("workload.parallel.context_kind", std::string(found->second));
  const std::vector<std::string> levels = r.list("--hierarchical-context-parallel-sizes");
  if (found->second == "all-to-all+ring" && !levels.empty()) r.set("workload.parallel.context_inner", levels.front());
}

void write_context_kind(W& w) {
  if (w.job().parallel.context() == 1) return;
  constexpr std::array<std::string_view, 4> kWords = {"p2p", "allgather", "a2a", "a2a+p2p"};
  w.add(std::string(kWords[static_cast<std::size_t>(w.job().parallel.context_kind)]));
}

std::vector<ArgumentRow> degree_rows() {
  return {
      {"--tensor-model-parallel-size", "--model-parallel-size", S::kNumber, read_degrees,
       [](W& w) { w.add(w.job().parallel.tensor()); }},
      {"--pipeline-model-parallel-size", "", S::kNumber,
       [](R& r) { r.set("workload.parallel.pipeline", r.number_or("--pipeline-model-parallel-size", 1)); },
       [](W& w) { w.add(w.job().parallel.pipeline()); }},
      {"--context-parallel-size", "", S::kNumber, [](R& r) { r.set_number("workload.parallel.context"); },
       [](W& w) {
         if (w.job().parallel.context() > 1) w.add(w.job().parallel.context());
       }},
      {"--cp-comm-type", "", S::kList, read_context_kind, write_context_kind},
      {"--hierarchical-context-parallel-sizes", "", S::kList, nullptr,
       [](W& w) {
         const workload::Parallelism& parallel = w.job().parallel;
         if (parallel.context_kind == workload::ContextKind::kAllToAllRing && parallel.context_inner > 0)
           w.add_values(
               {std::to_string(parallel.context_inner), std::to_string(parallel.context() / parallel.context_inner)});
       }},
      {"--sequence-parallel", "", S::kSwitch,
       [](R& r) {
         r.set("workload.parallel.sequence",
               r.is_on("--sequence-parallel") && r.number_or("--tensor-model-parallel-size", 1) > 1);
       },
       [](W& w) {
         if (w.job().parallel.sequence) w.add();
       }},
      {"--expert-model-parallel-size", "", S::kNumber,
       [](R& r) {
         if (has_experts(r)) r.set_number("workload.parallel.expert");
       },
       [](W& w) {
         if (has_experts(w)) w.add(w.job().parallel.expert);
       }},
      {"--expert-tensor-parallel-size", "", S::kNumber,
       [](R& r) {
         if (!has_experts(r)) return;
         if (r.number("--expert-tensor-parallel-size")) r.set_number("workload.parallel.expert_tensor");
       },
       [](W& w) {
         if (has_experts(w) && w.job().parallel.expert_tensor > 0) w.add(w.job().parallel.expert_tensor);
       }},
      {"--use-tp-pp-dp-mapping", "", S::kSwitch,
       [](R& r) {
         if (r.is_on("--use-tp-pp-dp-mapping"))
           r.set("workload.parallel.order", std::string("[tensor, context, pipeline, data]"));
       },
       [](W& w) {
         if (w.job().parallel.order[2] == ParallelDimension::kPipeline) w.add();
       }},
  };
}

// --- batch and pipeline

std::int64_t layers_of_chunks(const R& r) {
  return r.number_or("--num-layers", 0) + (r.is_on("--account-for-embedding-in-pipeline-split") ? 1 : 0) +
         (r.is_on("--account-for-loss-in-pipeline-split") ? 1 : 0);
}

// The layout, with modules of multi-token prediction where they are computed here: with the head.
std::string layout_text(const R& r) {
  const std::string given = r.text_or("--pipeline-model-parallel-layout");
  workload::Layout layout;
  if (given.empty() || given.find('m') == std::string::npos || !workload::parse_layout(given, layout)) return given;
  std::string moved, modules;
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::string& part = given[i] == 'm' ? modules : moved;
    part += given[i];
    if (given[i] != 'm' || i + 1 >= given.size() || given[i + 1] != '*') continue;
    for (++i; i < given.size() && (given[i] == '*' || std::isdigit(static_cast<unsigned char>(given[i])) != 0); ++i)
      modules += given[i];
    --i;
  }
  const std::size_t loss = moved.rfind('L');
  if (loss == std::string::npos) return given;
  moved.insert(loss, modules);
  return workload::parse_layout(moved, layout) ? given : moved;  // of what is wrong otherwise its reader tells
}

std::int64_t virtual_stages(R& r) {
  const std::int64_t stages = r.number_or("--pipeline-model-parallel-size", 1);
  if (const std::string text = layout_text(r); !text.empty()) {
    workload::Layout layout;
    if (workload::parse_layout(text, layout) || stages <= 0) return 1;  // its reader tells
    return static_cast<std::int64_t>(layout.layers.size()) / stages;
  }
  const std::string pattern = r.text_or("--hybrid-override-pattern");
  if (const std::int64_t ends = std::ranges::count(pattern, '|'); ends > 0 && stages > 0) return (ends + 1) / stages;
  if (const auto chunks = r.number("--num-virtual-stages-per-pipeline-rank")) return *chunks;
  const std::int64_t layers = r.number_or("--num-layers-per-virtual-pipeline-stage", 0);
  if (layers <= 0 || stages <= 0) return 1;
  if (layers_of_chunks(r) % (stages * layers) != 0)
    r.error(fmt::format("{} layers do not make chunks of {} on {} stages", layers_of_chunks(r), layers, stages),
            "--num-layers-per-virtual-pipeline-stage divides num-layers / pipeline-model-parallel-size");
  return std::max<std::int64_t>(1, layers_of_chunks(r) / (stages * layers));
}

void read_schedule(R& r) {
  if (r.number_or("--pipeline-model-parallel-size", 1) <= 1) return;
  if (r.given("--num-layers-per-virtual-pipeline-stage") && r.given("--num-virtual-stages-per-pipeline-rank"))
    return r.error_at("--num-virtual-stages-per-pipeline-rank",
                      "'--num-virtual-stages-per-pipeline-rank' and '--num-layers-per-virtual-pipeline-stage' say the "
                      "same of a pipeline",
                      "leave one of them out");
  r.owned_by({"--num-virtual-stages-per-pipeline-rank", "--pipeline-model-parallel-layout"});
  const std::int64_t chunks = virtual_stages(r);
  r.set("workload.schedule.kind", std::string(chunks > 1 ? "1f1b-interleaved" : "1f1b"));
  if (chunks > 1) r.set("workload.schedule.virtual_stages", chunks);
  r.set("workload.software.overlap.pipeline", chunks > 1 && !r.is_on("--no-overlap-p2p-communication"));
}

bool has_layout(const W& w) { return !w.job().pipeline_layers.empty(); }

void read_layer_rule(R& r) {
  if (r.number_or("--pipeline-model-parallel-size", 1) <= 1) return;
  r.owned_by({"--decoder-last-pipeline-num-layers", "--account-for-embedding-in-pipeline-split",
              "--account-for-loss-in-pipeline-split"});
  std::string rule;
  const auto add = [&](const std::string& part) { rule += (rule.empty() ? "" : ", ") + part; };
  const bool embedding = r.is_on("--account-for-embedding-in-pipeline-split");
  const bool loss = r.is_on("--account-for-loss-in-pipeline-split");
  if (embedding || loss)
    add(fmt::format("account_for: [{}{}{}]", embedding ? "embedding" : "", embedding && loss ? ", " : "",
                    loss ? "loss" : ""));
  if (const auto first = r.number("--decoder-first-pipeline-num-layers")) add(fmt::format("first: {}", *first));
  if (const auto last = r.number("--decoder-last-pipeline-num-layers")) add(fmt::format("last: {}", *last));
  if (!rule.empty()) r.set("workload.pipeline_layers", "{" + rule + "}");
}

std::string layout_of(const W& w) {
  const std::vector<std::int64_t>& layers = w.job().pipeline_layers;
  std::string text = "E";
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    if (stage > 0) text += "|";
    if (layers[stage] > 0) text += fmt::format("t*{}", layers[stage]);
  }
  if (w.model().mtp_layers > 0) text += fmt::format("m*{}", w.model().mtp_layers);
  return text + "L";
}

std::vector<ArgumentRow> batch_rows() {
  return {
      {"--micro-batch-size", "--batch-size", S::kNumber, [](R& r) { r.needs_number("workload.batch.micro"); },
       [](W& w) { w.add(w.job().micro_batch); }},
      {"--global-batch-size", "", S::kNumber, [](R& r) { r.needs_number("workload.batch.global"); },
       [](W& w) { w.add(w.job().global_batch); }},
  };
}

std::vector<ArgumentRow> pipeline_rows() {
  return {
      {"--num-layers-per-virtual-pipeline-stage", "", S::kNumber, read_schedule, nullptr},
      {"--num-virtual-stages-per-pipeline-rank", "--virtual-pipeline-model-parallel-size", S::kNumber, nullptr,
       [](W& w) {
         if (w.job().virtual_stages > 1 && !has_layout(w)) w.add(w.job().virtual_stages);
       }},
      {"--microbatch-group-size-per-virtual-pipeline-stage", "--microbatch-group-size-per-vp-stage", S::kNumber,
       [](R& r) {
         if (r.number_or("--pipeline-model-parallel-size", 1) > 1) r.set_number("workload.schedule.group");
       },
       [](W& w) {
         if (w.job().schedule_group > 0) w.add(w.job().schedule_group);
       }},
      {"--no-overlap-p2p-communication", "", S::kSwitch, nullptr,
       [](W& w) {
         if (w.job().virtual_stages > 1 && !w.job().software.overlap_pipeline) w.add();
       }},
      {"--overlap-moe-expert-parallel-comm", "", S::kSwitch,
       [](R& r) {
         if (r.is_on("--overlap-moe-expert-parallel-comm")) r.set("workload.schedule.overlap_passes", true);
       },
       [](W& w) {
         if (w.job().overlap_passes) w.add();
       }},
      {"--pipeline-model-parallel-layout", "", S::kText,
       [](R& r) {
         const std::string text = layout_text(r);
         if (text != r.text_or("--pipeline-model-parallel-layout"))
           r.warning("modules of multi-token prediction are computed with the head here, on the last stage");
         if (!text.empty()) r.set("workload.pipeline_layers", "\"" + text + "\"");
       },
       [](W& w) {
         if (has_layout(w)) w.add(layout_of(w));
       }},
      {"--decoder-first-pipeline-num-layers", "--num-layers-in-first-pipeline-stage", S::kNumber, read_layer_rule,
       [](W& w) {
         if (w.job().layer_rule.first) w.add(*w.job().layer_rule.first);
       }},
      {"--decoder-last-pipeline-num-layers", "--num-layers-in-last-pipeline-stage", S::kNumber, nullptr,
       [](W& w) {
         if (w.job().layer_rule.last) w.add(*w.job().layer_rule.last);
       }},
      {"--account-for-embedding-in-pipeline-split", "", S::kSwitch, nullptr,
       [](W& w) {
         if (w.job().layer_rule.embedding) w.add();
       }},
      {"--account-for-loss-in-pipeline-split", "", S::kSwitch, nullptr,
       [](W& w) {
         if (w.job().layer_rule.loss) w.add();
       }},
  };
}

}  // namespace

std::vector<ArgumentRow> megatron_expert_rows() {
  std::vector<ArgumentRow> rows = expert_model_rows();
  for (const ArgumentRow& row : expert_job_rows()) rows.push_back(row);
  return rows;
}

std::vector<ArgumentRow> megatron_parallel_rows() {
  std::vector<ArgumentRow> rows = degree_rows();
  for (const auto& part : {batch_rows(), pipeline_rows()}) rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace orrery::experiment
