#include "system/folding/program_kinds.h"

#include <optional>

#include "core/hash.h"

namespace orrery {
namespace {

bool start_together(const Step& a, const Step& b) {
  return a.needs == b.needs && a.bytes == b.bytes && a.combine == b.combine && !a.after_send && !b.after_send;
}

}  // namespace

ProgramKinds program_kinds(const Schedule& schedule, std::uint32_t rank) {
  const std::uint32_t sends = schedule.sends(rank), receives = schedule.receives(rank);
  ProgramKinds kinds{std::vector<std::uint32_t>(sends), std::vector<std::uint32_t>(receives), 0};
  kinds.hash = hash_of({sends, receives, schedule.is_uniform_ring()});
  if (schedule.is_uniform_ring()) return kinds;
  std::vector<Step> steps;
  std::vector<bool> is_waited_for(sends);  // sends that another one comes after
  std::vector<bool> is_edge(receives + 1);
  for (std::uint32_t i = 0; i < sends; ++i) {
    const Step& step = steps.emplace_back(schedule.step(rank, i));
    if (step.after_send) is_waited_for[*step.after_send] = true;
    if (!step.needs.empty()) is_edge[step.needs.begin] = is_edge[step.needs.end] = true;
  }
  for (std::uint32_t i = 0; i < sends; ++i) {
    const bool joins = i > 0 && start_together(steps[i - 1], steps[i]) && !is_waited_for[i - 1] && !is_waited_for[i];
    kinds.sends[i] = joins ? kinds.sends[i - 1] : i;
    kinds.hash = hash_of({kinds.hash, kinds.sends[i], steps[i].needs.begin, steps[i].needs.end,
                          steps[i].after_send ? *steps[i].after_send + 1 : 0, steps[i].reduce_bytes.count() > 0});
  }
  for (std::uint32_t slot = 1; slot < receives; ++slot)
    kinds.receives[slot] = is_edge[slot] ? slot : kinds.receives[slot - 1];
  return kinds;
}

}  // namespace orrery
