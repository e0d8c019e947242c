// SPDX-License-Identifier: MIT
// Traces that differ in names alone: ranks of one part in a job do the same, with other communicators, peers, tags and
// roots. Bytes tell such a trace from one that has been read already; it needs neither decoding nor a graph of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/traces/rank_trace.h"

namespace orrery::workload {

// A trace that has been read, for others to be compared with.
class TraceModel {
 public:
  // `trace` is what read_rank_trace() made of `bytes`. Nothing where they are no plain binary trace, or where there is
  // something to report: it would have to be said of every file that is alike.
  static std::optional<TraceModel> of(std::string bytes, const RankTrace& trace);

  // Reads `bytes` as read_rank_trace() does, but without graph and labels, which are those of the model's trace. Empty
  // if the traces differ in more than names.
  std::optional<RankTrace> read(const std::string& file, std::string_view bytes) const;

  std::size_t memory_bytes() const;

 private:
  class Comparison;

  // A message. What its node calls communicator, peer, tag and root is between two places in it, which are its end
  // where it says nothing of these.
  struct Frame {
    std::size_t begin = 0;  // in bytes_
    std::uint32_t size = 0;
    std::uint32_t names_begin = 0;
    std::uint32_t names_end = 0;
    std::uint32_t use = 0;      // into uses_; kNone: not of a communication node
    std::uint32_t ordinal = 0;  // transfer or collective index
  };
  // Nodes of one kind, on one slot, that say the same between these places: a trace has few.
  struct Use {
    std::size_t frame = 0;  // the first of them
    NodeKind kind = NodeKind::kCollective;
    CollectiveKind collective = CollectiveKind::kAllReduce;
    std::uint32_t slot = 0;
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit TraceModel(std::string bytes) : bytes_(std::move(bytes)), blank_("") {}
  void add_frames(const ExecutionGraph& graph, const NodeLabels& labels);
  std::string_view message(const Frame& frame) const {
    return std::string_view(bytes_).substr(frame.begin, frame.size);
  }
  std::string_view names(const Frame& frame) const {
    return message(frame).substr(frame.names_begin, frame.names_end - frame.names_begin);
  }

  std::string bytes_;
  std::vector<Frame> frames_;
  std::vector<Use> uses_;
  RankTrace blank_;  // with all that the traces have in common, and room for what they have not
};

// The models of a job's traces that were of use last, as many as little memory holds. Any thread may read and add.
class TraceModels {
 public:
  struct Alike {
    RankTrace trace;
    std::uint32_t model;  // its number
  };

  std::optional<Alike> read(const std::string& file, std::string_view bytes);
  void add(std::string bytes, const RankTrace& trace, std::uint32_t number);
  // Forgets models; by one thread, while no other reads.
  void trim();

 private:
  struct Numbered {
    TraceModel model;
    std::uint32_t number;
  };

  std::mutex mutex_;
  std::list<Numbered> models_;  // those of use last come first
};

}  // namespace orrery::workload
