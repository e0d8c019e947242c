// SPDX-License-Identifier: MIT
#include "study/calibrate/collectives/data.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/config.h"
#include "core/config/quantity_text.h"
#include "core/files/read_file.h"
#include "experiment/job.h"
#include "study/calibrate/collectives/bandwidths.h"
#include "study/calibrate/kernel_device.h"
#include "study/nccl_tests/launch.h"
#include "study/nccl_tests/log.h"

namespace orrery::study {
namespace {

constexpr std::size_t kLargestLog = 64u << 20;

std::string log_text(const std::string& path) {
  return read_text(path, {.most = kLargestLog, .what = "a log of nccl-tests"});
}

bool sets(const CollectiveQuestion& question, std::string_view key) {
  return std::ranges::any_of(question.settings, [&](const std::string& setting) {
    return std::string_view(setting).substr(0, setting.find('=')) == key;
  });
}

std::string names_of(std::span<const workload::CallOperation> operations) {
  std::string names;
  for (const workload::CallOperation& operation : operations)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", operation.name);
  return names;
}

// Turns tables into benchmarks and rows.
class DataReader {
 public:
  DataReader(const CalibrationQuestion& question, const ConfigFiles& files, Diagnostics& diagnostics)
      : question_(question), files_(files), diagnostics_(diagnostics) {}

  CalibrationData read() {
    check_version();
    for (const std::string& log : question_.logs) read_log(log);
    diagnostics_.throw_if_errors();
    logs_.insert(logs_.end(), question_.measurements.begin(), question_.measurements.end());
    note_gaps();
    for (const NcclLog& log : logs_) add(log);
    if (data_.rows.empty())
      throw InputError({logs_.front().file}, fmt::format("none of its {} rows has an {} time", untimed_, side_name()),
                       question_.in_place ? "leave --in-place out" : "--in-place takes the other column");
    warn_of_versions();
    reduce();
    return std::move(data_);
  }

 private:
  // Ranks of a question as it stands, and where they lie.
  struct Place {
    std::size_t ranks = 0;
    std::uint32_t nodes = 1;
    std::uint32_t devices = 1;  // of each node
  };

  void read_log(const std::string& path) {
    std::string text = log_text(path);
    const auto [known, is_new] = texts_.try_emplace(std::move(text), path);
    if (!is_new)
      throw InputError({path}, fmt::format("has the same contents as {}: its rows would count twice", known->second),
                       "leave one of them out");
    logs_.push_back({path, read_nccl_log(known->first, path, diagnostics_)});
  }

  // Options are for logs that leave something open; of others they contradict what the log says.
  void note_gaps() {
    for (NcclLog& log : logs_)
      for (NcclTable& table : log.tables)
        if (table.test.empty()) name_operation(table, {log.file, table.line});
    for (NcclLog& log : logs_)
      for (NcclTable& table : log.tables) {
        if (table.ranks == 0) table.ranks = ranks_by_bandwidths(table, operation_of(table, {log.file, table.line}));
        lacks_ranks_ = lacks_ranks_ || table.ranks == 0;
      }
  }

  // Holds the named operation of a table that does not say its own against what its bandwidths are of; without a name
  // takes the one operation that they leave.
  void name_operation(NcclTable& table, const Location& where) {
    const std::vector<workload::CallOperation> possible = operations_by_bandwidths(table);
    const std::string& named = question_.operation;
    if (named.empty()) {
      if (possible.size() != 1)
        throw InputError(where, "the log does not say which operation this is",
                         possible.empty() ? "name it: --op all_reduce"
                                          : fmt::format("name it with --op; its bandwidths are of one of these: {}",
                                                        names_of(possible)));
      table.test = possible.front().name;
      note(where, fmt::format("the log does not say which operation this is; by its bandwidths it is {}", table.test),
           fmt::format("busbw is {:.4g} times algbw", bandwidth_ratio(table)));
      return;
    }
    lacks_operation_ = true;
    const workload::CallOperation operation = workload::call_operation_named(named, "--op");
    if (!contradict_bandwidths(table, operation)) return;
    const std::string on_ranks = table.ranks == 0 ? "" : fmt::format(" on {} ranks", table.ranks);
    throw InputError(where,
                     fmt::format("busbw is {:.4g} times algbw, which is not a table of {}{}", bandwidth_ratio(table),
                                 operation.name, on_ranks),
                     possible.empty() ? "name the operation that was measured: --op"
                                      : fmt::format("it may be of {}", names_of(possible)));
  }

