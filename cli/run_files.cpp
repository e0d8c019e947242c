// SPDX-License-Identifier: MIT
#include "cli/run_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/session.h"
#include "core/config/quantity_text.h"
#include "core/files/output_file.h"
#include "report/operations/rank_csv.h"

namespace orrery::cli {
namespace {

// The files of --out: all of them are there afterwards, or none.
class OutFolder {
 public:
  OutFolder(const std::string& folder, const RunOptions& options, const experiment::Run& run,
            const report::RankChoice& choice)
      : folder_(folder), options_(options), ranks_(report::chosen_ranks(choice, run.result.class_of_rank)) {
    const std::size_t all = run.result.class_of_rank.size();
    if (choice.kind == report::RankChoice::Kind::kClasses && ranks_.size() < all)
      spdlog::warn(
          "{}: the tables hold {} of {} ranks, one of each class; --ranks all or --ranks 0-7 writes others, "
          "'breakdown' in result.json says who is of which class",
          printable(folder, 300), ranks_.size(), all);
  }

  void add_text(std::string_view name, const std::string& text) {
    files_.add(path_of(name), [&](OutputFile& file) { file.write(text); });
  }

  void add_table(std::string_view name, const report::RankCsv& table) {
    const std::string path = path_of(table_file(options_, name));
    const Bytes size = report::estimated_size(table, ranks_);
    spdlog::warn("{}: about {}{} for {}", printable(path, 300), rounded(size),
                 options_.gzip ? " before compression" : "", counted(ranks_.size(), "rank"));
    Progress progress;
    std::uint64_t done = 0;
    files_.add(path, [&](OutputFile& file) {
      write_csv(table, ranks_, [&](std::string_view text) {
        file.write(text);
        done += text.size();
        const auto whole = std::max<std::uint64_t>(static_cast<std::uint64_t>(size.count()), done);
        progress(fmt::format("writing {}", name), done, whole);
      });
    });
  }

  void commit() {
    files_.commit(folder_ + "/result.json");
    for (const std::string& path : written_) tell_written(path, std::filesystem::file_size(path));
  }

 private:
  std::string path_of(std::string_view name) { return written_.emplace_back(fmt::format("{}/{}", folder_, name)); }

  const std::string& folder_;
  const RunOptions& options_;
  std::vector<report::ChosenRank> ranks_;
  OutputFiles files_;
  std::vector<std::string> written_;
};

}  // namespace

report::TimelineSource timeline_source(const experiment::Run& run) {
  return {run.job, run.training, run.log, run.acting, run.result, &run.machine};
}

std::string table_file(const RunOptions& options, std::string_view name) {
  return fmt::format("{}.csv{}", name, options.gzip ? ".gz" : "");
}

void check_files(const RunOptions& options, const Outputs& outputs) {
  for (const auto& [option, file] :
       {std::pair("--timeline", options.timeline), {"--schedule-svg", options.schedule_svg}}) {
    check_file(option, file);
    refuse_same_file({option, file}, {"--html", outputs.html});
    refuse_same_file({"--json", outputs.json}, {option, file});
    if (outputs.out.empty()) continue;
    for (const std::string& name : {std::string("result.json"), std::string("summary.txt"),
                                    table_file(options, "operations"), table_file(options, "memory")})
      refuse_same_file({option, file}, {"--out", outputs.out + "/" + name});
  }
  refuse_same_file({"--timeline", options.timeline}, {"--schedule-svg", options.schedule_svg});
}

void write_folder(const std::string& folder, const RunOptions& options, const experiment::Run& run,
                  const report::RankChoice& ranks, const Answer& answer) {
  OutFolder out(folder, options, run, ranks);
  out.add_text("result.json", json_text(answer.document));
  out.add_text(answer.text_name, answer.text);
  const report::TimelineSource source = timeline_source(run);
  out.add_table("operations", report::operations_csv(source));
  if (run.training) out.add_table("memory", report::memory_csv(run.job, *run.training, run.log, run.acting));
  out.commit();
}

void check_schedule(const RunOptions& options, const experiment::Experiment& read) {
  const char* option = !options.schedule_svg.empty() ? "--schedule-svg" : options.schedule ? "--schedule" : nullptr;
  if (option == nullptr) return;
  if (read.jobs.size() > 1)
    throw InputError(
        {option},
        fmt::format("draws the schedule of one job, and {} has {}", printable(options.experiment), read.jobs.size()),
        "run an experiment with that job alone, or --timeline FILE for all of them");
  if (!read.jobs.front().workload.training)
    throw InputError(
        {option},
        fmt::format("draws passes of micro-batches, of which a job from `workload.model` tells; that of {} "
                    "is none",
                    printable(options.experiment)),
        "--timeline FILE draws what the ranks of any job do");
}

}  // namespace orrery::cli
