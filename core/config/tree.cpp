// SPDX-License-Identifier: MIT
#include "core/config/tree.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/config/key_path.h"
#include "core/config/other_names.h"
#include "core/config/parsed_files.h"
#include "core/config/quantity_text.h"
#include "core/config/relative.h"
#include "core/files/input_files.h"
#include "core/files/read_file.h"
#include "core/files/shell_word.h"
#include "core/sha256.h"
#include "core/suggest.h"

namespace orrery {
namespace {

constexpr std::size_t kLargestFile = 16 << 20;

constexpr std::string_view kSettingOrigin = "--set ";

ConfigValue nothing_in(const std::filesystem::path& path) {
  return {ConfigValue::Kind::kNull, {path.string()}, {}, {}, {}};
}

// "did you mean 'FILE'?", a configuration in the folder of `path`; empty where none is near.
std::string file_beside(const std::filesystem::path& path) {
  std::vector<std::string> names;
  std::error_code code;
  const std::filesystem::path folder = path.parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, code))
    if (const std::string name = entry.path().filename().string(); looks_like_path(name)) names.push_back(name);
  std::ranges::sort(names);
  const std::vector<std::string> likely = likely_names(path.filename().string(), names);
  if (likely.size() != 1) return {};
  return fmt::format("did you mean '{}'?", printable((folder / likely.front()).string(), 300));
}

// Hint of the error for a path that cannot be read as a file.
std::string hint_for(const std::filesystem::path& path) {
  std::error_code code;
  if (!std::filesystem::is_directory(path, code)) return std::filesystem::exists(path, code) ? "" : file_beside(path);
  const std::filesystem::path result = path / "result.json";
  if (!std::filesystem::exists(result, code)) return {};
  return fmt::format("did you mean '{}'?", printable(result.string()));
}

// The text of a configuration file; nothing after an error, which stands where the file is named.
std::optional<std::string> read_config_text(const std::filesystem::path& path, const Location& wanted_at,
                                            Diagnostics& diagnostics) {
  const std::string name = path.string();
  const auto refuse = [&](std::string why, std::string hint = {}) {
    diagnostics.error(wanted_at, fmt::format("cannot read '{}': {}", printable(name, 300), why), std::move(hint));
    return std::nullopt;
  };
  if (const std::string why = why_unreadable(name); !why.empty()) return refuse(why, hint_for(path));
  try {
    std::string text = read_file(name, {.most = kLargestFile,
                                        .what = "a configuration; traces are named by workload.chakra.prefix",
                                        .is_noted = false});
    note_input(name, InputKind::kConfiguration, sha256_of(text));
    drop_byte_order_mark(name, text);
    return text;
  } catch (const InputError& error) {
    note_input(name, InputKind::kConfiguration);
    const Problem& problem = error.problems().front();
    return refuse("it " + problem.message, problem.hint);
  }
}

ConfigValue parse_file(const std::string& text, const std::string& name, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  ConfigValue value = parse_config(text, name, diagnostics);
  if (value.kind == ConfigValue::Kind::kNull && diagnostics.error_count() == errors)
    diagnostics.error({name}, "the file is empty", "a configuration is a map of keys, see docs/config.md");
  return value;
}

// "; 4 to 13 have class: pcie" of the elements in a row that have `word` for one of their values.
std::string elements_with(const ConfigValue& list, const std::string& word) {
  std::string found;
  std::size_t index = 0, first = 0, last = 0;
  for (const ConfigValue& item : list.items) {
    const auto has = std::ranges::find(item.entries, word, [](const ConfigEntry& e) { return e.value.scalar; });
    if (has != item.entries.end()) {
      if (found.empty()) first = index;
      last = index;
      found = has->key;
    }
    ++index;
  }
  if (found.empty()) return {};
  return fmt::format(
      "; {} have {}: {}{}", first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last), found,
      printable(word),
      found == "class" ? fmt::format(", which `classes.{}` beside the list changes", printable(word)) : "");
}

