// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/whole_memory.h"
#include "report/figures.h"
#include "report/parts.h"
#include "report/result.h"
#include "report/table.h"

namespace orrery::report {
namespace {

constexpr std::size_t kRowsShown = 24;

std::string parts_text(const std::vector<Part>& parts, double iteration) {
  return table_of(parts, {{"where the time goes, mean over ranks", &Part::name},
                          {"time", [](const Part& part) { return Duration(std::llround(part.seconds * 1e12)); }},
                          {"share", [&](const Part& part) { return percent_of(part.seconds, iteration); }, kRight}})
      .text();
}

struct RankRow {
  RankParts parts;
  std::vector<std::size_t> ranks;
};

// Ranks with equal parts in one row, those that compute longest first.
std::vector<RankRow> rank_rows(const Result& result) {
  std::vector<RankRow> rows;
  std::vector<std::size_t> row_of_class;
  for (const Breakdown& one : result.classes) {
    RankParts parts = parts_of(one, result);
    const auto same = std::ranges::find(rows, parts, &RankRow::parts);
    row_of_class.push_back(static_cast<std::size_t>(same - rows.begin()));
    if (same == rows.end()) rows.push_back({std::move(parts), {}});
  }
  for (std::size_t rank = 0; rank < result.class_of_rank.size(); ++rank)
    rows[row_of_class[result.class_of_rank[rank]]].ranks.push_back(rank);
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const RankRow& row) { return row.parts.compute; });
  return rows;
}

std::string ranks_text(const Result& result) {
  const std::vector<RankRow> all = rank_rows(result);
  const std::span<const RankRow> rows = std::span(all).first(std::min(all.size(), kRowsShown));
  std::set<std::string> families;
  for (const RankRow& row : all)
    for (const auto& [family, time] : row.parts.exposed) families.insert(family);
  const auto part = [](auto RankParts::*which) { return [which](const RankRow& row) { return row.parts.*which; }; };
  std::vector<ColumnOf<RankRow>> columns = {{"ranks", [](const RankRow& row) { return rank_ranges(row.ranks, 24); }},
                                            {"count", [](const RankRow& row) { return row.ranks.size(); }},
                                            {"compute", part(&RankParts::compute), kRight, Interest::kAnswer},
                                            {"slowed", part(&RankParts::slowed)},
                                            {"host only", part(&RankParts::host)},
                                            {"memory only", part(&RankParts::memory)}};
  for (const std::string& family : families)
    columns.emplace_back(family, [&family](const RankRow& row) {
      const auto found = row.parts.exposed.find(family);
      return found == row.parts.exposed.end() ? Duration::zero() : found->second;
    });
  columns.insert(columns.end(), {{"wait", part(&RankParts::wait)},
                                 {"stage wait", part(&RankParts::bubble)},
                                 {"idle", part(&RankParts::idle)},
                                 {"finish", part(&RankParts::finish), kRight, Interest::kDetail}});
  std::string text = table_of(rows, columns).text();
  if (all.size() > kRowsShown)
    text += fmt::format("  ... {} more rows; --json has all ranks\n", all.size() - kRowsShown);
  return text;
}

std::string links_text(const std::vector<LinkClassUse>& links) {
  const auto share = [](double LinkClassUse::*which) {
    return [which](const LinkClassUse& use) { return use.*which > 0 ? percent(use.*which) : "-"; };
  };
  return table_of(links, {{"links", &LinkClassUse::name},
                          {"count", &LinkClassUse::count},
                          {"bandwidth", &LinkClassUse::bandwidth},
                          {"bytes each",
                           [](const LinkClassUse& use) { return Bytes(std::llround(std::min(use.bytes, 9e18))); }},
                          {"busy", share(&LinkClassUse::busy), kRight},
                          {"utilisation", share(&LinkClassUse::mean_utilisation), kRight},
                          {"busiest", share(&LinkClassUse::most), kRight},
                          {"busiest link", [](const LinkClassUse& use) { return use.most > 0 ? use.busiest : "-"; }}})
      .text();
}

