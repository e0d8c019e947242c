// SPDX-License-Identifier: MIT
// Random training jobs: what is allowed can be simulated, folds without a difference, and survives being written.
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <span>

#include "tests/experiment/random_training.h"
#include "tests/system/folding/folded.h"
#include "tests/system/plans/fake_library.h"
#include "tests/workload/training/small_training.h"
#include "workload/tools/writer.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using namespace orrery::testing;

namespace {

std::string text_of(const TrainingSpec& t) {
  const Parallelism& p = t.parallel;
  std::string text = fmt::format(
      "tensor {} context {} ({}) data {} pipeline {} expert {} skew {} sequence {} zero {} shard {} servers {}{}\n",
      p.tensor(), p.context(), static_cast<int>(p.context_kind), p.data(), p.pipeline(), p.expert, p.expert_skew,
      p.sequence, p.zero, p.shard, p.exchange == ExchangeKind::kParameterServer ? p.servers : 0,
      p.asynchronous ? " asynchronous" : "");
  text += fmt::format("{} chunks {} layers [{}] batch {} micro {} iterations {} recompute {} precision {}\n",
                      name_of(t.schedule), t.virtual_stages, fmt::join(t.layers_of_stages(), ","), t.global_batch,
                      t.micro_batch, t.iterations, static_cast<int>(t.recompute), name_of(t.precision));
  text += fmt::format("overlap gradients {} bucket {} tensor {} pipeline {} scatter {} attention {} dropout {}\n",
                      t.software.overlap_gradients, t.software.bucket.count(),
                      static_cast<int>(t.software.overlap_tensor), t.software.overlap_pipeline,
                      t.software.scatter_gather, static_cast<int>(t.software.attention), t.software.dropout);
  if (const TransformerSpec* m = t.transformer())
    text += fmt::format("hidden {} layers {} heads {}/{} experts {} shared {} dense {} latent {} vocab {} tied {}\n",
                        m->hidden, m->layers, m->heads, m->kv_heads, m->experts, m->shared_experts, m->dense_layers,
                        m->latent.has_value(), m->vocab, m->tied_embeddings);
  text += fmt::format("capacity {} padded {} redundant {} rows {} again [", t.experts.capacity, t.experts.pads,
                      t.experts.redundant, t.experts.row_multiple);
  for (const RecomputeWord& word : kRecomputeWords)
    if (t.recompute_modules.*word.module) text += fmt::format(" {}", word.word);
  text += " ]\n";
  return text;
}

// Every computation takes its own time, no more and no less.
void check_compute(const Job& job, const Outcome& outcome) {
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const ExecutionGraph& graph = job.graph(RankId(rank));
    Duration busy{}, needed{};
    for (const OperationRecord& record : outcome.log.of(RankId(rank)))
      if (graph.kind(record.node) == NodeKind::kCompute) busy += record.end - record.start;
    for (std::uint32_t node = 0; node < graph.size(); ++node)
      if (graph.kind(NodeId(node)) == NodeKind::kCompute)
        needed += graph.duration(NodeId(node)).value_or(Duration::zero());
    CHECK(busy == needed);
  }
}

// What is taken is given back within the iteration, and never before.
// The largest sum of the changes on the way.
Bytes peak_of(const MemoryCourse& changes) {
  std::int64_t now = 0, peak = 0;
  for (const MemoryChange change : changes) peak = std::max(peak, now += change.bytes);
  return Bytes(peak);
}

void check_memory(const TrainingJob& made, bool has_matrices = false) {
  REQUIRE(made.facts.memory.size() == made.job.graphs.size());
  for (std::size_t graph = 0; graph < made.job.graphs.size(); ++graph) {
    const ProgramMemory& memory = made.facts.memory[graph];
    INFO("program " << graph);
    CHECK(made.job.ranks[index_of(memory.first_rank)].graph == graph);
    std::int64_t now = 0, least = 0;
    for (const MemoryChange change : memory.changes) {
      REQUIRE(change.number < made.job.graphs[graph].size());
      CHECK((change.bytes > 0) == !change.at_end);
      least = std::min(least, now += change.bytes);
    }
    CHECK(now == 0);
    CHECK(least == 0);
    // Whole matrices may need more during the step.
    if (has_matrices)
      CHECK(memory.need[MemoryUse::kActivations] >= peak_of(memory.changes));
    else
      CHECK(memory.need[MemoryUse::kActivations] == peak_of(memory.changes));
    CHECK(memory.need.total() >= memory.need.standing());
  }
}

