// SPDX-License-Identifier: MIT
// From YAML to a ConfigValue, with guards against what yaml-cpp lets pass.
#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "core/config/tree.h"
#include "core/utf8.h"

namespace orrery {
namespace {

constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostValues = 1'000'000;

Location location_at(const std::string& file, std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {file, static_cast<int>(std::ranges::count(before, '\n')) + 1, static_cast<int>(offset - line_start) + 1};
}

// `end` of the text for a place behind it: with_end_mark() made the text longer.
Location location_of(const YAML::Mark& mark, const Location& end) {
  if (mark.is_null()) return {end.file};
  return mark.line + 1 > end.line ? end : Location{end.file, mark.line + 1, mark.column + 1};
}

struct GaveUp {};  // what follows is not read

// Builds the tree from yaml-cpp's events, checking what yaml-cpp lets pass. A value left out gets the place of its key
// or list: yaml-cpp has it where the next value begins. Handles the one document that a file has and notes where a
// second one starts.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const Location& end, Diagnostics& diagnostics) : end_(end), diagnostics_(diagnostics) {
    root_.where = {end.file, 1, 1};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    diagnostics_.error(location_of(mark, end_), "a second YAML document starts here; one file holds one",
                       "is there a '---', or a stray character?");
    throw GaveUp();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(new_value(Kind::kNull, mark), anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& text) override {
    ConfigValue value = new_value(Kind::kScalar, mark);
    value.scalar = text;
    add(std::move(value), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(new_value(Kind::kList, mark), anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(new_value(Kind::kMap, mark), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto named = anchored_.find(anchor);
    if (named == anchored_.end()) give_up(mark, kTooDeep);  // a value within itself
    count(named->second, open_.size(), mark);
    add(named->second, 0);
  }

  ConfigValue tree() { return std::move(root_); }

 private:
  using Kind = ConfigValue::Kind;

  // A list or map whose end is still to come.
  struct Open {
    ConfigValue value;
    YAML::anchor_t anchor = 0;
    std::optional<Location> key;  // of the value that comes next
    bool refused = false;         // that key
    std::unordered_map<std::string, int> line_of_key{};
  };

  [[noreturn]] void give_up(const YAML::Mark& mark, std::string what, std::string hint = {}) {
    diagnostics_.error(location_of(mark, end_), std::move(what), std::move(hint));
    throw GaveUp();
  }

  void count_one(std::size_t depth, const YAML::Mark& mark) {
    if (depth > kDeepest) give_up(mark, kTooDeep);
    if (++values_ > kMostValues)
      give_up(mark, fmt::format("more than {} values", kMostValues), "aliases that repeat one another multiply");
  }

  // The copy of an anchored value.
  void count(const ConfigValue& value, std::size_t depth, const YAML::Mark& mark) {
    count_one(depth, mark);
    for (const ConfigValue& item : value.items) count(item, depth + 1, mark);
    for (const ConfigEntry& entry : value.entries) count(entry.value, depth + 1, mark);
  }

  ConfigValue new_value(Kind kind, const YAML::Mark& mark) {
    count_one(open_.size(), mark);
    return {kind, location_of(mark, end_), {}, {}, {}};
  }

  void open(ConfigValue value, YAML::anchor_t anchor) { open_.push_back({std::move(value), anchor, {}, false}); }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.value), done.anchor);
  }

  // A value that is complete.
  void add(ConfigValue value, YAML::anchor_t anchor) {
    if (anchor != 0) anchored_.insert_or_assign(anchor, value);
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.kind == Kind::kList) {
      if (value.kind == Kind::kNull) value.where = parent.value.where;
      parent.value.items.push_back(std::move(value));
    } else if (!parent.key) {
      parent.refused = !take_key(parent, value);
      parent.key = value.where;
    } else {
      if (value.kind == Kind::kNull) value.where = *parent.key;
      if (!parent.refused) parent.value.entries.back().value = std::move(value);
      parent.key.reset();
    }
  }

  // False if the key is refused.
  bool take_key(Open& map, const ConfigValue& key) {
    const auto refuse = [&](std::string what, std::string hint = {}) {
      diagnostics_.error(key.where, std::move(what), std::move(hint));
      return false;
    };
    if (key.kind != Kind::kScalar) return refuse("a key must be a plain word");
    if (key.scalar == "<<") return refuse("merge keys ('<<') are not supported", "write the keys out");
    const auto [first, is_new] = map.line_of_key.try_emplace(key.scalar, key.where.line);
    if (!is_new)
      return refuse(
          fmt::format("key '{}' is given twice; the first is at line {}", printable(key.scalar), first->second),
          "keep one of them");
    map.value.entries.push_back({key.scalar, key.where, {}});
    return true;
  }

  const std::string kTooDeep = fmt::format("nested deeper than {} levels", kDeepest);

  const Location& end_;
  Diagnostics& diagnostics_;
  ConfigValue root_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, ConfigValue> anchored_;
  std::size_t values_ = 0;
  int documents_ = 0;
};

// Plain wording for those messages of yaml-cpp that are obscure.
std::string reason_of(const YAML::Exception& problem) {
  if (problem.msg == YAML::ErrorMsg::DOC_IN_SCALAR) return "a quoted text does not end before here";
  return printable(problem.msg);
}

// yaml-cpp takes a quoted text that never ends for one that ends with the file, swallowing every key after the quote;
// the mark at the end of the document makes that an error.
std::string with_end_mark(std::string_view text) {
  std::string marked(text);
  if (!marked.ends_with('\n')) marked += '\n';
  return marked + "...\n";
}

}  // namespace

ConfigValue parse_config(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  if (const std::size_t offset = first_non_text(text); offset != std::string_view::npos) {
    diagnostics.error(location_at(file, text, offset),
                      fmt::format("not a text file: found {}", printable(text.substr(offset, 1))),
                      "configuration files are YAML in UTF-8");
    return {ConfigValue::Kind::kNull, {file, 1, 1}, {}, {}, {}};
  }
  const Location end = location_at(file, text, text.size());
  TreeBuilder builder(end, diagnostics);
  try {
    std::istringstream stream(with_end_mark(text));
    YAML::Parser parser(stream);
    // Two documents and no more: on a file such as ", a" yaml-cpp would never come to the last one.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& problem) {
    diagnostics.error(location_of(problem.mark, end), fmt::format("not valid YAML: {}", reason_of(problem)));
  } catch (const GaveUp&) {
  }
  return builder.tree();
}

}  // namespace orrery
