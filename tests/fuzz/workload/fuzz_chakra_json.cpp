// SPDX-License-Identifier: MIT
// Any bytes as the JSON form of a trace. What is read must survive a trip through the binary form: the reader may not
// build a message that the format cannot hold.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/chakra_sink.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"
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

ORRERY_FUZZER(fuzz_chakra_json, input) {
  orrery::fuzz::check_refusals([&] {
    RoundTrip sink;
    orrery::workload::read_chakra_json("fuzzed.json", input, sink);
  });
}
