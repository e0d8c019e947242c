// SPDX-License-Identifier: MIT
#include "experiment/files/file_kinds.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files/shell_word.h"
#include "experiment/files/foreign_files.h"
#include "experiment/launchers/launcher.h"
#include "experiment/recorded_run.h"
#include "workload/traces/files.h"

namespace orrery::experiment {
namespace {

// A table of published measurements: it has the key `table` and one of `keys`; the first kind that fits holds.
struct TableKind {
  std::array<std::string_view, 3> keys;
  std::string_view holds;
  std::string_view section;  // of `orrery validate`, and of configs/validation
};

constexpr std::array<TableKind, 5> kTables = {{
    {{"layers", "products", "kernels"}, "measured operators", "compute"},
    {{"traces"}, "recorded traces", "traces"},
    {{"exchanges"}, "measured dispatches", "experts"},
    {{"figure", "experiment"}, "measured training jobs", "training"},
    {{"rows"}, "measured collectives", "nccl"},
}};

// A part of an experiment, by the keys that tell.
struct PartKeys {
  std::string_view kind;
  std::string_view folder;  // of the shipped ones
  std::string_view place;   // a key that takes such a file
  std::array<std::string_view, 6> keys;
};

// The first kind with one of its keys is it; what has none of them is an experiment, too.
constexpr std::array<std::string_view, 4> kExperimentKeys = {"workload", "jobs", "cluster", "collectives"};
constexpr std::array<PartKeys, 11> kParts = {{
    {"cluster", "clusters", "cluster", {"dims", "node", "scale_out"}},
    {"node", "nodes", "cluster.node", {"devices", "nics", "fabric"}},
    {"device", "devices", "cluster.node.device", {"peak", "memory", "streaming_multiprocessors"}},
    {"library", "libraries", "collectives.constants", {"ll_cap", "hop", "chunk"}},
    {"model", "models", "workload.model", {"hidden", "tables", "convolutions", "recurrent", "evoformer", "model_type"}},
    {"optimizer", "optimizers", "workload.optimizer", {"moments", "masters"}},
    {"recipe", "recipes", "workload.recipe", {"operand", "copies", "products_in_bf16"}},
    {"software", "software", "workload.software", {"rates", "attention", "optimizer"}},
    {"dispatch library", "dispatch", "workload.experts.dispatch", {"exchange", "processor_rate"}},
    {"network", "networks", "cluster.scale_out.network", {"kind", "stack"}},
    {"link", "links", "cluster.node.fabric.link", {"bandwidth", "efficiency"}},
}};

bool has_one_of(const ConfigValue& root, std::span<const std::string_view> keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) { return !key.empty() && root.find(key) != nullptr; });
}

// Null where no key tells.
const PartKeys* part_keys(const ConfigValue& root) {
  const auto found = std::ranges::find_if(kParts, [&](const PartKeys& part) { return has_one_of(root, part.keys); });
  return found == kParts.end() ? nullptr : &*found;
}

// The name of a part with its article: "a model", "an optimizer", "software".
std::string named(std::string_view part) {
  if (part == "software") return std::string(part);
  return fmt::format("{} {}", part == "optimizer" ? "an" : "a", part);
}

const TableKind* table_kind(const ConfigValue& root) {
  const auto has = [&root](std::string_view key) { return !key.empty() && root.find(key) != nullptr; };
  if (!has("table")) return nullptr;
  const auto found =
      std::ranges::find_if(kTables, [&](const TableKind& table) { return std::ranges::any_of(table.keys, has); });
  return found == kTables.end() ? nullptr : &*found;
}

// The text of YAML without its comments; JSON has none.
std::string without_comments(std::string text) {
  if (text.find_first_not_of(" \t\r\n") == text.find_first_of("{[")) return text;
  std::string rest;
  bool is_comment = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') is_comment = false;
    if (text[i] == '#' && (i == 0 || text[i - 1] == '\n' || text[i - 1] == ' ' || text[i - 1] == '\t'))
      is_comment = true;
    if (!is_comment) rest += text[i];
  }
  return rest;
}

// The launcher whose words a file has. None of a file that has a key of experiments, which may name a launcher.
std::optional<Launcher> launcher_of_configuration(const std::string& file, const ConfigValue& root,
                                                  const ConfigFiles& files) {
  constexpr std::array<std::string_view, 7> kOtherKeys = {"network", "nodes",       "memory", "placement",
                                                          "perturb", "reliability", "fold"};
  if (is_experiment(root) || is_document(root) || has_one_of(root, kOtherKeys)) return std::nullopt;
  return launcher_of(file, without_comments(files.beginning(file)));
}

}  // namespace

FileKind file_kind(const ConfigValue& root) {
  if (table_kind(root) != nullptr) return FileKind::kMeasurements;
  const auto has = [&root](std::string_view key) { return root.find(key) != nullptr; };
  if (has("table") || is_document(root)) return FileKind::kOther;
  if (has("vary") || has("experiment")) return FileKind::kSweep;
  return astra_sim_file(root).empty() ? FileKind::kOther : FileKind::kAstraSim;
}

FileKind file_kind(const std::string& file, const ConfigFiles& files) {
  return is_result(file, files) ? FileKind::kOther : file_kind(files.peek(file));
}

std::string_view measurements_of(const std::string& file, const ConfigFiles& files) {
  const bool is_table = file_kind(file, files) == FileKind::kMeasurements;
  return is_table ? table_kind(files.peek(file))->section : std::string_view();
}

