// SPDX-License-Identifier: MIT
#include "study/validate/compute/validation.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "study/validate/compute/layers.h"
#include "system/devices/operator_model.h"

namespace orrery::study {
namespace {

constexpr std::string_view kLoneProduct = "product";

std::string shape_of(const workload::Gemm& product) { return fmt::format("{}x{}x{}", product.m, product.n, product.k); }

std::string shape_of(const LayerSample& sample, const workload::Operator& op) {
  if (const workload::Gemm* product = std::get_if<workload::Gemm>(&op)) return shape_of(*product);
  return fmt::format("{} tokens of {}, tp {}", sample.tokens, sample.hidden, sample.tensor_parallel);
}

// Time of a product's work at the rate that was measured.
Duration time_at(const MeasuredProduct& measured) {
  const workload::Gemm& product = measured.product;
  const double work =
      2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k);
  return Duration(std::max<std::int64_t>(1, std::llround(std::min(work / measured.rate, 1e6) * 1e12)));
}

using Work = decltype(system::KernelSample::what);

Prediction predict(const system::OperatorModel& model, const Work& work) {
  if (const auto* op = std::get_if<workload::Operator>(&work)) return {seconds(model.time(*op)), {}};
  const std::optional<Duration> time = model.time(std::get<workload::FusedExperts>(work));
  if (!time)
    throw InputError({}, "fused experts need a software with constants of its own kernels, rates.kernels",
                     "for example inference-2026");
  return {seconds(*time), {}};
}

// Measured rows, and what each of them computes.
struct WorkRows {
  MeasuredRows rows;
  std::vector<Work> works;

  void add(const MeasuredTable& table, std::string_view family, std::string label, Location where, std::int64_t tokens,
           std::int64_t scored_from, Duration measured, Work work) {
    rows.push_back({&table, rows.size(), std::string(family), std::move(label), std::move(where), seconds(measured)});
    rows.back().scored = tokens == 0 || tokens >= scored_from;
    if (tokens > 0) rows.back().facts["tokens"] = tokens;
    works.push_back(std::move(work));
  }

  MeasuredRows predicted(const system::OperatorModel& model) const {
    MeasuredRows all = rows;
    predict_rows(all, [&](std::size_t row) { return predict(model, works[row]); });
    return all;
  }
};

// Rows of operators, without element-wise ones of few tokens; `left_out` counts those.
WorkRows operator_rows(const ComputeTable& table, std::size_t& left_out) {
  WorkRows all;
  for (const LayerSample& sample : table.layers)
    for (std::size_t i = 0; i < kLayerColumnCount; ++i) {
      if (!sample.times[i]) continue;
      const auto column = static_cast<LayerColumn>(i);
      const LayerOperator kind = operator_of(column);
      if (!is_product(kind) && sample.tokens < kFewestElementWiseTokens) {
        ++left_out;
        continue;
      }
      const workload::Operator op = layer_operator(sample, column, table.precision);
      all.add(table, name_of(kind), shape_of(sample, op), {table.layers_file, sample.line}, sample.tokens,
              kScoredTokens, *sample.times[i], op);
    }
  for (const MeasuredProduct& measured : table.products)
    all.add(table, kLoneProduct, shape_of(measured.product), measured.where, 0, 0, time_at(measured), measured.product);
  return all;
}

WorkRows kernel_rows(const ComputeTable& table) {
  WorkRows all;
  for (const system::KernelSample& sample : table.kernels)
    all.add(table, sample.kind, sample.at, sample.where, sample.rows, kScoredRows, sample.measured, sample.what);
  return all;
}

ValidatedComputeTable validate(const ComputeTable& table) {
  const system::OperatorModel model(table.device, table.rates());
  ValidatedComputeTable validated{&table, {}, {}, {}};
  validated.operators = operator_rows(table, validated.left_out).predicted(model);
  const WorkRows kernels = kernel_rows(table);
  validated.kernels = kernels.predicted(model);
  if (table.others && table.software)
    validated.kernels_by_others =
        kernels.predicted(system::OperatorModel(table.device, table.software->rates_on(*table.others)));
  return validated;
}

// Order of a group of operators; lone products come last.
std::size_t order_of(const MeasuredGroup& group) {
  std::size_t op = 0;
  while (op < kLayerOperatorCount && name_of(static_cast<LayerOperator>(op)) != group.name) ++op;
  return op;
}

// The traffic factors of the kinds that measured layers have.
void add_traffic(const workload::SoftwareSpec& software, const workload::SoftwareRates& rates,
                 ComputeValidation& validation) {
  for (const workload::ElementWiseKind kind :
       {workload::ElementWiseKind::kNorm, workload::ElementWiseKind::kRotary, workload::ElementWiseKind::kActivation,
        workload::ElementWiseKind::kAdd, workload::ElementWiseKind::kEmbedding})
    validation.constants.push_back({software.name, fmt::format("traffic.{}", workload::name_of(kind)),
                                    fmt::format("{}", rates.traffic[static_cast<std::size_t>(kind)]), false});
}

// Constants are the same if they are of the same device and have the same name.
void add_constants(const ComputeTable& table, ComputeValidation& validation) {
  const auto known = [&](const std::string& of, std::string_view name) {
    return std::ranges::any_of(validation.constants, [&](const FittedComputeConstant& constant) {
      return constant.of == of && constant.name == name;
    });
  };
  for (const std::string& name : table.fitted)
    if (!known(table.device.name, name))
      validation.constants.push_back(
          {table.device.name, name, *compute_constant_text(table.device.compute, name), name != "launch"});
  if (table.software && !table.layers.empty() && !known(table.software->name, "traffic.norm"))
    add_traffic(*table.software, table.rates(), validation);
}

// A family is a kind of a table's operators or kernels.
std::vector<MeasuredGroup> families_of(const ComputeValidation& validation) {
  std::vector<MeasuredGroup> families;
  const auto add = [&](const ComputeTable& table, const std::vector<MeasuredGroup>& kinds) {
    for (const MeasuredGroup& kind : kinds)
      if (errors_of(kind.rows)) families.push_back({fmt::format("{}, {}", table.name, kind.name), kind.rows});
  };
  for (const ValidatedComputeTable& table : validation.tables) {
    add(*table.table, operators_of(table));
    add(*table.table, kernels_of(table.kernels));
  }
  return families;
}

}  // namespace

