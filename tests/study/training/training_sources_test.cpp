// SPDX-License-Identifier: MIT
// The shipped tables of training jobs against the files they were transcribed from, which lie beside the sources: every
// row of the one is a row of the other, with the same settings and the same figure, and none is missing but for a
// reason that stands here.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "study/validate/training/validation.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;
using namespace orrery::workload;

namespace {

const std::filesystem::path kPublished = ORRERY_SOURCE_DIR "/../shared/data/training";

using Cells = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',')
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  return cells;
}

// Rows of CSV without quotes, by column.
std::vector<Cells> csv(const std::string& name) {
  std::ifstream file(kPublished / name);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = split(line);
  std::vector<Cells> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line);
    REQUIRE(cells.size() == columns.size());
    Cells& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) row[columns[i]] = cells[i];
  }
  return rows;
}

// A table of papers.yaml in the same form, with what its rows have in common.
std::vector<Cells> paper(const std::string& name) {
  Diagnostics diagnostics;
  const ConfigValue root = ConfigFiles(kPublished).load(kPublished / "papers.yaml", {}, diagnostics);
  diagnostics.throw_if_errors();
  const ConfigEntry* table = root.find(name);
  REQUIRE(table != nullptr);
  Cells common;
  if (const ConfigEntry* entries = table->value.find("common"))
    for (const ConfigEntry& entry : entries->value.entries) common[entry.key] = entry.value.scalar;
  std::vector<Cells> rows;
  for (const ConfigValue& item : table->value.find("rows")->value.items) {
    Cells& row = rows.emplace_back(common);
    auto cell = item.items.begin();
    for (const ConfigValue& column : table->value.find("columns")->value.items) row[column.scalar] = (cell++)->scalar;
  }
  return rows;
}

std::int64_t whole(const Cells& row, const std::string& column) { return std::stoll(row.at(column)); }

// What a source and a table both say of a run, as one text to compare; figures to nine digits.
struct Run {
  std::int64_t gpus = 0, tensor = 1, pipeline = 1, context = 1, zero = -1;  // -1: the source does not say
  std::int64_t hidden = -1, layers = -1, heads = -1, sequence = -1;
  std::int64_t global = -1, micro = -1, virtual_stages = -1;
  std::string recompute = "-", precision = "-";
  double figure = 0;

  std::string text() const {
    return fmt::format("{} GPUs, tp {} pp {} cp {} zero {}, h {} l {} a {} s {}, batch {} / {}, v {}, {}, {}: {:.9g}",
                       gpus, tensor, pipeline, context, zero, hidden, layers, heads, sequence, global, micro,
                       virtual_stages, recompute, precision, figure);
  }
};

std::string_view word_of(Recompute recompute) {
  return recompute == Recompute::kNone ? "none" : recompute == Recompute::kFull ? "full" : "selective";
}

// The rows of the tables, without what the source that `like` comes from does not say.
std::vector<std::string> shipped(const std::set<std::string>& names, const Run& like) {
  std::vector<std::string> texts;
  for (const TrainingTable& table : list_tables<TrainingTable>(kFiles)) {
    if (!names.contains(table.name)) continue;
    for (const TrainingRow& row : table.rows) {
      Diagnostics diagnostics;
      const TrainingCase one = read_training_case(table, row, kFiles, diagnostics);
      const TrainingSpec& spec = *one.experiment.jobs.front().workload.training;
      const TransformerSpec& model = *spec.transformer();
      CHECK(one.experiment.fabric.device_count() == spec.parallel.workers());
      Run run{spec.parallel.workers(),
              spec.parallel.tensor(),
              spec.parallel.pipeline(),
              spec.parallel.context(),
              spec.parallel.zero,
              model.hidden,
              model.layers,
              model.heads,
              model.sequence,
              spec.global_batch,
              spec.micro_batch,
              spec.virtual_stages,
              std::string(word_of(spec.recompute)),
              std::string(name_of(spec.precision)),
              row.figure};
      if (like.zero < 0) run.zero = -1;
      if (like.hidden < 0) run.hidden = -1;
      if (like.layers < 0) run.layers = -1;
      if (like.heads < 0) run.heads = -1;
      if (like.sequence < 0) run.sequence = -1;
      if (like.global < 0) run.global = -1;
      if (like.micro < 0) run.micro = -1;
      if (like.virtual_stages < 0) run.virtual_stages = -1;
      if (like.recompute == "-") run.recompute = "-";
      if (like.precision == "-") run.precision = "-";
      texts.push_back(run.text());
    }
  }
  return texts;
}

