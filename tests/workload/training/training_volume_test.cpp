// SPDX-License-Identifier: MIT
// What generated jobs communicate, summed over their nodes, against closed forms: to the byte, and nothing else.
#include <fmt/format.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "tests/workload/training/small_training.h"
#include "workload/matching/matching.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

using Volumes = std::map<std::string, std::int64_t>;

constexpr std::int64_t kWidth = 2;  // bytes of a bf16 value

std::int64_t ceil_of(std::int64_t count, std::int64_t parts) { return (count + parts - 1) / parts; }

// The closed forms of one stage of a job whose precision is bf16.
class ClosedForms {
 public:
  ClosedForms(const TrainingSpec& training, std::int64_t stage)
      : training_(training), parallel_(training.parallel), model_(*training.transformer()), stage_(stage) {
    for (std::int64_t chunk = 0; chunk < training.virtual_stages; ++chunk) {
      const std::int64_t at = chunk * parallel_.pipeline() + stage;
      const std::int64_t each = model_.layers / stages();
      for (std::int64_t layer = at * each; layer < (at + 1) * each; ++layer)
        (model_.has_experts(layer) ? expert_layers_ : dense_layers_) += 1;
    }
  }

  Volumes all() {
    tensor();
    context();
    experts();
    boundaries();
    gradients();
    std::erase_if(sums_, [](const auto& sum) { return sum.second == 0; });
    for (auto& [name, sum] : sums_) sum *= training_.iterations;
    return sums_;
  }

 private:
  std::int64_t stages() const { return parallel_.pipeline() * training_.virtual_stages; }
  bool has_embedding() const { return model_.vocab > 0 && stage_ == 0; }
  bool has_head() const { return model_.vocab > 0 && stage_ + 1 == parallel_.pipeline(); }
  std::int64_t t() const { return parallel_.tensor(); }
  std::int64_t micro() const { return training_.micro_batches(); }
  std::int64_t layers() const { return dense_layers_ + expert_layers_; }
  std::int64_t tokens() const { return training_.micro_batch * model_.sequence / parallel_.context(); }
  std::int64_t activations() const { return tokens() * model_.hidden * kWidth; }
  // A forward pass is done twice where everything is recomputed.
  std::int64_t forwards() const { return training_.recompute == Recompute::kFull ? 2 : 1; }
  void add(const std::string& name, std::int64_t bytes) { sums_[name] += bytes; }

  // Attention and a dense perceptron sum up their results forward and the gradients of their inputs backward: four
  // all-reduces of b*s*h*2 bytes a layer, six with full recomputation. Beyond the layers: the embedding's result
  // forward, the gradient of the head's input backward, and three all-reduces of an fp32 number per token for the loss.
  // With sequence parallelism each of these sums, but not those of the loss, is a reduce-scatter, and the pass in the
  // other direction has an all-gather of shards for it.
  void tensor() {
    if (t() == 1) return;
    const std::int64_t blocks = (2 * dense_layers_ + expert_layers_) * (forwards() + 1);
    const std::int64_t ends = (has_embedding() ? 1 : 0) + (has_head() ? 1 : 0);
    if (parallel_.sequence) {
      add("tensor all_gather", micro() * (blocks + ends) * activations() / t());
      add("tensor reduce_scatter", micro() * (blocks + ends) * activations());
    } else {
      add("tensor all_reduce", micro() * (blocks + ends) * activations());
    }
    if (has_head()) add("tensor all_reduce", micro() * 3 * 4 * tokens());
  }

  // All-to-all: queries, keys and values to ranks by heads and results back, in each pass; where ranks are more than
  // heads of keys and values, each of these goes to several. Ring: c-1 messages of keys and values in each pass;
  // backward their gradients go on c times, back to where the keys and values are. All-gather: a gather in each pass,
  // and the gradients of all keys and values are reduced and scattered.
  void context() {
    const std::int64_t c = parallel_.context();
    if (c == 1) return;
    const std::int64_t kv_heads = std::max<std::int64_t>(1, model_.kv_heads / t());
    const std::int64_t by_heads = parallel_.context_by_heads(), ring = parallel_.context_ring();
    const std::int64_t copies = std::max<std::int64_t>(1, by_heads / kv_heads);
    const std::int64_t pairs = copies * tokens() * 2 * kv_heads * model_.head_size * kWidth;
    const std::int64_t queries = tokens() * model_.heads / t() * model_.head_size * kWidth;
    if (by_heads > 1)
      add(ring > 1 ? "context-inner all_to_all" : "context all_to_all",
          micro() * layers() * (forwards() + 1) * (2 * queries + pairs));
    if (ring > 1) {
      const std::int64_t sent = micro() * layers() * ((ring - 1) * (forwards() + 1) + ring) * pairs;
      add("context send", sent);
      add("context receive", sent);
    } else if (by_heads == 1) {
      add("context all_gather", micro() * layers() * (forwards() + 1) * pairs);
      add("context reduce_scatter", micro() * layers() * c * pairs);
    }
  }

