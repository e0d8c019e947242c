// SPDX-License-Identifier: MIT
// Files that a prefix stands for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::workload {

// The trace file of every rank: `<prefix>.<rank>.et`, `.et.gz` or `.json`, ranks contiguous from 0. Throws InputError
// when there is none, when a rank is missing, or when one has two files.
std::vector<std::string> find_trace_files(const std::string& prefix);

// The file in the folder of the traces that has their communicator groups where no other file is named:
// comm_group.json, as other programs call it, or else groups.json, as Orrery does. None if there is neither. `folder`
// is what a relative prefix starts from; the result starts there, too.
std::optional<std::string> groups_file_beside(const std::string& prefix, const std::filesystem::path& folder = {});
bool is_file(const std::string& path);

// The prefix of a file that is called as traces are, "w/rank" of w/rank.0.et; none of JSON, as other files are.
std::optional<std::string> prefix_of_trace(const std::string& path);

// The ranks that have traces: 0 .. ranks - 1.
struct TraceSet {
  std::string prefix;
  std::uint32_t ranks = 0;

  // "there is no trace of rank 5: w/rank has those of ranks 0-4", to say of what names another rank.
  std::string lacks(std::uint64_t rank) const;
  // "w/rank has the traces of ranks 0-4".
  std::string described() const;
  // The same about a world of another number of ranks.
  std::string differs_from(std::uint64_t world) const;

  static constexpr std::string_view kHint =
      "a job needs the traces of all of its ranks, numbered from 0, and no others";
};

// Any file that a prefix stands for.
struct TraceFile {
  std::uint32_t rank = 0;
  std::string path;
};

// All of them, ascending by rank; none where there are none.
std::vector<TraceFile> list_trace_files(const std::string& prefix);

}  // namespace orrery::workload
