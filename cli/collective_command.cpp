#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "core/input_files.h"
#include "study/benchmark/study.h"

namespace orrery::cli {
namespace {

void collective(const CollectiveCommandOptions& options, const Session& session) {
  if (!options.json.empty() && options.clusters.size() > 1)
    throw InputError({"--json"}, "one document holds one cluster", "run the command once for each --cluster");
  for (const std::string& cluster : options.clusters) note_input(cluster);
  check_writable(options.json);
  const BenchmarkOperation operation = benchmark_operation_named(options.operation, "--op");
  const std::vector<Bytes> sizes = sizes_of(options.sizes, operation);
  std::vector<CollectiveTable> tables;
  CollectiveQuestion question = options.question;
  for (const std::string& cluster : options.clusters) {
    question.cluster = cluster;
    Progress progress;
    tables.push_back(study_collective(
        question, operation, sizes, session.files,
        [&](std::string_view what, std::uint64_t done, std::uint64_t total) { progress.show(what, done, total); }));
    progress.clear();
    print_warnings(tables.back().warnings);
  }
  if (!options.json.empty()) write_json(options.json, to_json(tables.front()));
  if (options.json == "-") return;
  write_text("-", tables.size() == 1 ? collective_text(tables.front()) : side_by_side_text(tables));
}

}  // namespace

void add_collective_command(CLI::App& app, Session& session) {
  CollectiveCommandOptions& options = session.collective;
  CLI::App* command = app.add_subcommand(
      "collective", "Time one collective on a cluster, size by size, as nccl-tests does: bandwidths, what bounds it");
  command
      ->add_option(
          "--cluster", options.clusters,
          "A name from `orrery list clusters`, a file, or the cluster itself: '{node: ...}'; several are set side "
          "by side")
      ->required()
      ->expected(1)
      ->take_all();
  command->add_option("--nodes", options.question.nodes, "How many nodes; without it, the cluster's own number");
  command->add_option("--gpus-per-node", options.question.devices_per_node,
                      "Ranks on the first so many devices of each node; without it, on all");
  command
      ->add_option(
          "--op", options.operation,
          "all_gather | all_reduce | all_to_all | barrier | broadcast | gather | reduce | reduce_scatter | scatter | "
          "sendrecv")
      ->required();
  command->add_option("-b,--minbytes", options.sizes.first, "First size in bytes, K, M, G = 2^10, 2^20, 2^30; 32M");
  command->add_option("-e,--maxbytes", options.sizes.last, "Last size; without it, the first");
  CLI::Option* factor =
      command->add_option("-f,--stepfactor", options.sizes.factor, "Each size is the one before times this; 2");
  command->add_option("-i,--stepbytes", options.sizes.increment, "Each size is the one before plus this")
      ->excludes(factor);
  command->add_option(
      "--algo", options.question.algorithm,
      "Those that NCCL is held to: Tree,Ring; with library fixed, one for all dimensions of the cluster or one for "
      "each: ring,direct");
  command->add_option(
      "--proto", options.question.protocol,
      "With library nccl: the protocols that NCCL is held to, LL | LL128 | Simple, or several: LL,Simple");
  command->add_option("--launch", options.question.launch,
                      "With library nccl: who starts its kernels, mpi | threads | single-process | torch");
  command->add_option(
      "--library", options.question.library,
      "Who chooses algorithms, see `orrery list libraries`; without it nccl for GPUs in a cluster of nodes, "
      "fixed for all else and with what only fixed has");
  command->add_option("--json", options.json, "Write the table as JSON to this file; '-' prints it instead");
  command
      ->add_option("--set", options.question.settings,
                   "Change a key first, for example --set network.model=flow (may be repeated)")
      ->expected(1)
      ->take_all();
  command->callback([&session] { collective(session.collective, session); });
}

}  // namespace orrery::cli
