// The JSON forms of a Chakra trace:
//
//   (a) protobuf's JSON of GlobalMetadata and of each node, one object after another with nothing between them, as
//       chakra_jsonizer writes it;
//
//   (b) the v1 feeder's {"workload_graph": [{"Id", "Name", "NodeType", "data_deps", "runtime", ...}], ...};
//
//   (c) the symbolic tensor graph's {"nodes": [{"id", "name", "node_type": "comp_node", "num_ops", ...}]}, or the list
//       alone.
//
// Keys are matched without regard to case and underscores, 64-bit integers may be strings, enums names or numbers;
// unknown keys are ignored. Each node becomes the same chakra::Node the binary form would give.
#pragma once

#include <string>
#include <string_view>

#include "workload/chakra/reader.h"

namespace orrery {

// Errors carry line and column of what is wrong, or of the object it is in. Nesting beyond 64 levels is refused.
void read_chakra_json(const std::string& file, std::string_view text, ChakraVisitor& visitor);

}  // namespace orrery
