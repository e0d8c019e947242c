// SPDX-License-Identifier: MIT
#include "experiment/recorded_run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "workload/chakra/file.h"
#include "workload/import/kineto/kineto.h"
#include "workload/import/layers/layers.h"

namespace orrery::experiment {
namespace {

using Json = nlohmann::ordered_json;  // the experiment keeps its order

constexpr std::string_view kSchema = "orrery.result/1";

report::ResultSource source_from(const Json& json, const std::string& path) {
  report::ResultSource source;
  source.file = path;
  if (json.is_null()) return source;
  source.file = json.at("file").get<std::string>();
  source.settings = json.at("set").get<std::vector<std::string>>();
  source.options = json.at("options").get<std::vector<std::string>>();
  source.commit = json.at("commit").get<std::string>();
  source.folder = json.value("folder", std::string());
  for (const Json& input : json.at("inputs"))
    source.inputs.push_back(
        {input.at("path").get<std::string>(),
         input.at("kind").get<std::string>() == "data" ? InputKind::kData : InputKind::kConfiguration,
         input.at("sha256").get<std::string>()});
  return source;
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
  const auto has_it = [&](const std::filesystem::path& folder) {
    return sha256_of_file(from_folder(folder, data->path)) == data->sha256;
  };
  if (const auto same = std::ranges::find_if(folders, has_it); same != folders.end()) return *same;
  const auto has_one = [&](const std::filesystem::path& folder) {
    std::error_code code;
    return std::filesystem::exists(from_folder(folder, data->path), code);
  };
  if (const auto there = std::ranges::find_if(folders, has_one); there != folders.end()) return *there;
  throw InputError({path}, fmt::format("the run read '{}', which is not to be found", printable(data->path, 300)),
                   "run it from the folder of that run, or put the result into a folder below it");
}

}  // namespace

// It says so in its first line but one.
bool is_result(const std::string& path, const ConfigFiles& files) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) return false;  // a pipe is read once
  return files.beginning(path).substr(0, 128).find(fmt::format("\"{}\"", kSchema)) != std::string::npos;
}

std::optional<RecordedRun> load_recorded_run(const std::string& path, const ConfigFiles& files) {
  if (!is_result(path, files)) return std::nullopt;
  note_input(path, InputKind::kConfiguration);
  std::ifstream stream(path, std::ios::binary);
  try {
    const Json document = Json::parse(stream);
    RecordedRun run;
    run.version = document.at("version").get<std::string>();
    run.source = source_from(document.value("provenance", Json()), path);
    run.folder = folder_of(run.source, path);
    Diagnostics diagnostics;
    run.experiment =
        parse_option(document.at("experiment").dump(), from_folder(run.folder, run.source.file), diagnostics);
    diagnostics.throw_if_errors();
    return run;
  } catch (const Json::exception& error) {
    throw InputError({path}, fmt::format("is a result of a run that cannot be read: {}", printable(error.what(), 200)),
                     "write it again with run --json or --out");
  }
}

bool is_document(const ConfigValue& root) {
  const ConfigEntry* schema = root.find("schema");
  return schema != nullptr && schema->value.scalar.starts_with("orrery.");
}

bool is_profile_file(const std::string& path) {
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return false;
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) return false;
  std::string text(std::size_t{1} << 16, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
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

}  // namespace

ConfigValue load_configuration(const std::string& file, const ConfigFiles& files, Diagnostics& diagnostics) {
  if (is_profile_file(file)) return replay_of(file);
  if (std::optional<RecordedRun> recorded = load_recorded_run(file, files)) return std::move(recorded->experiment);
  std::error_code code;
  if (std::filesystem::is_regular_file(file, code) && workload::is_layers_text(files.beginning(file)))
    throw InputError({file}, "is a table of layers of ASTRA-sim 1.0 or SimAI, not an experiment",
                     fmt::format("turn it into traces: orrery workload import {} --out DIR", printable(file, 100)));
  ConfigValue root = files.load(file, {}, diagnostics);
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
