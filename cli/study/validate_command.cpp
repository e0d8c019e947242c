// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/study/points.h"
#include "core/error.h"
#include "core/files/input_files.h"
#include "core/version.h"
#include "study/validate/collectives/validate.h"
#include "study/validate/compute/table.h"
#include "study/validate/kinds.h"
#include "study/validate/traces/traces.h"

namespace orrery::cli {
namespace {

struct ValidateOptions {
  std::vector<std::string> sections;  // none: all
  bool cross = false;
  bool details = false;
  study::ComputeQuestion compute_table{};    // no file: the shipped tables
  std::vector<std::string> training_tables;  // files; none: the shipped tables
  std::string plot;
  std::string page;
  std::string errors;  // file that gets those of families left out
  std::string traces;  // folder of the recorded traces; empty: not given
  PointOptions points;
};

using Sections = std::vector<study::AccuracySection>;

bool wants(const ValidateOptions& options, std::string_view section) {
  if (!options.training_tables.empty()) return section == "training";
  if (!options.compute_table.file.empty()) return section == "compute";
  return options.sections.empty() || std::ranges::find(options.sections, section) != options.sections.end();
}

void check_options(const ValidateOptions& options) {
  const auto asks_for_another = [&] {
    return std::ranges::any_of(options.sections, [](const std::string& section) { return section != "training"; });
  };
  if (!options.training_tables.empty() && (asks_for_another() || !options.compute_table.file.empty()))
    throw InputError({"--training-table"}, "has training jobs only, and another section was asked for",
                     "leave the others out");
  const study::ComputeQuestion& own = options.compute_table;
  if (own.file.empty() && !own.device.empty())
    throw InputError({"--device"}, "is the device of a table of operators, but there is none",
                     "name it: --compute-table FILE.csv");
  if (own.device.empty() && !own.software.empty())
    throw InputError({"--software"}, "is the software on a device, but there is none", "name it: --device");
  if (!own.file.empty() && std::ranges::find(options.sections, "nccl") != options.sections.end())
    throw InputError({"--compute-table"}, "has no collectives, which 'nccl' asks for", "leave out 'nccl'");
  if (!own.file.empty() && std::ranges::find(options.sections, "training") != options.sections.end())
    throw InputError({"--compute-table"}, "has no jobs, which 'training' asks for", "leave out 'training'");
  if (options.details && !wants(options, "training"))
    throw InputError({"--details"}, "is of the section 'training', which was not asked for");
  if (options.cross && wants(options, "traces") && options.sections.size() == 1)
    throw InputError({"--cross"}, "fits constants again, of which replays of traces have none",
                     "ask for nccl, compute, experts or training");
  const bool names_traces = std::ranges::find(options.sections, "traces") != options.sections.end();
  if (names_traces && options.traces.empty())
    throw InputError({"traces"}, fmt::format("needs the folder of the recordings: {}", study::kNoRecordings),
                     "--traces-from DIR");
  if (!options.traces.empty() && !wants(options, "traces"))
    throw InputError({"--traces-from"}, "is of the section 'traces', which was not asked for");
  if (!options.errors.empty() && (!options.cross || wants(options, "nccl") == wants(options, "training")))
    throw InputError({"--errors"},
                     "gets the errors of training jobs whose family, or of collectives whose system was left out",
                     "add --cross, and name one of the sections training and nccl");
  if (!options.traces.empty() && !std::filesystem::is_directory(options.traces))
    throw InputError({options.traces}, "is not a folder, which --traces-from asks for");
  if (!options.plot.empty() && !wants(options, "nccl"))
    throw InputError({"--plot"}, "is of the section 'nccl', which was not asked for");
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const study::ValidationKind& kind : study::validation_kinds()) names.emplace_back(kind.name);
  return names;
}

std::vector<std::string> plot_files(const std::vector<study::ValidationTable>& tables) {
  std::vector<std::string> files;
  for (const study::ValidationTable& table : tables)
    if (table.scored) files.push_back(study::plot_file_name(table));
  return files;
}

study::ValidationRequest request_of(const ValidateOptions& options, const Session& session, study::Points& points) {
  study::ValidationRequest request{session.files, options.cross, options.details, !options.plot.empty()};
  request.own_tables = options.training_tables;
  if (const study::ComputeQuestion& own = options.compute_table; !own.file.empty()) {
    request.own_tables = {own.file};
    request.device = own.device;
    request.software = own.software;
  }
  request.recordings = options.traces;
  request.points = &points;
  return request;
}

// Adds what a kind says to what is printed and written.
void add(Answer& all, const study::ValidationKind& kind, study::Validated validated) {
  all.text += (all.text.empty() ? "" : "\n") + validated.text;
  if (kind.key.empty())
    all.document.update(validated.document);
  else if (!validated.document.is_null())
    all.document[std::string(kind.key)] = std::move(validated.document);
}

// The page, and its pictures in the folder beside it.
void write_page(const std::string& page, const Sections& sections) {
  const std::filesystem::path pictures = std::filesystem::path(page).parent_path() / "pictures";
  std::vector<std::string> files;
  for (const study::AccuracySection& section : sections) files.push_back(study::picture_name(section));
  make_folder(pictures.string(), files);
  for (const study::AccuracySection& section : sections)
    write_file((pictures / study::picture_name(section)).string(), study::accuracy_picture(section));
  write_file(page, study::accuracy_page(sections, "pictures"));
}

// Answers of all kinds that are wanted. A kind that lacks points of other parts does not keep this part from the next.
std::vector<std::pair<const study::ValidationKind*, study::Validated>> validate_kinds(const ValidateOptions& options,
                                                                                      study::Points& points,
                                                                                      const Session& session) {
  std::vector<std::pair<const study::ValidationKind*, study::Validated>> found;
  bool is_missing = false;
  for (const study::ValidationKind& kind : study::validation_kinds()) {
    if (!wants(options, kind.name)) continue;
    try {
      found.emplace_back(&kind, kind.validate(request_of(options, session, points)));
    } catch (const study::PointsMissing&) {
      is_missing = true;
    }
  }
  if (is_missing) throw study::PointsMissing();
  return found;
}

int validate(const ValidateOptions& options, const Session& session) {
  check_options(options);
  check_points(options.points, {}, session);
  for (const std::string& table : options.training_tables) note_input(table);
  note_input(options.compute_table.file);
  session.outputs.check({}, FolderUse::kShared);
  check_file("--page", options.page);
  check_file("--errors", options.errors);
  refuse_same_file({"--json", session.outputs.json}, {"--page", options.page});
  refuse_same_file({"--html", session.outputs.html}, {"--page", options.page});
  refuse_same_file({"--html", session.outputs.html}, {"--errors", options.errors});
  refuse_same_file({"--errors", options.errors}, {"--page", options.page});
  refuse_same_file({"--json", session.outputs.json}, {"--errors", options.errors});
  Answer answer{{}, {{"schema", "orrery.validation/1"}, {"version", kVersion}}};
  Sections sections;
  if (!options.plot.empty())
    make_folder(options.plot, plot_files(study::list_tables<study::ValidationTable>(session.files)));
  RunningPoints running(options.points, session);
  std::vector<std::pair<const study::ValidationKind*, study::Validated>> found;
  const auto study = [&] { found = validate_kinds(options, running.points(), session); };
  if (const std::optional<int> code = running.run(study)) return *code;
  for (auto& [kind, validated] : found) {
    for (const auto& [file, picture] : validated.pictures) write_file(options.plot + "/" + file, picture);
    if (!options.errors.empty() && !validated.errors_csv.empty()) write_file(options.errors, validated.errors_csv);
    if (validated.accuracy) sections.push_back(std::move(*validated.accuracy));
    add(answer, *kind, std::move(validated));
  }
  if (!options.page.empty()) write_page(options.page, sections);
  if (session.outputs.wants_page()) answer.page = page_of("orrery validate", "validation", answer.document);
  session.outputs.give(answer);
  return kDone;
}

}  // namespace

