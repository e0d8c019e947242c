// SPDX-License-Identifier: MIT
// Generated jobs on a network that takes no time: bubbles, recomputation and utilisation in closed form.
#include <algorithm>
#include <catch2/catch.hpp>

#include "report/result.h"
#include "tests/system/free_network.h"
#include "tests/system/small_jobs.h"
#include "tests/workload/training/small_training.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::report;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using namespace orrery::testing;

namespace {

// Products at a rate, everything else in no time.
class RateTimes final : public OperatorTimes {
 public:
  explicit RateTimes(FlopRate rate) : rate_(rate) {}
  Duration time(const Operator& op) const override { return flops_of(op) / rate_; }

 private:
  FlopRate rate_;
};

Outcome run_free(const Job& job) {
  const auto devices = static_cast<std::uint32_t>(std::max<std::size_t>(2, job.ranks.size()));
  const Fabric fabric = one_dimension("switch", devices, Bandwidth(1'000'000'000'000), Duration::zero());
  return simulate(job, fabric, {}, [&](Engine& engine) { return std::make_unique<FreeNetwork>(engine, fabric); });
}

Duration time_of(const TrainingSpec& training) {
  Diagnostics problems;
  check_training(training, 1 << 20, problems);
  problems.throw_if_errors();
  return run_free(generate_job(training, FakeTimes()).job).totals.finish.time_since_epoch();
}

// So many layers and nothing else: every stage takes the same, and nothing follows the last backward pass.
TrainingSpec bare_layers(TransformerSpec model, std::int64_t layers) {
  model.layers = layers;
  model.dense_layers = 0;
  model.vocab = 0;
  model.tied_embeddings = false;
  TrainingSpec training = small_training(model);
  training.software.optimizer = Bytes(0);
  return training;
}

TrainingSpec pipelined(const TransformerSpec& model, std::int64_t layers, std::int64_t stages,
                       std::int64_t micro_batches, ScheduleKind schedule) {
  TrainingSpec training = bare_layers(model, layers);
  degree(training, ParallelDimension::kPipeline) = stages;
  training.global_batch = micro_batches;
  training.schedule = schedule;
  return training;
}

std::vector<TransformerSpec> models() { return {small_gpt(), small_llama(), small_experts(), small_latent()}; }

// Of all ranks, of nodes whose name has `part`.
Duration compute_of(const Job& job, std::string_view part = "") {
  Duration sum{};
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const ExecutionGraph& graph = job.graph(RankId(rank));
    for (std::uint32_t node = 0; node < graph.size(); ++node)
      if (graph.kind(NodeId(node)) == NodeKind::kCompute &&
          job.labels_of(RankId(rank)).name(NodeId(node)).find(part) != std::string_view::npos)
        sum += *graph.duration(NodeId(node));
  }
  return sum;
}

// Nodes that `last` waits for, directly or not.
std::vector<bool> before(const ExecutionGraph& graph, NodeId last) {
  std::vector<bool> waited_for(graph.size());
  waited_for[index_of(last)] = true;
  for (auto node = graph.order().rbegin(); node != graph.order().rend(); ++node)
    for (const NodeId next : graph.successors(*node))
      if (waited_for[index_of(next)]) waited_for[index_of(*node)] = true;
  return waited_for;
}

}  // namespace

// While the pipeline fills and drains, a stage waits for p-1 forward and p-1 backward passes: (p-1)/m of what m
// micro-batches take.
TEST_CASE("the bubble of gpipe and 1f1b is (p-1)/m of the ideal time, to the picosecond") {
  for (const TransformerSpec& model : models())
    for (const ScheduleKind schedule : {ScheduleKind::kGpipe, ScheduleKind::kOneForwardOneBackward})
      for (const bool overlap : {false, true})
        for (const std::int64_t stages : {1, 2, 3, 4, 8})
          for (const std::int64_t micro_batches : {1, 2, 3, 8, 13}) {
            INFO(name_of(schedule) << " " << stages << " stages, " << micro_batches << " micro-batches");
            const Duration pass = time_of(bare_layers(model, 2));
            TrainingSpec training = pipelined(model, 2 * stages, stages, micro_batches, schedule);
            training.software.overlap_pipeline = overlap;
            CHECK(time_of(training) == pass * (micro_batches + stages - 1));
          }
}

