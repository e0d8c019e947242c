// SPDX-License-Identifier: MIT
// Jobs that experiments share: what makes two of them one, and which are kept.
#include "experiment/job_cache.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "core/in_parallel.h"
#include "experiment/experiment.h"
#include "experiment/job.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::experiment;

namespace {

// Operators that all take as long; on a device that has no peak where that is no time.
class Times final : public workload::OperatorTimes {
 public:
  explicit Times(std::int64_t picoseconds) : picoseconds_(picoseconds) {}
  Duration time(const workload::Operator&) const override {
    if (picoseconds_ <= 0) throw InputError({}, "no peak");
    return Duration(picoseconds_);
  }

 private:
  const std::int64_t picoseconds_;
};

// Values of keys of a small job; `more` stands below all of them.
struct SharedJob {
  std::string cluster = "dgx-a100";
  std::string software = "megatron-2022";
  std::string recompute = "none";
  std::string more = "";
};

Experiment experiment_of(const SharedJob& job) {
  Diagnostics diagnostics;
  const std::string text = fmt::format(
      "cluster: {}\nnodes: 2\n"
      "workload: {{model: {{hidden: 1024, layers: 8, heads: 16, vocab: 32000, sequence: 2048}}, software: {}, "
      "recompute: {}, parallel: {{tensor: 2, pipeline: 2, data: 4}}, batch: {{global: 64, micro: 1}}}}\n{}",
      job.cluster, job.software, job.recompute, job.more);
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  diagnostics.throw_if_errors();
  return read_experiment("x.yaml", std::move(root), kFiles, diagnostics);
}

workload::TrainingSpec spec_of(const SharedJob& job = {}) { return *experiment_of(job).jobs.front().workload.training; }

constexpr auto kWrittenOut = workload::Loops::kWrittenOut;

}  // namespace

TEST_CASE("a job is made once for a model and plan with the same times, wherever its keys stand") {
  JobCache cache;
  workload::TrainingSpec training = spec_of();
  const auto first = cache.get(training, Times(1000), kWrittenOut);
  training.where = {"other.yaml", 3, 1};
  training.locations["parallel.tensor"] = {"other.yaml", 4, 1};
  CHECK(cache.get(training, Times(1000), kWrittenOut) == first);
  CHECK(cache.size() == 1);
  CHECK(cache.get(training, Times(1001), kWrittenOut) != first);
  CHECK(cache.get(training, Times(1000), workload::Loops::kRepeated) != first);
  CHECK(cache.get(spec_of({.recompute = "full"}), Times(1000), kWrittenOut) != first);
  CHECK(cache.size() == 4);
  CHECK(cache.get(training, Times(1000), kWrittenOut) == first);
}

TEST_CASE("jobs beyond the memory of the cache are made again, those that were asked for last are not") {
  // Of jobs that each take more than there is room for the last is kept; with room for all, all three are.
  for (const std::size_t kept : {std::size_t{1}, std::size_t{3}}) {
    JobCache cache(kept == 1 ? 1 : std::size_t{1} << 30);
    std::vector<std::shared_ptr<const workload::TrainingJob>> first, again;
    for (auto* jobs : {&first, &again})
      for (const std::int64_t time : {1000, 2000, 3000})
        jobs->push_back(cache.get(spec_of(), Times(time), kWrittenOut));
    CHECK(cache.size() == kept);
    CHECK((first == again) == (kept == 3));
  }
}

TEST_CASE("replicas take no memory in a job whose groups are computed") {
  const auto bytes_of = [](std::int64_t replicas) {
    JobCache cache;
    workload::TrainingSpec training = spec_of();
    training.parallel.degrees.fill(1);
    training.parallel.degrees[static_cast<std::size_t>(workload::ParallelDimension::kData)] = replicas;
    training.global_batch = replicas;
    cache.get(training, Times(1000), kWrittenOut);
    return cache.bytes();
  };
  const std::size_t few = bytes_of(8), many = bytes_of(4096);
  CHECK(few > 1000);
  CHECK(many < few + 4096);  // a list of the data group alone takes 16 KB
}

TEST_CASE("a job that cannot be made is not kept, and one that several threads want is made by one of them") {
  JobCache cache;
  CHECK_THROWS_AS(cache.get(spec_of(), Times(0), kWrittenOut), InputError);
  CHECK(cache.size() == 0);
  std::vector<std::shared_ptr<const workload::TrainingJob>> found(16);
  in_parallel(found.size(), 4, [&](std::size_t i) { found[i] = cache.get(spec_of(), Times(1000), kWrittenOut); });
  CHECK(cache.size() == 1);
  for (const auto& one : found) CHECK(one == found.front());
  CHECK_THROWS_AS(cache.get(spec_of(), Times(0), kWrittenOut), InputError);
}

TEST_CASE("experiments that differ in links alone share their job, and others do not") {
  JobCache cache;
  const auto job_of = [&](const SharedJob& job, JobCache* jobs) {
    Diagnostics diagnostics;
    Experiment experiment = experiment_of(job);
    experiment.made_jobs = jobs;
    return load_experiment_job(experiment, diagnostics);
  };
  // An A800 is an A100 with fewer links.
  for (const SharedJob& job :
       {SharedJob{}, SharedJob{.cluster = "hgx-a800"}, SharedJob{.more = "perturb: {jitter: {sigma: 2 %}}"},
        SharedJob{.more = "network: {model: alpha-beta}"}, SharedJob{.recompute = "full"},
        SharedJob{.software = "megatron-2024"}}) {
    const ExperimentJob shared = job_of(job, &cache), own = job_of(job, nullptr);
    REQUIRE(shared.job.graphs.size() == own.job.graphs.size());
    for (std::size_t i = 0; i < own.job.graphs.size(); ++i) CHECK(shared.job.graphs[i] == own.job.graphs[i]);
    CHECK(shared.placement == own.placement);
    CHECK(shared.training->model_flops == own.training->model_flops);
  }
  CHECK(cache.size() == 3);  // its own, that with more to recompute, and that of the other software
}
