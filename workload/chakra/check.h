// Checks that a message is what schema 0.0.4 says, field by field, before libprotobuf reads it. libprotobuf alone would
// turn a field of another wire type into "absent", cut a wide integer to 32 bits, and log to stderr about text that is
// not UTF-8. Unknown fields are fine.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace orrery {

struct WireProblem {
  std::size_t offset = 0;  // in the message
  std::string text;        // "field attr.int32_val (7) is ..., expected ..."
};

std::optional<WireProblem> check_node(std::string_view message);
std::optional<WireProblem> check_metadata(std::string_view message);

// Whether every field is length-delimited and numbered 1 or 2, as in GlobalMetadata (and in the empty message).
bool has_metadata_shape(std::string_view message);

// Whether a message in the place of a node is a metadata frame with attributes: two traces were concatenated.
bool is_stray_metadata(std::string_view message);

}  // namespace orrery
