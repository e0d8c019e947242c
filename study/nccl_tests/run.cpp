// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "study/nccl_tests/reader.h"

namespace orrery::study {
namespace {

constexpr std::uint64_t kMostNamedRanks = 1 << 24;

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The word behind the first `name`; empty if there is none.
std::string_view behind(std::span<const Word> words, std::string_view name) {
  const auto found = std::ranges::find(words, name, &Word::text);
  return found == words.end() || found + 1 == words.end() ? std::string_view() : (found + 1)->text;
}

std::optional<std::uint32_t> number_behind(std::span<const Word> words, std::string_view name) {
  return number_of(behind(words, name));
}

// NCCL_VERSION_CODE: 22807 is 2.28.7; before 2.9, 2804 is 2.8.4.
std::string version_of(std::uint32_t code) {
  if (code < 1000) return {};
  if (code < 10000) return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

// The name of the device at the end of a rank's line: behind its address on the bus, "[0000:1b:00]".
std::string device_of(std::span<const Word> words) {
  const auto address = std::ranges::find_if(words, [](const Word& word) { return word.text.starts_with('['); });
  std::string name;
  for (auto word = address; word != words.end(); ++word)
    if (word != address) name += (name.empty() ? "" : " ") + std::string(word->text);
  return name;
}

// "all_reduce on dgx-a100: 8 ranks (1 x 8 a100-sxm-80gb), ...": the heading of `orrery collective`.
bool read_simulated(std::span<const Word> words, NcclTable& told) {
  if (words.size() < 9 || words[1].text != "on" || words[4].text != "ranks" || words[6].text != "x") return false;
  const auto ranks = number_of(words[3].text);
  const auto nodes = number_of(words[5].text.substr(1));
  if (!is_nccl_test(words[0].text) || !ranks || !nodes) return false;
  told.test = words[0].text;
  told.ranks = *ranks;
  told.nodes = *nodes;
  told.groups = 1;
  told.is_simulated = true;
  return true;
}

}  // namespace

bool NcclRun::read(std::span<const Word> words, int number) {
  if (words.empty()) return false;
  if (words[0].text == "nThread") {  // "nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) ..."
    told_.threads_per_process = number_behind(words, "nThread");
    told_.devices_per_thread = number_behind(words, "nGpus");
    return true;
  }
  if (words[0].text == "Rank") return read_rank(words, number);
  if (const auto name = behind(words, "starting:"); words[0].text == "Collective" && !name.empty()) {
    told_.test = nccl_test_run_by(name);
    return true;
  }
  return read_simulated(words, told_) || read_version(words);
}

// "nccl-library=22807", "NCCL version 2.18.3+cuda12.2", "RCCL version : 2.18.6-HEAD:4ef2a4d", anywhere in a line.
bool NcclRun::read_version(std::span<const Word> words) {
  constexpr std::string_view kLibrary = "nccl-library=";
  for (const Word& word : words) {
    if (!word.text.starts_with(kLibrary) || !told_.nccl_version.empty()) continue;
    told_.nccl_version = version_of(number_of(word.text.substr(kLibrary.size())).value_or(0));
    return true;
  }
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if ((words[i].text != "NCCL" && words[i].text != "RCCL") || words[i + 1].text != "version") continue;
    std::size_t at = i + 2;
    if (words[at].text == ":" && at + 1 < words.size()) ++at;
    if (words[at].text[0] < '0' || words[at].text[0] > '9') continue;
    told_.nccl_version = words[at].text.substr(0, words[at].text.find('-'));
    return true;
  }
  return false;
}

// "Rank  0 Group  0 Pid  14840 on host-1 device  3 [0000:1b:00] NVIDIA H100 80GB HBM3"
bool NcclRun::read_rank(std::span<const Word> words, int number) {
  const auto rank = number_behind(words, "Rank");
  const std::string_view host = behind(words, "on");
  const auto process = number_behind(words, "Pid");
  if (!rank || host.empty() || !process || behind(words, "device").empty()) return false;
  last_line_ = number;
  if (!ranks_.insert(*rank).second) repeated_line_ = number;
  groups_.insert(number_behind(words, "Group").value_or(0));
  hosts_.emplace(host);
  if (told_.device.empty()) told_.device = device_of(words);
  processes_.emplace(host, *process);
  return true;
}

NcclTable NcclRun::table(int line, const std::string& file, Diagnostics& diagnostics) const {
  NcclTable table = told_;
  table.line = line;
  if (ranks_.empty()) return table;
  const std::uint64_t each =
      std::uint64_t{told_.threads_per_process.value_or(0)} * told_.devices_per_thread.value_or(0);
  table.groups = static_cast<std::uint32_t>(groups_.size());
  table.ranks = ranks(each, file, diagnostics);
  // No rank is missing up to the last one: what is cut off is the end of what each process printed, at most 2 KiB.
  const bool all_hosts_named = *ranks_.rbegin() < ranks_.size() || each > 1;
  if (repeated_line_ == 0 && all_hosts_named) table.nodes = static_cast<std::uint32_t>(hosts_.size());
  return table;
}

void NcclRun::tell_version(NcclTable& table) {
  if (!told_.nccl_version.empty()) table.nccl_version = std::exchange(told_.nccl_version, {});
}

std::uint32_t NcclRun::ranks(std::uint64_t each, const std::string& file, Diagnostics& diagnostics) const {
  const std::uint64_t named = ranks_.size();
  const Location last{file, last_line_};
  if (repeated_line_ > 0) {
    diagnostics.warning({file, repeated_line_}, "a rank is named a second time: several runs are mixed in this output",
                        "nccl-tests built without MPI=1 runs once in every process, not once on all of them");
    return static_cast<std::uint32_t>(named);
  }
  if (const std::uint64_t most = *ranks_.rbegin() + 1; most > kMostNamedRanks) {
    diagnostics.warning(last, fmt::format("rank {} is named; expected at most {} ranks", most - 1, kMostNamedRanks));
    return 0;
  } else if (most > named) {
    diagnostics.warning(last, fmt::format("of the ranks from 0 to {}, {} are named", most - 1, named),
                        "are lines missing?");
    return static_cast<std::uint32_t>(most);
  }
  if (each == 0 || each > kMostNamedRanks / processes_.size()) return static_cast<std::uint32_t>(named);
  const std::uint64_t expected = each * processes_.size();
  if (expected != named)
    diagnostics.warning(last,
                        fmt::format("{} ranks are named, but {} processes with {} devices each make {}", named,
                                    processes_.size(), each, expected),
                        "are lines missing?");
  return static_cast<std::uint32_t>(std::max(expected, named));
}

}  // namespace orrery::study
