// Published measurements of collectives, which Orrery's answers are held against: one table a file of
// configs/validation/nccl. docs/validation.md lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/nccl/options.h"
#include "core/config/config.h"
#include "core/units.h"
#include "study/benchmark/operation.h"

namespace orrery {

enum class TimedPart : std::uint8_t {
  kCalls,    // calls one behind the other, with what their launch costs
  kKernels,  // kernels of a profile, without their launch
};

// Which time of a row was taken.
enum class ValidationColumn : std::uint8_t { kInPlace, kOutOfPlace, kMedian };

struct ValidationRow {
  Bytes bytes;  // as BenchmarkSize says
  Duration time{};
};

struct ValidationTable {
  std::string name;
  Location where;  // of the name
  std::string source;
  std::string measured;  // the machine, in the words of the source
  std::string system;    // tables of one system have one name
  std::string cluster;   // of configs/clusters; empty if the source says too little, and then nothing is scored
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 1;
  BenchmarkOperation operation;
  TimedPart timed = TimedPart::kCalls;
  std::string nccl;                  // its version; empty if not known
  std::optional<LaunchMode> launch;  // only where the source says so
  std::string launch_source;         // how the source says so
  ValidationColumn column = ValidationColumn::kInPlace;
  std::string column_reason;
  std::vector<std::string> forced;  // algorithms and protocols that NCCL was held to: "Tree", "LL"
  bool scored = true;
  std::string why_not;              // if not scored
  std::vector<ValidationRow> rows;  // by ascending size
};

std::string_view name_of(TimedPart part);
std::string_view name_of(ValidationColumn column);

// Reads one table, whose `root` comes from load_config or parse_config. Problems go to `diagnostics`; after an error
// the table is not to be used.
ValidationTable read_validation_table(ConfigValue root, const ConfigFiles& files, Diagnostics& diagnostics);

// Whether `file` is a table rather than another configuration or a trace: by its keys.
bool is_validation_table(const std::string& file, const ConfigFiles& files);

// Reads a table of its own, with `settings` (a.b=v) applied; problems go to `diagnostics`, and the table is not to be
// used after an error.
ValidationTable load_validation_table(const std::string& file, const std::vector<std::string>& settings,
                                      const ConfigFiles& files, Diagnostics& diagnostics);

// InputError when two tables have one name; then sorts them by it.
void sort_validation_tables(std::vector<ValidationTable>& tables);

// All shipped tables, by name. InputError with all problems of all files.
std::vector<ValidationTable> list_validation_tables(const ConfigFiles& files);

// The keys of a table, in the order of the reader.
std::vector<KeyDescription> describe_validation_table(const ConfigFiles& files);

// The tables as docs/validation.md shows them: what they measured, what launched them, what is not scored.
std::string validation_list(std::span<const ValidationTable> tables);

}  // namespace orrery
