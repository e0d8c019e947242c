// SPDX-License-Identifier: MIT
#include "workload/chakra/reader.h"

#include <cmath>

#include <google/protobuf/util/json_util.h>
#include <catch2/catch.hpp>

#include "tests/workload/chakra/bytes.h"
#include "tests/workload/chakra/contents.h"
#include "workload/chakra/attributes.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::test;
using Catch::Contains;
using Catch::StartsWith;
using google::protobuf::FieldDescriptor;

namespace {

ChakraContents read(const std::string& text) { return read_chakra("trace.json", text); }

std::string error_reading(const std::string& text) {
  return error_of([&] { read(text); });
}

// protobuf's own JSON, which chakra_jsonizer writes.
std::string json_of(const google::protobuf::Message& message, bool snake_case = false) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = snake_case;
  std::string text;
  REQUIRE(google::protobuf::util::MessageToJsonString(message, &text, options).ok());
  return text;
}

void set_example(google::protobuf::Message& message, const FieldDescriptor& field) {
  using R = google::protobuf::Reflection;
  const R& reflection = *message.GetReflection();
  const auto put = [&](auto set, auto add, auto value) {
    if (field.is_repeated())
      (reflection.*add)(&message, &field, value);
    else
      (reflection.*set)(&message, &field, value);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(&R::SetInt32, &R::AddInt32, INT32_MIN);
    case FieldDescriptor::CPPTYPE_INT64:
      return put(&R::SetInt64, &R::AddInt64, INT64_MIN);
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(&R::SetUInt32, &R::AddUInt32, UINT32_MAX);
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(&R::SetUInt64, &R::AddUInt64, UINT64_MAX);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(&R::SetDouble, &R::AddDouble, 0.1);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(&R::SetFloat, &R::AddFloat, 0.1f);
    case FieldDescriptor::CPPTYPE_BOOL:
      return put(&R::SetBool, &R::AddBool, true);
    case FieldDescriptor::CPPTYPE_STRING:
      return put(
          &R::SetString, &R::AddString,
          field.type() == FieldDescriptor::TYPE_BYTES ? std::string("\xFF\0{", 3) : std::string("a\"}\\ \n\xC3\xA9"));
    default:
      FAIL("an attribute of an unexpected type");
  }
}

// A node with one attribute of every kind there is, twice in the lists.
chakra::Node node_of_all_kinds() {
  chakra::Node node = compute_node(1ULL << 60, "aten::mm {[\"x\"]}");
  node.add_data_deps(3);
  node.add_ctrl_deps(UINT64_MAX);
  node.mutable_inputs()->set_values("[1, 2]");
  node.mutable_outputs()->set_types("Tensor");
  const auto* descriptor = chakra::AttributeProto::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    if (field->containing_oneof() == nullptr) continue;
    auto& attribute = *node.add_attr();
    attribute.set_name(field->name());
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      set_example(attribute, *field);
      continue;
    }
    auto& list = *attribute.GetReflection()->MutableMessage(&attribute, field);
    set_example(list, *list.GetDescriptor()->field(0));
    set_example(list, *list.GetDescriptor()->field(0));
  }
  return node;
}

}  // namespace

TEST_CASE("protobuf's JSON of a trace reads like the binary trace, for every kind of attribute") {
  const chakra::Node node = node_of_all_kinds();
  REQUIRE(node.attr_size() == 1 + 30);
  for (const bool snake_case : {false, true}) {
    const auto contents =
        read(json_of(metadata(), snake_case) + json_of(node, snake_case) + json_of(compute_node(2), snake_case));
    CHECK(contents.metadata.version() == "0.0.4");
    REQUIRE(contents.nodes.size() == 2);
    CHECK(contents.nodes[0].SerializeAsString() == node.SerializeAsString());
    CHECK(contents.nodes[1].SerializeAsString() == compute_node(2).SerializeAsString());
  }
}

