// SPDX-License-Identifier: MIT
#include "tests/workload/traces/trace_builder.h"

#include <fstream>
#include <random>
#include <regex>
#include <stdexcept>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "core/error.h"
#include "workload/graph/findings.h"

namespace orrery::testing {
namespace {

void append_frame(const google::protobuf::MessageLite& message, std::string& bytes) {
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteVarint32(static_cast<std::uint32_t>(message.ByteSizeLong()));
  message.SerializeToCodedStream(&coded);
}

std::string joined(std::span<const Problem> problems) {
  std::string text;
  for (const Problem& problem : with_hints_once(problems)) text += to_string(problem) + "\n";
  return text;
}

}  // namespace

TraceNodeBuilder::TraceNodeBuilder(std::uint64_t id, std::string_view name, int type) {
  node_.set_id(id);
  node_.set_name(std::string(name));
  node_.set_type(static_cast<chakra::NodeType>(type));
}

TraceNodeBuilder& TraceNodeBuilder::data(std::initializer_list<std::uint64_t> ids) {
  for (const std::uint64_t id : ids) node_.add_data_deps(id);
  return *this;
}

TraceNodeBuilder& TraceNodeBuilder::ctrl(std::initializer_list<std::uint64_t> ids) {
  for (const std::uint64_t id : ids) node_.add_ctrl_deps(id);
  return *this;
}

TraceNodeBuilder& TraceNodeBuilder::duration(std::uint64_t micros) {
  node_.set_duration_micros(micros);
  return *this;
}

chakra::AttributeProto& TraceNodeBuilder::attribute(std::string_view name) {
  for (chakra::AttributeProto& known : *node_.mutable_attr())
    if (known.name() == name) return known;
  chakra::AttributeProto& added = *node_.add_attr();
  added.set_name(std::string(name));
  return added;
}

TraceNodeBuilder& TraceNodeBuilder::with(std::string_view name, std::int64_t value) {
  attribute(name).set_int64_val(value);
  return *this;
}

TraceNodeBuilder& TraceNodeBuilder::text(std::string_view name, std::string_view value) {
  attribute(name).set_string_val(std::string(value));
  return *this;
}

TraceNodeBuilder& TraceNodeBuilder::flags(std::string_view name, std::initializer_list<bool> values) {
  for (const bool value : values) attribute(name).mutable_bool_list()->add_values(value);
  return *this;
}

TraceNodeBuilder& TraceNodeBuilder::flag(std::string_view name, bool value) {
  attribute(name).set_bool_val(value);
  return *this;
}

TraceNodeBuilder& TraceNodeBuilder::inputs(std::string_view values) {
  node_.mutable_inputs()->set_values(std::string(values));
  return *this;
}

TraceNodeBuilder compute(std::uint64_t id, std::uint64_t micros) {
  return TraceNodeBuilder(id, "compute", chakra::COMP_NODE).duration(micros);
}

TraceNodeBuilder collective(std::uint64_t id, int comm_type, std::int64_t bytes, std::string_view pg_name) {
  TraceNodeBuilder node(id, "collective", chakra::COMM_COLL_NODE);
  node.with("comm_type", comm_type).with("comm_size", bytes).flag("is_cpu_op", false);
  if (!pg_name.empty()) node.text("pg_name", pg_name);
  return node;
}

TraceNodeBuilder send(std::uint64_t id, std::int64_t to, std::int64_t bytes, std::int64_t tag) {
  return TraceNodeBuilder(id, "send", chakra::COMM_SEND_NODE)
      .with("comm_dst", to)
      .with("comm_size", bytes)
      .with("comm_tag", tag);
}

TraceNodeBuilder receive(std::uint64_t id, std::int64_t from, std::int64_t bytes, std::int64_t tag) {
  return TraceNodeBuilder(id, "receive", chakra::COMM_RECV_NODE)
      .with("comm_src", from)
      .with("comm_size", bytes)
      .with("comm_tag", tag);
}

std::string bytes_of(const Trace& trace, const chakra::GlobalMetadata& metadata) {
  std::string bytes;
  append_frame(metadata, bytes);
  for (const chakra::Node& node : trace) append_frame(node, bytes);
  return bytes;
}

workload::RankTrace read(const Trace& trace, workload::Dependencies dependencies) {
  return workload::read_rank_trace("trace.et", bytes_of(trace), dependencies);
}

std::string problems_of(const workload::RankTrace& trace) {
  Diagnostics diagnostics;
  const workload::RankFindings findings{0, &trace.findings};
  workload::report({&findings, 1}, false, diagnostics);
  return joined(diagnostics.problems());
}

std::string problems_of(const Trace& trace, workload::Dependencies dependencies) {
  return problems_of(read(trace, dependencies));
}

ScratchDirectory::ScratchDirectory() {
  std::random_device random;
  path_ =
      std::filesystem::temp_directory_path() / ("orrery_test_" + std::to_string(random()) + std::to_string(random()));
  if (!std::filesystem::create_directory(path_)) throw std::runtime_error("cannot create " + path_.string());
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void ScratchDirectory::write(std::string_view name, std::string_view bytes) const {
  std::ofstream file(path_ / name, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot write " + std::string(name));
}

JobFiles::JobFiles(const std::vector<Trace>& ranks, std::string_view groups) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    directory_.write("job." + std::to_string(rank) + ".et", bytes_of(ranks[rank]));
  source_.prefix = directory_.path("job");
  if (groups.empty()) return;
  directory_.write("groups.json", groups);
  source_.groups = directory_.path("groups.json");
}

workload::Job JobFiles::load() const {
  Diagnostics diagnostics;
  return workload::load_chakra_job(source_, diagnostics);
}

std::string JobFiles::problems() const {
  Diagnostics diagnostics;
  workload::try_load_chakra_job(source_, workload::TraceReader::kExperiment, diagnostics);
  return joined(diagnostics.problems());
}

std::string JobFiles::disagreement() const {
  try {
    workload::match(load());
  } catch (const StuckError& error) {
    // Lines that go on are set in by six or more.
    return std::regex_replace(std::string(error.what()), std::regex("\n {6,}"), " ");
  }
  return {};
}

NodeId node_with_id(const workload::NodeLabels& labels, std::uint64_t id) {
  for (std::uint32_t i = 0; i < labels.size(); ++i)
    if (labels.trace_id(NodeId{i}) == id) return NodeId{i};
  throw std::runtime_error("no node " + std::to_string(id));
}

}  // namespace orrery::testing
