// SPDX-License-Identifier: MIT
// The configuration reader. A part of the configuration is declared by one function over a Section: every key with its
// type, range, default, meaning, the member that it fills in, and the condition under which there is one. read_config()
// carries the declaration out over a file; list_keys() over a specimen that has every part, and lists what is declared:
// docs/config.md. So a key that is read is documented and a key that is not read is reported.
//
//   section.needs("inputs", c.inputs, kWidth, "channels of the input");
//   section.takes("stride", c.stride, {1, 1024}, "...");               // the member's value is the default
//   section.when(c.is_grouped, [&] { section.needs("groups", ...); });  // a part that not every file has
//   if (section.sound()) check_convolution(section, c);                 // a check of values that are right one by one
//
// Problems are collected, not thrown: a reader returns harmless values after an error, and the caller of the outermost
// reader asks Diagnostics at the end. Defaults are written back into the tree, so that the tree becomes the resolved
// configuration.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <ranges>
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

// True of a file that is neither a shipped one nor one in which Orrery has written all keys out.
bool is_chosen_file(const std::string& file, const ConfigFiles& files);

// One line of docs/config.md.
struct KeyDescription {
  std::string path;      // "cluster.dims[].bandwidth"
  std::string type;      // "bandwidth", "whole number", "ring | switch"
  std::string fallback;  // "required", "optional" or the default
  std::string meaning;
  std::string range;            // "1 to 4096" of a whole number; empty: any of the type
  bool is_conditional = false;  // its section has the key only where other keys say so
};

struct Range {
  std::int64_t least = 0;
  std::int64_t most = INT64_MAX;
};
std::string to_text(Range range);  // "1 to 8", "at least 1"

// A key that changes nothing in this configuration.
struct IdleKey {
  std::string path;    // of the key, or of the section above it; "[]" stands for the elements of a list
  std::string reason;  // "'cluster.node.fabric.bandwidth' holds"
  std::string remedy;  // what to change in its place; may be empty
};

// Places where an idle key is worth a warning: none; edits of the command line; these and the file that was named.
enum class IdleWarning : std::uint8_t { kNone, kSettings, kOwnFile };

// State that all sections of one reading share.
class ConfigContext {
 public:
  ConfigContext(const ConfigFiles& files, Diagnostics& diagnostics) : files_(&files), diagnostics_(&diagnostics) {}

  // The file that the user named. One of the shipped files is nobody's own.
  void set_own_file(const std::string& file);
  bool is_own(const Location& where) const {
    return is_setting(where) || (!own_file_.empty() && where.file == own_file_);
  }

  // Says that a key acts in a way that the reader of its section does not know of: it is not idle there.
  void note_acting(std::string path) { acting_.push_back(std::move(path)); }
  bool acts(std::string_view path) const { return std::ranges::find(acting_, path) != acting_.end(); }
  void add_idle(IdleKey key) { idle_keys_.push_back(std::move(key)); }
  std::vector<IdleKey> take_idle_keys() { return std::move(idle_keys_); }

  const ConfigFiles& files() const { return *files_; }
  Diagnostics& diagnostics() const { return *diagnostics_; }
  // The paths of all keys there are, to find those of which somebody wrote only a part; none unless they are given.
  void set_paths(std::function<std::vector<std::string>()> paths) { paths_ = std::move(paths); }
  std::vector<std::string> paths() const { return paths_ ? paths_() : std::vector<std::string>{}; }

 private:
  const ConfigFiles* files_;
  Diagnostics* diagnostics_;
  std::function<std::vector<std::string>()> paths_{};
  std::string own_file_{};
  std::vector<IdleKey> idle_keys_{};
  std::vector<std::string> acting_{};
};

// The words that a key may hold, in the order of an enumeration.
struct Names : std::vector<std::string> {
  Names(std::initializer_list<std::string_view> names) : vector(names.begin(), names.end()) {}
  template <std::ranges::input_range List>
  Names(const List& names) : vector(std::ranges::begin(names), std::ranges::end(names)) {}
};