// "300 B tokens take 27.1 days: 27.8 K device-days, 76.0 device-years; 266 MWh of the devices alone (400 W each)".
std::string run_text(const TrainingRun& run, bool has_tokens) {
  std::string text =
      fmt::format("{} {} take {}: {} device-days", rounded_count(run.tokens), has_tokens ? "tokens" : "samples",
                  days_text(run.seconds), large_count(run.device_hours / 24));
  text += fmt::format(", {:.3g} device-years", run.device_hours * 3600 / kYear);
  if (run.kilowatt_hours)
    text +=
        fmt::format("; {} of the devices alone ({} each)",
                    three_digits(*run.kilowatt_hours, std::array{" kWh", " MWh", " GWh", " TWh"}), to_text(*run.power));
  if (run.cost) text += fmt::format("; cost {}", large_count(*run.cost));
  return text + "\n";
}

// "age of weights in updates, mean (most): 2.8 (3) on rank 0, 1.9 (2) on rank 1".
std::string ages_text(const std::vector<WeightAge>& ages) {
  std::vector<std::string> parts;
  for (const WeightAge& age : ages)
    parts.push_back(fmt::format("{:.3g} ({}) on rank {}", age.mean, age.most, index_of(age.rank)));
  return fmt::format("age of weights in updates, mean (most): {}\n", fmt::join(parts, ", "));
}

// "MFU 38.0 %, 376.0 model TFLOP/s and 3501.5 tokens/s per device".
std::string pace_text(const TrainingFigures& figures, std::uint32_t devices) {
  const FigureValues values = figure_values({{}, &figures});
  std::string text = "MFU " + percent(figures.mfu);
  if (figures.mfu_all_devices < figures.mfu)
    text += fmt::format(" of the devices in use ({} of all {})", percent(figures.mfu_all_devices), devices);
  return text + fmt::format(", {} model TFLOP/s and {} per device", column_text(values, "tflops"),
                            column_text(values, "throughput"));
}

// "bubble 14.2 % from the first pass to the last, 1f1b of 4 stages"; with what makes a large one smaller.
std::string bubble_text(const BubbleFigures& bubble) {
  std::string text = fmt::format("bubble {} from the first pass to the last, {} of {} stages", percent(bubble.share),
                                 bubble.schedule, bubble.stages);
  if (bubble.share >= kLargeBubble)
    text +=
        fmt::format(": more micro-batches {} it smaller", bubble.may_interleave ? "or virtual stages make" : "make");
  return text + "\n";
}

// Lines with the figures by which a training job is judged, and its memory.
std::string training_text(const TrainingFigures& figures, std::uint32_t devices) {
  std::string text = fmt::format("{}   ({})\n{}\n", pace_text(figures, devices), figures.job, figures.plan);
  if (!figures.ages.empty()) text += ages_text(figures.ages);
  if (figures.run) text += run_text(*figures.run, figures.has_tokens);
  if (figures.bubble) text += bubble_text(*figures.bubble);
  std::vector<std::string> parts;
  for (std::size_t use = 0; use < workload::kMemoryUseCount; ++use)
    if (figures.memory.by[use].count() > 0)
      parts.push_back(fmt::format("{} {}", workload::name_of(static_cast<workload::MemoryUse>(use)),
                                  rounded(figures.memory.by[use])));
  return text + fmt::format("memory {} of {} on rank {}: {}; with libraries and allocator about {} in use\n",
                            rounded(figures.memory.total()), rounded(figures.capacity), index_of(figures.fullest),
                            fmt::join(parts, ", "), rounded(figures.memory.in_use()));
}

std::string kernel_table(const char* heading, std::span<const KernelFigures> rows, double whole, FlopRate peak) {
  const auto rate = [](const KernelFigures& row) { return row.seconds > 0 ? row.flops / row.seconds : 0; };
  const auto teraflops = [&](const KernelFigures& row) {
    return rate(row) > 0 ? fmt::format("{:.1f}", rate(row) / 1e12) : "-";
  };
  const auto of_peak = [&](const KernelFigures& row) {
    return rate(row) > 0 ? percent_of(rate(row), static_cast<double>(peak.count())) : "-";
  };
  const auto gigabytes = [](const KernelFigures& row) {
    return row.seconds > 0 ? fmt::format("{:.0f}", row.bytes / row.seconds / 1e9) : "-";
  };
  return table_of(rows,
                  {{heading, [](const auto& row) { return row.kind + (row.sizes.empty() ? "" : " " + row.sizes); }},
                   {"count", [](const auto& row) { return fmt::format("{:.0f}", row.count); }, kRight},
                   {"time", [](const auto& row) { return Duration(std::llround(row.seconds * 1e12)); }},
                   {"share", [&](const auto& row) { return percent_of(row.seconds, whole); }, kRight},
                   {"TFLOP/s", teraflops, kRight},
                   {"of peak", of_peak, kRight},
                   {"GB/s", gigabytes, kRight}})
      .text();
}

