// SPDX-License-Identifier: MIT
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/assert.h"
#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "report/result.h"
#include "report/table.h"
#include "study/benchmark/study.h"

namespace orrery::study {
namespace {

std::string time_text(const CollectiveRow& row) { return fmt::format("{:.2f}", microseconds(row.time)); }
std::string rate_text(double bytes_per_second) { return fmt::format("{:.2f}", bytes_per_second * 1e-9); }

// "16 ranks (2 x 8 a100-sxm-80gb)".
std::string ranks_text(const CollectiveTable& table) {
  return fmt::format("{} ranks ({} x {}{} {})", table.ranks, table.nodes, table.ranks / table.nodes,
                     table.has_mixed_devices ? " of" : "", table.device);
}

bool is_same_comparison(const std::optional<report::TimeInterval>& a, const std::optional<report::TimeInterval>& b) {
  return a && b && a->of == b->of && a->beyond == b->beyond;
}

// Neighbouring rows that compare with the same measurements.
struct ComparedRows {
  std::span<const CollectiveRow> rows;

  const report::TimeInterval& interval() const { return *rows.back().interval; }
  // Ends of the interval, relative to the prediction.
  double low() const { return seconds(interval().low) / seconds(rows.back().time); }
  double high() const { return seconds(interval().high) / seconds(rows.back().time); }
};

std::vector<ComparedRows> compared_rows(std::span<const CollectiveRow> rows) {
  std::vector<ComparedRows> all;
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    for (end = first + 1; end < rows.size() && is_same_comparison(rows[first].interval, rows[end].interval);) ++end;
    if (rows[first].interval) all.push_back({rows.subspan(first, end - first)});
  }
  return all;
}

// Text on the uncertainty of the times, each line behind `indent`.
std::string intervals_text(const CollectiveTable& table, std::string_view indent) {
  if (!table.by_hand.empty())
    return fmt::format("{}no interval: no published run has '{}' so\n", indent, printable(table.by_hand, 80));
  std::string text;
  for (const ComparedRows& part : compared_rows(table.rows)) {
    const report::TimeInterval& interval = part.interval();
    text += fmt::format("{}{} of {} comparable measurements ({}): {:.2f} to {:.2f} times what is predicted", indent,
                        percent(interval.share, 0), interval.runs, interval.of, part.low(), part.high());
    if (!interval.beyond.empty()) text += fmt::format("; wide, for want of {}", interval.beyond);
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json intervals_json(std::span<const CollectiveRow> rows) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ComparedRows& part : compared_rows(rows)) {
    const report::TimeInterval& interval = part.interval();
    all.push_back({{"from_bytes", part.rows.front().bytes.count()},
                   {"to_bytes", part.rows.back().bytes.count()},
                   {"low", part.low()},
                   {"high", part.high()},
                   {"share", interval.share},
                   {"runs", interval.runs},
                   {"families", interval.families},
                   {"of", interval.of}});
    if (!interval.beyond.empty()) all.back()["beyond"] = interval.beyond;
  }
  return all;
}

std::string bound_text(const CollectiveBound& bound) {
  return fmt::format("{} ({})", bound.name, percent(bound.share, 0));
}

}  // namespace

double microseconds(Duration time) { return seconds(time) * 1e6; }

std::string machine_text(const CollectiveTable& table) {
  std::string text = fmt::format("{}, {} network", ranks_text(table), table.network_model);
  if (!table.library.empty()) text += ", " + table.library;
  if (table.shares)
    text += fmt::format(", rank {} sends most ({:.2f} of the mean), rank {} receives most ({:.2f})",
                        table.shares->sender, table.shares->sent, table.shares->receiver, table.shares->received);
  return text;
}

std::string collective_text(const CollectiveTable& table) {
  using report::kRight, report::Interest;
  report::Table rows = report::table_of(
      table.rows,
      {{"size (B)", [](const auto& row) { return row.bytes.count(); }},
       {"count (float)", &CollectiveRow::count, kRight, Interest::kDetail},
       {"time (us)", time_text, kRight, Interest::kAnswer},
       {"algbw (GB/s)", [](const auto& row) { return rate_text(row.algorithm_bandwidth); }, kRight},
       {"busbw (GB/s)", [](const auto& row) { return rate_text(row.bus_bandwidth); }, kRight, Interest::kAnswer},
       {"algorithm", &CollectiveRow::algorithm},
       {"protocol", [&](const auto& row) { return table.library.empty() ? "-" : row.protocol.value_or(""); }},
       {"bound by", [](const auto& row) { return bound_text(row.bound); }, std::nullopt, Interest::kAnswer}});
  rows.keep_headings();  // `orrery calibrate` reads it
  return fmt::format("{} on {}: {}\n{}\n", table.operation, table.cluster, machine_text(table),
                     intervals_text(table, "  ")) +
         rows.text();
}

