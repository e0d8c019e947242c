// SPDX-License-Identifier: MIT
#include "workload/chakra/wire.h"

#include <vector>

#include <catch2/catch.hpp>

#include "tests/workload/chakra/bytes.h"
#include "tests/workload/chakra/contents.h"
#include "workload/chakra/reader.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::test;
using Catch::Contains;

namespace {

std::string error_reading(const std::string& content) {
  return error_of([&] { read_chakra("old.0.et", content); });
}

// Nodes as the proto2 writers made them: zeros are written, lists are not packed.
std::string head(std::uint64_t id) { return number(1, id) + bytes(2, "node") + number(3, 3) + number(4, 0); }

std::string node_001(std::uint64_t id) { return head(id) + number(7, 100) + number(12, 64) + number(20, 0); }

// An attribute of `type`; its value stands in field 4 + type.
std::string old_attribute(std::string_view name, unsigned type, const std::string& value) {
  return bytes(11, bytes(1, name) + number(2, type) + value);
}

const std::string kNode002 = head(1) + bytes(5, "inputs") + old_attribute("comm_size", 1, number(5, 1024)) +
                             old_attribute("op", 2, bytes(6, "mm"));
const std::string kNode003 = head(1) + old_attribute("is_cpu_op", 0, number(4, 1)) +
                             old_attribute("comm_size", 2, number(6, 1024)) + old_attribute("op", 3, bytes(7, "mm"));
const std::string kNode003u =
    head(1) + old_attribute("comm_size", 3, number(7, 1024)) + old_attribute("op", 4, bytes(8, "mm"));

}  // namespace

TEST_CASE("each old schema is refused by its name, with a way out") {
  const std::string metadata_003 = frame(bytes(1, bytes(1, "schema") + number(2, 4) + bytes(8, "0.0.3")));
  const std::pair<std::string, const char*> cases[] = {
      {frame(node_001(0)) + frame(node_001(1)), "old Chakra schema 0.0.1;"},
      {frame(kNode002), "old Chakra schema 0.0.2;"},
      {frame(kNode003), "old Chakra schema 0.0.3;"},
      {frame(kNode003u), "old Chakra schema 0.0.3 (with uint attributes);"},
      {metadata_003 + frame(kNode003u), "0.0.3 (with uint attributes);"},
      {metadata_003 + frame(head(1)), "0.0.3 (with uint attributes);"},
      {frame("") + frame(kNode003), "old Chakra schema 0.0.3;"},
      {frame(head(0)), "0.0.1, 0.0.2 or 0.0.3;"},
  };
  for (const auto& [content, expected] : cases) {
    const std::string error = error_reading(content);
    CHECK_THAT(error, Contains("old.0.et: error:") && Contains(expected) && Contains("hint: export the trace again"));
  }
}

TEST_CASE("an old attribute that fits several versions names them all") {
  // Type 1 with a 32-bit value is FLOAT in both 0.0.3 forms; in 0.0.2 it is INT, a varint.
  CHECK_THAT(error_reading(frame(head(1) + old_attribute("x", 1, fixed32(5)))),
             Contains("0.0.3 or 0.0.3 (with uint attributes);"));
}

TEST_CASE("current files are never taken for old ones") {
  chakra::Node bare;
  bare.set_id(3);
  bare.set_type(chakra::COMP_NODE);
  chakra::Node with_deps = bare;
  with_deps.add_data_deps(1);
  with_deps.add_ctrl_deps(0);
  chakra::Node zero;
  zero.set_name("id 0, which proto3 does not write");
  zero.set_type(chakra::COMP_NODE);
  const std::string storage = bare.SerializeAsString() + bytes(11, bytes(1, "disk") + number(3, 7));
  const std::string unpacked = compute_node(4).SerializeAsString() + number(4, 1) + number(5, 2) + number(5, 0);

  const std::string files[] = {frame(bare),
                               frame(zero) + frame(bare),
                               frame(with_deps),
                               frame(metadata()) + frame(bare),
                               frame("") + frame(bare),
                               frame(compute_node(0)) + frame(compute_node(1)),
                               frame(storage),
                               frame(unpacked),
                               frame(metadata()) + frame(head(0))};
  for (const std::string& content : files) CHECK(error_reading(content).empty());
}

TEST_CASE("unpacked dependencies are read like packed ones") {
  const std::string unpacked = compute_node(4).SerializeAsString() + number(4, 1) + number(5, 2) + number(5, 0);
  const auto contents = read_chakra("f", frame(unpacked));
  REQUIRE(contents.nodes.size() == 1);
  CHECK(contents.nodes[0].ctrl_deps_size() == 1);
  REQUIRE(contents.nodes[0].data_deps_size() == 2);
  CHECK(contents.nodes[0].data_deps(0) == 2);
  CHECK(contents.nodes[0].data_deps(1) == 0);
}