  // Two all-to-alls forward and two backward of tokens*k*h*2 bytes. A tensor group holds columns of the experts: each
  // gathers the rows of all and scatters the sums, forward and backward; the same for the shared experts' tokens.
  void experts() {
    const std::int64_t own = tokens() / (parallel_.sequence ? t() : 1);
    const std::int64_t rows = own * model_.experts_per_token * model_.hidden * kWidth;
    const std::int64_t passes = micro() * expert_layers_ * (forwards() + 1);
    if (parallel_.expert > 1) add("expert all_to_all", 2 * passes * rows);
    if (t() == 1) return;
    const std::int64_t shared = model_.shared_experts > 0 ? activations() : 0;
    add("tensor all_gather", passes * (rows + shared / t()));
    add("tensor reduce_scatter", passes * (rows * t() + shared));
  }

  // b*s*h*2 of a micro-batch for every boundary and direction; a share of it where tensor-parallel ranks have shares of
  // the sequence or scatter it, and then they gather what they receive.
  void boundaries() {
    const bool scatters = training_.software.scatter_gather && t() > 1;
    const std::int64_t bytes = parallel_.sequence || scatters ? activations() / t() : activations();
    std::int64_t sends = 0, receives = 0;
    for (std::int64_t at = stage_; at < stages(); at += parallel_.pipeline()) {
      const std::int64_t before = at > 0 ? 1 : 0, behind = at + 1 < stages() ? 1 : 0;
      sends += before + behind;
      receives += before + behind;
    }
    add("pipeline send", micro() * sends * bytes);
    add("pipeline receive", micro() * receives * bytes);
    if (scatters && !parallel_.sequence) add("tensor all_gather", micro() * receives * bytes);
  }

  // Weights by columns and rows are split, biases of rows and norms are not.
  std::int64_t attention_parameters() const {
    const std::int64_t h = model_.hidden, columns = h + 2 * model_.kv_heads * model_.head_size;
    return (columns * h + h * h + (model_.biases ? columns : 0)) / t() + (model_.biases ? h : 0) + norm();
  }
  std::int64_t perceptron_parameters() const {
    const std::int64_t h = model_.hidden, up = model_.ffn_hidden * (model_.gated_mlp ? 2 : 1);
    return (up * h + model_.ffn_hidden * h + (model_.biases ? up : 0)) / t() + (model_.biases ? h : 0) + norm();
  }
  // Router, shared experts and the norm; every rank has 1/expert of the others.
  std::int64_t router_parameters() const {
    return model_.experts * model_.hidden + model_.shared_experts * expert_parameters() + norm();
  }
  std::int64_t expert_parameters() const { return 3 * model_.expert_hidden * model_.hidden / t(); }
  std::int64_t norm() const { return model_.hidden * (model_.biases ? 2 : 1); }

  // By layer, with the ends; tied embeddings are one table where one stage has both ends.
  std::vector<std::int64_t> dense_parameters() const {
    std::vector<std::int64_t> list(static_cast<std::size_t>(dense_layers_),
                                   attention_parameters() + perceptron_parameters());
    list.insert(list.end(), static_cast<std::size_t>(expert_layers_), attention_parameters() + router_parameters());
    const std::int64_t table = ceil_of(model_.vocab, t()) * model_.hidden;
    const std::int64_t positions = model_.position == PositionKind::kLearned ? model_.sequence * model_.hidden : 0;
    if (has_embedding()) list.push_back(table + positions);
    if (has_head()) list.push_back(norm() + (model_.tied_embeddings && parallel_.pipeline() == 1 ? 0 : table));
    return list;
  }
  std::vector<std::int64_t> expert_parameters_of_layers() const {
    const std::int64_t local = model_.experts / parallel_.expert;
    return std::vector<std::int64_t>(static_cast<std::size_t>(expert_layers_), local * expert_parameters());
  }