TEST_CASE("the bubble of interleaved stages is (p-1)/(v m) of the ideal time, to the picosecond") {
  for (const TransformerSpec& model : models())
    for (const std::int64_t stages : {2, 3, 4})
      for (const std::int64_t chunks : {2, 3, 4})
        for (const std::int64_t rounds : {1, 2, 3}) {
          INFO(stages << " stages of " << chunks << " chunks, " << rounds * stages << " micro-batches");
          const Duration pass_of_chunk = time_of(bare_layers(model, 2));
          TrainingSpec training =
              pipelined(model, 2 * stages * chunks, stages, rounds * stages, ScheduleKind::kInterleaved);
          training.virtual_stages = chunks;
          CHECK(time_of(training) == pass_of_chunk * (rounds * stages * chunks + stages - 1));
        }
}

// Never below the ideal time, and ideal where there is no pipeline.
TEST_CASE("a zero-bubble schedule is faster than 1f1b") {
  for (const TransformerSpec& model : models())
    for (const std::int64_t stages : {1, 2, 4, 8})
      for (const std::int64_t micro_batches : {stages, 2 * stages, 3 * stages + 1}) {
        INFO(stages << " stages, " << micro_batches << " micro-batches");
        const Duration ideal = time_of(bare_layers(model, 2)) * micro_batches;
        const Duration plain =
            time_of(pipelined(model, 2 * stages, stages, micro_batches, ScheduleKind::kOneForwardOneBackward));
        for (const ScheduleKind schedule :
             {ScheduleKind::kZeroBubble, ScheduleKind::kZeroBubbleH2, ScheduleKind::kZeroBubbleV}) {
          const Duration apart = time_of(pipelined(model, 2 * stages, stages, micro_batches, schedule));
          CHECK(apart >= ideal);
          if (stages == 1)
            CHECK(apart == ideal);
          else
            CHECK(apart < plain);
        }
      }
}

TEST_CASE("full recomputation adds exactly one forward pass of the layers") {
  for (const TransformerSpec& model : models())
    for (const ScheduleKind schedule :
         {ScheduleKind::kGpipe, ScheduleKind::kOneForwardOneBackward, ScheduleKind::kInterleaved,
          ScheduleKind::kZeroBubble, ScheduleKind::kZeroBubbleH2, ScheduleKind::kZeroBubbleV})
      for (const std::int64_t context : {1, 4}) {
        TrainingSpec training = small_training(model);
        degree(training, ParallelDimension::kPipeline) = 2;
        degree(training, ParallelDimension::kContext) = context;
        training.global_batch = 4;
        training.schedule = schedule;
        training.virtual_stages = schedule == ScheduleKind::kInterleaved ? 2 : 1;
        const Job plain = generate_job(training, FakeTimes()).job;
        training.recompute = Recompute::kFull;
        const Job full = generate_job(training, FakeTimes()).job;
        const Duration forward =
            compute_of(plain, " forward") - compute_of(plain, "embedding forward") - compute_of(plain, "head forward");
        CHECK(forward > Duration::zero());
        CHECK(compute_of(full) - compute_of(plain) == forward);
        CHECK(compute_of(full, "recompute") == forward);
      }
}

// Two products of s*s*h a layer and sequence, whether a rank has all of them or passes blocks round a ring.
TEST_CASE("selective recomputation makes the scores of every block again") {
  const FlopRate rate(1'000'000'000'000);  // a FLOP per picosecond
  for (const TransformerSpec& model : models())
    for (const ContextKind kind : {ContextKind::kRing, ContextKind::kAllGather})
      for (const std::int64_t context : {1, 2, 4}) {
        TrainingSpec training = small_training(model);
        training.software.attention = AttentionKind::kPlain;
        degree(training, ParallelDimension::kContext) = context;
        training.parallel.context_kind = kind;
        training.global_batch = 3;
        const Duration plain = compute_of(generate_job(training, RateTimes(rate)).job);
        training.recompute = Recompute::kSelective;
        const Duration again = compute_of(generate_job(training, RateTimes(rate)).job);
        const std::int64_t scores = model.sequence * model.sequence * model.heads * model.head_size;
        CHECK(again - plain == Duration(training.global_batch * model.layers * 2 * 2 * scores));
      }
}