TEST_CASE("protobuf's JSON may start with a node, or with empty metadata") {
  CHECK_FALSE(read(json_of(compute_node(1))).has_metadata);
  CHECK(read("{}" + json_of(compute_node(1))).has_metadata);
  CHECK(read("\xEF\xBB\xBF\n {}\n" + json_of(compute_node(1)) + "\n\n").nodes.size() == 1);
  CHECK(read(gzip(json_of(compute_node(1)))).nodes.size() == 1);
}

TEST_CASE("integers may be numbers or strings and enums names or numbers") {
  for (const char* text :
       {R"({"id": 5, "type": 4, "durationMicros": "7"})", R"({"id": "5", "type": "COMP_NODE", "durationMicros": 7})",
        R"({"id": 5.0, "type": "4", "durationMicros": 7e0})"}) {
    const auto contents = read(text);
    REQUIRE(contents.nodes.size() == 1);
    CHECK(contents.nodes[0].id() == 5);
    CHECK(contents.nodes[0].type() == chakra::COMP_NODE);
    CHECK(contents.nodes[0].duration_micros() == 7);
  }
}

TEST_CASE("special floating-point values are read from protobuf's strings") {
  const auto contents = read(R"({"id":1,"attr":[{"name":"a","doubleVal":"NaN"},{"name":"b","floatVal":"-Infinity"}]})");
  CHECK(std::isnan(contents.nodes[0].attr(0).double_val()));
  CHECK(contents.nodes[0].attr(1).float_val() == -HUGE_VALF);
}

TEST_CASE("the v1 feeder's JSON becomes the same kind of nodes") {
  const auto contents = read(R"({
    "workload_graph": [
      {"Id": 1, "Name": "compute", "NodeType": 4, "ctrlDeps": [], "data_deps": [], "runtime": 120,
       "is_cpu_op": false, "num_ops": 1000, "tensor_size": 64, "whatever": {"nested": [1]}},
      {"Id": 2, "Name": "reduce", "NodeType": 7, "ctrl_deps": [1], "data_deps": [1], "runtime": 0, "is_cpu_op": 0,
       "comm_type": 0, "comm_size": 1048576, "comm_priority": 0, "pg_name": "1", "involved_dim": [true, false]},
      {"Id": 3, "Name": "send", "NodeType": 5, "dataDeps": [2], "comm_src": 0, "comm_dst": 1,
       "comm_tag": 9, "comm_size": 4}
    ],
    "ngpus": 8, "schema": "text"
  })");
  CHECK_FALSE(contents.has_metadata);
  REQUIRE(contents.nodes.size() == 3);
  const std::string file = "f";

  const chakra::Node& compute = contents.nodes[0];
  CHECK(compute.name() == "compute");
  CHECK(compute.type() == chakra::COMP_NODE);
  CHECK(compute.duration_micros() == 120);
  CHECK(ChakraAttributes(file, compute).flag("is_cpu_op") == false);
  CHECK(ChakraAttributes(file, compute).integer("num_ops") == 1000);
  CHECK(ChakraAttributes(file, compute).integer("tensor_size") == 64);

  const chakra::Node& reduce = contents.nodes[1];
  CHECK(reduce.type() == chakra::COMM_COLL_NODE);
  CHECK(reduce.ctrl_deps(0) == 1);
  CHECK(ChakraAttributes(file, reduce).integer("comm_type") == chakra::ALL_REDUCE);
  CHECK(ChakraAttributes(file, reduce).integer("comm_size") == 1048576);
  CHECK(ChakraAttributes(file, reduce).text("pg_name") == "1");
  const auto dims = ChakraAttributes(file, reduce).flags("involved_dim");
  REQUIRE(dims.has_value());
  CHECK(dims->size() == 2);

  const chakra::Node& send = contents.nodes[2];
  CHECK(send.data_deps(0) == 2);
  CHECK(ChakraAttributes(file, send).integer("comm_dst") == 1);
  CHECK(ChakraAttributes(file, send).integer("comm_tag") == 9);
}