std::string side_by_side_text(std::span<const CollectiveTable> tables) {
  ORRERY_ASSERT(tables.size() >= 2);
  std::string heading = tables.front().operation + "\n";
  report::Table text;
  text.column("size (B)");
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const CollectiveTable& table = tables[i];
    ORRERY_ASSERT(table.rows.size() == tables.front().rows.size());
    const std::string algorithm = table.library.empty() ? ", " + table.rows.front().algorithm : "";
    heading +=
        fmt::format("  {}: {}{}\n", table.cluster, machine_text(table), algorithm) + intervals_text(table, "    ");
    using report::Interest;
    text.column(fmt::format("{}: time (us)", table.cluster), report::kRight, Interest::kAnswer);
    text.column("busbw (GB/s)");
    if (!table.library.empty()) text.column("algorithm", report::Table::Align::kLeft, Interest::kDetail);
    text.column("bound by", report::Table::Align::kLeft, Interest::kDetail);
    if (i > 0) text.column("busbw ratio", report::kRight, Interest::kAnswer);
  }
  for (std::size_t r = 0; r < tables.front().rows.size(); ++r) {
    std::vector<std::string> cells = {fmt::format("{}", tables.front().rows[r].bytes.count())};
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const CollectiveRow& row = tables[i].rows[r];
      cells.insert(cells.end(), {time_text(row), rate_text(row.bus_bandwidth)});
      if (!tables[i].library.empty()) cells.push_back(fmt::format("{} {}", row.algorithm, row.protocol.value_or("")));
      cells.push_back(bound_text(row.bound));
      const double first = tables.front().rows[r].bus_bandwidth;
      if (i > 0) cells.push_back(ratio_text(row.bus_bandwidth, first));
    }
    text.row(std::move(cells));
  }
  return heading + "\n" + text.text();
}

nlohmann::ordered_json to_json(const CollectiveTable& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CollectiveRow& row : table.rows)
    rows.push_back({{"bytes", row.bytes.count()},
                    {"time_us", microseconds(row.time)},
                    {"algbw_GBps", row.algorithm_bandwidth * 1e-9},
                    {"busbw_GBps", row.bus_bandwidth * 1e-9},
                    {"algorithm", row.algorithm},
                    {"protocol", row.protocol ? nlohmann::ordered_json(*row.protocol) : nlohmann::ordered_json()},
                    {"bound", row.bound.name}});
  nlohmann::ordered_json document = {
      {"schema", "orrery.collective/1"}, {"op", table.operation}, {"ranks", table.ranks}, {"nodes", table.nodes}};
  if (table.shares)
    document["shares"] = {{"most_sent", {{"rank", table.shares->sender}, {"over_mean", table.shares->sent}}},
                          {"most_received", {{"rank", table.shares->receiver}, {"over_mean", table.shares->received}}}};
  document["rows"] = std::move(rows);
  if (nlohmann::ordered_json intervals = intervals_json(table.rows); !intervals.empty())
    document["intervals"] = std::move(intervals);
  if (!table.by_hand.empty()) document["by_hand"] = printable(table.by_hand, 120);
  return document;
}

report::Document collective_document() {
  using enum report::KeyType;
  using report::DocumentKeys, report::maybe;
  const DocumentKeys extreme = {{kWhole, "rank", ""}, {kNumber, "over_mean", "its bytes"}};
  return {"orrery.collective/1",
          "`collective --json`",
          "`orrery calibrate` reads it as a log.",
          {{kText, "op", ""},
           {kWhole, "ranks", ""},
           {kWhole, "nodes", "that they are on"},
           maybe({kMap,
                  "shares",
                  "with `--shares` or `--skew`",
                  {{kMap, "most_sent", "", extreme}, {kMap, "most_received", "", extreme}}}),
           {kList,
            "rows",
            "one for each size",
            {{kWhole, "bytes", "the size, as nccl-tests counts it"},
             {kNumber, "time_us", ""},
             {kNumber, "algbw_GBps", "algorithm bandwidth, 10^9 bytes a second"},
             {kNumber, "busbw_GBps", "bus bandwidth, 10^9 bytes a second"},
             {kText, "algorithm", "that the library took"},
             {kAny, "protocol", "likewise; null with the fixed library"},
             {kText, "bound", "`latency` or a class of links"}}},
           maybe({kList,
                  "intervals",
                  "[how sure](results.md#how-sure-it-is) the times of ranges of sizes are",
                  {{kWhole, "from_bytes", ""},
                   {kWhole, "to_bytes", ""},
                   {kNumber, "low", "part of what is predicted"},
                   {kNumber, "high", "likewise"},
                   {kNumber, "share", "of comparable runs between these"},
                   {kWhole, "runs", "how many comparable runs there are"},
                   {kWhole, "families", "that these are of"},
                   {kText, "of", "which kind of runs"},
                   maybe({kText, "beyond", "what none of them had"})}}),
           maybe({kText, "by_hand", "key that no measured call has so, for which there are no intervals"})}};
}

}  // namespace orrery::study
