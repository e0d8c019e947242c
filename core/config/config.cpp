// SPDX-License-Identifier: MIT
#include "core/config/config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <list>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/key_path.h"
#include "core/config/other_names.h"
#include "core/config/quantity_text.h"
#include "core/suggest.h"

namespace orrery {
namespace {

ConfigValue empty_map(const Location& where = {}) { return {ConfigValue::Kind::kMap, where, {}, {}, {}}; }

// {word: true}
ConfigValue map_of_word(ConfigValue word) {
  ConfigValue map = empty_map(word.where);
  const Location where = word.where;
  map.entries.push_back({std::move(word.scalar), where, {ConfigValue::Kind::kScalar, where, "true", {}, {}}});
  return map;
}

// Splits "node1.nic0.bandwith" into the path "node1.nic0", the unknown key "bandwith" and the likely one, "bandwidth".
struct Misspelt {
  std::string_view name, key;
  std::string meant;
};
std::optional<Misspelt> misspelt(std::string_view path, const Names& below) {
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    const std::string_view rest = path.substr(dot + 1), key = rest.substr(0, rest.find('.'));
    if (std::string meant = nearest_name(key, below); !meant.empty()) return Misspelt{path.substr(0, dot), key, meant};
  }
  return std::nullopt;
}

// The entry that "a.b" leads to; null if there is none, or a list is on the way.
const ConfigEntry* entry_at(const ConfigValue& value, std::string_view path) {
  const ConfigValue* place = &value;
  const ConfigEntry* entry = nullptr;
  for (std::size_t first = 0; first <= path.size() && place != nullptr;) {
    const std::size_t end = std::min(path.find('.', first), path.size());
    entry = place->find(path.substr(first, end - first));
    place = entry == nullptr ? nullptr : &entry->value;
    first = end + 1;
  }
  return entry;
}

// Carries a declaration out over a specimen and lists its keys.
class KeyLister : public Section {
 public:
  KeyLister(ConfigValue& specimen, std::string path, ConfigContext& context, std::vector<KeyDescription>& keys)
      : Section(specimen, std::move(path), context), keys_(keys) {}

  void when(bool, const std::function<void()>& declare) override {
    ++conditions_;
    declare();
    --conditions_;
  }

 private:
  ConfigValue* declare(Declared key) override {
    if (key.is_required) error(key.path, "a specimen has no values");
    key.path = sub_path(key.path);
    key.is_conditional = conditions_ > 0;
    keys_.push_back(std::move(key));
    if (key.specimen.kind == ConfigValue::Kind::kNull) return nullptr;
    return &specimens_.emplace_back(std::move(key.specimen));
  }
  void enter(ConfigValue& value, const std::string& path, const Read& read, std::string_view) override {
    KeyLister inner(value, path, context(), keys_);
    read(inner);
  }
  void set_default(std::string_view, std::string, std::string_view) override {}

  std::vector<KeyDescription>& keys_;
  std::list<ConfigValue> specimens_;
  int conditions_ = 0;  // that the key being declared stands under
};

}  // namespace

// Beginning of files in which `orrery calibrate` has written all keys out. Nobody has chosen those that change nothing.
constexpr std::string_view kWrittenOut = "# orrery calibrate ";

bool is_chosen_file(const std::string& file, const ConfigFiles& files) {
  const std::string shipped = files.shipped().string() + "/";
  return !file.empty() && !file.starts_with(shipped) && !files.beginning(file).starts_with(kWrittenOut);
}

void ConfigContext::set_own_file(const std::string& file) {
  if (is_chosen_file(file, *files_)) own_file_ = file;
}

Section::Section(ConfigValue& value, std::string path, ConfigContext& context)
    : value_(&value),
      path_(std::move(path)),
      context_(&context),
      errors_before_(errors()),
      problems_before_(context.diagnostics().problems().size()) {
  if (value.kind == ConfigValue::Kind::kMap) return;
  const std::string what = path_.empty() ? "the file" : fmt::format("'{}'", path_);
  context.diagnostics().error(value.where,
                              fmt::format("{} is {}; a map of keys is expected", what, kind_name(value.kind)),
                              value.kind == ConfigValue::Kind::kScalar ? hint_for_word(path_, value.scalar) : "");
  value = empty_map(value.where);
  reported_ = true;
}

void Section::when(bool condition, const std::function<void()>& declare) {
  if (condition) declare();
}

void Section::enter(ConfigValue& value, const std::string& path, const Read& read, std::string_view folder) {
  Section inner(value, path, *context_);
  read(inner);
  inner.finish(folder);
}

