// SPDX-License-Identifier: MIT
// Everything that is wrong or doubtful about traces, without stopping at the first problem.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "workload/matching/matching.h"
#include "workload/traces/load_job.h"

namespace orrery::workload {

struct LintReport {
  std::vector<Problem> problems;    // errors and warnings, as loading would report them, and what lint adds
  std::optional<StuckError> stuck;  // why the ranks cannot finish; none: they can, or see below
  bool matched = false;             // the ranks were compared; they are not while files have errors

  bool has_errors() const;
  // Worth a failing exit status: 2 for wrong files, 3 for ranks that disagree, 0 for neither.
  int exit_status() const;
};

// One trace on its own: its rank, the other ranks and the groups are not known.
LintReport lint_trace(const std::string& file, Dependencies dependencies);
// Further check of a job whose ranks agree. Throws StuckError.
using JobCheck = std::function<void(const Job&, const Matching&)>;

// The traces of all ranks, whether they agree, and what `check` says of them.
LintReport lint_job(const ChakraSource& source, const LoadProgress& progress = {}, const JobCheck& check = {});

}  // namespace orrery::workload
