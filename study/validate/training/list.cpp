// Tables of training jobs as files: reading one and all shipped ones, and the text of docs/training.md about them.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "study/validate/training/table.h"

namespace orrery {
namespace {

constexpr std::string_view kFolder = "validation/training";

// Tables of a family need not all repeat its title, but none may give another one.
void share_titles(std::vector<TrainingTable>& tables, Diagnostics& diagnostics) {
  std::map<std::string, const TrainingTable*> titled;
  for (const TrainingTable& table : tables) {
    if (table.title.empty()) continue;
    const auto [first, added] = titled.try_emplace(table.family, &table);
    if (!added && first->second->title != table.title)
      diagnostics.error(table.where, fmt::format("family '{}' has two titles", printable(table.family)),
                        fmt::format("in {} it is '{}'", first->second->where.file, printable(first->second->title)));
  }
  std::map<std::string, std::string> titles;
  for (const auto& [family, table] : titled) titles[family] = table->title;
  for (TrainingTable& table : tables) table.title = titles.contains(table.family) ? titles[table.family] : table.family;
}

std::string line_of(const TrainingTable& table) {
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", table.name, table.title,
                     table.cluster.empty() ? "" : fmt::format("`{}`", table.cluster), name_of(table.figure),
                     table.rows.size(), table.scored ? "yes" : "no");
}

}  // namespace

bool is_training_table(const std::string& file, const ConfigFiles& files) {
  const ConfigValue root = files.peek(file);
  return root.find("table") != nullptr && (root.find("figure") != nullptr || root.find("experiment") != nullptr);
}

TrainingTable load_training_table(const std::string& file, const std::vector<std::string>& settings,
                                  const ConfigFiles& files, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  ConfigValue root = files.load(file, {}, diagnostics);
  for (const std::string& setting : settings) apply_setting(root, setting, files, diagnostics);
  if (diagnostics.error_count() > errors) return {};
  return read_training_table(std::move(root), files, diagnostics);
}

void sort_training_tables(std::vector<TrainingTable>& tables) {
  std::ranges::stable_sort(tables, {}, &TrainingTable::name);
  Diagnostics diagnostics;
  for (std::size_t i = 1; i < tables.size(); ++i) {
    if (tables[i].name != tables[i - 1].name) continue;
    diagnostics.error(tables[i].where, fmt::format("two tables are named '{}'", printable(tables[i].name)),
                      fmt::format("the other one is in {}", tables[i - 1].where.file));
  }
  share_titles(tables, diagnostics);
  diagnostics.throw_if_errors();
}

std::vector<TrainingTable> list_training_tables(const ConfigFiles& files) {
  Diagnostics diagnostics;
  std::vector<TrainingTable> tables;
  for (const std::string& name : files.names(kFolder))
    tables.push_back(
        load_training_table((files.shipped() / kFolder / (name + ".yaml")).string(), {}, files, diagnostics));
  diagnostics.throw_if_errors();
  sort_training_tables(tables);
  return tables;
}

std::string training_list(std::span<const TrainingTable> tables) {
  std::string text = "| table | family | cluster | figure | rows | scored |\n|---|---|---|---|---|---|\n";
  for (const TrainingTable& table : tables) text += line_of(table);
  text += "\nWhat was measured, and where it was published:\n\n";
  for (const TrainingTable& table : tables)
    text += fmt::format("* `{}`: {}. {}.\n", table.name, table.measured, fmt::join(table.source, "; "));
  text += "\nWhat the sources leave open, and what was assumed:\n\n";
  for (const TrainingTable& table : tables)
    for (const auto& [key, why] : table.assumed) text += fmt::format("* `{}`, `{}`: {}.\n", table.name, key, why);
  text += "\nWhy not all of them are scored:\n\n";
  for (const TrainingTable& table : tables)
    if (!table.scored) text += fmt::format("* `{}`: {}.\n", table.name, table.why_not);
  return text;
}

}  // namespace orrery