// Rows of either that the other has not, or less often.
void check_same(const std::vector<Run>& published, const std::set<std::string>& tables) {
  REQUIRE(!published.empty());
  std::vector<std::string> expected;
  for (const Run& run : published) expected.push_back(run.text());
  std::vector<std::string> found = shipped(tables, published.front());
  std::ranges::sort(expected);
  std::ranges::sort(found);
  std::vector<std::string> missing, invented;
  std::ranges::set_difference(expected, found, std::back_inserter(missing));
  std::ranges::set_difference(found, expected, std::back_inserter(invented));
  INFO(fmt::format("{}", fmt::join(tables, ", ")));
  CHECK(missing == std::vector<std::string>{});
  CHECK(invented == std::vector<std::string>{});
}

bool is_at_hand() {
  if (std::filesystem::exists(kPublished)) return true;
  WARN("SKIPPED: no measurements beside the sources");
  return false;
}

// Of llm-foundry, whose README names no more than the sizes: hidden, layers, heads.
const std::map<std::string, std::array<std::int64_t, 3>> kMpt = {
    {"125m", {768, 12, 12}}, {"350m", {1024, 24, 16}}, {"760m", {1536, 24, 12}},
    {"1b", {2048, 24, 16}},  {"3b", {2560, 32, 20}},   {"7b", {4096, 32, 32}},
    {"13b", {5120, 40, 40}}, {"30b", {7168, 48, 56}},  {"70b", {8192, 80, 64}}};

}  // namespace

TEST_CASE("the shipped tables of training jobs are those of the shared data: llm-foundry") {
  if (!is_at_hand()) return;
  std::vector<Run> runs;
  for (const Cells& row : csv("llm_foundry_mpt.csv")) {
    const auto [hidden, layers, heads] = kMpt.at(row.at("Model"));
    CHECK(row.at("Sharding_Strategy") == "FULL_SHARD");
    runs.push_back({.gpus = whole(row, "#_GPUs"),
                    .zero = 3,
                    .hidden = hidden,
                    .layers = layers,
                    .heads = heads,
                    .sequence = whole(row, "SeqLen_T"),
                    .global = whole(row, "GlobalBatchSize"),
                    .micro = whole(row, "MicroBatchSize"),
                    .recompute = row.at("Activation_Checkpointing") == "True" ? "full" : "none",
                    .precision = row.at("Precision") == "amp_fp8" ? "fp8" : "bf16",
                    .figure = std::stod(row.at("Throughput_T/s/GPU"))});
  }
  check_same(runs, {"llm-foundry-a100", "llm-foundry-a100-128", "llm-foundry-h100", "llm-foundry-h100-fp8"});
}

TEST_CASE("the shipped tables of training jobs are those of the shared data: InternEvo") {
  if (!is_at_hand()) return;
  std::vector<Run> of_node, of_world;
  for (const Cells& row : csv("internevo_7b_a100.csv")) {
    const bool recomputed = row.at("act_ckpt") == "True" || row.at("act_ckpt") == "TRUE";
    const std::int64_t gpus = whole(row, "gpus"), micro = whole(row, "micro_bsz");
    const Run run{.gpus = gpus,
                  .tensor = whole(row, "tp"),
                  .sequence = whole(row, "seq"),
                  .global = gpus * micro * whole(row, "micro_num"),
                  .micro = micro,
                  .recompute = recomputed ? "full" : "none",
                  .figure = std::stod(row.at("tokens_per_s_per_gpu"))};
    (row.at("zero1") == "8" ? of_node : of_world).push_back(run);
  }
  check_same(of_node, {"internevo"});
  check_same(of_world, {"internevo-world", "internevo-world-large"});
}