template <class T>
concept ConfigScalar = std::is_same_v<T, Bytes> || std::is_same_v<T, Bandwidth> || std::is_same_v<T, Duration> ||
    std::is_same_v<T, Flops> || std::is_same_v<T, FlopRate> || std::is_same_v<T, Power> || std::is_same_v<T, Count> ||
    std::is_same_v<T, Efficiency> || std::is_same_v<T, bool> || std::is_same_v<T, std::string> ||
    std::is_same_v<T, double>;

template <class T>
concept ConfigInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class T>
concept ConfigEnum = std::is_enum_v<T>;

class Section;

struct AnyValue {};

// A key of a section: `Value` is a plain value, a whole number within a Range, or the number of one of some Names, for
// which hyphen and underscore are the same.
template <class Value, class Domain = AnyValue>
class Key {
 public:
  Key(std::string_view name, std::string_view meaning, Domain domain = {})
      : name_(name), meaning_(meaning), domain_(std::move(domain)) {}

  // After an error, or where the key is missing, which is one: what is harmless. `documented` stands in the docs for
  // what other keys may take its place, or for a default that follows from other keys.
  Value required(Section& section, std::string_view documented = "required") const;
  Value optional(Section& section, Value fallback, std::string_view documented = {}) const;
  std::optional<Value> maybe(Section& section) const { return read(section, "optional"); }

 private:
  std::optional<Value> read(Section& section, std::string_view fallback, bool is_required = false) const;
  ConfigValue* declare(Section& section, std::string_view fallback, bool is_required = false) const;
  std::optional<Value> convert(Section& section, const ConfigValue& value) const;

  std::string_view name_;
  std::string_view meaning_;
  Domain domain_;
};
using WholeNumber = Key<std::int64_t, Range>;
using Choice = Key<std::size_t, Names>;

// A map of a configuration, and the keys that it may have. Every accessor marks its key as known.
class Section {
 public:
  // `value` should be a map; anything else is reported. `path` is the dotted path for docs and messages.
  Section(ConfigValue& value, std::string path, ConfigContext& context);
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  virtual ~Section() = default;

  // A key that must be there, whose value goes to `member`: a plain value, a whole number, or one of `names`, which is
  // the enumerator of that number. After an error the member is harmless.
  template <ConfigScalar T>
  void needs(std::string_view key, T& member, std::string_view meaning) {
    member = required<T>(key, meaning);
  }
  template <ConfigInteger T>
  void needs(std::string_view key, T& member, Range range, std::string_view meaning) {
    member = static_cast<T>(WholeNumber(key, meaning, range).required(*this));
  }
  template <ConfigEnum T>
  void needs(std::string_view key, T& member, const Names& names, std::string_view meaning) {
    member = static_cast<T>(Choice(key, meaning, names).required(*this));
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
    member = static_cast<T>(WholeNumber(key, meaning, range).optional(*this, static_cast<std::int64_t>(member)));
  }
  template <ConfigEnum T>
  void takes(std::string_view key, T& member, const Names& names, std::string_view meaning,
             std::string_view documented = {}) {
    member = static_cast<T>(Choice(key, meaning, names).optional(*this, static_cast<std::size_t>(member), documented));
  }
  template <ConfigEnum T>
  void takes(std::string_view key, std::optional<T>& member, const Names& names, std::string_view meaning) {
    if (const auto choice = Choice(key, meaning, names).maybe(*this)) member = static_cast<T>(*choice);
  }

  // A key that may be left out, in place of which nothing is written: the member stays as it is.
  template <ConfigScalar T>
  void accepts(std::string_view key, T& member, std::string_view meaning) {
    if (auto value = maybe<T>(key, meaning)) member = std::move(*value);
  }
  template <ConfigInteger T>
  void accepts(std::string_view key, T& member, Range range, std::string_view meaning) {
    if (const auto number = WholeNumber(key, meaning, range).maybe(*this)) member = static_cast<T>(*number);
  }

  // Declares a part of the section that there is only under `condition`.
  virtual void when(bool condition, const std::function<void()>& declare);

