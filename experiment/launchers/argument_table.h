// SPDX-License-Identifier: MIT
// The table of a launcher's arguments. A row serves both directions: `read` gives keys of an experiment, `write` the
// argument of a job. Rows are read in their order, given or not, so that a launcher's own defaults are set as well.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine_kind.h"
#include "experiment/launchers/launcher.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::experiment {

// Form of an argument's values. kSwitch: it is there or not, or has true or false. kNumber: a whole number, kReal: any.
// kAny: not checked.
enum class ArgumentShape : std::uint8_t { kSwitch, kNumber, kReal, kText, kList, kAny };

class LaunchReading;
class LaunchWriting;

struct ArgumentRow {
  std::string_view name;
  std::string_view aliases;  // other names of the same, separated by spaces
  ArgumentShape shape = ArgumentShape::kSwitch;
  // Sets keys. Null: the reader of another row takes it. Called once, also where the argument is not given.
  void (*read)(LaunchReading&) = nullptr;
  // Adds the argument as a job has it. Null: the writer of another row does, or no job has it.
  void (*write)(LaunchWriting&) = nullptr;
};

// Arguments that are not used, for one reason; names separated by spaces. "dataset.*" are all that begin so.
struct UnusedArguments {
  ArgumentFate fate = ArgumentFate::kIgnored;
  std::string_view reason;
  std::string_view names;
};

// Facts of files beside their arguments.
struct LaunchFiles {
  std::vector<LauncherArgument> arguments;
  std::int64_t nodes = 0;             // 0: not said
  std::int64_t devices_per_node = 0;  // the same
  std::int64_t ranks = 0;             // that the job has; 0: as the cluster has room for
  std::int64_t devices = 0;           // of the cluster; 0: not known
  std::int64_t node_devices = 0;      // of a node of it
  const ConfigFiles* configs = nullptr;
  std::string program;            // "pretrain_gpt.py"; empty: not named
  bool is_configuration = false;  // arguments are fields of a configuration, not of a command line
  Location where;                 // of the first argument, or the file's start
};

struct LauncherTable {
  Launcher launcher = Launcher::kMegatron;
  std::string_view title;     // "Megatron-LM"
  std::string_view software;  // a file of configs/software
  std::vector<ArgumentRow> rows;
  std::vector<UnusedArguments> unused;
  // The arguments of files, one behind the other.
  LaunchFiles (*parse)(const std::vector<std::string>& files, const LaunchOptions& options, Diagnostics& diagnostics);
  // Name of a row that an argument is by; the launcher's writing of names that are one ("--num_layers").
  std::string (*canonical)(std::string_view name);
  // Looks over all arguments before the rows are read: programs that are not simulated. May be null.
  void (*check)(LaunchReading& reading) = nullptr;
  std::string_view unset_word;       // a value that stands for none: "auto"
  bool refuses_other_names = false;  // an argument by two of its names is an error: they are of two versions
  // The program that trains a model; may be null.
  std::string (*program)(const workload::TransformerSpec& model) = nullptr;
  // Arguments as the launcher takes them.
  std::string (*print)(const WrittenLaunch& launch, const Experiment& experiment) = nullptr;
};

const LauncherTable& table_of_launcher(Launcher launcher);
LauncherTable megatron_table();
LauncherTable megatron_bridge_table();
LauncherTable torchtitan_table();
LauncherTable deepspeed_table();
LauncherTable fsdp_table();

// Rows and unused names of a table by name.
class ArgumentIndex {
 public:
  explicit ArgumentIndex(const LauncherTable& table);

  const ArgumentRow* row(std::string_view canonical) const;
  const UnusedArguments* unused(std::string_view canonical) const;
  // "did you mean '--num-layers'?"
  std::string hint(std::string_view canonical) const;

 private:
  std::map<std::string, const ArgumentRow*, std::less<>> rows_;
  std::map<std::string, const UnusedArguments*, std::less<>> unused_;
  std::vector<std::pair<std::string, const UnusedArguments*>> prefixes_;
};

// The arguments of a launch, by name, and the keys that readers of rows set. An argument that a reader asks for is that
// of the last place where it was given.
class LaunchReading {
 public:
  LaunchReading(const LauncherTable& table, const ArgumentIndex& index, const LaunchFiles& files,
                std::vector<ReadArgument>& arguments, Diagnostics& diagnostics);

  // --- arguments, by the name of their row
  std::string_view name() const { return row_->name; }  // of the row that is read
  bool given(std::string_view name) const { return find(name) != nullptr; }
  bool was_unset(std::string_view name) const { return unset_.contains(name); }  // by the table's word for none
  bool is_on(std::string_view name) const;                                       // a switch that is there and not false
  std::optional<std::int64_t> number(std::string_view name) const;
  std::int64_t number_or(std::string_view name, std::int64_t fallback) const;
  double real_or(std::string_view name, double fallback) const;
  std::string text_or(std::string_view name, std::string_view fallback = {}) const;
  std::vector<std::string> list(std::string_view name) const;
  // One of `words`, else `fallback` and an error that names them.
  std::string word_or(std::string_view name, std::string_view fallback, std::string_view words);
  Location where(std::string_view name) const;

