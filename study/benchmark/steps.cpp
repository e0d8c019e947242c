// SPDX-License-Identifier: MIT
#include "study/benchmark/steps.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "collectives/rounds.h"
#include "core/config/quantity_text.h"
#include "experiment/job.h"
#include "report/table.h"
#include "study/benchmark/study.h"
#include "system/plans/plans.h"
#include "workload/matching/matching.h"

namespace orrery::study {
namespace {

constexpr std::size_t kMostDrawn = 64;  // more than that, nobody reads

void check_question(const workload::CallOperation& operation, const experiment::Experiment& experiment,
                    std::size_t ranks) {
  if (!operation.kind)
    throw InputError({"--steps"}, fmt::format("{} has no steps: each rank sends one message", operation.name),
                     "leave --steps out");
  if (experiment.nccl)
    throw InputError({"--steps"}, "NCCL pipelines a collective over many channels at once: it has no steps to print",
                     "add --library fixed, or name an algorithm of that library: --algo ring");
  if (experiment.simulation.collectives.table(*operation.kind, static_cast<std::uint32_t>(ranks)) != nullptr)
    throw InputError({"--steps"}, "an algorithm file says its steps itself",
                     "leave --steps out, or name an algorithm in place of the file: --algo ring");
  if (ranks > kMostDrawn)
    throw InputError({"--steps"}, fmt::format("{} ranks; steps are printed for at most {}", ranks, kMostDrawn),
                     "take fewer with --nodes or --gpus-per-node");
}

// A line of ranks along the axis of a phase.
struct Line {
  const system::CommunicatorLayout& layout;
  std::uint32_t first = 0;  // a position
  std::size_t axis = 0;

