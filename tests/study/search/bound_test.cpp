// SPDX-License-Identifier: MIT
// Lower bounds of plans: none is above the time of the simulation.
#include "experiment/plans/bound.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "tests/study/search/small_jobs.h"

using namespace orrery;
using namespace orrery::study;

namespace {

std::string file_of(const JobText& job) { return file_of(job, "bound_test"); }

// Some of the plans of a job, chosen at random; false where it has none.
bool check_bounds(const JobText& job, std::size_t count) {
  CAPTURE(job.cluster, job.nodes, job.batch, job.model, job.more);
  std::optional<experiment::Experiment> read_job;
  try {
    read_job = read(file_of(job));
  } catch (const InputError&) {
    return false;
  }
  experiment::Experiment& experiment = *read_job;
  const workload::TrainingSpec base = training_of(experiment);
  std::vector<Plan> plans = sound_plans(experiment);
  std::mt19937_64 draw(7);
  for (std::size_t i = 0; i < std::min(count, plans.size()); ++i) {
    std::swap(plans[i], plans[i + draw() % (plans.size() - i)]);
    const workload::TrainingSpec training = with_plan(base, plans[i]);
    CAPTURE(fmt::format("{}", fmt::join(settings_of(base, plans[i]), " ")));
    try {
      experiment::PlanBounds bounds(experiment);
      const Duration bound = bounds.of(training, Bytes::max()).time;
      CHECK(bound > Duration::zero());
      const Duration refined = bounds.refined(training, bound);
      CHECK(bound <= refined);
      CHECK(refined <= time_of(experiment, training));
    } catch (const InputError&) {  // of a library that cannot run its collectives
    }
  }
  return !plans.empty();
}

// A later stage has the larger update, and nothing ties the first to it.
const std::string kLate =
    "{layers: 16, hidden: 256, heads: 8, vocab: 1000, sequence: 64, experts: 64, experts_per_token: 2, dense_layers: "
    "14, "
    "ffn_hidden: 512, tied_embeddings: false}";

std::vector<JobText> jobs() {
  return {
      {},
      {"dgx-a100", 1, 8, kLate},
      {"dgx-a100", 1, 8, kLate, "  initial_broadcast: true\n"},
      {"dgx-a100", 1, 16, "{layers: 14, hidden: 2048, heads: 16, vocab: 1000, sequence: 64, tied_embeddings: false}"},
      {"dgx-1v", 2, 32, "{layers: 8, hidden: 512, heads: 16, ffn_hidden: 1024, vocab: 1000, sequence: 2048}"},
      {"dgx-a100", 4, 64, JobText().model, "perturb: {links: {node0.nic0: {dead: true}}}\n"},
      {"dgx-h100", 4, 128},
      {"dgx-h100", 2, 96, "{layers: 10, hidden: 2048, heads: 16, kv_heads: 4, vocab: 50000, sequence: 4096}"},
      {"dgx-a100", 2, 64, kSmallExperts},
      {"dgx-h100", 1, 64, kSmallExperts, "  experts: {dispatch: deepep}\n  parallel: {expert: 2, data: 2}\n"},
      {"dgx-h100", 2, 64, kSmallExperts, "  parallel: {expert: 4, expert_skew: 0.8, data: 4}\n"},
      {"dgx-a100", 1, 32, JobText().model, "  schedule: {kind: zero-bubble}\n"},
      {"dgx-a100", 1, 32, JobText().model, "  schedule: {kind: gpipe}\n  iterations: 3\n"},
      {"dgx-a100", 2, 64, JobText().model, "collectives: {library: fixed}\n"},
      {"tpu-v4-pod", 1, 64},
      {"dgx-a100", 2, 64, JobText().model, "network: {model: alpha-beta}\n"}};
}

template <typename Value>
const Value& one_of(std::mt19937_64& draw, const std::vector<Value>& values) {
  return values[draw() % values.size()];
}

int between(std::mt19937_64& draw, int least, int most) {
  return least + static_cast<int>(draw() % static_cast<std::uint64_t>(most - least + 1));
}

bool is_true(std::mt19937_64& draw, double share) { return std::bernoulli_distribution(share)(draw); }

std::string random_model(std::mt19937_64& draw) {
  const int layers = between(draw, 2, 24);
  std::string model = fmt::format("{{layers: {}, hidden: {}, heads: 16, vocab: {}, sequence: {}, tied_embeddings: {}",
                                  layers, 256 * between(draw, 1, 10), one_of<int>(draw, {1000, 50'000, 150'000}),
                                  one_of<int>(draw, {64, 1024, 4096}), is_true(draw, 0.7));
  if (is_true(draw, 0.3)) model += ", kv_heads: 4";
  if (is_true(draw, 0.4))
    model += fmt::format(", experts: {}, experts_per_token: {}, dense_layers: {}", one_of<int>(draw, {4, 8, 24}),
                         between(draw, 1, 2), between(draw, 0, layers - 1));
  return model + "}";
}

// Any generation of devices, any number of nodes, what hides behind what, and how stages take turns.
JobText random_job(std::mt19937_64& draw) {
  JobText job;
  job.cluster =
      one_of<std::string>(draw, {"dgx-1v", "dgx-2", "dgx-a100", "dgx-a100", "dgx-h100", "dgx-h100", "dgx-b200",
                                 "gcp-a3-mega", "mi300x-8", "a100-pcie", "gb200-nvl72", "tpu-v4-pod"});
  job.nodes = between(draw, 1, 7);
  if (job.cluster == "gb200-nvl72" || job.cluster == "tpu-v4-pod") job.nodes = 1;
  job.batch = between(draw, 1, 12) * one_of<int>(draw, {8, 16, 24});
  job.model = random_model(draw);
  const auto say = [&](double share, const std::string& line) {
    if (is_true(draw, share)) job.more += "  " + line + "\n";
  };
  say(0.5, fmt::format("overlap: {{gradients: {}}}", is_true(draw, 0.5)));
  say(0.4, "software: " + one_of<std::string>(draw, {"megatron-2022", "megatron-2024", "megatron-2025", "fsdp-2023",
                                                     "deepspeed-2023", "megatron-deepspeed-2022"}));
  say(0.5, fmt::format("schedule: {{kind: {}}}",
                       one_of<std::string>(draw, {"gpipe", "zero-bubble", "zb-h2", "zb-v", "pipedream", "dualpipe",
                                                  "dualpipev", "1f1b, overlap_passes: true"})));
  say(0.2, fmt::format("parallel: {{context_kind: {}, data: 1, zero: 0, sequence: false}}",
                       one_of<std::string>(draw, {"ring", "all-gather"})));
  say(0.2, "initial_broadcast: true");
  say(0.3, fmt::format("iterations: {}", between(draw, 2, 3)));
  if (is_true(draw, 0.1)) job.more += "collectives: {library: fixed}\n";
  if (is_true(draw, 0.1)) job.more += "network: {model: alpha-beta}\n";
  return job;
}

// Some plans of so many random jobs; most of the jobs have some.
void check_random_bounds(std::uint64_t seed, int jobs, std::size_t plans) {
  std::mt19937_64 draw(seed);
  int with_plans = 0;
  for (int i = 0; i < jobs; ++i)
    if (check_bounds(random_job(draw), plans)) ++with_plans;
  CHECK(2 * with_plans > jobs);
}

}  // namespace