TEST_CASE("the symbolic tensor graph's JSON is read as a list or under nodes") {
  const std::string list = R"([
    {"id": 0, "name": "mm", "node_type": "comp_node", "data_deps": [], "ctrl_deps": [],
     "num_ops": 12, "tensor_size": 34},
    {"id": 1, "name": "ag", "node_type": "coll_comm_node", "data_deps": [0], "comm_size": "56",
     "comm_type": "ALL_GATHER"},
    {"id": 2, "name": "rx", "node_type": "comm_recv_node", "comm_size": 7, "comm_tag": 1, "comm_src": 3}])";
  for (const std::string& text : {list, "{\"nodes\": " + list + "}"}) {
    const auto contents = read(text);
    REQUIRE(contents.nodes.size() == 3);
    CHECK(contents.nodes[0].type() == chakra::COMP_NODE);
    CHECK(contents.nodes[1].type() == chakra::COMM_COLL_NODE);
    CHECK(ChakraAttributes("f", contents.nodes[1]).integer("comm_type") == chakra::ALL_GATHER);
    CHECK(ChakraAttributes("f", contents.nodes[1]).integer("comm_size") == 56);
    CHECK(contents.nodes[2].type() == chakra::COMM_RECV_NODE);
  }
}

TEST_CASE("a wrong value is reported at the line and column of its node") {
  const std::string error = error_reading("{\"workload_graph\": [\n  {\"Id\": 1},\n  {\"Id\": \"one\"}]}");
  CHECK_THAT(error, StartsWith("trace.json:3:3: error: \"Id\" of this node is \"one\", expected an integer from 0 to"));
  CHECK_THAT(error_reading(R"({"id":-1})"), Contains("is -1, expected an integer from 0"));
  CHECK_THAT(error_reading(R"({"id":1.5})"), Contains("is 1.5, expected an integer"));
  CHECK_THAT(error_reading(R"({"id":[1]})"), Contains("is [1], expected an integer"));
  CHECK_THAT(error_reading(R"({"id":1,"name":5})"), Contains("is 5, expected a string"));
  CHECK_THAT(error_reading(R"({"id":1,"type":"COMPUTE"})"),
             Contains("\"COMPUTE\", expected a node type of Chakra 0.0.4"));
  CHECK_THAT(error_reading(R"({"id":1,"dataDeps":5})"), Contains("is 5, expected an array"));
  CHECK_THAT(error_reading(R"({"id":1,"dataDeps":[1,"x"]})"), Contains("[1] is \"x\", expected an integer"));
  CHECK_THAT(error_reading(R"({"id":1,"attr":[{"name":"a","int32Val":3000000000}]})"),
             Contains("attr\" of this node[0].int32Val is 3000000000"));
  CHECK_THAT(error_reading(R"({"id":1,"attr":[{"name":"a","int32Val":3,"boolVal":true}]})"),
             Contains("has two values"));
  CHECK_THAT(error_reading(R"({"id":1,"attr":[{"name":"a","bytesVal":"!"}]})"), Contains("expected base64"));
  CHECK_THAT(error_reading(R"({"id":1,"attr":[{"name":"a","floatVal":1e39}]})"), Contains("a 32-bit float"));
  CHECK_THAT(error_reading(R"([{"id":1,"comm_type":"SUM"}])"), Contains("a collective of Chakra 0.0.4"));
  CHECK_THAT(error_reading(R"([{"id":1,"comm_size":"big"}])"),
             Contains("\"comm_size\" of this node is \"big\", expected a number"));
  CHECK_THAT(error_reading(R"([{"id":1,"comm_size":{}}])"), Contains("is {}, expected a number"));
  CHECK_THAT(error_reading(R"([{"id":1,"runtime":1.5}])"), Contains("is 1.5, expected an integer"));
  CHECK_THAT(error_reading(R"([{"id":1}, 5])"), Contains("a node is not a JSON object"));
}

TEST_CASE("a key given twice is an error, in either spelling") {
  CHECK_THAT(error_reading(R"({"id":1,"id":2})"), Contains("\"id\" is given twice"));
  CHECK_THAT(error_reading(R"([{"Id":1,"id":2}])"), Contains("gives id twice"));
  CHECK_THAT(error_reading(R"([{"id":1,"commSize":2,"comm_size":2}])"), Contains("gives comm_size twice"));
  CHECK_THAT(error_reading(R"({"nodes":[{"id":1}],"workload_graph":[{"id":1}]})"), Contains("second list of nodes"));
}

