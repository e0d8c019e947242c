// SPDX-License-Identifier: MIT
#include "experiment/recorded_run.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/files/json.h"
#include "core/files/read_file.h"
#include "core/files/shell_word.h"
#include "workload/chakra/file.h"
#include "workload/import/kineto/kineto.h"
#include "workload/import/layers/layers.h"

namespace orrery::experiment {
namespace {

constexpr std::string_view kSchema = "orrery.result/1";
constexpr const char* kWriteAgain = "write it again with run --json or --out";

// One part of a document, whose values stand where they do in it.
ConfigValue part_of(const std::string& path, std::string_view document, std::string_view key) {
  const std::string_view part = json_member(document, key);
  if (part.empty()) return {ConfigValue::Kind::kNull, {path, 1, 1}, {}, {}, {}};
  const Location begin = place_in(path, document, static_cast<std::size_t>(part.data() - document.data()));
  std::string text(static_cast<std::size_t>(begin.line - 1), '\n');
  text.append(static_cast<std::size_t>(begin.column - 1), ' ').append(part);
  Diagnostics diagnostics;
  ConfigValue value = parse_config(text, path, diagnostics);
  diagnostics.throw_if_errors();
  return value;
}

// The member `key` of `map`, which `name` is, and its kind.
const ConfigValue& member(const ConfigValue& map, const std::string& name, std::string_view key,
                          ConfigValue::Kind kind) {
  const ConfigEntry* entry = map.find(key);
  if (entry == nullptr)
    throw InputError(map.where, fmt::format("'{}.{}' is missing in this result of a run", name, key), kWriteAgain);
  if (entry->value.kind == kind) return entry->value;
  throw InputError(entry->value.where,
                   fmt::format("'{}.{}' of this result of a run is {}, expected {}", name, key,
                               kind_name(entry->value.kind), kind_name(kind)),
                   kWriteAgain);
}

std::string text_in(const ConfigValue& map, const std::string& name, std::string_view key) {
  return member(map, name, key, ConfigValue::Kind::kScalar).scalar;
}

std::vector<std::string> texts_in(const ConfigValue& map, const std::string& name, std::string_view key) {
  std::vector<std::string> texts;
  for (const ConfigValue& item : member(map, name, key, ConfigValue::Kind::kList).items) texts.push_back(item.scalar);
  return texts;
}

report::ResultSource source_from(const ConfigValue& value, const std::string& path) {
  const std::string name = "provenance";
  report::ResultSource source;
  source.file = path;
  if (value.kind == ConfigValue::Kind::kNull) return source;
  source.file = text_in(value, name, "file");
  source.settings = texts_in(value, name, "set");
  source.options = texts_in(value, name, "options");
  source.commit = text_in(value, name, "commit");
  if (const ConfigEntry* folder = value.find("folder")) source.folder = folder->value.scalar;
  const std::string inputs = name + ".inputs[]";
  for (const ConfigValue& input : member(value, name, "inputs", ConfigValue::Kind::kList).items)
    source.inputs.push_back({text_in(input, inputs, "path"),
                             text_in(input, inputs, "kind") == "data" ? InputKind::kData : InputKind::kConfiguration,
                             text_in(input, inputs, "sha256")});
  return source;
}

// InputError where it is no JSON, or has one of its parts twice, of which other readers take the other one.
void check_syntax(const std::string& path, const std::string& document) {
  std::set<std::string> keys;
  try {
    using Json = nlohmann::json;
    parse_json(document, [&](int depth, Json::parse_event_t event, Json& value) {
      if (depth == 1 && event == Json::parse_event_t::key && !keys.insert(value.get<std::string>()).second)
        throw InputError(
            {path}, fmt::format("'{}' is given twice in this result of a run", printable(value.get<std::string>(), 60)),
            kWriteAgain);
      return false;
    });
  } catch (const JsonError& error) {
    throw InputError(place_in(path, document, error.offset()),
                     "is a result of a run that is damaged: not JSON: " + error.reason(), kWriteAgain);
  }
}

std::string from_folder(const std::filesystem::path& folder, const std::string& path) {
  return (folder / path).lexically_normal().string();
}

// The folder from which the data that were read are there, and the same as then if there is such a one.
std::filesystem::path folder_of(const report::ResultSource& source, const std::string& path) {
  const auto data = std::ranges::find(source.inputs, InputKind::kData, &InputFile::kind);
  if (data == source.inputs.end()) return {};
  std::vector<std::filesystem::path> folders = {""};
  if (!source.folder.empty()) folders.emplace_back(source.folder);
  for (std::filesystem::path up = std::filesystem::absolute(path).parent_path();; up = up.parent_path()) {
    folders.push_back(up);
    if (up == up.parent_path()) break;
  }
  // Devices and pipes, which a run notes no digest of, are not waited for.
  const auto has_one = [&](const std::filesystem::path& folder) {
    std::error_code code;
    const std::string file = from_folder(folder, data->path);
    return std::filesystem::is_regular_file(file, code) && std::filesystem::file_size(file, code) > 0;
  };
  const auto has_it = [&](const std::filesystem::path& folder) {
    return has_one(folder) && sha256_of_file(from_folder(folder, data->path)) == data->sha256;
  };
  if (const auto same = std::ranges::find_if(folders, has_it); same != folders.end()) return *same;
  if (const auto there = std::ranges::find_if(folders, has_one); there != folders.end()) return *there;
  throw InputError({path}, fmt::format("the run read '{}', which is not to be found", printable(data->path, 300)),
                   "run it from the folder of that run, or put the result into a folder below it");
}

}  // namespace

// It says so in its first line but one.
bool is_result(const std::string& path, const ConfigFiles& files) {
  return files.beginning(path).substr(0, 128).find(fmt::format("\"{}\"", kSchema)) != std::string::npos;
}

std::optional<RecordedRun> load_recorded_run(const std::string& path, const ConfigFiles& files) {
  if (!is_result(path, files)) return std::nullopt;
  const std::string document = read_text(path, {.kind = InputKind::kConfiguration});
  check_syntax(path, document);
  RecordedRun run;
  const ConfigValue version = part_of(path, document, "version");
  if (version.kind != ConfigValue::Kind::kScalar)
    throw InputError(version.where, "'version' is missing in this result of a run", kWriteAgain);
  run.version = version.scalar;
  run.source = source_from(part_of(path, document, "provenance"), path);
  run.folder = folder_of(run.source, path);
  run.experiment = part_of(path, document, "experiment");
  if (run.experiment.kind != ConfigValue::Kind::kMap)
    throw InputError(run.experiment.where, "'experiment' is missing in this result of a run", kWriteAgain);
  run.experiment.is_resolved = true;
  run.by_hand = part_of(path, document, "by_hand").scalar;
  const ConfigValue nearest = part_of(path, document, "nearest_run");
  if (const ConfigEntry* keys = nearest.find("not_compared"))
    for (const ConfigValue& key : keys->value.items) run.not_compared.push_back(key.scalar);
  take_paths_of(path, from_folder(run.folder, run.source.file));
  return run;
}

bool is_document(const ConfigValue& root) {
  const ConfigEntry* schema = root.find("schema");
  return schema != nullptr && schema->value.scalar.starts_with("orrery.");
}

bool is_profile_file(const std::string& path) {
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return false;
  const std::string text = beginning_of_file(path, std::size_t{1} << 16);
  return workload::is_gzip(text) || workload::is_profile(text);
}

namespace {

// workload: {profile: FILE, symmetric: true}
ConfigValue replay_of(const std::string& profile) {
  using Kind = ConfigValue::Kind;
  const Location where{profile, 1, 1};
  const auto scalar = [&](std::string text) { return ConfigValue{Kind::kScalar, where, std::move(text), {}, {}}; };
  ConfigValue workload{Kind::kMap, where, {}, {}, {}};
  workload.entries.push_back({"profile", where, scalar(std::filesystem::path(profile).filename().string())});
  workload.entries.push_back({"symmetric", where, scalar("true")});
  ConfigValue root{Kind::kMap, where, {}, {}, {}};
  root.entries.push_back({"workload", where, std::move(workload)});
  return root;
}

// Options of an import for what a table of layers leaves to them.
std::string numbers_to_give(std::string_view layers) {
  const std::string_view header = layers.substr(0, layers.find('\n'));
  const auto has = [&](std::string_view word) { return header.find(word) != std::string_view::npos; };
  std::string options = has("all_gpus") ? "" : " --ranks N";
  const bool has_model_groups = has("HYBRID") && !has("HYBRID_DLRM") && !has("HYBRID_CUSTOMIZED");
  if (has_model_groups && !has("model_parallel_NPU_group")) options += " --model-parallel N";
  return options;
}

}  // namespace

ConfigValue load_configuration(const std::string& file, const ConfigFiles& files, Diagnostics& diagnostics) {
  if (is_profile_file(file)) return replay_of(file);
  if (std::optional<RecordedRun> recorded = load_recorded_run(file, files)) return std::move(recorded->experiment);
  if (workload::is_layers_text(files.beginning(file)))
    throw InputError({file}, "is a table of layers of ASTRA-sim 1.0 or SimAI, not an experiment",
                     fmt::format("turn it into traces: orrery workload import {}{} --out DIR", shown_shell_word(file),
                                 numbers_to_give(files.beginning(file))));
  ConfigValue root = files.load(file, {}, diagnostics);
  if (is_document(root) && root.find("schema")->value.scalar.starts_with("orrery.result/"))
    throw InputError({file},
                     fmt::format("is a result as another version of Orrery writes it, '{}'; this one reads '{}'",
                                 printable(root.find("schema")->value.scalar, 40), kSchema),
                     "run its experiment again with this version");
  if (is_document(root))
    throw InputError(
        {file}, fmt::format("is a document '{}', not an experiment", printable(root.find("schema")->value.scalar, 40)),
        fmt::format("of what orrery writes, only '{}' holds an experiment: run --json or --out", kSchema));
  return root;
}

report::ResultSource source_of(const RecordedRun& recorded, const report::ResultSource& made,
                               Diagnostics& diagnostics) {
  report::ResultSource source = recorded.source;
  source.commit = made.commit;
  source.settings.insert(source.settings.end(), made.settings.begin(), made.settings.end());
  source.options = made.options;
  source.folder = recorded.folder.empty() ? made.folder : recorded.folder.string();
  for (InputFile& input : source.inputs) {
    if (input.kind != InputKind::kData) continue;
    const std::string now = sha256_of_file(from_folder(recorded.folder, input.path));
    if (now == input.sha256) continue;
    diagnostics.warning({from_folder(recorded.folder, input.path)}, "has changed since the recorded run read it");
    input.sha256 = now;
  }
  return source;
}

}  // namespace orrery::experiment
