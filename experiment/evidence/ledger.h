// SPDX-License-Identifier: MIT
// Account of a path's time, by the figures that it rests on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "experiment/evidence/figures.h"

namespace orrery::experiment {

using Keys = std::set<std::size_t>;  // numbers of figures

// Figures, looked up by key or by the end of it below a section; and the time that rests on them.
class Ledger {
 public:
  explicit Ledger(std::vector<Figure> figures)
      : figures_(std::move(figures)), times_(figures_.size()), kinds_(report::kEvidenceKinds) {}

  void add_key(const std::string& key, Keys& keys) const {
    const auto found = std::ranges::lower_bound(figures_, key, {}, [](const Figure& f) { return f.shown.key; });
    if (found != figures_.end() && found->shown.key == key && found->counts)
      keys.insert(static_cast<std::size_t>(found - figures_.begin()));
  }
  bool has(const std::string& key) const {
    const auto found = std::ranges::lower_bound(figures_, key, {}, [](const Figure& f) { return f.shown.key; });
    return found != figures_.end() && found->shown.key == key;
  }
  // All keys in a section.
  void add_section(const std::string& section, Keys& keys) const {
    add_if([&](const Figure& figure) { return figure.shown.key.starts_with(section + "."); }, keys);
  }
  // Keys of the devices, or nodes, of a type: "device.compute.gemm".
  void add_of_cluster(std::uint32_t type, std::string_view ending, Keys& keys) const {
    const std::string end = fmt::format(".{}", ending), own = fmt::format("cluster.nodes[{}].", type);
    add_if(
        [&](const Figure& figure) {
          const std::string& key = figure.shown.key;
          return key.starts_with("cluster.") && key.ends_with(end) &&
                 (key.starts_with(own) || !key.starts_with("cluster.nodes["));
        },
        keys);
  }
  void add_if(const std::function<bool(const Figure&)>& is_wanted, Keys& keys) const {
    for (std::size_t number = 0; number < figures_.size(); ++number)
      if (figures_[number].counts && is_wanted(figures_[number])) keys.insert(number);
  }

  // Books picoseconds of the path that rest on these figures together.
  void book(double time, const Keys& keys) {
    if (time <= 0) return;
    if (keys.empty()) {
      other_ += time;
      return;
    }
    std::vector<report::EvidenceKind> kinds;
    for (const std::size_t number : keys) {
      kinds.push_back(figures_[number].shown.kind);
      times_[number] += time;
    }
    kinds_[static_cast<std::size_t>(report::evidence_of(kinds))] += time;
  }

  report::Evidence evidence() && {
    const auto whole = [](double time) { return Duration(std::llround(time)); };
    report::Evidence evidence;
    for (std::size_t number = 0; number < figures_.size(); ++number) {
      if (figures_[number].shown.is_default && !figures_[number].counts) continue;
      figures_[number].shown.time = whole(times_[number]);
      evidence.figures.push_back(std::move(figures_[number].shown));
    }
    for (std::size_t kind = 0; kind < report::kEvidenceKinds; ++kind) evidence.time[kind] = whole(kinds_[kind]);
    evidence.other = whole(other_);
    return evidence;
  }

 private:
  std::vector<Figure> figures_;  // by key
  std::vector<double> times_;    // by figure
  std::vector<double> kinds_;
  double other_ = 0;
};

}  // namespace orrery::experiment
