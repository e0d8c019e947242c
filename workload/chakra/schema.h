// Which schema a binary Chakra trace was written with, told by the shape of its messages: files do not declare it
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
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace orrery {

// The name of the old schema the frames are of ("0.0.1", "0.0.2", "0.0.3", "0.0.3 (with uint attributes)", or a choice
// of them); "" for the current one or when nothing speaks against it. `frames` are the first messages of a file,
// metadata included; a few hundred are plenty.
std::string old_schema(std::span<const std::string_view> frames);

}  // namespace orrery
