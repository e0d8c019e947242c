// The subcommands. Each adds itself to the parser; when it is chosen, it runs and leaves its exit code in the session.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/config/tree.h"
#include "study/benchmark/question.h"
#include "study/benchmark/study.h"
#include "study/calibrate/data.h"
#include "study/validate/compute/table.h"

namespace orrery::cli {

struct RunOptions {
  std::string experiment;
  std::vector<std::string> settings;
  std::string json;
  std::string out;
  std::string ranks = "classes";  // of the tables in `out`
  bool gzip = false;              // those tables
  bool deterministic = false;
  bool no_fold = false;
  bool verify_fold = false;
  bool no_fast_forward = false;
  bool allow_oom = false;
};

struct CompareOptions {
  std::vector<std::string> experiments;
  std::vector<std::string> settings;
  bool allow_oom = false;
};

struct SweepCommandOptions {
  std::string file;
  std::vector<std::string> settings;
  unsigned jobs = 1;
  std::string json;
  std::string out;
  bool allow_oom = false;
};

struct CheckOptions {
  std::vector<std::string> files;
  std::vector<std::string> settings;
  std::string dependencies = "both";
};

struct ListOptions {
  std::string what;
  std::string json;
};

struct WorkloadOptions {
  std::string trace;
  std::string groups;
  std::string dependencies = "both";
  std::string json;
  bool dump = false;
};

struct GenerateOptions {
  std::string experiment;
  std::vector<std::string> settings;
  std::string out;
  bool allow_oom = false;
};

struct ImportOptions {
  std::vector<std::string> files;
  std::string out;
  std::string format;  // empty: told by the file
  std::uint32_t ranks = 0;
  std::uint32_t model_parallel = 0;
  std::uint32_t iterations = 1;
  bool no_pipeline = false;
  bool replicate = false;
};

struct ClusterOptions {
  std::string cluster;
  std::string nodes;  // empty: the cluster's own number
  std::vector<std::string> settings;
  bool dot = false;
};

struct CollectiveCommandOptions {
  std::vector<std::string> clusters;
  std::string operation;
  BenchmarkSizes sizes;
  CollectiveQuestion question;  // of each cluster
  std::string json;
};

struct CalibrateOptions {
  CalibrationQuestion question;
  std::string out;
};

struct ValidateOptions {
  std::vector<std::string> sections;  // none: all
  bool cross = false;
  bool details = false;
  ComputeQuestion compute_table;             // no file: the shipped tables
  std::vector<std::string> training_tables;  // files; none: the shipped tables
  std::string json;
  std::string plot;
};

// What every command needs, and where the parser puts what it reads. Outlives the parser.
struct Session {
  ConfigFiles files;
  int exit_code = 0;
  RunOptions run{};
  CompareOptions compare{};
  SweepCommandOptions sweep{};
  CheckOptions check{};
  ListOptions list{};
  WorkloadOptions workload{};
  GenerateOptions generate{};
  ImportOptions import{};
  ClusterOptions cluster{};
  CollectiveCommandOptions collective{};
  CalibrateOptions calibrate{};
  ValidateOptions validate{};
};

void add_run_command(CLI::App& app, Session& session);
void add_compare_command(CLI::App& app, Session& session);
void add_sweep_command(CLI::App& app, Session& session);
void add_check_command(CLI::App& app, Session& session);
void add_list_command(CLI::App& app, Session& session);
void add_workload_command(CLI::App& app, Session& session);
// Subcommands of `workload`.
void add_generate_command(CLI::App& workload, Session& session);
void add_import_command(CLI::App& workload, Session& session);
void add_cluster_command(CLI::App& app, Session& session);
void add_collective_command(CLI::App& app, Session& session);
void add_calibrate_command(CLI::App& app, Session& session);
void add_validate_command(CLI::App& app, Session& session);
// Hidden: the build calls them, to install what they print.
void add_completion_command(CLI::App& app);
void add_man_command(CLI::App& app);

}  // namespace orrery::cli