// A layer's products are queries, keys, values, the projection, up, a gate if there is one, and down: the second, the
// fourth and the sixth are made again, and neither attention nor the others.
TEST_CASE("selective recomputation by operator makes every second product again") {
  const FlopRate rate(1'000'000'000'000);  // a FLOP per picosecond
  for (const TransformerSpec& model : {small_gpt(), small_llama()})
    for (const std::int64_t tensor : {1, 2}) {
      TrainingSpec training = small_training(model);
      training.software.selective = SelectiveKind::kOperators;
      degree(training, ParallelDimension::kTensor) = tensor;
      training.global_batch = 3;
      const Job plain = generate_job(training, RateTimes(rate)).job;
      training.recompute = Recompute::kSelective;
      const Job again = generate_job(training, RateTimes(rate)).job;
      const std::int64_t keys = (model.kv_heads > 0 ? model.kv_heads : model.heads) * model.head_size;
      const std::int64_t inner = keys + model.heads * model.head_size + model.ffn_hidden;
      CHECK(compute_of(again) - compute_of(plain) ==
            Duration(training.global_batch * model.layers * 2 * model.sequence * model.hidden * inner));
      CHECK(compute_of(again, "recompute") == compute_of(again) - compute_of(plain));
    }
}

// 150 and 108 values of two bytes are no multiple of 16 bytes, 144 are.
TEST_CASE("heads whose size is not aligned make the products of plain attention slow, and no others") {
  class Unaligned final : public OperatorTimes {
   public:
    Duration time(const Operator& op) const override {
      const auto* gemm = std::get_if<Gemm>(&op);
      return Duration(gemm != nullptr && !gemm->aligned ? 1 : 0);
    }
  };
  for (const auto& [head, products] : {std::pair{144, 0}, {150, 6}, {108, 6}}) {
    TransformerSpec model = small_gpt();
    model.head_size = head;
    TrainingSpec training = small_training(model);
    training.software.attention = AttentionKind::kPlain;
    training.global_batch = 1;
    CHECK(compute_of(generate_job(training, Unaligned()).job) == Duration(products * model.layers));
    training.software.attention = AttentionKind::kFlash;
    CHECK(compute_of(generate_job(training, Unaligned()).job) == Duration::zero());
  }
}

TEST_CASE("updated parameters are gathered behind the optimizer, or layer by layer with the first forward pass") {
  for (const std::int64_t zero : {1, 2}) {
    TrainingSpec training = pipelined(small_gpt(), 8, 2, 4, ScheduleKind::kInterleaved);
    training.virtual_stages = 2;
    training.parallel.zero = zero;
    degree(training, ParallelDimension::kData) = 2;
    training.global_batch = 8;
    training.iterations = 2;
    training.software.overlap_gradients = true;
    const Job behind = generate_job(training, FakeTimes()).job;
    training.software.overlap_parameters = true;
    const Job together = generate_job(training, FakeTimes()).job;
    training.software.bucket = Bytes(4);  // a gradient
    const Job beside = generate_job(training, FakeTimes()).job;
    CHECK(volumes(behind, RankId(0)) == volumes(beside, RankId(0)));
    const auto gathers = [](const Job& job) {
      std::size_t count = 0;
      const ExecutionGraph& graph = job.graph(RankId(0));
      for (std::uint32_t node = 0; node < graph.size(); ++node)
        count += job.labels_of(RankId(0)).name(NodeId(node)).find("parameters gather") != std::string_view::npos;
      return count;
    };
    CHECK(volumes(behind, RankId(0)) == volumes(together, RankId(0)));
    CHECK(gathers(behind) == 2);
    CHECK(gathers(together) == 2 * 2);  // a bucket for each chunk
    CHECK(gathers(beside) == 2 * 4);    // the layers of a stage, each once an iteration
  }
}

TEST_CASE(
    "with interleaving a stage gathers two chunks before its first pass, and others a chunk ahead of the pipeline") {
  // Three chunks on two stages. Pass 2 - s of stage s is at about the same time on both, and the first of chunk 1 on
  // the first stage: then the third chunk is gathered.
  TrainingSpec training = pipelined(small_gpt(), 6, 2, 4, ScheduleKind::kInterleaved);
  training.virtual_stages = 3;
  std::get<TransformerSpec>(training.model.sizes).layers = 6;
  training.parallel.zero = 1;
  degree(training, ParallelDimension::kData) = 2;
  training.global_batch = 8;
  training.software.overlap_gradients = training.software.overlap_parameters = true;
  training.software.bucket = Bytes(4);  // a layer
  const Job job = generate_job(training, FakeTimes()).job;
  for (const std::uint32_t stage : {0U, 1U}) {
    const RankId rank{2 * stage};
    const ExecutionGraph& graph = job.graph(rank);
    std::vector<std::size_t> passes_before;  // of each gather: forward passes that it waits for
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      if (job.labels_of(rank).name(NodeId(node)).find("parameters gather") == std::string_view::npos) continue;
      const std::vector<bool> waited_for = before(graph, NodeId(node));
      std::size_t passes = 0;
      for (std::uint32_t other = 0; other < graph.size(); ++other)
        passes +=
            waited_for[other] && job.labels_of(rank).name(NodeId(other)).find("mlp forward") != std::string_view::npos;
      passes_before.push_back(passes);
    }
    INFO("stage " << stage);
    const std::size_t at_first = static_cast<std::size_t>(std::ranges::count(passes_before, 0U));
    CHECK(at_first + 1 == passes_before.size());
    CHECK(passes_before.back() == 2 - stage);
  }
}