TEST_CASE("the shipped tables of training jobs are those of the shared data: BLOOM") {
  if (!is_at_hand()) return;
  std::map<std::string, Cells> published;
  for (const Cells& row : csv("bloom_jeanzay_a100.csv")) published["line " + row.at("doc_line")] = row;
  int rows = 0;
  for (const TrainingTable& table : list_tables<TrainingTable>(kFiles)) {
    if (table.name != "bloom") continue;
    for (const TrainingRow& row : table.rows) {
      INFO(row.label);
      REQUIRE(published.contains(row.label));
      const Cells& source = published.at(row.label);
      Diagnostics diagnostics;
      const TrainingCase one = read_training_case(table, row, kFiles, diagnostics);
      const TrainingSpec& spec = *one.experiment.jobs.front().workload.training;
      const TransformerSpec& model = *spec.transformer();
      CHECK(row.figure == std::stod(source.at("sec_per_it")));
      CHECK(8 * whole(source, "nodes") == spec.parallel.workers());
      CHECK(whole(source, "dp") == spec.parallel.data());
      CHECK(whole(source, "tp") == spec.parallel.tensor());
      CHECK(whole(source, "pp") == spec.parallel.pipeline());
      CHECK(whole(source, "gbs") == spec.global_batch);
      CHECK(whole(source, "mbs") == spec.micro_batch);
      const auto of = [&](const std::string& own, const std::string& above) {
        return whole(source, source.at(own).empty() ? above : own);
      };
      CHECK(of("nhidden_col", "ctx_nhidden") == model.hidden);
      CHECK(of("nheads_col", "ctx_nheads") == model.heads);
      // The published TFLOP/s are of the published seconds and this number of layers, and of no other: the next one is
      // a hundredth away. Up to line 586 they count the layers' products only, 96 B s l h^2; then all of SC'21's
      // formula.
      const auto h = static_cast<double>(model.hidden), l = static_cast<double>(model.layers);
      const auto s = static_cast<double>(model.sequence), v = static_cast<double>(model.vocab);
      const double all = whole(source, "doc_line") <= 586 ? 1 : 1 + s / (6 * h) + v / (16 * l * h);
      const double flops = 96 * static_cast<double>(spec.global_batch) * s * l * h * h * all;
      const double rate = flops / (static_cast<double>(spec.parallel.workers()) * row.figure * 1e12);
      CHECK(rate == Approx(std::stod(source.at("tflops_per_gpu"))).epsilon(0.001));
      ++rows;
    }
  }
  CHECK(rows > 0);
}

TEST_CASE("the shipped tables of training jobs are those of the shared data: Megatron") {
  if (!is_at_hand()) return;
  std::vector<Run> runs;
  for (const Cells& row : paper("megatron_sc21_table1")) {
    const std::int64_t ranks = whole(row, "model_parallel"), tensor = std::min<std::int64_t>(8, ranks);
    runs.push_back({.gpus = whole(row, "gpus"),
                    .tensor = tensor,
                    .pipeline = ranks / tensor,
                    .hidden = whole(row, "hidden"),
                    .layers = whole(row, "layers"),
                    .heads = whole(row, "heads"),
                    .sequence = whole(row, "seq"),
                    .global = whole(row, "global_batch"),
                    .micro = whole(row, "microbatch"),
                    .virtual_stages = whole(row, "virtual_stages"),
                    .recompute = row.at("activation_recompute"),
                    .precision = row.at("precision"),
                    .figure = std::stod(row.at("tflops"))});
  }
  check_same(runs, {"sc21-table-1"});
  runs.clear();
  for (const Cells& row : paper("megatron_sc21_table2_ptdp_vs_zero3"))
    runs.push_back({.gpus = whole(row, "gpus"),
                    .tensor = 8,
                    .pipeline = whole(row, "model_parallel") / 8,
                    .sequence = whole(row, "seq"),
                    .global = whole(row, "global_batch"),
                    .micro = whole(row, "microbatch"),
                    .figure = std::stod(row.at("tflops"))});
  check_same(runs, {"sc21-table-2"});
  runs.clear();
  for (const Cells& row : paper("megatron_sp_selective_recompute"))
    for (const char* kind : {"full", "selective"})
      runs.push_back({.gpus = whole(row, "gpus"),
                      .tensor = whole(row, "tp"),
                      .pipeline = whole(row, "pp"),
                      .hidden = whole(row, "hidden"),
                      .layers = whole(row, "layers"),
                      .heads = whole(row, "heads"),
                      .sequence = whole(row, "seq"),
                      .global = whole(row, "global_batch"),
                      .micro = whole(row, "microbatch"),
                      .virtual_stages = whole(row, "interleave"),
                      .recompute = kind,
                      .precision = row.at("precision"),
                      .figure = std::stod(row.at(*kind == 'f' ? "iter_s_full_recompute" : "iter_s_sp_selective"))});
  check_same(runs, {"selective-recompute"});
  runs.clear();
  for (const Cells& row : paper("mt_nlg_530b"))
    runs.push_back({.gpus = whole(row, "gpus"),
                    .tensor = whole(row, "tp"),
                    .pipeline = whole(row, "pp"),
                    .hidden = whole(row, "hidden"),
                    .layers = whole(row, "layers"),
                    .heads = whole(row, "heads"),
                    .sequence = whole(row, "seq"),
                    .global = whole(row, "global_batch"),
                    .figure = std::stod(row.at("iter_s"))});
  check_same(runs, {"mt-nlg"});
  runs.clear();
  for (const Cells& row : paper("megatron_core_h100_weak_scaling"))
    runs.push_back({.gpus = whole(row, "gpus"),
                    .tensor = whole(row, "tp"),
                    .pipeline = whole(row, "pp"),
                    .hidden = whole(row, "hidden"),
                    .layers = whole(row, "layers"),
                    .heads = whole(row, "heads"),
                    .global = whole(row, "global_batch"),
                    .figure = std::stod(row.at("tflops"))});
  check_same(runs, {"megatron-core-h100"});
}

