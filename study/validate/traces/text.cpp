// SPDX-License-Identifier: MIT
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "report/table.h"
#include "study/validate/measured/output.h"
#include "study/validate/traces/traces.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

std::string milliseconds(double time) { return fmt::format("{:.2f} ms", 1e3 * time); }

std::string share(const Measured& trace, const char* fact) { return percent(trace.facts[fact].get<double>()); }

std::string exchange(const Measured& trace, const char* fact) {
  return trace.facts.contains(fact) ? milliseconds(trace.facts[fact].get<double>()) : "-";
}

std::string overlap(const Measured& trace, const char* fact) {
  const auto value = trace.facts[fact].get<double>();
  return value > 0 ? fmt::format("{:.2f}", value) : "-";
}

void add_row(report::Table& text, const Measured& trace) {
  const auto ranks = trace.facts["ranks"].get<std::size_t>();
  const auto profiles = trace.facts["profiles"].get<std::size_t>();
  text.row({trace.table->name,
            profiles == 0 || profiles == ranks ? fmt::format("{}", ranks) : fmt::format("{} of {}", profiles, ranks),
            milliseconds(trace.measured), milliseconds(trace.predicted), signed_percent(trace.error()),
            share(trace, "as_recorded"), share(trace, "simulated"), share(trace, "waiting"),
            exchange(trace, "calls_measured_s"), exchange(trace, "calls_simulated_s"),
            overlap(trace, "overlap_measured"), overlap(trace, "overlap_replayed")});
}

}  // namespace

std::string trace_validation_text(const MeasuredRows& traces) {
  std::string text =
      "Recorded steps, replayed on the machine that recorded them. Computing and the host keep their recorded times, "
      "and so do stretches in which a rank waits for its host; simulated are collectives and messages of NCCL, and "
      "waiting for other ranks in them. Where little is simulated, a small error says that the replay is faithful, "
      "not that the model is right.\n\n";
  report::Table table({"trace"}, {"ranks", "measured", "replayed", "error", "as recorded", "simulated", "waiting",
                                  "calls", "calls simulated", "overlap", "overlap replayed"});
  table.read_across();
  bool has_rows = false;
  std::string notes;
  for (const Measured& trace : traces) {
    if (is_skipped(trace)) {
      notes += fmt::format("SKIPPED {}: {}\n", trace.table->name, trace.facts["skipped"].get<std::string>());
      continue;
    }
    has_rows = true;
    add_row(table, trace);
    if (const std::string& miss = table_of<TraceTable>(trace).miss; !miss.empty())
      notes += fmt::format("{}: {}\n", trace.table->name, miss);
  }
  if (has_rows) text += table.text();
  text +=
      "\nas recorded, simulated, waiting: shares of the replayed step, mean over ranks; the rest is idle. calls: "
      "collectives of all ranks, each from when its last rank had come, where the profiles have a clock in common. "
      "overlap: time of all operations of a rank's device for each second of its step.\n";
  return text + notes;
}

Json traces_json(const MeasuredRows& traces) {
  Json document = Json::array();
  for (const Measured& trace : traces) {
    const auto& table = table_of<TraceTable>(trace);
    Json& one = document.emplace_back(
        Json{{"trace", table.name}, {"title", table.title}, {"source", table.source}, {"machine", table.measured}});
    one.update(row_json(trace, {"skipped", "ranks", "profiles"}));
    if (is_skipped(trace)) continue;
    one["measured_s"] = trace.measured;
    one["replayed_s"] = trace.predicted;
    one.update(row_json(trace, {"error", "as_recorded", "simulated", "waiting", "calls_measured_s", "calls_simulated_s",
                                "overlap_measured", "overlap_replayed"}));
    if (!table.miss.empty()) one["miss"] = table.miss;
  }
  return document;
}

}  // namespace orrery::study
