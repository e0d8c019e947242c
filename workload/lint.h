// Everything that is wrong or doubtful about traces, without stopping at the first problem.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "workload/load_job.h"

namespace orrery {

struct LintReport {
  std::vector<Problem> problems;  // errors and warnings, as loading would report them, and what lint adds
  std::string disagreement;       // how the ranks disagree about their communication; empty: they agree, or see below
  bool matched = false;           // the ranks were compared; they are not while files have errors

  bool has_errors() const;
  // Worth a failing exit status: 2 for wrong files, 3 for ranks that disagree, 0 for neither.
  int exit_status() const;
};

// One trace on its own: its rank, the other ranks and the groups are not known.
LintReport lint_trace(const std::string& file, Dependencies dependencies);
// The traces of all ranks, and whether they agree.
LintReport lint_job(const ChakraSource& source, const LoadProgress& progress = {});

}  // namespace orrery
