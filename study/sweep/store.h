// SPDX-License-Identifier: MIT
// Results of a sweep's points in a folder, so that a sweep that was cut off goes on where it was. A result is known by
// all that it depends on: the resolved experiment, the contents of the traces and of all other files that it names, the
// version of the program. Files appear whole or not at all, whatever stops the program.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/files/folder_lock.h"
#include "experiment/experiment.h"
#include "study/sweep/sweep.h"

namespace orrery::study {

// Digest of all that the result of an experiment depends on, in 64 hexadecimal digits: the resolved configuration, and
// the contents of `files`, which it was read from and names.
std::string key_of(const experiment::Experiment& experiment, std::span<const std::string> files, bool allow_oom);

class PointStore {
 public:
  // Makes the folder if there is none. InputError, also where another program has it; with the name of a `part`, where
  // another has all of it or the same part.
  explicit PointStore(std::filesystem::path folder, const std::string& part = {});
  PointStore(const PointStore&) = delete;
  PointStore& operator=(const PointStore&) = delete;

  struct Stored {
    SweepPoint point{};
    nlohmann::ordered_json result{};  // the document of the run; null of a point that did not run
  };
  // By any thread. A file that is damaged is nothing, and counts as such.
  std::optional<Stored> find(const std::string& key);
  void keep(const std::string& key, const Stored& stored);

  // Of all results that are there now, also by others.
  std::set<std::string> keys() const;

  // Removes what nobody has found or kept here; how many.
  std::size_t clear_others();
  // Removes all.
  void clear();
  std::size_t found() const { return found_; }
  const std::vector<std::string>& damaged() const { return damaged_; }

 private:
  void lock(const std::string& name, FolderUse use);
  std::filesystem::path file_of(const std::string& key) const { return folder_ / (key + ".json"); }

  const std::filesystem::path folder_;
  std::vector<FileLock> locks_;
  std::mutex mutex_;
  std::set<std::string> used_;
  std::size_t found_ = 0;
  std::vector<std::string> damaged_;  // files
};

}  // namespace orrery::study
