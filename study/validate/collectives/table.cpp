// SPDX-License-Identifier: MIT
#include "study/validate/collectives/table.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/key_path.h"
#include "core/config/quantity_text.h"
#include "core/files/json.h"
#include "core/suggest.h"
#include "experiment/experiment.h"

namespace orrery::study {
namespace {

constexpr std::int64_t kMostNodes = 1 << 16;
constexpr std::int64_t kMostDevices = 1 << 12;  // of a node

constexpr std::array<std::string_view, 2> kTimed = {"calls", "kernels"};
constexpr std::array<std::string_view, 3> kCollections = {"first", "second", "third"};
constexpr std::array<std::string_view, 3> kColumnNames = {"in-place", "out-of-place", "median"};
// Names as NCCL_ALGO and NCCL_PROTO spell them.
constexpr std::array<std::string_view, 10> kForced = {
    "Ring", "Tree", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT", "LL", "LL128", "Simple"};

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const workload::CallOperation& operation : workload::call_operations())
    if (operation.size != workload::CallSize::kNone) names.emplace_back(operation.name);
  return names;
}

void read_origin(Section& section, ValidationTable& table) {
  table.name = read_words(section, "table", "its name, which no other table has");
  table.where = section.where("table");
  section.takes("collection", table.collection, kCollections, "the collection of tables that it came with");
  table.source = read_words(section, "source", "where it was published");
  table.measured = read_words(section, "measured", "the machine, in the words of the source");
  table.system = read_words(section, "system", "a name that the tables of one system share");
}

// Name of a cluster; of one that is written out without a name the system, and the network, by which it differs.
std::string machine_of(const ConfigValue& cluster, const std::string& system) {
  if (cluster.kind != ConfigValue::Kind::kMap) return cluster.scalar;
  if (const ConfigEntry* name = cluster.find("name")) return name->value.scalar;
  const ConfigValue* network = value_at_path(cluster, "scale_out.network");
  const bool is_named = network != nullptr && network->kind == ConfigValue::Kind::kScalar;
  return is_named ? fmt::format("{} by {}", system, network->scalar) : system + ", written out";
}

void read_operation(Section& section, ValidationTable& table) {
  const ConfigValue* cluster = section.raw("cluster", "map, path or name in clusters", "optional",
                                           "the machine; left out if the source says too little");
  if (cluster != nullptr) {
    table.machine = machine_of(*cluster, table.system);
    table.cluster = cluster->kind == ConfigValue::Kind::kMap ? dump_json(to_json(*cluster)) : cluster->scalar;
  }
  section.needs("nodes", table.nodes, {1, kMostNodes}, "nodes of the cluster (NVLink domains, not trays)");
  section.needs("gpus_per_node", table.gpus_per_node, {1, kMostDevices}, "GPUs in use of a node");
  const std::vector<std::string> names = operation_names();
  table.operation =
      workload::call_operation_named(names[Choice("op", "what was measured", names).required(section)], "op");
  if (std::int64_t{table.nodes} * table.gpus_per_node < 2 && section.has("nodes"))
    section.error("gpus_per_node", "one GPU has no other to talk to");
}

void read_launch(Section& section, ValidationTable& table) {
  section.takes("launch", table.launch, collectives::launch_mode_names(),
                "what starts a call; left out unless the source says so");
  section.accepts("launch_source", table.launch_source, "how the source says so");
  if (table.launch && table.launch_source.empty())
    section.error("launch", "'launch' has no 'launch_source'", "say how the source states it, or leave it out");
  if (!table.launch && !table.launch_source.empty())
    section.error("launch_source", "'launch_source' without 'launch'", "add what the source states, or leave it out");
}

void read_forced(Section& section, ValidationTable& table) {
  const Names names = kForced;
  table.forced = section.words("forced", "the algorithm and the protocol that NCCL was held to");
  for (const std::string& word : table.forced)
    if (std::ranges::find(names, word) == names.end())
      section.error("forced", fmt::format("NCCL has no algorithm or protocol '{}'", printable(word, 40)),
                    suggestion(word, names));
}

void read_timing(Section& section, ValidationTable& table) {
  section.takes("timed", table.timed, kTimed,
                "calls one behind the other, or kernels of a profile, which have no launch");
  section.accepts("nccl", table.nccl, "its version, if the source says it");
  read_launch(section, table);
  section.needs("column", table.column, kColumnNames, "which time of a row was taken");
  table.column_reason = read_words(section, "column_reason", "why this column");
  read_forced(section, table);
  const bool median = table.column == ValidationColumn::kMedian;
  if (!section.has("column") || median == (table.timed == TimedPart::kKernels)) return;
  section.error("column", median ? "calls are timed in-place or out-of-place, they have no median"
                                 : "kernels have a median, they are not timed in-place or out-of-place");
}

void read_scoring(Section& section, ValidationTable& table) {
  table.scored = section.required<bool>("scored", "whether Orrery's error on it counts");
  section.accepts("why_not", table.why_not, "why it does not count");
  section.accepts("why_off", table.why_off, "why predictions are more than 15 % off, if that is known");
  if (!section.has("scored")) return;
  check_scoring(section, table.scored, table.why_not);
  if (table.scored && table.cluster.empty())
    section.error("scored", "a table that is scored has no 'cluster'",
                  "name the cluster that was measured, or write 'scored: false'");
}

// "[bytes, microseconds]"; nothing after an error.
std::optional<ValidationRow> read_row(const ConfigValue& item, Diagnostics& diagnostics) {
  const auto is_scalar = [](const ConfigValue& part) { return part.kind == ConfigValue::Kind::kScalar; };
  if (item.kind != ConfigValue::Kind::kList || item.items.size() != 2 || !std::ranges::all_of(item.items, is_scalar)) {
    diagnostics.error(item.where, "a row is two numbers: [bytes, microseconds]");
    return std::nullopt;
  }
  const ConfigValue& size = item.items.front();
  const ConfigValue& time = item.items.back();
  const std::optional<std::int64_t> bytes = parse_whole_number(size.scalar);
  if (!bytes || *bytes < 1)
    diagnostics.error(size.where, fmt::format("invalid size '{}'; expected bytes", printable(size.scalar, 40)),
                      "a whole number, at least 1");
  const Parsed<Duration> duration = parse_quantity<Duration>(time.scalar + " us");
  const bool timed = duration.value && *duration.value > Duration::zero();
  if (!timed)
    diagnostics.error(time.where, fmt::format("invalid time '{}'; expected microseconds", printable(time.scalar, 40)),
                      "a number above 0, without a unit");
  if (!bytes || *bytes < 1 || !timed) return std::nullopt;
  return ValidationRow{Bytes(*bytes), *duration.value};
}

void read_rows(Section& section, ValidationTable& table) {
  Diagnostics& diagnostics = section.context().diagnostics();
  study::read_rows(section, "[bytes, microseconds]", "by ascending size", [&](const ConfigValue& item) {
    const std::optional<ValidationRow> row = read_row(item, diagnostics);
    if (!row) return;
    if (!table.rows.empty() && row->bytes <= table.rows.back().bytes)
      diagnostics.error(item.where,
                        fmt::format("{} bytes after {}", row->bytes.count(), table.rows.back().bytes.count()),
                        "sizes ascend, and each stands once");
    table.rows.push_back(*row);
  });
}

ConfigValue scalar_at(const Location& where, std::string text) {
  return {ConfigValue::Kind::kScalar, where, std::move(text), {}, {}};
}

// Checks that the cluster exists and is large enough.
void check_machine(Section& section, const ValidationTable& table) {
  if (table.cluster.empty()) return;
  ConfigValue root{ConfigValue::Kind::kMap, section.where(), {}, {}, {}};
  const Location cluster = section.where("cluster");
  const Location nodes = section.where("nodes");
  root.entries.push_back({"cluster", cluster,
                          table.cluster.starts_with('{')
                              ? parse_option(table.cluster, cluster.file, section.context().diagnostics())
                              : scalar_at(cluster, table.cluster)});
  root.entries.push_back({"nodes", nodes, scalar_at(nodes, std::to_string(table.nodes))});
  Diagnostics& diagnostics = section.context().diagnostics();
  try {
    Diagnostics problems;
    const experiment::Experiment machine =
        experiment::read_machine(table.name, std::move(root), section.context().files(), problems);
    const std::uint32_t devices = machine.fabric.dimensions().front().size;
    if (table.gpus_per_node > devices)
      section.error("gpus_per_node", fmt::format("{} GPUs of a node, but a node of '{}' has {}", table.gpus_per_node,
                                                 printable(table.machine), devices));
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) diagnostics.error(problem.where, problem.message, problem.hint);
  }
}

}  // namespace

std::string_view name_of(TimedPart part) { return kTimed[static_cast<std::size_t>(part)]; }
std::string_view name_of(TableCollection collection) { return kCollections[static_cast<std::size_t>(collection)]; }
std::string_view name_of(ValidationColumn column) { return kColumnNames[static_cast<std::size_t>(column)]; }

void read_table(Section& section, ValidationTable& table) {
  const std::size_t errors = section.context().diagnostics().error_count();
  read_origin(section, table);
  read_operation(section, table);
  read_timing(section, table);
  read_scoring(section, table);
  read_rows(section, table);
  if (section.context().diagnostics().error_count() == errors) check_machine(section, table);
}

}  // namespace orrery::study
