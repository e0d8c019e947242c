// SPDX-License-Identifier: MIT
// Megatron-LM's arguments of precision, of kernels, of what overlaps, and variables of the environment.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/quantity_text.h"
#include "experiment/launchers/megatron_rows.h"
#include "workload/training/program/gradient_synchronisation.h"

namespace orrery::experiment {
namespace {

using R = LaunchReading;
using W = LaunchWriting;
using S = ArgumentShape;

// --- precision

// Recipes by --fp8-recipe.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kRecipes = {
    {{"delayed", "delayed"}, {"tensorwise", "tensorwise"}, {"blockwise", "block"}, {"mxfp8", "mxfp8"}}};

// Megatron-Bridge names precision and recipe in one word: "bf16_with_fp8_current_scaling_mixed". Facts:
// megatron/bridge/training/mixed_precision.py of NVIDIA-NeMo/Megatron-Bridge, 2025 and 2026.
struct MixedPrecision {
  std::string_view part;
  std::string_view recipe;
  bool parameters = false;           // fp8_param_gather
  std::int64_t first = 0, last = 0;  // layers in bf16
};
// The first that is a part of the word holds.
constexpr std::array<MixedPrecision, 9> kMixed = {{{"nemotron_h_bf16_with_fp8_current", "tensorwise", true, 2, 2},
                                                   {"nanov2_bf16_with_fp8_current", "blockwise", true, 2, 2},
                                                   {"nemotron_3_super_bf16_with_nvfp4", "nvfp4", false, 1, 14},
                                                   {"fp8_delayed", "delayed", true},
                                                   {"with_fp8_mixed", "delayed", true},  // its name of before
                                                   {"fp8_current", "tensorwise", true, 1, 1},
                                                   {"fp8_subchannel", "blockwise"},
                                                   {"mxfp8", "mxfp8"},
                                                   {"nvfp4", "nvfp4"}}};

// Precisions that --mixed-precision names; of no recipe where it names none.
MixedPrecision mixed_precision(const R& r) {
  std::string text = r.text_or("--mixed-precision");
  std::ranges::replace(text, '-', '_');
  const auto found = std::ranges::find_if(
      kMixed, [&](const MixedPrecision& mixed) { return text.find(mixed.part) != std::string::npos; });
  return found == kMixed.end() ? MixedPrecision{} : *found;
}

bool is_fp4(const R& r) { return r.given("--fp4-format") || mixed_precision(r).recipe == "nvfp4"; }
bool is_fp8(const R& r) {
  const bool is_off = r.text_or("--fp8-format") == "false";
  return (r.given("--fp8-format") && !is_off) || (!mixed_precision(r).recipe.empty() && !is_fp4(r));
}

std::string_view plain_precision(const R& r) {
  const std::string mixed = r.text_or("--mixed-precision", r.text_or("--precision"));
  if (r.is_on("--bf16") || mixed.find("bf16") != std::string::npos) return "bf16";
  if (r.is_on("--fp16") || mixed.find("16") != std::string::npos) return "fp16";
  return r.launcher() == Launcher::kMegatronBridge && mixed.empty() ? "bf16" : "fp32";
}

void read_recipe(R& r, std::string_view name, bool may_gather) {
  std::string recipe = fmt::format("like: {}", name);
  const MixedPrecision mixed = mixed_precision(r);
  const bool gathers = r.given("--fp8-param-gather") ? r.is_on("--fp8-param-gather") : mixed.parameters;
  if (may_gather) recipe += fmt::format(", parameters: {}", gathers);
  const bool of_mixed = mixed.first + mixed.last > 0;
  if (r.given("--first-last-layers-bf16") ? r.is_on("--first-last-layers-bf16") : of_mixed)
    recipe +=
        fmt::format(", first: {}, last: {}", r.number_or("--num-layers-at-start-in-bf16", of_mixed ? mixed.first : 1),
                    r.number_or("--num-layers-at-end-in-bf16", of_mixed ? mixed.last : 1));
  else if (name == "nvfp4")
    recipe += ", last: 0";
  r.set("workload.recipe", "{" + recipe + "}");
}

void read_precision(R& r) {
  r.owned_by({"--fp16", "--fp8-format", "--fp4-format", "--mixed-precision", "--precision"});
  if (r.is_on("--bf16") && r.is_on("--fp16"))
    return r.error("'--bf16' and '--fp16' are two precisions", "leave one of them out");
  if (is_fp4(r)) {
    r.owned_by({"--fp4-format"});
    r.set("workload.precision", std::string("nvfp4"));
    return read_recipe(r, "nvfp4", false);
  }
  if (!is_fp8(r)) return r.set("workload.precision", std::string(plain_precision(r)));
  const std::string_view mixed = mixed_precision(r).recipe;
  const std::string word =
      r.word_or("--fp8-recipe", mixed.empty() ? "delayed" : mixed, "delayed tensorwise blockwise mxfp8");
  const auto found = std::ranges::find(kRecipes, word, [](const auto& pair) { return std::string(pair.first); });
  r.set("workload.precision", std::string(word == "mxfp8" ? "mxfp8" : "fp8"));
  read_recipe(r, found->second, word == "delayed" || word == "tensorwise");
}

bool is_low(const W& w) { return is_of_products_only(w.job().precision); }

std::string recipe_word(const W& w) {
  const std::string name = w.job().recipe_of_casts().name;
  const auto found = std::ranges::find(kRecipes, name, [](const auto& pair) { return std::string(pair.second); });
  return std::string(found == kRecipes.end() ? "tensorwise" : found->first);
}

std::string_view precision_of_gradients(const R& r) {
  const std::string_view precision = plain_precision(r);
  const bool keeps = r.is_on("--accumulate-allreduce-grads-in-fp32");
  const bool refuses = r.given("--accumulate-allreduce-grads-in-fp32") && !keeps && r.files().is_configuration;
  if (precision == "bf16" && (r.is_on("--grad-reduce-in-bf16") || refuses)) return "bf16";
  return precision == "fp16" && !keeps ? "fp16" : "fp32";
}

void read_gradients(R& r) {
  r.owned_by({"--grad-reduce-in-bf16", "--accumulate-allreduce-grads-in-fp32", "--main-grads-dtype"});
  const std::string_view precision = plain_precision(r);
  const bool keeps = r.is_on("--accumulate-allreduce-grads-in-fp32");
  if (precision == "bf16" && keeps && r.is_on("--grad-reduce-in-bf16"))
    return r.error_at("--grad-reduce-in-bf16",
                      "'--grad-reduce-in-bf16' and '--accumulate-allreduce-grads-in-fp32' contradict each other",
                      "leave one of them out");
  r.set("workload.gradients", std::string(precision_of_gradients(r)));
}

std::vector<ArgumentRow> precision_rows() {
  return {
      {"--bf16", "", S::kSwitch, read_precision,
       [](W& w) {
         if (w.job().precision == Precision::kBf16 || is_low(w)) w.add();
       }},
      {"--mixed-precision", "", S::kText, nullptr, nullptr},
      {"--precision", "", S::kText, nullptr, nullptr},
      {"--fp16", "", S::kSwitch, nullptr,
       [](W& w) {
         if (w.job().precision == Precision::kFp16) w.add();
       }},
      {"--fp8-format", "--fp8", S::kText, nullptr,
       [](W& w) {
         if (is_low(w) && w.job().precision != Precision::kNvfp4) w.add(std::string("hybrid"));
       }},
      {"--fp8-recipe", "", S::kText, nullptr,
       [](W& w) {
         if (is_low(w) && w.job().precision != Precision::kNvfp4) w.add(recipe_word(w));
       }},
      {"--fp8-param-gather", "--fp8-param", S::kSwitch, nullptr,
       [](W& w) {
         if (is_low(w) && w.job().recipe_of_casts().parameters) w.add();
       }},
      {"--fp4-format", "--fp4", S::kText, nullptr,
       [](W& w) {
         if (w.job().precision == Precision::kNvfp4) w.add(std::string("e2m1"));
       }},
      {"--fp4-recipe", "", S::kText, nullptr, nullptr},
      {"--first-last-layers-bf16", "", S::kSwitch, nullptr,
       [](W& w) {
         if (is_low(w) && w.job().recipe_of_casts().first + w.job().recipe_of_casts().last > 0) w.add();
       }},
      {"--num-layers-at-start-in-bf16", "", S::kNumber, nullptr,
       [](W& w) {
         if (is_low(w) && w.job().recipe_of_casts().last > 0) w.add(w.job().recipe_of_casts().first);
       }},
      {"--num-layers-at-end-in-bf16", "", S::kNumber, nullptr,
       [](W& w) {
         if (is_low(w) && w.job().recipe_of_casts().first > 0) w.add(w.job().recipe_of_casts().last);
       }},
      {"--grad-reduce-in-bf16", "", S::kSwitch, read_gradients,
       [](W& w) {
         if (w.job().precision != Precision::kFp32 && w.job().software.gradients == Precision::kBf16) w.add();
       }},
      {"--accumulate-allreduce-grads-in-fp32", "--grad-reduce-in-fp32", S::kSwitch, nullptr,
       [](W& w) {
         if (w.job().precision == Precision::kFp16 && w.job().software.gradients == Precision::kFp32) w.add();
       }},
  };
}

// --- attention, dropout, loss

void read_attention(R& r) {
  r.owned_by({"--use-flash-attn", "--transformer-impl", "NVTE_UNFUSED_ATTN", "NVTE_FLASH_ATTN"});
  r.set("workload.model.attention", std::string(has_plain_attention(r) ? "plain" : "flash"));
  if (r.text_or("--attention-backend") == "flash") r.set("workload.software.footprint.attention_copy", true);
}

std::vector<ArgumentRow> kernel_rows() {
  return {
      {"--attention-backend", "", S::kText, read_attention,
       [](W& w) {
         const bool is_plain = workload::attention_of(w.job()) == workload::AttentionKind::kPlain;
         if (is_plain || w.job().software.footprint.attention_copy) w.add(std::string(is_plain ? "unfused" : "flash"));
       }},
      {"--use-flash-attn", "", S::kSwitch, nullptr, nullptr},
      {"--transformer-impl", "", S::kText,
       [](R& r) {
         if (r.text_or("--transformer-impl") != "local") return;
         r.set("workload.software.footprint.buffer", std::string("scores"));
         if (r.architecture() && r.number_or("--num-experts", 0) == 0)
           r.set(fmt::format("workload.software.footprint.workspaces.{}.modules", name_of(*r.architecture())),
                 std::string("0 B"));
       },
       [](W& w) {
         if (w.job().software.footprint.buffer == workload::SharedBuffer::kScores) w.add(std::string("local"));
       }},
      {"--hidden-dropout", "", S::kReal,
       [](R& r) {
         // Providers of Megatron-Bridge's models have none.
         const double silent = r.launcher() == Launcher::kMegatronBridge ? 0 : 0.1;
         const bool hidden = r.real_or("--hidden-dropout", silent) > 0;
         if (!hidden && r.real_or("--attention-dropout", silent) > 0 && r.given("--hidden-dropout"))
           r.warning("dropout of attention alone is not simulated: there is none", "--attention-dropout 0");
         r.set("workload.software.dropout", hidden);
       },
       [](W& w) { w.add(std::string(w.job().software.dropout ? "0.1" : "0.0")); }},
      {"--attention-dropout", "", S::kReal, nullptr,
       [](W& w) { w.add(std::string(w.job().software.dropout ? "0.1" : "0.0")); }},
  };
}

std::vector<ArgumentRow> loss_rows() {
  return {
      {"--cross-entropy-loss-fusion", "", S::kSwitch,
       [](R& r) {
         if (r.is_on("--cross-entropy-loss-fusion")) r.set("workload.software.footprint.loss", std::string("10 B"));
       },
       [](W& w) {
         if (w.job().software.footprint.loss == Bytes(10)) w.add();
       }},
      {"--defer-embedding-wgrad-compute", "", S::kSwitch,
       [](R& r) {
         if (!r.is_on("--defer-embedding-wgrad-compute")) return;
         const std::int64_t limit = r.number_or("--wgrad-deferral-limit", 0);
         r.set("workload.software.footprint.deferred_heads", limit > 0 ? limit : std::int64_t{65536});
       },
       [](W& w) {
         if (w.job().software.footprint.deferred_heads > 0) w.add();
       }},
      {"--wgrad-deferral-limit", "", S::kNumber, nullptr,
       [](W& w) {
         if (w.job().software.footprint.deferred_heads > 0) w.add(w.job().software.footprint.deferred_heads);
       }},
      {"--no-create-attention-mask-in-dataloader", "", S::kSwitch,
       [](R& r) {
         const bool is_bridge = r.launcher() == Launcher::kMegatronBridge;  // skip_getting_attention_mask_from_dataset
         const bool skips = r.is_on(r.name()) || (is_bridge && !r.given(r.name()));
         r.set("workload.software.footprint.attention_mask", !skips);
       },
       [](W& w) {
         if (!w.job().software.footprint.attention_mask) w.add();
       }},
      {"--deterministic-mode", "", S::kSwitch,
       [](R& r) {
         // Kernels of Transformer Engine are told apart by their variable; the mode is Megatron's own.
         r.owned_by({"CUBLAS_WORKSPACE_CONFIG", "NVTE_ALLOW_NONDETERMINISTIC_ALGO"});
         const std::string allowed = r.text_or("NVTE_ALLOW_NONDETERMINISTIC_ALGO");
         const bool is_asked_for = allowed.empty() ? r.is_on("--deterministic-mode") : allowed == "0";
         if (is_asked_for || r.given("CUBLAS_WORKSPACE_CONFIG")) r.set("workload.deterministic", true);
       },
       [](W& w) {
         if (w.job().deterministic) w.add();
       }},
  };
}

// --- overlap

void read_graphs(R& r) {
  r.owned_by({"--enable-cuda-graph", "--external-cuda-graph"});
  const std::string impl = r.word_or("--cuda-graph-impl", "none", "none local transformer_engine");
  if (impl == "none" && !r.is_on("--enable-cuda-graph") && !r.is_on("--external-cuda-graph")) return;
  const std::vector<std::string> scope = r.list("--cuda-graph-scope");
  const bool is_step = std::ranges::find(scope, "full_iteration") != scope.end();
  r.set("workload.software.host.graphs", std::string(is_step ? "step" : "dense"));
}

// Gradients of a bucket: DistributedDataParallelConfig of Megatron-Core. A size that is given holds with any
// number of replicas. Without --overlap-grad-reduce there are no buckets.
constexpr std::int64_t kBucket = 40'000'000, kBucketOfReplica = 1'000'000;

void read_bucket_size(R& r) {
  const bool is_given = r.given(r.name());
  if (!is_given && !r.is_on("--overlap-grad-reduce")) return;
  const double given = r.real_or(r.name(), static_cast<double>(kBucket));
  constexpr double kMost = 1e15;
  if (!(given >= 1 && given <= kMost))
    return r.error(fmt::format("'{}' is {}; 1 to {:g} gradients are expected", r.name(), given, kMost));
  const std::int64_t size = precision_of_gradients(r) == "fp32" ? 4 : 2;
  r.set("workload.overlap.bucket", to_text(Bytes(std::llround(given) * size)));
  r.set("workload.software.overlap.bucket_of_replica", to_text(Bytes(is_given ? 0 : kBucketOfReplica * size)));
}

void write_bucket_size(W& w) {
  const std::int64_t bucket = workload::bucket_parameters(w.job());
  const bool is_default = bucket == std::max(kBucket, kBucketOfReplica * w.job().parallel.replicas());
  if (w.job().software.overlap_gradients && !is_default) w.add(bucket);
}

std::vector<ArgumentRow> overlap_rows() {
  using workload::GraphScope;
  using workload::TensorOverlap;
  return {
      {"--tp-comm-overlap", "", S::kSwitch,
       [](R& r) {
         if (r.number_or("--tensor-model-parallel-size", 1) <= 1) return;
         // Without it, modules of Transformer Engine and Megatron-Core start the collective of an input gradient before
         // the weight gradient.
         r.set("workload.software.overlap.tensor",
               std::string(r.is_on("--tp-comm-overlap") ? "pieces" : "weight-gradient"));
       },
       [](W& w) {
         if (w.job().parallel.tensor() > 1 && w.job().software.overlap_tensor == TensorOverlap::kPieces) w.add();
       }},
      {"--overlap-grad-reduce", "", S::kSwitch,
       [](R& r) { r.set("workload.overlap.gradients", r.is_on("--overlap-grad-reduce")); },
       [](W& w) {
         if (w.job().software.overlap_gradients) w.add();
       }},
      {"--overlap-param-gather", "", S::kSwitch,
       [](R& r) { r.set("workload.software.overlap.parameters", r.is_on("--overlap-param-gather")); },
       [](W& w) {
         if (w.job().software.overlap_parameters) w.add();
       }},
      {"--ddp-bucket-size", "--bucket-size", S::kReal, read_bucket_size, write_bucket_size},
      {"--cuda-graph-impl", "", S::kText, read_graphs,
       [](W& w) {
         if (w.job().software.host.graphs != GraphScope::kNone)
           w.add(std::string(w.job().software.host.graphs == GraphScope::kStep ? "local" : "transformer_engine"));
       }},
      {"--cuda-graph-scope", "--cuda-graph-modules", S::kList, nullptr,
       [](W& w) {
         if (w.job().software.host.graphs != GraphScope::kNone)
           w.add(std::string(w.job().software.host.graphs == GraphScope::kStep ? "full_iteration" : "attn"));
       }},
      {"--enable-cuda-graph", "", S::kSwitch, nullptr, nullptr},
      {"--external-cuda-graph", "", S::kSwitch, nullptr, nullptr},
  };
}

// --- environment

struct NcclWord {
  std::string_view theirs;
  std::string_view ours;
};

// "Ring", "^NVLS,NVLSTree" as a list of what is left.
void read_nccl(R& r, std::string text, std::string_view key, std::span<const NcclWord> words) {
  if (text.empty()) return;
  const bool excludes = text.front() == '^';
  if (excludes) text.erase(0, 1);
  const auto is_named = [&](std::string_view theirs) {
    std::string lower = "," + text + ",";
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower.find(fmt::format(",{},", theirs)) != std::string::npos;
  };
  std::vector<std::string_view> kept;
  for (const NcclWord& word : words)
    if (is_named(word.theirs) != excludes) kept.push_back(word.ours);
  if (kept.empty() || kept.size() == words.size())
    return r.leave_out(fmt::format("'{}' names none of NCCL's that are known here", printable(text, 40)));
  r.set(key, fmt::format("[{}]", fmt::join(kept, ", ")));
}

// Variables that change the ways of messages where they are not 0, their default.
void read_disabled(R& r) {
  if (r.text_or(r.name(), "0") != "0") r.leave_out("messages take the ways that NCCL takes by default");
}

std::vector<ArgumentRow> environment_rows() {
  return {
      {"NCCL_ALGO", "", S::kText,
       [](R& r) {
         constexpr std::array<NcclWord, 7> kWords = {{{"ring", "ring"},
                                                      {"tree", "tree"},
                                                      {"collnetdirect", "collnet-direct"},
                                                      {"collnetchain", "collnet-chain"},
                                                      {"nvls", "nvls"},
                                                      {"nvlstree", "nvls-tree"},
                                                      {"pat", "pat"}}};
         const bool has_switches = r.text_or("NCCL_NVLS_ENABLE", "2") != "0";
         if (has_switches) return read_nccl(r, r.text_or("NCCL_ALGO"), "collectives.algo", kWords);
         r.owned_by({"NCCL_NVLS_ENABLE"});
         const std::string text = r.text_or("NCCL_ALGO");
         const std::string without = text.empty()          ? "^nvls,nvlstree"
                                     : text.front() == '^' ? text + ",nvls,nvlstree"
                                                           : text;
         read_nccl(r, without, "collectives.algo", kWords);
       },
       nullptr},
      {"NCCL_NVLS_ENABLE", "", S::kText, nullptr, nullptr},
      {"NCCL_PROTO", "", S::kText,
       [](R& r) {
         constexpr std::array<NcclWord, 3> kWords = {{{"ll", "ll"}, {"ll128", "ll128"}, {"simple", "simple"}}};
         read_nccl(r, r.text_or("NCCL_PROTO"), "collectives.proto", kWords);
       },
       nullptr},
      {"NCCL_P2P_DISABLE", "", S::kText, read_disabled, nullptr},
      {"NCCL_SHM_DISABLE", "", S::kText, read_disabled, nullptr},
      {"NCCL_IB_DISABLE", "", S::kText, read_disabled, nullptr},
      {"NCCL_COLLNET_ENABLE", "", S::kText, read_disabled, nullptr},
      {"CUBLAS_WORKSPACE_CONFIG", "", S::kAny, nullptr, nullptr},
      {"NVTE_ALLOW_NONDETERMINISTIC_ALGO", "", S::kText, nullptr, nullptr},
      {"NVTE_FLASH_ATTN", "", S::kText, nullptr, nullptr},
      {"NVTE_FUSED_ATTN", "", S::kText, nullptr, nullptr},
      {"NVTE_UNFUSED_ATTN", "", S::kText, nullptr, nullptr},
  };
}

}  // namespace

bool has_plain_attention(const LaunchReading& r) {
  std::string backend = r.text_or("--attention-backend", "auto");  // or "AttnBackend.flash"
  if (const std::size_t dot = backend.rfind('.'); dot != std::string::npos) backend.erase(0, dot + 1);
  if (backend == "unfused") return true;
  if (backend == "flash" || backend == "fused" || r.is_on("--use-flash-attn")) return false;
  if (backend == "local" || r.text_or("--transformer-impl") == "local") return true;
  return r.text_or("NVTE_FLASH_ATTN", "1") == "0" && r.text_or("NVTE_FUSED_ATTN", "1") == "0";
}

std::vector<ArgumentRow> megatron_software_rows() {
  std::vector<ArgumentRow> rows = precision_rows();
  for (const auto& part : {kernel_rows(), loss_rows(), overlap_rows(), environment_rows()})
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace orrery::experiment
