// Typed access to the attributes of a Chakra node. Producers write the same attribute as int32, int64, uint64 or bool:
// every integer kind is an integer here. An attribute without a value counts as absent. All errors are InputErrors that
// name the file, the node's id and name, the attribute, what was found and what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/chakra/chakra.pb.h"

namespace orrery {

// A view of one node's attributes: `file` and `node` must outlive it.
class ChakraAttributes {
 public:
  ChakraAttributes(const std::string& file, const chakra::Node& node) : file_(file), node_(node) {}

  // nullptr when absent or without a value. An attribute given twice with different values is an error.
  const chakra::AttributeProto* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // Any integer kind, a bool as 0 or 1, a float or double with an integral value. Beyond 64 signed bits is an error.
  std::optional<std::int64_t> integer(std::string_view name) const;
  // Any integer kind, bool, float or double. Not finite is an error.
  std::optional<double> number(std::string_view name) const;
  // A bool, or an integer that is 0 or 1.
  std::optional<bool> flag(std::string_view name) const;
  // A list of bools, or of integers that are 0 or 1.
  std::optional<std::vector<bool>> flags(std::string_view name) const;
  // A string. Valid as long as the node.
  std::optional<std::string_view> text(std::string_view name) const;
  // A string as it is, or an integer in decimal: communicator groups are named either way.
  std::optional<std::string> label(std::string_view name) const;

 private:
  [[noreturn]] void fail(std::string_view name, const std::string& found, std::string_view expected) const;

  const std::string& file_;
  const chakra::Node& node_;
};

// The attribute of a trace's metadata that says how many ranks the job has. Orrery writes it; Chakra itself has none.
inline constexpr std::string_view kWorldSize = "world_size";

// As ChakraAttributes::integer(); nothing where the value is none.
std::optional<std::int64_t> integer_of(const chakra::AttributeProto& attribute);

// The kind of an attribute's value as Chakra spells it without the suffix: "int64", "bool_list", ...; "" without a
// value.
std::string_view kind_of(const chakra::AttributeProto& attribute);

// "node 12 "aten::mm"": how messages name a node.
std::string describe(const chakra::Node& node);

}  // namespace orrery
