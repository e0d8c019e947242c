// SPDX-License-Identifier: MIT
#include "workload/training/program/optimizer_step.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

namespace orrery::workload {
namespace {

using Split = WeightSplit;

// Ranks that have parts of a matrix, or copies of it.
struct Sharers {
  std::int64_t tensor = 1;  // that split it
  ReplicaGroups groups;     // that share or copy the parameters
  std::int64_t owners() const { return groups.shards > 1 ? groups.shards : groups.replicas; }
  // Ranks of whom each computes some matrices alone.
  std::int64_t homes() const { return tensor * owners(); }
};

Sharers sharers_of(const UpdatedMatrix& matrix, const TrainingSpec& training, const ExchangeGroups& groups) {
  return {matrix.split == Split::kNone ? 1 : training.parallel.tensor(),
          matrix.is_expert ? groups.expert : groups.dense};
}

struct Shape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  std::int64_t side() const { return std::min(rows, columns); }
  std::int64_t length() const { return std::max(rows, columns); }
  auto operator<=>(const Shape&) const = default;
};

Shape whole(const UpdatedMatrix& matrix, std::int64_t tensor) {
  return {matrix.rows * (matrix.split == Split::kRows ? tensor : 1),
          matrix.columns * (matrix.split == Split::kColumns ? tensor : 1)};
}

std::int64_t share(std::int64_t count, std::int64_t ranks) { return (count + ranks - 1) / ranks; }

Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, Precision precision) {
  return {m, n, k, batch, precision};
}

// One iteration on a matrix whose longer dimension is cut into `parts`: X X^T, its square, and that times X.
std::vector<Operator> iteration_of(std::int64_t side, std::int64_t length, std::int64_t batch, Precision precision) {
  return {product(side, side, length, batch, precision), product(side, side, side, batch, precision),
          product(side, length, side, batch, precision)};
}

// All iterations on a matrix of this shape.
RepeatedOperators iterations_on(const Shape& shape, std::int64_t count, const MatrixOptimizer& optimizer) {
  return {iteration_of(shape.side(), shape.length(), 1, optimizer.precision), count * optimizer.iterations};
}

// Part of a matrix that stays where it is, whose Gram matrix is as long as the dimension that is not split.
struct DistributedPart {
  std::int64_t gram = 0;
  std::int64_t own = 0;  // of the other dimension
};

DistributedPart part_of(const UpdatedMatrix& matrix, const Sharers& sharers) {
  const Shape shape = whole(matrix, sharers.tensor);
  const bool by_rows = matrix.split == Split::kRows || (matrix.split == Split::kNone && shape.rows >= shape.columns);
  const std::int64_t cut = by_rows ? shape.rows : shape.columns;
  return {by_rows ? shape.columns : shape.rows, share(cut, sharers.tensor * sharers.groups.shards)};
}

// Whole matrices of the fullest of `homes` ranks, to which they go largest first, each to the one with the least work.
std::map<Shape, std::int64_t> fullest(const std::map<Shape, std::int64_t>& matrices, std::int64_t homes) {
  std::vector<Shape> order;
  for (const auto& [shape, count] : matrices) order.insert(order.end(), static_cast<std::size_t>(count), shape);
  const auto work = [](const Shape& shape) { return newton_schulz_flops(shape.rows, shape.columns, 1).count(); };
  std::ranges::stable_sort(order, std::greater{}, work);
  using Home = std::pair<std::int64_t, std::size_t>;  // work, number
  std::priority_queue<Home, std::vector<Home>, std::greater<>> homes_by_work;
  for (std::int64_t i = 0; i < homes; ++i) homes_by_work.emplace(0, static_cast<std::size_t>(i));
  std::vector<std::map<Shape, std::int64_t>> of_home(static_cast<std::size_t>(homes));
  std::pair<std::int64_t, std::size_t> most{0, 0};
  for (const Shape& shape : order) {
    auto [done, home] = homes_by_work.top();
    homes_by_work.pop();
    ++of_home[home][shape];
    done += work(shape);
    homes_by_work.emplace(done, home);
    if (done > most.first) most = {done, home};
  }
  return of_home[most.second];
}

// Matrices of a stage that have the same sharers, layer-wise.
struct Pool {
  Sharers sharers;
  std::map<Shape, std::int64_t> matrices;  // whole ones
  std::int64_t parameters = 0;             // as the rank has them
};

