// SPDX-License-Identifier: MIT
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/session.h"
#include "cli/study/drawings.h"
#include "cli/study/points.h"
#include "core/files/input_files.h"
#include "experiment/files/file_kinds.h"
#include "experiment/recorded_run.h"
#include "study/explain/explain.h"

namespace orrery::cli {
namespace {

struct ExplainOptions {
  std::string experiment;
  PointOptions points;
  PictureOptions pictures;
};

int explain(const ExplainOptions& options, const Session& session) {
  check_points(options.points, options.experiment, session);
  if (!experiment::is_result(options.experiment, session.files))
    experiment::refuse_other_kinds(options.experiment, session.files);
  note_input(options.experiment);
  session.outputs.check({}, FolderUse::kShared);
  check_pictures(options.pictures, session.outputs);
  RunningPoints running(options.points, session);
  study::Explanation explanation;
  const auto study = [&] {
    explanation = study::explain(
        {options.experiment, session.settings, session.allow_oom, session.outputs.wants_document()}, running.points(),
        session.files);
  };
  if (const std::optional<int> code = running.run(study)) return *code;
  print_warnings(explanation.warnings);
  Answer answer{study::explanation_text(explanation), study::explanation_json(explanation)};
  if (session.outputs.wants_page())
    answer.page = page_of(fmt::format("orrery explain {}", options.experiment), "explanation", answer.document);
  if (options.pictures.wanted()) write_pictures(options.pictures, study::explanation_picture(explanation));
  session.outputs.give(answer);
  return kDone;
}

}  // namespace

void add_explain_command(CLI::App& app, Session& session) {
  ExplainOptions& options = session.keep<ExplainOptions>();
  CLI::App& command = add_command(
      app, "explain",
      {"orrery explain job.yaml", "orrery explain job.yaml --set cluster=hgx-a800 --json - | jq .resources[0]"});
  add_file(command, session, "experiment", options.experiment,
           "Experiment (YAML or JSON), a result.json, or a PyTorch profile to replay")
      .required();
  add_experiment_options(command, session);
  add_pictures(command, options.pictures, "what would make it faster");
  add_points(command, options.points, "variants", {"--svg", "--vega", "--width"});
  add_outputs(command, session, "summary.txt and result.json");
  add_html(command, session, "it as a page");
  command.callback([&] { session.exit_code = explain(options, session); });
}

}  // namespace orrery::cli
