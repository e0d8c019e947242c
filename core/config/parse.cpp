// SPDX-License-Identifier: MIT
// From YAML to a ConfigValue, with guards against what yaml-cpp lets pass.
#include <algorithm>
#include <array>
#include <climits>
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

#include "core/config/key_path.h"
#include "core/config/tree.h"
#include "core/utf8.h"

namespace orrery {
namespace {

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
                       end_.file.ends_with(".jsonl") ? "a file of JSON lines is no configuration"
                                                     : "is there a '---', or a stray character?");
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
    if (depth > kDeepestValue) give_up(mark, kTooDeep);
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

  const std::string kTooDeep = fmt::format("nested deeper than {} levels", kDeepestValue);

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

// Hints by messages of yaml-cpp.
const std::array<std::pair<std::string_view, std::string_view>, 6> kReasons = {
    {{YAML::ErrorMsg::MAP_VALUE,
      "indent keys of one map alike, write a blank behind ':', and quote a value that has ': ' in it"},
     {YAML::ErrorMsg::END_OF_MAP, "indent keys of one map alike, and write each as 'key: value'"},
     {YAML::ErrorMsg::END_OF_SEQ, "indent the items of one list alike, each behind '- '"},
     {YAML::ErrorMsg::END_OF_MAP_FLOW, "is a '}' or a ',' missing before here?"},
     {YAML::ErrorMsg::END_OF_SEQ_FLOW, "is a ']' or a ',' missing before here?"},
     {YAML::ErrorMsg::UNKNOWN_ANCHOR, "'*NAME' stands for a value that '&NAME' marks before it"}}};

// A line of the text, from 1, that `is` says yes to; 0: none.
template <class Is>
int first_line(std::string_view text, int last, Is is) {
  for (int number = 1; !text.empty() && number <= last; ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (is(line)) return number;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return 0;
}

bool is_indented_by_tab(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] != '#' && line[first] != '\r' &&
         line.substr(0, first).find('\t') != std::string_view::npos;
}

// A value that begins with a quote which the line does not close: `model: "llama`.
bool opens_quote(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char quote = line[at];
    const bool begins = (quote == '"' || quote == '\'') &&
                        (at == 0 || std::string_view(" \t[{,:").find(line[at - 1]) != std::string_view::npos);
    if (!begins) continue;
    const std::size_t end = line.find(quote, at + 1);
    if (end == std::string_view::npos) return true;
    at = end;
  }
  return false;
}

// Names what is probably wrong with the text where yaml-cpp gave up: its messages name what it had wanted.
void tell(const YAML::Exception& problem, std::string_view text, const Location& end, Diagnostics& diagnostics) {
  const Location where = location_of(problem.mark, end);
  if (const int tab = first_line(text, where.line + 1, is_indented_by_tab); tab > 0)
    return diagnostics.error({end.file, tab, 1}, "a tab indents this line; tabs cannot indent YAML",
                             fmt::format("use spaces; `expand -t 2 {}` prints it with them", printable(end.file, 100)));
  const auto known =
      std::ranges::find(kReasons, std::string_view(problem.msg), &std::pair<std::string_view, std::string_view>::first);
  std::string hint(known == kReasons.end() ? std::string_view() : known->second);
  if (problem.msg == YAML::ErrorMsg::DOC_IN_SCALAR)
    if (const int line = first_line(text, end.line, opens_quote); line > 0)
      hint = fmt::format("the text that begins in line {} has no other quote", line);
  diagnostics.error(where, fmt::format("not valid YAML: {}", reason_of(problem)), std::move(hint));
}

// A comment in a text that is JSON otherwise.
int comment_of_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return 0;
  return first_line(text, INT_MAX, [](std::string_view line) {
    const std::size_t at = line.find_first_not_of(" \t");
    return at != std::string_view::npos && (line.substr(at).starts_with("//") || line.substr(at).starts_with("/*"));
  });
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
  if (const int line = comment_of_json(text); line > 0) {
    diagnostics.error({file, line, 1}, "JSON has no comments, and those of YAML begin with '#'",
                      "write # in place of //, or leave the comment out");
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
    tell(problem, text, end, diagnostics);
  } catch (const GaveUp&) {
  }
  return builder.tree();
}

}  // namespace orrery