std::map<std::pair<bool, std::int64_t>, Pool> pools_of(const StageRequest& request, const ExchangeGroups& groups) {
  std::map<std::pair<bool, std::int64_t>, Pool> pools;  // by experts, and ranks that split
  for (const auto& chunk : request.chunks)
    for (const StageLayer& layer : chunk)
      for (const UpdatedMatrix& matrix : weight_matrices(layer, *request.training)) {
        const Sharers sharers = sharers_of(matrix, *request.training, groups);
        Pool& pool = pools[{matrix.is_expert, sharers.tensor}];
        pool.sharers = sharers;
        pool.matrices[whole(matrix, sharers.tensor)] += matrix.count;
        pool.parameters += matrix.parameters();
      }
  return pools;
}

std::vector<RepeatedOperators> products_of(const UpdatedMatrix& matrix, const Sharers& sharers,
                                           const MatrixOptimizer& optimizer) {
  switch (optimizer.mode) {
    case MatrixMode::kDuplicated:
      return {iterations_on(whole(matrix, sharers.tensor), matrix.count, optimizer)};
    case MatrixMode::kDistributed: {
      const DistributedPart part = part_of(matrix, sharers);
      return {{iteration_of(part.gram, part.own, matrix.count, optimizer.precision), optimizer.iterations}};
    }
    case MatrixMode::kBlockwise:
      return {iterations_on({share(matrix.rows, sharers.groups.shards), matrix.columns}, matrix.count, optimizer)};
    case MatrixMode::kLayerWise:
      break;  // of a stage, not of a layer
  }
  return {};
}

Cost repeated(Cost once, std::int64_t times) {
  Cost sum;
  for (; times > 0; times /= 2, once = once + once)
    if (times % 2 == 1) sum = sum + once;
  return sum;
}

// Writes the nodes of one kind of mode.
class MatrixWriter {
 public:
  MatrixWriter(const StageRequest& request, const OperatorTimes& times, ProgramWriter& writer)
      : request_(request), times_(times), writer_(writer) {}

  void write() {
    if (optimizer_.mode == MatrixMode::kLayerWise) return write_pools();
    for (const auto& chunk : request_.chunks)
      for (const StageLayer& layer : chunk)
        for (const UpdatedMatrix& matrix : weight_matrices(layer, training_)) write(matrix);
  }

 private:
  void write(const UpdatedMatrix& matrix) {
    const Sharers sharers = sharers_of(matrix, training_, groups_);
    if (optimizer_.mode == MatrixMode::kDuplicated) gather(matrix, sharers);
    if (optimizer_.mode == MatrixMode::kDistributed) return write_distributed(matrix, sharers);
    for (const RepeatedOperators& part : products_of(matrix, sharers, optimizer_)) compute(part);
  }

  // Shards first, so that each rank has its part of tensor parallelism; then those parts.
  void gather(const UpdatedMatrix& matrix, const Sharers& sharers) {
    const Bytes own = width() * matrix.parameters();
    if (sharers.groups.shards > 1)
      writer_.collective(kGather, sharers.groups.shard, CollectiveKind::kAllGather,
                         ceil_div(own, sharers.groups.shards));
    if (sharers.tensor > 1) writer_.collective(kGather, GroupFamily::kTensor, CollectiveKind::kAllGather, own);
  }

  void write_distributed(const UpdatedMatrix& matrix, const Sharers& sharers) {
    const DistributedPart part = part_of(matrix, sharers);
    const std::vector<Operator> all = iteration_of(part.gram, part.own, matrix.count, optimizer_.precision);
    const Bytes gram = width() * (part.gram * part.gram * matrix.count);
    for (std::int64_t i = 0; i < optimizer_.iterations; ++i) {
      compute({{all[0]}, 1});
      if (sharers.tensor > 1) sum(GroupFamily::kTensor, gram);
      if (sharers.groups.shards > 1) sum(sharers.groups.shard, gram);
      compute({{all[1], all[2]}, 1});
    }
  }

  void sum(GroupFamily family, Bytes bytes) {
    writer_.collective("Gram matrices sum", family, CollectiveKind::kAllReduce, bytes);
  }

