// SPDX-License-Identifier: MIT
// Keys of a section that nobody asked for, and files that hold nothing else.
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

// Path of an entry that leads to one value: "parallel.tensor" of {parallel: {tensor: 8}}.
std::string path_of(const ConfigEntry& entry) {
  std::string path = entry.key;
  for (const ConfigValue* value = &entry.value; value->entries.size() == 1; value = &value->entries.front().value)
    path += "." + value->entries.front().key;
  return path;
}

}  // namespace

std::optional<FileKindHint> Section::another_kind(std::string_view folder) const {
  const auto is_known = [&](const std::string& key) { return std::ranges::find(known_, key) != known_.end(); };
  if (path_.empty()) return std::nullopt;
  const ConfigValue root = context_->files().peek(value_->where.file);  // without defaults and changes
  if (root.where != value_->where) return std::nullopt;
  std::size_t telling = 0, unknown = 0;
  bool is_slip = false;
  for (const ConfigEntry& entry : root.entries) {
    if (std::ranges::find(kRemarks, entry.key) != kRemarks.end()) continue;
    ++telling;
    if (is_known(entry.key)) continue;
    ++unknown;
    is_slip = is_slip || !likely_names(entry.key, known_).empty() ||
              std::ranges::find(other_names_, entry.key, &OtherName::first) != other_names_.end();
  }
  FileKindHint kind = context_->files().kind_of(root, folder);
  const bool has_no_key = unknown > 0 && unknown == telling;
  const bool has_few_keys = !folder.empty() && unknown > 0 && 2 * unknown >= telling;
  const bool is_other = kind.what.empty() ? has_no_key && !is_slip : has_no_key || has_few_keys;
  return is_other ? std::optional(std::move(kind)) : std::nullopt;
}

void Section::refuse_file(const FileKindHint& kind, std::string_view folder) {
  constexpr std::size_t kMostFound = 4, kMostKnown = 12;
  std::vector<std::string> found, known;
  for (const ConfigEntry& entry : value_->entries)
    if (entry.defaulted.empty() && found.size() < kMostFound) found.push_back(printable(entry.key, 40));
  for (const std::string& key : known_)
    if (known.size() < kMostKnown && std::ranges::find(known, key) == known.end()) known.push_back(key);
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
    std::vector<std::string> known;  // once each, in the order in which they are read
    for (const std::string& key : known_)
      if (std::ranges::find(known, key) == known.end()) known.push_back(key);
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
