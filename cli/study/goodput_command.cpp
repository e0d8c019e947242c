// SPDX-License-Identifier: MIT
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/session.h"
#include "cli/study/drawings.h"
#include "cli/study/points.h"
#include "core/files/input_files.h"
#include "experiment/files/file_kinds.h"
#include "experiment/recorded_run.h"
#include "study/goodput/study.h"

namespace orrery::cli {
namespace {

struct GoodputOptions {
  std::string experiment;
  std::vector<std::string> reliability;  // settings
  PointOptions points;
  PictureOptions pictures;
};

int goodput(const GoodputOptions& options, const Session& session) {
  check_points(options.points, options.experiment, session);
  if (!experiment::is_result(options.experiment, session.files))
    experiment::refuse_other_kinds(options.experiment, session.files);
  note_input(options.experiment);
  session.outputs.check({}, FolderUse::kShared);
  check_pictures(options.pictures, session.outputs);
  study::GoodputRequest request{options.experiment, session.settings, session.allow_oom};
  request.settings.insert(request.settings.end(), options.reliability.begin(), options.reliability.end());
  RunningPoints running(options.points, session);
  study::Goodput answer;
  const auto study = [&] { answer = study::find_goodput(request, running.points(), session.files); };
  if (const std::optional<int> code = running.run(study)) return *code;
  print_warnings(answer.warnings);
  if (options.pictures.wanted()) write_pictures(options.pictures, study::goodput_picture(answer));
  session.outputs.give({study::goodput_text(answer), study::goodput_json(answer)});
  return kDone;
}

}  // namespace

void add_goodput_command(CLI::App& app, Session& session) {
  GoodputOptions& options = session.keep<GoodputOptions>();
  CLI::App& command = add_command(
      app, "goodput",
      {"orrery goodput job.yaml --mtbf '50000 h' --restart '10 min' --checkpoint-time '30 s'",
       "orrery goodput job.yaml --mtbf '3 h' --per job --restart '10 min' --checkpoint-time '1 min' --interval '1 h'"});
  add_file(command, session, "experiment", options.experiment, "Experiment (YAML or JSON) or a result.json").required();
  add_experiment_options(command, session);
  const auto add = [&](const char* option, const char* key, const char* type, const char* about) {
    command
        .add_option_function<std::string>(
            option,
            [&options, key](const std::string& value) {
              options.reliability.push_back(fmt::format("reliability.{}={}", key, value));
            },
            about)
        ->type_name(type);
  };
  add("--mtbf", "mtbf", "TIME", "Mean time between failures of a device, or as --per says: '50000 h', '5 years'");
  add("--per", "per", "UNIT", "What --mtbf is of: device (default), node or job");
  add("--restart", "restart", "TIME", "Time from a failure until the job computes again: '10 min'");
  add("--checkpoint-time", "checkpoint.time", "TIME", "How long writing a checkpoint stops the job: '30 s'");
  add("--checkpoint-bandwidth", "checkpoint.bandwidth", "RATE",
      "In its place: bandwidth at which all ranks together write it: '100 GB/s'");
  add("--interval", "checkpoint.interval", "TIME", "Work between two checkpoints (default: the best interval)");
  add_pictures(command, options.pictures, "goodput over the interval");
  add_points(command, options.points, "iterations", {"--svg", "--vega", "--width"});
  add_outputs(command, session);
  command.callback([&] { session.exit_code = goodput(options, session); });
}

}  // namespace orrery::cli