  void add(const NcclLog& log) {
    const std::size_t before = data_.rows.size();
    std::size_t untimed = 0;
    for (const NcclTable& table : log.tables) untimed += add(table, log.file);
    untimed_ += untimed;
    if (data_.rows.size() > before) data_.logs.push_back(log.file);
    if (untimed == 0 || (data_.rows.size() == before && logs_.size() == 1)) return;
    diagnostics_.warning({log.file}, fmt::format("{} of {} rows have no {} time, or size 0; left out", untimed,
                                                 untimed + data_.rows.size() - before, side_name()));
  }

  void reduce() {
    const std::size_t all = data_.rows.size();
    data_.rows = medians_of(std::move(data_.rows));
    if (data_.rows.size() < all)
      diagnostics_.warning({data_.logs.front()},
                           fmt::format("{} rows are more than a fit takes; it takes {}, each the "
                                       "median of all of its size",
                                       all, data_.rows.size()),
                           "errors and intervals are those of the medians");
  }

  const NcclRow::Side& side_of(const NcclRow& row) const {
    return question_.in_place ? row.in_place : row.out_of_place;
  }

  std::string_view side_name() const { return question_.in_place ? "in-place" : "out-of-place"; }

  void check_version() const {
    if (question_.version.empty() || collectives::parse_nccl_version(question_.version)) return;
    throw InputError({"--version"}, fmt::format("invalid NCCL version '{}'", printable(question_.version, 40)),
                     "write 2.18.5 or 2.27");
  }

  // Each log is predicted by its own release, but the constants are one set.
  void warn_of_versions() {
    if (versions_.size() < 2) return;
    std::vector<std::string> named;
    for (const auto& [version, file] : versions_) named.push_back(fmt::format("{} in {}", version, file));
    diagnostics_.warning({data_.logs.front()},
                         fmt::format("the logs are of different releases of NCCL ({}), to which one set of constants "
                                     "is fitted",
                                     fmt::join(named, ", ")),
                         "calibrate to those of one release where the errors below differ from log to log");
  }

  // Number of rows that have no time.
  std::size_t add(const NcclTable& table, const std::string& file) {
    const Location where{file, table.line};
    const workload::CallOperation operation = operation_of(table, where);
    if (table.cpu_times) throw InputError(where, "the times are of the host, which say nothing about the operation");
    if (table.groups > 1)
      throw InputError(where,
                       fmt::format("{} groups of ranks ran beside one another; one alone is expected", table.groups));
    const auto is_timed = [&](const NcclRow& row) { return side_of(row).time && row.bytes.count() > 0; };
    const auto timed = static_cast<std::size_t>(std::ranges::count_if(table.rows, is_timed));
    if (timed == 0) return table.rows.size();
    const std::size_t benchmark = benchmark_of(table, operation, where);
    for (const NcclRow& row : table.rows)
      if (is_timed(row)) data_.rows.push_back({benchmark, row.bytes, seconds(*side_of(row).time), {file, row.line}});
    return table.rows.size() - timed;
  }

  workload::CallOperation operation_of(const NcclTable& table, const Location& where) const {
    const std::string& named = question_.operation;
    if (table.test.empty() && named.empty())
      throw InputError(where, "the log does not say which operation this is", "name it: --op all_reduce");
    if (table.test.empty()) return workload::call_operation_named(named, "--op");
    if (!named.empty() && !lacks_operation_ && workload::call_operation_named(named, "--op").name != table.test)
      throw InputError(where, fmt::format("a table of {}, not of {}", table.test, named), "leave --op out");
    try {
      return workload::call_operation_named(table.test, "the log");
    } catch (const InputError&) {
      throw InputError(where, fmt::format("a table of {}, which cannot be predicted", table.test),
                       "cut this table out of the log");
    }
  }

  // The version and the launch mode of the table, where the command line says nothing, and its ranks.
  CollectiveQuestion question_of(const NcclTable& table, const Location& where) {
    auto [machine, nodes] = placed(table, where);
    if (question_.in_place && !sets(machine, "collectives.in_place"))
      machine.settings.emplace_back("collectives.in_place=true");
    if (machine.launch.empty() && !sets(machine, "collectives.launch")) machine.launch = launch_of(table, nodes, where);
    const auto version =
        collectives::parse_nccl_version(question_.version.empty() ? table.nccl_version : question_.version);
    if (version) {
      machine.settings.push_back("collectives.version=" + collectives::to_text(*version));
      versions_.try_emplace(collectives::to_text(*version), where.file);
    } else if (!sets(machine, "collectives.version")) {
      note(where,
           fmt::format("the log does not say the version of NCCL; taken as {}",
                       collectives::to_text(collectives::kNewestNccl)),
           "--version 2.18.5 names it");
    }
    return machine;
  }

