// SPDX-License-Identifier: MIT
#include "study/calibrate/profiles.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/config/key_path.h"
#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "study/calibrate/kernel_device.h"
#include "study/calibrate/profiles/profile_kernels.h"
#include "workload/import/kineto/messages.h"
#include "workload/import/kineto/profiles.h"

namespace orrery::study {
namespace {

using workload::KinetoLaunch;
using workload::KinetoOperation;
using workload::KinetoTime;
using workload::KinetoTrace;

// A call that takes so many times the median one waited for room in the queue, or for what it copies.
constexpr double kBlockedCall = 10;

double seconds_of(KinetoTime ticks) { return static_cast<double>(ticks) * 1e-9; }

// Reads profiles by what the device does and its host did.
class ProfileReader {
 public:
  ProfileReader(const std::string& file, KinetoTrace trace) : trace_(std::move(trace)) {
    evidence_.file = file;
    evidence_.device = trace_.device;
    evidence_.has_stacks = trace_.has_stacks;
    for (const KinetoLaunch& launch : trace_.launches) launch_of_.emplace(launch.correlation, &launch);
    keep_marked_steps();
    std::ranges::stable_sort(trace_.operations, {}, &KinetoOperation::begin);
  }

  ProfileEvidence read() && {
    ProfileKernels kernels = timed_kernels(trace_, evidence_.file);
    evidence_.kernels = std::move(kernels.timings);
    evidence_.has_shapes = kernels.has_shapes;
    evidence_.products_known = kernels.products_known;
    find_time(kernels.kinds);
    find_launches();
    find_collectives();
    warn();
    return std::move(evidence_);
  }

 private:
  const KinetoLaunch* launch_of(const KinetoOperation& operation) const {
    const auto found = launch_of_.find(operation.correlation);
    return found == launch_of_.end() ? nullptr : found->second;
  }

  // The profiler's own work and what was launched before the first marked step are not of a step.
  void keep_marked_steps() {
    if (trace_.steps.empty() || trace_.launches.empty()) return;
    const KinetoTime begin = std::ranges::min(trace_.steps, {}, &workload::KinetoSpan::begin).begin;
    const KinetoTime end = std::ranges::max(trace_.steps, {}, &workload::KinetoSpan::end).end;
    std::vector<KinetoOperation> kept;
    for (const KinetoOperation& operation : trace_.operations) {
      const KinetoLaunch* launch = launch_of(operation);
      if (launch != nullptr && launch->begin >= begin && launch->begin < end) kept.push_back(operation);
    }
    if (kept.empty()) return;
    trace_.operations = std::move(kept);
    evidence_.time.steps = trace_.steps.size();
  }

  // Books the time between two instants, `running` being how many operations of each kind run.
  void find_time(const std::vector<ProfiledKind>& kinds) {
    struct Edge {
      KinetoTime at = 0;
      int change = 0;
      ProfiledKind kind{};
    };
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < trace_.operations.size(); ++i) {
      edges.push_back({trace_.operations[i].begin, 1, kinds[i]});
      edges.push_back({trace_.operations[i].end, -1, kinds[i]});
    }
    std::ranges::stable_sort(edges, {}, &Edge::at);
    std::array<int, kProfiledKindCount> running{};
    ProfiledTime& time = evidence_.time;
    time.file = evidence_.file;
    std::size_t next = 0;  // operation that begins
    KinetoTime now = edges.front().at;
    for (const Edge& edge : edges) {
      if (edge.at > now) {
        while (next < trace_.operations.size() && trace_.operations[next].begin <= now) ++next;
        time.seconds[static_cast<std::size_t>(kind_at(running, now, next))] += seconds_of(edge.at - now);
        if (running[static_cast<std::size_t>(ProfiledKind::kExchange)] > 0) time.exchange += seconds_of(edge.at - now);
        now = edge.at;
      }
      running[static_cast<std::size_t>(edge.kind)] += edge.change;
    }
    const double steps = static_cast<double>(std::max<std::size_t>(time.steps, 1));
    for (double& part : time.seconds) part /= steps;
    time.exchange /= steps;
  }

