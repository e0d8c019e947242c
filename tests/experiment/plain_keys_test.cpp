// SPDX-License-Identifier: MIT
// What a job that leaves things out gets: replicas for all devices, the largest micro-batch that fits, and what its
// software does by itself.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "experiment/experiment.h"
#include "experiment/plans/job_editor.h"
#include "tests/shipped_files.h"
#include "workload/training/program/generate_job.h"

using namespace orrery;
using namespace orrery::experiment;

namespace {

Experiment read_plain(const std::string& text, const std::vector<std::string>& settings = {}) {
  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  for (const std::string& setting : settings) apply_setting(root, setting, kFiles, diagnostics);
  return read_experiment("x.yaml", std::move(root), kFiles, diagnostics);
}

workload::TrainingSpec training_of(const std::string& text, const std::vector<std::string>& settings = {}) {
  return *read_plain(text, settings).jobs.front().workload.training;
}

std::string problem_of(const std::string& text) {
  try {
    read_plain(text);
  } catch (const InputError& error) {
    return to_string(error.problems().front());
  }
  return {};
}

// Eight devices a node.
const std::string kPlainJob =
    "cluster: dgx-h100\nworkload:\n  model: {hidden: 256, layers: 4, heads: 8, vocab: 512, sequence: 64}\n";

Bytes most_in_use(const workload::TrainingSpec& training) {
  Bytes most;
  for (const workload::MemoryNeed& need : workload::memory_needs(training)) most = std::max(most, need.in_use());
  return most;
}

}  // namespace

TEST_CASE("replicas fill the devices where nobody says how many there are") {
  const auto data = [](const std::string& rest) { return training_of(kPlainJob + rest).parallel.data(); };
  CHECK(data("  batch: {global: 64, micro: 1}\n") == 8);                                                  // 8 / 1
  CHECK(data("  batch: {global: 64, micro: 1}\n  parallel: {tensor: 2}\n") == 4);                         // 8 / 2
  CHECK(data("  batch: {global: 64, micro: 1}\n  parallel: {tensor: 2, pipeline: 2}\nnodes: 2\n") == 4);  // 16 / 4
  CHECK(data("  batch: {global: 64, micro: 1}\n  parallel: {data: 2}\n") == 2);
  CHECK(data("  batch: {global: 64, micro: 1}\nplacement: [0, 2, 4, 6]\n") == 4);  // the devices listed
  // Four of the eight devices of each of two nodes.
  CHECK(data("  batch: {global: 64, micro: 1}\nplacement: devices(0,3,4,5)\nnodes: 2\n") == 8);
  // 72 devices have room for 64 ranks that share 64 experts.
  CHECK(training_of(
            "cluster: gb200-nvl72\nworkload: {model: {hidden: 256, layers: 2, heads: 8, vocab: 512, sequence: 64, "
            "experts: 64, experts_per_token: 2, expert_hidden: 256}, gbs: 64, parallel: {expert: 64}}\n")
            .parallel.data() == 64);
  // Servers have devices of their own: 8 - 2.
  CHECK(data("  batch: {global: 6, micro: 1}\n  parallel: {exchange: parameter-server, servers: 2}\n") == 6);
  const std::string jobs =
      "cluster: dgx-h100\njobs:\n  - {name: a, workload: &w {model: {hidden: 256, layers: 4, heads: 8, vocab: 512, "
      "sequence: 64}, batch: {global: 8}}}\n  - {name: b, workload: *w}\n";
  CHECK(training_of(jobs).parallel.data() == 1);  // each of several jobs
}

