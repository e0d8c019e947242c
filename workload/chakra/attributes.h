// SPDX-License-Identifier: MIT
// Typed access to the attributes of a Chakra node. Producers write the same attribute as int32, int64, uint64 or bool:
// every integer kind is an integer here. An attribute without a value counts as absent. All errors are InputErrors that
// name the file, the node's id and name, the attribute, what was found and what was expected.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <google/protobuf/message.h>

#include "core/assert.h"
#include "workload/chakra/chakra.pb.h"
#include "workload/chakra/node_view.h"

namespace orrery::workload {

// A view of one node's attributes: `file` and `node` must outlive it.
class ChakraAttributes {
 public:
  ChakraAttributes(const std::string& file, const NodeView& node) : file_(file), node_(&node) {}
  // Attributes of a message, whose bytes it keeps.
  ChakraAttributes(const std::string& file, const chakra::Node& node)
      : file_(file), own_(std::make_shared<NodeBytes>()), node_(&own_->view()) {
    own_->assign(node);
  }

  // nullptr when absent or without a value. An attribute given twice with different values is an error.
  const AttributeView* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // Any integer kind, a bool as 0 or 1, a float or double with an integral value. Beyond 64 signed bits is an error.
  std::optional<std::int64_t> integer(std::string_view name) const;
  // Any integer kind, bool, float or double. Not finite is an error.
  std::optional<double> number(std::string_view name) const;
  // A bool, or an integer that is 0 or 1.
  std::optional<bool> flag(std::string_view name) const;
  // A list of bools, or of integers that are 0 or 1.
  std::optional<std::vector<bool>> flags(std::string_view name) const;
  // A string. Valid as long as the node, or as this if it keeps the bytes.
  std::optional<std::string_view> text(std::string_view name) const;
  // A string as it is, or an integer in decimal: communicator groups are named either way.
  std::optional<std::string> label(std::string_view name) const;

 private:
  // Value that `convert` makes of the attribute; an error if it makes nothing.
  template <class Convert>
  auto read(std::string_view name, std::string_view expected, Convert convert) const
      -> decltype(convert(std::declval<const AttributeView&>()));
  [[noreturn]] void fail(std::string_view name, const std::string& found, std::string_view expected) const;

  const std::string& file_;
  std::shared_ptr<NodeBytes> own_;  // null: others keep them
  const NodeView* node_;
};

// The attribute of a trace's metadata that says how many ranks the job has. Orrery writes it; Chakra itself has none.
inline constexpr std::string_view kWorldSize = "world_size";

// Integer as ChakraAttributes::integer() has it; nothing where the value is none.
std::optional<std::int64_t> integer_of(const chakra::AttributeProto& attribute);

// The field that holds an attribute's value, a list of them is a message with the field "values"; nullptr without one.
const google::protobuf::FieldDescriptor* value_field(const chakra::AttributeProto& attribute);

// Calls `act` with element `index` of a field, or with the field itself where `index` is -1: a 32- or 64-bit integer, a
// bool, float, double or std::string.
template <class Act>
auto visit_value(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field, int index,
                 Act act) {
  using Field = google::protobuf::FieldDescriptor;
  using R = google::protobuf::Reflection;
  const R& reflection = *message.GetReflection();
  const auto get = [&](auto one, auto element) {
    return act(index < 0 ? (reflection.*one)(message, &field) : (reflection.*element)(message, &field, index));
  };
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return get(&R::GetInt32, &R::GetRepeatedInt32);
    case Field::CPPTYPE_INT64:
      return get(&R::GetInt64, &R::GetRepeatedInt64);
    case Field::CPPTYPE_UINT32:
      return get(&R::GetUInt32, &R::GetRepeatedUInt32);
    case Field::CPPTYPE_UINT64:
      return get(&R::GetUInt64, &R::GetRepeatedUInt64);
    case Field::CPPTYPE_DOUBLE:
      return get(&R::GetDouble, &R::GetRepeatedDouble);
    case Field::CPPTYPE_FLOAT:
      return get(&R::GetFloat, &R::GetRepeatedFloat);
    case Field::CPPTYPE_BOOL:
      return get(&R::GetBool, &R::GetRepeatedBool);
    case Field::CPPTYPE_STRING:
      return get(&R::GetString, &R::GetRepeatedString);
    default:
      ORRERY_ASSERT(false);
  }
}

// The kind of an attribute's value as Chakra spells it without the suffix: "int64", "bool_list", ...; "" without a
// value.
std::string_view kind_of(const chakra::AttributeProto& attribute);

// "node 12 "aten::mm"": how messages name a node.
std::string describe(const chakra::Node& node);
std::string describe(const NodeView& node);

}  // namespace orrery::workload