  ProfiledKind kind_at(const std::array<int, kProfiledKindCount>& running, KinetoTime now, std::size_t next) const {
    for (std::size_t kind = 0; kind < kProfiledKindCount; ++kind)
      if (running[kind] > 0) return static_cast<ProfiledKind>(kind);
    const KinetoLaunch* launch = next < trace_.operations.size() ? launch_of(trace_.operations[next]) : nullptr;
    return launch != nullptr && launch->begin > now ? ProfiledKind::kHost : ProfiledKind::kIdle;
  }

  // A launch that put an operation on the device.
  struct Launched {
    const KinetoLaunch* launch = nullptr;
    bool is_late = false;  // the device had ended all else
    KinetoTime until_start = 0;
  };

  std::vector<Launched> launched() {
    std::vector<Launched> list;
    std::set<std::int64_t> graphs;
    KinetoTime busy_until = std::numeric_limits<KinetoTime>::min();
    for (const KinetoOperation& operation : trace_.operations) {
      const KinetoLaunch* launch = launch_of(operation);
      if (launch != nullptr && launch->is_graph) {
        graphs.insert(launch->correlation);
        ++evidence_.launches.graph_kernels;
      } else if (launch != nullptr) {
        list.push_back({launch, busy_until <= launch->end, operation.begin - launch->begin});
      }
      busy_until = std::max(busy_until, operation.end);
    }
    evidence_.launches.graphs = graphs.size();
    return list;
  }

  void find_launches() {
    std::map<std::string, std::vector<Launched>> threads;
    std::vector<double> calls, starts;
    ProfiledLaunches& found = evidence_.launches;
    for (const Launched& one : launched()) {
      ++found.kernels;
      calls.push_back(seconds_of(one.launch->end - one.launch->begin));
      if (one.is_late) ++found.late, starts.push_back(seconds_of(one.until_start));
      threads[one.launch->thread].push_back(one);
    }
    found.until_start = median_of(std::move(starts));
    const double longest_call = kBlockedCall * median_of(std::move(calls));
    std::map<std::string, std::vector<KinetoTime>> breaks = waits_of_threads();
    for (auto& [thread, launches] : threads) {
      std::ranges::stable_sort(launches, {}, [](const Launched& one) { return one.launch->begin; });
      for (std::size_t i = 1; i < launches.size(); ++i)
        add_gap(*launches[i - 1].launch, launches[i], breaks[thread], longest_call);
    }
    std::ranges::sort(found.all);
    std::ranges::sort(found.waited);
  }

  // When each thread waited for its device, or launched a graph, which takes longer than a kernel.
  std::map<std::string, std::vector<KinetoTime>> waits_of_threads() const {
    std::map<std::string, std::vector<KinetoTime>> waits;
    for (const workload::KinetoCall& call : trace_.calls)
      if (call.kind == workload::KinetoCallKind::kSynchronize) waits[call.thread].push_back(call.begin);
    for (const KinetoLaunch& launch : trace_.launches)
      if (launch.is_graph) waits[launch.thread].push_back(launch.begin);
    for (auto& [thread, times] : waits) std::ranges::sort(times);
    return waits;
  }

  void add_gap(const KinetoLaunch& before, const Launched& one, const std::vector<KinetoTime>& waits,
               double longest_call) {
    const auto wait = std::ranges::lower_bound(waits, before.begin);
    const bool waited = wait != waits.end() && *wait < one.launch->begin;
    if (waited || seconds_of(before.end - before.begin) > longest_call || one.launch->begin <= before.begin) return;
    const double gap = seconds_of(one.launch->begin - before.begin);
    evidence_.launches.all.push_back(gap);
    if (one.is_late) evidence_.launches.waited.push_back(gap);
  }

  void find_collectives() {
    std::map<std::tuple<CollectiveKind, std::int64_t, std::int64_t>, std::vector<double>> times;
    for (const KinetoOperation& operation : trace_.operations) {
      if (!operation.message || !operation.batch.empty()) continue;
      const auto kind = workload::operation_kind(operation.message->collective);
      const auto size = workload::element_size(operation.message->type);
      if (!kind || !size || kind->type != workload::KinetoOperationKind::Type::kCollective) continue;
      const bool gathers =
          kind->collective == CollectiveKind::kAllGather || kind->collective == CollectiveKind::kGather;
      const std::int64_t elements = gathers ? operation.message->output_elements : operation.message->input_elements;
      if (elements <= 0 || elements > workload::kMostElements / 16 || operation.end <= operation.begin) continue;
      times[{kind->collective, elements * *size, operation.message->group_size}].push_back(
          seconds_of(operation.end - operation.begin));
    }
    for (auto& [what, all] : times) {
      const auto& [kind, bytes, ranks] = what;
      const double fastest = std::ranges::min(all);
      const std::size_t count = all.size();
      evidence_.collectives.push_back(
          {kind, Bytes(bytes), ranks, count, fastest, median_of(std::move(all)), {evidence_.file}});
    }
  }

