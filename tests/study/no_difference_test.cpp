// SPDX-License-Identifier: MIT
// A key that is changed either changes a result, or somebody says why it does not: over all documented keys.
#include "study/compare/no_difference.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "experiment/runs/run.h"
#include "study/compare/partners.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;

namespace {

// Each on a machine of another kind, and with another library or network between its nodes.
const std::vector<std::pair<std::string, std::string>> kExperiments = {
    {"nccl",
     "cluster: dgx-a100\nnodes: 2\nworkload:\n  model: gpt-1.7b\n  parallel: {tensor: 8, data: 2}\n"
     "  batch: {global: 4}\n"},
    {"fixed",
     "cluster: dgx-a100\nnodes: 2\ncollectives: {library: fixed}\nworkload:\n  model: gpt-1.7b\n"
     "  parallel: {tensor: 4, pipeline: 2, data: 2}\n  batch: {global: 4}\n"},
    {"one-node", "cluster: dgx-h100\nworkload:\n  model: llama3-8b\n  parallel: {tensor: 8}\n  batch: {global: 2}\n"},
    {"dims",
     "cluster:\n  device: a100-sxm-80gb\n"
     "  dims: [{topology: ring, size: 4, bandwidth: 100 GB/s, latency: 700 ns}]\n"
     "workload: {model: bert-large, parallel: {data: 4}, batch: {global: 8}}\n"},
};

std::string file_with(const std::string& name, const std::string& text) {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_BINARY_DIR) / "no_difference_test";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / (name + ".yaml")).string();
  std::ofstream(file) << text;
  return file;
}

// Values of a type, of which a key that has one takes another.
std::vector<std::string> values_of(const KeyDescription& key) {
  const std::map<std::string, std::vector<std::string>> kValues = {
      {"bandwidth", {"13 GB/s"}},        {"time", {"3 us"}},       {"size", {"3 MB"}},
      {"rate", {"77 TFLOP/s"}},          {"efficiency", {"37 %"}}, {"number or share", {"0.5", "2"}},
      {"whole number", {"2", "4", "8"}}, {"power", {"300 W"}},     {"count", {"7"}},
  };
  if (const auto known = kValues.find(key.type); known != kValues.end()) return known->second;
  std::vector<std::string> words;
  for (std::size_t first = 0; key.type.find(" | ") != std::string::npos && first < key.type.size();) {
    const std::size_t end = std::min(key.type.find(" | ", first), key.type.size());
    words.push_back(key.type.substr(first, end - first));
    first = end + 3;
  }
  return words;
}

// "cluster.dims[0].size" of "cluster.dims[].size"; nothing of keys with free names.
std::string path_of(const KeyDescription& key) {
  std::string path = key.path;
  for (std::size_t at = path.find("[]"); at != std::string::npos; at = path.find("[]")) path.replace(at, 2, "[0]");
  return path.find('<') == std::string::npos ? path : std::string();
}

experiment::RunRequest request_of(const std::string& file, const std::vector<std::string>& settings) {
  experiment::RunRequest request;
  request.file = file;
  request.settings = settings;
  request.allow_oom = true;
  return request;
}

bool mentions(const std::vector<NoDifference>& reasons, std::string_view key) {
  return std::ranges::any_of(reasons, [&](const NoDifference& one) {
    return !one.reason.empty() && std::ranges::any_of(one.keys, [&](const std::string& other) {
      return other.starts_with(key) || key.starts_with(other);
    });
  });
}

bool is_idle(const std::vector<NoDifference>& reasons) {
  return !reasons.empty() && std::ranges::all_of(reasons, &NoDifference::is_idle);
}

// What became of the changes of an experiment's keys.
struct Tally {
  std::size_t changed = 0;  // keys that could be changed
  std::size_t equal = 0;    // of them, those without a difference to the time
  std::vector<std::string> silent;
  std::vector<std::string> wrong;
};

// Reasons of all keys that differ, whatever the times are.
std::vector<NoDifference> reasons_of(const experiment::RunRequest& first, const experiment::Run& first_run,
                                     const experiment::RunRequest& second, const experiment::Run& second_run) {
  Diagnostics told;
  const experiment::Experiment of_first = experiment::load_experiment(first.file, first.settings, kFiles, told);
  const experiment::Experiment of_second = experiment::load_experiment(second.file, second.settings, kFiles, told);
  return why_no_difference(pair_of({of_first, first_run}, {of_second, second_run}));
}