  // All-reduce of the gradients once. ZeRO 1: reduce-scatter of the gradients, all-gather of the parameters. ZeRO 2:
  // the reduce-scatter in every micro-batch. ZeRO 3: also two gathers in every micro-batch, layer by layer. Shards
  // smaller than the replicas add an all-reduce of each shard's gradients.
  void gradients() {
    const bool shards = parallel_.shard > 0 && parallel_.shard < parallel_.replicas() && parallel_.zero > 0;
    const std::int64_t size = shards ? parallel_.shard : parallel_.replicas();
    share(shards ? "shard" : "data", size, dense_parameters());
    if (shards) add("replicate all_reduce", exchanges() * gradient() * sum(dense_parameters()) / size);
    share(shards ? "expert-shard" : "expert-data", size / parallel_.expert, expert_parameters_of_layers());
    if (shards && parallel_.replicas() > size)
      add("expert-replicate all_reduce",
          exchanges() * gradient() * sum(expert_parameters_of_layers()) / (size / parallel_.expert));
    const bool ends = stage_ == 0 || stage_ + 1 == parallel_.pipeline();
    if (model_.tied_embeddings && parallel_.pipeline() > 1 && ends)
      add("embedding all_reduce",
          ceil_of(gradient() * ceil_of(model_.vocab, t()) * model_.hidden, parallel_.zero > 0 ? size : 1));
  }

  std::int64_t gradient() const { return size_of(training_.software.gradients).count(); }
  std::int64_t exchanges() const { return parallel_.zero >= 2 ? micro() : 1; }
  static std::int64_t sum(const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  }

  void share(const std::string& family, std::int64_t size, const std::vector<std::int64_t>& parameters) {
    if (size == 1) return;
    const std::int64_t all = sum(parameters);
    if (parallel_.zero == 0) return add(family + " all_reduce", gradient() * all);
    add(family + " reduce_scatter", exchanges() * gradient() * all);
    if (parallel_.zero < 3) return add(family + " all_gather", ceil_of(kWidth * all, size));
    for (const std::int64_t count : parameters)
      add(family + " all_gather", 2 * micro() * ceil_of(kWidth * count, size));
  }

  const TrainingSpec& training_;
  const Parallelism& parallel_;
  const TransformerSpec& model_;
  const std::int64_t stage_;
  std::int64_t dense_layers_ = 0;
  std::int64_t expert_layers_ = 0;
  Volumes sums_;
};

std::string text_of(const TrainingSpec& training) {
  const Parallelism& p = training.parallel;
  return fmt::format(
      "experts {} layers {}: t {} c {} d {} p {} e {} zero {} shard {} sp {} context kind {} schedule {} v {} "
      "recompute "
      "{} m {}",
      training.transformer()->experts, training.transformer()->layers, p.tensor(), p.context(), p.data(), p.pipeline(),
      p.expert, p.zero, p.shard, p.sequence, static_cast<int>(p.context_kind), name_of(training.schedule),
      training.virtual_stages, static_cast<int>(training.recompute), training.micro_batches());
}

std::string text_of(const Volumes& volumes) {
  std::string text;
  for (const auto& [name, bytes] : volumes) text += fmt::format("{}: {}\n", name, bytes);
  return text;
}

// Whether it can be; if so, every rank communicates what the closed forms of its stage say.
bool check_volumes(const TrainingSpec& training) {
  Diagnostics problems;
  check_training(training, 1 << 20, problems);
  if (problems.has_errors()) return false;
  INFO(text_of(training));
  const Job job = generate_job(training, FakeTimes()).job;
  REQUIRE(job.ranks.size() == static_cast<std::size_t>(training.parallel.ranks()));
  REQUIRE(job.graphs.size() == static_cast<std::size_t>(training.parallel.pipeline()));
  for (std::int64_t stage = 0; stage < training.parallel.pipeline(); ++stage) {
    INFO("stage " << stage);
    const auto first = std::ranges::find(job.ranks, static_cast<std::uint32_t>(stage), &RankBinding::graph);
    REQUIRE(first != job.ranks.end());
    const auto rank = static_cast<std::uint32_t>(first - job.ranks.begin());
    CHECK(text_of(volumes(job, RankId(rank))) == text_of(ClosedForms(training, stage).all()));
  }
  return true;
}

