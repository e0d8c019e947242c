// SPDX-License-Identifier: MIT
#include "experiment/launchers/argument_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/config/quantity_text.h"
#include "core/files/json.h"
#include "core/files/read_file.h"
#include "experiment/experiment.h"
#include "workload/training/spec/model.h"

namespace orrery::experiment {
namespace {

void add_arguments(const ConfigValue& value, const std::string& name, const Location& where,
                   std::vector<LauncherArgument>& arguments) {
  switch (value.kind) {
    case ConfigValue::Kind::kNull:
      return;
    case ConfigValue::Kind::kScalar:
      arguments.push_back({name, {value.scalar}, where});
      return;
    case ConfigValue::Kind::kMap:
      for (const ConfigEntry& entry : value.entries)
        add_arguments(entry.value, name.empty() ? entry.key : name + "." + entry.key, entry.where, arguments);
      return;
    case ConfigValue::Kind::kList:
      break;
  }
  std::vector<std::string> values;
  for (const ConfigValue& item : value.items)
    values.push_back(item.kind == ConfigValue::Kind::kScalar ? item.scalar : dump_json(to_json(item)));
  if (values.empty()) values.emplace_back("[]");
  arguments.push_back({name, std::move(values), where});
}

ConfigValue tree_of(const std::string& file, Diagnostics& diagnostics) {
  const std::string text = read_text(file, {.kind = InputKind::kConfiguration});
  return file.ends_with(".toml") ? parse_toml(text, file, diagnostics) : parse_config(text, file, diagnostics);
}

// "micro (2) x accumulation (4) x 8 replicas = 64".
std::string product_text(const BatchNames& names, std::int64_t micro, std::int64_t accumulation, std::int64_t data) {
  return fmt::format("{} ({}) x {} ({}) x {} replicas = {}", names.micro, micro, names.accumulation, accumulation, data,
                     micro * accumulation * data);
}

struct Batch {
  std::int64_t global = 0, micro = 0, data = 0;
};

// The batch of replicas of which `data` are known, 0 if they are not.
std::optional<Batch> batch_of(LaunchReading& reading, const BatchNames& names, std::int64_t data) {
  const std::optional<std::int64_t> global = reading.number(names.global), micro = reading.number(names.micro);
  const std::optional<std::int64_t> steps = reading.number(names.accumulation);
  constexpr Range kMost = {1, 1 << 20};
  const std::array<ArgumentRange, 3> ranges = {
      {{names.global, {1, std::int64_t{1} << 32}}, {names.micro, kMost}, {names.accumulation, kMost}}};
  check_ranges(reading, ranges);
  for (const ArgumentRange& range : ranges)
    if (number_within(reading, range.name, 1, range.range) != reading.number_or(range.name, 1)) return std::nullopt;
  if (data == 0 && global && micro && steps && *global % (*micro * *steps) == 0) data = *global / (*micro * *steps);
  if (data == 0) return Batch{};
  if (global && !micro) {
    const std::int64_t parts = data * steps.value_or(1);
    if (*global % parts == 0) return Batch{*global, *global / parts, data};
    reading.error_at(names.global, fmt::format("'{}' is {}, which {} replicas x {} micro-batches do not divide",
                                               names.global, *global, data, steps.value_or(1)));
    return std::nullopt;
  }
  if (!micro) return Batch{0, 0, data};
  const std::int64_t accumulation = steps.value_or(global ? *global / (*micro * data) : 1);
  if (!global || *micro * accumulation * data == *global) return Batch{*micro * accumulation * data, *micro, data};
  reading.error_at(names.global,
                   fmt::format("'{}' is {}, but {}", names.global, *global,
                               product_text(names, *micro, std::max<std::int64_t>(accumulation, 1), data)),
                   "leave one of them out, or give the cluster that the file is for");
  return std::nullopt;
}

}  // namespace

std::vector<LauncherArgument> arguments_of(const ConfigValue& tree) {
  std::vector<LauncherArgument> arguments;
  add_arguments(tree, "", tree.where, arguments);
  return arguments;
}

LaunchFiles tree_arguments(const std::vector<std::string>& files, const LaunchOptions& options,
                           Diagnostics& diagnostics) {
  LaunchFiles read;
  read.where = {files.front(), 1, 1};
  if (!options.definitions.empty())
    diagnostics.error({"--define"}, "files of this launcher have no variables",
                      "--set KEY=VALUE changes the experiment");
  for (const std::string& file : files) {
    const ConfigValue tree = tree_of(file, diagnostics);
    if (tree.kind != ConfigValue::Kind::kMap && !diagnostics.has_errors())
      diagnostics.error({file, 1, 1}, fmt::format("the file is {}; a map is expected", kind_name(tree.kind)));
    else
      std::ranges::move(arguments_of(tree), std::back_inserter(read.arguments));
  }
  if (!options.model.empty()) {
    const std::string model =
        looks_like_path(options.model) ? std::filesystem::absolute(options.model).string() : options.model;
    read.arguments.push_back({std::string(kModelOption), {model}, {std::string(kModelOption)}});
  }
  return read;
}

LaunchFiles accelerate_arguments(const std::vector<std::string>& files, const LaunchOptions& options,
                                 Diagnostics& diagnostics) {
  LaunchFiles read = tree_arguments(files, options, diagnostics);
  const auto number_of = [&](std::string_view name) {
    const auto found = std::ranges::find(read.arguments, name, &LauncherArgument::name);
    if (found == read.arguments.end()) return std::int64_t{0};
    const std::optional<std::int64_t> number = parse_whole_number(found->values.front());
    if (number && *number > 0) return *number;
    diagnostics.error(found->where, fmt::format("'{}' is '{}'; a whole number from 1 on is expected", name,
                                                printable(found->values.front(), 40)));
    return std::int64_t{0};
  };
  const std::int64_t nodes = number_of("num_machines"), ranks = number_of("num_processes");
  read.nodes = std::max<std::int64_t>(nodes, ranks > 0 ? 1 : 0);
  if (read.nodes > 0) read.devices_per_node = ranks / read.nodes;
  return read;
}

std::vector<std::string> words_of_list(const LaunchReading& reading, std::string_view name) {
  std::vector<std::string> words;
  for (const std::string& value : reading.list(name)) {
    std::string_view rest = value == "[]" ? std::string_view() : std::string_view(value);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of(", "), rest.size());
      if (end > 0) words.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return words;
}

bool set_model(LaunchReading& reading, const std::string& fallback, std::optional<std::int64_t> sequence) {
  const std::string model = reading.text_or(kModelOption, fallback);
  if (model.empty()) return false;
  if (sequence && !model.starts_with('{')) {
    reading.set("workload.model.like", model);
    reading.set("workload.model.sequence", *sequence);
  } else {
    reading.set("workload.model", model);
  }
  return true;
}

std::string resolved_model(const LaunchWriting& writing) {
  return dump_json(to_json(writing.experiment().resolved.find("workload")->value.find("model")->value));
}

std::optional<std::int64_t> layers_of_model(const LaunchReading& reading, const std::string& model) {
  const ConfigFiles* files = reading.files().configs;
  if (files == nullptr || model.empty()) return std::nullopt;
  Diagnostics diagnostics;
  ConfigValue value = parse_option(model, kModelOption, diagnostics);
  workload::ModelSpec spec;
  if (!expand_named(value, "models", *files, diagnostics)) return std::nullopt;
  ConfigContext context(*files, diagnostics);
  read_config(value, context, [&](Section& section) { spec = workload::read_model(section); });
  const auto* transformer = std::get_if<workload::TransformerSpec>(&spec.sizes);
  if (diagnostics.has_errors() || transformer == nullptr) return std::nullopt;
  return transformer->layers;
}

void check_ranges(LaunchReading& reading, std::span<const ArgumentRange> ranges) {
  for (const auto& [name, range] : ranges)
    if (const std::optional<std::int64_t> number = reading.number(name);
        number && (*number < range.least || *number > range.most))
      reading.error_at(name, fmt::format("'{}' is {}; {} is expected", name, *number, to_text(range)));
}

std::int64_t number_within(const LaunchReading& reading, std::string_view name, std::int64_t fallback, Range range) {
  const std::int64_t number = reading.number_or(name, fallback);
  return number < range.least || number > range.most ? fallback : number;
}

std::int64_t world_of(const LaunchReading& reading) {
  const LaunchFiles& files = reading.files();
  if (files.ranks > 0) return files.ranks;
  return files.devices > 0 ? files.devices : files.nodes * files.devices_per_node;
}

void set_batch(LaunchReading& reading, const BatchNames& names, std::int64_t ranks_of_replica) {
  const std::int64_t world = world_of(reading);
  if (world % ranks_of_replica != 0)
    return reading.error(
        fmt::format("a replica has {} ranks, which do not divide the {} of the cluster", ranks_of_replica, world));
  const std::optional<Batch> batch = batch_of(reading, names, world / ranks_of_replica);
  if (!batch) return;
  if (batch->data > 0)
    reading.set("workload.parallel.data", batch->data);
  else
    reading.missing("workload.parallel.data", "the number of replicas follows from that of devices, and none is given",
                    "--cluster NAME and --nodes N, or --set workload.parallel.data=N");
  if (batch->global > 0) {
    reading.set("workload.batch.global", batch->global);
    reading.set("workload.batch.micro", batch->micro);
  } else {
    reading.missing("workload.batch.global",
                    fmt::format("neither '{}' nor '{}' says the batch", names.global, names.micro),
                    "--set workload.batch.global=N --set workload.batch.micro=N: the trainer's options have them");
  }
}

}  // namespace orrery::experiment
