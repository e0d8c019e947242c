// SPDX-License-Identifier: MIT
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/quantity_text.h"
#include "report/table.h"
#include "study/errors.h"
#include "study/validate/traces/traces.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

std::string milliseconds(Duration time) { return fmt::format("{:.2f} ms", 1e3 * seconds(time)); }

std::string share(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string exchange(Duration time) {
  return time > Duration::zero() ? fmt::format("{:.2f} ms", 1e3 * seconds(time)) : "-";
}

void add_row(report::Table& text, const ReplayedTrace& trace) {
  const std::size_t recorded = trace.recorded.profiles > 0 ? trace.recorded.profiles : trace.ranks;
  text.row({trace.table->name,
            recorded == trace.ranks ? fmt::format("{}", trace.ranks) : fmt::format("{} of {}", recorded, trace.ranks),
            milliseconds(trace.measured), milliseconds(trace.replayed), fmt::format("{:+.1f} %", 100 * trace.error()),
            share(trace.as_recorded), share(trace.communicating), share(trace.waiting),
            exchange(trace.exchange_measured), exchange(trace.exchange_simulated),
            trace.overlap_measured > 0 ? fmt::format("{:.2f}", trace.overlap_measured) : "-",
            trace.overlap_replayed > 0 ? fmt::format("{:.2f}", trace.overlap_replayed) : "-"});
}

}  // namespace

std::string trace_validation_text(std::span<const ReplayedTrace> traces) {
  std::string text =
      "Recorded steps, replayed on the machine that recorded them. Computing and the host keep their recorded times, "
      "and so\ndo stretches in which a rank waits for its host; simulated are collectives and messages of NCCL, and "
      "waiting for other\nranks in them. Where little is simulated, a small error says that the replay is faithful, "
      "not that the model is right.\n\n";
  report::Table table;
  table.column("trace", report::Table::Align::kLeft);
  for (const char* heading : {"ranks", "measured", "replayed", "error", "as recorded", "simulated", "waiting", "calls",
                              "calls simulated", "overlap", "overlap replayed"})
    table.column(heading);
  bool has_rows = false;
  std::string notes;
  for (const ReplayedTrace& trace : traces) {
    if (!trace.skipped.empty()) {
      notes += fmt::format("SKIPPED {}: {}\n", trace.table->name, trace.skipped);
      continue;
    }
    has_rows = true;
    add_row(table, trace);
    if (!trace.table->miss.empty()) notes += fmt::format("{}: {}\n", trace.table->name, trace.table->miss);
  }
  if (has_rows) text += table.text();
  text +=
      "\nas recorded, simulated, waiting: shares of the replayed step, mean over ranks; the rest is idle. calls: "
      "collectives\nof all ranks, each from when its last rank had come, where the profiles have a clock in common. "
      "overlap: time of all\noperations of a rank's device for each second of its step.\n";
  return text + notes;
}

nlohmann::ordered_json to_json(std::span<const ReplayedTrace> traces) {
  Json document = Json::array();
  for (const ReplayedTrace& trace : traces) {
    Json one = {{"trace", trace.table->name},
                {"title", trace.table->title},
                {"source", trace.table->source},
                {"machine", trace.table->measured}};
    if (!trace.skipped.empty()) {
      one["skipped"] = trace.skipped;
      document.push_back(std::move(one));
      continue;
    }
    one["ranks"] = trace.ranks;
    one["profiles"] = trace.recorded.profiles;
    one["measured_s"] = seconds(trace.measured);
    one["replayed_s"] = seconds(trace.replayed);
    one["error"] = trace.error();
    one["as_recorded"] = trace.as_recorded;
    one["simulated"] = trace.communicating;
    one["waiting"] = trace.waiting;
    if (trace.exchange_measured > Duration::zero()) {
      one["calls_measured_s"] = seconds(trace.exchange_measured);
      one["calls_simulated_s"] = seconds(trace.exchange_simulated);
    }
    one["overlap_measured"] = trace.overlap_measured;
    one["overlap_replayed"] = trace.overlap_replayed;
    if (!trace.table->miss.empty()) one["miss"] = trace.table->miss;
    document.push_back(std::move(one));
  }
  return document;
}

}  // namespace orrery::study
