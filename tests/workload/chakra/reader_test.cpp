// SPDX-License-Identifier: MIT
#include "workload/chakra/reader.h"

#include <algorithm>
#include <set>

#include <google/protobuf/descriptor.h>
#include <catch2/catch.hpp>

#include "tests/workload/chakra/bytes.h"
#include "tests/workload/chakra/contents.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::test;
using Catch::Contains;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

namespace {

std::string error_reading(const std::string& content) {
  return error_of([&] { read_chakra("rank.3.et", content); });
}

// Frame 0 is metadata, so a node given here is frame 1.
std::string error_of_node(const std::string& message) { return error_reading(frame(metadata()) + frame(message)); }

bool equal(const chakra::Node& a, const chakra::Node& b) { return a.SerializeAsString() == b.SerializeAsString(); }

struct Positions : ChakraVisitor {
  std::vector<std::uint64_t> frames, offsets;
  void node(const chakra::Node&, ChakraPosition position) override {
    frames.push_back(position.frame);
    offsets.push_back(position.offset);
  }
};

unsigned wire_type_of(const FieldDescriptor& field) {
  return static_cast<unsigned>(google::protobuf::internal::WireFormatLite::WireTypeForFieldType(
      static_cast<google::protobuf::internal::WireFormatLite::FieldType>(field.type())));
}

// A field of `number` in each of the four wire types.
std::string as_wire_type(unsigned number_of_field, unsigned type) {
  if (type == 0) return number(number_of_field, 1);
  if (type == 1) return fixed64(number_of_field);
  return type == 2 ? bytes(number_of_field, "") : fixed32(number_of_field);
}

}  // namespace

TEST_CASE("metadata and nodes come back as they were written, in the order of the file") {
  const auto contents = read_chakra("f", trace({compute_node(9), compute_node(2), compute_node(1ULL << 40)}));
  CHECK(contents.has_metadata);
  CHECK(contents.metadata.version() == "0.0.4");
  REQUIRE(contents.nodes.size() == 3);
  CHECK(equal(contents.nodes[0], compute_node(9)));
  CHECK(equal(contents.nodes[1], compute_node(2)));
  CHECK(equal(contents.nodes[2], compute_node(1ULL << 40)));
}

TEST_CASE("the same trace gzipped reads the same") {
  const auto contents = read_chakra("f", gzip(frame(metadata())) + gzip(frame(compute_node(1))));
  CHECK(contents.metadata.version() == "0.0.4");
  REQUIRE(contents.nodes.size() == 1);
}

TEST_CASE("nodes carry the frame and the byte they start at") {
  const std::string first = frame(metadata());
  const std::string second = frame(compute_node(1));
  Positions positions;
  read_chakra("f", first + second + frame(compute_node(2)), positions);
  CHECK(positions.frames == std::vector<std::uint64_t>{1, 2});
  CHECK(positions.offsets == std::vector<std::uint64_t>{first.size(), first.size() + second.size()});
}

TEST_CASE("a file without metadata starts with a node, even one whose id 0 is not written") {
  const auto contents = read_chakra("f", frame(compute_node(0)) + frame(compute_node(1)));
  CHECK_FALSE(contents.has_metadata);
  REQUIRE(contents.nodes.size() == 2);
  CHECK(contents.nodes[0].id() == 0);
  CHECK(contents.nodes[0].name() == "mm");
}

