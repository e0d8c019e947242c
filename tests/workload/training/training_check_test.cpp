// SPDX-License-Identifier: MIT
// Training sections of extreme and senseless numbers: refused with advice, or generated; never a crash, and nothing is
// generated that no memory holds.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <optional>
#include <random>

#include "tests/workload/training/small_training.h"
#include "tests/workload/training/training_files.h"
#include "workload/matching/matching.h"
#include "workload/training/spec/check.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

constexpr std::int64_t kMostDevices = 1 << 24;

// Mostly small; now and then as large as a key allows, or next to it.
class Extremes {
 public:
  explicit Extremes(std::uint64_t seed) : random_(seed) {}

  std::int64_t number(std::int64_t most) {
    const std::uint64_t wild = wildness_ == 0 ? 5 : random_() % wildness_;
    if (wild == 0) return most - static_cast<std::int64_t>(random_() % 2);
    if (wild == 1) return std::min(most, std::int64_t{1} << random_() % 40);
    if (wild == 2) return std::min(most, static_cast<std::int64_t>(random_() % 100'000) + 1);
    constexpr std::array<std::int64_t, 8> kUsual = {1, 1, 2, 2, 4, 8, 3, 16};
    return std::min(most, kUsual[random_() % kUsual.size()]);
  }
  // A degree: most are one.
  std::int64_t degree(std::int64_t most) { return yes(3) ? number(most) : 1; }
  bool yes(std::uint64_t in = 2) { return random_() % in == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  // How likely extremes are from here on: none in every third text, many in others.
  void next() { wildness_ = std::array<std::uint64_t, 4>{0, 400, 60, 12}[random_() % 4]; }

 private:
  std::mt19937_64 random_;
  std::uint64_t wildness_ = 0;
};

std::string transformer_text(Extremes& x) {
  const std::int64_t heads = 4 * x.number(1 << 14);
  std::string text = fmt::format(
      "hidden: {}, layers: {}, heads: {}, head_size: {}, position: rotary, ffn_hidden: {}, vocab: {}, sequence: {}",
      8 * x.number(1 << 17), x.number(100'000), heads, x.number(1 << 20), 16 * x.number(1 << 18), x.number(1 << 24),
      16 * x.number(1 << 22));
  if (x.yes(6)) text += fmt::format(", kv_heads: {}", x.number(1 << 16));
  if (x.yes(3))
    text += fmt::format(", experts: {}, experts_per_token: {}, expert_hidden: {}, shared_experts: {}, dense_layers: {}",
                        8 * x.number(1 << 13), x.number(1 << 16), 16 * x.number(1 << 18), x.number(1 << 16),
                        x.number(3) - 1);
  if (x.yes(4))
    text += fmt::format(", window: {}, sinks: true, head_norms: true, output_gate: true", x.number(1 << 26));
  if (x.yes(4))
    text += fmt::format(
        ", kinds: {{a: {{mixer: {}, key_heads: {}, value_heads: {}, key_size: {}, value_size: {}, scan_chunk: {}}}, b: "
        "{{chunk: {}}}}}, pattern: [a, b]",
        x.one_of({"gated-delta", "mamba2"}), 1, x.number(1 << 16), x.number(1 << 20), x.number(1 << 20),
        x.number(1 << 16), 16 * x.number(1 << 22));
  text +=
      fmt::format(", gated_mlp: {}, tied_embeddings: {}, attention: {}", x.yes(), x.yes(), x.yes() ? "flash" : "plain");
  return text;
}

std::string model_text(Extremes& x) {
  if (x.yes(8))
    return fmt::format(
        "kind: dlrm, tables: {}, rows: {}, dimension: 8, lookups: {}, dense_features: {}, bottom: [{}, 8], top: [{}]",
        x.number(4096), x.number(1LL << 40), x.number(1 << 16), x.number(1 << 20), x.number(1 << 20),
        x.number(1 << 20));
  if (x.yes(8)) {
    const std::int64_t channels = x.number(1 << 20);
    return fmt::format(
        "kind: convolutional, features: {}, classes: {}, convolutions: [{{inputs: {}, outputs: {}, kernel: {}, size: "
        "{}, "
        "repeat: {}}}]",
        x.number(1 << 20), x.number(1 << 20), channels, channels, x.number(1024), x.number(1 << 16), x.number(10'000));
  }
  return transformer_text(x);
}

std::string parallel_text(Extremes& x, std::int64_t data) {
  std::string text = fmt::format("tensor: {}, context: {}, data: {}, pipeline: {}, zero: {}", x.degree(1 << 24),
                                 x.degree(1 << 24), data, x.degree(1 << 24), x.number(4) - 1);
  if (x.yes(3)) text += fmt::format(", expert: {}, expert_skew: {}", x.degree(1 << 24), x.one_of({0.0, 0.5, 4.0}));
  if (x.yes(10)) text += fmt::format(", shard: {}", x.number(1 << 24));
  if (x.yes(8))
    text += fmt::format(", exchange: parameter-server, servers: {}, asynchronous: {}", x.number(1 << 24), x.yes());
  if (x.yes(4)) text += ", sequence: true";
  if (x.yes(3)) text += ", context_kind: all-gather";
  return text;
}

std::string training_text(Extremes& x) {
  x.next();
  const std::int64_t data = x.number(1 << 24);
  std::string text = fmt::format("model: {{{}}}\nparallel: {{{}}}\n", model_text(x), parallel_text(x, data));
  const std::int64_t micro = x.number(1 << 24);
  const std::int64_t global =
      x.yes(5) ? x.number(1LL << 32) : std::min<std::int64_t>(1LL << 32, data * micro * x.number(1 << 8));
  text += fmt::format("batch: {{global: {}, micro: {}}}\n", global, micro);
  text += fmt::format("schedule: {{kind: {}, virtual_stages: {}}}\n",
                      x.one_of({"gpipe", "1f1b", "1f1b-interleaved", "zero-bubble"}), x.yes(5) ? x.number(1 << 16) : 1);
  if (x.yes(10)) text += fmt::format("pipeline_layers: [{}, {}]\n", x.number(999'999), x.number(999'999));
  text +=
      fmt::format("recompute: {}\niterations: {}\n", x.one_of({"none", "none", "selective", "full"}), x.number(10'000));
  text +=
      fmt::format("overlap: {{gradients: {}, bucket: {} B}}\n", x.yes(), x.yes() ? 25'000'000 : x.number(1LL << 40));
  return text;
}

}  // namespace

TEST_CASE("training sections of extreme numbers are refused with advice or generated") {
  Extremes extremes(31);
  int refused = 0, generated = 0, large = 0;
  for (int trial = 0; trial < 10'000; ++trial) {
    const std::string text = training_text(extremes);
    INFO("trial " << trial << "\n" << text);
    TrainingSpec training;
    if (!problems_of(text, [&](Section& s) { training = read_training(s, {Architecture::kAmpere, 8}); }).empty())
      continue;
    const std::int64_t devices = extremes.number(kMostDevices);
    Diagnostics problems;
    check_training(training, devices, problems);
    if (problems.has_errors()) {
      ++refused;
      REQUIRE(std::ranges::all_of(problems.problems(),
                                  [](const Problem& p) { return !p.hint.empty() && p.hint.size() < 1000; }));
      continue;
    }
    REQUIRE(training.parallel.ranks() <= devices);
    REQUIRE(operations_of(training) <= 1e8);
    if (operations_of(training) > 1e5 || training.parallel.ranks() > 4096) {
      ++large;
      continue;
    }
    const TrainingJob made = generate_job(training, FakeTimes());
    std::size_t nodes = 0;
    for (const ExecutionGraph& graph : made.job.graphs) nodes += graph.size();
    REQUIRE(static_cast<double>(nodes) <= operations_of(training));
    for (const ProgramMemory& memory : made.facts.memory) REQUIRE(memory.need.total() >= Bytes(0));
    REQUIRE(made.facts.model_flops >= 0);
    REQUIRE(made.facts.tokens > 0);
    match(made.job);
    ++generated;
  }
  CHECK(refused > 2000);
  CHECK(generated > 300);
  CHECK(large > 10);
}

// 2^24 to the fourth is zero in 64 bits.
TEST_CASE("degrees whose product no number holds are more ranks than any cluster has") {
  for (const std::int64_t degree_of_each : {1 << 24, 1 << 16, 1 << 12}) {
    TrainingSpec training = small_training(small_gpt());
    training.parallel.degrees.fill(degree_of_each);
    training.global_batch = 1LL << 32;
    Diagnostics problems;
    check_training(training, kMostDevices, problems);
    REQUIRE(problems.has_errors());
    CHECK(problems.problems().front().message.starts_with("the job has "));
  }
}

TEST_CASE("jobs of too many operations are refused, whatever makes them many") {
  const auto refusal = [](const TrainingSpec& training) {
    Diagnostics problems;
    check_training(training, kMostDevices, problems);
    REQUIRE(problems.error_count() == 1);
    return problems.problems().front().message;
  };
  const auto check = [&](const TrainingSpec& training) {
    CHECK_THAT(refusal(training), Catch::Matchers::Contains("operations"));
  };
  TrainingSpec micro_batches = small_training(small_gpt());
  micro_batches.global_batch = 1LL << 30;
  check(micro_batches);

  TrainingSpec iterations = small_training(small_gpt());
  iterations.iterations = 10'000;
  iterations.global_batch = 1000;
  check(iterations);

  TrainingSpec buckets = small_training(small_gpt());
  degree(buckets, ParallelDimension::kData) = 2;
  buckets.global_batch = 2;
  buckets.software.overlap_gradients = true;
  buckets.software.bucket = Bytes(1);
  buckets.iterations = 1000;
  check(buckets);

  TrainingSpec servers = small_training(small_gpt());
  servers.parallel.exchange = ExchangeKind::kParameterServer;
  servers.parallel.servers = 1 << 14;
  degree(servers, ParallelDimension::kData) = 1 << 14;
  servers.global_batch = 1 << 14;
  check(servers);

  TrainingSpec loads = small_training(small_experts());
  std::get<TransformerSpec>(loads.model.sizes).experts = 1 << 16;
  loads.parallel.expert = 1 << 16;
  loads.parallel.expert_skew = 1;
  degree(loads, ParallelDimension::kData) = 1 << 16;
  loads.global_batch = 1 << 20;
  check(loads);

  TrainingSpec tags = small_training(small_gpt());
  degree(tags, ParallelDimension::kPipeline) = 2;
  degree(tags, ParallelDimension::kData) = 1 << 20;
  tags.schedule = ScheduleKind::kInterleaved;
  tags.virtual_stages = 2;
  tags.global_batch = 1 << 24;
  check(tags);

  TrainingSpec convolutions = small_training(small_gpt());
  convolutions.model.sizes = ConvolutionalSpec{{{"c", 1, 1, 1, 1, 1, 1, 10'000}}, 1, 1};
  convolutions.global_batch = 100'000;
  check(convolutions);
}

TEST_CASE("messages of two interleaved stages to each other wait for one another") {
  TrainingSpec training = small_training(small_gpt());
  degree(training, ParallelDimension::kPipeline) = 2;
  training.schedule = ScheduleKind::kInterleaved;
  training.virtual_stages = 2;
  training.global_batch = 4;
  for (const ExecutionGraph& graph : generate_job(training, FakeTimes()).job.graphs) CHECK(graph.peer_slots() == 1);
}

// What the advice of a refusal names is allowed.
TEST_CASE("a model without pipeline does not put weight gradients off") {
  TrainingSpec training = small_training(small_gpt());
  training.model.sizes = ConvolutionalSpec{{{"c", 3, 8, 3, 8, 1}}, 8, 10};
  training.schedule = ScheduleKind::kZeroBubble;
  Diagnostics problems;
  check_training(training, 1, problems);
  REQUIRE(problems.error_count() == 1);
  CHECK(problems.problems().front().hint == "workload.schedule.kind: 1f1b");
  training.schedule = ScheduleKind::kOneForwardOneBackward;
  Diagnostics none;
  check_training(training, 1, none);
  CHECK_FALSE(none.has_errors());
}

// One size at its largest, another doubled until the job is refused: the last one before can be counted.
TEST_CASE("jobs that are just allowed are counted without overflow") {
  using Size = std::int64_t& (*)(TransformerSpec&);
  const std::vector<std::pair<Size, std::int64_t>> sizes = {
      {[](TransformerSpec& m) -> std::int64_t& { return m.hidden; }, 1 << 20},
      {[](TransformerSpec& m) -> std::int64_t& { return m.heads; }, 1 << 16},
      {[](TransformerSpec& m) -> std::int64_t& { return m.head_size; }, 1 << 20},
      {[](TransformerSpec& m) -> std::int64_t& { return m.ffn_hidden; }, 1 << 22},
      {[](TransformerSpec& m) -> std::int64_t& { return m.vocab; }, 1 << 24},
      {[](TransformerSpec& m) -> std::int64_t& { return m.sequence; }, 1 << 26},
      {[](TransformerSpec& m) -> std::int64_t& { return m.experts; }, 1 << 16},
      {[](TransformerSpec& m) -> std::int64_t& { return m.experts_per_token; }, 1 << 16},
      {[](TransformerSpec& m) -> std::int64_t& { return m.expert_hidden; }, 1 << 22},
      {[](TransformerSpec& m) -> std::int64_t& { return m.shared_experts; }, 1 << 16},
      {[](TransformerSpec& m) -> std::int64_t& { return m.layers; }, 1 << 8}};
  int stopped = 0;
  for (const TransformerSpec& base : {small_gpt(), small_experts(), small_latent()})
    for (const AttentionKind attention : {AttentionKind::kPlain, AttentionKind::kFlash})
      for (std::size_t large = 0; large < sizes.size(); ++large)
        for (std::size_t grown = 0; grown <= sizes.size(); ++grown) {
          TrainingSpec training = small_training(base);
          auto& model = std::get<TransformerSpec>(training.model.sizes);
          model.attention = attention;
          model.layers = 2;
          training.recompute = Recompute::kFull;
          if (sizes[large].first(model) > 0) sizes[large].first(model) = sizes[large].second;
          if (model.experts > 0) model.experts = std::max(model.experts, model.experts_per_token);
          std::int64_t& size = grown < sizes.size() ? sizes[grown].first(model) : training.micro_batch;
          const std::int64_t most = grown < sizes.size() ? sizes[grown].second : 1 << 24;
          std::optional<TrainingSpec> allowed;
          for (; size > 0 && size <= most; size *= 2) {
            model.kv_heads = model.heads;
            training.global_batch = training.micro_batch;
            Diagnostics problems;
            check_training(training, 1, problems);
            if (problems.has_errors()) break;
            allowed = training;
          }
          stopped += allowed && size <= most ? 1 : 0;
          if (!allowed) continue;
          INFO("base " << base.experts << " sizes " << large << " and " << grown << " up to " << size / 2);
          const TrainingJob made = generate_job(*allowed, FakeTimes());
          for (const ExecutionGraph& graph : made.job.graphs)
            for (std::uint32_t node = 0; node < graph.size(); ++node)
              if (graph.bytes(NodeId(node)) < Bytes(0) || graph.flops(NodeId(node)) < Flops(0)) FAIL("node " << node);
          CHECK(made.facts.memory.front().need[MemoryUse::kActivations] > Bytes(0));
          CHECK(made.facts.memory.front().need.total() > Bytes(0));
        }
  CHECK(stopped > 50);
}