TEST_CASE("no plan takes less than its bound") {
  for (const JobText& job : jobs()) CHECK(check_bounds(job, 25));
}

// The larger update is of the second stage, on the second node, whose host is a thousand times as fast as the first's.
TEST_CASE("a bound takes the fastest of several types of hosts") {
  Diagnostics diagnostics;
  ConfigValue root = parse_config(
      fmt::format("cluster: {{nodes: [{{node: dgx-a100, count: 1}}, {{node: dgx-h100, count: 1}}], scale_out: "
                  "{{topology: switch, network: infiniband, latency: 600 ns}}}}\n"
                  "workload: {{model: {}, batch: {{global: 16, micro: 1}}, offload: {{states: 100 %}}, "
                  "parallel: {{pipeline: 2, data: 8, zero: 1}}}}\n",
                  kLate),
      "x.yaml", diagnostics);
  experiment::Experiment experiment = experiment::read_experiment("x.yaml", std::move(root), kFiles, diagnostics);
  REQUIRE(experiment.devices.size() == 2);
  workload::HostMemory& slow = experiment.devices[0].host;
  slow.to_device = slow.from_device = slow.update = Bandwidth(50'000'000);
  slow.capacity = Bytes(2'000'000'000);
  workload::HostMemory& fast = experiment.devices[1].host;
  fast.to_device = fast.from_device = fast.update = Bandwidth(50'000'000'000);
  fast.capacity = Bytes(1'000'000'000);
  workload::TrainingSpec training = training_of(experiment);
  training.offload.host = slow;
  experiment::PlanBounds bounds(experiment);
  CHECK(bounds.host_capacity() == Bytes(1'000'000'000));
  const Duration bound = bounds.of(training, Bytes::max()).time;
  CHECK(bound > Duration::zero());
  CHECK(bound <= time_of(experiment, training));
}

// What waits for what makes the rest of the time; each of these jobs has little of that.
TEST_CASE("bounds count what takes most of the time") {
  const std::string slow = "perturb: {links: {nic.up: {bandwidth: 2 %}}}\n";
  const std::string wide = "{layers: 4, hidden: 4096, heads: 32, vocab: 1000, sequence: 64, tied_embeddings: false}";
  const std::string square =
      "{layers: 4, hidden: 2048, heads: 16, vocab: 1000, sequence: 4096, tied_embeddings: false}";
  const std::string thin = "{layers: 8, hidden: 1024, heads: 16, vocab: 1000, sequence: 4096, tied_embeddings: false}";
  // Gradients between two and, of every pass, among many; messages between stages; pairs of passes.
  const std::vector<std::pair<double, JobText>> rows = {
      {0.85,
       {"dgx-a100", 2, 16, wide, "  parallel: {tensor: 8, data: 2, zero: 0}\n  overlap: {gradients: false}\n" + slow}},
      {0.97, {"dgx-a100", 2, 64, wide, "  parallel: {data: 16, zero: 2}\n  overlap: {gradients: false}\n" + slow}},
      {0.97, {"dgx-a100", 2, 8, thin, "  parallel: {pipeline: 2, data: 8, zero: 0}\n" + slow}},
      {0.97, {"dgx-a100", 2, 64, thin, "  parallel: {pipeline: 2, data: 8, zero: 0}\n" + slow}},
      {0.97, {"dgx-a100", 1, 16, thin, "  parallel: {pipeline: 4, data: 2, zero: 0}\n  schedule: {kind: dualpipe}\n"}},
      {0.97, {"dgx-a100", 1, 64, thin, "  parallel: {pipeline: 4, data: 2, zero: 0}\n  schedule: {kind: dualpipev}\n"}},
      // The last chunk's gradients; a pass that comes late to its pair.
      {0.97,
       {"dgx-a100", 2, 16, square,
        "  parallel: {pipeline: 2, data: 8, zero: 2}\n  schedule: {kind: 1f1b-interleaved, virtual_stages: 2}\n"
        "  overlap: {gradients: true, bucket: 4 GB}\n"}},
      {0.96,
       {"{node: dgx-a100, scale_out: {topology: switch, network: infiniband, latency: 20 ms}}", 2, 128,
        "{layers: 8, hidden: 1024, heads: 16, vocab: 1000, sequence: 1024, tied_embeddings: false}",
        "  parallel: {pipeline: 2, data: 8, zero: 0}\n  schedule: {kind: 1f1b, overlap_passes: true}\n"}}};
  for (const auto& [least, job] : rows) {
    CAPTURE(job.model, job.more);
    experiment::Experiment experiment = read(file_of(job));
    const workload::TrainingSpec training = training_of(experiment);
    experiment::PlanBounds bounds(experiment);
    const Duration bound = bounds.refined(training, bounds.of(training, Bytes::max()).time);
    const Duration time = time_of(experiment, training);
    CHECK(bound <= time);
    CHECK(static_cast<double>(bound.count()) > least * static_cast<double>(time.count()));
  }
}

TEST_CASE("no plan of many takes less than its bound", "[.many]") {
  for (const JobText& job : jobs()) CHECK(check_bounds(job, 500));
}

TEST_CASE("no plan of random jobs takes less than its bound") { check_random_bounds(1, 40, 3); }

TEST_CASE("no plan of many random jobs takes less than its bound", "[.many]") { check_random_bounds(2, 500, 12); }