  // True if everything read since the section began (or since `errors`) was right, so that a check of several values
  // together makes sense.
  bool sound() const { return sound(errors_before_); }
  bool sound(std::size_t errors) const { return this->errors() == errors; }
  std::size_t errors() const { return context_->diagnostics().error_count(); }

  // A plain value: required, with a default, or optional. A double is a plain number, a share is written `50 %` or 0.5.
  template <ConfigScalar T>
  T required(std::string_view key, std::string_view meaning) {
    return Key<T>(key, meaning).required(*this);
  }
  template <ConfigScalar T>
  T optional(std::string_view key, T fallback, std::string_view meaning, std::string_view documented = {}) {
    return Key<T>(key, meaning).optional(*this, std::move(fallback), documented);
  }
  template <ConfigScalar T>
  std::optional<T> maybe(std::string_view key, std::string_view meaning) {
    return Key<T>(key, meaning).maybe(*this);
  }
  using Read = std::function<void(Section&)>;

  // A nested map. `read` is called if the key is there. With `folder`, a name or path in place of the map is replaced
  // by that file's contents, and a map with `like: NAME` changes that file. Returns whether the key is there.
  bool section(std::string_view key, std::string_view meaning, const Read& read, std::string_view folder = {});
  // Reads a section. An absent key stands for the file `fallback` of `folder`, and an edit below the key changes that
  // file, as does a map without the key `whole_by`; `documented` as in takes().
  void section_or(std::string_view key, std::string_view fallback, std::string_view meaning, const Read& read,
                  std::string_view folder, std::string_view documented = {}, std::string_view whole_by = {});
  // An empty one if the key is absent or its file cannot be read, so that its defaults are filled in.
  void defaulted_section(std::string_view key, std::string_view meaning, const Read& read);
  bool required_section(std::string_view key, std::string_view meaning, const Read& read, std::string_view folder = {});
  // Reads a section with keys that stand elsewhere, too, and that the docs do not repeat. `presence` is "optional", or
  // "required" where the caller reports that it is missing.
  bool repeated_section(std::string_view key, std::string_view meaning, const Read& read,
                        std::string_view presence = "optional");
  // A list of maps, in order.
  bool list(std::string_view key, std::string_view meaning, const Read& read);
  // A map with free keys, each of whose values is a map. `key_name` stands for the key in the docs. One of `words` in
  // place of such a value is {word: true}. A key may have dots in it, behind which one of `below` may be misspelt.
  bool map(std::string_view key, std::string_view key_name, std::string_view meaning,
           const std::function<void(const ConfigEntry&, Section&)>& read, const Names& words = {},
           const Names& below = {});
  // A list of words (a lone word counts as a list of one); empty if absent.
  std::vector<std::string> words(std::string_view key, std::string_view meaning);
  // A list of 1 to `most` whole numbers. `presence` is "required" or "optional": then empty if absent. Empty after
  // errors.
  std::vector<std::int64_t> whole_numbers(std::string_view key, Range range, std::size_t most,
                                          std::string_view presence, std::string_view meaning);
  // A value of free form; null if absent. `type` is for the docs.
  const ConfigValue* raw(std::string_view key, std::string_view type, std::string_view fallback,
                         std::string_view meaning);
  // Accepts and ignores a key that is for people only, such as `source`.
  void note(std::string_view key, std::string_view meaning);
  // The keys of a file with figures that say how well these are known: `source`, `assumed`, and `lists` of `fitted` and
  // `measured`, but for those that the reader has itself.
  void sources(const Names& lists = {"fitted", "measured"});

  // A key that another branch of the reader reads: no unknown one, and a name to suggest.
  void know(std::string_view key) { known_.emplace_back(key); }

  // Says that `key`, or "a.b" below the section, changes nothing, and why: a warning where a user has given it, and the
  // answer where somebody asks what it changes.
  void idle(std::string_view key, const std::string& reason, const std::string& remedy = {},
            IdleWarning warning = IdleWarning::kSettings);
  // The same of a key in whose place another holds, which has the path `by` and stands at `by_where`. The command line
  // may well overrule a file without a warning.
  void overruled(std::string_view key, const std::string& by, const Location& by_where);

