// SPDX-License-Identifier: MIT
#include "workload/training/bounds/least_time.h"

#include <algorithm>

#include "workload/training/bounds/stage_work.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

Duration least_iteration(const StageRequests& requests, const OperatorTimes& times, const PipelineRanks& ranks,
                         const LeastCollective& collectives) {
  const std::int64_t iterations = requests.all().front().training->iterations;
  const PipelineWork pipeline(requests, times, ranks, collectives);
  Duration least{}, head{};
  Duration before{};  // from the last pass of this stage to the end of the iteration on all stages before it
  for (std::size_t stage = 0; stage < pipeline.stages(); ++stage) {
    const StageWork& work = pipeline.of(stage);
    // Behind its last pass it updates, while the stages before it go backward and then update, too.
    const Duration others = work.ends_backward ? before : Duration{};
    const auto iteration = [&](Duration passes, Duration end, Duration end_of_others) {
      const Duration repeated = saturating_multiply_add({}, end, iterations - 1);
      const Duration once = saturating_add(head, saturating_add(repeated, std::max(end, end_of_others)));
      return saturating_add(passes, once / iterations);
    };
    const Duration in_line = iteration(work.all.in_line, work.end(), others);
    const Duration on_device =
        iteration(saturating_add(work.all.computing, work.all.exposed), saturating_add(work.exchange, work.update),
                  std::max(others, work.left) - work.left);
    least = std::max({least, in_line, on_device, std::ranges::max(work.all.calling)});
    head = saturating_add(head, work.forward);
    before = saturating_add(work.backward, std::max(before, work.end()));
  }
  return least;
}

}  // namespace orrery::workload
