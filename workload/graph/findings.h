// SPDX-License-Identifier: MIT
// Errors and doubts about the traces of many ranks, told in few lines: findings of one kind are one problem, with their
// number, the places, and the first examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace orrery::workload {

// All findings of one kind in one file.
struct Finding {
  Severity severity = Severity::kError;
  Location where;
  std::string what;  // the kind: the same words for every node and rank
  std::string hint;
  std::size_t count = 0;
  std::vector<std::string> examples;  // the first few, each naming a node; may be empty
};

// Findings of one file.
class Findings {
 public:
  explicit Findings(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  std::span<const Finding> all() const { return findings_; }
  bool has_errors() const;

  // Counts one more finding of the kind `what`; keeps `example` if it is among the first.
  void error(std::string_view what, std::string example, std::string_view hint = {});
  void warning(std::string_view what, std::string example, std::string_view hint = {});
  // Problems as they are.
  void take(const InputError& error);

 private:
  void add(Severity severity, std::string_view what, std::string example, std::string_view hint);

  std::string file_;
  std::vector<Finding> findings_;  // by first occurrence
};

// Findings and the ranks whose files have them.
struct RankFindings {
  std::uint32_t rank = 0;
  const Findings* findings = nullptr;
};

// Reports the findings of all ranks, ascending by rank: one problem per kind, errors first. With `is_job` false there
// is one file and ranks are not mentioned.
void report(std::span<const RankFindings> ranks, bool is_job, Diagnostics& diagnostics);

}  // namespace orrery::workload