TEST_CASE("the shipped tables of training jobs are those of the shared data: Megatron-Bridge") {
  if (!is_at_hand()) return;
  std::vector<Run> runs;
  for (const Cells& row : csv("megatron_bridge.csv")) {
    // Others are mixtures of experts, or fine-tuned.
    if (row.at("model") != "LLAMA3_70B" || row.at("mode") != "Pre-Training Performance") continue;
    runs.push_back({.gpus = whole(row, "gpus"),
                    .tensor = whole(row, "tp"),
                    .pipeline = whole(row, "pp"),
                    .context = whole(row, "cp"),
                    .sequence = whole(row, "seq"),
                    .global = whole(row, "gbs"),
                    .micro = whole(row, "mbs"),
                    .virtual_stages = whole(row, "vp"),
                    .precision = row.at("precision") == "FP8" ? "fp8" : "bf16",
                    .figure = std::stod(row.at("tokens_per_s_per_gpu"))});
  }
  check_same(runs, {"megatron-bridge"});
}

TEST_CASE("the shipped tables of training jobs are those of the shared data: torchtitan") {
  if (!is_at_hand()) return;
  std::vector<Run> runs;
  for (const Cells& row : paper("torchtitan_h100")) {
    const std::string technique = row.at("technique"), parallel = row.at("parallel");
    const auto degree = [&](const std::string& of) {
      const std::size_t at = parallel.find(of);
      return at == std::string::npos ? 1 : std::stoll(parallel.substr(at + of.size()));
    };
    runs.push_back({.gpus = whole(row, "gpus"),
                    .tensor = degree("TP"),
                    .context = degree("CP"),
                    .zero = 3,
                    .sequence = whole(row, "seq"),
                    .global = whole(row, "local_batch") * degree("FSDP"),
                    .micro = whole(row, "local_batch"),
                    .recompute = technique.ends_with("fullAC") ? "full" : "selective",
                    .precision = technique.find("fp8") == std::string::npos ? "bf16" : "fp8",
                    .figure = std::stod(row.at("tps"))});
  }
  check_same(runs, {"torchtitan", "torchtitan-context", "torchtitan-h200", "torchtitan-tensor"});
}

TEST_CASE("the shipped tables of training jobs are those of the shared data: FlagPerf under Paddle") {
  if (!is_at_hand()) return;
  std::vector<Run> runs;
  for (const Cells& row : paper("flagperf_paddle_a100")) {
    const std::int64_t tensor = whole(row, "tp"), pipeline = whole(row, "pp"), micro = whole(row, "per_device_bs");
    const std::string& sharding = row.at("sharding");
    runs.push_back({.gpus = 8,
                    .tensor = tensor,
                    .pipeline = pipeline,
                    .zero = sharding.starts_with("stage") ? sharding[5] - '0' : 0,
                    .sequence = 2048,
                    .global = micro * whole(row, "accumulate") * 8 / (tensor * pipeline),
                    .micro = micro,
                    .recompute = row.at("recompute") == "true" ? "full" : "none",
                    .precision = "fp16",  // O2
                    .figure = std::stod(row.at("tps"))});
  }
  check_same(runs, {"flagperf-paddle", "flagperf-paddle-40"});
}

