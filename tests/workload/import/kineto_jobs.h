// SPDX-License-Identifier: MIT
// Jobs imported from made-up profiles, and what waits for what in them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "core/error.h"
#include "tests/workload/traces/trace_builder.h"
#include "workload/import/kineto/kineto.h"

namespace orrery::testing {

// Files of one job, in a directory that goes away.
struct Profiles {
  explicit Profiles(const std::vector<std::string>& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      directory.write("p" + std::to_string(i) + ".json", texts[i]);
      files.push_back(directory.path("p" + std::to_string(i) + ".json"));
    }
  }
  ScratchDirectory directory;
  std::vector<std::string> files;
};

inline workload::Job import(const std::vector<std::string>& texts, const workload::KinetoOptions& options = {}) {
  const Profiles profiles(texts);
  Diagnostics diagnostics;
  return workload::import_kineto(profiles.files, diagnostics, options);
}

inline std::string problems(const std::vector<std::string>& texts, const workload::KinetoOptions& options = {}) {
  const Profiles profiles(texts);
  Diagnostics diagnostics;
  std::string result;
  try {
    workload::import_kineto(profiles.files, diagnostics, options);
  } catch (const InputError& error) {
    return error.what();
  }
  for (const Problem& problem : diagnostics.problems()) result += to_string(problem) + "\n";
  return result;
}

// When each node begins if all take their measured time.
inline std::vector<Duration> begins(const workload::ExecutionGraph& graph) {
  std::vector<Duration> result(graph.size(), Duration::zero());
  for (const NodeId node : graph.order())
    for (const NodeId after : graph.successors(node))
      result[index_of(after)] =
          std::max(result[index_of(after)], result[index_of(node)] + graph.duration(node).value_or(Duration::zero()));
  return result;
}

inline NodeId node_named(const workload::Job& job, RankId rank, std::string_view name) {
  for (std::uint32_t i = 0; i < job.graph(rank).size(); ++i)
    if (job.labels_of(rank).name(NodeId{i}) == name) return NodeId{i};
  FAIL("no node " << name);
  return NodeId{0};
}

inline bool waits_for(const workload::Job& job, std::string_view after, std::string_view before) {
  const RankId rank{0};
  const auto successors = job.graph(rank).successors(node_named(job, rank, before));
  return std::ranges::find(successors, node_named(job, rank, after)) != successors.end();
}

constexpr Duration us(std::int64_t count) { return Duration(count * 1'000'000); }

}  // namespace orrery::testing