// Kernels by kind, and the longest.
std::string kernels_text(const TrainingFigures& figures) {
  constexpr std::size_t kLongest = 10;
  std::vector<KernelFigures> kinds;
  double whole = 0;
  for (const KernelFigures& kernel : figures.kernels) {
    auto sum = std::ranges::find(kinds, kernel.kind, &KernelFigures::kind);
    if (sum == kinds.end()) sum = kinds.insert(kinds.end(), KernelFigures{kernel.kind, {}});
    sum->count += kernel.count;
    sum->seconds += kernel.seconds;
    sum->flops += kernel.flops;
    sum->bytes += kernel.bytes;
    whole += kernel.seconds;
  }
  std::ranges::stable_sort(kinds, std::ranges::greater{}, &KernelFigures::seconds);
  const std::span longest = std::span(figures.kernels).first(std::min(figures.kernels.size(), kLongest));
  return "\n" + kernel_table("kernels, mean over ranks", kinds, whole, figures.peak) + "\n" +
         kernel_table("longest of them", longest, whole, figures.peak);
}

std::string job_table(const std::vector<JobFigures>& jobs) {
  const auto figure = [](std::string_view column) {
    return [column](const JobFigures& job) {
      return job.training ? column_cell(figure_values({job.together, &*job.training}), column) : Cell("-");
    };
  };
  std::vector<ColumnOf<JobFigures>> columns = {
      {"job", [](const JobFigures& job) { return printable(job.name, 24); }},
      {"ranks", [](const JobFigures& job) { return rank_ranges(job.ranks, 24); }, kRight, Interest::kDetail},
      {"devices", [](const JobFigures& job) { return rank_ranges(job.devices, 24); }, kRight, Interest::kDetail},
      {"nodes", &JobFigures::nodes},
      {"alone", &JobFigures::alone},
      {"together", &JobFigures::together, kRight, Interest::kAnswer},
      {"ratio", [](const JobFigures& job) { return fmt::format("{:.3f}", job.slowdown()); }, kRight, Interest::kAnswer},
      {"done after", &JobFigures::finish}};
  for (const Figure* one : keyed_figures())
    if (one->is_default && one->group == FigureGroup::kTraining)
      columns.emplace_back(std::string(one->heading), figure(one->column_name()), kRight);
  columns.emplace_back("per device", figure("throughput"), kRight);
  columns.emplace_back("workload", &JobFigures::workload, std::nullopt, Interest::kDetail);
  return table_of(jobs, columns).text();
}

std::string shared_text(const Result& result) {
  if (result.shared_links.empty()) return "no two jobs use the same link\n";
  std::vector<ColumnOf<SharedLinks>> columns = {
      {"links that several jobs use", &SharedLinks::name},
      {"count", [](const SharedLinks& shared) { return fmt::format("{} of {}", shared.count, shared.of_class); },
       kRight},
      {"busiest of them", &SharedLinks::busiest}};
  for (std::size_t job = 0; job < result.jobs.size(); ++job)
    columns.emplace_back("bytes of " + printable(result.jobs[job].name, 24), [job](const SharedLinks& shared) {
      return Bytes(static_cast<std::int64_t>(shared.bytes[job]));
    });
  return table_of(result.shared_links, columns).text();
}

// Times of one iteration of each job, and where the jobs meet.
std::string jobs_text(const Result& result) {
  std::string text = "\n" + job_table(result.jobs) + "\n" + shared_text(result);
  for (const JobFigures& job : result.jobs) {
    const std::string name = printable(job.name, 24) + ": ";
    if (job.iterations > 1) text += fmt::format("{}mean of {} iterations\n", name, job.iterations);
    if (job.training && !job.training->ages.empty()) text += name + ages_text(job.training->ages);
    if (job.training && job.training->run) text += name + run_text(*job.training->run, job.training->has_tokens);
    if (job.training && job.training->bubble) text += name + bubble_text(*job.training->bubble);
  }
  return text + "\n";
}

