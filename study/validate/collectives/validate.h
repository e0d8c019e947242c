// Orrery's answers held against published measurements (study/validate/collectives/table.h): how far off, table by table and in
// all, by message size.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "study/benchmark/question.h"
#include "study/validate/collectives/table.h"

namespace orrery {

// Of absolute errors |predicted / measured - 1|.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0;
  double ninetieth = 0;  // percentile
  double worst = 0;
};

// Nothing without rows. Of an even number of rows the median is the mean of the two in the middle; a percentile is the
// least error that at least so many rows do not exceed.
std::optional<ErrorSummary> summary_of(std::vector<double> errors);

// Below 1 MiB launch and latency decide, from 256 MiB on bandwidth does; between them both.
enum class SizeBand : std::uint8_t { kSmall, kMiddle, kLarge };
inline constexpr std::array<SizeBand, 3> kAllSizeBands = {SizeBand::kSmall, SizeBand::kMiddle, SizeBand::kLarge};
SizeBand band_of(Bytes size);
// "< 1M", "1M - 256M", ">= 256M".
std::string_view name_of(SizeBand band);

struct ValidatedRow {
  ValidationRow measured;
  Duration predicted{};

  double error() const { return seconds(predicted) / seconds(measured.time) - 1; }  // signed
};

struct ValidatedTable {
  const ValidationTable* table = nullptr;
  std::vector<ValidatedRow> rows;

  std::optional<ErrorSummary> summary() const;
  std::optional<ErrorSummary> summary(SizeBand band) const;
  const ValidatedRow& worst() const;
};

// A fitted constant of the library: what ships and what it would be without measurements, as texts with units.
struct FittedConstantText {
  std::string name;
  std::string shipped;
  std::string nominal;
};

struct Validation {
  std::vector<ValidatedTable> scored;
  std::vector<ValidatedTable> kernels;            // kernels of profiles on known clusters; not in the overall error
  std::vector<const ValidationTable*> left_out;   // neither
  std::vector<FittedConstantText> constants;
};

// The medians of the tables: each counts the same, however many rows it has.
struct OverallError {
  std::optional<ErrorSummary> all;
  std::array<std::optional<ErrorSummary>, kAllSizeBands.size()> bands;
};
OverallError overall_error(std::span<const ValidatedTable> tables);
// Of the tables whose source says who launched the kernels.
OverallError overall_error_of_labelled(std::span<const ValidatedTable> tables);

using ValidationProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// What a table asks: its cluster, and of NCCL the version, the launch and what it was held to.
CollectiveQuestion question_of(const ValidationTable& table);

// Simulates every row of every scored table, and of kernels of profiles, on its cluster. `tables` outlive the result.
Validation validate(std::span<const ValidationTable> tables, const ConfigFiles& files,
                    const ValidationProgress& progress = {});

std::string validation_text(const Validation& validation);

// The JSON document "orrery.validation/1".
nlohmann::ordered_json to_json(const Validation& validation);

}  // namespace orrery