  void warn() {
    const auto say = [&](std::string message, std::string hint) {
      Problem problem{Severity::kWarning, {evidence_.file}, std::move(message), std::move(hint)};
      evidence_.warnings.push_back(std::move(problem));
    };
    if (!evidence_.has_shapes)
      say("no operator says the sizes of its tensors: its kernels calibrate nothing, only the host's launches do",
          "profile with record_shapes=True");
    if (evidence_.has_stacks)
      say("Python's calls were recorded, which slows the host: its launches are an upper bound",
          "profile with with_stack=False");
    if (evidence_.launches.all.empty())
      say("no launch of a kernel is in the profile: it says nothing of the host",
          "record with ProfilerActivity.CPU, too");
  }

  KinetoTrace trace_;
  std::unordered_map<std::int64_t, const KinetoLaunch*> launch_of_;
  ProfileEvidence evidence_;
};

// Positions of the order statistics that hold the median in 95 % of samples.
std::pair<std::size_t, std::size_t> median_bounds(std::size_t count) {
  const double half = static_cast<double>(count) / 2, reach = 1.96 * std::sqrt(static_cast<double>(count)) / 2;
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(half - reach)));
  const auto high = static_cast<std::size_t>(std::ceil(half + reach));
  return {low, std::min(high, count - 1)};
}

// Refuses a profile of another device than the cluster's.
void check_device(const ProfileEvidence& profile, const CalibratedMachine& machine, const ConfigFiles& files,
                  std::vector<Problem>& warnings) {
  if (profile.device.empty()) return;
  MeasuredDevice measured;
  measured.name = profile.device;
  std::vector<Problem> found;
  try {
    find_device(machine, files, measured, found);
  } catch (const InputError& error) {
    throw located(error, profile.file);
  }
  for (Problem& problem : found) {
    problem.where = {profile.file};
    warnings.push_back(std::move(problem));
  }
}

// Sentences on what one profile tells of the host, and what it cannot.
std::string note_on(const ProfileEvidence& profile) {
  const ProfiledLaunches& launches = profile.launches;
  const double share =
      static_cast<double>(launches.late) / static_cast<double>(std::max<std::size_t>(launches.kernels, 1));
  std::string text = fmt::format("{}: of {} operations launched one by one {} found the device waiting", profile.file,
                                 launches.kernels, percent(share, 0));
  text += share >= 0.5   ? ": the host sets the pace"
          : share >= 0.1 ? ": the host sets the pace in part"
                         : ": the host was ahead, and its launch time changes this step little";
  if (launches.late > 0) text += fmt::format("; a kernel starts {} after its launch", time_text(launches.until_start));
  if (launches.graphs > 0)
    text += fmt::format("; {} launches of graphs ran {} kernels (host.graphs says which)", launches.graphs,
                        launches.graph_kernels);
  return text;
}

// Collectives wait for the last rank, and where the others are is not said: they are told, and fitted to nothing.
std::string note_on_collectives(const ProfileEvidence& profile) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<ProfiledCollective> longest = profile.collectives;
  std::ranges::stable_sort(longest, std::ranges::greater(),
                           [](const ProfiledCollective& one) { return one.median * static_cast<double>(one.count); });
  std::string text = "collectives";
  for (std::size_t i = 0; i < std::min(kMostNamed, longest.size()); ++i)
    text += fmt::format("{} {} of {} among {} ranks {}, {} at best ({} times)", i == 0 ? "" : ",",
                        name_of(longest[i].kind), rounded(longest[i].bytes), longest[i].ranks,
                        time_text(longest[i].median), time_text(longest[i].fastest), longest[i].count);
  if (longest.size() > kMostNamed) text += fmt::format(", and {} more kinds", longest.size() - kMostNamed);
  return text + ": one rank's kernels wait for other ranks, so that a log of nccl-tests calibrates links, not these";
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string_view name_of(ProfiledKind kind) {
  constexpr std::array<std::string_view, kProfiledKindCount> kNames = {
      "products", "attention", "other kernels", "copies", "exchange that is waited for", "host", "idle"};
  return kNames[static_cast<std::size_t>(kind)];
}