// The kernels of a program take as long as its computation, but for the host's part of it.
void check_kernels(const TrainingJob& made) {
  REQUIRE(made.facts.kernels.size() == made.job.graphs.size());
  std::vector<std::int64_t> ranks(made.job.graphs.size());
  for (const RankBinding& rank : made.job.ranks) ++ranks[rank.graph];
  for (std::size_t number = 0; number < ranks.size(); ++number) {
    const ProgramKernels& kernels = made.facts.kernels[number];
    CHECK(kernels.ranks == ranks[number]);
    if (kernels.uses.empty()) continue;  // a server's
    const ExecutionGraph& graph = made.job.graphs[number];
    Duration computing{}, of_kernels{};
    for (std::uint32_t node = 0; node < graph.size(); ++node)
      if (graph.kind(NodeId(node)) == NodeKind::kCompute)
        computing += graph.duration(NodeId(node)).value_or(Duration::zero());
    for (const KernelUse& use : kernels.uses) of_kernels += use.count * use.each;
    INFO("program " << number);
    CHECK(of_kernels == computing);
  }
}

// By what a fabric of its own takes; the same job read back takes the same.
void check_written(const Job& job, const Fabric& fabric, Time finish) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("orrery-training-{}", ::getpid());
  std::filesystem::remove_all(folder);
  Diagnostics diagnostics;
  const Job read = load_chakra_job(write_job(job, folder, "job"), diagnostics);
  std::filesystem::remove_all(folder);
  CHECK(diagnostics.problems().empty());
  CHECK(simulate(read, fabric).totals.finish == finish);
}

}  // namespace

TEST_CASE("random training jobs that are allowed run, fold and survive being written") {
  constexpr int kWanted = 2000;
  constexpr std::int64_t kMostRanks = 24;
  std::mt19937_64 random(23);
  const FakeLibrary library(Bytes(0));
  int allowed = 0, tried = 0;
  std::array<int, kScheduleKindCount> schedules{};
  std::array<int, 4> zeros{};
  for (; allowed < kWanted && tried < 100 * kWanted; ++tried) {
    const TrainingSpec training = random_training(random);
    Diagnostics problems;
    check_training(training, kMostRanks, problems);
    if (problems.has_errors()) {
      CHECK(std::ranges::none_of(problems.problems(), [](const Problem& p) { return p.hint.empty(); }));
      continue;
    }
    INFO("try " << tried << "\n" << text_of(training));
    const TrainingJob made = generate_job(training, FakeTimes());
    check_memory(made);
    check_kernels(made);
    const auto devices = static_cast<std::uint32_t>(std::max<std::size_t>(2, made.job.ranks.size()));
    const Fabric fabric =
        one_dimension(allowed % 2 == 0 ? "switch" : "ring", devices, Bandwidth(25'000'000'000), Duration(700'000));
    const Outcome folded =
        fold_and_compare(made.job, fabric, {}, allowed % 3 == 0 ? NetworkModel::kFlow : NetworkModel::kAlphaBeta);
    // However small a library's buffer is, no stage waits for one that waits for it.
    SimulationOptions awaiting;
    awaiting.collectives.library = &library;
    awaiting.collectives.granularity = Granularity::kPhase;
    fold_and_compare(made.job, fabric, awaiting, NetworkModel::kFlow);
    const Outcome outcome = simulate(made.job, fabric);
    check_compute(made.job, outcome);
    if (allowed % 4 == 0) check_written(made.job, fabric, outcome.totals.finish);
    ++allowed;
    ++schedules[static_cast<std::size_t>(training.schedule)];
    ++zeros[static_cast<std::size_t>(training.parallel.zero)];
  }
  CHECK(allowed == kWanted);
  CHECK(std::ranges::min(std::span(schedules).first<4>()) > 150);
  CHECK(std::ranges::min(std::span(schedules).subspan<4>()) > 10);  // of stages that share no table, or of two ways
  CHECK(std::ranges::min(zeros) > 150);
}

