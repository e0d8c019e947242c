// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "report/result.h"
#include "report/table.h"
#include "study/goodput/study.h"

namespace orrery::study {
namespace {

// Interval for endless work, but no longer than the work there is.
double best_interval(const Goodput& goodput) { return std::min(goodput.model.best_work(), goodput.useful); }

std::string failures_text(const Goodput& goodput) {
  if (goodput.unit == "job") return fmt::format("the job fails every {}", long_time_text(goodput.model.mtbf));
  if (goodput.units == 1) return fmt::format("its {} fails every {}", goodput.unit, long_time_text(goodput.model.mtbf));
  return fmt::format("one of {} fails every {} ({} each)", counted(goodput.units, goodput.unit),
                     long_time_text(goodput.model.mtbf), long_time_text(goodput.unit_mtbf));
}

std::string checkpoints_text(const Goodput& goodput) {
  const std::string size = goodput.checkpoint ? fmt::format(" of {}", rounded(*goodput.checkpoint)) : "";
  return fmt::format("a checkpoint{} takes {}, a restart {}\n", size, long_time_text(goodput.model.write),
                     long_time_text(goodput.model.restart));
}

std::string interval_text(const IntervalGoodput& interval) {
  return fmt::format("{} ({})", counted(static_cast<std::uint64_t>(interval.iterations), "iteration"),
                     long_time_text(interval.work));
}

std::string heading(const Goodput& goodput) {
  std::string text =
      fmt::format("goodput {} with a checkpoint every {}{}\n", percent(goodput.taken.goodput, 2),
                  interval_text(goodput.taken), goodput.taken.iterations == goodput.best ? ", the best interval" : "");
  if (goodput.taken.iterations != goodput.best) {
    const auto best = std::ranges::find(goodput.intervals, goodput.best, &IntervalGoodput::iterations);
    text += fmt::format("best {} with one every {}\n", percent(best->goodput, 2), interval_text(*best));
  }
  text += fmt::format("iteration time {}; {}\n", rounded(goodput.iteration), failures_text(goodput));
  text += checkpoints_text(goodput);
  text += fmt::format("best interval: {} exactly, {} by Daly's formula, {} by Young's\n",
                      long_time_text(best_interval(goodput)), long_time_text(std::max(0.0, goodput.model.daly())),
                      long_time_text(goodput.model.young()));
  return text;
}

// Around the best one.
std::string intervals_text(const Goodput& goodput) {
  report::Table table({}, {"iterations", "interval", "goodput", "checkpoints", "failures", "simulated"});
  for (const IntervalGoodput& one : goodput.intervals) {
    const std::string simulated =
        one.simulated ? fmt::format("{} +- {:.2f}", percent(*one.simulated_goodput, 2),
                                    100 * *one.simulated_goodput * one.simulated->error / one.simulated->mean)
                      : "-";
    table.row({fmt::format("{}", one.iterations), long_time_text(one.work), percent(one.goodput, 2),
               percent(one.checkpoints, 2), percent(one.failures, 2), simulated});
  }
  return table.text();
}

std::string tokens_text(const Goodput& goodput) {
  const auto all = goodput.tokens_per_day(), effective = goodput.effective_tokens_per_day();
  if (!all) return {};
  return fmt::format("{} {} a day, of {} without failures and checkpoints\n", large_count(*effective),
                     goodput.has_tokens ? "tokens" : "samples", large_count(*all));
}

// Text on runs of a whole training, or of a month.
std::string runs_text(const Goodput& goodput) {
  const std::string what = goodput.tokens ? fmt::format("training on {} {}: ", large_count(*goodput.tokens),
                                                        goodput.has_tokens ? "tokens" : "samples")
                                          : std::string();
  std::string text = fmt::format("{}{} of work take {} on average", what, long_time_text(goodput.useful),
                                 long_time_text(goodput.useful / goodput.taken.goodput));
  const auto& simulated = goodput.taken.simulated;
  if (!simulated) return text + "; too many failures to simulate\n";
  return text + fmt::format(";\n  {} simulated runs: mean {}, half within {}, 99 % within {}, {:.4g} failures each\n",
                            simulated->runs, long_time_text(simulated->mean), long_time_text(simulated->median),
                            long_time_text(simulated->p99), simulated->failures);
}

nlohmann::ordered_json interval_json(const IntervalGoodput& interval) {
  nlohmann::ordered_json json = {{"iterations", interval.iterations},
                                 {"interval_s", interval.work},
                                 {"goodput", interval.goodput},
                                 {"checkpoints", interval.checkpoints},
                                 {"failures", interval.failures}};
  if (const auto& simulated = interval.simulated)
    json["simulated"] = {{"goodput", *interval.simulated_goodput},
                         {"runs", simulated->runs},
                         {"mean_s", simulated->mean},
                         {"error_s", simulated->error},
                         {"p50_s", simulated->median},
                         {"p90_s", simulated->p90},
                         {"p99_s", simulated->p99},
                         {"failures", simulated->failures}};
  return json;
}

}  // namespace

std::string goodput_text(const Goodput& goodput) {
  return heading(goodput) + tokens_text(goodput) + runs_text(goodput) + "\n" + intervals_text(goodput);
}

nlohmann::ordered_json goodput_json(const Goodput& goodput) {
  nlohmann::ordered_json document = {{"schema", "orrery.goodput/1"},
                                     {"iteration_time_s", seconds(goodput.iteration)},
                                     {"ranks", goodput.ranks},
                                     {"nodes", goodput.nodes},
                                     {"per", goodput.unit},
                                     {"units", goodput.units},
                                     {"unit_mtbf_s", goodput.unit_mtbf},
                                     {"mtbf_s", goodput.model.mtbf},
                                     {"checkpoint_time_s", goodput.model.write},
                                     {"restart_s", goodput.model.restart}};
  if (goodput.checkpoint) document["checkpoint_bytes"] = goodput.checkpoint->count();
  document["best_iterations"] = goodput.best;
  document["best_interval_s"] = best_interval(goodput);
  document["daly_interval_s"] = std::max(0.0, goodput.model.daly());
  document["young_interval_s"] = goodput.model.young();
  document["useful_s"] = goodput.useful;
  document["expected_s"] = goodput.useful / goodput.taken.goodput;
  if (const auto all = goodput.tokens_per_day()) {
    document["tokens_per_day"] = *all;
    document["effective_tokens_per_day"] = *goodput.effective_tokens_per_day();
  }
  if (goodput.tokens) document["tokens"] = *goodput.tokens;
  document.update(interval_json(goodput.taken));
  document["intervals"] = nlohmann::ordered_json::array();
  for (const IntervalGoodput& interval : goodput.intervals) document["intervals"].push_back(interval_json(interval));
  return document;
}

report::Document goodput_document() {
  using enum report::KeyType;
  using report::DocumentKeys, report::maybe;
  const DocumentKeys simulated = {{kNumber, "goodput", ""}, {kWhole, "runs", "how many"},
                                  {kNumber, "mean_s", ""},  {kNumber, "error_s", "of the mean"},
                                  {kNumber, "p50_s", ""},   {kNumber, "p90_s", ""},
                                  {kNumber, "p99_s", ""},   {kNumber, "failures", "mean"}};
  const DocumentKeys interval = {
      {kNumber, "iterations", "between checkpoints"},
      {kNumber, "interval_s", ""},
      {kNumber, "goodput", "share of the time that is useful"},
      {kNumber, "checkpoints", ""},
      {kNumber, "failures", ""},
      maybe({kMap, "simulated", "runs of the whole training that were simulated, with `workload.tokens`", simulated})};
  return {"orrery.goodput/1", "`goodput --json`", "",
          report::joined({{{kNumber, "iteration_time_s", ""},
                           {kWhole, "ranks", ""},
                           {kWhole, "nodes", ""},
                           {kText, "per", "what fails: a node, a device"},
                           {kWhole, "units", "of these"},
                           {kNumber, "unit_mtbf_s", "of one"},
                           {kNumber, "mtbf_s", "of the job"},
                           {kNumber, "checkpoint_time_s", ""},
                           {kNumber, "restart_s", ""},
                           maybe({kWhole, "checkpoint_bytes", ""}),
                           {kNumber, "best_iterations", "between checkpoints"},
                           {kNumber, "best_interval_s", ""},
                           {kNumber, "daly_interval_s", ""},
                           {kNumber, "young_interval_s", ""},
                           {kNumber, "useful_s", ""},
                           {kNumber, "expected_s", ""},
                           maybe({kNumber, "tokens_per_day", ""}),
                           maybe({kNumber, "effective_tokens_per_day", ""}),
                           maybe({kNumber, "tokens", "of the whole training"})},
                          interval,
                          {{kList, "intervals", "others, and the one that was taken", interval}}})};
}

}  // namespace orrery::study