  std::string rank(std::uint32_t place) const {
    return fmt::format("{}", layout.member_at[layout.moved_to(first, axis, place)]);
  }
};

std::vector<std::string> chunks_of(const collectives::Schedule& schedule, std::uint32_t rank, std::uint32_t send) {
  std::vector<collectives::PieceId> pieces = schedule.pieces(rank, send);
  std::ranges::sort(pieces);
  std::vector<std::string> chunks;
  const bool is_pair = schedule.request().kind == CollectiveKind::kAllToAll;
  for (const collectives::PieceId piece : pieces)
    chunks.push_back(is_pair ? fmt::format("{}>{}", piece / schedule.ranks(), piece % schedule.ranks())
                             : fmt::format("{}", piece));
  return chunks;
}

// Reduction in switches: data go up to them, and come back.
void add_in_network(const collectives::Schedule& schedule, const Line& line, StepPhase& phase) {
  phase.rounds = 2;
  for (const bool is_up : {true, false})
    for (std::uint32_t place = 0; place < schedule.ranks(); ++place) {
      if ((is_up ? schedule.sends(place) : schedule.receives(place)) == 0) continue;
      const std::string rank = line.rank(place);
      phase.messages.push_back({is_up ? 1U : 2U,
                                is_up ? rank : "switch",
                                is_up ? "switch" : rank,
                                {is_up && phase.kind == CollectiveKind::kBarrier ? fmt::format("{}", place) : "0"},
                                schedule.request().bytes,
                                is_up});
    }
}

void add_line(const collectives::Schedule& schedule, const Line& line, StepPhase& phase) {
  if (schedule.is_in_network()) return add_in_network(schedule, line, phase);
  const collectives::Rounds rounds = collectives::rounds_of({&schedule, 1});
  phase.rounds = rounds.count;
  for (std::uint32_t place = 0; place < schedule.ranks(); ++place)
    for (std::uint32_t send = 0; send < schedule.sends(place); ++send) {
      const collectives::Step step = schedule.step(place, send);
      phase.messages.push_back({rounds.of_message[place][send] + 1, line.rank(place), line.rank(step.to),
                                chunks_of(schedule, place, send), step.bytes,
                                step.combine == collectives::Combine::kReduce});
    }
}

StepPhase phase_of(const system::CollectivePlan& plan, std::size_t number) {
  const collectives::Phase& planned = plan.phases[number].phase;
  const system::CommunicatorLayout& layout = *plan.layout;
  StepPhase phase;
  phase.kind = planned.kind;
  phase.part = planned.part;
  phase.parts = planned.parts;
  phase.after = planned.after;
  phase.ranks = layout.sizes[planned.axis];
  phase.lines = 0;
  for (std::uint32_t position = 0; position < layout.size(); ++position) {
    if (layout.coordinate(position, planned.axis) != 0 || !plan.participates(number, position)) continue;
    ++phase.lines;
    add_line(plan.phases[number].schedule(), {layout, position, planned.axis}, phase);
  }
  std::ranges::stable_sort(phase.messages, {}, &StepMessage::round);
  return phase;
}

CollectiveSteps steps(const CollectiveQuestion& question, const workload::CallOperation& operation, Bytes size,
                      const ConfigFiles& files) {
  Diagnostics ignored;
  const experiment::Experiment experiment = read_question(question, operation, files, ignored, size);
  const experiment::CallSource& call = *experiment.jobs.front().workload.call;
  if (call.shares) throw InputError({"--steps"}, "steps are those of equal sizes", "leave --shares and --skew out");
  const std::vector<DeviceId> devices = experiment::devices_of_call(experiment);
  check_question(operation, experiment, devices.size());
  check_collective(question, operation, {&size, 1}, files);
  const workload::Job job = experiment::job_of(call);
  const workload::Matching matching = workload::match(job);
  const system::CollectiveOptions& options = experiment.simulation.collectives;
  system::CollectivePlans plans(job, matching, experiment.fabric, devices, options);
  const system::CollectivePlan& plan = plans.plan(GroupId(0), 0);
  const std::vector<network::LogicalDimension> dimensions =
      system::collective_dimensions(experiment.fabric, options.logical_dimensions);
  const auto chosen = system::choose_algorithms(*operation.kind, options, *plan.layout, dimensions);
  CollectiveSteps steps{
      cluster_title(question.cluster), std::string(operation.name), call.ranks, size, plan.chunks, {}};
  for (std::size_t number = 0; number < plan.phases.size(); ++number) {
    StepPhase phase = phase_of(plan, number);
    const std::uint32_t dimension = plan.layout->cuboid ? plan.layout->dimensions[plan.phases[number].phase.axis] : 0;
    phase.algorithm = std::ranges::find(chosen, dimension, &system::DimensionAlgorithm::dimension)->algorithm.name;
    phase.dimension = plan.layout->cuboid ? fmt::format("dimension {} ({})", dimension, dimensions[dimension].topology)
                                          : std::string("one logical group");
    steps.phases.push_back(std::move(phase));
  }
  return steps;
}

std::string heading_of(const CollectiveSteps& steps, std::size_t number) {
  const StepPhase& phase = steps.phases[number];
  std::string text = fmt::format("phase {}: {} by {} on {}, {} of {}", number + 1, name_of(phase.kind), phase.algorithm,
                                 phase.dimension, counted(phase.lines, "line"), counted(phase.ranks, "rank"));
  if (phase.parts > 1) text += fmt::format(", part {} of {} of the data", phase.part + 1, phase.parts);
  std::vector<std::size_t> after;
  for (const std::uint32_t before : phase.after) after.push_back(before + 1);
  if (!after.empty()) text += fmt::format(", after phase {}", fmt::join(after, " and "));
  return fmt::format("{}, {}\n", text, counted(phase.rounds, "round"));
}

}  // namespace

CollectiveSteps collective_steps(const CollectiveQuestion& question, const workload::CallOperation& operation,
                                 Bytes size, const ConfigFiles& files) {
  try {
    return steps(question, operation, size, files);
  } catch (const InputError& error) {
    throw located(error, cluster_origin(question.cluster));
  }
}

std::string steps_text(const CollectiveSteps& steps) {
  std::string text =
      fmt::format("{} on {}: {} ranks, {} bytes", steps.operation, steps.cluster, steps.ranks, steps.bytes.count());
  if (steps.chunks > 1) text += fmt::format(", in {} parts one behind the other; this is the first", steps.chunks);
  text += "\n";
  for (std::size_t number = 0; number < steps.phases.size(); ++number) {
    report::Table table({}, {"round", "from", "to", "bytes"}, {"receiver", "chunks"});
    for (const StepMessage& message : steps.phases[number].messages)
      table.row({fmt::format("{}", message.round), message.from, message.to, fmt::format("{}", message.bytes.count()),
                 message.is_added ? "adds" : "copies", fmt::format("{}", fmt::join(message.chunks, " "))});
    text += "\n" + heading_of(steps, number) + "\n" + table.text();
  }
  return text;
}

nlohmann::ordered_json to_json(const CollectiveSteps& steps) {
  nlohmann::ordered_json phases = nlohmann::ordered_json::array();
  for (const StepPhase& phase : steps.phases) {
    nlohmann::ordered_json messages = nlohmann::ordered_json::array();
    for (const StepMessage& message : phase.messages)
      messages.push_back({{"round", message.round},
                          {"from", message.from},
                          {"to", message.to},
                          {"bytes", message.bytes.count()},
                          {"combine", message.is_added ? "add" : "copy"},
                          {"chunks", message.chunks}});
    phases.push_back({{"op", name_of(phase.kind)},
                      {"algorithm", phase.algorithm},
                      {"on", phase.dimension},
                      {"lines", phase.lines},
                      {"ranks", phase.ranks},
                      {"part", phase.part},
                      {"parts", phase.parts},
                      {"after", phase.after},
                      {"rounds", phase.rounds},
                      {"messages", messages}});
  }
  return {{"schema", "orrery.steps/1"},   {"op", steps.operation},  {"ranks", steps.ranks},
          {"bytes", steps.bytes.count()}, {"chunks", steps.chunks}, {"phases", phases}};
}

}  // namespace orrery::study