  // --- keys
  // Sets a key, at the place of the argument whose row is read, or as a default of the launcher. The last one holds.
  void set(std::string_view key, std::string value);
  void set(std::string_view key, std::int64_t value) { set(key, std::to_string(value)); }
  void set(std::string_view key, bool value) { set(key, std::string(value ? "true" : "false")); }
  // Keys that the row sets from now on are those of the first of these arguments that is given, if the row's own is
  // not.
  void owned_by(std::initializer_list<std::string_view> names);
  // Sets it only where the argument of the row is given.
  void set_number(std::string_view key);
  // Sets a key that a job needs: it is missing where the argument is not given.
  void needs_number(std::string_view key);
  // Says that nothing gives a key: an error, unless a setting does.
  void missing(std::string_view key, std::string message, std::string hint);

  // A file of configs/software in place of the table's.
  void choose_software(std::string software) { software_ = std::move(software); }

  // --- problems, at the argument of the row that is read, or at `name`
  void error(std::string message, std::string hint = {});
  void error_at(std::string_view name, std::string message, std::string hint = {});
  void warning(std::string message, std::string hint = {});
  void warning_at(std::string_view name, std::string message, std::string hint = {});
  // The argument of the row is not simulated after all, as its value is: why.
  void leave_out(std::string reason);

  // --- facts
  Launcher launcher() const { return table_->launcher; }
  const LaunchFiles& files() const { return *files_; }
  const std::optional<Architecture>& architecture() const { return architecture_; }
  void set_architecture(std::optional<Architecture> architecture) { architecture_ = architecture; }

  // --- of the importer
  void read_rows();
  struct Set {
    std::string value;
    Location where;
    bool is_default = false;
  };
  struct Missing {
    std::string key;
    Problem problem;
  };
  const std::vector<std::pair<std::string, Set>>& settings() const { return settings_; }
  const std::vector<Missing>& all_missing() const { return missing_; }
  const std::string& software() const { return software_; }

 private:
  const ReadArgument* find(std::string_view name) const;
  void check_shape(const ArgumentRow& row, const ReadArgument& argument);

  const LauncherTable* table_;
  const LaunchFiles* files_;
  std::vector<ReadArgument>* arguments_;
  Diagnostics* diagnostics_;
  std::map<std::string, std::size_t, std::less<>> last_;  // by name of the row: the argument that holds
  const ArgumentRow* row_ = nullptr;                      // that is read
  std::string_view owner_;                                // of the keys that it sets
  std::optional<Architecture> architecture_;
  std::vector<std::pair<std::string, Set>> settings_;
  std::vector<Missing> missing_;
  std::string software_;
  std::set<std::string, std::less<>> unset_;
};

// A job whose arguments are written.
class LaunchWriting {
 public:
  LaunchWriting(const Experiment& experiment, const workload::TrainingSpec& training, WrittenLaunch& written)
      : experiment_(&experiment), training_(&training), written_(&written) {}

  const Experiment& experiment() const { return *experiment_; }
  const workload::TrainingSpec& job() const { return *training_; }
  const workload::TransformerSpec& model() const { return *training_->transformer(); }
  std::string_view name() const { return row_->name; }
  void set_row(const ArgumentRow& row) { row_ = &row; }

  // Adds the argument of the row.
  void add() { add_values({}); }
  void add(std::int64_t value) { add_values({std::to_string(value)}); }
  void add(std::string value) { add_values({std::move(value)}); }
  void add(bool value) { add_values({value ? "true" : "false"}); }
  void add_values(std::vector<std::string> values) {
    written_->arguments.push_back({std::string(row_->name), std::move(values), {}});
  }
  // Says of a key what no argument does.
  void leave_unsaid(std::string key, std::string value, std::string instead) {
    written_->unsaid.push_back({std::move(key), std::move(value), std::move(instead)});
  }

 private:
  const Experiment* experiment_;
  const workload::TrainingSpec* training_;
  WrittenLaunch* written_;
  const ArgumentRow* row_ = nullptr;
};

// Reads arguments by a launcher's table. `arguments` get their fates; problems go to `diagnostics`.
struct LaunchKeys {
  std::vector<std::pair<std::string, LaunchReading::Set>> settings;
  std::vector<LaunchReading::Missing> missing;
  std::string software;  // that the arguments choose; empty: the table's
};
LaunchKeys read_arguments(const LauncherTable& table, const LaunchFiles& files,
                          std::optional<Architecture> architecture, std::vector<ReadArgument>& arguments,
                          Diagnostics& diagnostics);

// File that keys change, by a name or a path; empty: there is none.
struct LaunchBase {
  std::string name;
  Location where;  // of the name
};

// The keys as a tree, sections in the order of docs/config.md. `software` and `model`: files that the keys change;
// without one, the keys are all that is said of them. Of a model with a file, defaults of the launcher change nothing.
ConfigValue experiment_of(const LaunchKeys& keys, const LaunchBase& software, const LaunchBase& model,
                          const Location& where, Diagnostics& diagnostics);

}  // namespace orrery::experiment
