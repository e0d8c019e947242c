// SPDX-License-Identifier: MIT
#include "workload/traces/files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/graph/rank_list.h"

namespace orrery::workload {
namespace {

constexpr std::array<std::string_view, 3> kExtensions = {".et", ".et.gz", ".json"};

struct TraceName {
  std::string stem;
  std::uint32_t rank = 0;
};

// "dp8.12.et" is rank 12 of "dp8".
std::optional<TraceName> parse_name(std::string_view name) {
  const auto extension = std::ranges::find_if(kExtensions, [&](std::string_view e) { return name.ends_with(e); });
  if (extension == kExtensions.end()) return std::nullopt;
  name.remove_suffix(extension->size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(dot + 1);
  TraceName result{std::string(name.substr(0, dot)), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.rank);
  // A number beyond all ranks is one that is missing all before it.
  if (error == std::errc::result_out_of_range) result.rank = UINT32_MAX;
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  return result;
}

// The trace files in the directory of a prefix, by stem and rank.
using Listing = std::map<std::string, std::map<std::uint32_t, std::vector<std::string>>>;

Listing list(const std::filesystem::path& prefix) {
  Listing found;
  std::error_code error;
  const std::filesystem::path directory = prefix.has_parent_path() ? prefix.parent_path() : ".";
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (const std::optional<TraceName> trace = parse_name(name)) found[trace->stem][trace->rank].push_back(name);
  }
  if (error == std::errc::permission_denied)
    throw InputError({directory.string()}, "the folder cannot be read: " + error.message());
  return found;
}

std::string hint_for_none(const std::filesystem::path& prefix) {
  if (const std::optional<TraceName> trace = parse_name(prefix.filename().string()))
    return fmt::format("a prefix ends before the rank: {}", (prefix.parent_path() / trace->stem).string());
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(prefix, error);
  const std::filesystem::path inside = is_folder ? prefix / "" : prefix;
  if (inside.has_parent_path() && !std::filesystem::is_directory(inside.parent_path(), error))
    return fmt::format("there is no folder {}", printable(inside.parent_path().string()));
  const Listing found = list(inside);
  if (found.empty()) return "rank r is <prefix>.<r>.et";
  std::string hint = fmt::format("prefixes in {}:", is_folder ? "this folder" : "the same folder");
  constexpr std::size_t kShown = 5;
  std::size_t shown = 0;
  for (const auto& [stem, ranks] : found) {
    if (shown++ == kShown) return hint + " ...";
    hint += fmt::format(" {}", printable((inside.parent_path() / stem).string()));
  }
  return hint;
}

}  // namespace

std::vector<TraceFile> list_trace_files(const std::string& prefix) {
  const std::filesystem::path path(prefix);
  Listing found = list(path);
  std::vector<TraceFile> files;
  for (auto& [rank, names] : found[path.filename().string()]) {
    std::ranges::sort(names);
    for (const std::string& name : names) files.push_back({rank, (path.parent_path() / name).string()});
  }
  return files;
}

std::vector<std::string> find_trace_files(const std::string& prefix) {
  const std::vector<TraceFile> found = list_trace_files(prefix);
  if (found.empty())
    throw InputError({prefix + ".0.et", 0, 0}, "no trace of rank 0, nor of any other rank", hint_for_none(prefix));

  std::vector<std::uint32_t> ranks;
  std::vector<std::string> files;
  for (const auto& [rank, file] : found) {
    if (!ranks.empty() && ranks.back() == rank)
      throw InputError({prefix, 0, 0},
                       fmt::format("rank {} has two traces: {} and {}", rank,
                                   std::filesystem::path(files.back()).filename().string(),
                                   std::filesystem::path(file).filename().string()),
                       "remove one of them");
    ranks.push_back(rank);
    files.push_back(file);
  }
  for (std::uint32_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] != i)
      throw InputError({fmt::format("{}.{}.et", prefix, i), 0, 0},
                       fmt::format("no trace of rank {}: found {}", i, rank_list(ranks)),
                       "ranks are numbered from 0 without gaps; the world is the number of files");
  return files;
}

std::optional<std::string> groups_file_beside(const std::string& prefix, const std::filesystem::path& folder) {
  for (const char* name : {"comm_group.json", "groups.json"}) {
    const std::filesystem::path beside = std::filesystem::path(prefix).parent_path() / name;
    if (is_file((folder / beside).string())) return beside.string();
  }
  return std::nullopt;
}

std::optional<std::string> prefix_of_trace(const std::string& path) {
  const std::filesystem::path file(path);
  const std::optional<TraceName> trace = parse_name(file.filename().string());
  if (!trace || path.ends_with(".json")) return std::nullopt;
  return (file.parent_path() / trace->stem).string();
}

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

std::string TraceSet::lacks(std::uint64_t rank) const {
  return fmt::format("there is no trace of rank {}: {} has {}", rank, printable(prefix),
                     ranks == 1 ? "that of rank 0" : fmt::format("those of ranks 0-{}", ranks - 1));
}

std::string TraceSet::described() const {
  return fmt::format("{} has {}", printable(prefix),
                     ranks == 1 ? "the trace of rank 0" : fmt::format("the traces of ranks 0-{}", ranks - 1));
}

std::string TraceSet::differs_from(std::uint64_t world) const {
  return world > ranks ? lacks(ranks) : fmt::format("{} has traces of {}", printable(prefix), ranks);
}

}  // namespace orrery::workload
