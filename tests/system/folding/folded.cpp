// SPDX-License-Identifier: MIT
#include "tests/system/folding/folded.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "report/operations/fold_check.h"

namespace orrery::test {
namespace {

std::string how_it_is_stuck(const workload::Job& job, const network::Fabric& fabric,
                            const system::SimulationOptions& options,
                            const system::Simulation::NetworkFactory& network) {
  try {
    simulate(job, fabric, options, network);
  } catch (const StuckError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

Outcome fold_and_compare(const workload::Job& job, const network::Fabric& fabric, system::SimulationOptions options,
                         const system::Simulation::NetworkFactory& network) {
  options.fold = system::FoldMode::kOff;
  const std::string stuck = how_it_is_stuck(job, fabric, options, network);
  if (!stuck.empty()) {
    options.fold = system::FoldMode::kAuto;
    CHECK(how_it_is_stuck(job, fabric, options, network) == stuck);
    throw StuckError(stuck);
  }
  const Outcome unfolded = simulate(job, fabric, options, network);
  options.fold = system::FoldMode::kAuto;
  Outcome folded = simulate(job, fabric, options, network);
  const auto difference =
      report::first_difference({folded.log, folded.totals.acting}, {unfolded.log, unfolded.totals.acting});
  if (difference) FAIL(to_text(*difference, job));
  CHECK(folded.totals.finish == unfolded.totals.finish);
  CHECK(folded.totals.rank_finish == unfolded.totals.rank_finish);
  CHECK(folded.totals.messages == unfolded.totals.messages);
  CHECK(folded.usage.size() == unfolded.usage.size());
  for (std::size_t link = 0; link < folded.usage.size(); ++link) {
    INFO("link " << link);
    CHECK(folded.usage[link].bytes == unfolded.usage[link].bytes);
    CHECK(folded.usage[link].busy == unfolded.usage[link].busy);
  }
  return folded;
}

Outcome fold_and_compare(const workload::Job& job, const network::Fabric& fabric,
                         const system::SimulationOptions& options, system::NetworkModel model) {
  return fold_and_compare(job, fabric, options,
                          [&](Engine& engine) { return system::make_network(model, engine, fabric); });
}

}  // namespace orrery::test
