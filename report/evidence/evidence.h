// SPDX-License-Identifier: MIT
// Evidence: how well each figure that a run rests on is known, and how much of the time rests on which.
//
// The time is that of the critical path. Each of its steps is divided into terms that add up, such as a kernel into its
// launch, its arithmetic and its memory traffic, and each term names the figures that it is proportional to, or
// inversely so. A term is as well known as evidence_of() says of these.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"
#include "core/units.h"

namespace orrery::report {

// kMeasured: by whoever wrote the file, on such a machine. kFitted: to measured times. kSourced: as a publication has
// it. kGiven: by the user, in files without sources or on the command line. kAssumed: nobody says so; also the reader's
// defaults.
enum class EvidenceKind : std::uint8_t { kMeasured, kFitted, kSourced, kGiven, kAssumed };
inline constexpr std::size_t kEvidenceKinds = 5;
std::string_view name_of(EvidenceKind kind);  // "measured", "fitted", ...

struct EvidenceFigure {
  std::string key;    // in the resolved experiment: "cluster.node.device.compute.gemm"
  std::string value;  // as written
  Location where;     // a shipped file as "configs/..."; of a default the map that lacks it
  EvidenceKind kind = EvidenceKind::kSourced;
  bool is_default = false;             // no file has the key
  std::string source;                  // of this figure, in the words of the file
  std::vector<std::string> citations;  // sources of the file that it stands in
  Duration time{};                     // of the critical path: of the terms that it is in
};

struct Evidence {
  std::vector<EvidenceFigure> figures;  // by key
  std::array<Duration, kEvidenceKinds> time{};
  Duration other{};  // of steps that rest on no figure

  bool empty() const { return figures.empty(); }
  Duration all() const;
  double share(EvidenceKind kind) const;
};

// "configs/devices/h100-sxm.yaml:25", "--set a.b=3", "default".
std::string place_text(const EvidenceFigure& figure);

// Evidence of a term: assumed or given if one of its figures is; else fitted or measured if one is, because such a
// figure holds together with those that it was fitted beside; else sourced. `kinds` are not empty.
EvidenceKind evidence_of(std::span<const EvidenceKind> kinds);

// "71 % fitted, 22 % sourced, 7 % assumed", most of the time first; empty without shares.
std::string shares_text(const Evidence& evidence);

// "rests on: 71 % fitted, 22 % sourced, 7 % assumed (--sources lists them)", a line; empty without shares.
std::string evidence_line(const Evidence& evidence);

// Key `evidence` of the document "orrery.result/1": the shares, and the figures that the time rests on; all of them
// with `all`.
nlohmann::ordered_json to_json(const Evidence& evidence, bool all);

// A BibTeX entry for each source that a file of the figures names, or the comment beside one.
std::string sources_bibtex(const Evidence& evidence);

}  // namespace orrery::report
