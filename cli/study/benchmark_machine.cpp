// SPDX-License-Identifier: MIT
#include "cli/study/benchmark_machine.h"

#include "cli/session.h"

namespace orrery::cli {

void add_benchmark_machine(CLI::App& command, study::CollectiveQuestion& machine) {
  command.add_option("--nodes", machine.nodes, kNodesAbout)->type_name("N");
  CLI::Option* number =
      command.add_option("--gpus-per-node", machine.devices_per_node, "Ranks per node (default: one per device)")
          ->type_name("N");
  command
      .add_option("--gpus", machine.devices,
                  "The GPUs of each node that take part, in this order, as CUDA_VISIBLE_DEVICES names them: 0,1,4,5")
      ->type_name("LIST")
      ->excludes(number);
  command
      .add_option("--launch", machine.launch,
                  "nccl: who launches kernels: mpi, threads, single-process, torch (default: mpi, or the log's)")
      ->type_name("NAME");
}

}  // namespace orrery::cli
