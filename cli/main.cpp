// SPDX-License-Identifier: MIT
// The command line. Parsing and printing only: everything else is in the library, which neither prints nor exits.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/slips.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/files/interruption.h"
#include "core/files/read_file.h"
#include "core/suggest.h"
#include "core/version.h"
#include "experiment/files/file_kinds.h"
#include "report/screen/screen.h"

namespace orrery::cli {
// Twelve digits of the commit that the program was built from, followed by "-dirty" where tracked files differed; empty
// without a repository. commit.cpp is written by cmake/WriteCommit.cmake at each build, so that a new commit compiles
// one file again. Results do not say it: they are the same from the same sources, whether in a repository or not.
extern const std::string_view kCommit;
}  // namespace orrery::cli

namespace {

using orrery::cli::failure_of;
using orrery::cli::kBadInput;

constexpr const char* kDescription =
    "Orrery simulates one iteration of distributed training on a GPU cluster: how long it takes, what bounds it,\n"
    "and what other links, devices or parallelism would change.\n\n"
    "Start with:   orrery run experiment.yaml\n"
    "where experiment.yaml is, for example:\n\n"
    "    cluster: dgx-a100            # a name from `orrery list clusters`, or a file, or written out\n"
    "    nodes: 2\n"
    "    workload:\n"
    "      model: gpt3-13b            # a name from `orrery list models`; or chakra: {prefix: ..., groups: ...}\n"
    "      parallel: {tensor: 8, data: 2}\n"
    "      batch: {global: 64, micro: 2}";

constexpr const char* kFooter =
    "\ndocs/config.md explains every key of an experiment; --set a.b=v sets one from the command line.\n"
    "Exit codes: 0 done, 2 bad input, 3 the simulated job cannot finish, 4 a requested check failed,\n"
    "5 the job does not fit the devices' memory.\n"
    "-v, -q and -h may stand anywhere. A file named - is standard input. With --json a failure is a JSON object, too.\n"
    "The environment variable ORRERY_CONFIGS names a configuration folder to use in place of the shipped one.\n"
    "The result goes to standard output, everything else to standard error.";

struct ShippedFiles {
  std::filesystem::path folder;
  std::filesystem::path parsed{};  // its files, parsed when the program was built
};

// The shipped configurations: where the environment says, or where the build or the installation put them.
// Empty where there are none, and why in `problem`.
ShippedFiles shipped_files(std::optional<orrery::InputError>& problem) {
  std::error_code code;
  if (const char* folder = std::getenv("ORRERY_CONFIGS"); folder != nullptr && *folder != '\0') {
    if (std::filesystem::is_directory(std::filesystem::path(folder) / "devices", code)) return {folder};
    problem.emplace(orrery::Location{folder}, "is not a folder of configurations: it has no folder 'devices'",
                    "the environment variable ORRERY_CONFIGS names it");
    return {};
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", code);
  for (const char* place : {"configs", ORRERY_INSTALLED_CONFIGS}) {
    const std::filesystem::path here = program.parent_path() / place;
    const std::filesystem::path folder = std::filesystem::canonical(here, code);
    if (!code && std::filesystem::is_directory(folder / "devices", code)) return {folder, here.string() + ".parsed"};
  }
  problem.emplace(orrery::Location{program.string()}, "finds no configurations beside itself",
                  "name their folder in the environment variable ORRERY_CONFIGS");
  return {};
}

// An option whose value is empty is no option that was left out: mostly a variable of a script that is not set. One
// whose value is an option of the command has taken the next one for it.
void refuse_no_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;
    const auto refuse = [name = option->get_name(), &app](std::string& value) {
      const std::string other = value.substr(0, value.find('='));
      if (name.starts_with('-') && value.starts_with("--") && app.get_option_no_throw(other) != nullptr)
        throw orrery::InputError(
            {}, fmt::format("{} needs a value, and '{}' is an option", name, orrery::printable(value, 80)),
            fmt::format("give {} a value, or leave it out", name));
      if (!value.empty()) return std::string();
      throw orrery::InputError({}, name + " needs a value",
                               name.starts_with('-') ? "give it one, or leave it out" : "");
    };
    option->transform(CLI::Validator(refuse, ""));
  }
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) refuse_no_values(*command);
}

std::string version_text() {
  if (orrery::cli::kCommit.empty()) return fmt::format("orrery {}", orrery::kVersion);
  return fmt::format("orrery {} (commit {})", orrery::kVersion, orrery::cli::kCommit);
}

// True of a command that stands in the help only.
bool is_name_only(const CLI::App& command) {
  return command.get_options().size() <= 1 && command.get_subcommands([](const CLI::App*) { return true; }).empty();
}

// Set on every command, so that they stand anywhere on the command line.
void add_general_options(CLI::App& app) {
  using orrery::cli::Verbosity;
  const auto add = [&app](const char* names, Verbosity verbosity, const char* about) {
    app.add_flag_callback(
           names, [verbosity] { orrery::cli::start_log(verbosity); }, about)
        ->trigger_on_parse();
  };
  app.set_help_flag("-h,--help", "Print this help");
  add("-v,--verbose", Verbosity::kVerbose, "Log progress to standard error");
  add("-q,--quiet", Verbosity::kQuiet, "Log errors only");
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!is_name_only(*command)) add_general_options(*command);
}

// The first word that no command takes, the command that did not take it, and the next such word.
struct Unknown {
  const CLI::App* command = nullptr;
  std::string word;
  std::string next{};
};

