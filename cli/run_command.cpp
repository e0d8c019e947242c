#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/commit.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "core/config/quantity_text.h"
#include "core/input_files.h"
#include "core/output_file.h"
#include "core/version.h"
#include "experiment/recorded_run.h"
#include "experiment/run.h"
#include "report/fold_check.h"
#include "report/rank_csv.h"
#include "study/sweep/file.h"
#include "study/validate/collectives/table.h"
#include "study/validate/compute/table.h"
#include "study/validate/training/table.h"

namespace orrery::cli {
namespace {

RunProgress run_progress(Progress& progress) {
  return [&](std::string_view what, std::uint64_t done, std::uint64_t total) { progress.show(what, done, total); };
}

// Runs it again with every rank by itself. False, with the first difference on stderr, if the two are not the same.
bool verify_fold(const Run& folded, RunRequest request, const Session& session) {
  if (!folded.result.folded) {
    spdlog::warn("verify-fold: nothing to verify ({})", folded.result.folding);
    return true;
  }
  request.settings.emplace_back("fold=off");
  request.fast_forward = false;
  Progress progress;
  const Run unfolded = run_experiment(request, session.files, run_progress(progress));
  progress.clear();
  const auto difference = first_difference({folded.log, folded.acting}, {unfolded.log, unfolded.acting});
  if (difference) {
    spdlog::error("folded and unfolded differ: {}", to_text(*difference, folded.job));
    return false;
  }
  spdlog::warn("verify-fold: no operation of {} ranks differs by a picosecond ({})", folded.result.class_of_rank.size(),
               folded.result.folding);
  return true;
}

// With `fold: off` there would be nothing to verify.
void refuse_contradiction(const Run& run, const RunOptions& options) {
  const ConfigEntry* fold = run.result.experiment.find("fold");
  if (options.verify_fold && fold != nullptr && fold->value.scalar == "off")
    throw InputError({options.experiment}, "'fold: off' and --verify-fold contradict each other",
                     "leave one of them out, or add --set fold=auto");
}

void refuse_table(const std::string& file, std::string_view kind, std::string_view section) {
  throw InputError({file}, fmt::format("this is a table of {}, not an experiment", kind),
                   fmt::format("orrery check reads it; orrery validate {} scores the tables of configs/validation/{}",
                               section, section));
}

void refuse_other_kinds(const std::string& file, const ConfigFiles& files) {
  if (is_table<ComputeTable>(file, files)) refuse_table(file, "measured operators", "compute");
  if (is_table<TrainingTable>(file, files)) refuse_table(file, "measured training jobs", "training");
  if (is_table<ValidationTable>(file, files)) refuse_table(file, "measured collectives", "nccl");
  if (is_sweep(file, files))
    throw InputError({file}, "this is a sweep of experiments, not one experiment", "orrery sweep " + printable(file));
}

std::string table_file(const RunOptions& options, std::string_view name) {
  return fmt::format("{}/{}.csv{}", options.out, name, options.gzip ? ".gz" : "");
}

// The files of --out: all of them are there afterwards, or none.
class OutFolder {
 public:
  OutFolder(const RunOptions& options, const Run& run, const RankChoice& choice)
      : options_(options), ranks_(chosen_ranks(choice, run.result.class_of_rank)) {
    const std::size_t all = run.result.class_of_rank.size();
    if (choice.kind == RankChoice::Kind::kClasses && ranks_.size() < all)
      spdlog::warn(
          "{}: the tables hold {} of {} ranks, one of each class; --ranks all or --ranks 0-7 writes others, "
          "'breakdown' in result.json says who is of which class",
          printable(options.out, 300), ranks_.size(), all);
  }

  void add_text(std::string_view name, const std::string& text) {
    files_.add(fmt::format("{}/{}", options_.out, name), [&](OutputFile& file) { file.write(text); });
  }

  void add_table(std::string_view name, const RankCsv& table) {
    const std::string path = table_file(options_, name);
    const Bytes size = estimated_size(table, ranks_);
    spdlog::warn("{}: about {}{} for {}", printable(path, 300), rounded(size),
                 options_.gzip ? " before compression" : "", counted(ranks_.size(), "rank"));
    Progress progress;
    std::uint64_t done = 0;
    const auto write_to = [&](auto& file) {
      write_csv(table, ranks_, [&](std::string_view text) {
        file.write(text);
        done += text.size();
        const auto whole = std::max<std::uint64_t>(static_cast<std::uint64_t>(size.count()), done);
        progress.show(fmt::format("writing {}", name), done, whole);
      });
    };
    files_.add(path, [&](OutputFile& file) {
      if (!options_.gzip) return write_to(file);
      GzipWriter gzip(file);
      write_to(gzip);
      gzip.finish();
    });
  }

  void commit() { files_.commit(options_.out + "/result.json"); }

 private:
  const RunOptions& options_;
  std::vector<ChosenRank> ranks_;
  OutputFiles files_;
};

void write_folder(const RunOptions& options, const Run& run, const RankChoice& ranks,
                  const nlohmann::ordered_json& document, const std::string& summary) {
  OutFolder out(options, run, ranks);
  out.add_text("result.json", document.dump(2) + "\n");
  out.add_text("summary.txt", summary);
  out.add_table("operations", operations_csv(run.job, run.log, run.acting));
  if (run.training) out.add_table("memory", memory_csv(run.job, *run.training, run.log, run.acting));
  out.commit();
}

// Which options but --set the result depends on.
std::vector<std::string> noted_options(const RunOptions& options) {
  std::vector<std::string> noted;
  if (options.allow_oom) noted.emplace_back("--allow-oom");
  if (options.no_fast_forward) noted.emplace_back("--no-fast-forward");
  return noted;
}

// The recorded run's options hold again.
void take_over(const RecordedRun& recorded, RunOptions& options) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(recorded.source.options, name) != recorded.source.options.end();
  };
  options.allow_oom = options.allow_oom || has("--allow-oom");
  options.no_fast_forward = options.no_fast_forward || has("--no-fast-forward");
  if (recorded.version != kVersion || (!recorded.source.commit.empty() && recorded.source.commit != kCommit))
    spdlog::warn("{}: written by orrery {} (commit {}), run again by {} (commit {})", printable(options.experiment),
                 printable(recorded.version), printable(recorded.source.commit), kVersion, kCommit);
}

