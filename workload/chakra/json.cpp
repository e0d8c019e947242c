#include "workload/chakra/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "workload/chakra/json_message.h"
#include "workload/chakra/json_scanner.h"

namespace orrery {
namespace {

class JsonReader {
 public:
  JsonReader(const std::string& file, std::string_view text, ChakraVisitor& visitor)
      : file_(file), text_(text), visitor_(visitor), scanner_(file, text, text) {
    if (text.starts_with("\xEF\xBB\xBF")) scanner_ = JsonScanner(file, text, text.substr(3));
  }

  void run() {
    if (scanner_.peek() == '[')
      read_list(scanner_.take_value());
    else if (const std::string_view list = node_list(); !list.empty())
      read_list(list);
    else
      read_objects();
    if (!scanner_.at_end()) scanner_.place().fail("there is more after the end of the trace");
    if (position_.frame == 0 || nodes_ == 0) scanner_.place().fail("there is no node in this trace");
  }

 private:
  // The value of "workload_graph" or "nodes" if the file is one object with such a key; then the object is taken.
  std::string_view node_list() {
    JsonScanner ahead = scanner_;
    const std::string_view object = ahead.take_value();
    JsonScanner inside(file_, text_, object);
    std::string_view list, schema;
    bool is_nodes = false;
    inside.expect('{');
    if (inside.accept('}')) return list;
    do {
      inside.peek();
      const JsonPlace key_place = inside.place();
      const std::string_view key_text = inside.take_value();
      if (!key_text.starts_with('"')) key_place.fail("a JSON key that is no string");
      const std::string key = folded_key(key_text.substr(1, key_text.size() - 2));
      inside.expect(':');
      const bool wanted = inside.peek() == '[' && (key == "workloadgraph" || key == "nodes");
      if (key == "traceevents") refuse_chrome_trace(key_place);
      if (wanted && !list.empty()) key_place.fail("a second list of nodes");
      const std::string_view value = inside.take_value();
      if (wanted) list = value;
      if (wanted) is_nodes = key == "nodes";
      if (key == "schema" && value.starts_with('"')) schema = value;
    } while (inside.accept(','));
    inside.expect('}');
    if (is_nodes && !schema.empty()) refuse_host_trace(schema);
    if (!list.empty()) scanner_ = ahead;
    return list;
  }

  [[noreturn]] static void refuse_chrome_trace(const JsonPlace& place) {
    place.fail("this is a Chrome or Kineto trace (\"traceEvents\"), expected a Chakra trace",
               "make Chakra traces of it: `orrery workload import PROFILE... -o DIR`; or link it with its PyTorch "
               "execution trace (chakra_trace_link) and convert that (chakra_converter PyTorch)");
  }

  // PyTorch's ExecutionTraceObserver writes its schema beside the "nodes"; no form of Chakra has that. Its nodes say
  // what the host called, neither of what type they are nor how long the device took.
  [[noreturn]] void refuse_host_trace(std::string_view schema) const {
    throw InputError(
        {file_},
        fmt::format("this is a PyTorch execution trace (schema {}) of the host's operators, without the times of the "
                    "device; expected a Chakra trace",
                    printable(schema, 60)),
        "import the Kineto profile of the same step: `orrery workload import PROFILE... -o DIR`; or link the two "
        "(chakra_trace_link) and convert that (chakra_converter PyTorch)");
  }

  void read_list(std::string_view list) {
    JsonScanner inside(file_, text_, list);
    inside.expect('[');
    if (inside.accept(']')) return;
    do {
      inside.peek();
      const JsonPlace place = inside.place();
      read_node(place, inside.take_value());
    } while (inside.accept(','));
    inside.expect(']');
  }

  void read_objects() {
    while (!scanner_.at_end()) {
      const JsonPlace place = scanner_.place();
      if (scanner_.peek() != '{') scanner_.expect('{');
      const std::string_view object = scanner_.take_value();
      if (position_.frame == 0 && read_metadata(place, object)) continue;
      read_node(place, object);
    }
  }

  bool read_metadata(const JsonPlace& place, std::string_view object) {
    const nlohmann::json parsed = parse_json(place, object);
    if (!is_metadata_json(parsed)) return false;
    chakra::GlobalMetadata metadata;
    metadata_from_json(place, parsed, metadata);
    visitor_.metadata(metadata);
    ++position_.frame;
    return true;
  }

  void read_node(const JsonPlace& place, std::string_view value) {
    node_from_json(place, parse_json(place, value), node_);
    position_.offset = place.offset();
    visitor_.node(node_, position_);
    ++position_.frame;
    ++nodes_;
  }

  const std::string& file_;
  std::string_view text_;
  ChakraVisitor& visitor_;
  JsonScanner scanner_;
  ChakraPosition position_;
  std::uint64_t nodes_ = 0;
  chakra::Node node_;
};

}  // namespace

void read_chakra_json(const std::string& file, std::string_view text, ChakraVisitor& visitor) {
  JsonReader(file, text, visitor).run();
}

}  // namespace orrery