struct Choices {
  std::int64_t tensor, context, data, pipeline, zero;
  ScheduleKind schedule;
};

std::vector<Choices> all_choices() {
  std::vector<Choices> all;
  for (const std::int64_t tensor : {1, 2, 4})
    for (const std::int64_t context : {1, 4})
      for (const std::int64_t data : {1, 2, 3})
        for (const std::int64_t pipeline : {1, 2, 4})
          for (const std::int64_t zero : {0, 1, 2, 3})
            for (const ScheduleKind schedule :
                 {ScheduleKind::kGpipe, ScheduleKind::kOneForwardOneBackward, ScheduleKind::kInterleaved,
                  ScheduleKind::kZeroBubble, ScheduleKind::kZeroBubbleH2})
              all.push_back({tensor, context, data, pipeline, zero, schedule});
  return all;
}

TrainingSpec training_of(const TransformerSpec& model, const Choices& choices, std::int64_t micro_batches,
                         std::int64_t micro_batch) {
  TrainingSpec training = small_training(model);
  degree(training, ParallelDimension::kTensor) = choices.tensor;
  degree(training, ParallelDimension::kContext) = choices.context;
  degree(training, ParallelDimension::kData) = choices.data;
  degree(training, ParallelDimension::kPipeline) = choices.pipeline;
  training.parallel.zero = choices.zero;
  training.schedule = choices.schedule;
  training.virtual_stages = choices.schedule == ScheduleKind::kInterleaved && choices.pipeline > 1 ? 2 : 1;
  training.micro_batch = micro_batch;
  training.global_batch = micro_batches * micro_batch * choices.data;
  return training;
}

}  // namespace

TEST_CASE("every stage communicates the closed forms of its degrees, and nothing else") {
  int checked = 0;
  std::size_t number = 0;
  for (const TransformerSpec& model : {small_gpt(), small_llama(), small_experts()})
    for (const Choices& choices : all_choices()) {
      ++number;  // the rest goes round at periods that have no factor in common with the loops
      TrainingSpec training =
          training_of(model, choices, number % 5 == 0 ? 8 : 4, 1 + static_cast<std::int64_t>(number % 2));
      training.parallel.sequence = choices.tensor > 1 && (model.experts > 0 || number % 7 < 3);
      training.parallel.context_kind = number % 11 < 5 ? ContextKind::kRing : ContextKind::kAllGather;
      training.recompute = static_cast<Recompute>(number % 13 % 3);
      training.software.attention = number % 17 < 9 ? AttentionKind::kPlain : AttentionKind::kFlash;
      training.software.overlap_gradients = number % 19 < 9;
      training.software.bucket = Bytes(number % 23 < 12 ? 4096 : 1'000'000);
      training.software.gradients = number % 29 < 15 ? Precision::kFp32 : Precision::kBf16;
      training.software.overlap_tensor = number % 31 < 15 ? TensorOverlap::kNone : TensorOverlap::kWeightGradient;
      training.software.scatter_gather = number % 37 < 18;
      training.software.dropout = number % 41 < 20;
      training.software.overlap_pipeline = number % 43 < 20;
      training.iterations = number % 47 == 0 ? 3 : 1;
      checked += check_volumes(training) ? 1 : 0;
    }
  CHECK(checked > 1200);
}

TEST_CASE("all-to-all of heads exchanges the closed forms, alone and within a ring") {
  int checked = 0;
  for (const TransformerSpec& model : {small_gpt(), small_llama()})
    for (const std::int64_t tensor : {1, 2})
      for (const std::int64_t context : {2, 4, 8})
        for (const std::int64_t inner : {1, 2, 4, 8})
          for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
            TrainingSpec training =
                training_of(model, {tensor, context, 2, 1, 1, ScheduleKind::kOneForwardOneBackward}, 2, 1);
            training.parallel.context_kind = inner == 8 ? ContextKind::kAllToAll : ContextKind::kAllToAllRing;
            training.parallel.context_inner = inner == 8 ? 0 : inner;
            training.recompute = recompute;
            checked += check_volumes(training) ? 1 : 0;
          }
  CHECK(checked > 60);
}