// The value a step of a --set path leads to, created if absent; null after an error.
ConfigValue* step_into(ConfigValue& value, const std::string& part, const Location& where, Diagnostics& diagnostics) {
  if (ConfigValue* element = element_of(value, part)) return element;
  if (value.kind == ConfigValue::Kind::kList) {
    diagnostics.error(where, fmt::format("'{}' is not an element of a list of {}", printable(part), value.items.size()),
                      "elements count from 0" + elements_with(value, part));
    return nullptr;
  }
  if (value.kind == ConfigValue::Kind::kNull) value.kind = ConfigValue::Kind::kMap;
  if (value.kind != ConfigValue::Kind::kMap) {
    diagnostics.error(where, fmt::format("'{}' goes into a value that is {}", printable(part), kind_name(value.kind)),
                      "the key above it is a name or a number: set that as a map of keys, or leave it out");
    return nullptr;
  }
  value.entries.push_back({part, where, {}});
  value.entries.back().value.where = where;
  return &value.entries.back().value;
}

constexpr std::size_t kBeginning = 4096;

std::string beginning_of(const std::string& file) { return beginning_of_file(file, kBeginning); }

// Traces in binary have control characters from the first frame on.
bool is_text(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return c >= 0 && c < ' ' && c != '\n' && c != '\r' && c != '\t'; });
}

// Standard input, or a pipe of the shell's: its name says neither what it holds nor where paths start.
bool is_stream(const std::string& file) { return file.starts_with("/dev/") || file.starts_with("/proc/self/fd/"); }

// Files that paths start from instead of the one that they stand in.
class Originals {
 public:
  void set(const std::string& file, const std::string& original) {
    const std::lock_guard lock(mutex_);
    originals_[file] = original;
  }
  std::string of(const std::string& file) {
    const std::lock_guard lock(mutex_);
    const auto known = originals_.find(file);
    return known == originals_.end() ? file : known->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> originals_;
};

Originals& originals() {
  static Originals all;
  return all;
}

}  // namespace

void take_paths_of(const std::string& file, const std::string& original) { originals().set(file, original); }

bool looks_like_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".yaml") || name.ends_with(".yml") ||
         name.ends_with(".json");
}

std::filesystem::path path_from(const std::string& named, std::string_view name) {
  const std::string file = originals().of(named);
  if (file.starts_with(kSettingOrigin) || is_stream(file)) return name;
  return std::filesystem::path(file).parent_path() / name;
}

bool is_setting(const Location& where) { return where.file.starts_with(kSettingOrigin); }

namespace {

bool ends_in_unit(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.back())) == 0;
}

// True of one value: of quantities whichever their units are ("400 Gb/s" and "50 GB/s"), if they have any.
bool are_same(std::string_view one, std::string_view other) {
  return one == other || (ends_in_unit(one) && ends_in_unit(other) && stand_for_one_value(one, other));
}

// Puts `other` in the place of what is written; what is the same stays as it is, where it is.
void take_place_of(ConfigValue& value, ConfigValue other) {
  const bool are_scalars = value.kind == ConfigValue::Kind::kScalar && other.kind == ConfigValue::Kind::kScalar;
  if (are_scalars && are_same(value.scalar, other.scalar)) return;
  if (are_scalars) other.over_default = true;
  value = std::move(other);
}

}  // namespace

void merge_into(ConfigValue& value, ConfigValue changes) {
  if (value.kind != ConfigValue::Kind::kMap || changes.kind != ConfigValue::Kind::kMap) {
    take_place_of(value, std::move(changes));
    return;
  }
  for (ConfigEntry& change : changes.entries) {
    if (ConfigEntry* entry = value.find(change.key))
      merge_into(entry->value, std::move(change.value));
    else
      value.entries.push_back(std::move(change));
  }
}

