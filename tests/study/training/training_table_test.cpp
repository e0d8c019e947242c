// SPDX-License-Identifier: MIT
// Tables of training jobs read, wrong ones are refused where they stand, and what is published of a run becomes the
// time of its iterations.
#include "study/validate/training/table.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "experiment/files/file_kinds.h"
#include "study/validate/training/validation.h"
#include "tests/shipped_files.h"
#include "tests/study/training/training_tables.h"

using namespace orrery;
using namespace orrery::study;
using namespace orrery::workload;

namespace {

const std::filesystem::path kSource(ORRERY_SOURCE_DIR);

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct ReadTable {
  TrainingTable table;
  std::string errors;
};

// With the experiments of its rows.
ReadTable read(const std::string& text) {
  Diagnostics diagnostics;
  ReadTable result;
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  result.table = table_from<TrainingTable>(std::move(root), kFiles, diagnostics);
  if (!diagnostics.has_errors()) check_training_rows(result.table, kFiles, diagnostics);
  for (const Problem& problem : diagnostics.problems()) result.errors += to_string(problem) + "\n";
  return result;
}

// kTrainingTable with `from`, which stands in it once, replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = kTrainingTable;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  return text.replace(at, from.size(), to);
}

TrainingSpec spec_of(const TrainingTable& table, std::size_t row) {
  Diagnostics diagnostics;
  return *read_training_case(table, table.rows.at(row), kFiles, diagnostics).experiment.jobs.front().workload.training;
}

std::string escaped(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, "\\");
  return text;
}

}  // namespace

TEST_CASE("a row of a table of training jobs is the shared experiment with its own values") {
  const ReadTable read_table = read(kTrainingTable);
  CHECK(read_table.errors.empty());
  const TrainingTable& table = read_table.table;
  CHECK(table.name == "t");
  CHECK(table.family == "f");
  CHECK(table.cluster == "dgx-a100");
  CHECK(table.source == std::vector<std::string>{"a paper", "a script"});
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0].miss == "no one knows");
  CHECK(table.rows[1].miss.empty());
  const TrainingSpec first = spec_of(table, 0);
  const TrainingSpec second = spec_of(table, 1);
  CHECK(first.parallel.tensor() == 1);
  CHECK(second.parallel.tensor() == 2);
  CHECK(first.model.name == "gpt-1.7b");
  CHECK(first.micro_batch == 2);
  CHECK(second.micro_batch == 4);
  CHECK(first.global_batch == second.global_batch);
}

TEST_CASE("a table of training jobs whose cluster differs from row to row names none") {
  std::string text = kTrainingTable;
  const std::string column = "workload.parallel.tensor";
  text.replace(text.find(column), column.size(), "cluster");
  text.replace(text.find("[a, 1,"), 6, "[a, dgx-a100,");
  text.replace(text.find("[b, 2,"), 6, "[b, dgx-h100,");
  const ReadTable read_table = read(text);
  CHECK(read_table.errors.empty());
  CHECK(read_table.table.cluster.empty());
}

TEST_CASE("a column may be a key of a file that the experiment names, or a map") {
  std::string text =
      with("[workload.parallel.tensor, workload.batch.micro]", "[workload.model.layers, workload.batch]");
  text.replace(text.find("[a, 1, 2, 1.5]"), 14, "[a, 12, {global: 32, micro: 4}, 1.5]");
  text.replace(text.find("[b, 2, 4, 1.8]"), 14, "[b, 6, {global: 16, micro: 1}, 1.8]");
  const ReadTable read_table = read(text);
  CHECK(read_table.errors.empty());
  const TrainingSpec first = spec_of(read_table.table, 0);
  const TrainingSpec second = spec_of(read_table.table, 1);
  CHECK(first.transformer()->layers == 12);
  CHECK(second.transformer()->layers == 6);
  CHECK(second.transformer()->hidden == 2304);
  CHECK(first.micro_batch == 4);
  CHECK(second.micro_batch == 1);
  CHECK(second.global_batch == 16);
}