// Whether the experiment had another value before.
bool change(const std::string& file, const experiment::Run& base, const std::string& path, const std::string& value,
            Tally& tally) {
  const experiment::RunRequest as_it_is = request_of(file, {}), changed = request_of(file, {path + "=" + value});
  const experiment::Run run = experiment::run_experiment(changed, kFiles);
  const std::vector<NoDifference> reasons = reasons_of(as_it_is, base, changed, run);
  if (reasons.empty()) return false;
  ++tally.changed;
  const bool is_equal = run.result.finish == base.result.finish;
  const std::string what = fmt::format("{}={}", path, value);
  if (is_idle(reasons) && operation_times(base, run) == OperationTimes::kOther)
    tally.wrong.push_back(fmt::format("{}: {}", what, to_text(reasons.front())));
  if (!is_equal) return true;
  ++tally.equal;
  if (!mentions(reasons, path)) tally.silent.push_back(what);
  return true;
}

// The first value that another one stands for is enough; what is refused is answered, too.
void change_key(const std::string& file, const experiment::Run& base, const KeyDescription& key, Tally& tally) {
  const std::string path = path_of(key);
  if (path.empty()) return;
  for (const std::string& value : values_of(key)) {
    try {
      if (change(file, base, path, value, tally)) return;
    } catch (const InputError&) {
    } catch (const StuckError&) {
    }
  }
}

}  // namespace

TEST_CASE("every documented key that is changed changes the time, or somebody says why it does not") {
  const std::vector<KeyDescription> keys = experiment::describe_configuration(kFiles);
  for (const auto& [name, text] : kExperiments) {
    const std::string file = file_with(name, text);
    const experiment::Run base = experiment::run_experiment(request_of(file, {}), kFiles);
    Tally tally;
    for (const KeyDescription& key : keys) change_key(file, base, key, tally);
    INFO(name << ": " << tally.changed << " changes, " << tally.equal
              << " without a difference\nsilent: " << fmt::format("{}", fmt::join(tally.silent, "\n        "))
              << "\nwrong: " << fmt::format("{}", fmt::join(tally.wrong, "\n       ")));
    CHECK(tally.changed > 100);
    CHECK(tally.equal > 20);
    CHECK(tally.silent.empty());
    CHECK(tally.wrong.empty());
  }
}

// A NIC of 800 Gb/s carries 100 GB/s, and of the 31.5 GB/s of its slot of PCIe 4 messages get 76.19 %, 24 GB/s: the
// slot would have to be 100 / 24 = 4.1667 times as fast, 4.17 in three digits, rounded up.
TEST_CASE("what a faster NIC saves with its slot is simulated") {
  const std::string partner = "cluster.node.nics.host_bandwidth*=4.17";
  const std::string file = file_with(kExperiments.front().first, kExperiments.front().second);
  const auto run_with = [&](const std::vector<std::string>& settings) {
    return experiment::run_experiment(request_of(file, settings), kFiles);
  };
  const std::string nic = "cluster.node.nics.bandwidth=800 Gb/s";
  const experiment::RunRequest first = request_of(file, {}), second = request_of(file, {nic});
  const experiment::Run first_run = run_with({}), second_run = run_with({nic});
  const std::vector<NoDifference> reasons = explained_difference({first, first_run, second, second_run}, kFiles);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons.front().with == std::vector<std::string>{partner});
  REQUIRE(reasons.front().saving);
  const auto share_of = [&](const experiment::Run& run) {
    return 1 - seconds(run.result.finish) / seconds(first_run.result.finish);
  };
  CHECK(reasons.front().saving->together == share_of(run_with({nic, partner})));
  CHECK(reasons.front().saving->alone == share_of(run_with({partner})));
  CHECK(reasons.front().saving->together > reasons.front().saving->alone);
}

TEST_CASE("keys that are moved together are not told to be moved with one another") {
  const std::string file = file_with(kExperiments.front().first, kExperiments.front().second);
  const std::vector<std::string> both = {"cluster.node.nics.bandwidth=800 Gb/s",
                                         "cluster.node.nics.host_bandwidth=252 GB/s"};
  const experiment::RunRequest first = request_of(file, {}), second = request_of(file, both);
  const experiment::Run first_run = experiment::run_experiment(first, kFiles);
  const experiment::Run second_run = experiment::run_experiment(second, kFiles);
  REQUIRE(second_run.result.finish < first_run.result.finish);
  CHECK(explained_difference({first, first_run, second, second_run}, kFiles).empty());
}
