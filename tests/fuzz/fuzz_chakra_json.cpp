// SPDX-License-Identifier: MIT
// Any bytes as the JSON form of a trace. What is read must survive a trip through the binary form: the reader may not
// build a message that the format cannot hold.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/chakra_sink.h"
#include "workload/chakra/reader.h"
#include "workload/chakra/wire.h"

namespace {

class RoundTrip : public orrery::test::ChakraSink {
 public:
  void node(const orrery::chakra::Node& node, orrery::workload::ChakraPosition position) override {
    ChakraSink::node(node, position);
    if (orrery::workload::check_node(node.SerializeAsString())) std::abort();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    RoundTrip sink;
    orrery::workload::read_chakra_json("fuzzed.json", {reinterpret_cast<const char*>(data), size}, sink);
  } catch (const orrery::InputError&) {
  }
  return 0;
}
