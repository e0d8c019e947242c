#include "workload/lint.h"

#include <algorithm>
#include <optional>

#include "workload/chakra_file.h"
#include "workload/findings.h"
#include "workload/matching.h"
#include "workload/rank_trace.h"

namespace orrery {
namespace {

std::vector<Problem> problems_of(const Diagnostics& diagnostics) {
  return {diagnostics.problems().begin(), diagnostics.problems().end()};
}

}  // namespace

bool LintReport::has_errors() const {
  return std::ranges::any_of(problems, [](const Problem& p) { return p.severity == Severity::kError; });
}

int LintReport::exit_status() const {
  constexpr int kWrongInput = 2;
  constexpr int kStuck = 3;
  if (has_errors()) return kWrongInput;
  return disagreement.empty() ? 0 : kStuck;
}

LintReport lint_trace(const std::string& file, Dependencies dependencies) {
  LintReport result;
  try {
    const RankTrace trace = read_rank_trace(file, read_file(file), dependencies, TraceChecks::kLint);
    Diagnostics diagnostics;
    const RankFindings findings{0, &trace.findings};
    report({&findings, 1}, false, diagnostics);
    result.problems = problems_of(diagnostics);
  } catch (const InputError& error) {
    result.problems.assign(error.problems().begin(), error.problems().end());
  }
  return result;
}

LintReport lint_job(const ChakraSource& source, const LoadProgress& progress) {
  Diagnostics diagnostics;
  const std::optional<Job> job = try_load_chakra_job(source, TraceChecks::kLint, diagnostics, progress);
  LintReport result{problems_of(diagnostics), {}, job.has_value()};
  if (!job) return result;
  try {
    match(*job);
  } catch (const StuckError& error) {
    result.disagreement = error.what();
  }
  return result;
}

}  // namespace orrery