double ProfiledTime::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

ProfileEvidence read_profile_evidence_text(const std::string& file, std::string_view text) {
  return ProfileReader(file, workload::read_lone_profile(file, text, workload::KinetoDetail::kOperators)).read();
}

std::vector<ProfileEvidence> read_profile_evidence(std::span<const std::string> files) {
  std::vector<ProfileEvidence> evidence;
  std::vector<Problem> problems;
  for (const std::string& file : files) {
    try {
      evidence.push_back(
          ProfileReader(file, workload::read_lone_profile(file, {}, workload::KinetoDetail::kOperators)).read());
    } catch (const InputError& error) {
      const InputError here = located(error, file);
      problems.insert(problems.end(), here.problems().begin(), here.problems().end());
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return evidence;
}

std::vector<KernelTiming> kernels_of(std::span<const ProfileEvidence> profiles) {
  std::vector<KernelTiming> kernels;
  for (const ProfileEvidence& profile : profiles)
    kernels.insert(kernels.end(), profile.kernels.begin(), profile.kernels.end());
  return kernels;
}

Finding calibrate_host(std::span<const ProfileEvidence> profiles, CalibratedMachine& machine,
                       const ConfigFiles& files) {
  Finding finding{"host", {}, {}, {}, {}, {}};
  std::vector<double> gaps;
  std::size_t stacks = 0;
  for (const ProfileEvidence& profile : profiles) {
    check_device(profile, machine, files, finding.warnings);
    gaps.insert(gaps.end(), profile.launches.all.begin(), profile.launches.all.end());
    stacks += profile.has_stacks ? 1 : 0;
    if (profile.launches.kernels > 0) finding.notes.push_back(note_on(profile));
    if (!profile.collectives.empty()) finding.notes.push_back(note_on_collectives(profile));
  }
  if (profiles.empty()) return finding;
  CalibratedConstant launch;
  launch.file = CalibratedFile::kSoftware;
  launch.key = "host.launch";
  launch.unit = ConstantUnit::kDuration;
  const ConfigValue* before = value_at_path(machine.software, "host.launch");
  const auto known = before == nullptr ? Parsed<Duration>{} : parse_quantity<Duration>(before->scalar);
  launch.before = launch.after = known.value ? seconds(*known.value) : 0;
  const ConfigValue* factor = value_at_path(machine.cluster, "node.host_launch");
  const double slower = factor == nullptr ? 1 : parse_share(factor->scalar).value.value_or(1);
  launch.evidence = fmt::format("{} launches of {}", gaps.size(), counted(profiles.size(), "profile"));
  constexpr std::size_t kLeastGaps = 50;
  if (machine.software.kind != ConfigValue::Kind::kMap) {
    launch.stays = "no job names a software; --job JOB.yaml does";
  } else if (gaps.size() < kLeastGaps) {
    launch.stays = fmt::format("{} gaps between launches, of which {} are wanted", gaps.size(), kLeastGaps);
  } else {
    std::ranges::sort(gaps);
    const auto [low, high] = median_bounds(gaps.size());
    launch.after = median_of(gaps) / slower;
    launch.low = gaps[low] / slower;
    launch.high = gaps[high] / slower;
    launch.remark =
        fmt::format("half of them {} to {}", time_text(gaps[gaps.size() / 4]), time_text(gaps[gaps.size() * 3 / 4]));
    if (slower != 1) launch.remark += fmt::format("; the cluster's hosts launch {:.3g} times slower", slower);
    if (stacks > 0) launch.remark += "; or less: Python's calls were recorded";
    Diagnostics sound;
    set_value(machine.software, "host.launch",
              {ConfigValue::Kind::kScalar, {}, constant_text(ConstantUnit::kDuration, launch.after), {}, {}}, files,
              sound);
  }
  finding.constants.push_back(std::move(launch));
  return finding;
}

}  // namespace orrery::study
