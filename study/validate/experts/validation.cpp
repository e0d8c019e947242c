// SPDX-License-Identifier: MIT
#include "study/validate/experts/validation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "collectives/group_shape.h"
#include "collectives/token_exchange.h"
#include "study/benchmark/question.h"
#include "study/fit/least_squares.h"
#include "system/plans/group_library.h"

namespace orrery::study {
namespace {

// The groups of ranks that tables ask for, each laid out once.
class Shapes {
 public:
  explicit Shapes(const ConfigFiles& files) : files_(files) {}

  const collectives::GroupShape& of(const ExpertTable& table, const MeasuredExchange& row) {
    const auto [known, added] = shapes_.try_emplace({table.cluster, row.nodes, row.gpus});
    if (added) known->second = lay_out({table.cluster, fmt::format("{}", row.nodes), fmt::format("{}", row.gpus)});
    return known->second;
  }

 private:
  collectives::GroupShape lay_out(const CollectiveQuestion& question) const {
    Diagnostics diagnostics;
    const experiment::Experiment experiment =
        read_question(question, workload::call_operation_named("all_to_all", "op"), files_, diagnostics);
    return system::lay_out_group(benchmark_devices(question, experiment.fabric), experiment.fabric).shape;
  }

  const ConfigFiles& files_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, collectives::GroupShape> shapes_;
};

// One way of one row, ready to be predicted with any constants.
struct Case {
  ValidatedExchange exchange;
  TokenRouting routing;
  Bytes bytes;
  const collectives::GroupShape* shape = nullptr;

  // Alone on its links.
  Duration predicted(DispatchLibrary library) const {
    library.processors = exchange.row->processors;
    const collectives::Aggregate transfer = collectives::token_exchange({std::move(library), routing}, bytes, *shape);
    const double moving = std::max(collectives::lone_seconds(transfer, *shape).together, seconds(transfer.least));
    return transfer.latency + Duration(std::llround(moving * 1e12));
  }
};

std::vector<Case> cases_of(std::span<const ExpertTable> tables, Shapes& shapes) {
  std::vector<Case> cases;
  for (const ExpertTable& table : tables)
    for (const MeasuredExchange& row : table.rows)
      for (const bool is_dispatch : {true, false}) {
        const std::int64_t limit = table.groups_per_token == 0 ? row.nodes : table.groups_per_token;
        const double bytes = table.bytes_per_value[is_dispatch ? 0 : 1] *
                             static_cast<double>(row.hidden * row.tokens * row.experts_per_token);
        cases.push_back(
            {{&table, &row, is_dispatch, {}},
             {row.experts, row.experts_per_token, row.nodes, std::min<std::int64_t>(limit, row.nodes), table.balanced},
             Bytes(std::llround(bytes)),
             &shapes.of(table, row)});
      }
  return cases;
}

// The constants of a library that are not zero: one that is does not belong to its law.
std::vector<FittedConstant> constants_of(const DispatchLibrary& library) {
  const auto full = static_cast<double>(kFullEfficiency.count());
  std::vector<FittedConstant> constants = {{"processor_rate", static_cast<double>(library.processor_rate.count()), 1},
                                           {"within", static_cast<double>(library.within.count()), 1, full},
                                           {"between", static_cast<double>(library.between.count()), 1, full},
                                           {"launch", static_cast<double>(library.launch.count())},
                                           {"doubling", static_cast<double>(library.doubling.count())}};
  std::erase_if(constants, [](const FittedConstant& one) { return one.start == 0; });
  return constants;
}

// `values` in the order of constants_of(library).
DispatchLibrary with_constants(DispatchLibrary library, std::span<const double> values) {
  const auto take = [&](auto& quantity) {
    using Quantity = std::remove_reference_t<decltype(quantity)>;
    if (quantity.count() == 0) return;
    quantity = Quantity(std::max<std::int64_t>(1, std::llround(values.front())));
    values = values.subspan(1);
  };
  take(library.processor_rate);
  take(library.within);
  take(library.between);
  take(library.launch);
  take(library.doubling);
  return library;
}

// From what is shipped.
DispatchLibrary fitted(std::span<const Case* const> cases, const DispatchLibrary& library) {
  FitProblem problem;
  problem.constants = constants_of(library);
  problem.residual_count = cases.size();
  problem.loss_scale = 0.1;
  problem.residuals = [&](std::span<const double> values, std::span<double> residuals) {
    const DispatchLibrary other = with_constants(library, values);
    std::ranges::transform(cases, residuals.begin(), [&](const Case* one) {
      return std::log(seconds(one->predicted(other)) / seconds(one->exchange.measured()));
    });
  };
  return with_constants(library, fit_constants(problem).values);
}

std::vector<LeftOutSystem> leave_out(std::span<const Case> cases) {
  std::map<std::string, std::set<std::string>> systems;  // by library
  for (const Case& one : cases) systems[one.exchange.table->library.name].insert(one.exchange.table->system);
  std::vector<LeftOutSystem> result;
  for (const auto& [library, of_library] : systems) {
    if (of_library.size() < 2) continue;
    for (const std::string& system : of_library) {
      LeftOutSystem& left = result.emplace_back();
      left.library = library;
      left.system = system;
      std::vector<const Case*> others;
      for (const Case& one : cases)
        if (one.exchange.table->library.name == library && one.exchange.table->system != system &&
            one.exchange.table->fitted)
          others.push_back(&one);
      left.fitted = fitted(others, others.front()->exchange.table->library);
      for (const Case& one : cases) {
        if (one.exchange.table->library.name != library || one.exchange.table->system != system) continue;
        left.exchanges.push_back(one.exchange);
        left.exchanges.back().predicted = one.predicted(left.fitted);
      }
    }
  }
  return result;
}

}  // namespace

ExpertValidation validate_experts(std::span<const ExpertTable> tables, const ConfigFiles& files, bool cross) {
  Shapes shapes(files);
  const std::vector<Case> cases = cases_of(tables, shapes);
  ExpertValidation validation;
  for (const Case& one : cases) {
    validation.exchanges.push_back(one.exchange);
    validation.exchanges.back().predicted = one.predicted(one.exchange.table->library);
  }
  if (cross) validation.left_out = leave_out(cases);
  return validation;
}

}  // namespace orrery::study