Validated validate_operators(const ValidationRequest& request) {
  std::vector<ComputeTable> tables = list_tables<ComputeTable>(request.files);
  if (!request.own_tables.empty())
    tables = compute_tables_of({request.own_tables.front(), request.device, request.software}, tables, request.files);
  const ComputeValidation validation = validate_compute(tables);
  const std::string kernels = kernel_validation_text(validation, request.cross);
  return {compute_validation_text(validation) + (kernels.empty() ? "" : "\n" + kernels), to_json(validation),
          AccuracySection{"compute", "Kernels: time of one operator", "shapes", families_of(validation)}};
}

std::vector<MeasuredGroup> kernels_of(const MeasuredRows& kernels) {
  return grouped(kernels, [](const Measured& row) { return row.family; });
}

std::vector<MeasuredGroup> operators_of(const ValidatedComputeTable& table) {
  std::vector<MeasuredGroup> groups = kernels_of(table.operators);
  std::ranges::stable_sort(groups, {}, order_of);
  return groups;
}

std::optional<MeasuredGroup> products_of(const ValidatedComputeTable& table) {
  MeasuredGroup all{"all products", {}};
  std::size_t kinds = 0;
  for (const MeasuredGroup& group : operators_of(table)) {
    if (group.name == kLoneProduct || !is_product(group)) continue;
    ++kinds;
    all.rows.insert(all.rows.end(), group.rows.begin(), group.rows.end());
  }
  return kinds > 1 ? std::optional(std::move(all)) : std::nullopt;
}

bool is_product(const MeasuredGroup& operators) {
  const std::size_t op = order_of(operators);
  return op == kLayerOperatorCount || is_product(static_cast<LayerOperator>(op));
}

std::size_t ComputeValidation::product_constants() const {
  return static_cast<std::size_t>(std::ranges::count_if(constants, &FittedComputeConstant::product));
}

ComputeValidation validate_compute(std::span<const ComputeTable> tables) {
  ComputeValidation validation;
  for (const system::GemmConstant& constant : system::shared_gemm_constants())
    validation.constants.push_back({{}, std::string(constant.name), fmt::format("{}", constant.value), true});
  for (const ComputeTable& table : tables) {
    validation.tables.push_back(validate(table));
    add_constants(table, validation);
  }
  return validation;
}

}  // namespace orrery::study
