// SPDX-License-Identifier: MIT
// Answers of points in a folder, so that a study that was cut off goes on where it was. An answer is known by all that
// it depends on: the resolved experiment, the contents of the traces and of all other files that it names, the version
// of the program. Files appear whole or not at all, whatever stops the program.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/files/folder_lock.h"
#include "experiment/experiment.h"

namespace orrery::study {

// Digest of all that the answer of a point depends on, in 64 hexadecimal digits: `question` says what is asked of the
// experiment; then come its resolved configuration and the contents of `files`, which it was read from and names.
std::string key_of(std::string_view question, const experiment::Experiment& experiment,
                   std::span<const std::string> files);
std::string key_of(std::string_view question, const ConfigValue& resolved, std::span<const std::string> files);

class PointStore {
 public:
  // Makes the folder if there is none. InputError, also where another program has it; with the name of a `part`, where
  // another has all of it or the same part.
  explicit PointStore(std::filesystem::path folder, const std::string& part = {});
  // Answers that others put there, which are only read.
  struct OnlyRead {};
  PointStore(std::filesystem::path folder, OnlyRead) : folder_(std::move(folder)) {}
  PointStore(const PointStore&) = delete;
  PointStore& operator=(const PointStore&) = delete;

  // Calls `take` with the answer that is kept under the key; returns whether there is one. A file that is damaged,
  // which `take` may say by throwing, is no answer and is listed in damaged(). Any thread may call.
  bool find(const std::string& key, const std::function<void(const nlohmann::ordered_json&)>& take);
  // Keeps an answer. Any thread may call; InputError where it cannot be written.
  void keep(const std::string& key, const nlohmann::ordered_json& answer);

  // Keys of all answers that are there now, also of other programs'.
  std::set<std::string> keys() const;

  // Removes the answers that nobody has found or kept here, and returns their number.
  std::size_t clear_others();
  // Removes all answers.
  void clear();
  const std::vector<std::string>& damaged() const { return damaged_; }

 private:
  void lock(const std::string& name, FolderUse use);
  std::filesystem::path file_of(const std::string& key) const { return folder_ / (key + ".json"); }

  const std::filesystem::path folder_;
  std::vector<FileLock> locks_;
  std::mutex mutex_;
  std::set<std::string> used_;
  std::vector<std::string> damaged_;  // files
};

}  // namespace orrery::study