bool Section::open(Declared key, const Read& read, std::string_view folder) {
  const std::string path = sub_path(key.path);
  key.type = folder.empty() ? "map or path" : fmt::format("map, path or name in {}", folder);
  ConfigValue* value = declare(std::move(key));
  if (value == nullptr) return false;
  if (expand(*value, folder)) enter(*value, path, read, folder);
  return true;
}

bool Section::section(std::string_view key, std::string_view meaning, const Read& read, std::string_view folder) {
  return open({{std::string(key), {}, "optional", std::string(meaning), {}}, false, empty_map()}, read, folder);
}

void Section::section_or(std::string_view key, std::string_view fallback, std::string_view meaning, const Read& read,
                         std::string_view folder, std::string_view documented, std::string_view whole_by) {
  const auto is_part = [&](const ConfigValue& value) {
    const bool lacks_name = !whole_by.empty() && value.find(whole_by) == nullptr && value.find("like") == nullptr;
    return value.kind == ConfigValue::Kind::kMap && (value.over_default || lacks_name);
  };
  if (ConfigEntry* entry = value_->find(key); entry != nullptr && is_part(entry->value)) {
    ConfigValue changes = std::exchange(
        entry->value, ConfigValue{ConfigValue::Kind::kScalar, entry->where, std::string(fallback), {}, {}});
    if (expand(entry->value, folder)) merge_into(entry->value, std::move(changes));
  }
  set_default(key, std::string(fallback), documented);
  const std::string_view shown = documented.empty() ? fallback : documented;
  open({{std::string(key), {}, std::string(shown), std::string(meaning), {}}, false, empty_map()}, read, folder);
}

void Section::defaulted_section(std::string_view key, std::string_view meaning, const Read& read) {
  if (!has(key)) value_->entries.push_back({std::string(key), value_->where, empty_map(value_->where)});
  bool is_read = false;
  section(key, meaning, [&](Section& inner) {
    is_read = true;
    read(inner);
  });
  if (is_read) return;
  value_->find(key)->value = empty_map(value_->where);
  section(key, meaning, read);
}

bool Section::required_section(std::string_view key, std::string_view meaning, const Read& read,
                               std::string_view folder) {
  if (open({{std::string(key), {}, "required", std::string(meaning), {}}, false, empty_map()}, read, folder))
    return true;
  if (reported_ || has(key)) return false;
  error(key, fmt::format("'{}' is missing", sub_path(key)), std::string(meaning));
  return false;
}

bool Section::repeated_section(std::string_view key, std::string_view meaning, const Read& read,
                               std::string_view presence) {
  return open({{std::string(key), {}, std::string(presence), std::string(meaning), {}}}, read, {});
}

bool Section::list(std::string_view key, std::string_view meaning, const Read& read) {
  ConfigValue* value = declare({{std::string(key), "list of maps", "optional", std::string(meaning), {}},
                                false,
                                {ConfigValue::Kind::kList, {}, {}, {empty_map()}, {}}});
  if (value == nullptr) return false;
  if (value->kind == ConfigValue::Kind::kList)
    for (ConfigValue& item : value->items) enter(item, sub_path(key) + "[]", read, {});
  else
    error(key, fmt::format("'{}' is {}; a list is expected", sub_path(key), kind_name(value->kind)));
  return true;
}

bool Section::map(std::string_view key, std::string_view key_name, std::string_view meaning,
                  const std::function<void(const ConfigEntry&, Section&)>& read, const Names& words,
                  const Names& below) {
  ConfigValue specimen = empty_map();
  specimen.entries.push_back({fmt::format("<{}>", key_name), {}, empty_map()});
  ConfigValue* value =
      declare({{std::string(key), "map", "optional", std::string(meaning), {}}, false, std::move(specimen)});
  if (value == nullptr) return false;
  if (value->kind == ConfigValue::Kind::kMap)
    for (ConfigEntry& entry : value->entries) {
      if (entry.value.kind == ConfigValue::Kind::kScalar && std::ranges::find(words, entry.value.scalar) != words.end())
        entry.value = map_of_word(std::move(entry.value));
      else if (entry.value.kind == ConfigValue::Kind::kScalar && !words.empty()) {
        const auto slip = misspelt(entry.key, below);
        if (slip)
          context_->diagnostics().error(entry.where,
                                        fmt::format("unknown key '{}' in '{}.{}'", printable(slip->key, 40),
                                                    sub_path(key), printable(slip->name)),
                                        fmt::format("did you mean '{}'?", slip->meant));
        else
          context_->diagnostics().error(
              entry.value.where,
              fmt::format("'{}.{}' is '{}'; a map of keys or a word is expected", sub_path(key), printable(entry.key),
                          printable(entry.value.scalar, 40)),
              fmt::format("words: {}", fmt::join(words, ", ")));
        continue;
      }
      enter(entry.value, fmt::format("{}.{}", sub_path(key), printable(entry.key)),
            [&](Section& inner) { read(entry, inner); }, {});
    }
  else
    error(key, fmt::format("'{}' is {}; a map is expected", sub_path(key), kind_name(value->kind)));
  return true;
}

