// SPDX-License-Identifier: MIT
// A configuration file as a tree that remembers where every value stands. YAML (and so JSON) in; the readers of
// core/config/config.h take it from there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace orrery {

struct ConfigEntry;

struct ConfigValue {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  Location where;
  std::string scalar;              // kScalar, unquoted
  std::list<ConfigValue> items;    // kList
  std::list<ConfigEntry> entries;  // kMap, in file order; lists keep references valid while readers add defaults
  bool over_default = false;       // kMap: its entries change the file that a reader takes where the key is missing;
                                   // kScalar: it took the place of another value that is written
  bool is_resolved = false;        // kMap: all of it was filled in before, so that nobody has written its keys
  bool is_default = false;         // written, and what its reader would take without it
  bool is_path = false;            // kScalar: of a file, seen from where it stands (path_from())

  const ConfigEntry* find(std::string_view key) const;
  ConfigEntry* find(std::string_view key);
};

struct ConfigEntry {
  std::string key;
  Location where;
  ConfigValue value;
  std::string defaulted = {};  // no file has the key: what the value follows from, such as "default"
};

// Takes out all that no file has and nobody has set, at any depth: readers fill it in anew, by what is there then.
void drop_defaults(ConfigValue& value);

// "a text", "a list", ...: for messages.
std::string_view kind_name(ConfigValue::Kind kind);

// Parses `text` (one YAML document). Syntax errors, duplicate keys, keys that are no scalars, too much nesting or too
// many values (aliases that multiply) are collected in `diagnostics`; what could be read is returned.
ConfigValue parse_config(std::string_view text, const std::string& file, Diagnostics& diagnostics);

// True if a value names a file by path: it has a '/' or ends in .yaml, .yml or .json.
bool looks_like_path(std::string_view name);

// Path by which the program reads its standard input as a file.
inline constexpr std::string_view kStandardInput = "/dev/stdin";

// The path that `name` stands for in `file`: relative to its folder. From the command line, be it an option or standard
// input, relative to the working directory.
std::filesystem::path path_from(const std::string& file, std::string_view name);

// From now on paths in `file`, the result of a run, start from where those in `original` do, from which it was made:
// see path_from(). Any thread may call.
void take_paths_of(const std::string& file, const std::string& original);

// True if `file` can be a configuration, judged by its ending; standard input can, if it is text.
bool may_be_configuration(const std::string& file);
// True if `file` may be a trace as well: JSON can be either.
bool may_be_trace(const std::string& file);

class ParsedFiles;

// Words for a message about a file that is of another kind than the one expected; empty where nothing is known of it.
struct FileKindHint {
  std::string what;  // "a sweep"
  std::string hint;  // what to do with it
};
// Function that tells the kind of a file by its contents. Its answer is empty for a file of the kind that `folder` of
// the shipped files has, "clusters".
using TellFileKind = std::function<FileKindHint(const ConfigValue& root, std::string_view folder)>;

// The folder of shipped configurations, and how a name in a file becomes another file. Any thread may call.
class ConfigFiles {
 public:
  // `parsed`: a file of those that were parsed before (core/config/parsed_files.h), if there is one.
  explicit ConfigFiles(std::filesystem::path shipped, const std::filesystem::path& parsed = {});

  const std::filesystem::path& shipped() const { return shipped_; }

  // Called before anything is read; without it no kinds are known.
  void set_kinds(TellFileKind tell) { tell_kind_ = std::move(tell); }
  FileKindHint kind_of(const ConfigValue& root, std::string_view folder) const {
    return tell_kind_ ? tell_kind_(root, folder) : FileKindHint{};
  }

  // Reads and parses a file, once however often it is asked for, unless it changes; one that cannot be read is an error
  // at `wanted_at` (where it is named).
  ConfigValue load(const std::filesystem::path& path, const Location& wanted_at, Diagnostics& diagnostics) const;

  // Text of a file that was read before, for the comments in it; empty of any other.
  std::string text(const std::string& path) const;

  // Beginning of any file: its first 4,096 bytes at most.
  std::string beginning(const std::string& path) const;

