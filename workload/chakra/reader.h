// SPDX-License-Identifier: MIT
// Reads a Chakra execution trace: binary frames (schema 0.0.4, "1.0.0" is the same), their JSON forms, either of them
// gzipped. The form is recognised by content, never by the file's name. Nodes are handed out one at a time in the order
// of the file, in one reused message, so memory stays flat. What a node means is not judged here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "workload/chakra/chakra.pb.h"
#include "workload/chakra/node_view.h"

namespace orrery::workload {

// Place of a message in its file, counted from 0. `offset` is in bytes after decompression: of the frame's length in a
// binary file, of the object's brace in JSON.
struct ChakraPosition {
  std::uint64_t frame = 0;
  std::uint64_t offset = 0;
};

class ChakraVisitor {
 public:
  virtual ~ChakraVisitor() = default;

  // Called once and first, unless the file has no metadata (that is legal).
  virtual void metadata(const chakra::GlobalMetadata& /*metadata*/) {}

  // The node is valid during the call only.
  virtual void node(const chakra::Node& node, ChakraPosition position) = 0;
};

// Takes nodes as views, which costs a third. They are valid during the call only.
class NodeViewVisitor : public ChakraVisitor {
 public:
  virtual void view(const NodeView& node, ChakraPosition position) = 0;
  void node(const chakra::Node& node, ChakraPosition position) final {
    bytes_.assign(node);
    view(bytes_.view(), position);
  }

 private:
  NodeBytes bytes_;
};

// Walks the trace in `bytes`; `file` is for messages. InputError when it is empty, truncated, corrupt, of an old
// schema, of another format, or has no node. A binary file cut exactly between two frames cannot be told from a whole
// one: the format has no end mark; the missing nodes show as unknown dependencies, if at all.
void read_chakra(const std::string& file, std::string_view bytes, ChakraVisitor& visitor);

// The same for a trace in one of Chakra's JSON forms (json.cpp). Errors carry line and column of what is wrong, or of
// the object it is in. Nesting beyond 64 levels is refused.
void read_chakra_json(const std::string& file, std::string_view text, ChakraVisitor& visitor);

}  // namespace orrery::workload