TEST_CASE("malformed JSON is reported where it is") {
  CHECK_THAT(error_reading("{\"id\": 1,\n \"name\": tru}"), StartsWith("trace.json:2:") && Contains("not JSON"));
  CHECK_THAT(error_reading("{\"id\":1}\n{\"id\":2,}"), StartsWith("trace.json:2:") && Contains("not JSON"));
  CHECK_THAT(error_reading("{\"id\":1},{\"id\":2}"), Contains("found ',', expected '{'"));
  CHECK_THAT(error_reading("{\"id\":1]"), Contains("unexpected ']'; expected '}'"));
  CHECK_THAT(error_reading("[{\"id\":1}] x"), Contains("more after the end"));
  CHECK_THAT(error_reading("{\"id\": 1e999}"), Contains("not JSON"));
  CHECK_THAT(error_reading("{\"name\": \"\xFF\"}"), Contains("not JSON"));
  CHECK_THAT(error_reading("{\"traceEvents\": []}"), Contains("Kineto") && Contains("chakra_trace_link"));
}

TEST_CASE("a PyTorch execution trace is refused by what it is") {
  const std::string old_node = R"({"name": "aten::mm", "id": 5, "rf_id": 3, "parent": 4, "inputs": [[1, 2]]})";
  const std::string new_node =
      R"({"id": 2, "name": "aten::mm", "ctrl_deps": 1, "inputs": {"values": []}, "attrs": [{"name": "rf_id", "value": 0}]})";
  for (const std::string& text : {R"({"schema": "1.0.1", "pid": 7, "nodes": [)" + old_node + R"(], "finish_ts": 9})",
                                  R"({"schema": "1.1.1-chakra.0.0.4", "nodes": [)" + new_node + "]}",
                                  R"({"nodes": [)" + old_node + R"(], "schema": "1.0.1"})"}) {
    const std::string error = error_reading(text);
    CHECK_THAT(error, StartsWith("trace.json: error: this is a PyTorch execution trace (schema \"1."));
    CHECK_THAT(error, Contains("orrery workload import") && Contains("chakra_trace_link"));
  }
  // The metadata of Chakra's own form has a schema in its attributes.
  CHECK(read(R"({"version":"0.0.4","attr":[{"name":"schema","stringVal":"1.0.1"}]}{"id":"1","type":"COMP_NODE"})")
            .nodes.size() == 1);
}

TEST_CASE("JSON without a node is an error") {
  for (const char* text : {"{}", "[]", "{\"nodes\": []}", "{\"version\": \"0.0.4\"}"})
    CHECK_THAT(error_reading(text), Contains("no node"));
}

TEST_CASE("JSON cut at any byte is an error, or its first nodes where the cut is between two objects") {
  const std::string first = "{\"version\":\"1\"}";
  const std::string node = R"({"id":"1","attr":[{"name":"a\"{","int64List":{"values":["1"]}}]})";
  const std::string whole = first + node + node;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    if (length == first.size() + node.size())
      CHECK(read(whole.substr(0, length)).nodes.size() == 1);
    else
      CHECK_FALSE(error_reading(whole.substr(0, length)).empty());
  }
  const std::string list = "{\"nodes\":[" + node + "," + node + "]}";
  for (std::size_t length = 0; length < list.size(); ++length)
    CHECK_FALSE(error_reading(list.substr(0, length)).empty());
}

TEST_CASE("deep nesting is refused, not followed") {
  for (const std::size_t depth : {257u, 1'000'000u}) {
    const std::string deep = "{\"id\":1,\"x\":" + std::string(depth, '[');
    CHECK_THAT(error_reading(deep), Contains("nested deeper than 256 levels"));
    CHECK_THAT(error_reading("[{\"id\":1}," + deep), Contains("nested deeper than 256 levels"));
  }
  // The object itself is the first level.
  CHECK(read("{\"id\":1,\"x\":" + std::string(63, '[') + std::string(63, ']') + "}").nodes.size() == 1);
}
