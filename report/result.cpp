// SPDX-License-Identifier: MIT
#include "report/result.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/config/number_text.h"
#include "core/error.h"
#include "network/fabric/link_names.h"
#include "report/parts.h"

namespace orrery::report {
namespace {

// Means over the links of a class, which are alike.
std::vector<LinkClassUse> use_of_links(const network::Fabric& fabric, const system::LinkUsages& usage, Time finish) {
  std::vector<LinkClassUse> classes(fabric.link_classes().size());
  std::vector<LinkId> busiest(classes.size());
  usage.for_each([&](LinkId id, const network::LinkUsage& of) {
    const network::Link& link = fabric.link(id);
    LinkClassUse& use = classes[link.link_class];
    ++use.count;
    use.bandwidth = std::max(use.bandwidth, link.bandwidth);
    if (of.bytes == Bytes(0) && of.busy == Duration::zero()) return;
    use.bytes += static_cast<double>(of.bytes.count());
    use.busy += seconds(of.busy);
    const double needed = static_cast<double>(of.bytes.count()) / static_cast<double>(link.bandwidth.count());
    if (of.busy > Duration::zero()) use.overload = std::max(use.overload, needed / seconds(of.busy));
    if (needed <= use.most) return;
    use.most = needed;
    busiest[link.link_class] = id;
  });
  const double end = seconds(finish);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    LinkClassUse& use = classes[c];
    use.name = fabric.link_classes()[c];
    if (use.count == 0) continue;
    if (use.most > 0) use.busiest = network::name_of(fabric, busiest[c]);
    use.bytes /= static_cast<double>(use.count);
    if (end <= 0) continue;
    use.busy /= static_cast<double>(use.count) * end;
    use.most /= end;
    use.mean_utilisation = use.bytes / (static_cast<double>(use.bandwidth.count()) * end);
  }
  std::erase_if(classes, [](const LinkClassUse& use) { return use.count == 0; });
  return classes;
}

std::optional<BusiestLink> busiest_of(const network::Fabric& fabric, const system::LinkUsages& usage, Time finish) {
  // All links of a route are in use for as long as its slowest.
  double most = 0;  // of the first of the busiest
  std::optional<LinkId> busiest;
  usage.for_each([&](LinkId link, const network::LinkUsage& of) {
    if (of.bytes == Bytes(0)) return;
    const double needed =
        static_cast<double>(of.bytes.count()) / static_cast<double>(fabric.link(link).bandwidth.count());
    if (needed <= most) return;
    most = needed;
    busiest = link;
  });
  if (!busiest || usage[*busiest].busy == Duration::zero()) return std::nullopt;
  return BusiestLink{network::name_of(fabric, *busiest), seconds(usage[*busiest].busy) / seconds(finish)};
}

}  // namespace

std::uint32_t initial_nodes(const workload::Job& job) {
  std::uint32_t most = 0;
  for (std::uint32_t graph = 0; graph < job.graphs.size(); ++graph)
    most = std::max(most, job.facts(graph).initial_nodes);
  return most;
}

Duration initial_time(const workload::Job& job, std::span<const RankId> acting, const OperationLog& log) {
  std::optional<Time> begin;
  for (const RankId rank : std::set<RankId>(acting.begin(), acting.end())) {
    const std::uint32_t initial = job.facts(job.ranks.graph(index_of(rank))).initial_nodes;
    if (initial == 0) continue;
    Time end;
    const auto take = [&](const system::OperationRecord& operation) {
      if (index_of(operation.node) < initial) end = std::max(end, operation.end);
    };
    log.read(rank, take, [&](const RepeatedStretch& stretch) {
      if (index_of(stretch.kind->first) < initial)
        for (const system::StretchRecord::Part& part : stretch.parts()) take(stretch.operation(part));
    });
    begin = std::min(begin.value_or(end), end);
  }
  return begin.value_or(Time{}).time_since_epoch();
}

