// Published times of training jobs, from configs/validation/training: a table is one experiment with keys that differ
// from row to row, and what each row was published to reach. docs/training.md lists them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "study/validate/training/figure.h"

namespace orrery {

struct TrainingRow {
  std::string label;
  Location where;
  ConfigValue experiment;  // before it is read; of a table that is not scored perhaps nothing
  double figure = 0;       // as published
  Location figure_at;
  std::string miss;  // why the prediction is far off; empty if nothing is known of it
};

struct TrainingTable {
  std::string name;
  Location where;      // of the name
  std::string family;  // tables of one family are summed up, and left out, together
  std::string title;   // of the family
  std::vector<std::string> source;
  std::string measured;  // the machine, in the words of the source
  TrainingFigure figure = TrainingFigure::kTime;
  std::string cluster;  // by name; empty if it is none, or differs from row to row
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::string>> assumed;  // what the source leaves open, and the reason for a choice
  bool scored = true;
  bool fit = true;      // whether constants of the software are fitted to it
  std::string why_not;  // if not scored
  std::vector<TrainingRow> rows;
};

// Reads one table, whose `root` comes from load_config or parse_config, but not the experiments of its rows. Problems
// go to `diagnostics`; after an error the table is not to be used.
TrainingTable read_training_table(ConfigValue root, const ConfigFiles& files, Diagnostics& diagnostics);

// Whether `file` is such a table rather than another configuration or a trace: by its keys.
bool is_training_table(const std::string& file, const ConfigFiles& files);

// Reads a table of its own, with `settings` (a.b=v) applied.
TrainingTable load_training_table(const std::string& file, const std::vector<std::string>& settings,
                                  const ConfigFiles& files, Diagnostics& diagnostics);

// InputError when two tables have one name, or those of one family two titles; then sorts them by name.
void sort_training_tables(std::vector<TrainingTable>& tables);

// All shipped tables, by name. InputError with all problems of all files.
std::vector<TrainingTable> list_training_tables(const ConfigFiles& files);

// The keys of a table, in the order of the reader.
std::vector<KeyDescription> describe_training_table(const ConfigFiles& files);

// The tables as docs/training.md shows them: where they come from, what was assumed, what is not scored.
std::string training_list(std::span<const TrainingTable> tables);

}  // namespace orrery