TEST_CASE("what is published of a run becomes the time of its iterations") {
  const TrainingSpec training = spec_of(read(kTrainingTable).table, 0);
  // GPT 1.7B: h = 2304, l = 24, V = 51200, s = 2048; 64 sequences on 4 GPUs.
  CHECK(iteration_seconds(TrainingFigure::kTime, 1.5, training) == 1.5);
  // 64 * 2048 tokens on 4 GPUs at 4096 a second each.
  CHECK(iteration_seconds(TrainingFigure::kTokensPerGpu, 4096, training) == Approx(8));
  CHECK(iteration_seconds(TrainingFigure::kSamples, 32, training) == Approx(2));
  CHECK(iteration_seconds(TrainingFigure::kSamplesPerGpu, 32, training) == Approx(0.5));
  // 96 * 64 * 2048 * 24 * 2304^2 * (1 + 2048 / 13824 + 51200 / 884736) = 1.9329e15 FLOPs
  const double flops = 96.0 * 64 * 2048 * 24 * 2304 * 2304 * (1 + 2048.0 / 13824 + 51200.0 / 884736);
  CHECK(hardware_flops(*training.transformer(), 64) == Approx(flops));
  CHECK(iteration_seconds(TrainingFigure::kHardwareTflops, 120, training) == Approx(flops / 4 / 120e12));
  // Model FLOPs are 3/4 of those without the fourth pass, and the logits are not computed again:
  // 72 B s l h^2 (1 + s/6h + V/12lh).
  const double model = 72.0 * 64 * 2048 * 24 * 2304 * 2304 * (1 + 2048.0 / 13824 + 51200.0 / (12 * 24 * 2304));
  CHECK(iteration_seconds(TrainingFigure::kModelTflops, 100, training) == Approx(model / 4 / 100e12));
}