std::vector<std::string> Section::words(std::string_view key, std::string_view meaning) {
  const ConfigValue* value = raw(key, "list of words", "optional", meaning);
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

std::vector<std::int64_t> Section::whole_numbers(std::string_view key, Range range, std::size_t most,
                                                 std::string_view presence, std::string_view meaning) {
  const ConfigValue* value = raw(key, "list of whole numbers", presence, meaning);
  if (value == nullptr && presence == "optional") return {};
  if (value == nullptr || value->kind != ConfigValue::Kind::kList || value->items.empty() ||
      value->items.size() > most) {
    error(key, fmt::format("'{}' must be a list of 1 to {} whole numbers", sub_path(key), most), "such as [8, 4]");
    return {};
  }
  const std::size_t errors = this->errors();
  std::vector<std::int64_t> numbers;
  for (const ConfigValue& item : value->items) {
    const bool is_plain = item.kind == ConfigValue::Kind::kScalar;
    const std::optional<std::int64_t> number = is_plain ? parse_whole_number(item.scalar) : std::nullopt;
    if (number && *number >= range.least && *number <= range.most)
      numbers.push_back(*number);
    else
      context_->diagnostics().error(
          item.where,
          fmt::format("an element of '{}' is {}", sub_path(key),
                      is_plain ? fmt::format("'{}'", printable(item.scalar, 40)) : kind_name(item.kind)),
          fmt::format("a whole number, {} to {}", range.least, range.most));
  }
  if (this->errors() > errors) return {};
  return numbers;
}

const ConfigValue* Section::raw(std::string_view key, std::string_view type, std::string_view fallback,
                                std::string_view meaning) {
  return declare({{std::string(key), std::string(type), std::string(fallback), std::string(meaning), {}}});
}

void Section::note(std::string_view key, std::string_view meaning) {
  raw(key, "any", "optional", meaning);
  idle(key, "it is for people, and no figure follows from it", {}, IdleWarning::kNone);
}

void Section::idle(std::string_view key, const std::string& reason, const std::string& remedy, IdleWarning warning) {
  const ConfigEntry* entry = entry_at(*value_, key);
  if (entry == nullptr) return;
  const std::string path = sub_path(key);
  if (context_->acts(path)) return;
  context_->add_idle({path, reason, remedy});
  if (warning != IdleWarning::kNone) warn_of_idle(*entry, path, reason, remedy, warning);
}

namespace {

// " (job.yaml:3)", " (configs/nodes/dgx-a100.yaml:9)" or " (--set nodes=4)"; "" of a place that nobody wrote.
std::string place_text(const Location& where, const std::string& shipped) {
  if (where.file.empty()) return {};
  const std::filesystem::path folder(shipped);
  const bool is_shipped = where.file.starts_with(shipped + "/");
  const std::string file =
      is_shipped ? (folder.filename() / where.file.substr(shipped.size() + 1)).string() : where.file;
  return where.line == 0 ? fmt::format(" ({})", printable(file, 200))
                         : fmt::format(" ({}:{})", printable(file, 200), where.line);
}

}  // namespace

void Section::overruled(std::string_view key, const std::string& by, const Location& by_where) {
  const ConfigEntry* entry = entry_at(*value_, key);
  if (entry == nullptr) return;
  const std::string path = sub_path(key), reason = fmt::format("'{}' holds", by),
                    remedy = fmt::format("change '{}'", by);
  if (context_->acts(path)) return;
  context_->add_idle({path, reason, remedy});
  warn_of_idle(*entry, path, reason + place_text(by_where, context_->files().shipped().string()), remedy,
               is_setting(by_where) ? IdleWarning::kSettings : IdleWarning::kOwnFile);
}

// A part of a section is told of as a whole if all of it was given at once.
void Section::warn_of_idle(const ConfigEntry& entry, const std::string& path, const std::string& reason,
                           const std::string& remedy, IdleWarning warning) {
  const auto is_told = [&](const Location& where) {
    const bool is_own = context_->is_own(where) || where.file.starts_with("--");  // an option's value
    return is_setting(where) || (warning == IdleWarning::kOwnFile && is_own);
  };
  if (!entry.defaulted.empty()) return;
  if (is_told(entry.value.where) || is_told(entry.where))
    return context_->diagnostics().warning(is_told(entry.value.where) ? entry.value.where : entry.where,
                                           fmt::format("'{}' changes nothing: {}", printable(path), reason), remedy);
  for (const ConfigEntry& inner : entry.value.entries)
    warn_of_idle(inner, fmt::format("{}.{}", path, inner.key), reason, remedy, warning);
}

bool Section::given(std::string_view key) const {
  const ConfigEntry* entry = entry_at(*value_, key);
  return entry != nullptr && entry->defaulted.empty();
}

const ConfigValue* Section::value(std::string_view key) const {
  const ConfigEntry* entry = value_->find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

std::string Section::path(std::string_view key, std::string_view name) {
  if (ConfigEntry* entry = value_->find(key)) {
    entry->value.is_path = entry->value.scalar == name;
    for (ConfigValue& item : entry->value.items) item.is_path = item.is_path || item.scalar == name;
  }
  return path_from(where(key).file, name).string();
}

Location Section::where(std::string_view key) const {
  const ConfigEntry* entry = value_->find(key);
  return entry == nullptr ? value_->where : entry->value.where;
}

void Section::sources(const Names& lists) {
  note("source", "sources of the figures, for people");
  note("assumed", "figures that no source gives, for people; `orrery cluster show` prints them");
  for (const std::string& list : lists)
    note(list, list == "fitted" ? "figures that were fitted to measured times, for people"
                                : "figures that were measured on such a machine, for people");
}

Location Section::where_below(std::string_view key) const {
  const ConfigEntry* entry = entry_at(*value_, key);
  return entry == nullptr ? value_->where : entry->value.where;
}

Location Section::where_key(std::string_view key) const {
  const ConfigEntry* entry = value_->find(key);
  return entry == nullptr ? value_->where : entry->where;
}

void Section::error(std::string_view key, std::string message, std::string hint) {
  context_->diagnostics().error(where(key), std::move(message), std::move(hint));
}

void Section::warning(std::string_view key, std::string message, std::string hint) {
  context_->diagnostics().warning(where(key), std::move(message), std::move(hint));
}

ConfigValue* Section::declare(Declared key) {
  known_.push_back(key.path);
  ConfigEntry* entry = value_->find(key.path);
  if (entry == nullptr) {
    if (key.is_required && !reported_)
      error(key.path, fmt::format("'{}' is missing ({})", sub_path(key.path), key.type), std::move(key.meaning));
    return nullptr;
  }
  if (entry->value.kind == ConfigValue::Kind::kNull) {
    error(key.path, fmt::format("'{}' has no value", sub_path(key.path)), fmt::format("expected: {}", key.type));
    return nullptr;
  }
  return &entry->value;
}

void Section::set_default(std::string_view key, std::string text, std::string_view documented) {
  if (value_->find(key) != nullptr) return;  // present, but without a usable value
  value_->entries.push_back({std::string(key),
                             value_->where,
                             {ConfigValue::Kind::kScalar, value_->where, std::move(text), {}, {}},
                             std::string(documented.empty() ? "default" : documented)});
}

std::string Section::sub_path(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

bool Section::expand(ConfigValue& value, std::string_view folder) {
  if (value.kind != ConfigValue::Kind::kScalar)
    return take_likeness(value, folder, context_->files(), context_->diagnostics());
  if (folder.empty() && !looks_like_path(value.scalar)) return true;  // not a file: a wrong type
  return context_->files().expand(value, folder, context_->diagnostics());
}

void read_config(ConfigValue& root, ConfigContext& context, const Section::Read& read) {
  Section section(root, "", context);
  read(section);
  section.finish();
}

std::vector<KeyDescription> list_keys(const ConfigFiles& files, const Section::Read& read) {
  std::vector<KeyDescription> keys;
  Diagnostics of_the_specimen;
  ConfigContext context(files, of_the_specimen);
  ConfigValue specimen = empty_map();
  KeyLister lister(specimen, "", context, keys);
  read(lister);
  return keys;
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
