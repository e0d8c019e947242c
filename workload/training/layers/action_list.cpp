#include "workload/training/layers/action_list.h"

#include <utility>

namespace orrery {

void ActionList::compute(std::string name) {
  close();
  open_.name = std::move(name);
}

void ActionList::add(const Operator& op) { open_.operators.push_back(op); }

void ActionList::add(const std::vector<Operator>& operators) {
  open_.operators.insert(open_.operators.end(), operators.begin(), operators.end());
}

void ActionList::weight_gradient(const std::string& name, const std::vector<Operator>& operators,
                                 ParameterCount finishes, WeightGradients place) {
  if (place == WeightGradients::kInline) {
    add(operators);
    open_.finishes += finishes;
    return;
  }
  const std::string goes_on = open_.name;
  close();
  actions_.emplace_back(Compute{name, operators, true, finishes, place == WeightGradients::kBeside});
  open_.name = goes_on;
}

void ActionList::collective(std::string name, GroupFamily family, std::int64_t group_size, CollectiveKind kind,
                            Bytes bytes) {
  if (group_size < 2 || bytes.count() == 0) return;
  const std::string goes_on = open_.name;
  close();
  actions_.emplace_back(Collective{std::move(name), family, kind, bytes});
  open_.name = goes_on;
}

void ActionList::ring(RingExchange exchange) {
  const std::string goes_on = open_.name;
  close();
  actions_.emplace_back(std::move(exchange));
  open_.name = goes_on;
}

std::vector<Action> ActionList::take() && {
  close();
  return std::move(actions_);
}

void ActionList::close() {
  if (!open_.operators.empty() || open_.finishes.total() > 0) actions_.emplace_back(std::move(open_));
  open_ = {};
}

}  // namespace orrery
