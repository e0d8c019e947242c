// SPDX-License-Identifier: MIT
#include "study/calibrate/data.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/config.h"
#include "core/files/read_file.h"
#include "experiment/job.h"
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

// Turns tables into benchmarks and rows.
class DataReader {
 public:
  DataReader(const CalibrationQuestion& question, const ConfigFiles& files, Diagnostics& diagnostics)
      : question_(question), files_(files), diagnostics_(diagnostics) {}

  CalibrationData read() {
    check_version();
    const std::vector<NcclTable> tables = read_nccl_log(log_text(question_.log), question_.log, diagnostics_);
    diagnostics_.throw_if_errors();
    for (const NcclTable& table : tables) add(table);
    if (untimed_ > 0 && !data_.rows.empty())
      diagnostics_.warning({question_.log}, fmt::format("{} of {} rows have no {} time, or size 0; left out", untimed_,
                                                        untimed_ + data_.rows.size(), side_name()));
    if (data_.rows.empty())
      throw InputError({question_.log}, fmt::format("none of its {} rows has an {} time", untimed_, side_name()),
                       question_.in_place ? "leave --in-place out" : "--in-place takes the other column");
    reduce();
    return std::move(data_);
  }

 private:
  void reduce() {
    const std::size_t all = data_.rows.size();
    data_.rows = medians_of(std::move(data_.rows));
    if (data_.rows.size() < all)
      diagnostics_.warning({question_.log},
                           fmt::format("{} rows are more than a fit takes; it takes {}, each the "
                                       "median of all of its size",
                                       all, data_.rows.size()),
                           "errors and standard errors are those of the medians");
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

  void add(const NcclTable& table) {
    const Location where{question_.log, table.line};
    const workload::CallOperation operation = operation_of(table, where);
    if (table.cpu_times) throw InputError(where, "the times are of the host, which say nothing about the operation");
    if (table.groups > 1)
      throw InputError(where,
                       fmt::format("{} groups of ranks ran beside one another; one alone is expected", table.groups));
    const auto is_timed = [&](const NcclRow& row) { return side_of(row).time && row.bytes.count() > 0; };
    if (std::ranges::none_of(table.rows, is_timed)) {
      untimed_ += table.rows.size();
      return;
    }
    const std::size_t benchmark = benchmark_of(table, operation, where);
    for (const NcclRow& row : table.rows) {
      if (is_timed(row))
        data_.rows.push_back({benchmark, row.bytes, seconds(*side_of(row).time)});
      else
        ++untimed_;
    }
  }

  workload::CallOperation operation_of(const NcclTable& table, const Location& where) const {
    if (table.test.empty() && question_.operation.empty())
      throw InputError(where, "the log does not say which operation this is", "name it: --op all_reduce");
    if (table.test.empty()) return workload::call_operation_named(question_.operation, "--op");
    if (!question_.operation.empty() && workload::call_operation_named(question_.operation, "--op").name != table.test)
      throw InputError(where, fmt::format("a table of {}, not of {}", table.test, question_.operation),
                       "leave --op out");
    try {
      return workload::call_operation_named(table.test, "the log");
    } catch (const InputError&) {
      throw InputError(where, fmt::format("a table of {}, which cannot be predicted", table.test),
                       "cut this table out of the log");
    }
  }

  // The version and the launch mode of the table, where the command line says nothing.
  CollectiveQuestion question_of(const NcclTable& table, const Location& where) {
    CollectiveQuestion machine = question_.machine;
    machine.library = "nccl";
    if (question_.in_place && !sets(machine, "collectives.in_place"))
      machine.settings.emplace_back("collectives.in_place=true");
    if (machine.launch.empty() && !sets(machine, "collectives.launch")) machine.launch = launch_of(table, where);
    const auto version =
        collectives::parse_nccl_version(question_.version.empty() ? table.nccl_version : question_.version);
    if (version)
      machine.settings.push_back("collectives.version=" + collectives::to_text(*version));
    else if (!sets(machine, "collectives.version"))
      note(where,
           fmt::format("the log does not say the version of NCCL; taken as {}",
                       collectives::to_text(collectives::kNewestNccl)),
           "--version 2.18.5 names it");
    return machine;
  }

  std::string launch_of(const NcclTable& table, const Location& where) {
    if (table.devices_per_thread.value_or(1) > 1) return "single-process";
    if (table.threads_per_process.value_or(1) > 1) return "threads";
    if (!table.devices_per_thread)
      note(where, "the log does not say who launches the kernels; taken as a process for each GPU",
           "--launch single-process names it");
    return "mpi";
  }

  // A warning that tables share is given once.
  void note(const Location& where, std::string message, std::string hint) {
    for (const Problem& problem : diagnostics_.problems())
      if (problem.message == message) return;
    diagnostics_.warning(where, std::move(message), std::move(hint));
  }

  // Tables of the same operation, launch and release share theirs.
  std::size_t benchmark_of(const NcclTable& table, const workload::CallOperation& operation, const Location& where) {
    const CollectiveQuestion machine = question_of(table, where);
    const std::string kind = fmt::format("{} {} {}", operation.name, machine.launch, fmt::join(machine.settings, " "));
    const auto [known, is_new] = benchmarks_.try_emplace(kind, data_.benchmarks.size());
    if (is_new)
      add_benchmark(machine, table, operation, where);
    else
      check_ranks(table, data_.ranks, data_.nodes, where);
    return known->second;
  }

  void add_benchmark(const CollectiveQuestion& machine, const NcclTable& table,
                     const workload::CallOperation& operation, const Location& where) {
    Diagnostics reading;
    const experiment::Experiment experiment = read_question(machine, operation, files_, reading);
    for (const Problem& problem : reading.problems()) note(problem.where, problem.message, problem.hint);
    const std::vector<DeviceId> devices = experiment::devices_of_call(experiment);
    const std::uint32_t nodes = experiment.fabric.device_count() / experiment.fabric.dimensions().front().size;
    check_ranks(table, devices.size(), nodes, where);
    if (data_.ranks == 0) note_machine(experiment);
    data_.ranks = static_cast<std::uint32_t>(devices.size());
    data_.nodes = nodes;
    data_.benchmarks.push_back(nccl_benchmark(experiment, operation, devices));
  }

  void check_ranks(const NcclTable& table, std::size_t ranks, std::uint32_t nodes, const Location& where) {
    if (table.ranks != 0 && table.ranks != ranks)
      throw InputError(where,
                       fmt::format("the log is of {} ranks, but {} has {} here ({} x {})", table.ranks,
                                   printable(cluster_title(question_.machine.cluster)), ranks, nodes, ranks / nodes),
                       "--nodes and --gpus-per-node say which of the cluster took part");
    if (table.nodes != 0 && table.nodes != nodes)
      note(where, fmt::format("the log names {} hosts, but the ranks are taken to be on {} nodes", table.nodes, nodes),
           "--nodes and --gpus-per-node say how they lie");
  }

  void note_machine(const experiment::Experiment& experiment) {
    data_.constants = experiment.simulation.collectives.nccl_constants->constants;
    data_.device = experiment.devices_text();
    data_.cluster = experiment.resolved.find("cluster")->value;
    ConfigEntry* const measured = data_.cluster.find("nccl");
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
  std::map<std::string, std::size_t> benchmarks_;  // by kind of tables
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
