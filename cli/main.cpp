// The command line. Parsing and printing only: everything else is in the library, which neither prints nor exits.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "core/error.h"
#include "core/version.h"

namespace {

constexpr int kBadInput = 2;
constexpr int kStuck = 3;

constexpr const char* kDescription =
    "Orrery simulates one iteration of distributed training on a GPU cluster: how long it takes, what bounds it,\n"
    "and what would change with other links, devices or parallelism.\n\n"
    "Start with:   orrery run experiment.yaml\n"
    "where experiment.yaml is, for example:\n\n"
    "    cluster: dgx-a100            # a name from `orrery list clusters`, or a file, or written out\n"
    "    nodes: 2\n"
    "    workload:\n"
    "      chakra: {prefix: traces/gpt-dp2tp4pp2/rank, groups: traces/gpt-dp2tp4pp2/groups.json}";

constexpr const char* kFooter =
    "\nEvery key of an experiment is explained in docs/config.md; --set a.b=v changes one from the command line.\n"
    "Exit codes: 0 done, 2 bad input, 3 the simulated job cannot finish, 4 a check that was asked for failed.\n"
    "The answer goes to standard output, everything else to standard error.";

// The shipped configurations: where the environment says, beside the installed program, or in the source tree.
std::filesystem::path configs_folder() {
  if (const char* folder = std::getenv("ORRERY_CONFIGS"); folder != nullptr && *folder != '\0') return folder;
  std::error_code code;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", code);
  for (const char* place : {"../../configs", "../share/orrery/configs"}) {
    const std::filesystem::path folder = (program.parent_path() / place).lexically_normal();
    if (!code && std::filesystem::is_directory(folder / "devices", code)) return folder;
  }
  return ORRERY_CONFIGS_DIR;
}

int run(int argc, char** argv) {
  CLI::App app{kDescription, "orrery"};
  app.footer(kFooter);
  app.set_version_flag("--version", "orrery " + std::string(orrery::kVersion));
  app.require_subcommand(1);
  orrery::cli::Session session{orrery::ConfigFiles(configs_folder())};
  orrery::cli::add_run_command(app, session);
  orrery::cli::add_compare_command(app, session);
  orrery::cli::add_check_command(app, session);
  orrery::cli::add_list_command(app, session);
  orrery::cli::add_workload_command(app, session);
  orrery::cli::add_cluster_command(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  }
  return session.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      fmt::print(stderr, "error: the answer could not be written to standard output\n");
      return kBadInput;
    }
    return code;
  } catch (const orrery::InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kBadInput;
  } catch (const orrery::StuckError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return kStuck;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n  hint: fewer ranks, chunks or nodes\n");
    return kBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return kBadInput;
  }
}
