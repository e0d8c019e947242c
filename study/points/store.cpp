// SPDX-License-Identifier: MIT
#include "study/points/store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/text.h"
#include "core/error.h"
#include "core/files/json.h"
#include "core/files/output_file.h"
#include "core/files/read_file.h"
#include "core/sha256.h"
#include "core/version.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "orrery.point/2";
constexpr std::size_t kLargestPoint = std::size_t{1} << 30;  // bytes

}  // namespace

std::string key_of(std::string_view question, const experiment::Experiment& experiment,
                   std::span<const std::string> files) {
  return key_of(question, experiment.resolved, files);
}

std::string key_of(std::string_view question, const ConfigValue& resolved, std::span<const std::string> files) {
  Sha256 hash;
  hash.add(fmt::format("{} {}\n{}", kVersion, question, yaml_text(resolved)));
  const std::vector<std::string> contents = digests_of(files);
  for (std::size_t i = 0; i < files.size(); ++i) hash.add(fmt::format("{} {}\n", files[i], contents[i]));
  return hash.finish();
}

PointStore::PointStore(std::filesystem::path folder, const std::string& part) : folder_(std::move(folder)) {
  std::error_code code;
  std::filesystem::create_directories(folder_, code);
  if (code) throw InputError({folder_.string()}, fmt::format("the folder cannot be made: {}", code.message()));
  lock("lock", part.empty() ? FolderUse::kAlone : FolderUse::kShared);
  if (!part.empty()) lock("lock." + part, FolderUse::kAlone);
}

void PointStore::lock(const std::string& name, FolderUse use) {
  if (locks_.emplace_back((folder_ / name).string(), use).is_held()) return;
  throw InputError({folder_.parent_path().string()}, "another orrery writes to this folder",
                   "wait for its end, or give another --out; of a sweep, --merge --watch shows what it has");
}

bool PointStore::find(const std::string& key, const std::function<void(const Json&)>& take) {
  const std::filesystem::path file = file_of(key);
  std::error_code code;
  const auto kind = std::filesystem::symlink_status(file, code).type();
  if (kind == std::filesystem::file_type::not_found) return false;
  try {
    if (kind != std::filesystem::file_type::regular) throw InputError({}, "not what was written");
    const Json document = parse_json<Json>(read_file(file.string(), {.most = kLargestPoint, .is_noted = false}));
    const Json& answer = document.at("answer");
    if (document.at("schema") != kSchema || document.at("key") != key ||
        document.at("check") != sha256_of(dump_json(answer)))
      throw InputError({}, "not what was written");
    take(answer);
  } catch (const std::exception&) {  // of JSON, or of what it says
    const std::lock_guard guard(mutex_);
    if (std::ranges::find(damaged_, file.string()) == damaged_.end()) damaged_.push_back(file.string());
    return false;
  }
  const std::lock_guard guard(mutex_);
  used_.insert(file.filename());
  return true;
}

void PointStore::keep(const std::string& key, const Json& answer) {
  const std::filesystem::path file = file_of(key);
  const Json document = {
      {"schema", kSchema}, {"key", key}, {"check", sha256_of(dump_json(answer))}, {"answer", answer}};
  const std::lock_guard guard(mutex_);  // points that are alike have one file
  std::error_code code;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, code)))
    std::filesystem::remove(file, code);
  OutputFile out(file.string(), Durability::kNone);  // what is lost is simulated again
  out.write(dump_json(document) + "\n");
  out.close();
  used_.insert(file.filename());
}

std::set<std::string> PointStore::keys() const {
  std::set<std::string> keys;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, code))
    if (entry.path().extension() == ".json") keys.insert(entry.path().stem());
  return keys;
}

std::size_t PointStore::clear_others() {
  remove_partial_files(folder_.string());
  std::vector<std::filesystem::path> others;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, code)) {
    const std::filesystem::path& path = entry.path();
    if (used_.contains(path.filename())) continue;
    if (path.extension() == ".json") others.push_back(path);
  }
  for (const std::filesystem::path& path : others)
    if (!std::filesystem::remove(path, code))
      throw InputError({path.string()}, fmt::format("cannot be removed: {}", code.message()));
  return others.size();
}

void PointStore::clear() {
  used_.clear();
  clear_others();
}

}  // namespace orrery::study
