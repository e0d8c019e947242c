#include "study/validate/collectives/validate.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "collectives/nccl/constants_config.h"
#include "core/assert.h"
#include "study/benchmark/study.h"

namespace orrery {
namespace {

constexpr Bytes kMiddleFrom{1 << 20};
constexpr Bytes kLargeFrom{256 << 20};

ValidatedTable validate(const ValidationTable& table, const ConfigFiles& files) {
  std::vector<Bytes> sizes;
  for (const ValidationRow& row : table.rows) sizes.push_back(row.bytes);
  const CollectiveTable predicted = study_collective(question_of(table), table.operation, sizes, files);
  ORRERY_ASSERT(predicted.rows.size() == table.rows.size());
  ValidatedTable validated{&table, {}};
  for (std::size_t i = 0; i < sizes.size(); ++i) validated.rows.push_back({table.rows[i], predicted.rows[i].time});
  return validated;
}

std::vector<FittedConstantText> fitted_constants(const ConfigFiles& files) {
  const NcclConstantsFile library = shipped_nccl_constants(files);
  std::vector<FittedConstantText> texts;
  for (const auto& [number, nominal] : library.nominal)
    texts.push_back({std::string(nccl_constant_entries()[number].path),
                     nccl_constant_text(number, library.constants.value(number)), nccl_constant_text(number, nominal)});
  return texts;
}

}  // namespace

std::optional<ErrorSummary> summary_of(std::vector<double> errors) {
  if (errors.empty()) return std::nullopt;
  std::ranges::sort(errors);
  const std::size_t count = errors.size();
  const auto ninetieth = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(count)));
  return ErrorSummary{count, (errors[(count - 1) / 2] + errors[count / 2]) / 2, errors[ninetieth - 1], errors.back()};
}

SizeBand band_of(Bytes size) {
  if (size < kMiddleFrom) return SizeBand::kSmall;
  return size < kLargeFrom ? SizeBand::kMiddle : SizeBand::kLarge;
}

std::string_view name_of(SizeBand band) {
  constexpr std::array<std::string_view, kAllSizeBands.size()> kNames = {"< 1M", "1M - 256M", ">= 256M"};
  return kNames[static_cast<std::size_t>(band)];
}

std::optional<ErrorSummary> ValidatedTable::summary() const {
  std::vector<double> errors;
  for (const ValidatedRow& row : rows) errors.push_back(std::abs(row.error()));
  return summary_of(std::move(errors));
}

std::optional<ErrorSummary> ValidatedTable::summary(SizeBand band) const {
  std::vector<double> errors;
  for (const ValidatedRow& row : rows)
    if (band_of(row.measured.bytes) == band) errors.push_back(std::abs(row.error()));
  return summary_of(std::move(errors));
}

const ValidatedRow& ValidatedTable::worst() const {
  return *std::ranges::max_element(rows, {}, [](const ValidatedRow& row) { return std::abs(row.error()); });
}

OverallError overall_error(std::span<const ValidatedTable> tables) {
  OverallError overall;
  std::vector<double> medians;
  for (const ValidatedTable& table : tables)
    if (const auto summary = table.summary()) medians.push_back(summary->median);
  overall.all = summary_of(std::move(medians));
  for (const SizeBand band : kAllSizeBands) {
    std::vector<double> of_band;
    for (const ValidatedTable& table : tables)
      if (const auto summary = table.summary(band)) of_band.push_back(summary->median);
    overall.bands[static_cast<std::size_t>(band)] = summary_of(std::move(of_band));
  }
  return overall;
}

OverallError overall_error_of_labelled(std::span<const ValidatedTable> tables) {
  std::vector<ValidatedTable> labelled;
  std::ranges::copy_if(tables, std::back_inserter(labelled),
                       [](const ValidatedTable& table) { return table.table->launch.has_value(); });
  return overall_error(labelled);
}

CollectiveQuestion question_of(const ValidationTable& table) {
  CollectiveQuestion question;
  question.cluster = table.cluster;
  question.nodes = fmt::format("{}", table.nodes);
  question.devices_per_node = fmt::format("{}", table.gpus_per_node);
  question.library = "nccl";
  if (table.launch) question.launch = name_of(*table.launch);
  for (const std::string& word : table.forced) {
    std::string& option = nccl_algorithm_named(word) ? question.algorithm : question.protocol;
    option += (option.empty() ? "" : ",") + word;
  }
  if (!table.nccl.empty()) question.settings.push_back("collectives.version=" + table.nccl);
  return question;
}

Validation validate(std::span<const ValidationTable> tables, const ConfigFiles& files,
                    const ValidationProgress& progress) {
  Validation validation;
  std::uint64_t done = 0;
  for (const ValidationTable& table : tables) {
    if (progress) progress(done++, tables.size());
    if (table.scored)
      validation.scored.push_back(validate(table, files));
    else if (table.timed == TimedPart::kKernels && !table.cluster.empty())
      validation.kernels.push_back(validate(table, files));
    else
      validation.left_out.push_back(&table);
  }
  validation.constants = fitted_constants(files);
  return validation;
}

}  // namespace orrery