// Batches are mostly not in the results, as the tables say; those that are come as the micro-batch of a rank (LBS), the
// number of them in a step (GAS), or all of it (GBS).
TEST_CASE("the shipped tables of training jobs are those of the shared data: FlagPerf") {
  if (!is_at_hand()) return;
  std::vector<Run> runs;
  for (const Cells& row : paper("flagperf")) {
    if (row.at("model") == "qwen1.5-MoE") continue;  // its experts and how they are spread are not said
    const std::string& parallel = row.at("parallel");
    const auto degree = [&](const std::string& of) {
      const std::size_t at = parallel.find(of);
      return at == std::string::npos ? 1 : std::stoll(parallel.substr(at + of.size()));
    };
    const std::size_t micro = row.at("setting").find("LBS");
    runs.push_back({.gpus = whole(row, "gpus"),
                    .tensor = degree("TP"),
                    .pipeline = degree("PP"),
                    .micro = micro == std::string::npos ? 1 : std::stoll(row.at("setting").substr(micro + 3)),
                    .figure = std::stod(row.at("tps"))});
  }
  check_same(runs, {"flagperf-aquila2", "flagperf-llama2", "flagperf-llama2-megatron", "flagperf-llama3"});
}

namespace {

std::vector<nlohmann::json> runs_of(const std::string& name) {
  std::ifstream file(kPublished / name);
  REQUIRE(file);
  std::vector<nlohmann::json> runs;
  for (std::string line; std::getline(file, line);) runs.push_back(nlohmann::json::parse(line));
  return runs;
}

// A row is named after its run in the file; the figure is what was measured, and so are the ranks, the batch and the
// degrees. The number of rows of the collection.
std::size_t check_collection(TrainingCollection collection, const std::vector<nlohmann::json>& runs) {
  std::size_t rows = 0;
  for (const TrainingTable& table : list_tables<TrainingTable>(kFiles)) {
    // Tables of memory have a test of their own. Those of single public threads are in no collection of the shared data.
    const bool is_of_thread = table.name == "bridge-precision" || table.name == "maxtext-context";
    if (table.collection != collection || is_of_thread || table.name.starts_with("megatron-golden")) continue;
    for (const TrainingRow& row : table.rows) {
      INFO(table.name << ": " << row.label);
      const auto of_row = [&](const nlohmann::json& run) {
        const auto& measured = run.at("measured");
        return run.at("id").get<std::string>().ends_with("-" + row.label) &&
               std::ranges::any_of(measured, [&](const nlohmann::json& figure) {
                 return figure.is_number() && figure.get<double>() == row.figure;
               });
      };
      const auto run = std::ranges::find_if(runs, of_row);
      REQUIRE(run != runs.end());
      ++rows;
      if (!table.scored) continue;
      Diagnostics diagnostics;
      const TrainingCase one = read_training_case(table, row, kFiles, diagnostics);
      const TrainingSpec& spec = one.training();
      CHECK(spec.parallel.workers() == run->at("gpus").get<std::int64_t>());
      CHECK(spec.parallel.tensor() == run->at("tp").get<std::int64_t>());
      CHECK(spec.parallel.pipeline() == run->at("pp").get<std::int64_t>());
      CHECK(spec.parallel.context() == run->at("cp").get<std::int64_t>());
      CHECK(spec.global_batch == run->at("global_batch").get<std::int64_t>());
      CHECK(spec.transformer()->layers == run->at("layers").get<std::int64_t>());
      CHECK(spec.transformer()->hidden == run->at("hidden").get<std::int64_t>());
      CHECK(spec.transformer()->sequence == run->at("seq").get<std::int64_t>());
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("the shipped tables of training jobs of the second collection are those of the shared data") {
  if (!is_at_hand()) return;
  CHECK(check_collection(TrainingCollection::kSecond, runs_of("runs_2024_2026.jsonl")) > 200);
}

TEST_CASE("the shipped tables of training jobs of the third collection are all of the shared data") {
  if (!is_at_hand()) return;
  const std::vector<nlohmann::json> runs = runs_of("runs_third.jsonl");
  CHECK(check_collection(TrainingCollection::kThird, runs) == runs.size());
}
