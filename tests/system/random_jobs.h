// SPDX-License-Identifier: MIT
// Random jobs with the symmetry of real ones, and random machines to run them on, for property tests.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "experiment/experiment.h"
#include "workload/graph/job.h"

namespace orrery::test {

struct RandomMachine {
  std::string text;  // of the configuration
  std::uint32_t ranks = 0;
};

// Abstract and real fabrics, even and lopsided, with slow links; chunks, queues, models and granularities.
RandomMachine random_machine(std::mt19937_64& random);
experiment::Experiment read_machine_text(const std::string& text);
// One link of every third fabric gets a fraction of its bandwidth.
void slow_a_link(std::mt19937_64& random, network::Fabric& fabric);
// One NIC of every third fabric with several in a node is dead.
void kill_a_nic(std::mt19937_64& random, network::Fabric& fabric);
// Lets some links change over time.
void change_links(std::mt19937_64& random, network::Fabric& fabric);

// Ranks that are slow, fast or late, many of them alike, and in every third case noise of each kind.
system::Perturbation random_perturbation(std::mt19937_64& random, std::uint32_t ranks);

// All ranks run one program of computations, collectives on the world, on rows and on columns of ranks, shifts, incasts
// and root's sends, one after the other or at once; a few of them are late, slow or start with something of their own.
// `with_hosts`: hosts launch most of the computations, and wait for some. `with_bounds`: some are known to be bound by
// multiprocessors, memory or both.
workload::Job random_job(std::mt19937_64& random, std::uint32_t ranks, bool with_hosts = false,
                         bool with_bounds = false);

}  // namespace orrery::test