  // Keys by the names that other programs have for them, which hints translate; `names` outlives the section. Those
  // that are as good as the keys themselves are in core/config/other_names.h.
  using OtherName = std::pair<std::string_view, std::string_view>;  // "num_hidden_layers", "layers"
  void translate(std::span<const OtherName> names) { other_names_ = names; }

  // Puts other contents in place of the section's own before any key is read.
  void rewrite(ConfigValue contents) { *value_ = std::move(contents); }
  const ConfigValue& contents() const { return *value_; }

  bool has(std::string_view key) const { return value_->find(key) != nullptr; }
  // True if a file or the command line has `key`, or "a.b" below the section; false if its value is a default.
  bool given(std::string_view key) const;
  // Value at `key`; for a section that has been read, files and defaults are filled in. Null if absent.
  const ConfigValue* value(std::string_view key) const;
  // The path that `name` stands for, a text of `key` or of the list that it holds: path_from() where it is written.
  std::string path(std::string_view key, std::string_view name);
  // Location of `key`, or of the section's start if the key is absent.
  Location where(std::string_view key) const;
  Location where() const { return value_->where; }
  // The same of "a.b".
  Location where_below(std::string_view key) const;
  // Location of the key itself, even if its value was read from another file.
  Location where_key(std::string_view key) const;
  const std::string& path() const { return path_; }
  ConfigContext& context() const { return *context_; }

  void error(std::string_view key, std::string message, std::string hint = {});
  void warning(std::string_view key, std::string message, std::string hint = {});

  // Reports the keys that nobody asked for. A file of another kind than those in `folder` (of the shipped ones; may be
  // empty) is one error instead. Called by the function that opened the section.
  void finish(std::string_view folder = {});

 protected:
  // A key as it is declared; its path is that within the section.
  struct Declared : KeyDescription {
    bool is_required = false;
    ConfigValue specimen{};  // of a value that has parts: with one of each
  };
  // The key's value; null if it has none.
  virtual ConfigValue* declare(Declared key);
  // Reads what is within `value`.
  virtual void enter(ConfigValue& value, const std::string& path, const Read& read, std::string_view folder);
  virtual void set_default(std::string_view key, std::string text, std::string_view documented);

  std::string sub_path(std::string_view key) const;

 private:
  void warn_of_idle(const ConfigEntry& entry, const std::string& path, const std::string& reason,
                    const std::string& remedy, IdleWarning warning);
  template <class Value, class Domain>
  friend class Key;
  bool open(Declared key, const Read& read, std::string_view folder);
  bool expand(ConfigValue& value, std::string_view folder);
  std::string hint_for(const ConfigEntry& unknown) const;
  // Tells a named file of another kind than the key takes by its own keys, most of which the section does not know.
  // Empty for a section that is only a part of its file, and for a file that belongs here, misspelt or not.
  std::optional<FileKindHint> another_kind(std::string_view folder) const;
  // Reports a file that belongs elsewhere in place of all that was found wrong in it.
  void refuse_file(const FileKindHint& kind, std::string_view folder);

  ConfigValue* value_;
  std::string path_;
  ConfigContext* context_;
  std::size_t errors_before_;
  std::size_t problems_before_;
  std::vector<std::string> known_;
  std::span<const OtherName> other_names_{};
  bool reported_ = false;  // the value is no map: missing keys go without saying
};

// Reads the whole of `root` with `read` and reports unknown keys.
void read_config(ConfigValue& root, ConfigContext& context, const Section::Read& read);

// Every key that `read` declares, in its order.
std::vector<KeyDescription> list_keys(const ConfigFiles& files, const Section::Read& read);

// The tree as JSON: numbers, booleans and nulls as such, quantities as text.
nlohmann::ordered_json to_json(const ConfigValue& value);

}  // namespace orrery
