// SPDX-License-Identifier: MIT
#include "study/validate/measured/call.h"

#include <fmt/format.h>

namespace orrery::study {

experiment::Experiment read_call_experiment(const MeasuredCall& call, const ConfigFiles& files,
                                            Diagnostics& diagnostics) {
  ConfigValue root{ConfigValue::Kind::kMap, call.where, {}, {}, {}};
  const auto set = [&](std::string_view key, ConfigValue value) {
    set_value(root, key, std::move(value), files, diagnostics);
  };
  const auto text = [&](std::string words) {
    return ConfigValue{ConfigValue::Kind::kScalar, call.where, std::move(words), {}, {}};
  };
  set("cluster", parse_option(call.cluster, call.where.file, diagnostics));
  set("nodes", text(fmt::format("{}", call.nodes)));
  for (const auto& [key, value] : call.settings) set(key, value);
  set("workload.collective", text(std::string(call.operation.name)));
  set("workload.size", text(fmt::format("{} B", call.size.count())));
  set("workload.ranks_per_node", text(fmt::format("{}", call.ranks_per_node)));
  diagnostics.throw_if_errors();
  return experiment::read_experiment(call.where.file, std::move(root), files, diagnostics);
}

}  // namespace orrery::study