TEST_CASE("replicas that follow from a wrong degree are no error of their own, and say nothing of the right ones") {
  const std::string model =
      "cluster: dgx-h100\nnodes: 8\nworkload: {model: {hidden: 256, layers: 2, heads: 8, vocab: 512, sequence: 64, "
      "experts: 256, experts_per_token: 2, expert_hidden: 256}, gbs: 512, parallel: ";
  const std::string expert = problem_of(model + "{expert: 3}}\n");
  CHECK(expert.find("256 experts do not divide among 3 expert-parallel ranks") != std::string::npos);
  CHECK(expert.find("workload.parallel.expert: one of 1, 2, 4, 8, 16, 32, 64") != std::string::npos);
  CHECK(expert.find("replicas") == std::string::npos);  // 63 of them
  CHECK(problem_of(model + "{tensor: 3}}\n").find("replicas") == std::string::npos);
  // Nothing else is wrong.
  CHECK(problem_of(model + "{context: 1}, mbs: 3}\n").find("does not divide into 64 replicas") != std::string::npos);
}

TEST_CASE("the micro-batch is the largest that divides the batch of a replica and fits") {
  // 64 sequences of 8 replicas: all 8 at once.
  CHECK(training_of(kPlainJob + "  batch: {global: 64}\n").micro_batch == 8);
  CHECK(training_of(kPlainJob + "  batch: {global: 64, micro: auto}\n").micro_batch == 8);
  CHECK(training_of(kPlainJob + "  batch: {global: 64}\n  parallel: {pipeline: 2}\n").micro_batch == 1);
  // Samples of models that take their whole batch at once: 1024 / 8.
  CHECK(training_of("cluster: dgx-h100\nworkload: {model: dlrm, batch: {global: 1024}}\n").micro_batch == 128);

  const std::string large =
      "cluster: dgx-h100\nworkload:\n  model: llama3-8b\n  batch: {global: 512}\n  parallel: {zero: 3}\n  recompute: "
      "full\n";
  const workload::TrainingSpec chosen = training_of(large);
  const Bytes capacity = read_plain(large).devices.front().memory_capacity;
  CHECK(chosen.chooses_micro_batch);
  CHECK(most_in_use(chosen) <= capacity);
  // 512 / 8 is 64, whose divisors are powers of two.
  const workload::TrainingSpec larger =
      training_of(large, {fmt::format("workload.batch.micro={}", 2 * chosen.micro_batch)});
  CHECK_FALSE(larger.chooses_micro_batch);
  CHECK(most_in_use(larger) > capacity);

  // Less than the states take: nothing fits, and the check of memory says so.
  CHECK(training_of(large, {"cluster.node.device.memory.capacity=8 GB"}).micro_batch == 1);
}

TEST_CASE("an editor chooses anew, and keeps what is given") {
  const Experiment experiment = read_plain(kPlainJob + "  batch: {global: 64}\n");
  const JobEditor editor(experiment, 0);
  const std::vector<std::string> tensor = {"parallel.tensor=2"}, micro = {"parallel.tensor=2", "batch.micro=2"};
  CHECK(editor.with(tensor)->parallel.data() == 4);
  CHECK(editor.with(tensor)->micro_batch == 16);  // 64 / 4
  CHECK(editor.with(micro)->micro_batch == 2);
}

TEST_CASE("an editor resolves anew what follows from other keys, and leaves alone what was written") {
  const std::vector<std::string> tensor = {"parallel.tensor=2"}, software = {"software=megatron-2022"};
  const auto with = [](const std::string& rest, const std::vector<std::string>& settings) {
    const Experiment experiment = read_plain(kPlainJob + "  batch: {global: 64, micro: 1}\n" + rest);
    const std::optional<workload::TrainingSpec> job = JobEditor(experiment, 0).with(settings);
    REQUIRE(job);
    return fmt::format("{} {}", job->parallel.zero, job->parallel.sequence);
  };
  CHECK(with("", tensor) == "1 true");  // megatron-2024
  CHECK(with("  parallel: {zero: 0, sequence: false}\n", tensor) == "0 false");
  CHECK(with("  parallel: {tensor: 2}\n", software) == "0 false");
  CHECK(with("  parallel: {tensor: 2, zero: 1, sequence: true}\n", software) == "1 true");
}

