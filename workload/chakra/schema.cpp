// SPDX-License-Identifier: MIT
// Schema with which a binary Chakra trace was written, told by the shape of its messages: files do not declare it
// reliably, and files of the old schemas parse without an error into wrong values.
//
//   0.0.1 (2023-01): no metadata frame; costs and communication in varint fields 12..20 of the node.
//
//   0.0.2 (2023-06): attributes in field 11, with an explicit type in their field 2; inputs and outputs are strings in
//       5..10.
//
//   0.0.3 (2023-07): the same with one more attribute type (bool), later with two (bool, uint); the metadata has its
//       attributes in field 1.
//
//   0.0.4 (2023-10): attributes in field 10, dependencies packed in 4 and 5. "1.0.0" is the same on the wire.
#include <array>
#include <cstdint>
#include <optional>

#include "workload/chakra/wire.h"

namespace orrery::workload {
namespace {

// The AttributeType enums of the proto2 schemas. An attribute of type t has its value in field 4 + t, in this wire
// form; 'v' varint, 'f' 32-bit, 's' length-delimited. (FLOAT INT STRING + lists; then BOOL in front; then UINT after
// FLOAT.)
struct OldAttributes {
  std::string_view schema;
  std::string_view forms;
};
constexpr std::array<OldAttributes, 3> kOldAttributes = {
    {{"0.0.2", "fvsfvs"}, {"0.0.3", "vfvsvfvs"}, {"0.0.3 (with uint attributes)", "vfvvsvfvvs"}}};

constexpr std::uint32_t kFirstOldValue = 4;

bool has_form(WireType type, char form) {
  switch (form) {
    case 'v':
      return type == WireType::kVarint;
    case 'f':
      return type == WireType::kFixed32;
    default:
      return type == WireType::kBytes;
  }
}

// Set of kOldAttributes that an attribute may belong to, as bits; empty if it is no proto2 attribute at all.
std::optional<unsigned> old_attribute(std::string_view message) {
  std::optional<std::uint64_t> type;
  std::optional<WireField> value;
  while (!message.empty()) {
    const auto field = take_field(message);
    if (!field) return std::nullopt;
    if (field->number == 2 && field->type == WireType::kVarint) type = field->value;
    if (field->number >= kFirstOldValue) value = field;
  }
  if (!type) return std::nullopt;
  if (!value) return (1u << kOldAttributes.size()) - 1;
  if (value->number != kFirstOldValue + *type) return std::nullopt;
  unsigned candidates = 0;
  for (std::size_t i = 0; i < kOldAttributes.size(); ++i) {
    const std::string_view forms = kOldAttributes[i].forms;
    if (*type < forms.size() && has_form(value->type, forms[*type])) candidates |= 1u << i;
  }
  if (candidates == 0) return std::nullopt;
  return candidates;
}

// Evidence of the schema in all messages of a file together.
class Evidence {
 public:
  void add_metadata(std::string_view message) {
    while (!message.empty()) {
      const auto field = take_field(message);
      const auto candidates = field->number == 1 ? old_attribute(field->payload) : std::nullopt;
      if (candidates) narrow(*candidates);
      (candidates ? old_metadata_ : current_metadata_) = true;
    }
  }

  void add_node(std::string_view message) {
    bool has_id = false;
    while (!message.empty()) {
      const auto field = take_field(message);
      if (!field) return void(every_node_has_id_ = false);
      if (field->number == 1 && field->type == WireType::kVarint) has_id = true;
      add_field(*field);
    }
    if (!has_id) every_node_has_id_ = false;
  }

  std::string verdict(bool has_metadata) const {
    if (current_metadata_) return "";
    // proto2 writes every id, 0 as well. A frame without is of no old schema, or no node at all.
    if (!every_node_has_id_) return "";
    if (old_metadata_) return names();
    if (attribute_in_10_) return "";
    if (attribute_in_11_ || text_in_6_or_7_) return names();
    if (!has_metadata && varint_in_12_to_20_) return "0.0.1";
    // proto3 writes no zeros and packs lists; proto2 does the opposite.
    if (!packed_in_4_ && (unpacked_in_4_ || explicit_zero_)) return has_metadata ? names() : "0.0.1, 0.0.2 or 0.0.3";
    return "";
  }

 private:
  void add_field(const WireField& field) {
    const bool varint = field.type == WireType::kVarint;
    const bool bytes = field.type == WireType::kBytes;
    if (field.number == 4 && bytes) packed_in_4_ = true;
    if (field.number == 4 && varint) unpacked_in_4_ = true;
    if (varint && field.value == 0 && field.number != 4 && field.number != 5) explicit_zero_ = true;
    if ((field.number == 6 || field.number == 7) && bytes) text_in_6_or_7_ = true;
    if (field.number == 10 && bytes && field.payload.starts_with('\x0A')) attribute_in_10_ = true;
    if (field.number >= 12 && field.number <= 20 && varint) varint_in_12_to_20_ = true;
    if (field.number != 11 || !bytes) return;
    if (const auto candidates = old_attribute(field.payload)) {
      attribute_in_11_ = true;
      narrow(*candidates);
    }
  }

  void narrow(unsigned candidates) {
    if ((candidates_ & candidates) != 0) candidates_ &= candidates;
  }

  std::string names() const {
    std::string text;
    for (std::size_t i = 0; i < kOldAttributes.size(); ++i) {
      if ((candidates_ >> i & 1u) == 0) continue;
      if (!text.empty()) text += " or ";
      text += kOldAttributes[i].schema;
    }
    return text;
  }

  bool every_node_has_id_ = true;
  bool current_metadata_ = false;
  bool old_metadata_ = false;
  bool packed_in_4_ = false;
  bool unpacked_in_4_ = false;
  bool explicit_zero_ = false;
  bool text_in_6_or_7_ = false;
  bool attribute_in_10_ = false;
  bool attribute_in_11_ = false;
  bool varint_in_12_to_20_ = false;
  unsigned candidates_ = (1u << kOldAttributes.size()) - 1;
};

}  // namespace

std::string old_schema(std::span<const std::string_view> frames) {
  if (frames.empty()) return "";
  Evidence evidence;
  const bool has_metadata = has_metadata_shape(frames[0]);
  if (has_metadata) evidence.add_metadata(frames[0]);
  for (const std::string_view frame : frames.subspan(has_metadata ? 1 : 0)) evidence.add_node(frame);
  return evidence.verdict(has_metadata);
}

}  // namespace orrery::workload