  std::string launch_of(const NcclTable& table, std::uint32_t nodes, const Location& where) {
    if (table.devices_per_thread.value_or(1) > 1) return "single-process";
    if (table.threads_per_process.value_or(1) > 1) return "threads";
    if (table.devices_per_thread) return "mpi";
    const collectives::LaunchMode usual = table.is_simulated ? collectives::LaunchMode::kMpi : usual_nccl_launch(nodes);
    const bool is_by_one = usual == collectives::LaunchMode::kSingleProcess;
    note(where,
         fmt::format("the log does not say who launches the kernels; taken as {}",
                     is_by_one ? "one process for all GPUs of the node" : "a process for each GPU"),
         is_by_one ? "--launch mpi: a process for each" : "--launch single-process names it");
    return std::string(collectives::name_of(usual));
  }

  // A warning that tables share is given once.
  void note(const Location& where, std::string message, std::string hint) {
    for (const Problem& problem : diagnostics_.problems())
      if (problem.message == message) return;
    diagnostics_.warning(where, std::move(message), std::move(hint));
  }

  std::string cluster_name() const { return printable(cluster_title(question_.machine.cluster)); }

  // The machine of the command line, whose devices must be those of the log.
  CollectiveQuestion machine() const {
    CollectiveQuestion machine = question_.machine;
    machine.library = "nccl";
    return machine;
  }

  experiment::Experiment experiment_of(const CollectiveQuestion& machine, const workload::CallOperation& operation) {
    Diagnostics reading;
    experiment::Experiment experiment = read_question(machine, operation, files_, reading);
    for (const Problem& problem : reading.problems()) note(problem.where, problem.message, problem.hint);
    return experiment;
  }

  static Place place_in(const experiment::Experiment& experiment) {
    const std::uint32_t devices = experiment.fabric.dimensions().front().size;
    return {experiment::devices_of_call(experiment).size(), experiment.fabric.device_count() / devices, devices};
  }

  // The place of the ranks that the command line asks for, all of the cluster without options.
  const Place& asked_place(const NcclTable& table, const Location& where) {
    if (asked_) return *asked_;
    const experiment::Experiment experiment = experiment_of(machine(), operation_of(table, where));
    note_machine(experiment);
    asked_ = place_in(experiment);
    return *asked_;
  }

  // The machine with as many nodes and devices of each as the table says, and the number of nodes.
  std::pair<CollectiveQuestion, std::uint32_t> placed(const NcclTable& table, const Location& where) {
    CollectiveQuestion machine = this->machine();
    const Place& asked = asked_place(table, where);
    check_device(table, where);
    const bool has_options = !machine.nodes.empty() || !machine.devices_per_node.empty();
    const bool fits = table.ranks == asked.ranks && (has_options || table.nodes == 0 || table.nodes == asked.nodes);
    if (table.ranks == 0 || fits) {
      if (table.nodes != 0 && table.nodes != asked.nodes)
        note(where,
             fmt::format("the log names {} hosts, but the ranks are taken to be on {} nodes", table.nodes, asked.nodes),
             "--nodes and --gpus-per-node say how they lie");
      return {std::move(machine), asked.nodes};
    }
    if (has_options && !lacks_ranks_)
      throw InputError(where,
                       fmt::format("the log is of {} ranks, but {} has {} here ({} x {})", table.ranks, cluster_name(),
                                   asked.ranks, asked.nodes, asked.ranks / asked.nodes),
                       "leave --nodes and --gpus-per-node out: the log says how many took part");
    const std::uint32_t nodes = table.nodes != 0 ? table.nodes : (table.ranks + asked.devices - 1) / asked.devices;
    const std::uint32_t each = table.ranks / nodes;
    if (table.ranks % nodes != 0 || each > asked.devices)
      throw InputError(where,
                       fmt::format("the log is of {} ranks on {}, but a node of {} has {} devices", table.ranks,
                                   counted(nodes, "host"), cluster_name(), asked.devices),
                       "name the cluster that it was measured on, or say how its ranks lie: --nodes, --gpus-per-node");
    if (!machine.devices.empty() && each != asked.ranks / asked.nodes)
      throw InputError(where,
                       fmt::format("the log is of {} ranks on {}, but --gpus names {} of each", table.ranks,
                                   counted(nodes, "host"), counted(asked.ranks / asked.nodes, "device")),
                       "name as many devices as took part in it");
    if (nodes > 1 && each < asked.devices && machine.devices.empty())
      note(where,
           fmt::format("the ranks are taken to be on {} nodes, {} of {} devices each", nodes, each, asked.devices),
           "--nodes and --gpus-per-node say how they lie");
    machine.nodes = std::to_string(nodes);
    machine.devices_per_node = each == asked.devices || !machine.devices.empty() ? "" : std::to_string(each);
    return {std::move(machine), nodes};
  }

