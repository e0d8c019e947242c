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

// Keys for people, which say nothing of the kind of a file.
constexpr std::array<std::string_view, 6> kRemarks = {"name", "table", "source", "assumed", "fitted", "measured"};

// Path of an entry that leads to one value: "parallel.tensor" of {parallel: {tensor: 8}}.
std::string path_of(const ConfigEntry& entry) {
  std::string path = entry.key;
  for (const ConfigValue* value = &entry.value; value->entries.size() == 1; value = &value->entries.front().value)
    path += "." + value->entries.front().key;
  return path;
}

}  // namespace

bool Section::is_another_file() const {
  const auto tells = [](const ConfigEntry& entry) {
    return entry.defaulted.empty() && std::ranges::find(kRemarks, entry.key) == kRemarks.end();
  };
  const auto is_unknown = [&](const ConfigEntry& entry) {
    return !tells(entry) || std::ranges::find(known_, entry.key) == known_.end();
  };
  return is_file_ && std::ranges::any_of(value_->entries, tells) && std::ranges::all_of(value_->entries, is_unknown);
}

void Section::refuse_file() {
  constexpr std::size_t kShown = 4;
  context_->diagnostics().take_back(problems_before_);
  const FileKindHint kind = context_->files().kind_of(*value_);
  std::vector<std::string> keys;
  for (const ConfigEntry& entry : value_->entries)
    if (entry.defaulted.empty() && keys.size() < kShown) keys.push_back(printable(entry.key, 40));
  const std::string_view folder = folder_of_key(path_.substr(path_.rfind('.') + 1));
  std::string hint = kind.hint;
  if (hint.empty() && !folder.empty()) hint = fmt::format("`orrery list {}` has files for '{}'", folder, path_);
  context_->diagnostics().error(value_->where,
                                kind.what.empty()
                                    ? fmt::format("has no key of '{}', but '{}'", path_, fmt::join(keys, "', '"))
                                    : fmt::format("this is {}, which has no key of '{}'", kind.what, path_),
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

void Section::finish() {
  constexpr std::size_t kShown = 20;  // more of them are another kind of file, not slips of the pen
  if (is_another_file()) return refuse_file();
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
}

}  // namespace orrery