// "data is loaded 62.3 % of the time, mean over ranks".
std::string loading_text(const Result& result) {
  double loading = 0;
  for (const std::uint32_t number : result.class_of_rank) loading += seconds(result.classes[number].loading);
  if (loading == 0) return {};
  return fmt::format("data is loaded {} of the time, mean over ranks; what of it is exposed is below\n",
                     percent_of(loading / static_cast<double>(result.class_of_rank.size()), seconds(result.finish)));
}

// "devices wait for their hosts 38.0 % of the time, mean over ranks; launches set the pace 61.0 % of it".
std::string host_text(const Result& result) {
  constexpr double kLeastShare = 0.005;
  const double whole = seconds(result.finish.time_since_epoch()), pace = mean_host_pace(result);
  for (const Part& part : mean_parts(result)) {
    if (part.kind != PartKind::kHost || part.seconds < kLeastShare * whole) continue;
    std::string text = fmt::format("devices wait for their hosts {} of the time", percent_of(part.seconds, whole));
    text += ", mean over ranks";
    if (pace > part.seconds) text += fmt::format("; launches set the pace {} of it", percent_of(pace, whole));
    return text + "\n";
  }
  return {};
}

// "communication beside computing slows it down, by 3.0 % of the time".
std::string slowed_text(const Result& result) {
  constexpr double kLeastShare = 0.01;
  const double whole = seconds(result.finish.time_since_epoch());
  for (const Part& part : mean_parts(result))
    if (part.kind == PartKind::kSlowed && part.seconds >= kLeastShare * whole)
      return fmt::format("communication beside it slows computing by {} of the time, mean over ranks\n",
                         percent_of(part.seconds, whole));
  return {};
}

// "critical path 38.85 s: compute 22.1 s, data 11.6 s, others 5.12 s", and who is to blame.
std::string path_text(const Result& result) {
  if (result.path.empty()) return {};
  constexpr std::size_t kPartsShown = 4;
  std::vector<std::string> parts;
  Duration others{};
  for (const PathShare& part : result.path) {
    if (parts.size() < kPartsShown)
      parts.push_back(fmt::format("{} {}", printable(part.what, 30), rounded(part.time)));
    else
      others += part.time;
  }
  if (others > Duration::zero()) parts.push_back("others " + rounded(others));
  std::string text =
      fmt::format("critical path {}: {}\n", rounded(result.finish.time_since_epoch()), fmt::join(parts, ", "));
  for (const Culprit& culprit : result.culprits)
    text += fmt::format("held up by {}: {} ({} of the path)\n", culprit.name, culprit.why, rounded(culprit.time));
  return text + evidence_line(result.evidence);
}

// Lines that are wider than the screen go on in the next, indented by two.
std::string folded_to_screen(std::string_view text) {
  if (table_format() != TableFormat::kText) return std::string(text);
  std::string folded;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    folded += wrapped(line, {.first = "", .next = "  ", .at = Wrapping::Break::kClauses});
  }
  return folded;
}

// Lines on the training: its kind, its speed, its cost, and how full the fullest device is.
std::string training_lines(const TrainingFigures& figures, std::uint32_t devices) {
  std::string text = pace_text(figures, devices) + "\n";
  if (figures.run) text += run_text(*figures.run, figures.has_tokens);
  if (figures.bubble) text += bubble_text(*figures.bubble);
  const Bytes whole = whole_memory(figures.capacity), in_use = figures.memory.in_use();
  const std::string of = in_use > figures.capacity && whole > figures.capacity
                             ? fmt::format(" of {}, as data sheets say GB of GiB", rounded(whole))
                             : "";
  return text + fmt::format("memory {} of {} on rank {}, the fullest; with libraries about {}{}\n",
                            rounded(figures.memory.total()), rounded(figures.capacity), index_of(figures.fullest),
                            rounded(in_use), of);
}

