// SPDX-License-Identifier: MIT
#include "workload/chakra/reader.h"

#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/chakra/file.h"
#include "workload/chakra/foreign.h"
#include "workload/chakra/wire.h"

namespace orrery::workload {
namespace {

constexpr std::size_t kSchemaFrames = 400;
constexpr std::string_view kNotATrace = "expected a Chakra trace: length-prefixed protobuf messages";

class BinaryReader {
 public:
  BinaryReader(const std::string& file, std::string_view bytes, bool was_gzipped)
      : file_(file), bytes_(bytes), rest_(bytes), was_gzipped_(was_gzipped) {}

  void run(ChakraVisitor& visitor) {
    refuse_old_schemas();
    of_views_ = dynamic_cast<NodeViewVisitor*>(&visitor);
    while (!rest_.empty()) {
      const ChakraPosition position = position_;
      const std::string_view message = next_frame();
      if (position.frame == 0 && has_metadata_shape(message))
        read_metadata(message, visitor);
      else
        read_node(message, position, visitor);
    }
    if (nodes_ == 0) fail(position_, "there is no node in this trace", "did the writer of the trace stop early?");
  }

 private:
  // Takes the next frame; `position_` is then that of the one after.
  std::string_view next_frame() {
    std::string_view rest = rest_;
    const auto length = take_varint(rest, kLengthBytes);
    if (!length && rest_.size() < kLengthBytes)
      fail(position_, "the file ends inside the length of a frame", cut_hint());
    if (!length || *length > std::numeric_limits<std::uint32_t>::max())
      fail(position_, fmt::format("no frame length here, {}", kNotATrace), mismatch_hint());
    if (*length > rest.size())
      fail(position_,
           fmt::format("the frame's length is {} bytes, but only {} are left in the file", *length, rest.size()),
           cut_hint());
    const auto size = static_cast<std::size_t>(*length);
    rest_ = rest.substr(size);
    ++position_.frame;
    position_.offset = bytes_.size() - rest_.size();
    return rest.substr(0, size);
  }

  void refuse_old_schemas() {
    std::vector<std::string_view> frames;
    std::string_view rest = bytes_;
    while (frames.size() < kSchemaFrames) {
      const auto frame = take_frame(rest);
      if (!frame) break;
      frames.push_back(*frame);
    }
    const std::string schema = old_schema(frames);
    if (schema.empty()) return;
    throw InputError(
        {file_},
        fmt::format("this trace is of the old Chakra schema {}; schema 0.0.4 (2023-10) or newer is needed", schema),
        "export the trace again with a current tool, or convert its source again with chakra_converter; the "
        "old schemas number their fields differently and would be misread");
  }

  void read_metadata(std::string_view message, ChakraVisitor& visitor) {
    const ChakraPosition position = {};
    if (const auto problem = check_metadata(message)) fail_in(message, *problem, position, "metadata");
    parse(message, metadata_, position);
    visitor.metadata(metadata_);
  }

  void read_node(std::string_view message, ChakraPosition position, ChakraVisitor& visitor) {
    if (of_views_ != nullptr && scan_node(message, Scan::kStrict, view_)) {
      ++nodes_;
      return of_views_->view(view_, position);
    }
    if (message.empty()) refuse_padding(position);
    if (is_stray_metadata(message))
      fail(position, "a second metadata frame among the nodes",
           "were two traces concatenated? Each rank is a file of its own");
    if (const auto problem = check_node(message)) fail_in(message, *problem, position, "node");
    parse(message, node_, position);
    ++nodes_;
    visitor.node(node_, position);
  }

  // One empty frame is a node without any field; a run of them up to the end is a tail that was never written.
  void refuse_padding(ChakraPosition position) const {
    const std::string_view tail = bytes_.substr(static_cast<std::size_t>(position.offset));
    if (tail.size() < 2 || tail.find_first_not_of('\0') != std::string_view::npos) return;
    fail(position, fmt::format("the file ends in {} zero bytes", tail.size()),
         "padding, or a file whose writer was stopped; write or copy it again");
  }

  template <class Message>
  void parse(std::string_view message, Message& into, ChakraPosition position) const {
    const bool fits = message.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
    if (fits && into.ParseFromArray(message.data(), static_cast<int>(message.size()))) return;
    fail(position, fmt::format("the frame of {} bytes is not a readable protobuf message", message.size()),
         "protobuf messages are limited to 2 GiB");
  }

  [[noreturn]] void fail_in(std::string_view message, const WireProblem& problem, ChakraPosition position,
                            std::string_view what) const {
    const auto start = static_cast<std::uint64_t>(message.data() - bytes_.data());
    fail(position,
         fmt::format("not a {} message of schema 0.0.4: at byte {}: {}", what, start + problem.offset, problem.text),
         nodes_ == 0 ? mismatch_hint() : "the trace is damaged, or its writer is not a Chakra 0.0.4 one");
  }

  [[noreturn]] void fail(ChakraPosition position, std::string message, std::string hint) const {
    throw InputError({file_}, fmt::format("frame {} at byte {}: {}", position.frame, position.offset, message),
                     std::move(hint));
  }

  std::string mismatch_hint() const {
    const std::string_view hint = foreign_format_hint(bytes_, was_gzipped_);
    return hint.empty() ? "is this a Chakra .et file?" : std::string(hint);
  }

  std::string cut_hint() const {
    return position_.frame == 0 ? mismatch_hint() : "the file was cut while it was written or copied";
  }

  const std::string& file_;
  std::string_view bytes_;
  std::string_view rest_;
  bool was_gzipped_;
  ChakraPosition position_;
  std::uint64_t nodes_ = 0;
  chakra::GlobalMetadata metadata_;
  chakra::Node node_;
  NodeViewVisitor* of_views_ = nullptr;  // the visitor, if it takes views
  NodeView view_;
};

void read_unpacked(const std::string& file, std::string_view bytes, bool was_gzipped, ChakraVisitor& visitor) {
  if (bytes.empty())
    throw InputError({file}, fmt::format("the file is empty, {}", kNotATrace),
                     "did the writer of the trace stop early?");
  if (starts_like_json(bytes)) return read_chakra_json(file, bytes, visitor);
  BinaryReader(file, bytes, was_gzipped).run(visitor);
}

}  // namespace

void read_chakra(const std::string& file, std::string_view bytes, ChakraVisitor& visitor) {
  if (!is_gzip(bytes)) return read_unpacked(file, bytes, false, visitor);
  const std::string unpacked = inflate_gzip(file, bytes);
  read_unpacked(file, unpacked, true, visitor);
}

}  // namespace orrery::workload
