// SPDX-License-Identifier: MIT
#include "cli/extras.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/output.h"
#include "cli/run_files.h"
#include "cli/study/drawings.h"
#include "cli/study/points.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/files/output_file.h"
#include "report/page/page.h"
#include "report/passes/passes.h"
#include "report/passes/schedule_drawing.h"
#include "report/timeline/timeline.h"
#include "study/compare/compare.h"
#include "study/seeds/seeds.h"

namespace orrery::cli {
namespace {

std::optional<report::Passes> passes_of_run(const experiment::Run& run) {
  return report::collect_passes(timeline_source(run));
}

class StudyExtras final : public Extras {
 public:
  int run_seeds(const SeedsRequest& request, const Session& session) const override;
  experiment::WrittenLaunch launcher_arguments(experiment::Launcher launcher,
                                               const experiment::Experiment& experiment) const override {
    return experiment::launcher_arguments(launcher, experiment);
  }
  std::string unsaid_text(const experiment::WrittenLaunch& launch) const override {
    return experiment::unsaid_text(launch);
  }
  report::PictureLook look_of_width(const std::string& width) const override { return cli::look_of_width(width); }
  void write_comparison(const PictureOptions& options, const std::vector<study::NamedResult>& runs) const override {
    write_pictures(options, study::comparison_picture(runs));
  }
  void write_timeline(const RunOptions& options, const experiment::Run& run,
                      const report::RankChoice& choice) const override;
  std::string schedule_of_run(const experiment::Run& run) const override {
    const std::optional<report::Passes> passes = passes_of_run(run);
    return passes ? "\n" + report::schedule_text(*passes) : "\nschedule: no pass takes any time\n";
  }
  void write_schedule(const RunOptions& options, const experiment::Run& run) const override;
  Page page_of_run(const RunOptions& options, const experiment::Run& run) const override {
    return {fmt::format("orrery run {}", options.experiment), report::run_page(timeline_source(run), run.path)};
  }
  std::string page_text(const Page& page) const override { return report::page_text(page.title, page.data); }
};

int StudyExtras::run_seeds(const SeedsRequest& request, const Session& session) const {
  check_points(request.points, request.experiment, session);
  session.outputs.check({}, FolderUse::kShared);
  RunningPoints running(request.points, session);
  study::SeedDistribution distribution;
  const auto study = [&] {
    distribution = study::simulate_seeds(
        {request.experiment, request.settings, session.allow_oom, request.fast_forward, request.count},
        running.points(), session.files);
  };
  if (const std::optional<int> code = running.run(study)) return *code;
  print_warnings(distribution.warnings);
  session.outputs.give({study::seeds_text(distribution), study::seeds_json(distribution)});
  return kDone;
}

void StudyExtras::write_timeline(const RunOptions& options, const experiment::Run& run,
                                 const report::RankChoice& choice) const {
  const std::vector<report::ChosenRank> ranks = report::chosen_ranks(choice, run.result.class_of_rank);
  if (ranks.size() > report::kMostTimelineRanks)
    spdlog::warn("{}: shows the first {} of {} ranks; --timeline-ranks 0-7,16 shows others",
                 printable(options.timeline, 300), report::kMostTimelineRanks, ranks.size());
  const report::TimelineSource source = timeline_source(run);
  OutputFile file(options.timeline);
  const report::TimelineSize size =
      report::write_timeline(source, ranks, run.link_rates, [&](std::string_view text) { file.write(text); });
  file.close();
  if (replaceable_file(options.timeline)) tell_written(options.timeline, file.size());
  if (size.merged > Duration::zero())
    spdlog::warn(
        "{}: operations of less than {} are put together where they follow one another; --timeline-ranks 0 "
        "shows one rank in full",
        printable(options.timeline, 300), rounded(size.merged));
}

void StudyExtras::write_schedule(const RunOptions& options, const experiment::Run& run) const {
  const std::optional<report::Passes> passes = passes_of_run(run);
  if (!passes) throw InputError({"--schedule-svg"}, "nothing to draw: no pass of the job takes any time");
  const std::string picture = report::schedule_svg(*passes, look_of_width(options.width));
  OutputFile file(options.schedule_svg);
  file.write(picture);
  file.close();
  if (replaceable_file(options.schedule_svg)) tell_written(options.schedule_svg, file.size());
}

}  // namespace

const Extras& extras() {
  static const StudyExtras study;
  return study;
}

}  // namespace orrery::cli