namespace {

constexpr std::string_view kLike = "like";

// Merges as merge_into() does, into files that are named on the way, too. False after an error.
bool merge_over(ConfigValue& value, ConfigValue changes, const ConfigFiles& files, Diagnostics& diagnostics) {
  for (ConfigEntry& change : changes.entries) {
    ConfigEntry* entry = value.find(change.key);
    if (entry == nullptr) {
      value.entries.push_back(std::move(change));
      continue;
    }
    const bool is_part = change.value.kind == ConfigValue::Kind::kMap && change.value.find(kLike) == nullptr;
    if (is_part && !expand_named(entry->value, folder_of_key(change.key), files, diagnostics)) return false;
    if (is_part && entry->value.kind == ConfigValue::Kind::kMap) {
      if (!merge_over(entry->value, std::move(change.value), files, diagnostics)) return false;
    } else {
      take_place_of(entry->value, std::move(change.value));
    }
  }
  return true;
}

}  // namespace

bool take_likeness(ConfigValue& value, std::string_view folder, const ConfigFiles& files, Diagnostics& diagnostics) {
  constexpr std::size_t kMostFiles = 8;
  if (folder.empty()) return true;
  std::vector<ConfigValue> changes;
  while (value.kind == ConfigValue::Kind::kMap && value.find(kLike) != nullptr) {
    ConfigValue named = value.find(kLike)->value;
    if (named.kind != ConfigValue::Kind::kScalar || changes.size() == kMostFiles) {
      diagnostics.error(named.where,
                        named.kind == ConfigValue::Kind::kScalar
                            ? fmt::format("more than {} files are each like another", kMostFiles)
                            : fmt::format("'{}' is {}; the name of a file is expected", kLike, kind_name(named.kind)),
                        fmt::format("a name in {}, or a path", folder));
      return false;
    }
    if (!files.open(named, folder, diagnostics)) return false;
    changes.push_back(std::exchange(value, std::move(named)));
    std::erase_if(changes.back().entries, [](const ConfigEntry& entry) { return entry.key == kLike; });
  }
  for (auto change = changes.rbegin(); change != changes.rend(); ++change)
    if (!merge_over(value, std::move(*change), files, diagnostics)) return false;
  return true;
}

const ConfigEntry* ConfigValue::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &ConfigEntry::key);
  return found == entries.end() ? nullptr : &*found;
}

ConfigEntry* ConfigValue::find(std::string_view key) {
  return const_cast<ConfigEntry*>(std::as_const(*this).find(key));
}

std::string_view kind_name(ConfigValue::Kind kind) {
  switch (kind) {
    case ConfigValue::Kind::kNull:
      return "nothing";
    case ConfigValue::Kind::kScalar:
      return "a plain value";
    case ConfigValue::Kind::kList:
      return "a list";
    case ConfigValue::Kind::kMap:
      return "a map";
  }
  return "unknown";
}

// A file written within the last tick of the file system's clock may be written again without getting a newer time.
ConfigFiles::Stamp ConfigFiles::stamp_of(const std::filesystem::path& path) {
  constexpr std::chrono::milliseconds kTick{20};
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) return std::nullopt;
  const auto written = std::filesystem::last_write_time(path, code);
  const std::uintmax_t size = std::filesystem::file_size(path, code);
  if (code || written + kTick > std::filesystem::file_time_type::clock::now()) return std::nullopt;
  return std::pair(written, size);
}

ConfigFiles::Document* ConfigFiles::read(const std::filesystem::path& path, const Location& wanted_at,
                                         Diagnostics& diagnostics) const {
  const Stamp stamp = stamp_of(path);
  const auto known = documents_.find(path);
  if (known != documents_.end() && stamp && known->second.stamp == stamp) return &known->second;
  std::optional<std::string> text = read_config_text(path, wanted_at, diagnostics);
  if (!text) return nullptr;
  if (known == documents_.end() || known->second.text != *text)
    return &documents_.insert_or_assign(path, Document{stamp, std::move(*text)}).first->second;
  known->second.stamp = stamp;
  return &known->second;
}

ConfigFiles::ConfigFiles(std::filesystem::path shipped, const std::filesystem::path& parsed)
    : shipped_(std::move(shipped)), parsed_(parsed.empty() ? nullptr : std::make_shared<const ParsedFiles>(parsed)) {}

