// SPDX-License-Identifier: MIT
#include "astra/input/trace_reader.h"

#include <fmt/format.h>

#include "core/error.h"
#include "workload/chakra/attributes.h"
#include "workload/chakra/reader.h"
#include "workload/chakra/wire.h"

namespace orrery::astra {
namespace {

using workload::take_field;
using workload::take_varint;
using workload::WireField;
using workload::WireType;

std::int64_t zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The number that an attribute's field holds, if it holds a whole one.
std::optional<std::int64_t> whole_of(const WireField& field) {
  switch (field.number) {
    case 7:   // int32
    case 9:   // int64
    case 11:  // uint32
    case 13:  // uint64
    case 27:  // bool
      if (field.type == WireType::kVarint) return static_cast<std::int64_t>(field.value);
      break;
    case 15:  // sint32
    case 17:  // sint64
      if (field.type == WireType::kVarint) return zigzag(field.value);
      break;
    case 19:  // fixed32
    case 21:  // fixed64
    case 25:  // sfixed64
      if (field.type == WireType::kFixed32 || field.type == WireType::kFixed64)
        return static_cast<std::int64_t>(little_endian(field.payload));
      break;
    case 23:  // sfixed32
      if (field.type == WireType::kFixed32) return static_cast<std::int32_t>(little_endian(field.payload));
      break;
    default:
      break;
  }
  return std::nullopt;
}

std::optional<std::vector<bool>> flags_of(std::string_view list) {
  std::vector<bool> flags;
  while (!list.empty()) {
    const auto field = take_field(list);
    if (!field || field->number != 1) return std::nullopt;
    if (field->type == WireType::kVarint) {
      flags.push_back(field->value != 0);
      continue;
    }
    std::string_view packed = field->payload;
    while (!packed.empty()) {
      const auto value = take_varint(packed);
      if (!value) return std::nullopt;
      flags.push_back(*value != 0);
    }
  }
  return flags;
}

// Reads an attribute; false if it cannot be read.
bool read_attribute(std::string_view message, TraceNode& node) {
  std::string_view name;
  std::optional<WireField> value;
  while (!message.empty()) {
    const auto field = take_field(message);
    if (!field) return false;
    if (field->number == 1 && field->type == WireType::kBytes) name = field->payload;
    if (field->number > 2) value = field;
  }
  if (!value) return true;
  const auto whole = [&](std::optional<std::int64_t>& member) { return (member = whole_of(*value)).has_value(); };
  if (name == "num_ops") return whole(node.num_ops);
  if (name == "tensor_size") return whole(node.tensor_size);
  if (name == "comm_type") return whole(node.comm_type);
  if (name == "comm_size") return whole(node.comm_size);
  if (name == "comm_src") return whole(node.comm_src);
  if (name == "comm_dst") return whole(node.comm_dst);
  if (name == "comm_tag") return whole(node.comm_tag);
  if (name == "is_cpu_op") {
    const auto flag = whole_of(*value);
    node.on_host = flag.value_or(0) != 0;
    return flag.has_value();
  }
  if (name == "pg_name") {
    node.group = value->payload;
    return value->number == 29 && value->type == WireType::kBytes;
  }
  if (name == "involved_dim") return value->number == 28 && (node.dimensions = flags_of(value->payload)).has_value();
  node.has_inputs |= name == "inputs";
  node.has_outputs |= name == "outputs";
  return true;
}

bool read_parents(const WireField& field, std::vector<std::uint64_t>& parents) {
  if (field.type == WireType::kVarint) {
    parents.push_back(field.value);
    return true;
  }
  std::string_view packed = field.payload;
  while (!packed.empty()) {
    const auto value = take_varint(packed);
    if (!value) return false;
    parents.push_back(*value);
  }
  return field.type == WireType::kBytes;
}

bool read_node(std::string_view message, TraceNode& node) {
  while (!message.empty()) {
    const auto field = take_field(message);
    if (!field) return false;
    const bool is_number = field->type == WireType::kVarint;
    switch (field->number) {
      case 1:
        if (!is_number) return false;
        node.id = field->value;
        break;
      case 2:
        node.name = field->payload;
        break;
      case 3:
        if (!is_number || field->value > 7) return false;
        node.type = static_cast<std::uint32_t>(field->value);
        break;
      case 4:
      case 5:
        if (!read_parents(*field, node.parents)) return false;
        break;
      case 7:
        if (!is_number) return false;
        node.duration_us = field->value;
        break;
      case 10:
        if (field->type != WireType::kBytes || !read_attribute(field->payload, node)) return false;
        break;
      default:
        break;
    }
  }
  return true;
}

bool read_frames(std::string_view bytes, std::vector<TraceNode>& nodes) {
  bool first = true;
  while (!bytes.empty()) {
    const auto frame = workload::take_frame(bytes);
    if (!frame) return false;
    const bool is_metadata = first && workload::has_metadata_shape(*frame);
    first = false;
    if (is_metadata) continue;
    if (!read_node(*frame, nodes.emplace_back())) return false;
  }
  return !nodes.empty();
}

// For the message only: reading has failed.
struct Judge : workload::ChakraVisitor {
  explicit Judge(const std::string& name) : file(name) {}
  void node(const chakra::Node& node, workload::ChakraPosition) override {
    const workload::ChakraAttributes attributes(file, node);
    for (const char* name : {"num_ops", "tensor_size", "comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag"})
      attributes.integer(name);
    attributes.flag("is_cpu_op");
    attributes.text("pg_name");
    attributes.flags("involved_dim");
  }
  const std::string& file;
};

}  // namespace

void read_trace(const std::string& file, std::string_view bytes, std::vector<TraceNode>& nodes) {
  nodes.clear();
  if (read_frames(bytes, nodes)) return;
  Judge judge(file);
  workload::read_chakra(file, bytes, judge);
  throw InputError({file}, "is a trace that ASTRA-sim cannot read",
                   "it reads binary Chakra files of schema 0.0.4 only, neither JSON nor gzip; "
                   "`orrery run` with workload.chakra reads those");
}

}  // namespace orrery::astra