TEST_CASE("iterations take as long as one after the other") {
  for (const TransformerSpec& model : models())
    for (const ScheduleKind schedule : {ScheduleKind::kGpipe, ScheduleKind::kOneForwardOneBackward})
      for (const std::int64_t zero : {0, 1, 2, 3}) {
        TrainingSpec training = pipelined(model, 4, 2, 4, schedule);
        training.parallel.zero = zero;
        degree(training, ParallelDimension::kData) = 2;
        training.global_batch = 8;
        const Duration once = time_of(training);
        for (const std::int64_t iterations : {2, 5}) {
          training.iterations = iterations;
          CHECK(time_of(training) == once * iterations);
        }
      }
}

// The device begins an iteration when the host is through with what it does between steps, and so does the host.
TEST_CASE("what the host does between steps comes on top of every iteration, however far ahead it would be") {
  TrainingSpec training = small_training(small_gpt());
  training.global_batch = 2;
  for (const std::int64_t launch : {0, 1, 1000}) {
    training.software.host.launch = std::chrono::microseconds(launch);
    for (const std::int64_t iterations : {1, 3, 5}) {
      training.iterations = iterations;
      training.software.step = Duration::zero();
      const Duration without = time_of(training);
      training.software.step = std::chrono::milliseconds(20);
      CHECK(time_of(training) == without + training.software.step * iterations);
    }
  }
}