// The lock is held.
ConfigValue ConfigFiles::parse(Document& document, const std::filesystem::path& path) const {
  const std::string file = path.string(), folder = shipped_.string() + "/";
  if (parsed_ && file.starts_with(folder))
    if (auto known = parsed_->find(std::string_view(file).substr(folder.size()), document.text, file))
      return *std::move(known);
  return parse_file(document.text, file, document.problems);
}

ConfigValue ConfigFiles::load(const std::filesystem::path& path, const Location& wanted_at,
                              Diagnostics& diagnostics) const {
  const std::lock_guard lock(lock_);
  Document* const document = read(path, wanted_at, diagnostics);
  if (document == nullptr) return nothing_in(path);
  if (!document->value) document->value = parse(*document, path);
  for (const Problem& problem : document->problems.problems()) diagnostics.add(problem);
  return *document->value;
}

std::string ConfigFiles::text(const std::string& path) const {
  const std::lock_guard lock(lock_);
  const auto known = documents_.find(path);
  return known == documents_.end() ? std::string{} : known->second.text;
}

std::string ConfigFiles::beginning(const std::string& path) const {
  if (!is_stream(path) && may_be_configuration(path)) {
    const std::lock_guard lock(lock_);
    Diagnostics too_large;
    if (const Document* document = read(path, {}, too_large)) return document->text.substr(0, kBeginning);
  }
  return beginning_of(path);
}

bool may_be_configuration(const std::string& file) {
  if (is_stream(file)) return is_text(beginning_of(file));
  return file.ends_with(".yaml") || file.ends_with(".yml") || file.ends_with(".json");
}

bool may_be_trace(const std::string& file) {
  return is_stream(file) ? beginning_of(file).starts_with('{') : file.ends_with(".json");
}

ConfigValue ConfigFiles::peek(const std::string& path) const {
  if (!may_be_configuration(path)) return {};
  Diagnostics ignored;
  return load(path, {}, ignored);
}

bool ConfigFiles::open(ConfigValue& value, std::string_view folder, Diagnostics& diagnostics) const {
  const std::string name = value.scalar;
  std::filesystem::path path;
  if (looks_like_path(name)) {
    path = path_from(value.where.file, name);
    // "meta-llama/Meta-Llama-3-70B" is no path, but a name that others have.
    const bool is_file = name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
    const std::vector<std::string> likely = is_file || folder.empty() || !is_missing(path.string())
                                                ? std::vector<std::string>{}
                                                : likely_names(path.filename().string(), names(folder));
    if (likely.size() == 1) {
      diagnostics.error(value.where, fmt::format("cannot read '{}': there is no such file", printable(name, 300)),
                        fmt::format("did you mean '{}'?", likely.front()));
      return false;
    }
  } else {
    path = shipped_ / folder / (name + ".yaml");
    std::error_code code;
    if (!std::filesystem::exists(path, code)) {
      const bool is_file = !name.empty() && std::filesystem::is_regular_file(path_from(value.where.file, name), code);
      diagnostics.error(value.where, fmt::format("no '{}' among the shipped {}", printable(name), folder),
                        is_file ? fmt::format("a file is named by its path: {}", shown_shell_word("./" + name))
                                : suggestion(name, names(folder)));
      return false;
    }
  }
  const std::size_t errors = diagnostics.error_count();
  ConfigValue loaded = load(path, value.where, diagnostics);
  if (diagnostics.error_count() > errors) return false;
  if (loaded.kind != ConfigValue::Kind::kMap) {
    diagnostics.error(loaded.where,
                      fmt::format("the file holds {}; a map of keys is expected", kind_name(loaded.kind)));
    return false;
  }
  value = std::move(loaded);
  return true;
}

bool ConfigFiles::expand(ConfigValue& value, std::string_view folder, Diagnostics& diagnostics) const {
  return open(value, folder, diagnostics) && take_likeness(value, folder, *this, diagnostics);
}

std::vector<std::string> ConfigFiles::names(std::string_view folder) const {
  std::vector<std::string> names;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(shipped_ / folder, code))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

