// SPDX-License-Identifier: MIT
// Looks at everything a trace holds the way the graph builder does, so that the fuzzers reach the attributes as well.
#pragma once

#include <string>

#include "core/error.h"
#include "workload/chakra/attributes.h"
#include "workload/chakra/reader.h"

namespace orrery::test {

class ChakraSink : public workload::ChakraVisitor {
 public:
  void node(const chakra::Node& node, workload::ChakraPosition) override {
    const workload::ChakraAttributes attributes(file_, node);
    for (const auto& attribute : node.attr()) {
      tried([&] { attributes.integer(attribute.name()); });
      tried([&] { attributes.number(attribute.name()); });
      tried([&] { attributes.flag(attribute.name()); });
      tried([&] { attributes.flags(attribute.name()); });
      tried([&] { attributes.text(attribute.name()); });
      tried([&] { attributes.label(attribute.name()); });
      if (++looked_at_ > kEnough) return;
    }
  }

 private:
  // Lookups are linear in the attributes of a node; the fuzzer's time is better spent on reading.
  static constexpr int kEnough = 200;

  template <class Look>
  static void tried(const Look& look) {
    try {
      look();
    } catch (const InputError&) {
    }
  }

  std::string file_ = "fuzzed.et";
  int looked_at_ = 0;
};

}  // namespace orrery::test