// The ranks that compute longest, one line for those alike; what else they do in three columns. From two to five of
// them, as a screen of 24 lines holds below `above` lines.
std::string slowest_ranks_text(const Result& result, std::size_t above) {
  constexpr std::size_t kMostRows = 5, kLeastRows = 2, kAround = 4,
                        kLines = 24;  // headings, blank lines and hints around
  const std::size_t most = std::clamp(kLines - std::min(kLines, above + kAround), kLeastRows, kMostRows);
  const std::vector<RankRow> all = rank_rows(result);
  const std::span<const RankRow> rows = std::span(all).first(std::min(all.size(), most));
  const auto exposed = [](const RankRow& row) {
    Duration sum{};
    for (const auto& [family, time] : row.parts.exposed) sum += time;
    return sum;
  };
  std::string text =
      table_of(rows,
               {{"slowest ranks", [](const RankRow& row) { return rank_ranges(row.ranks, 14); }},
                {"count", [](const RankRow& row) { return row.ranks.size(); }},
                {"compute", [](const RankRow& row) { return row.parts.compute; }},
                {"exposed", exposed},
                {"waiting", [](const RankRow& row) { return row.parts.wait + row.parts.bubble + row.parts.idle; }},
                {"finish", [](const RankRow& row) { return row.parts.finish; }}})
          .text();
  if (all.size() > most) text += fmt::format("  ... {} more rows\n", all.size() - most);
  return text;
}

// "all_reduce of 1.000 GiB: 173.4 GB/s, bus bandwidth 325.1 GB/s".
std::string call_text(const CallFigures& call) {
  if (call.size == Bytes(0)) return call.operation + "\n";
  return fmt::format("{} of {}: {:.4g} GB/s, bus bandwidth {:.4g} GB/s\n", call.operation, rounded(call.size),
                     call.algorithm_bandwidth * 1e-9, call.bus_bandwidth * 1e-9);
}

// "product 4096 x 4096 x 4096 bf16: 640.1 TFLOP/s, 64.7 % of the peak".
std::string product_text(const ProductFigures& product) {
  std::string text = fmt::format("product {}: {:.4g} TFLOP/s", product.sizes, product.rate * 1e-12);
  if (product.peak_share) text += fmt::format(", {} of the peak", percent(*product.peak_share));
  return text + "\n";
}

std::string time_text(const Result& result) {
  const std::string time = rounded(iteration_time(result));
  return result.jobs.empty() ? "iteration time " + time
                             : fmt::format("all {} jobs are done after {}", result.jobs.size(), time);
}

// How the times were found, none of which changes them.
std::string simulated_text(const Result& result) {
  std::string text = "simulated " + (result.by_events.empty() ? "along programs, ahead of the clock"
                                                              : "event by event: " + result.by_events);
  if (result.fast_forwarded > 0)
    text += fmt::format("; {} of {} messages fast-forwarded", result.fast_forwarded, result.messages);
  if (result.repeated_operations > 0)
    text += fmt::format("; {} operations as in the turns of loops before", result.repeated_operations);
  return text + "\n";
}

}  // namespace

std::string interval_text(const TimeInterval& interval) {
  std::string text = fmt::format("{} of {} comparable runs ({}): {} to {}", percent(interval.share, 0), interval.runs,
                                 printable(interval.of, 60), rounded(interval.low), rounded(interval.high));
  if (!interval.beyond.empty()) text += fmt::format("; wide, for want of {}", interval.beyond);
  return text + "\n";
}

// "recompute, parallel.zero, batch.micro and 2 more".
std::string listed(std::span<const std::string> words) {
  constexpr std::size_t kShown = 3;
  const std::size_t shown = std::min(kShown, words.size());
  std::string text = printable(fmt::format("{}", fmt::join(words.first(shown), ", ")), 200);
  if (words.size() > shown) text += fmt::format(" and {} more", words.size() - shown);
  return text;
}

