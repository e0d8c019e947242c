// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/quantity_text.h"
#include "report/table.h"
#include "study/validate/experts/validation.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;
using Exchanges = std::vector<ValidatedExchange>;
using Counts = std::function<bool(const ValidatedExchange&)>;

Exchanges those_of(const Exchanges& all, const Counts& counts) {
  Exchanges chosen;
  std::ranges::copy_if(all, std::back_inserter(chosen), counts);
  return chosen;
}

std::optional<ErrorSummary> summary_of(const Exchanges& exchanges) {
  return study::summary_of(exchanges, [](const ValidatedExchange&) { return true; });
}

// The median of the signed errors: whether predictions are too long or too short.
double bias_of(const Exchanges& exchanges) {
  std::vector<double> errors;
  for (const ValidatedExchange& exchange : exchanges) errors.push_back(exchange.error());
  std::ranges::sort(errors);
  return (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2;
}

std::string at(const ValidatedExchange& exchange) {
  const MeasuredExchange& row = *exchange.row;
  return fmt::format("{} tokens of {}, {} of {} experts, {} x {} GPUs, {} SMs", row.tokens, row.hidden,
                     row.experts_per_token, row.experts, row.nodes, row.gpus, row.processors);
}

void add_row(report::Table& text, std::vector<std::string> names, const Exchanges& exchanges) {
  const auto summary = summary_of(exchanges);
  const ValidatedExchange& worst = worst_of(exchanges);
  for (std::string cell :
       {fmt::format("{}", exchanges.size()), percent_text(summary, &ErrorSummary::median),
        fmt::format("{:+.1f}", 100 * bias_of(exchanges)), percent_text(summary, &ErrorSummary::ninetieth),
        fmt::format("{:+.1f}", 100 * worst.error()), at(worst)})
    names.push_back(std::move(cell));
  text.row(std::move(names));
}

report::Table table_of(std::vector<std::string> names) {
  report::Table text;
  for (std::string& name : names) text.column(std::move(name), report::Table::Align::kLeft);
  for (const char* heading : {"rows", "median", "bias", "p90", "worst"}) text.column(heading);
  text.column("at", report::Table::Align::kLeft);
  return text;
}

std::string library_text(const DispatchLibrary& library) {
  const auto percent = [](Efficiency share) { return 100.0 * static_cast<double>(share.count()) / 1e6; };
  return fmt::format("{:.1f} GB/s a multiprocessor, within {:.1f} %, between {:.1f} %, launch {}, doubling {}",
                     static_cast<double>(library.processor_rate.count()) / 1e9, percent(library.within),
                     percent(library.between), rounded(library.launch), rounded(library.doubling));
}

std::vector<std::string> tables_in(const Exchanges& exchanges) {
  std::vector<std::string> names;
  for (const ValidatedExchange& exchange : exchanges)
    if (names.empty() || names.back() != exchange.table->name) names.push_back(exchange.table->name);
  return names;
}

std::string tables_text(const Exchanges& all) {
  report::Table text = table_of({"table", "way"});
  for (const std::string& name : tables_in(all))
    for (const bool is_dispatch : {true, false}) {
      const Exchanges of_table = those_of(all, [&](const ValidatedExchange& exchange) {
        return exchange.table->name == name && exchange.is_dispatch == is_dispatch;
      });
      add_row(text,
              {name + (of_table.front().table->fitted ? "" : " (not fitted)"), is_dispatch ? "dispatch" : "combine"},
              of_table);
    }
  return text.text();
}

std::string fitted_line(const Exchanges& all) {
  const auto summary = summary_of(those_of(all, [](const ValidatedExchange& e) { return e.table->fitted; }));
  if (!summary) return {};
  return fmt::format("\nall fitted tables: median {} %, 90 % of {} times at most {} %\n",
                     percent_text(summary, &ErrorSummary::median), summary->rows,
                     percent_text(summary, &ErrorSummary::ninetieth));
}

std::string left_out_text(const std::vector<LeftOutSystem>& systems) {
  if (systems.empty()) return {};
  report::Table text = table_of({"library", "system left out"});
  std::string constants;
  for (const LeftOutSystem& left : systems) {
    const Exchanges fitted = those_of(left.exchanges, [](const ValidatedExchange& e) { return e.table->fitted; });
    const Exchanges others = those_of(left.exchanges, [](const ValidatedExchange& e) { return !e.table->fitted; });
    if (!fitted.empty()) add_row(text, {left.library, left.system}, fitted);
    if (!others.empty()) add_row(text, {left.library, left.system + " (not fitted)"}, others);
    constants += fmt::format("  without {}: {}\n", left.system, library_text(left.fitted));
  }
  return "\nerrors with constants fitted to the other systems\n\n" + text.text() + "\n" + constants;
}

Json to_json(const Exchanges& exchanges, bool with_rows) {
  Json document = {{"error", study::to_json(summary_of(exchanges))}, {"bias", bias_of(exchanges)}};
  if (!with_rows) return document;
  document["rows"] = Json::array();
  for (const ValidatedExchange& exchange : exchanges)
    document["rows"].push_back({{"at", at(exchange)},
                                {"way", exchange.is_dispatch ? "dispatch" : "combine"},
                                {"line", exchange.row->where.line},
                                {"measured_s", seconds(exchange.measured())},
                                {"predicted_s", seconds(exchange.predicted)}});
  return document;
}

}  // namespace

std::string expert_validation_text(const ExpertValidation& validation) {
  return "Error of predicted times of dispatch and combine against measured ones, in %: |predicted / measured - 1|;\n"
         "bias is the median of the signed errors\n\n" +
         tables_text(validation.exchanges) + fitted_line(validation.exchanges) + left_out_text(validation.left_out);
}

nlohmann::ordered_json to_json(const ExpertValidation& validation) {
  Json document = {{"tables", Json::array()}};
  for (const std::string& name : tables_in(validation.exchanges)) {
    const Exchanges of_table =
        those_of(validation.exchanges, [&](const ValidatedExchange& e) { return e.table->name == name; });
    const ExpertTable& table = *of_table.front().table;
    Json item = {{"table", name},
                 {"source", table.source},
                 {"system", table.system},
                 {"library", table.library.name},
                 {"fitted", table.fitted}};
    item.update(to_json(of_table, true));
    document["tables"].push_back(std::move(item));
  }
  for (const LeftOutSystem& left : validation.left_out) {
    Json item = {{"library", left.library}, {"system", left.system}};
    item.update(to_json(left.exchanges, false));
    document["left_out"].push_back(std::move(item));
  }
  return document;
}

}  // namespace orrery::study
