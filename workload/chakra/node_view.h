// SPDX-License-Identifier: MIT
// A Chakra node as views of the bytes that it is written in: what a trace is read by, since libprotobuf's messages copy
// every text and hold every attribute on the heap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/chakra/chakra.pb.h"

namespace orrery::workload {

struct AttributeView {
  std::string_view name;
  std::uint32_t field = 0;   // of AttributeProto, that holds the value; 0: none does
  std::uint64_t number = 0;  // a value of a varint or of fixed bits, as it is on the wire
  std::string_view bytes;    // any other value: a text, or a list as a message

  bool has_value() const { return field != 0; }
};

// Valid as long as the bytes. Fields that nobody reads are left out.
struct NodeView {
  std::uint64_t id = 0;
  std::string_view name;
  std::int32_t type = 0;  // NodeType, or another number
  std::uint64_t duration_micros = 0;
  std::vector<std::uint64_t> ctrl_deps;
  std::vector<std::uint64_t> data_deps;
  std::string_view input_values;  // of `inputs`
  std::vector<AttributeView> attributes;
};

// Fills in `node` from a message. kStrict: false where the message is anything that check_node() might object to or
// that libprotobuf would merge; then these decide. kTrusted: of a message that libprotobuf has written.
enum class Scan : std::uint8_t { kStrict, kTrusted };
bool scan_node(std::string_view message, Scan scan, NodeView& node);

// A message's own bytes and their view.
class NodeBytes {
 public:
  void assign(const chakra::Node& node);
  const NodeView& view() const { return view_; }

 private:
  std::string bytes_;
  NodeView view_;
};

// Value as integer_of() and kind_of() of a message have it (workload/chakra/attributes.h).
std::optional<std::int64_t> integer_of(const AttributeView& attribute);
std::string_view kind_of(const AttributeView& attribute);
// The value as a double; nothing where it is no number.
std::optional<double> number_of(const AttributeView& attribute);
// True for a value that is a list.
bool is_list(const AttributeView& attribute);
// Elements of a list of integers or bools; nothing where it is none, or where one is beyond 64 signed bits.
std::optional<std::vector<std::int64_t>> integers_of(const AttributeView& attribute);
// True if both have the same value; equal bits count as equal, NaN included.
bool same_value(const AttributeView& a, const AttributeView& b);

}  // namespace orrery::workload