  // Parts go to the rank that computes the whole, by all-to-alls over shards and over tensor parallelism, and the
  // results back. Replicas have copies already, of which each computes some, and hand on updated parameters.
  void write_pools() {
    const auto pools = pools_of(request_, groups_);
    for (const auto& [key, pool] : pools) exchange(pool, "matrices to their ranks", false);
    for (const auto& [key, pool] : pools)
      for (const auto& [shape, count] : fullest(pool.matrices, pool.sharers.homes()))
        compute(iterations_on(shape, count, optimizer_));
    for (const auto& [key, pool] : pools) exchange(pool, "matrices back", true);
  }

  void exchange(const Pool& pool, std::string_view name, bool back) {
    const Sharers& sharers = pool.sharers;
    const Bytes own = ceil_div(width() * pool.parameters, sharers.owners());
    if (!back && sharers.groups.shards > 1)
      writer_.collective(name, sharers.groups.shard, CollectiveKind::kAllToAll, own);
    if (sharers.tensor > 1) writer_.collective(name, GroupFamily::kTensor, CollectiveKind::kAllToAll, own);
    if (back && sharers.groups.shards > 1)
      writer_.collective(name, sharers.groups.shard, CollectiveKind::kAllToAll, own);
    if (back && sharers.groups.shards == 1 && sharers.groups.replicas > 1)
      writer_.collective(name, sharers.groups.replicate, CollectiveKind::kAllGather,
                         ceil_div(training_.parameter_size() * pool.parameters, sharers.owners()));
  }

  void compute(const RepeatedOperators& part) {
    writer_.compute("orthogonalise", repeated(cost_of(part.operators, times_, &host_), part.times));
  }

  Bytes width() const { return std::max(Bytes(1), size_of(optimizer_.precision)); }

  // A product of the step is one kernel, with nothing of a module of layers around it.
  static HostSpec with_plain_products(HostSpec host) {
    host.product = 1;
    return host;
  }

  static constexpr std::string_view kGather = "matrices gather";
  const StageRequest& request_;
  const TrainingSpec& training_ = *request_.training;
  const MatrixOptimizer& optimizer_ = *training_.optimizer.matrices;
  const HostSpec host_ = with_plain_products(training_.software.host);
  const ExchangeGroups groups_ = exchange_groups(training_.parallel, request_.group_sizes);
  const OperatorTimes& times_;
  ProgramWriter& writer_;
};

bool has_matrices(const StageRequest& request) {
  return request.training->optimizer.matrices && request.training->transformer() != nullptr &&
         request.training->parallel.exchange != ExchangeKind::kParameterServer;
}

// Parameters of matrices whose states a rank keeps: its share, or under `layer-wise` those that it computes.
std::int64_t kept_matrix_parameters(const StageRequest& request, const ExchangeGroups& groups) {
  const ParameterCount all = matrix_parameters(request);
  const bool owns = request.training->optimizer.matrices->mode == MatrixMode::kLayerWise;
  const auto kept = [&](std::int64_t count, const ReplicaGroups& of) {
    return share(count, of.shards > 1 ? of.shards : (owns ? of.replicas : 1));
  };
  return kept(all.dense, groups.dense) + kept(all.expert, groups.expert);
}

// Whole matrices of the fullest rank under `layer-wise`, which all come before the first is computed.
Bytes matrices_at_home(const StageRequest& request) {
  const MatrixOptimizer& optimizer = *request.training->optimizer.matrices;
  std::int64_t values = 0;
  if (optimizer.mode != MatrixMode::kLayerWise) return Bytes(0);
  for (const auto& [key, pool] : pools_of(request, exchange_groups(request.training->parallel, request.group_sizes))) {
    const bool come = pool.sharers.tensor > 1 || pool.sharers.groups.shards > 1;
    if (!come) continue;  // each rank has all of them already
    for (const auto& [shape, count] : fullest(pool.matrices, pool.sharers.homes()))
      values += shape.rows * shape.columns * count;
  }
  return size_of(optimizer.precision) * values;
}

}  // namespace

// Gradients of weights are products of their own stage, which say what their weights are of.
std::vector<UpdatedMatrix> weight_matrices(const StageLayer& layer, const TrainingSpec& training) {
  std::vector<UpdatedMatrix> matrices;
  if (layer.number < 0 || training.transformer() == nullptr) return matrices;
  const Parallelism& parallel = training.parallel;
  for (const Action& action : layer.layer->backward) {
    const auto* compute = std::get_if<Compute>(&action);
    if (compute == nullptr) continue;
    for (const Operator& op : compute->operators) {
      const auto* gemm = std::get_if<Gemm>(&op);
      if (gemm == nullptr || gemm->stage != ProductStage::kWeightGradient) continue;
      const bool is_split = parallel.tensor() > 1 && !(gemm->of_experts && parallel.expert_columns() > 1);
      matrices.push_back(
          {gemm->m, gemm->n, gemm->batch, is_split ? gemm->split : WeightSplit::kNone, gemm->of_experts});
    }
  }
  return matrices;
}