  // Reads as much as possible of the configuration file `path`, whatever is wrong with it, to tell what kind of file it
  // is. Null for a file that is no configuration (may_be_configuration()).
  ConfigValue peek(const std::string& path) const;

  // `value` is a path (looks_like_path), relative to the file that names it, or a bare name looked up in `folder` of
  // the shipped files. Replaces `value` (a scalar) by the file's contents; on failure reports and leaves it.
  bool expand(ConfigValue& value, std::string_view folder, Diagnostics& diagnostics) const;
  // Expands what stands in that file as well, which may itself be like another.
  bool open(ConfigValue& value, std::string_view folder, Diagnostics& diagnostics) const;

  // Bare names in a shipped folder, sorted.
  std::vector<std::string> names(std::string_view folder) const;

 private:
  // When a file was written, and how long it is; nothing of what is no file, or may still be written.
  using Stamp = std::optional<std::pair<std::filesystem::file_time_type, std::uintmax_t>>;
  // A file as it was read.
  struct Document {
    Stamp stamp;
    std::string text;
    std::optional<ConfigValue> value{};  // of the text, once it has been parsed
    Diagnostics problems{};              // of parsing it
  };
  static Stamp stamp_of(const std::filesystem::path& path);
  ConfigValue parse(Document& document, const std::filesystem::path& path) const;
  // Null if it cannot be read, which is an error. The lock is held.
  Document* read(const std::filesystem::path& path, const Location& wanted_at, Diagnostics& diagnostics) const;

  std::filesystem::path shipped_;
  TellFileKind tell_kind_{};
  std::shared_ptr<const ParsedFiles> parsed_;  // null: none
  mutable std::mutex lock_;
  mutable std::map<std::filesystem::path, Document> documents_;
};

// The shipped folder in which a key's bare name is looked up ("cluster" -> "clusters"), "" if the key names no file.
std::string_view folder_of_key(std::string_view key);

// True if a value comes from the command line, from an edit (`--set`).
bool is_setting(const Location& where);

// Replaces the values of `value` by those of `changes` at the same keys; maps are merged, key by key.
void merge_into(ConfigValue& value, ConfigValue changes);

// "dims[0].size" and "dims.0.size": the keys on the way. Names of links are one key, dots and all:
// "perturb.links.nic.up[5].bandwidth" has "nic.up[5]".
std::vector<std::string> split_key_path(std::string_view path);

// The configuration with every file and default filled in, for values that are relative to a default. Throws InputError
// where it is not a whole configuration.
using ResolveConfig = std::function<ConfigValue(ConfigValue)>;

// The element of a list or the value of a map that a step of a path leads to; null if there is none.
ConfigValue* element_of(ConfigValue& value, std::string_view step);

// Puts `value` where `path` ("a.b", "list.2.key") leads: maps on the way are created, names of files on the way are
// expanded. "x2" is twice the value that is there (core/config/relative.h). Problems stand where `value` does.
void set_value(ConfigValue& root, std::string_view path, ConfigValue value, const ConfigFiles& files,
               Diagnostics& diagnostics, const ResolveConfig& resolve = {});

// A value from the command line: a name, a path (relative to the working directory) or YAML. Every part of it stands at
// `origin`, the option that gave it.
ConfigValue parse_option(std::string_view text, std::string_view origin, Diagnostics& diagnostics);

// Applies one edit: `a.b=v`, where `v` is YAML, or `a.b*=f`, which multiplies the value that is there.
void apply_setting(ConfigValue& root, const std::string& setting, const ConfigFiles& files, Diagnostics& diagnostics,
                   const ResolveConfig& resolve = {});

// Path in an edit: "a.b" of "a.b=c".
std::string path_of_setting(std::string_view setting);

// Puts the file that `like` of a map names, of a key with this `folder`, below the map's other keys, which change it.
// False after an error.
bool take_likeness(ConfigValue& value, std::string_view folder, const ConfigFiles& files, Diagnostics& diagnostics);

// Replaces the name of a file that `value` is, of a key with this `folder`, by the contents, as it does `like` in a
// map. False after an error.
bool expand_named(ConfigValue& value, std::string_view folder, const ConfigFiles& files, Diagnostics& diagnostics);

}  // namespace orrery