bool is_experiment(const ConfigValue& root) { return has_one_of(root, kExperimentKeys); }

std::string_view part_kind(const ConfigValue& root) {
  const PartKeys* part = is_experiment(root) ? nullptr : part_keys(root);
  return part == nullptr ? std::string_view() : part->kind;
}

std::string_view astra_sim_file(const ConfigValue& root) {
  const auto has = [&](std::string_view key) { return root.find(key) != nullptr; };
  if (has("npus_count") && has("topology")) return "network";
  if (has("memory-type")) return "remote memory";
  const bool names_algorithms = std::ranges::any_of(root.entries, [](const ConfigEntry& entry) {
    return entry.key.ends_with("-implementation") || entry.key.ends_with("-implementation-custom");
  });
  return names_algorithms || has("preferred-dataset-splits") ? "system" : "";
}

FileKindHint kind_hint(const ConfigValue& root, std::string_view folder) {
  const auto expected = std::ranges::find(kParts, folder, &PartKeys::folder);
  if (expected != kParts.end() && has_one_of(root, expected->keys)) return {};
  if (is_document(root)) return {fmt::format("a document '{}'", printable(root.find("schema")->value.scalar, 40)), {}};
  const std::string file = shown_shell_word(root.where.file);
  const FileKind kind = file_kind(root);
  if (kind == FileKind::kMeasurements) return {fmt::format("a table of {}", table_kind(root)->holds), {}};
  if (kind == FileKind::kSweep) return {"a sweep", fmt::format("orrery sweep {} simulates its points", file)};
  if (kind == FileKind::kAstraSim) {
    const std::string_view name = astra_sim_file(root);
    std::string hint;
    if (name == "network" && folder == "clusters")
      hint = fmt::format("write it as a cluster: orrery cluster import {} > cluster.yaml", file);
    return {fmt::format("ASTRA-sim's {} file", name), std::move(hint)};
  }
  if (is_experiment(root)) return {"an experiment", fmt::format("orrery run {} simulates it", file)};
  const PartKeys* part = part_keys(root);
  if (part == nullptr) return {};
  return {named(part->kind), fmt::format("it belongs in '{}'", part->place)};
}

void refuse_other_than_sweeps(const std::string& file, const ConfigFiles& files) {
  refuse_foreign_file(file, "a sweep");
  const ConfigValue root = files.peek(file);
  if (is_document(root)) {
    const std::string schema = printable(root.find("schema")->value.scalar, 40);
    throw InputError({file}, fmt::format("is a document '{}', not a sweep", schema),
                     "a sweep has an experiment below `experiment` and axes in `vary`: docs/sweeps.md");
  }
  if (root.find("vary") == nullptr && root.find("experiment") == nullptr && is_experiment(root))
    throw InputError({file}, "this is an experiment, not a sweep",
                     fmt::format("orrery run {} simulates it; a sweep says `experiment: {}` and which keys `vary`: "
                                 "docs/sweeps.md",
                                 shown_shell_word(file), printable(file)));
}

void refuse_other_kinds(const std::string& file, const ConfigFiles& files) {
  // Words of other files may stand in an experiment's comments.
  if (foreign_file(file) && !is_experiment(files.peek(file))) refuse_foreign_file(file, "an experiment");
  if (is_profile_file(file)) return;
  const ConfigValue root = files.peek(file);
  const FileKind kind = file_kind(file, files);
  if (kind == FileKind::kSweep)
    throw InputError({file}, "this is a sweep of experiments, not one experiment",
                     "orrery sweep " + shown_shell_word(file));
  if (kind == FileKind::kAstraSim)
    throw InputError(
        {file}, fmt::format("this is ASTRA-sim's {} file, not an experiment", astra_sim_file(root)),
        "orrery astra-sim runs ASTRA-sim's files as they are; with --convert FILE it writes an experiment");
  if (kind != FileKind::kOther) {
    const TableKind& table = *table_kind(root);
    throw InputError({file}, fmt::format("this is a table of {}, not an experiment", table.holds),
                     fmt::format("orrery check {0} reads it; orrery validate {1} scores the tables of "
                                 "configs/validation/{1}",
                                 shown_shell_word(file), table.section));
  }
  if (const auto launcher = launcher_of_configuration(file, root, files)) {
    const bool has_model = launcher != Launcher::kDeepSpeed && launcher != Launcher::kFsdp;
    throw InputError({file}, "this is a launcher's configuration, not an experiment",
                     fmt::format("write it as an experiment: orrery workload import {}{} --cluster NAME --nodes N "
                                 "--out job.yaml",
                                 shown_shell_word(file), has_model ? "" : " --model NAME"));
  }
  if (const std::string_view part = part_kind(root); !part.empty() && !is_document(root))
    throw InputError(
        {file}, fmt::format("this is {}, not an experiment", named(part)),
        fmt::format("an experiment has a cluster and a workload, and names such files in their keys; orrery "
                    "check {} reads it",
                    shown_shell_word(file)));
  const std::optional<std::string> prefix = workload::prefix_of_trace(file);
  if (prefix && workload::is_file(file))
    throw InputError({file}, "this is a Chakra trace of one rank, not an experiment",
                     fmt::format("write an experiment with workload: {{chakra: {{prefix: {}}}}}, or see what is in the "
                                 "traces with `orrery workload inspect {}`",
                                 printable(*prefix), shown_shell_word(*prefix, "PREFIX")));
}

}  // namespace orrery::experiment