TEST_CASE("accumulation takes the place of a size of the batch") {
  const std::string all = kPlainJob + "  parallel: {data: 8}\n  batch: ";
  CHECK(training_of(all + "{accumulation: 4, micro: 2}\n").global_batch == 64);  // 4 * 8 * 2
  CHECK(training_of(all + "{accumulation: 4}\n").global_batch == 32);            // 4 * 8 * 1
  CHECK(training_of(all + "{global: 64, accumulation: 4}\n").micro_batch == 2);  // 64 / (4 * 8)
  CHECK(training_of(all + "{global: 64, accumulation: 4, micro: 2}\n").micro_batches() == 4);
  CHECK(problem_of(all + "{global: 64, accumulation: 3}\n")
            .find("3 micro-batches of 8 replicas are no global batch of 64") != std::string::npos);
  CHECK(problem_of(all + "{global: 64, accumulation: 4, micro: 1}\n")
            .find("4 micro-batches of 1 of 8 replicas are no global batch of 64") != std::string::npos);
}

TEST_CASE("software shares states and sequences by itself, and does as it is told") {
  const auto of = [](const std::string& rest) {
    const workload::TrainingSpec job = training_of(kPlainJob + "  batch: {global: 64, micro: 1}\n" + rest);
    return fmt::format("{}{} {}{}", job.parallel.zero, job.is_by_software.zero ? "*" : "", job.parallel.sequence,
                       job.is_by_software.sequence ? "*" : "");
  };
  CHECK(of("  parallel: {tensor: 2}\n") == "1* true*");  // megatron-2024
  CHECK(of("") == "1* false");
  CHECK(of("  parallel: {tensor: 2, zero: 0, sequence: false}\n") == "0 false");
  CHECK(of("  software: torchtitan-2025\n  parallel: {tensor: 2, zero: 1}\n") == "1 true*");
  CHECK(of("  software: megatron-2022\n  parallel: {tensor: 2}\n") == "0 false");
  CHECK(of("  software: {zero: 2}\n") == "2* false");
  // 64 tokens do not divide by 3; servers of parameters share no states.
  CHECK(of("  software: {zero: 0}\n  parallel: {exchange: parameter-server, data: 4}\n") == "0 false");
  CHECK(of("  parallel: {exchange: parameter-server, data: 4}\n") == "0 false");
}

TEST_CASE("several chunks of a stage are interleaved") {
  const std::string base = kPlainJob + "  batch: {global: 64, micro: 1}\n  parallel: {pipeline: 2}\n";
  CHECK(training_of(base + "  vpp: 2\n").schedule == workload::ScheduleKind::kInterleaved);
  CHECK(training_of(base).schedule == workload::ScheduleKind::kOneForwardOneBackward);
}

TEST_CASE("replicas fill the devices of each node that placement leaves") {
  const auto data = [](const std::string& rest) {
    return training_of(kPlainJob + "  batch: {global: 64, micro: 1}\nnodes: 4\n" + rest).parallel.data();
  };
  CHECK(data("") == 32);                                // 4 x 8
  CHECK(data("placement: devices(0, 3,4,5)\n") == 16);  // 4 x 4
  CHECK(data("placement: \"devices(1)\"\n") == 4);      // 4 x 1
  CHECK(data("placement: strided\n") == 32);
}

TEST_CASE("the default software of a TPU is MaxText, of whatever generation") {
  const auto software = [](const std::string& cluster) {
    return training_of("cluster: " + cluster +
                       "\nworkload: {model: gpt-1.7b, parallel: {data: 8}, batch: {global: 64, micro: 1}}\n")
        .software.name;
  };
  for (const char* cluster : {"tpu-v4-pod", "tpu-v5p-pod", "tpu-v6e-pod"}) CHECK(software(cluster) == "maxtext-2024");
  CHECK(software("dgx-h100") == "megatron-2024");
}

TEST_CASE("a key in the wrong place is told where it belongs, the nearest place first") {
  CHECK(problem_of(kPlainJob + "  batch: {global: 64}\n  nodes: 4\n").find("did you mean one of 'nodes', ") !=
        std::string::npos);
  CHECK(problem_of(kPlainJob + "  batch: {global: 64}\n  dropout: true\n")
            .find("did you mean one of 'workload.software.dropout', ") != std::string::npos);
}