std::vector<SharedLinks> shared_links(const network::Fabric& fabric,
                                      std::span<const std::vector<network::LinkUsage>> usage) {
  std::vector<SharedLinks> classes(fabric.link_classes().size());
  std::vector<double> most(classes.size());
  for (std::uint32_t i = 0; i < usage.front().size(); ++i) {
    const network::Link& link = fabric.link(LinkId(i));
    SharedLinks& shared = classes[link.link_class];
    ++shared.of_class;
    std::vector<std::uint64_t> bytes;
    for (const std::vector<network::LinkUsage>& of_job : usage)
      bytes.push_back(static_cast<std::uint64_t>(of_job[i].bytes.count()));
    if (bytes.size() - static_cast<std::size_t>(std::ranges::count(bytes, 0U)) < 2) continue;
    ++shared.count;
    const double needed =
        std::accumulate(bytes.begin(), bytes.end(), 0.0) / static_cast<double>(link.bandwidth.count());
    if (needed <= most[link.link_class]) continue;
    most[link.link_class] = needed;
    shared.name = fabric.link_classes()[link.link_class];
    shared.busiest = network::name_of(fabric, LinkId(i));
    shared.bytes = std::move(bytes);
  }
  std::erase_if(classes, [](const SharedLinks& shared) { return shared.count == 0; });
  return classes;
}

Duration iteration_time(const Result& result) {
  return (result.finish.time_since_epoch() - result.initial) / result.iterations;
}

std::vector<KernelFigures> kernel_figures(const workload::TrainingFacts& facts) {
  std::map<std::pair<std::string, std::string>, KernelFigures> sums;
  std::map<workload::Operator, KernelFigures*> sum_of;  // many programs have the same
  const auto steps = static_cast<double>(std::max<std::int64_t>(facts.workers * facts.iterations, 1));
  for (const workload::ProgramKernels& program : facts.kernels)
    for (const workload::KernelUse& use : program.uses) {
      const double count = static_cast<double>(program.ranks * use.count) / steps;
      KernelFigures*& known = sum_of[use.op];
      if (known == nullptr) {
        std::string kind(workload::kind_of(use.op)), sizes = workload::sizes_of(use.op);
        known = &sums[{kind, sizes}];
        known->kind = std::move(kind);
        known->sizes = std::move(sizes);
      }
      KernelFigures& sum = *known;
      sum.count += count;
      sum.seconds += count * seconds(use.each);
      sum.flops += count * static_cast<double>(workload::flops_of(use.op).count());
      sum.bytes += count * static_cast<double>(workload::bytes_of(use.op).count());
      sum.measured_seconds += count * seconds(use.each) * use.measured;
    }
  std::vector<KernelFigures> kernels;
  for (auto& [key, sum] : sums) kernels.push_back(std::move(sum));
  std::ranges::stable_sort(kernels, std::ranges::greater{}, &KernelFigures::seconds);
  return kernels;
}

double measured_share(const TrainingFigures& figures) {
  double whole = 0, measured = 0;
  for (const KernelFigures& kernel : figures.kernels) {
    whole += kernel.seconds;
    measured += kernel.measured_seconds;
  }
  return whole > 0 ? measured / whole : 0;
}

TrainingFigures training_figures(const workload::TrainingFacts& facts, const DevicesInUse& devices,
                                 Duration iterations) {
  TrainingFigures figures;
  figures.kernels = kernel_figures(facts);
  figures.peak = devices.peak;
  figures.workers = facts.workers;
  figures.power = devices.power;
  const double rank_seconds =
      seconds(iterations) / static_cast<double>(facts.iterations) * static_cast<double>(facts.workers);
  if (rank_seconds > 0) {
    figures.mfu = facts.model_flops / (rank_seconds * static_cast<double>(devices.peak.count()));
    figures.mfu_all_devices = figures.mfu * static_cast<double>(facts.workers) / devices.count;
    if (devices.peak_of_all != devices.peak)
      figures.mfu_all_devices *=
          static_cast<double>(devices.peak.count()) / static_cast<double>(devices.peak_of_all.count());
    figures.model_tflops_per_gpu = facts.model_flops / rank_seconds / 1e12;
    figures.tokens_per_s_per_gpu = static_cast<double>(facts.tokens) / rank_seconds;
  }
  figures.has_tokens = facts.has_tokens;
  const auto need = [&](std::size_t program) { return Int128{facts.memory[program].need.total().count()}; };
  std::size_t fullest = 0;  // by the share of its device's memory
  for (std::size_t program = 1; program < facts.memory.size(); ++program)
    if (need(program) * devices.capacities[fullest].count() > need(fullest) * devices.capacities[program].count())
      fullest = program;
  if (facts.memory.empty()) return figures;
  figures.capacity = devices.capacities[fullest];
  figures.fullest = facts.memory[fullest].first_rank;
  figures.memory = facts.memory[fullest].need;
  for (const workload::ProgramMemory& program : facts.memory)
    figures.stages.push_back({program.first_rank, program.need.rest(), program.need.total()});
  return figures;
}

