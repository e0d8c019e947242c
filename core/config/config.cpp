// SPDX-License-Identifier: MIT
#include "core/config/config.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/quantity_text.h"
#include "core/suggest.h"

namespace orrery {
namespace {

// Of an entry that leads to one value: "parallel.tensor" of {parallel: {tensor: 8}}.
std::string path_of(const ConfigEntry& entry) {
  std::string path = entry.key;
  for (const ConfigValue* value = &entry.value; value->entries.size() == 1; value = &value->entries.front().value)
    path += "." + value->entries.front().key;
  return path;
}

// Of `paths`, those that end with `part`: below `section` if there are such. Without its last keys where none does;
// nothing where many do.
std::vector<std::string> paths_with(std::string part, const std::string& section,
                                    const std::vector<std::string>& paths) {
  constexpr std::size_t kMost = 4;
  for (; !part.empty(); part.resize(part.find('.') == std::string::npos ? 0 : part.rfind('.')))
    for (const std::string& above : {section, std::string()}) {
      std::vector<std::string> found;
      std::ranges::copy_if(paths, std::back_inserter(found), [&](const std::string& path) {
        return path.ends_with("." + part) && (above.empty() || path.starts_with(above + "."));
      });
      if (!found.empty()) return found.size() > kMost ? std::vector<std::string>{} : found;
    }
  return {};
}

}  // namespace

Section::Section(ConfigValue& value, std::string path, ConfigContext& context)
    : value_(&value), path_(std::move(path)), context_(&context), errors_before_(errors()) {
  if (value.kind == ConfigValue::Kind::kMap || describes()) return;
  const std::string what = path_.empty() ? "the file" : fmt::format("'{}'", path_);
  context.diagnostics().error(value.where,
                              fmt::format("{} is {}; a map of keys is expected", what, kind_name(value.kind)));
  value = {ConfigValue::Kind::kMap, value.where, {}, {}, {}};
  reported_ = true;
}

bool Section::section(std::string_view key, std::string_view meaning, const std::function<void(Section&)>& read,
                      std::string_view folder) {
  return open(key, "optional", meaning, read, folder);
}

void Section::section_or(std::string_view key, std::string_view fallback, std::string_view meaning,
                         const std::function<void(Section&)>& read, std::string_view folder,
                         std::string_view documented) {
  set_default(key, std::string(fallback), documented);
  open(key, documented.empty() ? fallback : documented, meaning, read, folder);
}

void Section::defaulted_section(std::string_view key, std::string_view meaning,
                                const std::function<void(Section&)>& read) {
  const ConfigValue empty{ConfigValue::Kind::kMap, value_->where, {}, {}, {}};
  if (!describes() && !has(key)) value_->entries.push_back({std::string(key), value_->where, empty});
  bool is_read = false;
  const auto note = [&](Section& section) {
    is_read = true;
    read(section);
  };
  open(key, "optional", meaning, note, {});
  if (is_read) return;
  value_->find(key)->value = empty;
  open(key, "optional", meaning, read, {});
}

bool Section::required_section(std::string_view key, std::string_view meaning,
                               const std::function<void(Section&)>& read, std::string_view folder) {
  if (open(key, "required", meaning, read, folder)) return true;
  if (reported_ || describes() || has(key)) return false;
  error(key, fmt::format("'{}' is missing", sub_path(key)), std::string(meaning));
  return false;
}

bool Section::open(std::string_view key, std::string_view fallback, std::string_view meaning,
                   const std::function<void(Section&)>& read, std::string_view folder) {
  const std::string type = folder.empty() ? "map or path" : fmt::format("map, path or name in {}", folder);
  ConfigValue* value = declare(key, type, fallback, meaning, false);
  if (value == nullptr && !describes()) return false;
  ConfigValue empty{ConfigValue::Kind::kMap, value_->where, {}, {}, {}};
  if (value != nullptr && !expand(*value, folder)) return true;
  Section inner(value != nullptr ? *value : empty, sub_path(key), *context_);
  read(inner);
  inner.finish();
  return true;
}

bool Section::list(std::string_view key, std::string_view meaning, const std::function<void(Section&)>& read) {
  ConfigValue* value = declare(key, "list of maps", "optional", meaning, false);
  const std::string element = sub_path(key) + "[]";
  if (describes()) {
    ConfigValue empty{ConfigValue::Kind::kMap, {}, {}, {}, {}};
    Section inner(empty, element, *context_);
    read(inner);
    return true;
  }
  if (value == nullptr) return false;
  if (value->kind != ConfigValue::Kind::kList) {
    error(key, fmt::format("'{}' is {}; a list is expected", sub_path(key), kind_name(value->kind)));
    return true;
  }
  for (ConfigValue& item : value->items) {
    Section inner(item, element, *context_);
    read(inner);
    inner.finish();
  }
  return true;
}

bool Section::map(std::string_view key, std::string_view key_name, std::string_view meaning,
                  const std::function<void(const ConfigEntry&, Section&)>& read) {
  ConfigValue* value = declare(key, "map", "optional", meaning, false);
  if (describes()) {
    ConfigEntry entry{std::string(key_name), {}, {ConfigValue::Kind::kMap, {}, {}, {}, {}}};
    Section inner(entry.value, fmt::format("{}.<{}>", sub_path(key), key_name), *context_);
    read(entry, inner);
    return true;
  }
  if (value == nullptr) return false;
  if (value->kind != ConfigValue::Kind::kMap) {
    error(key, fmt::format("'{}' is {}; a map is expected", sub_path(key), kind_name(value->kind)));
    return true;
  }
  for (ConfigEntry& entry : value->entries) {
    Section inner(entry.value, fmt::format("{}.{}", sub_path(key), printable(entry.key)), *context_);
    read(entry, inner);
    inner.finish();
  }
  return true;
}

std::vector<std::string> Section::words(std::string_view key, std::string_view meaning) {
  const ConfigValue* value = declare(key, "list of words", "optional", meaning, false);
  std::vector<std::string> result;
  if (value == nullptr) return result;
  if (value->kind == ConfigValue::Kind::kScalar) return {value->scalar};
  if (value->kind != ConfigValue::Kind::kList) {
    error(key, fmt::format("'{}' is {}; a list of words is expected", sub_path(key), kind_name(value->kind)));
    return result;
  }
  for (const ConfigValue& item : value->items) {
    if (item.kind == ConfigValue::Kind::kScalar) {
      result.push_back(item.scalar);
    } else {
      context_->diagnostics().error(
          item.where, fmt::format("an element of '{}' is {}; a word is expected", sub_path(key), kind_name(item.kind)));
    }
  }
  return result;
}

const ConfigValue* Section::raw(std::string_view key, std::string_view type, std::string_view fallback,
                                std::string_view meaning) {
  return declare(key, type, fallback, meaning, false);
}

void Section::note(std::string_view key, std::string_view meaning) { declare(key, "any", "optional", meaning, false); }

const ConfigValue* Section::value(std::string_view key) const {
  const ConfigEntry* entry = value_->find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

Location Section::where(std::string_view key) const {
  const ConfigEntry* entry = value_->find(key);
  return entry == nullptr ? value_->where : entry->value.where;
}

void Section::sources() {
  note("source", "sources of the figures, for people");
  note("assumed", "figures that no source gives, for people; `orrery cluster show` prints them");
}

Location Section::where_key(std::string_view key) const {
  const ConfigEntry* entry = value_->find(key);
  return entry == nullptr ? value_->where : entry->where;
}

void Section::error(std::string_view key, std::string message, std::string hint) {
  if (!describes()) context_->diagnostics().error(where(key), std::move(message), std::move(hint));
}

void Section::warning(std::string_view key, std::string message, std::string hint) {
  if (!describes()) context_->diagnostics().warning(where(key), std::move(message), std::move(hint));
}

std::string Section::hint_for(const ConfigEntry& unknown) const {
  const auto other = std::ranges::find(other_names_, unknown.key, &OtherName::first);
  if (other != other_names_.end()) return fmt::format("here it is '{}'", other->second);
  const std::vector<std::string> whole = paths_with(path_of(unknown), path_, context_->paths());
  if (whole.empty()) return suggestion(unknown.key, known_);
  return fmt::format("did you mean {}'{}'?", whole.size() == 1 ? "" : "one of ", fmt::join(whole, "', '"));
}

void Section::finish() {
  if (describes()) return;
  constexpr std::size_t kShown = 20;  // more of them are another kind of file, not slips of the pen
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

ConfigValue* Section::declare(std::string_view key, std::string_view type, std::string_view fallback,
                              std::string_view meaning, bool required, std::optional<Range> range) {
  known_.emplace_back(key);
  if (describes())
    context_->describe({sub_path(key), std::string(type), std::string(fallback), std::string(meaning),
                        range ? to_text(*range) : std::string()});
  if (describes()) return nullptr;
  ConfigEntry* entry = value_->find(key);
  if (entry == nullptr) {
    if (required && !reported_)
      error(key, fmt::format("'{}' is missing ({})", sub_path(key), type), std::string(meaning));
    return nullptr;
  }
  if (entry->value.kind == ConfigValue::Kind::kNull) {
    error(key, fmt::format("'{}' has no value", sub_path(key)), fmt::format("expected: {}", type));
    return nullptr;
  }
  return &entry->value;
}

std::string Section::sub_path(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

bool Section::expand(ConfigValue& value, std::string_view folder) {
  if (value.kind != ConfigValue::Kind::kScalar) return true;
  if (folder.empty() && !looks_like_path(value.scalar)) return true;  // not a file: a wrong type
  return context_->files().expand(value, folder, context_->diagnostics());
}

void read_config(ConfigValue& root, ConfigContext& context, const std::function<void(Section&)>& read) {
  Section section(root, "", context);
  read(section);
  section.finish();
}

nlohmann::ordered_json to_json(const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::kNull:
      return nullptr;
    case ConfigValue::Kind::kList: {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const ConfigValue& item : value.items) list.push_back(to_json(item));
      return list;
    }
    case ConfigValue::Kind::kMap: {
      nlohmann::ordered_json map = nlohmann::ordered_json::object();
      for (const ConfigEntry& entry : value.entries) map[printable(entry.key, SIZE_MAX)] = to_json(entry.value);
      return map;
    }
    case ConfigValue::Kind::kScalar:
      break;
  }
  if (const auto flag = parse_boolean(value.scalar)) return *flag;
  if (const auto number = parse_whole_number(value.scalar)) return *number;
  return printable(value.scalar, SIZE_MAX);
}

}  // namespace orrery
