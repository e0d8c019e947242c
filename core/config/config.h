// SPDX-License-Identifier: MIT
// The configuration reader. A part of the configuration is declared by one function over a Section: every key with its
// type, range, default, meaning and the member that it fills in. Reading runs the declaration over a file; description
// mode runs it over nothing and writes docs/config.md. So a key that is read is documented and a key that is not read
// is reported.
//
//   section.needs("inputs", c.inputs, kWidth, "channels of the input");
//   section.takes("stride", c.stride, {1, 1024}, "...");               // the member's value is the default
//   if (section.when(c.is_grouped)) section.needs("groups", ...);      // a part that not every file has
//   if (section.sound()) check_convolution(section, c);                // a check of values that are right one by one
//
// Problems are collected, not thrown: a reader returns harmless values after an error, and the caller of the outermost
// reader asks Diagnostics at the end. Defaults are written back into the tree, so that the tree becomes the resolved
// configuration.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/units.h"

namespace orrery {

// One line of docs/config.md.
struct KeyDescription {
  std::string path;      // "cluster.dims[].bandwidth"
  std::string type;      // "bandwidth", "whole number", "ring | switch"
  std::string fallback;  // "required", "optional" or the default
  std::string meaning;
  std::string range;  // "1 to 4096" of a whole number; empty: any of the type
};

struct Range {
  std::int64_t least = 0;
  std::int64_t most = INT64_MAX;
};
std::string to_text(Range range);  // "1 to 8", "at least 1"

// What all sections of one reading share.
class ConfigContext {
 public:
  ConfigContext(const ConfigFiles& files, Diagnostics& diagnostics) : files_(&files), diagnostics_(&diagnostics) {}
  // Description mode: nothing is read, every key is recorded in `keys`.
  ConfigContext(const ConfigFiles& files, Diagnostics& diagnostics, std::vector<KeyDescription>& keys)
      : files_(&files), diagnostics_(&diagnostics), keys_(&keys) {}

  const ConfigFiles& files() const { return *files_; }
  Diagnostics& diagnostics() const { return *diagnostics_; }
  bool describes() const { return keys_ != nullptr; }
  // The paths of all keys there are, to find those of which somebody wrote only a part; none unless they are given.
  void set_paths(std::function<std::vector<std::string>()> paths) { paths_ = std::move(paths); }
  std::vector<std::string> paths() const { return paths_ ? paths_() : std::vector<std::string>{}; }
  void describe(KeyDescription key) const {
    if (keys_ != nullptr) keys_->push_back(std::move(key));
  }

 private:
  const ConfigFiles* files_;
  Diagnostics* diagnostics_;
  std::vector<KeyDescription>* keys_ = nullptr;
  std::function<std::vector<std::string>()> paths_{};
};

template <class T>
concept ConfigScalar = std::is_same_v<T, Bytes> || std::is_same_v<T, Bandwidth> || std::is_same_v<T, Duration> ||
    std::is_same_v<T, Flops> || std::is_same_v<T, FlopRate> || std::is_same_v<T, Efficiency> ||
    std::is_same_v<T, bool> || std::is_same_v<T, std::string> || std::is_same_v<T, double>;

template <class T>
concept ConfigInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class T>
concept ConfigEnum = std::is_enum_v<T>;

// A map being read. Every accessor marks its key as known and describes it.
class Section {
 public:
  // `value` should be a map; anything else is reported. `path` is the dotted path for docs and messages.
  Section(ConfigValue& value, std::string path, ConfigContext& context);
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  // A key that must be there, whose value goes to `member`: a plain value, a whole number, or one of `names`, which is
  // the enumerator of that number. After an error the member is harmless.
  template <ConfigScalar T>
  void needs(std::string_view key, T& member, std::string_view meaning) {
    member = required<T>(key, meaning);
  }
  template <ConfigInteger T>
  void needs(std::string_view key, T& member, Range range, std::string_view meaning) {
    member = static_cast<T>(required_integer(key, range, meaning));
  }
  template <ConfigEnum T>
  void needs(std::string_view key, T& member, std::span<const std::string> names, std::string_view meaning) {
    member = static_cast<T>(required_choice(key, names, meaning));
  }
  // A key that may be left out: the default is what the member holds before, nothing for an optional one. `documented`
  // stands in the docs for a default that follows from other keys.
  template <ConfigScalar T>
  void takes(std::string_view key, T& member, std::string_view meaning, std::string_view documented = {}) {
    member = optional<T>(key, member, meaning, documented);
  }
  template <ConfigScalar T>
  void takes(std::string_view key, std::optional<T>& member, std::string_view meaning) {
    member = maybe<T>(key, meaning);
  }
  template <ConfigInteger T>
  void takes(std::string_view key, T& member, Range range, std::string_view meaning) {
    member = static_cast<T>(optional_integer(key, static_cast<std::int64_t>(member), range, meaning));
  }
  template <ConfigEnum T>
  void takes(std::string_view key, T& member, std::span<const std::string> names, std::string_view meaning,
             std::string_view documented = {}) {
    member = static_cast<T>(optional_choice(key, names, static_cast<std::size_t>(member), meaning, documented));
  }

  // Whether to read a part of the section that holds only under `condition`; the documents have every part.
  bool when(bool condition) const { return condition || describes(); }

  // Whether all that was read since the section began, or since `errors`, is right, so that a check of several values
  // makes sense. Never in description mode.
  bool sound() const { return sound(errors_before_); }
  bool sound(std::size_t errors) const { return !describes() && this->errors() == errors; }
  std::size_t errors() const { return context_->diagnostics().error_count(); }

