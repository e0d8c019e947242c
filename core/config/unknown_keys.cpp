// SPDX-License-Identifier: MIT
// Keys of a section that nobody asked for, and files of another kind than those that belong there.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/config.h"
#include "core/config/key_path.h"
#include "core/suggest.h"

namespace orrery {
namespace {

// Keys that files of all kinds may have.
constexpr std::array<std::string_view, 6> kRemarks = {"name", "like", "source", "assumed", "fitted", "measured"};

bool tells(const ConfigEntry& entry) { return std::ranges::find(kRemarks, entry.key) == kRemarks.end(); }

// True of a place before which its file has only blanks, comments and marks of YAML's documents. Reads the beginning of
// the file alone.
bool may_begin_file(const Location& where, const ConfigFiles& files) {
  if (where.line < 1) return false;
  const std::string text = files.beginning(where.file);
  std::size_t begin = 0;
  for (int line = 1; line < where.line; ++line) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return false;
    const std::size_t first = text.find_first_not_of(" \t\r\xEF\xBB\xBF", begin);
    if (first < end && text[first] != '#' && text[first] != '%' && text.compare(first, 3, "---") != 0) return false;
    begin = end + 1;
  }
  const std::size_t first = text.find_first_not_of(" \t\xEF\xBB\xBF", begin);
  return first != std::string::npos && first + 1 >= begin + static_cast<std::size_t>(where.column);
}

// Path of an entry that leads to one value: "parallel.tensor" of {parallel: {tensor: 8}}.
std::string path_of(const ConfigEntry& entry) {
  std::string path = entry.key;
  for (const ConfigValue* value = &entry.value; value->entries.size() == 1; value = &value->entries.front().value)
    path += "." + value->entries.front().key;
  return path;
}

// The keys without those that stand there before, in their order.
std::vector<std::string> each_once(const std::vector<std::string>& keys) {
  std::vector<std::string> once;
  for (const std::string& key : keys)
    if (std::ranges::find(once, key) == once.end()) once.push_back(key);
  return once;
}

}  // namespace

std::optional<FileKindHint> Section::another_kind(std::string_view folder) const {
  const ConfigFiles& files = context_->files();
  if (path_.empty() || !may_begin_file(value_->where, files)) return std::nullopt;
  Diagnostics ignored;
  const ConfigValue root = files.load(value_->where.file, {}, ignored);  // without defaults and changes
  if (root.where != value_->where) return std::nullopt;
  std::size_t telling = 0, unknown = 0, slips = 0;
  for (const ConfigEntry& entry : root.entries) {
    if (!tells(entry)) continue;
    ++telling;
    if (std::ranges::find(known_, entry.key) != known_.end()) continue;
    ++unknown;
    const bool has_other_name = std::ranges::find(other_names_, entry.key, &OtherName::first) != other_names_.end();
    if (has_other_name || !nearest_name(entry.key, known_).empty()) ++slips;
  }
  if (unknown == 0 || 2 * slips >= unknown) return std::nullopt;
  FileKindHint kind = files.kind_of(root, folder);
  const bool is_other = unknown == telling || (!kind.what.empty() && 2 * unknown > telling);
  return is_other ? std::optional(std::move(kind)) : std::nullopt;
}

void Section::refuse_file(const FileKindHint& kind, std::string_view folder) {
  constexpr std::size_t kMostFound = 4, kMostKnown = 12;
  std::vector<std::string> found;
  for (const ConfigEntry& entry : value_->entries)
    if (entry.defaulted.empty() && tells(entry) && found.size() < kMostFound) found.push_back(printable(entry.key, 40));
  std::vector<std::string> known = each_once(known_);
  known.resize(std::min(known.size(), kMostKnown));
  std::string hint = kind.hint;
  if (hint.empty())
    hint = folder.empty() ? fmt::format("known: {}", fmt::join(known, ", "))
                          : fmt::format("`orrery list {}` has the shipped ones", folder);
  context_->diagnostics().take_back(problems_before_);
  context_->diagnostics().error(
      value_->where,
      kind.what.empty() ? fmt::format("no key of this file belongs in '{}': '{}'", path_, fmt::join(found, "', '"))
                        : fmt::format("this is {}, not a file for '{}'", kind.what, path_),
      std::move(hint));
}

std::string Section::hint_for(const ConfigEntry& unknown) const {
  const auto other = std::ranges::find(other_names_, unknown.key, &OtherName::first);
  if (other != other_names_.end()) return fmt::format("here it is '{}'", other->second);
  std::vector<std::string> whole = paths_with(path_of(unknown), path_, context_->paths());
  if (whole.empty()) {
    const std::vector<std::string> known = each_once(known_);
    if (!likely_names(unknown.key, known).empty()) return suggestion(unknown.key, known);
    whole = paths_spelt(unknown.key, path_, context_->paths());
    if (whole.empty()) return suggestion(unknown.key, known);
  }
  std::erase(whole, sub_path(path_of(unknown)));
  if (whole.empty()) return "it does not go with the other keys there; `orrery list keys` says with which it does";
  return fmt::format("did you mean {}'{}'?", whole.size() == 1 ? "" : "one of ", fmt::join(whole, "', '"));
}

void Section::finish(std::string_view folder) {
  constexpr std::size_t kShown = 20;  // more are no slips of the pen
  const std::string in = path_.empty() ? "" : fmt::format(" in '{}'", path_);
  std::size_t unknown = 0;
  Location last;
  for (const ConfigEntry& entry : value_->entries) {
    if (std::ranges::find(known_, entry.key) != known_.end()) continue;
    last = entry.where;
    if (++unknown > kShown) continue;
    context_->diagnostics().error(entry.where, fmt::format("unknown key '{}'{}", printable(entry.key), in),
                                  hint_for(entry));
  }
  if (unknown > kShown)
    context_->diagnostics().error(last, fmt::format("{} more unknown keys{}", unknown - kShown, in));
  if (unknown == 0) return;
  if (const std::optional<FileKindHint> kind = another_kind(folder)) refuse_file(*kind, folder);
}

}  // namespace orrery