void add_validate_command(CLI::App& app, Session& session) {
  ValidateOptions& options = session.keep<ValidateOptions>();
  study::ComputeQuestion& own = options.compute_table;
  CLI::App& command = add_command(
      app, "validate",
      {"orrery validate nccl", "orrery validate training --details", "orrery validate --compute-table mine.csv"});
  command
      .add_option("sections", options.sections,
                  "nccl (collectives), compute (kernels), experts, training (jobs), traces (default: all)")
      ->check(one_of("sections", section_names()));
  command.add_flag(
      "--cross", options.cross,
      "Also predict each system, or family of jobs, from a fit to the others, and kernels by another generation");
  command.add_flag("--details", options.details, "Also print each training job and its assumptions");
  command.add_option("--plot", options.plot, "Draw each scored nccl table as TABLE.svg in this folder")
      ->type_name("DIR");
  command
      .add_option("--page", options.page,
                  "Write all errors as one page (Markdown) with pictures, in the folder 'pictures' beside it")
      ->type_name("FILE");
  command
      .add_option("--errors", options.errors,
                  "Write the errors of what --cross left out as CSV: see configs/validation/training-errors.csv")
      ->type_name("FILE");
  command
      .add_option("--traces-from", options.traces, "Folder of the recorded traces, which the section 'traces' needs")
      ->type_name("DIR");
  add_file(command, session, "--compute-table", own.file,
           "Use this CSV of operators, with columns as in configs/validation/compute/layers-a100.csv");
  command.add_option("--device", own.device, "Device of --compute-table (default: its column gpu)")->type_name("NAME");
  command
      .add_option("--software", own.software,
                  "Software of --compute-table, from `orrery list software` (default: micro-benchmarks)")
      ->type_name("NAME");
  add_files(command, session, "--training-table", options.training_tables,
            "Use this table of jobs, as in configs/validation/training (repeatable)")
      .expected(1)
      ->take_all();
  add_points(command, options.points, "rows", {"--plot", "--page", "--errors"});
  add_outputs(command, session);
  add_html(command, session, "predicted against measured as a page");
  command.callback([&] { session.exit_code = validate(options, session); });
}

}  // namespace orrery::cli