  // A plain value: required, with a default, or optional. A double is a plain number, a share is written `50 %` or 0.5.
  template <ConfigScalar T>
  T required(std::string_view key, std::string_view meaning);
  // `documented` stands in the docs for a default that follows from other keys.
  template <ConfigScalar T>
  T optional(std::string_view key, T fallback, std::string_view meaning, std::string_view documented = {});
  template <ConfigScalar T>
  std::optional<T> maybe(std::string_view key, std::string_view meaning);

  std::int64_t required_integer(std::string_view key, Range range, std::string_view meaning);
  std::int64_t optional_integer(std::string_view key, std::int64_t fallback, Range range, std::string_view meaning);

  std::optional<std::int64_t> maybe_integer(std::string_view key, Range range, std::string_view meaning);

  // One of `names`; returns its index. Hyphen and underscore are the same.
  std::size_t required_choice(std::string_view key, std::span<const std::string> names, std::string_view meaning);
  std::size_t optional_choice(std::string_view key, std::span<const std::string> names, std::size_t fallback,
                              std::string_view meaning, std::string_view documented = {});

  // A nested map. `read` is called if the key is there, and in description mode. With `folder`, a name or path in place
  // of the map is replaced by that file's contents. Returns whether the key is there.
  bool section(std::string_view key, std::string_view meaning, const std::function<void(Section&)>& read,
               std::string_view folder = {});
  // With the file `fallback` of `folder` if the key is absent; `documented` as in takes().
  void section_or(std::string_view key, std::string_view fallback, std::string_view meaning,
                  const std::function<void(Section&)>& read, std::string_view folder, std::string_view documented = {});
  // An empty one if the key is absent or its file cannot be read, so that its defaults are filled in.
  void defaulted_section(std::string_view key, std::string_view meaning, const std::function<void(Section&)>& read);
  bool required_section(std::string_view key, std::string_view meaning, const std::function<void(Section&)>& read,
                        std::string_view folder = {});
  // A list of maps, in order; `read` is called once in description mode.
  bool list(std::string_view key, std::string_view meaning, const std::function<void(Section&)>& read);
  // A map with free keys, each of whose values is a map. `key_name` stands for the key in the docs.
  bool map(std::string_view key, std::string_view key_name, std::string_view meaning,
           const std::function<void(const ConfigEntry&, Section&)>& read);
  // A list of words (a lone word counts as a list of one); empty if absent.
  std::vector<std::string> words(std::string_view key, std::string_view meaning);
  // A value of free form; null if absent. `type` is for the docs.
  const ConfigValue* raw(std::string_view key, std::string_view type, std::string_view fallback,
                         std::string_view meaning);
  // Accepts and ignores a key that is for people only, such as `source`.
  void note(std::string_view key, std::string_view meaning);
  // The keys `source` and `assumed` of a file with figures.
  void sources();

  // A key that another branch of the reader reads: no unknown one, and a name to suggest.
  void know(std::string_view key) { known_.emplace_back(key); }

  // Keys by the names that other programs have for them, which hints translate; `names` outlives the section.
  using OtherName = std::pair<std::string_view, std::string_view>;  // "num_hidden_layers", "layers"
  void translate(std::span<const OtherName> names) { other_names_ = names; }

  bool has(std::string_view key) const { return value_->find(key) != nullptr; }
  // What stands there; of a section that has been read, with its files and defaults filled in. Null if absent.
  const ConfigValue* value(std::string_view key) const;
  // Where `key` stands, or where the section starts if it is absent.
  Location where(std::string_view key) const;
  Location where() const { return value_->where; }
  // Where the key itself stands, also if its value was read from another file.
  Location where_key(std::string_view key) const;
  const std::string& path() const { return path_; }
  bool describes() const { return context_->describes(); }
  ConfigContext& context() const { return *context_; }

  void error(std::string_view key, std::string message, std::string hint = {});
  void warning(std::string_view key, std::string message, std::string hint = {});

  // Reports the keys that nobody asked for. Called by the function that opened the section.
  void finish();

 private:
  ConfigValue* declare(std::string_view key, std::string_view type, std::string_view fallback, std::string_view meaning,
                       bool required, std::optional<Range> range = {});
  bool open(std::string_view key, std::string_view fallback, std::string_view meaning,
            const std::function<void(Section&)>& read, std::string_view folder);
  void set_default(std::string_view key, std::string text, std::string_view documented = {});
  template <ConfigScalar T>
  std::optional<T> convert(std::string_view key, const ConfigValue& value);
  std::optional<std::int64_t> convert_integer(std::string_view key, const ConfigValue& value, Range range);
  std::size_t convert_choice(std::string_view key, const ConfigValue& value, std::span<const std::string> names,
                             std::size_t fallback);
  std::string sub_path(std::string_view key) const;
  bool expand(ConfigValue& value, std::string_view folder);
  std::string hint_for(const ConfigEntry& unknown) const;

  ConfigValue* value_;
  std::string path_;
  ConfigContext* context_;
  std::size_t errors_before_;
  std::vector<std::string> known_;
  std::span<const OtherName> other_names_{};
  bool reported_ = false;  // the value is no map: missing keys go without saying
};

// Reads the whole of `root` with `read` and reports unknown keys.
void read_config(ConfigValue& root, ConfigContext& context, const std::function<void(Section&)>& read);

// The tree as JSON: numbers, booleans and nulls as such, quantities as text.
nlohmann::ordered_json to_json(const ConfigValue& value);

}  // namespace orrery
