// SPDX-License-Identifier: MIT
// Figures of a job, each declared once, as a row of one table: its names, heading, unit, meaning, and how it is taken
// from a result. The documents, `run --print`, columns, sorting and constraints of sweeps, the store of their points,
// searches, pages and docs/result-keys.md read this table; a new figure is a new row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/units.h"
#include "report/parts.h"
#include "report/result.h"
#include "report/screen/cell.h"

namespace orrery::report {

// Utilisation of the busiest link of each class that is in use, without its direction; the most utilised first.
using LinkShares = std::vector<std::pair<std::string, double>>;

// Part that bounds the iteration: the largest of its critical path, as nothing beside the path shortens it. The path
// goes by where ranks work: what others idle meanwhile, as in the bubbles of a pipeline, is told beside it.
struct Bound {
  std::string name;  // "compute", "host", "tensor"
  double share = 0;  // of the path
};

// Source of one job's figures. Pointers are null for what the job has not.
struct FigureSource {
  Duration iteration{};
  const TrainingFigures* training = nullptr;
  const CallFigures* call = nullptr;
  const ProductFigures* product = nullptr;
  bool has_parts = true;      // false: nobody asked for them
  std::vector<Part> parts{};  // of an iteration, mean over ranks, largest first
  LinkShares links{};
  std::optional<Bound> bound{};  // none where no path is known
};

// All of the result, which it refers to.
FigureSource figure_source(const Result& result);

using FigureValue = std::variant<std::int64_t, double, std::string>;

// Jobs that have a figure, and its place in the document of a run.
enum class FigureGroup : std::uint8_t {
  kAll,            // every job; at the top
  kTraining,       // a job from a model; at the top, or in `jobs[]`
  kKernels,        // one with measured kernels; behind `kernels`
  kMemory,         // a job from a model; in `memory`
  kWholeTraining,  // one with workload.tokens; in `training_run`
  kCall,           // one collective; at the top
  kProduct,        // one matrix product; at the top
  kParts           // every job, from its parts; columns and --print, no key of its own
};

enum class FigureUnit : std::uint8_t {
  kSeconds,
  kDays,
  kShare,  // 0 to 1, shown in percent
  kBytes,
  kTeraflops,
  kTokensPerSecond,
  kSamplesPerSecond,
  kGigabytesPerSecond,
  kNumber,
  kText
};

enum class Better : std::uint8_t { kNeither, kLess, kMore };

struct Figure {
  FigureGroup group;
  std::string_view path{};    // in the document of a run, within its group; empty: not there
  std::string_view key{};     // in points.csv and in other documents; empty: not there
  std::string_view column{};  // name of the column of tables, as `show` has it; empty: `key`
  std::string_view heading;
  FigureUnit unit;
  Better better = Better::kNeither;
  bool is_default = false;   // a column where nobody chose columns
  bool is_of_plans = false;  // in the documents of `search`
  bool is_rare = false;      // not every job of the group has it
  bool is_compared = false;  // a row of comparisons
  std::string_view meaning;
  std::string_view needs{};  // what a job must be or have for it, if not as all of the group
  // Nothing where the job has no such figure.
  std::optional<FigureValue> (*take)(const FigureSource& source);

  std::string_view column_name() const { return column.empty() ? key : column; }
  // True if points.csv has the figure's column even if no point has the figure.
  bool is_always_column() const {
    return group != FigureGroup::kWholeTraining && group != FigureGroup::kCall && group != FigureGroup::kProduct;
  }
  // "mfu", "training_run.days"; empty where the document of a run has it not.
  std::string full_path() const;
  // The key, or without one the full path: no two figures have the same.
  std::string name() const { return key.empty() ? full_path() : std::string(key); }
  // Tells what a job must be or have for it: "a job with one matrix product has it: workload: {product: ...}".
  std::string_view needed() const;
};

// In the order of points.csv and of the documents.
std::span<const Figure> figures();
// The figures that have a `key`.
std::vector<const Figure*> keyed_figures();

// Figures that a job has, by name().
using FigureValues = std::map<std::string, FigureValue, std::less<>>;
FigureValues figure_values(const FigureSource& source);
// The first figure in this column that the job has; null if there is none.
const Figure* find_column(const FigureValues& values, std::string_view column);
// The number of that name; nothing where the job has none.
std::optional<double> number_of(const FigureValues& values, std::string_view name);
// The whole training, without its length; nothing where the job has none.
std::optional<TrainingRun> whole_training(const FigureValues& values);
// "compute 93 %, bubble 31 %": what bounds the job, and what its ranks idle in a pipeline's bubbles, if that is a tenth
// of their time or more; "-" where it is not known.
std::string bound_text(const FigureValues& values);
// "-" where the job has no figure in the column.
std::string column_text(const FigureValues& values, std::string_view column);
Cell column_cell(const FigureValues& values, std::string_view column);

// Texts of one column of several figures are short: "38.0 %", "3501.5 tokens/s", "12.50 GiB".
std::string cell_text(const Figure& figure, const FigureValue& value);
// Likewise, with the quantity where it has one that columns have one unit of.
Cell cell_of(const Figure& figure, const FigureValue& value);
// The same below or beside a name that has the unit of rates: "tokens/s/GPU" and "3501.5".
std::string row_name(const Figure& figure);
Cell bare_cell(const Figure& figure, const FigureValue& value);
nlohmann::ordered_json to_json(const FigureValue& value);
// Reads back what to_json() wrote; throws an exception of nlohmann::json for anything else.
FigureValue value_of(const nlohmann::ordered_json& json);
// A share of bubbles from which on they are worth a line and a hint.
inline constexpr double kLargeBubble = 0.1;
// Adds what the job has of the group, by paths.
void put_figures(FigureGroup group, const FigureSource& source, nlohmann::ordered_json& to);

// Facts on figures for pages, for figures that have a key: `key`, `heading`, `unit`, `better`, `is_default`,
// `is_of_plans`.
nlohmann::ordered_json figures_json();

std::string_view name_of(FigureUnit unit);  // "s", "share", "B", "tokens/s", ...
std::string_view name_of(Better better);    // "less", "more", ""

}  // namespace orrery::report
