// SPDX-License-Identifier: MIT
// Keys by the names that launchers have for them, and files that are like others.
#include "core/config/other_names.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/config/config.h"
#include "tests/shipped_files.h"

using namespace orrery;

namespace {

std::string told(const Diagnostics& diagnostics) {
  std::string text;
  for (const Problem& problem : diagnostics.problems()) text += to_string(problem) + "\n";
  return text;
}

// The tree with its names spelled out and settings applied, as JSON.
std::string spelled_out(const std::string& text, const std::vector<std::string>& settings = {}) {
  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  spell_out_names(root, kFiles, diagnostics);
  for (const std::string& setting : settings) apply_setting(root, setting, kFiles, diagnostics);
  const std::string problems = told(diagnostics);
  return problems.empty() ? to_json(root).dump() : problems;
}

}  // namespace

TEST_CASE("a name is good at the root, in workload and in its section") {
  for (const char* name : {"gbs", "workload.gbs", "workload.batch.gbs", "workload.batch.global_batch_size"})
    CHECK(plain_path(name) == "workload.batch.global");
  CHECK(plain_path("vpp") == "workload.schedule.virtual_stages");
  CHECK(plain_path("workload.parallel.tp") == "workload.parallel.tensor");
  CHECK(plain_path("jobs[1].workload.mbs") == "jobs.1.workload.batch.micro");
  CHECK(plain_path("seq_len") == "workload.model.sequence");
  // Neither of another section, nor within what has the name.
  for (const char* other : {"workload.batch.tp", "workload.schedule.gbs", "tp.x", "cluster.gbs", "nodes", "workload"})
    CHECK(plain_path(other) == other);
}

TEST_CASE("names move to their sections, and a setting takes the place of what they say") {
  CHECK(spelled_out("{tp: 8, workload: {gbs: 64, parallel: {pp: 2}}}") ==
        R"({"workload":{"parallel":{"tensor":8,"pipeline":2},"batch":{"global":64}}})");
  CHECK(spelled_out("{workload: {gbs: 64}}", {"workload.batch.global=32"}) == spelled_out("{workload: {gbs: 32}}"));
  CHECK(spelled_out("{workload: {gbs: 64}}", {"gbs=32"}) == spelled_out("{gbs: 32, workload: {}}"));
  CHECK(spelled_out("{workload: {gbs: 64}}", {"gbs=x0.5"}) == spelled_out("{workload: {gbs: 32}}"));
  CHECK(spelled_out("{jobs: [{name: a, workload: {tp: 2}}]}") ==
        R"({"jobs":[{"name":"a","workload":{"parallel":{"tensor":2}}}]})");
  // Of several jobs none is meant.
  CHECK(spelled_out("{tp: 8, jobs: [{name: a}]}") == R"({"tp":8,"jobs":[{"name":"a"}]})");
}

TEST_CASE("a sequence waits for the model whose sequence it is") {
  CHECK(spelled_out("{seq_len: 128, workload: {model: {hidden: 64}}}") ==
        R"({"workload":{"model":{"hidden":64,"sequence":128}}})");
  CHECK(spelled_out("{workload: {seq_len: 128}}") == R"({"workload":{"seq_len":128}})");
}

TEST_CASE("a key under two names is an error with both") {
  CHECK(spelled_out("workload:\n  tp: 8\n  parallel: {tensor: 4}") ==
        "x.yaml:2:3: error: 'tp' is 'workload.parallel.tensor', which is given at x.yaml:3:22, too\n"
        "  hint: leave one of them out\n");
  CHECK(spelled_out("{gbs: 8, global_batch_size: 8, workload: {}}").find("'global_batch_size' is") !=
        std::string::npos);
}

namespace {

struct ReadSoftware {
  std::string name, like;
  std::int64_t zero = -1;
  bool dropout = false;
};

ReadSoftware software_of(const std::string& text, std::string* problems = nullptr) {
  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  ConfigContext context(kFiles, diagnostics);
  ReadSoftware values;
  read_config(root, context, [&](Section& section) {
    section.section_or(
        "software", "megatron-2024", "framework",
        [&](Section& s) {
          s.takes("name", values.name, "name");
          s.takes("zero", values.zero, {0, 3}, "stage");
          s.takes("dropout", values.dropout, "dropout");
          for (const ConfigEntry& entry : s.contents().entries) s.know(entry.key);
        },
        "software", {}, "name");
  });
  if (problems != nullptr) *problems = told(diagnostics);
  return values;
}

}  // namespace

TEST_CASE("a map without a name changes the default, one that is like another that") {
  // megatron-2024.yaml: zero 1, no dropout; megatron-2021.yaml: no zero, dropout.
  const ReadSoftware part = software_of("{software: {dropout: true}}");
  CHECK((part.name == "megatron-2024" && part.dropout && part.zero == 1));
  const ReadSoftware like = software_of("{software: {like: megatron-2021, zero: 2}}");
  CHECK((like.name == "megatron-2021" && like.dropout && like.zero == 2));
  const ReadSoftware whole = software_of("{software: {name: mine}}");
  CHECK((whole.name == "mine" && !whole.dropout && whole.zero == -1));
  std::string problems;
  software_of("{software: {like: megatron-20}}", &problems);
  CHECK(problems.find("no 'megatron-20' among the shipped software") != std::string::npos);
  software_of("{software: {like: {a: 1}}}", &problems);
  CHECK(problems.find("'like' is a map; the name of a file is expected") != std::string::npos);
}

TEST_CASE("what is like a cluster changes files within it") {
  Diagnostics diagnostics;
  ConfigValue root =
      parse_config("{cluster: {like: dgx-h100, node: {device: {memory: {capacity: 96 GB}}}}}", "x.yaml", diagnostics);
  apply_setting(root, "cluster.node.device.memory.bandwidth*=2", kFiles, diagnostics);
  REQUIRE(told(diagnostics).empty());
  const ConfigValue& device = root.find("cluster")->value.find("node")->value.find("device")->value;
  CHECK(device.find("name")->value.scalar == "h100-sxm");
  CHECK(device.find("memory")->value.find("capacity")->value.scalar == "96 GB");
  // 3350 GB/s (h100-sxm.yaml) times 2.
  CHECK(device.find("memory")->value.find("bandwidth")->value.scalar == "6700 GB/s");
}
