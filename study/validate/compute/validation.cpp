// SPDX-License-Identifier: MIT
#include "study/validate/compute/validation.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "study/validate/compute/layers.h"
#include "system/devices/operator_model.h"

namespace orrery::study {
namespace {

std::string shape_of(const workload::Gemm& product) { return fmt::format("{}x{}x{}", product.m, product.n, product.k); }

std::string shape_of(const LayerSample& sample, const workload::Operator& op) {
  if (const workload::Gemm* product = std::get_if<workload::Gemm>(&op)) return shape_of(*product);
  return fmt::format("{} tokens of {}, tp {}", sample.tokens, sample.hidden, sample.tensor_parallel);
}

// As measured rates: the time of a product's work.
Duration time_at(const MeasuredProduct& measured) {
  const workload::Gemm& product = measured.product;
  const double work =
      2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k);
  return Duration(std::max<std::int64_t>(1, std::llround(std::min(work / measured.rate, 1e6) * 1e12)));
}

Duration time_of(const system::OperatorModel& model, const system::KernelSample& sample) {
  if (const auto* op = std::get_if<workload::Operator>(&sample.what)) return model.time(*op);
  const std::optional<Duration> time = model.time(std::get<workload::FusedExperts>(sample.what));
  if (!time)
    throw InputError({}, "fused experts need a software with constants of its own kernels, rates.kernels",
                     "for example inference-2026");
  return *time;
}

class TableValidation {
 public:
  explicit TableValidation(const ComputeTable& table) : table_(table), model_(table.device, table.rates()) {
    validated_.table = &table;
    for (std::size_t i = 0; i < kLayerOperatorCount; ++i) {
      const auto op = static_cast<LayerOperator>(i);
      by_operator_.push_back({std::string(name_of(op)), is_product(op), {}});
    }
  }

  ValidatedComputeTable validate() {
    for (const LayerSample& sample : table_.layers)
      for (std::size_t column = 0; column < kLayerColumnCount; ++column)
        if (sample.times[column]) add(sample, static_cast<LayerColumn>(column), *sample.times[column]);
    add_all_products();
    if (!table_.products.empty()) by_operator_.push_back(lone_products());
    add_kernels();
    std::erase_if(by_operator_, [](const OperatorErrors& errors) { return errors.rows.empty(); });
    validated_.operators = std::move(by_operator_);
    return std::move(validated_);
  }

 private:
  void add(const LayerSample& sample, LayerColumn column, Duration measured) {
    OperatorErrors& errors = by_operator_[static_cast<std::size_t>(operator_of(column))];
    if (!errors.product && sample.tokens < kFewestElementWiseTokens) {
      ++validated_.left_out;
      return;
    }
    const workload::Operator op = layer_operator(sample, column, table_.precision);
    errors.rows.push_back({shape_of(sample, op), sample.line, sample.tokens, measured, model_.time(op)});
  }

  // By kind, in the order of the rows.
  void add_kernels() {
    std::optional<system::OperatorModel> others;
    if (table_.others && table_.software) others.emplace(table_.device, table_.software->rates_on(*table_.others));
    for (const system::KernelSample& sample : table_.kernels) {
      const auto same = std::ranges::find(validated_.kernels, sample.kind, &OperatorErrors::name);
      OperatorErrors& errors = same != validated_.kernels.end()
                                   ? *same
                                   : validated_.kernels.emplace_back(OperatorErrors{sample.kind, true, {}});
      errors.rows.push_back({sample.at, sample.where.line, sample.rows, sample.measured, time_of(model_, sample),
                             others ? time_of(*others, sample) : Duration::zero(), kScoredRows});
    }
  }

  void add_all_products() {
    OperatorErrors all{"all products", true, {}};
    std::size_t kinds = 0;
    for (const OperatorErrors& errors : by_operator_) {
      if (!errors.product || errors.rows.empty()) continue;
      ++kinds;
      all.rows.insert(all.rows.end(), errors.rows.begin(), errors.rows.end());
    }
    if (kinds > 1) validated_.products = std::move(all);
  }

  OperatorErrors lone_products() const {
    OperatorErrors errors{"product", true, {}};
    for (const MeasuredProduct& measured : table_.products)
      errors.rows.push_back(
          {shape_of(measured.product), measured.where.line, 0, time_at(measured), model_.time(measured.product)});
    return errors;
  }

  const ComputeTable& table_;
  system::OperatorModel model_;
  ValidatedComputeTable validated_;
  std::vector<OperatorErrors> by_operator_;  // by LayerOperator
};

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

}  // namespace

std::optional<ErrorSummary> OperatorErrors::summary() const { return summary_of(rows, &ValidatedOperator::scored); }
std::optional<ErrorSummary> OperatorErrors::summary_below() const {
  return summary_of(rows, [](const ValidatedOperator& row) { return !row.scored(); });
}

double OperatorErrors::bias() const {
  std::vector<double> errors;
  for (const ValidatedOperator& row : rows)
    if (row.scored()) errors.push_back(row.error());
  if (errors.empty()) return 0;
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::ranges::nth_element(errors, middle);
  return *middle;
}

OperatorErrors OperatorErrors::by_others() const {
  OperatorErrors errors{name, product, {}};
  for (ValidatedOperator row : rows) {
    if (row.by_others == Duration::zero()) continue;
    row.predicted = row.by_others;
    errors.rows.push_back(std::move(row));
  }
  return errors;
}

const ValidatedOperator* OperatorErrors::worst() const {
  const ValidatedOperator* worst = nullptr;
  for (const ValidatedOperator& row : rows)
    if (row.scored() && (worst == nullptr || std::abs(row.error()) > std::abs(worst->error()))) worst = &row;
  return worst;
}

std::size_t ComputeValidation::product_constants() const {
  return static_cast<std::size_t>(std::ranges::count_if(constants, &FittedComputeConstant::product));
}

ComputeValidation validate_compute(std::span<const ComputeTable> tables) {
  ComputeValidation validation;
  for (const system::GemmConstant& constant : system::shared_gemm_constants())
    validation.constants.push_back({{}, std::string(constant.name), fmt::format("{}", constant.value), true});
  for (const ComputeTable& table : tables) {
    validation.tables.push_back(TableValidation(table).validate());
    add_constants(table, validation);
  }
  return validation;
}

}  // namespace orrery::study