TEST_CASE("a metadata frame of no bytes and one of 40 kB are both fine") {
  const auto empty = read_chakra("f", frame("") + frame(compute_node(1)));
  CHECK(empty.has_metadata);
  CHECK(empty.nodes.size() == 1);

  chakra::GlobalMetadata large;
  auto& attribute = *large.add_attr();
  attribute.set_name("input");
  attribute.set_string_val(std::string(40'000, '<'));
  const auto contents = read_chakra("f", frame(large) + frame(compute_node(1)));
  CHECK(contents.metadata.attr(0).string_val().size() == 40'000);
  CHECK(contents.nodes.size() == 1);
}

TEST_CASE("a file without a node is an error") {
  CHECK_THAT(error_reading(""), Contains("rank.3.et: error: the file is empty"));
  CHECK_THAT(error_reading(gzip("")), Contains("the file is empty"));
  CHECK_THAT(error_reading(frame(metadata())), Contains("no node"));
  CHECK_THAT(error_reading(std::string(1, '\0')), Contains("no node"));
}

TEST_CASE("a trace cut at any byte is an error, or its first nodes where the cut is between two frames") {
  // A cut between frames cannot be told from a whole file: the format has no end mark.
  const std::vector<std::string> frames = {frame(metadata()), frame(compute_node(1)), frame(compute_node(2)),
                                           frame(compute_node(3))};
  std::string whole;
  std::vector<std::size_t> ends;
  for (const std::string& one : frames) {
    whole += one;
    ends.push_back(whole.size());
  }
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    const auto boundary = std::ranges::find(ends, length);
    if (boundary == ends.end() || boundary == ends.begin()) {
      CHECK_THAT(error_reading(cut), Contains("rank.3.et: error: "));
    } else {
      CHECK(read_chakra("f", cut).nodes.size() == static_cast<std::size_t>(boundary - ends.begin()));
    }
  }
}

TEST_CASE("any single byte changed to any value is read or refused, never worse") {
  const std::string whole = trace({compute_node(1), compute_node(2)});
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      if (!error_reading(changed).empty()) ++refused;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("a truncated frame says where, how much was expected and how much is there") {
  const std::string first = frame(metadata());
  const std::string node = frame(compute_node(1));
  const std::string error = error_reading(first + node + node.substr(0, 5));
  // 5 bytes of the last frame are there, one of them its length.
  CHECK_THAT(error, Contains("frame 2 at byte " + std::to_string(first.size() + node.size())) &&
                        Contains("length is " + std::to_string(node.size() - 1) + " bytes, but only 4 are left") &&
                        Contains("hint: the file was cut"));
}

TEST_CASE("an absurd length is refused without allocating it") {
  const std::string good = trace({compute_node(1)});
  CHECK_THAT(error_reading(good + varint(0xFFFFFFFFu) + "x"), Contains("4294967295 bytes, but only 1 are left"));
  CHECK_THAT(error_reading(good + varint(0x1FFFFFFFFu) + "x"), Contains("no frame length here"));
  CHECK_THAT(error_reading(good + std::string(6, '\xFF')), Contains("no frame length here"));
  CHECK_THAT(error_reading(good + "\xFF"), Contains("ends inside the length of a frame"));
}

TEST_CASE("a tail of zeros is padding, a single empty frame is an empty node") {
  const std::string good = trace({compute_node(1)});
  CHECK_THAT(error_reading(good + std::string(4096, '\0')), Contains("ends in 4096 zero bytes"));
  CHECK(read_chakra("f", good + std::string(1, '\0')).nodes.size() == 2);
}

TEST_CASE("two traces concatenated are refused") {
  chakra::GlobalMetadata second;
  auto& attribute = *second.add_attr();
  attribute.set_name("schema");
  attribute.set_string_val("1.0.2-chakra.0.0.4");
  const std::string good = trace({compute_node(1)});
  CHECK_THAT(error_reading(good + frame(second) + frame(compute_node(2))), Contains("second metadata frame"));
  CHECK_THAT(error_reading(good + good), Contains("frame 2") && Contains("field id (1) is length-delimited"));
}

TEST_CASE("every known field in a wrong wire type is an error that names it") {
  struct Level {
    const Descriptor* message;
    std::function<std::string(const std::string&)> wrap;
  };
  std::vector<Level> levels = {
      {chakra::Node::descriptor(), [](const std::string& m) { return m; }},
      {chakra::IOInfo::descriptor(), [](const std::string& m) { return bytes(8, m); }},
      {chakra::IOInfo::descriptor(), [](const std::string& m) { return bytes(9, m); }},
      {chakra::AttributeProto::descriptor(), [](const std::string& m) { return bytes(10, m); }},
  };
  for (int i = 0; i < chakra::AttributeProto::descriptor()->field_count(); ++i) {
    const auto* field = chakra::AttributeProto::descriptor()->field(i);
    const auto number_of_field = static_cast<unsigned>(field->number());
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      levels.push_back(
          {field->message_type(), [=](const std::string& m) { return bytes(10, bytes(number_of_field, m)); }});
  }

  std::size_t checked = 0;
  for (const Level& level : levels) {
    for (int i = 0; i < level.message->field_count(); ++i) {
      const FieldDescriptor& field = *level.message->field(i);
      for (const unsigned type : {0u, 1u, 2u, 5u}) {
        const bool right = type == wire_type_of(field) || (type == 2 && field.is_packable());
        const std::string error = error_of_node(level.wrap(as_wire_type(static_cast<unsigned>(field.number()), type)));
        if (right) {
          CHECK(error.empty());
        } else {
          CHECK_THAT(error, Contains("frame 1") &&
                                Contains("field " + field.name() + " (" + std::to_string(field.number()) + ")"));
        }
        ++checked;
      }
    }
  }
  // 10 fields of a node, twice 3 of IOInfo, 32 of an attribute, 15 lists of one.
  CHECK(checked == 4 * (10 + 6 + 32 + 15));
}

TEST_CASE("a number that its field would cut to 32 bits is an error") {
  // An attribute is field 10; comm_size as int32 (7), uint32 (11), sint32 (15), bool (27), and the lists after them.
  const std::uint64_t wide = std::uint64_t{1} << 32;
  for (const unsigned field : {7u, 11u, 15u}) {
    CHECK_THAT(error_of_node(bytes(10, number(field, wide))), Contains("out of the range of its type"));
    CHECK_THAT(error_of_node(bytes(10, bytes(field + 1, bytes(1, varint(wide))))),
               Contains("out of the range of its type"));
  }
  CHECK_THAT(error_of_node(bytes(10, number(27, 2))), Contains("bool_val"));
  CHECK_THAT(error_of_node(number(3, wide + 4)), Contains("field type (3)"));
  CHECK(error_of_node(bytes(10, number(7, ~std::uint64_t{0}))).empty());  // -1
}

TEST_CASE("text that is not UTF-8 is an error, bytes may be anything") {
  CHECK_THAT(error_of_node(bytes(2, "\xFF")), Contains("field name (2) is text that is not UTF-8"));
  CHECK_THAT(error_of_node(bytes(10, bytes(29, "\xC3"))), Contains("in attr: field string_val (29)"));
  CHECK(error_of_node(bytes(10, bytes(31, "\xFF"))).empty());
}

TEST_CASE("unknown fields are skipped, malformed ones are not") {
  const std::string good = compute_node(1).SerializeAsString();
  CHECK(error_of_node(good + bytes(11, "future") + number(500, 3) + fixed32(33)).empty());
  CHECK(error_of_node(good + bytes(8, bytes(4, "strides"))).empty());
  CHECK_THAT(error_of_node(good + tag(11, 3)), Contains("bytes that are not a protobuf field"));
  CHECK_THAT(error_of_node(good + tag(2, 2) + varint(1000)), Contains("bytes that are not a protobuf field"));
}

TEST_CASE("types beyond the known ones are handed on") {
  const auto contents = read_chakra("f", frame(metadata()) + frame(number(1, 1) + number(3, 9)));
  CHECK(static_cast<int>(contents.nodes[0].type()) == 9);
}

TEST_CASE("one large node does not disturb the small ones after it") {
  chakra::Node large = compute_node(1);
  for (std::uint64_t i = 0; i < 50'000; ++i) large.add_data_deps(i + 100);
  const auto contents = read_chakra("f", trace({large, compute_node(2)}));
  CHECK(contents.nodes[0].data_deps_size() == 50'000);
  CHECK(equal(contents.nodes[1], compute_node(2)));
}
