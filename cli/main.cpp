// The command line. Parsing and printing only: everything else is in the library, which neither prints nor exits.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/commit.h"
#include "cli/exit_codes.h"
#include "cli/log.h"
#include "core/error.h"
#include "core/suggest.h"
#include "core/version.h"

namespace {

using orrery::cli::kBadInput;
using orrery::cli::kStuck;

constexpr const char* kDescription =
    "Orrery simulates one iteration of distributed training on a GPU cluster: how long it takes, what bounds it,\n"
    "and what would change with other links, devices or parallelism.\n\n"
    "Start with:   orrery run experiment.yaml\n"
    "where experiment.yaml is, for example:\n\n"
    "    cluster: dgx-a100            # a name from `orrery list clusters`, or a file, or written out\n"
    "    nodes: 2\n"
    "    workload:\n"
    "      model: gpt3-13b            # a name from `orrery list models`; or chakra: {prefix: ..., groups: ...}\n"
    "      parallel: {tensor: 8, data: 2}\n"
    "      batch: {global: 64, micro: 2}";

constexpr const char* kFooter =
    "\nEvery key of an experiment is explained in docs/config.md; --set a.b=v changes one from the command line.\n"
    "Exit codes: 0 done, 2 bad input, 3 the simulated job cannot finish, 4 a check that was asked for failed.\n"
    "The environment variable ORRERY_CONFIGS names the folder of configurations to use in place of the shipped one.\n"
    "The answer goes to standard output, everything else to standard error.";

// The shipped configurations: where the environment says, or where the build or the installation put them.
std::filesystem::path configs_folder() {
  std::error_code code;
  if (const char* folder = std::getenv("ORRERY_CONFIGS"); folder != nullptr && *folder != '\0') {
    if (std::filesystem::is_directory(std::filesystem::path(folder) / "devices", code)) return folder;
    throw orrery::InputError({folder}, "is no folder of configurations: it has no folder 'devices'",
                             "the environment variable ORRERY_CONFIGS names it");
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", code);
  for (const char* place : {"configs", ORRERY_INSTALLED_CONFIGS}) {
    const std::filesystem::path folder = std::filesystem::canonical(program.parent_path() / place, code);
    if (!code && std::filesystem::is_directory(folder / "devices", code)) return folder;
  }
  throw orrery::InputError({program.string()}, "finds no configurations beside itself",
                           "name their folder in the environment variable ORRERY_CONFIGS");
}

// An option whose value is empty is no option that was left out: mostly a variable of a script that is not set.
void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;
    const auto refuse = [name = option->get_name()](std::string& value) {
      if (!value.empty()) return std::string();
      throw orrery::InputError({}, name + " needs a value",
                               name.starts_with('-') ? "give it one, or leave it out" : "");
    };
    option->transform(CLI::Validator(refuse, ""));
  }
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) refuse_empty_values(*command);
}

std::string version_text() {
  if (orrery::cli::kCommit.empty()) return fmt::format("orrery {}", orrery::kVersion);
  return fmt::format("orrery {} (commit {})", orrery::kVersion, orrery::cli::kCommit);
}

// What is no command is an error also beside --help.
int refuse_command(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* known) { return !known->get_group().empty(); }))
    names.push_back(command->get_name());
  const std::string wrong = app.remaining().front();
  spdlog::error("unknown command or option '{}'\n  hint: {}\nRun with --help for more information.",
                orrery::printable(wrong), orrery::suggestion(wrong, names));
  return kBadInput;
}

int run(int argc, char** argv) {
  CLI::App app{kDescription, "orrery"};
  app.footer(kFooter);
  app.set_version_flag("--version", version_text());
  app.add_flag_callback(
         "-v,--verbose", [] { orrery::cli::start_log(true); }, "Say on standard error what is being done")
      ->trigger_on_parse();
  app.require_subcommand(1);
  orrery::cli::Session session{orrery::ConfigFiles(configs_folder())};
  orrery::cli::add_run_command(app, session);
  orrery::cli::add_compare_command(app, session);
  orrery::cli::add_sweep_command(app, session);
  orrery::cli::add_check_command(app, session);
  orrery::cli::add_list_command(app, session);
  orrery::cli::add_workload_command(app, session);
  orrery::cli::add_cluster_command(app, session);
  orrery::cli::add_collective_command(app, session);
  orrery::cli::add_calibrate_command(app, session);
  orrery::cli::add_validate_command(app, session);
  orrery::cli::add_completion_command(app);
  orrery::cli::add_man_command(app);
  refuse_empty_values(app);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return orrery::printable(error.what(), 1000) + "\nRun with --help for more information.\n";
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    if (app.remaining().empty() && app.get_subcommands().empty()) return app.exit(version);
    throw orrery::InputError({"--version"}, "stands alone", "leave the other arguments out");
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty() && !app.remaining().empty()) return refuse_command(app);
    return app.exit(error) == 0 ? 0 : kBadInput;
  }
  return session.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  orrery::cli::start_log(false);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is then an error of the write
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    spdlog::error("error: the answer could not be written to standard output");
    return kBadInput;
  } catch (const orrery::InputError& error) {
    spdlog::error(error.what());
    return kBadInput;
  } catch (const orrery::StuckError& error) {
    spdlog::error("error: {}", error.what());
    return kStuck;
  } catch (const std::bad_alloc&) {
    spdlog::error("error: out of memory\n  hint: fewer ranks, chunks or nodes");
    return kBadInput;
  }
}
