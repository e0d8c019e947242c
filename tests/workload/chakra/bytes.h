// SPDX-License-Identifier: MIT
// Writes Chakra files byte by byte for the tests: whole messages, and fields that no protobuf library would write.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "workload/chakra/chakra.pb.h"

namespace orrery::test {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

inline std::string tag(unsigned field, unsigned wire_type) { return varint(field << 3 | wire_type); }
inline std::string number(unsigned field, std::uint64_t value) { return tag(field, 0) + varint(value); }
inline std::string bytes(unsigned field, std::string_view value) {
  return tag(field, 2) + varint(value.size()) + std::string(value);
}
inline std::string fixed32(unsigned field) { return tag(field, 5) + std::string(4, '\1'); }
inline std::string fixed64(unsigned field) { return tag(field, 1) + std::string(8, '\1'); }

inline std::string frame(std::string_view message) { return varint(message.size()) + std::string(message); }
inline std::string frame(const google::protobuf::Message& message) { return frame(message.SerializeAsString()); }

inline chakra::Node compute_node(std::uint64_t id, std::string name = "mm") {
  chakra::Node node;
  node.set_id(id);
  node.set_name(std::move(name));
  node.set_type(chakra::COMP_NODE);
  node.set_duration_micros(5);
  auto& attribute = *node.add_attr();
  attribute.set_name("is_cpu_op");
  attribute.set_bool_val(false);
  return node;
}

inline chakra::GlobalMetadata metadata() {
  chakra::GlobalMetadata result;
  result.set_version("0.0.4");
  return result;
}

inline std::string trace(std::initializer_list<chakra::Node> nodes) {
  std::string result = frame(metadata());
  for (const auto& node : nodes) result += frame(node);
  return result;
}

// One gzip member, as gzip(1) writes it.
inline std::string gzip(std::string_view content) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::vector<Bytef> input(content.begin(), content.end());
  std::vector<Bytef> output(deflateBound(&stream, static_cast<uLong>(input.size())));
  stream.next_in = input.data();
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = output.data();
  stream.avail_out = static_cast<uInt>(output.size());
  deflate(&stream, Z_FINISH);
  output.resize(stream.total_out);
  deflateEnd(&stream);
  return {output.begin(), output.end()};
}

// The text of the InputError that `action` throws; "" when it throws none.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace orrery::test