// The first screen has no room for the keys that are not compared.
std::string sureness_text(const Result& result, bool in_full) {
  std::string text;
  if (result.interval) text += interval_text(*result.interval);
  if (!result.by_hand.empty())
    text += fmt::format("no interval: no published run has '{}' so\n", printable(result.by_hand, 80));
  if (!result.nearest) return text;
  const NearestRun& run = *result.nearest;
  text += fmt::format("nearest measured run: {} of {}: {}, predicted {} too {} (its family left out); {}",
                      printable(run.name, 60), printable(run.family, 40), rounded(run.measured),
                      percent(std::abs(run.error)), run.error < 0 ? "fast" : "slow", printable(run.plan, 400));
  if (!run.unlike.empty()) text += fmt::format("; unlike this job: {}", listed(run.unlike));
  if (in_full && !run.not_compared.empty()) text += fmt::format("; not compared: {}", listed(run.not_compared));
  return text + "\n";
}

std::string packed_text(const Result& result) {
  if (!result.packed) return {};
  return fmt::format(
      "on {} of the {} devices of each node, so that {} groups stay inside nodes (`placement: dense` fills them)\n",
      result.packed->in_use, result.packed->of, result.packed->groups);
}

std::string summary_text(const Result& result) {
  const std::size_t ranks = result.class_of_rank.size();
  std::string text = time_text(result) + "\n";
  text += sureness_text(result, false);
  text +=
      fmt::format("{} on {} {}; {} network{}\n", counted(ranks, "rank"), counted(result.devices, "device"),
                  printable(result.device), result.network_model, result.library.empty() ? "" : ", " + result.library);
  text += packed_text(result);
  if (result.training) text += fmt::format("{}\n{}\n", result.training->job, result.training->plan);
  if (result.call) text += call_text(*result.call);
  if (result.product) text += product_text(*result.product);
  if (result.iterations > 1)
    text += fmt::format("mean of {} iterations; the times below are of all of them\n", result.iterations);
  if (result.initial > Duration::zero())
    text += fmt::format("before the first: {} to broadcast the parameters\n", rounded(result.initial));
  if (result.training) text += training_lines(*result.training, result.devices);
  if (result.computes_as_measured) text += "computing takes as long as measured\n";
  if (!result.roofline.empty()) text += roofline_text(result.roofline) + "\n";
  text = folded_to_screen(text + host_text(result) + slowed_text(result) + path_text(result));
  if (!result.jobs.empty()) text += jobs_text(result);
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  return text + "\n" + slowest_ranks_text(result, lines) +
         "--details: all parts, ranks, links; --critical-path, orrery explain: what helps\n";
}

std::string details_text(const Result& result) {
  const std::size_t ranks = result.class_of_rank.size();
  const double whole = seconds(result.finish);
  const std::vector<Part> parts = mean_parts(result);
  std::string text =
      fmt::format("{}   ({} on {} {}, {} network, granularity {}{})\n", time_text(result), counted(ranks, "rank"),
                  counted(result.devices, "device"), printable(result.device), result.network_model, result.granularity,
                  result.library.empty() ? "" : ", " + result.library);
  text += folded_to_screen(sureness_text(result, true));
  text += packed_text(result);
  if (result.iterations > 1)
    text += fmt::format("mean of {} iterations; the times below are of all of them\n", result.iterations);
  if (result.initial > Duration::zero())
    text += fmt::format("before the first: {} to broadcast the parameters, which the times below include\n",
                        rounded(result.initial));
  if (!result.jobs.empty()) text += jobs_text(result);
  text += loading_text(result);
  if (result.training) text += training_text(*result.training, result.devices);
  std::vector<std::string> facts;
  if (!result.path.empty()) facts.push_back("bound by " + bound_text(figure_values(figure_source(result))));
  if (result.busiest_link)
    facts.push_back(fmt::format("busiest link {} (busy {} of the time)", result.busiest_link->name,
                                percent(result.busiest_link->busy)));
  if (result.computes_as_measured) facts.emplace_back("computing takes as long as measured");
  if (!facts.empty()) text += fmt::format("{}\n", fmt::join(facts, "; "));
  if (!result.roofline.empty()) text += roofline_text(result.roofline) + "\n";
  text += host_text(result) + slowed_text(result) + path_text(result) + folded_to_screen(simulated_text(result));
  text += fmt::format("\n{}\n{}", parts_text(parts, whole), ranks_text(result));
  if (result.training && !result.training->kernels.empty()) text += kernels_text(*result.training);
  if (!result.links.empty()) text += fmt::format("\n{}", links_text(result.links));
  return text;
}

}  // namespace orrery::report