TEST_CASE("expert parallelism exchanges each row once, whatever its degree") {
  int checked = 0;
  for (const Choices& choices : all_choices())
    for (const std::int64_t expert : {2, 4, 8}) {
      TrainingSpec training = training_of(small_experts(), choices, 4, 1);
      training.parallel.expert = expert;
      training.parallel.sequence = choices.tensor > 1;
      training.recompute = expert == 4 ? Recompute::kFull : Recompute::kNone;
      checked += check_volumes(training) ? 1 : 0;
    }
  CHECK(checked > 300);
}

// Each shard of h/2 parameters and more divides evenly, so that no bucket is padded.
TEST_CASE("hybrid sharding reduces, scatters, and then sums up the shards of the groups") {
  int checked = 0;
  for (const TransformerSpec& model : {small_gpt(), small_llama()})
    for (const Choices& choices : all_choices())
      for (const std::int64_t shard : {1, 2, 4}) {
        TrainingSpec training = training_of(model, choices, 4, 1);
        training.parallel.shard = shard;
        training.software.overlap_gradients = choices.data % 2 == 0;
        training.software.bucket = Bytes(1 << 16);
        checked += check_volumes(training) ? 1 : 0;
      }
  CHECK(checked > 300);
}

// Experts are shared by those of a copy's ranks that hold the same ones: of 8 replicas in copies of 4, each expert of
// two parts is on two ranks of a copy, and twice.
TEST_CASE("hybrid sharding shares experts among the ranks of a copy that hold the same ones") {
  int checked = 0;
  for (const std::int64_t zero : {1, 2, 3})
    for (const std::int64_t expert : {1, 2, 4})
      for (const std::int64_t shard : {4, 8}) {
        INFO("zero " << zero << " expert " << expert << " shard " << shard);
        TrainingSpec training = training_of(small_experts(), {1, 1, 8, 1, zero, ScheduleKind::kGpipe}, 4, 1);
        training.parallel.expert = expert;
        training.parallel.shard = shard;
        training.software.overlap_gradients = false;
        checked += check_volumes(training) ? 1 : 0;
      }
  CHECK(checked == 18);
}

// A ring passes (n-1)/n of a buffer in a reduce-scatter, as much in an all-gather and twice that in an all-reduce.
TEST_CASE("sequence parallelism and ZeRO 1 send as much as what they replace") {
  const auto sent = [](const TrainingSpec& training, const std::string& family, std::int64_t size) {
    Volumes sums = volumes(generate_job(training, FakeTimes()).job, RankId(0));
    return (size - 1) *
           (2 * sums[family + " all_reduce"] + sums[family + " reduce_scatter"] + size * sums[family + " all_gather"]) /
           size;
  };
  for (const TransformerSpec& model : {small_gpt(), small_llama()})
    for (const std::int64_t tensor : {2, 4}) {
      TrainingSpec plain = training_of(model, {tensor, 1, 1, 1, 0, ScheduleKind::kGpipe}, 4, 2);
      TrainingSpec split = plain;
      split.parallel.sequence = true;
      CHECK(sent(plain, "tensor", tensor) == sent(split, "tensor", tensor));
    }
  for (const TransformerSpec& model : {small_gpt(), small_llama()})
    for (const std::int64_t data : {2, 4, 8}) {
      TrainingSpec plain = training_of(model, {1, 1, data, 1, 0, ScheduleKind::kGpipe}, 4, 2);
      plain.software.gradients = Precision::kBf16;
      TrainingSpec zero = plain;
      zero.parallel.zero = 1;
      const std::int64_t gradients = kWidth * parameter_count(model);
      CHECK(sent(plain, "data", data) == 2 * (data - 1) * gradients / data);
      CHECK(sent(zero, "data", data) == sent(plain, "data", data));
    }
}

