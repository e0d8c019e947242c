// From YAML to a ConfigValue, with guards against what yaml-cpp lets pass.
#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "core/config/tree.h"
#include "core/utf8.h"

namespace orrery {
namespace {

constexpr int kDeepest = 64;
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

// Converts yaml-cpp's nodes, checking what yaml-cpp lets pass. A value left out gets the place of its key or list:
// yaml-cpp has it where the next value begins.
class TreeBuilder {
 public:
  TreeBuilder(const Location& end, Diagnostics& diagnostics) : end_(end), diagnostics_(diagnostics) {}

  ConfigValue build(const YAML::Node& node, int depth = 0) {
    ConfigValue value;
    value.where = location_of(node.Mark(), end_);
    if (++values_ > kMostValues || depth > kDeepest) {
      if (!std::exchange(gave_up_, true))
        diagnostics_.error(value.where,
                           depth > kDeepest ? fmt::format("nested deeper than {} levels", kDeepest)
                                            : fmt::format("more than {} values", kMostValues),
                           depth > kDeepest ? "" : "aliases that repeat one another multiply");
      return value;
    }
    if (node.IsScalar()) {
      value.kind = ConfigValue::Kind::kScalar;
      value.scalar = node.Scalar();
    } else if (node.IsSequence()) {
      value.kind = ConfigValue::Kind::kList;
      for (const YAML::Node& item : node) {
        if (gave_up_) break;
        value.items.push_back(build(item, depth + 1));
        if (value.items.back().kind == ConfigValue::Kind::kNull) value.items.back().where = value.where;
      }
    } else if (node.IsMap()) {
      value.kind = ConfigValue::Kind::kMap;
      build_map(node, value, depth);
    }
    return value;
  }

 private:
  void build_map(const YAML::Node& node, ConfigValue& value, int depth) {
    std::unordered_map<std::string, int> line_of_key;
    for (const auto& pair : node) {
      if (gave_up_) return;
      const YAML::Node& key = pair.first;
      const Location where = location_of(key.Mark(), end_);
      if (!key.IsScalar()) {
        diagnostics_.error(where, "a key must be a plain word");
        continue;
      }
      if (key.Scalar() == "<<") {
        diagnostics_.error(where, "merge keys ('<<') are not supported", "write the keys out");
        continue;
      }
      if (const auto [first, is_new] = line_of_key.try_emplace(key.Scalar(), where.line); !is_new) {
        diagnostics_.error(
            where,
            fmt::format("key '{}' is given twice; the first is at line {}", printable(key.Scalar()), first->second),
            "keep one of them");
        continue;
      }
      value.entries.push_back({key.Scalar(), where, build(pair.second, depth + 1)});
      ConfigValue& added = value.entries.back().value;
      if (added.kind == ConfigValue::Kind::kNull) added.where = where;
    }
  }

  const Location& end_;
  Diagnostics& diagnostics_;
  std::size_t values_ = 0;
  bool gave_up_ = false;
};

// What yaml-cpp's message means, where its own is obscure.
std::string reason_of(const YAML::Exception& problem) {
  if (dynamic_cast<const YAML::DeepRecursion*>(&problem) != nullptr) return "nested too deeply";
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

// Notes where documents start and otherwise lets events pass.
class DocumentStarts : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { last_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  const YAML::Mark& last() const { return last_; }

 private:
  YAML::Mark last_;
};

// Where a second document starts, if there is one. YAML::LoadAll would find out, too, but it never ends on a file such
// as
// ", a": a token that no document may start with, which yaml-cpp leaves in its place for the next document.
std::optional<YAML::Mark> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  if (!parser.HandleNextDocument(starts) || !parser.HandleNextDocument(starts)) return std::nullopt;
  return starts.last();
}

}  // namespace

ConfigValue parse_config(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  const ConfigValue nothing{ConfigValue::Kind::kNull, {file, 1, 1}, {}, {}, {}};
  if (const std::size_t offset = first_non_text(text); offset != std::string_view::npos) {
    diagnostics.error(location_at(file, text, offset),
                      fmt::format("not a text file: found {}", printable(text.substr(offset, 1))),
                      "configuration files are YAML in UTF-8");
    return nothing;
  }
  const Location end = location_at(file, text, text.size());
  try {
    const std::string marked = with_end_mark(text);
    if (const auto second = second_document(marked))
      diagnostics.error(location_of(*second, end), "a second YAML document starts here; one file holds one",
                        "is there a '---', or a stray character?");
    const YAML::Node document = YAML::Load(marked);
    return document.IsNull() ? nothing : TreeBuilder(end, diagnostics).build(document);
  } catch (const YAML::Exception& problem) {
    diagnostics.error(location_of(problem.mark, end), fmt::format("not valid YAML: {}", reason_of(problem)));
  }
  return nothing;
}

}  // namespace orrery