  // Refuses a log of other devices. A name that is no shipped device's tells nothing.
  void check_device(const NcclTable& table, const Location& where) const {
    const auto fits = [&](const std::string& device) { return is_name_of(table.device, device); };
    const std::vector<std::string> shipped = files_.names("devices");
    const bool is_own = std::ranges::any_of(
        devices_, [&](const std::string& device) { return std::ranges::find(shipped, device) == shipped.end(); });
    if (is_own || std::ranges::any_of(devices_, fits) || std::ranges::none_of(shipped, fits)) return;
    throw InputError(where,
                     fmt::format("the log is of {}, but the devices of {} are {}", printable(table.device, 60),
                                 cluster_name(), data_.device),
                     "name the cluster that it was measured on: `orrery list clusters`");
  }

  // Tables of the same operation, ranks, launch and release share theirs.
  std::size_t benchmark_of(const NcclTable& table, const workload::CallOperation& operation, const Location& where) {
    const CollectiveQuestion machine = question_of(table, where);
    const std::string kind = fmt::format("{} {} {} {} {}", operation.name, machine.nodes, machine.devices_per_node,
                                         machine.launch, fmt::join(machine.settings, " "));
    const auto [known, is_new] = benchmarks_.try_emplace(kind, data_.benchmarks.size());
    if (!is_new) return known->second;
    const experiment::Experiment experiment = experiment_of(machine, operation);
    data_.nodes = std::max(data_.nodes, place_in(experiment).nodes);
    data_.benchmarks.push_back(nccl_benchmark(experiment, operation, experiment::devices_of_call(experiment)));
    return known->second;
  }

  void note_machine(const experiment::Experiment& experiment) {
    data_.constants = experiment.simulation.collectives.nccl_constants->constants;
    data_.device = experiment.devices_text();
    for (const system::DeviceSpec& device : experiment.devices) devices_.push_back(device.name);
    ConfigValue cluster = experiment.resolved.find("cluster")->value;
    ConfigEntry* const measured = cluster.find("nccl");
    if (measured == nullptr) return;
    Diagnostics read_before;
    ConfigContext context(files_, read_before);
    read_config(measured->value, context,
                [&](Section& section) { data_.measured = collectives::read_some_nccl_constants(section); });
  }

  const CalibrationQuestion& question_;
  const ConfigFiles& files_;
  Diagnostics& diagnostics_;
  CalibrationData data_;
  std::vector<NcclLog> logs_;
  std::map<std::string, std::string> texts_;       // the first file with each
  std::map<std::string, std::string> versions_;    // of NCCL, and the first file of each
  std::map<std::string, std::size_t> benchmarks_;  // by kind of tables
  std::vector<std::string> devices_;               // by name
  std::optional<Place> asked_;
  bool lacks_operation_ = false, lacks_ranks_ = false;  // of any table
  std::size_t untimed_ = 0;
};

}  // namespace

std::vector<CalibrationRow> medians_of(std::vector<CalibrationRow> rows, std::size_t most) {
  if (rows.size() <= most) return rows;
  std::ranges::sort(rows, {}, [](const CalibrationRow& row) { return std::tuple(row.table, row.bytes, row.seconds); });
  std::vector<CalibrationRow> medians;
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end = std::find_if(begin, rows.end(), [&](const CalibrationRow& row) {
      return row.table != begin->table || row.bytes != begin->bytes;
    });
    medians.push_back(begin[(end - begin) / 2]);
    begin = end;
  }
  const std::size_t every = (medians.size() + most - 1) / most;
  std::vector<CalibrationRow> taken;
  for (std::size_t i = every / 2; i < medians.size(); i += every) taken.push_back(medians[i]);
  return taken;
}

CalibrationData read_calibration(const CalibrationQuestion& question, const ConfigFiles& files,
                                 Diagnostics& diagnostics) {
  return DataReader(question, files, diagnostics).read();
}

double predicted_seconds(const CalibrationData& data, const CalibrationRow& row,
                         const collectives::NcclConstants& constants) {
  return predicted_seconds(data.benchmarks[row.table], row.bytes, constants);
}

}  // namespace orrery::study