ConfigValue* element_of(ConfigValue& value, std::string_view step) {
  if (ConfigEntry* entry = value.find(step)) return &entry->value;
  const bool number =
      !step.empty() && step.size() < 8 && std::ranges::all_of(step, [](char c) { return c >= '0' && c <= '9'; });
  const std::size_t index = number ? std::stoul(std::string(step)) : value.items.size();
  return index < value.items.size() ? &*std::next(value.items.begin(), static_cast<std::ptrdiff_t>(index)) : nullptr;
}

bool expand_named(ConfigValue& value, std::string_view folder, const ConfigFiles& files, Diagnostics& diagnostics) {
  const bool named_file =
      value.kind == ConfigValue::Kind::kScalar && (!folder.empty() || looks_like_path(value.scalar));
  return named_file ? files.expand(value, folder, diagnostics) : take_likeness(value, folder, files, diagnostics);
}

void set_value(ConfigValue& root, std::string_view path, ConfigValue value, const ConfigFiles& files,
               Diagnostics& diagnostics, const ResolveConfig& resolve) {
  const Location where = value.where;
  if (!check_depth(plain_path(path), where, diagnostics)) return;
  if (value.kind == ConfigValue::Kind::kScalar)
    if (const auto factor = factor_of(value.scalar))
      return multiply_value(root, path, *factor, where, files, diagnostics, resolve);
  ConfigValue* place = &root;
  std::string_view folder;
  for (const std::string& part : split_key_path(plain_path(path))) {
    if (part.empty()) {
      diagnostics.error(where, "an empty key: two dots in a row, or one at the start or the end");
      return;
    }
    if (!expand_named(*place, folder, files, diagnostics)) return;
    place = step_into(*place, part, where, diagnostics);
    if (place == nullptr) return;
    folder = folder_of_key(part);
    if (place->kind == ConfigValue::Kind::kNull && !folder.empty()) place->over_default = true;
  }
  take_place_of(*place, std::move(value));
}

ConfigValue parse_option(std::string_view text, std::string_view origin, Diagnostics& diagnostics) {
  const Location where{std::string(origin)};
  ConfigValue parsed = parse_config(text, where.file, diagnostics);
  const std::function<void(ConfigValue&)> relocate = [&](ConfigValue& v) {
    v.where = where;
    for (ConfigValue& item : v.items) relocate(item);
    for (ConfigEntry& entry : v.entries) {
      entry.where = where;
      relocate(entry.value);
    }
  };
  relocate(parsed);
  return parsed;
}

std::string path_of_setting(std::string_view setting) {
  std::string_view path = setting.substr(0, setting.find('='));
  const auto trim = [&path] {
    while (path.ends_with(' ')) path.remove_suffix(1);
  };
  trim();
  if (path.ends_with('*')) path.remove_suffix(1);
  trim();
  while (path.starts_with(' ')) path.remove_prefix(1);
  return std::string(path);
}

void apply_setting(ConfigValue& root, const std::string& setting, const ConfigFiles& files, Diagnostics& diagnostics,
                   const ResolveConfig& resolve) {
  const Location where{std::string(kSettingOrigin) + printable(setting)};
  const std::size_t equals = setting.find('=');
  const std::string path = path_of_setting(setting);
  if (equals == std::string::npos || path.empty()) {
    diagnostics.error(where, "expected key.path=value", "for example network.model=alpha-beta");
    return;
  }
  const std::string text = setting.substr(equals + 1);
  if (text.empty()) {
    diagnostics.error(where, "no value after '='");
    return;
  }
  const std::size_t last = setting.find_last_not_of(' ', equals - 1);
  if (last != std::string::npos && setting[last] == '*')
    return multiply_value(root, path, text, where, files, diagnostics, resolve);
  const std::size_t errors = diagnostics.error_count();
  ConfigValue parsed = parse_option(text, where.file, diagnostics);
  if (diagnostics.error_count() == errors) set_value(root, path, std::move(parsed), files, diagnostics, resolve);
}

}  // namespace orrery