TEST_CASE("random training jobs with other optimizers and with states and activations on hosts fold") {
  constexpr std::int64_t kMostRanks = 24;
  std::mt19937_64 random(31);
  const auto below = [&](std::uint64_t count) { return random() % count; };
  std::array<int, 4> modes{};
  int offloaded = 0;
  for (int allowed = 0; allowed < 300;) {
    TrainingSpec training = random_training(random);
    OptimizerSpec& optimizer = training.optimizer;
    optimizer.moments = {static_cast<std::int64_t>(below(3)), Bytes(1 + static_cast<std::int64_t>(below(4))),
                         below(2) == 0 ? 0 : 256};
    optimizer.masters = below(2) == 0;
    if (below(2) == 0) optimizer.matrices.emplace().mode = static_cast<MatrixMode>(below(4));
    training.offload.states = static_cast<double>(below(3)) / 2;
    training.offload.on_host = below(2) == 0;
    training.offload.activations = static_cast<double>(below(3)) / 2;
    training.offload.host = {Bandwidth(2'000'000'000), Bandwidth(1'000'000'000), Bandwidth(3'000'000'000), {}};
    Diagnostics problems;
    check_training(training, kMostRanks, problems);
    if (problems.has_errors()) {
      CHECK(std::ranges::none_of(problems.problems(), [](const Problem& p) { return p.hint.empty(); }));
      continue;
    }
    ++allowed;
    INFO(text_of(training));
    const TrainingJob made = generate_job(training, FakeTimes());
    check_memory(made, optimizer.matrices.has_value());
    check_kernels(made);
    const auto devices = static_cast<std::uint32_t>(std::max<std::size_t>(2, made.job.ranks.size()));
    const Fabric fabric =
        one_dimension(allowed % 2 == 0 ? "switch" : "ring", devices, Bandwidth(25'000'000'000), Duration(700'000));
    fold_and_compare(made.job, fabric, {}, allowed % 3 == 0 ? NetworkModel::kFlow : NetworkModel::kAlphaBeta);
    check_compute(made.job, simulate(made.job, fabric));
    if (optimizer.matrices) ++modes[static_cast<std::size_t>(optimizer.matrices->mode)];
    if (training.offload.any()) ++offloaded;
  }
  CHECK(std::ranges::min(modes) > 10);
  CHECK(offloaded > 50);
}

// Where messages share nothing and take no latency, so that what runs beside the computation takes nobody's bandwidth
// and many small messages no longer than a large one. Where they do share, an exchange of gradients beside the
// pipeline's sends can delay these, and the step with them: with links shared fairly up to 15 % of these small jobs.
TEST_CASE(
    "exchanges beside the computation make no step longer, but for parameters in a pipeline without interleaving") {
  std::mt19937_64 random(29);
  double worst = 0, worst_split = 0;
  for (int allowed = 0; allowed < 900;) {
    TrainingSpec training = random_training(random);
    training.parallel.zero = 1 + allowed % 2;
    training.iterations = 1 + allowed % 3;
    if (training.parallel.replicas() < 2 || training.parallel.exchange != ExchangeKind::kCollective) continue;
    Diagnostics problems;
    check_training(training, 24, problems);
    if (problems.has_errors()) continue;
    ++allowed;
    const auto time_with = [&](bool gradients, bool parameters) {
      training.software.overlap_gradients = gradients;
      training.software.overlap_parameters = parameters;
      const Job job = generate_job(training, FakeTimes()).job;
      const auto devices = static_cast<std::uint32_t>(std::max<std::size_t>(2, job.ranks.size()));
      const Fabric fabric = one_dimension("switch", devices, Bandwidth(25'000'000'000), Duration(0));
      return seconds(simulate(job, fabric).totals.finish);
    };
    const double behind = time_with(false, false), gradients = time_with(true, false), all = time_with(true, true);
    INFO(text_of(training));
    CHECK(gradients <= behind * 1.0005);  // a bucket is rounded up to whole bytes for each of its ranks
    // Without interleaving a stage gathers a bucket only when it comes to the one before, that is when its first
    // micro-batch has: what no computation hides there is waited for stage after stage, while behind the optimizer all
    // stages gather at once. Megatron-Core does the same.
    if (training.parallel.pipeline() == 1 || training.virtual_stages > 1)
      CHECK(all <= gradients * 1.0005);
    else if (workload::splits_all(training.schedule))
      worst_split = std::max(worst_split, all / gradients);
    else
      worst = std::max(worst, all / gradients);
  }
  CHECK(worst > 1.01);
  CHECK(worst < 1.15);
  // The first passes of these schedules wait for one another's stages with less between them to hide it.
  CHECK(worst_split < 1.3);
}
