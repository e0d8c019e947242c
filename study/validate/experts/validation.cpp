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
#include "experiment/job.h"
#include "study/fit/least_squares.h"
#include "study/validate/measured/call.h"
#include "system/plans/group_library.h"

namespace orrery::study {
namespace {

// The groups of ranks that tables ask for, each laid out once.
class Shapes {
 public:
  explicit Shapes(const ConfigFiles& files) : files_(files) {}

  const collectives::GroupShape& of(const ExpertTable& table, const MeasuredExchange& row) {
    const auto [known, added] = shapes_.try_emplace({table.cluster, row.nodes, row.gpus});
    if (added) {
      Diagnostics diagnostics;
      const experiment::Experiment experiment = read_call_experiment(
          {table.where, table.cluster, row.nodes, row.gpus, workload::call_operation_named("all_to_all", "op")}, files_,
          diagnostics);
      known->second = system::lay_out_group(experiment::devices_of_call(experiment), experiment.fabric).shape;
    }
    return known->second;
  }

 private:
  const ConfigFiles& files_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, collectives::GroupShape> shapes_;
};

// One way of one row, ready to be predicted with any constants.
struct Case {
  TokenRouting routing;
  Bytes bytes;
  std::int64_t processors = 1;
  const collectives::GroupShape* shape = nullptr;

  // Alone on its links; whole picoseconds.
  Prediction predicted(DispatchLibrary library) const {
    library.processors = processors;
    const collectives::Aggregate transfer = collectives::token_exchange({std::move(library), routing}, bytes, *shape);
    const double moving = std::max(collectives::lone_seconds(transfer, *shape).together, seconds(transfer.least));
    return {seconds(transfer.latency + Duration(std::llround(moving * 1e12))), {}};
  }
};

std::string label_of(const MeasuredExchange& row) {
  return fmt::format("{} tokens of {}, {} of {} experts, {} x {} GPUs, {} SMs", row.tokens, row.hidden,
                     row.experts_per_token, row.experts, row.nodes, row.gpus, row.processors);
}

// Both ways of every row of every table, and what each asks.
struct Exchanges {
  MeasuredRows rows;
  std::vector<Case> cases;
};

Exchanges exchanges_of(std::span<const ExpertTable> tables, Shapes& shapes) {
  Exchanges all;
  for (const ExpertTable& table : tables)
    for (std::size_t number = 0; number < table.rows.size(); ++number)
      for (const bool is_dispatch : {true, false}) {
        const MeasuredExchange& row = table.rows[number];
        const std::int64_t limit = table.groups_per_token == 0 ? row.nodes : table.groups_per_token;
        const double bytes = table.bytes_per_value[is_dispatch ? 0 : 1] *
                             static_cast<double>(row.hidden * row.tokens * row.experts_per_token);
        Measured& measured = all.rows.emplace_back(Measured{&table, number, table.name, label_of(row), row.where,
                                                            seconds(is_dispatch ? row.dispatch : row.combine)});
        measured.facts = {{"way", is_dispatch ? "dispatch" : "combine"}};
        all.cases.push_back(
            {{row.experts, row.experts_per_token, row.nodes, std::min<std::int64_t>(limit, row.nodes), table.balanced},
             Bytes(std::llround(bytes)),
             row.processors,
             &shapes.of(table, row)});
      }
  return all;
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

// To the rows with these places, from what is shipped.
DispatchLibrary fitted(const Exchanges& all, std::span<const std::size_t> places, const DispatchLibrary& library) {
  FitProblem problem;
  problem.constants = constants_of(library);
  problem.residual_count = places.size();
  problem.loss_scale = 0.1;
  problem.residuals = [&](std::span<const double> values, std::span<double> residuals) {
    const DispatchLibrary other = with_constants(library, values);
    std::ranges::transform(places, residuals.begin(), [&](std::size_t i) {
      return std::log(all.cases[i].predicted(other).seconds / all.rows[i].measured);
    });
  };
  return with_constants(library, fit_constants(problem).values);
}

// Results of one library, each system by the constants that its tables of other systems give; a library measured on a
// single system has none.
std::vector<LeftOutSystem> leave_out(const Exchanges& all, const std::string& library) {
  Exchanges own;
  for (std::size_t i = 0; i < all.rows.size(); ++i)
    if (table_of<ExpertTable>(all.rows[i]).library.name == library) {
      own.rows.push_back(all.rows[i]);
      own.cases.push_back(all.cases[i]);
    }
  const auto system_of = [](const Measured& row) { return row.table->system; };
  if (grouped(own.rows, system_of).size() < 2) return {};
  const LeftOut<DispatchLibrary> left = leave_one_out<DispatchLibrary>(
      own.rows, system_of,
      [&](const std::string& without) {
        std::vector<std::size_t> others;
        for (std::size_t i = 0; i < own.rows.size(); ++i)
          if (system_of(own.rows[i]) != without && table_of<ExpertTable>(own.rows[i]).fitted) others.push_back(i);
        return fitted(own, others, table_of<ExpertTable>(own.rows[others.front()]).library);
      },
      [&](std::size_t row, const DispatchLibrary& constants) { return own.cases[row].predicted(constants); });
  std::vector<LeftOutSystem> systems;
  for (const std::string& name : left.names)
    systems.push_back({library, name, left.without(name),
                       rows_where(left.rows, [&](const Measured& row) { return system_of(row) == name; })});
  return systems;
}

}  // namespace

ExpertValidation validate_experts(std::span<const ExpertTable> tables, const ConfigFiles& files, bool cross) {
  Shapes shapes(files);
  const Exchanges all = exchanges_of(tables, shapes);
  ExpertValidation validation{all.rows, {}};
  predict_rows(validation.rows,
               [&](std::size_t row) { return all.cases[row].predicted(table_of<ExpertTable>(all.rows[row]).library); });
  std::set<std::string> libraries;
  for (const ExpertTable& table : tables) libraries.insert(table.library.name);
  if (cross)
    for (const std::string& library : libraries)
      for (LeftOutSystem& left : leave_out(all, library)) validation.left_out.push_back(std::move(left));
  return validation;
}

Validated validate_exchanges(const ValidationRequest& request) {
  const std::vector<ExpertTable> tables = list_tables<ExpertTable>(request.files);
  const ExpertValidation validation = validate_experts(tables, request.files, request.cross);
  return {expert_validation_text(validation), to_json(validation),
          AccuracySection{"experts", "Dispatch and combine: time of all tokens one way, by table", "exchanges",
                          grouped(validation.rows, [](const Measured& row) { return row.family; })}};
}

}  // namespace orrery::study
