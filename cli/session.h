// SPDX-License-Identifier: MIT
// Session shared by the commands: common options, the files they read, where their answers go. Each command adds itself
// to the parser; when it is chosen, it runs and leaves its exit code in the session.
#pragma once

#include <any>
#include <deque>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "cli/own_commands.h"
#include "core/config/tree.h"
#include "core/files/input_files.h"

namespace orrery::cli {

// Outlives the parser, which puts here what it reads.
struct Session {
  Session(std::filesystem::path shipped, const std::filesystem::path& parsed) : files(std::move(shipped), parsed) {}

  ConfigFiles files;
  int exit_code = kDone;
  Outputs outputs{};
  std::vector<std::string> settings{};  // a.b=v, of --set and --nodes
  // Options that set a key, as they were given, by the setting that messages name: "--nodes 0" of "--set nodes=0".
  std::map<std::string, std::string> given_as{};
  // Sets a key by an option of its own.
  void set_by(const std::string& option, const std::string& key, const std::string& value);
  // Problems that name the options that were given.
  std::vector<Problem> as_given(std::span<const Problem> problems) const;
  bool allow_oom = false;
  bool took_standard_input = false;

  // The options of one command, which stay where they are.
  template <class Options>
  Options& keep(Options options = {}) {
    return std::any_cast<Options&>(kept_.emplace_back(std::move(options)));
  }

 private:
  std::deque<std::any> kept_{};
};

// A command below `above`; its help ends with the examples.
CLI::App& add_command(CLI::App& above, const std::string& name, const std::string& about,
                      std::initializer_list<std::string_view> examples);
// A command of the program itself; cli/commands.h has what its help says.
CLI::App& add_command(CLI::App& app, const std::string& name, std::initializer_list<std::string_view> examples);

// Files that were read; shipped ones by the names that they have in any installation.
std::vector<InputFile> named_inputs(const ConfigFiles& files);

// "a,b" as "a" and "b"; an empty text is one empty word.
std::vector<std::string> comma_separated(std::string_view text);

// An input file. "-" stands for standard input, for one file of a command line.
CLI::Option& add_file(CLI::App& command, Session& session, const std::string& name, std::string& file,
                      const std::string& about);
CLI::Option& add_files(CLI::App& command, Session& session, const std::string& name, std::vector<std::string>& files,
                       const std::string& about);

// Refuses all other values, with the likely one; `name` as messages have it.
CLI::Validator one_of(const std::string& name, std::vector<std::string> names);

// --json and --out; `files` says what the folder holds.
void add_outputs(CLI::App& command, Session& session, const std::string& files = "result.json and summary.txt");
void add_json(CLI::App& command, Session& session);
// Option --format, which chooses how tables are printed.
void add_format(CLI::App& command);
// --html; `what` as "all of it as one page for a browser".
void add_html(CLI::App& command, Session& session, const std::string& what);

// --set; `settings` as --set has them. `example` as "nodes=4".
void add_set(CLI::App& command, std::vector<std::string>& settings, const std::string& example);
void add_nodes(CLI::App& command, Session& session);
// Adds the option of commands on traces: --dependencies.
void add_dependencies(CLI::App& command, std::string& dependencies);
// --jobs; `what` as "points to simulate".
void add_jobs(CLI::App& command, unsigned& jobs, const std::string& what);
// Adds the options of commands on experiments: --set, --nodes, --allow-oom.
void add_experiment_options(CLI::App& command, Session& session);

// Descriptions that commands share.
inline constexpr const char* kClusterAbout = "A name from `orrery list clusters`, a file, or '{node: ...}'";
inline constexpr const char* kNodesAbout = "Number of nodes (default: the cluster's own)";

}  // namespace orrery::cli
