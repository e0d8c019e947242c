// SPDX-License-Identifier: MIT
// Tables of published measurements as files, one table a file. A kind of table is a struct with a `name`, which no
// other table has, where that stands (`where`) and the folder of the shipped ones (kFolder); read_table() reads it from
// a file's section. experiment/files/file_kinds.h tells its files by their keys.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/config/config.h"

namespace orrery::study {

// A text that says something.
std::string read_words(Section& section, std::string_view key, std::string_view meaning);

// A table that is not scored says why, and only such a one.
void check_scoring(Section& section, bool scored, const std::string& why_not);

// Shows the items of the list at `rows`, each `what`; an error if it has none.
void read_rows(Section& section, std::string_view what, std::string_view meaning,
               const std::function<void(const ConfigValue&)>& read);

// Reads a table from what ConfigFiles::load() or parse_config() gave. Problems go to `diagnostics`; after an error the
// table is not to be used.
template <class Table>
Table table_from(ConfigValue root, const ConfigFiles& files, Diagnostics& diagnostics) {
  Table table;
  ConfigContext context(files, diagnostics);
  read_config(root, context, [&](Section& section) { read_table(section, table); });
  return table;
}

// Reads a table of its own, with `settings` (a.b=v) applied.
template <class Table>
Table load_table(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                 Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  ConfigValue root = files.load(file, {}, diagnostics);
  for (const std::string& setting : settings) apply_setting(root, setting, files, diagnostics);
  if (diagnostics.error_count() > errors) return {};
  return table_from<Table>(std::move(root), files, diagnostics);
}

// Tables by name. InputError when two tables have one name, or do not agree with one another (check_together()).
template <class Table>
void sort_tables(std::vector<Table>& tables) {
  std::ranges::stable_sort(tables, {}, &Table::name);
  Diagnostics diagnostics;
  for (std::size_t i = 1; i < tables.size(); ++i)
    if (tables[i].name == tables[i - 1].name)
      diagnostics.error(tables[i].where, fmt::format("two tables are named '{}'", printable(tables[i].name)),
                        fmt::format("the other one is in {}", tables[i - 1].where.file));
  if constexpr (requires { check_together(tables, diagnostics); }) check_together(tables, diagnostics);
  diagnostics.throw_if_errors();
}

// These files, sorted. InputError with all problems of all files.
template <class Table>
std::vector<Table> load_tables(std::span<const std::string> names, const ConfigFiles& files) {
  Diagnostics diagnostics;
  std::vector<Table> tables;
  for (const std::string& name : names) tables.push_back(load_table<Table>(name, {}, files, diagnostics));
  diagnostics.throw_if_errors();
  sort_tables(tables);
  return tables;
}

// All shipped ones.
template <class Table>
std::vector<Table> list_tables(const ConfigFiles& files) {
  std::vector<std::string> names = files.names(Table::kFolder);
  for (std::string& name : names) name = (files.shipped() / Table::kFolder / (name + ".yaml")).string();
  return load_tables<Table>(names, files);
}

// The keys of a table, in the order of the reader.
template <class Table>
std::vector<KeyDescription> describe_table(const ConfigFiles& files) {
  Table table;
  return list_keys(files, [&](Section& section) { read_table(section, table); });
}

}  // namespace orrery::study