// Convolutions and perceptrons are exchanged like anything else; tables are spread over the ranks and never are.
TEST_CASE("models without layers of attention exchange the gradients of what every rank has") {
  const ConvolutionalSpec convolutional{{{"a", 3, 16, 3, 8, 1}, {"b", 16, 16, 1, 8, 5}}, 16, 10};
  const DlrmSpec dlrm{6, 1000, 8, 4, 13, {32, 8}, {24, 1}};
  for (const std::int64_t data : {1, 2, 3, 4})
    for (const bool overlap : {false, true})
      for (const std::int64_t micro_batches : {1, 4}) {
        INFO(data << " ranks, overlap " << overlap << ", micro-batches " << micro_batches);
        TrainingSpec training = training_of(small_gpt(), {1, 1, data, 1, 0, ScheduleKind::kGpipe}, micro_batches, 2);
        training.software.overlap_gradients = overlap;
        training.software.bucket = Bytes(1000);
        const auto gradients = [&](std::int64_t parameters) { return data == 1 ? 0 : 4 * parameters; };
        training.model.sizes = convolutional;
        CHECK(volumes(generate_job(training, FakeTimes()).job, RankId(0))["data all_reduce"] ==
              gradients(parameter_count(training.model)));
        if (micro_batches > 1) continue;
        training.model.sizes = dlrm;
        Volumes sums = volumes(generate_job(training, FakeTimes()).job, RankId(0));
        CHECK(sums["data all_reduce"] ==
              gradients(parameter_count(training.model) - dlrm.tables * dlrm.rows * dlrm.dimension));
        // The rank's columns of the rows for everybody's two samples, forward, and their gradients.
        const std::int64_t columns = ceil_of(dlrm.tables * dlrm.dimension, data);
        CHECK(sums["world all_to_all"] == (data == 1 ? 0 : 2 * (2 * data) * columns * kWidth));
      }
}

// Ranks of unequal loads receive unequal numbers of rows, but the group receives all rows that it sends.
TEST_CASE("uneven experts exchange as many rows as even ones") {
  for (const double skew : {0.3, 1.0, 2.5})
    for (const std::int64_t expert : {2, 4, 8}) {
      INFO("skew " << skew << " expert " << expert);
      TrainingSpec training = training_of(small_experts(), {1, 1, 8, 1, 0, ScheduleKind::kGpipe}, 1, 1);
      training.parallel.expert = expert;
      const Job even = generate_job(training, FakeTimes()).job;
      training.parallel.expert_skew = skew;
      const Job uneven = generate_job(training, FakeTimes()).job;
      CHECK(uneven.graphs.size() == static_cast<std::size_t>(expert));
      std::int64_t sum = 0, rows = 0, most = 0;
      for (std::uint32_t rank = 0; rank < 8; ++rank) {
        const std::int64_t own = volumes(uneven, RankId(rank)).at("expert all_to_all");
        sum += own, most = std::max(most, own);
        rows += volumes(even, RankId(rank)).at("expert all_to_all");
      }
      // Each rank rounds its rows: at most half a row of 64 values in each of 4 exchanges of 7 layers.
      CHECK(std::abs(sum - rows) <= 8 * 4 * 7 * 64);
      CHECK(most > rows / 8);
    }
}

// Each worker sends all gradients and takes all parameters back, once an iteration; servers the same from their side.
TEST_CASE("parameter servers take every worker's gradients and give every worker all parameters") {
  for (const TransformerSpec& model : {small_gpt(), small_llama(), small_experts()})
    for (const std::int64_t workers : {1, 2, 5})
      for (const std::int64_t servers : {1, 2, 3, 7})
        for (const bool asynchronous : {false, true})
          for (const bool overlap : {false, true}) {
            INFO(workers << " workers, " << servers << " servers, experts " << model.experts);
            TrainingSpec training = training_of(model, {1, 1, workers, 1, 0, ScheduleKind::kGpipe}, 2, 1);
            training.parallel.exchange = ExchangeKind::kParameterServer;
            training.parallel.servers = servers;
            training.parallel.asynchronous = asynchronous;
            training.software.overlap_gradients = overlap;
            training.software.bucket = Bytes(50'000);
            training.iterations = 2;
            const Job job = generate_job(training, FakeTimes()).job;
            match(job);
            const std::int64_t gradients = 2 * 4 * parameter_count(model),
                               parameters = 2 * kWidth * parameter_count(model);
            for (std::uint32_t rank = 0; rank < workers; ++rank)
              CHECK(text_of(volumes(job, RankId(rank))) ==
                    text_of({{"server send", gradients}, {"server receive", parameters}}));
            Volumes all;
            for (std::int64_t rank = workers; rank < workers + servers; ++rank)
              for (const auto& [name, bytes] : volumes(job, RankId(static_cast<std::uint32_t>(rank))))
                all[name] += bytes;
            CHECK(text_of(all) ==
                  text_of({{"server send", workers * parameters}, {"server receive", workers * gradients}}));
          }
}