std::optional<TrainingRun> training_run(const workload::TrainingSpec& training, const workload::TrainingFacts& facts,
                                        std::size_t ranks, std::optional<Power> power, Duration iteration) {
  if (!training.tokens || iteration <= Duration::zero()) return std::nullopt;
  TrainingRun run;
  run.tokens = training.tokens->count();
  run.seconds = static_cast<double>(run.tokens) / static_cast<double>(facts.tokens) * seconds(iteration);
  run.device_hours = run.seconds / 3600 * static_cast<double>(ranks);
  run.power = power;
  if (power) run.kilowatt_hours = run.device_hours * static_cast<double>(power->count()) / 1000;
  if (training.price) run.cost = run.device_hours * *training.price;
  return run;
}

namespace {

// Classes of ranks in the order of their first ranks, each with where its time went if that is asked for.
void add_classes(const workload::Job& job, const system::SimulationTotals& totals, const OperationLog& log,
                 Result& result) {
  TimeAccount account(job);
  std::vector<std::uint32_t> class_of_acting(job.ranks.size(), UINT32_MAX);
  std::uint32_t classes = 0;
  for (const RankId acting : totals.acting) {
    std::uint32_t& number = class_of_acting[index_of(acting)];
    if (number == UINT32_MAX) {
      number = classes++;
      if (result.has_parts) result.classes.push_back(account.of(acting, log, totals.finish));
    }
    result.class_of_rank.push_back(number);
  }
}

}  // namespace

Result make_result(const workload::Job& job, const network::Fabric& fabric, const system::Simulation& simulation,
                   const system::SimulationTotals& totals, const OperationLog& log, bool with_parts) {
  Result result;
  result.finish = totals.finish;
  result.has_parts = with_parts;
  add_classes(job, totals, log, result);
  result.initial = initial_time(job, totals.acting, log);
  result.group_family = group_families(job, totals.acting);
  const system::LinkUsages usage = simulation.usage();
  result.links = use_of_links(fabric, usage, totals.finish);
  result.busiest_link = busiest_of(fabric, usage, totals.finish);
  result.balanced_in_vain = simulation.plans().balanced_in_vain();
  result.link_classes = totals.link_classes;
  result.folded = simulation.cast().is_folded();
  result.folding = simulation.cast().text();
  result.splits.assign(simulation.cast().steps().begin(), simulation.cast().steps().end());
  result.events = totals.events;
  result.messages = totals.messages;
  result.fast_forwarded = totals.fast_forwarded;
  for (const RankId rank : std::set<RankId>(totals.acting.begin(), totals.acting.end()))
    result.repeated_operations += log.count_repeated(rank);
  result.by_events = totals.why_by_events;
  return result;
}

std::string roofline_text(std::span<const RooflineFigures> devices) {
  std::string text;
  for (const RooflineFigures& one : devices)
    text += fmt::format("{}{} of the peak, {} of memory bandwidth{}", text.empty() ? "" : "; ", percent(one.peak_share),
                        percent(one.memory_share), devices.size() > 1 ? " of " + printable(one.device, 40) : "");
  return text.empty() ? text : "computes by the roofline: " + text;
}

}  // namespace orrery::report
