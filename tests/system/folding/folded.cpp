#include "tests/system/folding/folded.h"

#include <catch2/catch.hpp>

#include "report/fold_check.h"

namespace orrery::test {

Outcome fold_and_compare(const Job& job, const Fabric& fabric, SimulationOptions options,
                         const Simulation::NetworkFactory& network) {
  options.fold = FoldMode::kOff;
  const Outcome unfolded = simulate(job, fabric, options, network);
  options.fold = FoldMode::kAuto;
  Outcome folded = simulate(job, fabric, options, network);
  const auto difference = first_difference({folded.log, folded.totals.acting}, {unfolded.log, unfolded.totals.acting});
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

Outcome fold_and_compare(const Job& job, const Fabric& fabric, const SimulationOptions& options, NetworkModel model) {
  return fold_and_compare(job, fabric, options, [&](Engine& engine, MessageListener& listener) {
    return make_network(model, engine, fabric, listener);
  });
}

}  // namespace orrery::test