std::optional<Unknown> unknown_word(const CLI::App& app) {
  if (const std::vector<std::string> left = app.remaining(); !left.empty())
    return Unknown{&app, left.front(), left.size() > 1 ? left[1] : std::string()};
  for (const CLI::App* command : app.get_subcommands())
    if (auto unknown = unknown_word(*command)) return unknown;
  return std::nullopt;
}

orrery::Problem problem_with(const Unknown& unknown) {
  const CLI::App& command = *unknown.command;
  std::vector<std::string> names;
  const bool is_option = unknown.word.starts_with('-');
  if (is_option)
    for (const CLI::Option* option : command.get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  else
    for (const CLI::App* below : command.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); }))
      names.push_back(below->get_name());
  const char* what = is_option ? "unknown option" : names.empty() ? "unexpected argument" : "unknown command";
  // All options are too many to list, and --help does.
  std::string hint = orrery::suggestion(unknown.word, names);
  if (is_option && hint.starts_with("known:")) hint.clear();
  const bool takes_keys = command.get_option_no_throw("--set") != nullptr;
  std::string better = !is_option && !names.empty() ? orrery::cli::hint_for_command(unknown.word)
                       : !takes_keys                ? std::string()
                       : is_option                  ? orrery::cli::hint_for_option(unknown.word, unknown.next)
                                                    : orrery::cli::hint_for_argument(unknown.word);
  if (!better.empty()) hint = std::move(better);
  return {orrery::Severity::kError, {}, fmt::format("{} '{}'", what, orrery::printable(unknown.word)), std::move(hint)};
}

// Beside --json, what went wrong is a document, too. A file is replaced only by it if it holds one of Orrery's.
void write_failure(const orrery::cli::Failure& failure, const std::string& path) {
  constexpr std::string_view kBeginning = "{\n  \"schema\":";
  std::error_code code;
  if (path.empty()) return;
  if (path != "-" && std::filesystem::is_regular_file(path, code)) {
    if (orrery::beginning_of_file(path, kBeginning.size()) != kBeginning) return;
  }
  try {
    orrery::cli::write_json(path,
                            {{"schema", "orrery.error/1"}, {"version", orrery::kVersion}, {"error", to_json(failure)}});
  } catch (const orrery::InputError&) {  // the failure itself has been told
  }
}

// File given by --json on a command line that may not have been understood; empty where another option stands in the
// place of the file.
std::string json_file(int argc, char** argv) {
  constexpr std::string_view kJoined = "--json=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json" && i + 1 < argc) return std::string_view(argv[i + 1]).starts_with("--") ? "" : argv[i + 1];
    if (word.starts_with(kJoined)) return std::string(word.substr(kJoined.size()));
  }
  return {};
}

int refuse(const orrery::Problem& problem, const std::string& json) {
  spdlog::error("{}\nRun with --help for more information.", orrery::to_string(problem));
  write_failure({kBadInput, {problem}}, json);
  return kBadInput;
}

int run(int argc, char** argv) {
  if (const auto command = orrery::cli::command_of_another_program({argv, static_cast<std::size_t>(argc)}))
    orrery::cli::hand_over(*command, argv);
  CLI::App app{kDescription, "orrery"};
  app.footer(kFooter);
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  std::optional<orrery::InputError> no_configs;
  const ShippedFiles shipped = shipped_files(no_configs);
  orrery::cli::Session session(shipped.folder, shipped.parsed);
  session.files.set_kinds(orrery::experiment::kind_hint);
  // ASTRA-sim's files need none.
  app.parse_complete_callback([&] {
    if (no_configs && !app.got_subcommand("astra-sim")) throw *no_configs;
  });
  orrery::cli::add_commands(app, session, {argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)});
  add_general_options(app);
  refuse_no_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    if (app.remaining().empty() && app.get_subcommands().empty()) return app.exit(version);
    throw orrery::InputError({"--version"}, "stands alone", "leave the other arguments out");
  } catch (const CLI::Success& asked) {
    // An unknown command is an error also beside --help.
    if (const auto unknown = unknown_word(app); unknown && !unknown->word.starts_with('-'))
      return refuse(problem_with(*unknown), json_file(argc, argv));
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    if (const auto unknown = unknown_word(app)) return refuse(problem_with(*unknown), json_file(argc, argv));
    return refuse({orrery::Severity::kError, {}, orrery::printable(error.what(), 1000), {}}, json_file(argc, argv));
  } catch (const orrery::InputError& error) {
    throw orrery::InputError(session.as_given(error.problems()));
  }
  return session.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  orrery::cli::start_log(orrery::cli::Verbosity::kUsual);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is then an error of the write
  orrery::watch_interruptions();
  orrery::report::set_screen_width(orrery::cli::answer_columns());
  const auto fail = [&](const orrery::cli::Failure& failure, const std::string& text) {
    spdlog::error(text);
    write_failure(failure, json_file(argc, argv));
    return failure.exit_code;
  };
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    spdlog::error("error: the answer could not be written to standard output");
    return kBadInput;
  } catch (const orrery::InputError& error) {
    return fail(failure_of(error), error.what());
  } catch (const orrery::StuckError& error) {
    return fail(failure_of(error), fmt::format("error: {}", error.what()));
  } catch (const std::bad_alloc&) {
    const orrery::InputError error({}, "out of memory", "fewer ranks, chunks or nodes");
    return fail(failure_of(error), error.what());
  }
}
