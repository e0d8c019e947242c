// SPDX-License-Identifier: MIT
#include "report/evidence/evidence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"

namespace orrery::report {
namespace {

constexpr std::array<std::string_view, kEvidenceKinds> kKindNames = {"measured", "fitted", "sourced", "given",
                                                                     "assumed"};

// Kinds that time rests on, most of it first; less than half a percent is left out.
std::vector<EvidenceKind> kinds_by_time(const Evidence& evidence) {
  constexpr double kLeastShare = 0.005;
  std::vector<EvidenceKind> kinds;
  for (std::size_t kind = 0; kind < kEvidenceKinds; ++kind)
    if (evidence.share(static_cast<EvidenceKind>(kind)) >= kLeastShare)
      kinds.push_back(static_cast<EvidenceKind>(kind));
  std::ranges::stable_sort(kinds, std::ranges::greater{}, [&](EvidenceKind kind) { return evidence.share(kind); });
  return kinds;
}

}  // namespace

std::string_view name_of(EvidenceKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::string place_text(const EvidenceFigure& figure) {
  if (figure.is_default) return "default";
  return figure.where.line == 0 ? printable(figure.where.file, 200)
                                : fmt::format("{}:{}", printable(figure.where.file, 200), figure.where.line);
}

Duration Evidence::all() const { return std::accumulate(time.begin(), time.end(), other); }

double Evidence::share(EvidenceKind kind) const {
  const Duration whole = all();
  return whole == Duration::zero() ? 0 : seconds(time[static_cast<std::size_t>(kind)]) / seconds(whole);
}

EvidenceKind evidence_of(std::span<const EvidenceKind> kinds) {
  using enum EvidenceKind;
  for (const EvidenceKind kind : {kAssumed, kGiven, kFitted, kMeasured})
    if (std::ranges::find(kinds, kind) != kinds.end()) return kind;
  return kSourced;
}

std::string shares_text(const Evidence& evidence) {
  std::vector<std::string> parts;
  for (const EvidenceKind kind : kinds_by_time(evidence))
    parts.push_back(fmt::format("{} {}", percent(evidence.share(kind), 0), name_of(kind)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string evidence_line(const Evidence& evidence) {
  const std::string shares = shares_text(evidence);
  return shares.empty() ? "" : fmt::format("rests on: {} (--sources lists them)\n", shares);
}

nlohmann::ordered_json to_json(const Evidence& evidence, bool all) {
  nlohmann::ordered_json share = nlohmann::ordered_json::object(), figures = nlohmann::ordered_json::array();
  for (std::size_t kind = 0; kind < kEvidenceKinds; ++kind)
    share[std::string(kKindNames[kind])] = evidence.share(static_cast<EvidenceKind>(kind));
  for (const EvidenceFigure& figure : evidence.figures) {
    if (!all && figure.time == Duration::zero()) continue;
    figures.push_back({{"key", figure.key},
                       {"value", figure.value},
                       {"kind", name_of(figure.kind)},
                       {"file", figure.where.file},
                       {"line", figure.where.line},
                       {"default", figure.is_default},
                       {"source", figure.source},
                       {"citations", figure.citations},
                       {"time_s", seconds(figure.time)}});
  }
  return {{"share", std::move(share)}, {"figures", std::move(figures)}};
}

}  // namespace orrery::report
