// SPDX-License-Identifier: MIT
// A kind of validation as the command line sees it: what it is asked, and what it answers. study/validate/kinds.h lists
// them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/in_parallel.h"
#include "study/points/points.h"
#include "study/table_files.h"
#include "study/validate/measured/accuracy.h"

namespace orrery::study {

struct ValidationRequest {
  const ConfigFiles& files;
  bool cross = false;                     // also by constants fitted without each system or family
  bool details = false;                   // print every row
  bool draws_pictures = false;            // of every table
  std::vector<std::string> own_tables{};  // files, in place of the shipped tables
  std::string device{};                   // of own tables that do not say theirs
  std::string software{};                 // on that device
  std::string recordings{};               // folder of recorded traces; empty: not given
  Points* points = nullptr;               // of all that is simulated; null: it is simulated here, and not kept

  WorkProgress progress_of(std::string_view what) const {
    if (points == nullptr) return {};
    return [all = points, what](std::uint64_t done, std::uint64_t total) { all->progress(what, done, total); };
  }
};

struct Validated {
  std::string text;
  nlohmann::ordered_json document{};  // nothing: there was none to validate
  std::optional<AccuracySection> accuracy{};
  std::vector<std::pair<std::string, std::string>> pictures{};  // names of files, SVG
  std::string errors_csv{};                                     // of what was left out
};

struct ValidationKind {
  std::string_view name;   // section of `orrery validate`, and folder in configs/validation
  std::string_view key;    // of its part of the document "orrery.validation/1"; empty: the top of it
  std::string_view table;  // what `orrery check` calls its files
  Validated (*validate)(const ValidationRequest&);
  // Reads a file, and what else can be said of it without a simulation.
  void (*check)(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                Diagnostics& diagnostics);
};

// ValidationKind::check of a kind whose reader finds all that is wrong.
template <class Table>
void check_table(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                 Diagnostics& diagnostics) {
  load_table<Table>(file, settings, files, diagnostics);
}

// The tables of a request: its own, or the shipped ones.
template <class Table>
std::vector<Table> tables_of(const ValidationRequest& request) {
  if (request.own_tables.empty()) return list_tables<Table>(request.files);
  return load_tables<Table>(request.own_tables, request.files);
}

}  // namespace orrery::study