TEST_CASE("a wrong table of training jobs is refused where it is wrong") {
  const std::pair<std::string, std::string> cases[] = {
      {with("family: f", "familly: f"), "x.yaml:2:1: error: unknown key 'familly'"},
      {with("figure: time", "figure: times"), "'times'"},
      {with("source: [a paper, a script]\n", ""), "error: 'source' is missing"},
      {with("[a paper, a script]", "{a: b}"), "'source' must be a text or a list of texts"},
      {with("measured: 8 A100\n", ""), "error: 'measured' is missing"},
      {with("figure: time\n", "figure: time\nscored: false\n"), "a table that is not scored has no reason"},
      {with("figure: time\n", "figure: time\nwhy_not: no\n"), "a reason not to score a table that is scored"},
      {with(", 1, 2, 1.5]", ", 1, 1.5]"), "a row of 3 values, but there are 2 columns"},
      {with("- [a, 1, 2, 1.5]", "- a"), "a row is a plain value; a list is expected"},
      {with("1.5]", "0]"), "invalid figure '0'"},
      {with("1.5]", "-1]"), "invalid figure '-1'"},
      {with("1.5]", "50 %]"), "invalid figure '50 %'"},
      {with("1.5]", "1 s]"), "invalid figure '1 s'"},
      {with("1.5]", "[1]]"), "invalid figure ''"},
      {with("1.5]", "1e-9]"), "would be an iteration of 1e-09 s"},
      {with("[b,", "[a,"), "two rows are labelled 'a'"},
      {with("[b,", "[[b],"), "the label of a row is not a text"},
      {with("{a: no one knows}", "{c: no one knows}"), "no row is labelled 'c'"},
      {with("misses: {a: no one knows}", "memory: {c: 47 GiB}"), "no row is labelled 'c'"},
      {with("misses: {a: no one knows}", "memory: {a: 47}"), "invalid size '47'"},
      {with("misses: {a: no one knows}", "allocated: {c: {peak: 47 GiB}}"), "no row is labelled 'c'"},
      {with("misses: {a: no one knows}", "allocated: {a: {peak: 47}}"), "'47'"},
      {with("misses: {a: no one knows}", "allocated: {a: {peek: 47 GiB}}"), "unknown key 'peek'"},
      {with("misses: {a: no one knows}", "allocated_on: first"), "'first'"},
      {with("{a: no one knows}", "[a]"), "'misses' is a list; a map of texts is expected"},
      {with("  workload.batch.micro: from a script\n", "  workload.batch.micro: []\n"),
       "no text stands for 'workload.batch.micro'"},
      {with("tensor, workload.batch.micro]", "tensor, workload.parallel.tensor]"),
       "'workload.parallel.tensor' stands twice"},
      {with("workload.batch.micro]", "workload.batch.mikro]"), "unknown key 'mikro' in 'workload.batch'"},
      {with("workload.batch.micro]", "workload..micro]"), "an empty key"},
      {with("global: 64", "global: 63"), "error: row 'a': a global batch of 63 does not divide"},
      {with("model: gpt-1.7b", "model: gpt-1.8b"), "no 'gpt-1.8b' among the shipped models"},
      {with("model: gpt-1.7b", "chakra: {prefix: rank}"), "error: "},
      {with("rows:\n", "row:\n"), "'rows' must be a list of [label, value of each column, figure]"},
      {with("experiment:\n", "experiments:\n"), "a table that is scored has no 'experiment'"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    const std::string errors = read(text).errors;
    INFO(errors);
    CHECK(errors.find(expected) != std::string::npos);
    CHECK(errors.find("x.yaml:") != std::string::npos);
  }
}

TEST_CASE("what is wrong in all rows at one place is said once") {
  const std::string errors = read(with("model: gpt-1.7b", "model: gpt-1.8b")).errors;
  CHECK(errors.find("gpt-1.8b") == errors.rfind("gpt-1.8b"));
  std::string inside = with("model: gpt-1.7b", "model: gpt-1.8b");
  inside.replace(inside.find("workload.parallel.tensor"), 24, "workload.model.layers");
  const std::string found = read(inside).errors;
  CHECK(found.find("no 'gpt-1.8b' among") != std::string::npos);
  CHECK(found.find("gpt-1.8b") == found.rfind("gpt-1.8b"));
}

TEST_CASE("hardware FLOPs are those of transformers") {
  const std::string text =
      "table: t\nsource: s\nmeasured: m\nfigure: hardware_tflops_per_gpu\nscored: true\n"
      "experiment:\n  cluster: dgx-a100\n  nodes: 1\n"
      "  workload: {model: resnet-50, precision: fp16, parallel: {data: 8}, batch: {global: 256, micro: 32}}\n"
      "rows:\n  - [a, 100]\n";
  CHECK(read(text).errors.find("x.yaml:11:9: error: hardware_tflops_per_gpu is of transformers") != std::string::npos);
}

TEST_CASE("a table of training jobs that is not scored needs no experiment") {
  const ReadTable read_table = read(
      "table: t\nsource: s\nmeasured: m\nfigure: time\nscored: false\nwhy_not: nothing is stated\n"
      "columns: [workload.model]\nrows:\n  - [a, gpt-1.7b, 3]\n");
  CHECK(read_table.errors.empty());
  CHECK(read_table.table.rows.front().figure == 3);
  CHECK(read_table.table.rows.front().experiment.kind == ConfigValue::Kind::kNull);
}

TEST_CASE("tables of training jobs of one name, and families of two titles, are refused") {
  const auto table = [](const std::string& name, const std::string& title) {
    TrainingTable one = read(kTrainingTable).table;
    one.name = name;
    one.title = title;
    return one;
  };
  std::vector<TrainingTable> tables = {table("b", ""), table("a", "F")};
  sort_tables(tables);
  CHECK(tables.front().name == "a");
  CHECK(tables.back().title == "F");
  tables = {table("a", ""), table("a", "")};
  CHECK_THROWS_WITH(sort_tables(tables), Catch::Contains("two tables are named 'a'"));
  tables = {table("a", "F"), table("b", "G")};
  CHECK_THROWS_WITH(sort_tables(tables), Catch::Contains("family 'f' has two titles"));
  tables = {table("a", ""), table("b", "")};
  tables.front().collection = TrainingCollection::kThird;
  CHECK_THROWS_WITH(sort_tables(tables), Catch::Contains("it is in the third one"));
}

TEST_CASE("a table of training jobs is told by its keys") {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_BINARY_DIR) / "training_table_file";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "t.yaml").string();
  std::ofstream(file) << kTrainingTable;
  CHECK(experiment::measurements_of(file, kFiles) == "training");
  CHECK_FALSE(experiment::measurements_of((kSource / "configs/validation/nccl/a100_1n_sendrecv.yaml").string(),
                                          kFiles) == "training");
  CHECK_FALSE(experiment::measurements_of((kSource / "configs/studies/gpt3-175b-1024.yaml").string(), kFiles) ==
              "training");
  CHECK_FALSE(experiment::measurements_of((folder / "t.et").string(), kFiles) == "training");
  Diagnostics diagnostics;
  CHECK(load_table<TrainingTable>(file, {"measured=x"}, kFiles, diagnostics).measured == "x");
  CHECK_FALSE(diagnostics.has_errors());
}

