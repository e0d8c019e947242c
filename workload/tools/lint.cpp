// SPDX-License-Identifier: MIT
#include "workload/tools/lint.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "core/files/read_file.h"
#include "workload/graph/findings.h"
#include "workload/traces/rank_trace.h"

namespace orrery::workload {
namespace {

std::vector<Problem> problems_of(const Diagnostics& diagnostics) {
  return {diagnostics.problems().begin(), diagnostics.problems().end()};
}

// One warning for each communicator on which members bring different sizes to a call: a trace does not say how much is
// for which peer, so what one sends cannot be compared with what the others receive.
void warn_of_uneven_calls(const Job& job, const Matching& matching, const std::string& prefix,
                          Diagnostics& diagnostics) {
  for (std::uint32_t group = 0; group < matching.communicators(); ++group) {
    const std::span<const CollectiveCall> calls = matching.calls(GroupId(group));
    const auto is_uneven = [](const CollectiveCall& call) { return !call.bytes_of_member.empty(); };
    const auto first = std::ranges::find_if(calls, is_uneven);
    if (first == calls.end()) continue;
    const auto [least, most] = std::ranges::minmax(first->bytes_of_member.span());
    diagnostics.warning(
        {prefix},
        fmt::format(
            "{} of {} calls on communicator \"{}\" are uneven: the members of call {}, {}, bring {} to {} bytes",
            std::ranges::count_if(calls, is_uneven), calls.size(), printable(job.communicators[group].name, 40),
            first - calls.begin() + 1, name_of(first->kind), least.count(), most.count()),
        "sizes by peer are not in traces: each member's is taken to be cut evenly");
  }
}

}  // namespace

bool LintReport::has_errors() const {
  return std::ranges::any_of(problems, [](const Problem& p) { return p.severity == Severity::kError; });
}

int LintReport::exit_status() const {
  constexpr int kWrongInput = 2;
  constexpr int kStuck = 3;
  if (has_errors()) return kWrongInput;
  return stuck ? kStuck : 0;
}

LintReport lint_trace(const std::string& file, Dependencies dependencies) {
  LintReport result;
  try {
    const RankTrace trace = read_rank_trace(file, read_file(file), dependencies, TraceReader::kLint);
    Diagnostics diagnostics;
    const RankFindings findings{0, &trace.findings};
    report({&findings, 1}, false, diagnostics);
    result.problems = problems_of(diagnostics);
  } catch (const InputError& error) {
    result.problems.assign(error.problems().begin(), error.problems().end());
  }
  return result;
}

LintReport lint_job(const ChakraSource& source, const LoadProgress& progress, const JobCheck& check) {
  Diagnostics diagnostics;
  const std::optional<Job> job = try_load_chakra_job(source, TraceReader::kLint, diagnostics, progress);
  const bool knows_groups = job && std::ranges::none_of(job->communicators, [](const Communicator& communicator) {
                              return communicator.involved.has_value();
                            });
  if (job && !knows_groups)
    diagnostics.warning({source.prefix},
                        "collectives with involved_dim run over dimensions of a cluster, which is not known here: "
                        "whether the ranks agree is not checked",
                        "`orrery check EXPERIMENT` does it");
  LintReport result{problems_of(diagnostics), std::nullopt, knows_groups};
  if (!knows_groups) return result;
  try {
    const Matching matching = match(*job);
    warn_of_uneven_calls(*job, matching, source.prefix, diagnostics);
    result.problems = problems_of(diagnostics);
    if (check) check(*job, matching);
  } catch (const StuckError& error) {
    result.stuck = error;
  }
  return result;
}

}  // namespace orrery::workload
