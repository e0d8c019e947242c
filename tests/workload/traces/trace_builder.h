// SPDX-License-Identifier: MIT
// Small traces for tests: nodes are made in memory as the format's own messages, framed, and written into a directory
// that goes away with the test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "workload/chakra/chakra.pb.h"
#include "workload/matching/matching.h"
#include "workload/traces/load_job.h"
#include "workload/traces/rank_trace.h"

namespace orrery::testing {

// One node; every call adds to it.
class TraceNodeBuilder {
 public:
  TraceNodeBuilder(std::uint64_t id, std::string_view name, int type);

  TraceNodeBuilder& data(std::initializer_list<std::uint64_t> ids);
  TraceNodeBuilder& ctrl(std::initializer_list<std::uint64_t> ids);
  TraceNodeBuilder& duration(std::uint64_t micros);
  TraceNodeBuilder& with(std::string_view attribute, std::int64_t value);
  TraceNodeBuilder& text(std::string_view attribute, std::string_view value);
  TraceNodeBuilder& flag(std::string_view attribute, bool value);
  TraceNodeBuilder& flags(std::string_view attribute, std::initializer_list<bool> values);
  TraceNodeBuilder& inputs(std::string_view values);

  operator const chakra::Node&() const { return node_; }

 private:
  chakra::AttributeProto& attribute(std::string_view name);

  chakra::Node node_;
};

TraceNodeBuilder compute(std::uint64_t id, std::uint64_t micros = 1);
TraceNodeBuilder collective(std::uint64_t id, int comm_type, std::int64_t bytes, std::string_view pg_name = "");
TraceNodeBuilder send(std::uint64_t id, std::int64_t to, std::int64_t bytes, std::int64_t tag = 0);
TraceNodeBuilder receive(std::uint64_t id, std::int64_t from, std::int64_t bytes, std::int64_t tag = 0);

using Trace = std::vector<chakra::Node>;

// As a file: the metadata, then the nodes.
std::string bytes_of(const Trace& trace, const chakra::GlobalMetadata& metadata = {});

workload::RankTrace read(const Trace& trace, workload::Dependencies dependencies = workload::Dependencies::kBoth);
// All problems of a trace read on its own, one after the other.
std::string problems_of(const workload::RankTrace& trace);
std::string problems_of(const Trace& trace, workload::Dependencies dependencies = workload::Dependencies::kBoth);

// A directory that is removed with everything in it.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  std::string path(std::string_view name) const { return (path_ / name).string(); }
  void write(std::string_view name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

// Traces of ranks 0, 1, ... in a directory of their own.
class JobFiles {
 public:
  explicit JobFiles(const std::vector<Trace>& ranks, std::string_view groups = "");

  const workload::ChakraSource& source() const { return source_; }
  const ScratchDirectory& directory() const { return directory_; }
  workload::Job load() const;
  // What loading complains about; "" when nothing.
  std::string problems() const;
  // The report of the ranks' disagreement; "" when they agree.
  std::string disagreement() const;

 private:
  ScratchDirectory directory_;
  workload::ChakraSource source_;
};

// Position by trace id.
NodeId node_with_id(const workload::NodeLabels& labels, std::uint64_t id);

}  // namespace orrery::testing