ParameterCount matrix_parameters(const StageRequest& request) {
  ParameterCount count;
  if (!has_matrices(request)) return count;
  for (const auto& chunk : request.chunks)
    for (const StageLayer& layer : chunk)
      for (const UpdatedMatrix& matrix : weight_matrices(layer, *request.training))
        (matrix.is_expert ? count.expert : count.dense) += matrix.parameters();
  return count;
}

namespace {

// Bytes that the optimizer keeps or moves for the parameters of a rank: by `of_others` of those that it updates one by
// one, and by `of_matrices` of whole matrices.
template <class OfOthers, class OfMatrices>
Bytes of_parameters(const StageRequest& request, const OfOthers& of_others, const OfMatrices& of_matrices) {
  const TrainingSpec& training = *request.training;
  if (training.parallel.exchange == ExchangeKind::kParameterServer) return Bytes(0);
  const ExchangeGroups groups = exchange_groups(training.parallel, request.group_sizes);
  const ParameterCount all = parameters_of(request), matrices = matrix_parameters(request);
  const ParameterCount others{all.dense - matrices.dense, all.expert - matrices.expert};
  const Bytes sum = of_others(updated_parameters(others, groups));
  return matrices.total() == 0 ? sum : sum + of_matrices(kept_matrix_parameters(request, groups));
}

}  // namespace

Bytes optimizer_bytes(const StageRequest& request) {
  const TrainingSpec& training = *request.training;
  return of_parameters(
      request, [&](auto count) { return training.optimizer.states(count, training.precision); },
      [&](auto count) { return training.optimizer.matrix_states(count, training.precision); });
}

Bytes optimizer_traffic(const StageRequest& request) {
  const TrainingSpec& training = *request.training;
  const Bytes each = training.software.optimizer;
  return of_parameters(
      request, [&](auto count) { return training.optimizer.step_traffic(count, training.precision, each); },
      [&](auto count) { return training.optimizer.matrix_step_traffic(count, training.precision, each); });
}

Bytes matrix_workspace(const StageRequest& request) {
  Bytes most;
  if (!has_matrices(request)) return most;
  const MatrixOptimizer& optimizer = *request.training->optimizer.matrices;
  for (const RepeatedOperators& part : matrix_products(request)) {
    const auto& gram = std::get<Gemm>(part.operators.front());  // side x side x length
    most = std::max(most, size_of(optimizer.precision) * (gram.batch * (2 * gram.m * gram.k + 2 * gram.m * gram.n)));
  }
  return most + matrices_at_home(request);
}

std::vector<RepeatedOperators> matrix_products(const StageRequest& request) {
  std::vector<RepeatedOperators> products;
  if (!has_matrices(request)) return products;
  const TrainingSpec& training = *request.training;
  const MatrixOptimizer& optimizer = *training.optimizer.matrices;
  const ExchangeGroups groups = exchange_groups(training.parallel, request.group_sizes);
  if (optimizer.mode == MatrixMode::kLayerWise) {
    for (const auto& [key, pool] : pools_of(request, groups))
      for (const auto& [shape, count] : fullest(pool.matrices, pool.sharers.homes()))
        products.push_back(iterations_on(shape, count, optimizer));
    return products;
  }
  for (const auto& chunk : request.chunks)
    for (const StageLayer& layer : chunk)
      for (const UpdatedMatrix& matrix : weight_matrices(layer, training))
        for (RepeatedOperators& part : products_of(matrix, sharers_of(matrix, training, groups), optimizer))
          products.push_back(std::move(part));
  return products;
}

Duration matrix_time(const StageRequest& request, const OperatorTimes& times) {
  Duration sum{};
  for (const RepeatedOperators& part : matrix_products(request))
    sum = saturating_multiply_add(sum, cost_of(part.operators, times).time, part.times);
  return sum;
}

void write_matrices(const StageRequest& request, const OperatorTimes& times, ProgramWriter& writer) {
  if (has_matrices(request)) MatrixWriter(request, times, writer).write();
}

}  // namespace orrery::workload