// Shipped files by the names that they have in any installation.
std::vector<InputFile> named_inputs(const ConfigFiles& files) {
  std::vector<InputFile> inputs = input_files();
  const std::string shipped = files.shipped().string() + "/";
  for (InputFile& input : inputs)
    if (input.path.starts_with(shipped)) input.path = "configs/" + input.path.substr(shipped.size());
  std::ranges::sort(inputs, {}, &InputFile::path);
  return inputs;
}

ResultSource source_of(const RunRequest& request, const RunOptions& options, const ConfigFiles& files,
                       Diagnostics& diagnostics) {
  std::error_code code;
  ResultSource source{options.experiment,
                      request.settings,
                      noted_options(options),
                      std::string(kCommit),
                      std::filesystem::current_path(code).string(),
                      {}};
  if (request.recorded != nullptr) return source_of(*request.recorded, source, diagnostics);
  source.inputs = named_inputs(files);
  return source;
}

void tell_groups(const Result& result) {
  const ConfigEntry* workload = result.experiment.find("workload");
  const ConfigEntry* chakra = workload == nullptr ? nullptr : workload->value.find("chakra");
  const ConfigEntry* groups = chakra == nullptr ? nullptr : chakra->value.find("groups");
  if (groups != nullptr) spdlog::info("communicator groups are those of {}", groups->value.scalar);
}

void run(RunOptions& options, Session& session) {
  const std::optional<RecordedRun> recorded = load_recorded_run(options.experiment);
  if (recorded)
    take_over(*recorded, options);
  else
    refuse_other_kinds(options.experiment, session.files);
  note_input(options.experiment, InputKind::kConfiguration);
  check_writable(options.json);
  const RankChoice ranks = parse_rank_choice(options.ranks);
  if (!options.out.empty()) {
    make_folder(options.out, std::array<std::string, 2>{"result.json", "summary.txt"});
    for (const std::string_view table : {"operations", "memory"}) check_writable(table_file(options, table));
  }
  RunRequest request{options.experiment,
                     options.settings,
                     !options.no_fast_forward,
                     options.allow_oom,
                     ranks,
                     recorded ? &*recorded : nullptr};
  if (options.no_fold) request.settings.emplace_back("fold=off");
  Progress progress;
  Run run = run_experiment(request, session.files, run_progress(progress));
  progress.clear();
  refuse_contradiction(run, options);
  print_warnings(run.result.warnings);
  tell_groups(run.result);
  spdlog::info("{} ranks with {} distinct graphs, {} messages, {} events, {:.3f} s", run.job.ranks.size(),
               run.job.graphs.size(), run.result.messages, run.result.events, run.result.wall_seconds);
  const std::string summary = summary_text(run.result);
  if (!options.json.empty() || !options.out.empty()) {
    Diagnostics diagnostics;
    run.result.source = source_of(request, options, session.files, diagnostics);
    print_warnings(diagnostics.problems());
    const nlohmann::ordered_json document = to_json(run.result, options.deterministic);
    if (!options.json.empty()) write_json(options.json, document);
    if (!options.out.empty()) write_folder(options, run, ranks, document, summary);
  }
  if (options.json != "-") write_text("-", summary);
  if (options.verify_fold && !verify_fold(run, request, session)) session.exit_code = kCheckFailed;
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  RunOptions& options = session.run;
  CLI::App* command =
      app.add_subcommand("run", "Simulate an experiment: iteration time, where the time goes, link loads");
  command->add_option("experiment", options.experiment, "Experiment file (YAML or JSON)")->required();
  command->add_option("--set", options.settings, "Change a key, for example --set nodes=4 (may be repeated)")
      ->expected(1)
      ->take_all();
  command->add_option("--json", options.json,
                      "Write the result as JSON to this file; '-' prints it instead of the summary");
  CLI::Option* out = command->add_option(
      "--out", options.out,
      "Write result.json, summary.txt and operations.csv (every operation of the --ranks) to this folder; of a "
      "training job also memory.csv (memory over time)");
  command
      ->add_option("--ranks", options.ranks,
                   "Ranks in the tables of --out: classes (the first rank of each class of ranks that behave alike, "
                   "the default), all, or a list such as 0-7,16")
      ->needs(out);
  command->add_flag("--gzip", options.gzip, "Write the tables of --out as operations.csv.gz and memory.csv.gz")
      ->needs(out);
  command->add_flag("--deterministic", options.deterministic, "Leave wall time and memory use out of the JSON");
  CLI::Option* no_fold =
      command->add_flag("--no-fold", options.no_fold, "Simulate every rank by itself (as fold: off)");
  command
      ->add_flag("--verify-fold", options.verify_fold,
                 "Simulate also with every rank by itself; exit 4 if any operation differs by a picosecond")
      ->excludes(no_fold);
  command->add_flag("--no-fast-forward", options.no_fast_forward,
                    "Simulate every message, also where its times follow from others; changes no result");
  command->add_flag("--allow-oom", options.allow_oom, "Simulate also what does not fit the devices' memory");
  command->callback([&session] { run(session.run, session); });
}

}  // namespace orrery::cli
