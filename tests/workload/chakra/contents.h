// SPDX-License-Identifier: MIT
// A whole trace in memory.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workload/chakra/reader.h"

namespace orrery::test {

struct ChakraContents {
  bool has_metadata = false;
  chakra::GlobalMetadata metadata;
  std::vector<chakra::Node> nodes;
};

inline ChakraContents read_chakra(const std::string& file, std::string_view bytes) {
  struct Collector final : workload::ChakraVisitor {
    ChakraContents contents;
    void metadata(const chakra::GlobalMetadata& metadata) override {
      contents.has_metadata = true;
      contents.metadata = metadata;
    }
    void node(const chakra::Node& node, workload::ChakraPosition) override { contents.nodes.push_back(node); }
  };
  Collector collector;
  workload::read_chakra(file, bytes, collector);
  return std::move(collector.contents);
}

}  // namespace orrery::test
