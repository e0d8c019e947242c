// SPDX-License-Identifier: MIT
// What the lines before a table of nccl-tests tell about the run.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/error.h"
#include "study/nccl_tests/line.h"
#include "study/nccl_tests/log.h"

namespace orrery::study {

class NcclRun {
 public:
  // Takes what the line tells; false where it tells nothing of a run.
  bool read(const OutputLine& line, std::span<const Word> words, int number);

  // Into the table that begins. Warns where the lines about ranks contradict each other.
  void fill(NcclTable& table, const std::string& file, Diagnostics& diagnostics) const;

  // Moves the version of the library to a table that has begun: NCCL prints it when it starts to work.
  void tell_version(NcclTable& table);

 private:
  bool read_options(std::span<const Word> words);
  bool read_version(std::span<const Word> words);
  bool read_rank(const OutputLine& line, std::span<const Word> words, int number);
  bool all_hosts_named() const;
  std::uint64_t devices_per_process() const;
  std::uint32_t ranks(const std::string& file, Diagnostics& diagnostics) const;

  NcclTable told_;
  std::set<std::uint64_t> ranks_;
  std::set<std::uint64_t> groups_;
  std::set<std::string> hosts_;
  std::set<std::pair<std::string, std::uint64_t>> processes_;
  int last_line_ = 0;      // of a rank
  int repeated_line_ = 0;  // where a rank was named again
};

}  // namespace orrery::study