// Weight gradients that run beside something are waited for by the optimizer, and wait for what they are made of.
TEST_CASE("nothing of an iteration is done after its optimizer, nothing of a backward pass before the loss") {
  std::vector<TrainingSpec> jobs;
  TrainingSpec transformer = small_training(small_gpt());
  degree(transformer, ParallelDimension::kTensor) = 2;
  transformer.software.overlap_tensor = TensorOverlap::kWeightGradient;
  jobs.push_back(transformer);
  TrainingSpec convolutional = small_training(small_gpt());
  convolutional.model.sizes = ConvolutionalSpec{{{"c", 3, 16, 3, 8, 1}, {"d", 16, 16, 3, 8, 1, 1, 2}}, 16, 10};
  convolutional.global_batch = 2;
  jobs.push_back(convolutional);
  TrainingSpec dlrm = small_training(small_gpt());
  dlrm.model.sizes = DlrmSpec{4, 100, 8, 2, 5, {16, 8}, {12, 1}};
  jobs.push_back(dlrm);
  for (TrainingSpec& training : jobs)
    for (const std::int64_t zero : {0, 3})
      for (const bool overlap : {false, true}) {
        degree(training, ParallelDimension::kData) = 2;
        training.global_batch = 2 * std::max<std::int64_t>(2, training.global_batch / 2);
        if (std::holds_alternative<DlrmSpec>(training.model.sizes)) training.micro_batch = training.global_batch / 2;
        training.parallel.zero = zero;
        training.software.overlap_gradients = overlap;
        training.software.bucket = Bytes(512);
        const Job job = generate_job(training, FakeTimes()).job;
        const Fabric fabric = one_dimension("switch", 8, Bandwidth(1'000'000'000), Duration(1'000'000));
        const Outcome outcome = simulate(job, fabric);
        const ExecutionGraph& graph = job.graph(RankId(0));
        const auto name = [&](const OperationRecord& r) { return job.labels_of(RankId(0)).name(r.node); };
        Time first_loss = Time::max(), optimizer = Time::max();
        const bool has_loss = training.transformer() == nullptr;
        for (const OperationRecord& record : outcome.log.of(RankId(0))) {
          if (name(record) == "optimizer") optimizer = record.start;
          if (name(record).find(has_loss ? "loss forward" : "head forward") != std::string_view::npos)
            first_loss = std::min(first_loss, record.end);
        }
        for (std::uint32_t node = 0; node < graph.size(); ++node)
          if (job.labels_of(RankId(0)).name(NodeId(node)) == "optimizer") {
            const std::vector<bool> waited_for = before(graph, NodeId(node));
            for (std::uint32_t other = 0; other < graph.size(); ++other)
              if (graph.kind(NodeId(other)) == NodeKind::kCompute) CHECK(waited_for[other]);
          }
        REQUIRE(optimizer < Time::max());
        REQUIRE(first_loss < Time::max());
        for (const OperationRecord& record : outcome.log.of(RankId(0))) {
          if (graph.kind(record.node) != NodeKind::kCompute || name(record) == "optimizer") continue;
          INFO(name(record));
          CHECK(record.end <= optimizer);
          if (name(record).find("backward") != std::string_view::npos) CHECK(record.start >= first_loss);
        }
      }
}

// 72 b s l h^2 (1 + s/(6h) + V/(12 l h)): appendix of Narayanan et al. 2021, without its fourth pass for recomputation.
TEST_CASE("model FLOPs of GPT are those of the closed form") {
  for (const std::int64_t hidden : {64, 128, 1024})
    for (const std::int64_t layers : {1, 8, 96})
      for (const std::int64_t sequence : {32, 2048})
        for (const std::int64_t batch : {1, 7}) {
          TransformerSpec model = small_gpt();
          model.hidden = hidden;
          model.head_size = hidden / model.heads;
          model.ffn_hidden = 4 * hidden;
          model.layers = layers;
          model.sequence = sequence;
          TrainingSpec training = small_training(model);
          training.global_batch = batch;
          const auto b = static_cast<double>(batch), s = static_cast<double>(sequence), l = static_cast<double>(layers);
          const auto h = static_cast<double>(hidden), v = static_cast<double>(model.vocab);
          const double expected = 72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
          CHECK(generate_job(training, FakeTimes()).facts.model_flops == Approx(expected).epsilon(1e-12));
          // The scores' 12 b s^2 l h halved.
          training.causal_flops = true;
          CHECK(generate_job(training, FakeTimes()).facts.model_flops ==
                Approx(expected - 6 * b * s * s * l * h).epsilon(1e-12));
          // As a mask that is not causal leaves nothing out.
          model.causal = false;
          training.model.sizes = model;
          CHECK(generate_job(training, FakeTimes()).facts.model_flops == Approx(expected).epsilon(1e-12));
        }
}

// Of 8 experts a token passes two and the shared one: 6 FLOPs for each weight that it passes, router included.
TEST_CASE("model FLOPs of a mixture of experts count the active parameters") {
  TransformerSpec model = small_experts();
  model.biases = false;
  TrainingSpec training = small_training(model);
  const std::int64_t idle = (model.experts - model.experts_per_token) * 3 * model.expert_hidden * model.hidden;
  const std::int64_t norms = (2 * model.layers + 1) * model.hidden;
  // All matrices but the embedding's table, less the experts that stay idle.
  const std::int64_t active =
      parameter_count(model) - model.vocab * model.hidden - norms - (model.layers - model.dense_layers) * idle;
  const std::int64_t scores = 12 * model.layers * model.hidden * model.sequence;
  CHECK(generate_job(training, FakeTimes()).facts.model_flops ==
        static_cast<double>(model.sequence * (6 * active + scores)));
}

// Where products alone take time, at a share of the peak, and attention computes all scores, MFU is that share; the
// pipeline's bubble takes its part. The products of 3 passes are rounded up by a picosecond each.
TEST_CASE("MFU is the share of the peak at which a job computes") {
  const FlopRate peak(100'000'000'000);
  for (const TransformerSpec& model : models())
    for (const std::int64_t percent : {100, 40})
      for (const std::int64_t data : {1, 2}) {
        TrainingSpec training = small_training(model);
        training.software.attention = AttentionKind::kPlain;
        degree(training, ParallelDimension::kData) = data;
        training.global_batch = 2 * data;
        training.iterations = 2;
        const TrainingJob made = generate_job(training, RateTimes(FlopRate(peak.count() / 100 * percent)));
        const Outcome outcome = run_free(made.job);
        const auto devices = static_cast<std::uint32_t>(made.job.ranks.size());
        const std::vector<Bytes> capacities(made.facts.memory.size(), Bytes(1));
        const TrainingFigures figures =
            training_figures(made.facts, {peak, peak, devices, capacities}, outcome.totals.finish.time_since_epoch());
        CHECK(figures.mfu == Approx(static_cast<double>(percent) / 100).epsilon(1e-6));
        CHECK(figures.model_tflops_per_gpu == Approx(figures.mfu / 10).epsilon(1e-9));
        const double step = seconds(outcome.totals.finish) / 2;
        CHECK(figures.tokens_per_s_per_gpu == Approx(static_cast<double>(2 * model.sequence) / step).epsilon(1e-9));
      }
}
