// SPDX-License-Identifier: MIT
#include "experiment/evidence/recorded.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "core/files/json.h"
#include "experiment/recorded_run.h"

namespace orrery::experiment {
namespace {

using report::EvidenceFigure;
using report::EvidenceKind;
using Json = nlohmann::json;

std::optional<EvidenceKind> kind_named(std::string_view name) {
  for (const EvidenceKind kind : {EvidenceKind::kMeasured, EvidenceKind::kFitted, EvidenceKind::kSourced,
                                  EvidenceKind::kGiven, EvidenceKind::kAssumed})
    if (name_of(kind) == name) return kind;
  return std::nullopt;
}

// Text of a member; empty where there is none.
std::string text_in(const Json& object, const char* key) {
  const auto member = object.find(key);
  return member == object.end() || !member->is_string() ? std::string() : member->get<std::string>();
}

// A figure of the document; nothing where its kind is none of this program's.
std::optional<EvidenceFigure> figure_from(const Json& item) {
  if (!item.is_object()) return std::nullopt;
  const std::optional<EvidenceKind> kind = kind_named(text_in(item, "kind"));
  if (!kind) return std::nullopt;
  EvidenceFigure figure;
  figure.key = text_in(item, "key");
  figure.value = text_in(item, "value");
  figure.where.file = text_in(item, "file");
  if (const auto line = item.find("line"); line != item.end() && line->is_number_integer())
    figure.where.line = line->get<int>();
  figure.kind = *kind;
  if (const auto is_default = item.find("default"); is_default != item.end() && is_default->is_boolean())
    figure.is_default = is_default->get<bool>();
  figure.source = text_in(item, "source");
  if (const auto citations = item.find("citations"); citations != item.end() && citations->is_array())
    for (const Json& citation : *citations)
      if (citation.is_string()) figure.citations.push_back(citation.get<std::string>());
  return figure;
}

RecordedFigures figures_in(const std::string& document) {
  RecordedFigures figures;
  const std::string_view part = json_member(document, "evidence");
  if (part.empty()) return figures;
  const Json evidence = parse_json(part);
  const auto list = evidence.is_object() ? evidence.find("figures") : evidence.end();
  if (list == evidence.end() || !list->is_array()) return figures;
  for (const Json& item : *list)
    if (std::optional<EvidenceFigure> figure = figure_from(item); figure)
      figures.emplace(figure->key, std::move(*figure));
  return figures;
}

}  // namespace

RecordedFigures recorded_figures(const std::string& file, const ConfigFiles& files) {
  return is_result(file, files) ? figures_in(files.text(file)) : RecordedFigures{};
}

void take_recorded(std::vector<Figure>& figures, const RecordedFigures& recorded) {
  if (recorded.empty()) return;
  for (Figure& figure : figures) {
    EvidenceFigure& shown = figure.shown;
    if (shown.kind == EvidenceKind::kGiven && is_setting(shown.where)) continue;
    const auto known = recorded.find(shown.key);
    figure.counts = known != recorded.end();
    figure.agrees = true;
    if (figure.counts && known->second.value == shown.value) shown = known->second;
  }
}

}  // namespace orrery::experiment