TEST_CASE("every row of the shipped tables of training jobs can be read") {
  Diagnostics diagnostics;
  for (const TrainingTable& table : list_tables<TrainingTable>(kFiles)) check_training_rows(table, kFiles, diagnostics);
  CHECK_NOTHROW(diagnostics.throw_if_errors());
}

namespace {

std::string line_of(const TrainingTable& table) {
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", table.name, table.title,
                     table.cluster.empty() ? "" : fmt::format("`{}`", table.cluster), name_of(table.figure),
                     table.rows.size(), table.scored ? "yes" : "no");
}

// The tables as docs/training.md shows them: where they come from, what was assumed, what is not scored.
std::string training_list(std::span<const TrainingTable> tables) {
  std::string text = "| table | family | cluster | figure | rows | scored |\n|---|---|---|---|---|---|\n";
  for (const TrainingTable& table : tables) text += line_of(table);
  text += "\nWhat was measured, and where it was published:\n\n";
  for (const TrainingTable& table : tables)
    text += fmt::format("* `{}`: {}. {}.\n", table.name, table.measured, fmt::join(table.source, "; "));
  text += "\nWhat the sources leave open, and what was assumed:\n\n";
  for (const TrainingTable& table : tables)
    for (const auto& [key, why] : table.assumed) text += fmt::format("* `{}`, `{}`: {}.\n", table.name, key, why);
  text += "\nWhy not all of them are scored:\n\n";
  for (const TrainingTable& table : tables)
    if (!table.scored) text += fmt::format("* `{}`: {}.\n", table.name, table.why_not);
  return text;
}

}  // namespace

TEST_CASE("docs/training.md lists the shipped tables of training jobs and all keys") {
  const std::filesystem::path written = std::filesystem::path(ORRERY_BINARY_DIR) / "training.md";
  std::string keys = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const KeyDescription& key : describe_table<TrainingTable>(kFiles))
    keys += fmt::format("| `{}` | {} | {} | {} |\n", key.path, escaped(key.type), key.fallback, key.meaning);
  const std::string list = training_list(list_tables<TrainingTable>(kFiles));
  std::ofstream(written) << keys << "\n" << list;
  const std::string docs = text_of(kSource / "docs" / "training.md");
  INFO("what should stand there is in " << written);
  CHECK(docs.find(keys) != std::string::npos);
  CHECK(docs.find(list) != std::string::npos);
}
