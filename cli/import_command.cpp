#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/written_job.h"
#include "workload/import/format.h"
#include "workload/import/goal/goal.h"
#include "workload/import/kineto/kineto.h"
#include "workload/import/layers/astra_text.h"
#include "workload/import/layers/simai.h"

namespace orrery::cli {
namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const WorkloadFormat format : kAllWorkloadFormats) names.emplace_back(name_of(format));
  return names;
}

std::string beginning_of(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw InputError({file}, "is a folder", "name the files in it, for example " + file + "/*.json");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw InputError({file}, "cannot be read: " + std::generic_category().message(errno), "check the path");
  std::string text(4096, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.empty()) throw InputError({file}, "is empty", "a workload of another simulator or a profile is expected");
  return text;
}

WorkloadFormat format_of(const ImportOptions& options) {
  const std::string& file = options.files.front();
  const std::string beginning = beginning_of(file);
  if (!options.format.empty()) return *workload_format_named(options.format);
  const std::optional<WorkloadFormat> format = workload_format_of(beginning);
  if (!format)
    throw InputError({file}, "not a workload of a known format",
                     fmt::format("give --format, one of {}", fmt::join(format_names(), ", ")));
  return *format;
}

std::optional<std::uint32_t> given(std::uint32_t value) {
  return value == 0 ? std::nullopt : std::optional<std::uint32_t>(value);
}

Job import_job(const ImportOptions& options, WorkloadFormat format, Diagnostics& diagnostics) {
  const std::string& file = options.files.front();
  switch (format) {
    case WorkloadFormat::kAstraText:
      return import_astra_text(file, {given(options.ranks), given(options.model_parallel), options.iterations},
                               diagnostics);
    case WorkloadFormat::kSimai:
      return import_simai(file, {given(options.ranks), options.iterations, !options.no_pipeline}, diagnostics);
    case WorkloadFormat::kGoal:
      return import_goal(file, diagnostics);
    case WorkloadFormat::kKineto:
      break;
  }
  return import_kineto(options.files, diagnostics, {options.replicate});
}

// An option that the format has no use for would go unnoticed.
void refuse_idle_options(const ImportOptions& options, WorkloadFormat format) {
  const bool text = format == WorkloadFormat::kAstraText || format == WorkloadFormat::kSimai;
  const auto refuse = [&](bool idle, const char* what) {
    if (idle)
      throw InputError({options.files.front()}, fmt::format("{} has no meaning for {}", what, name_of(format)),
                       "leave it out");
  };
  refuse(options.ranks > 0 && !text, "--ranks");
  refuse(options.model_parallel > 0 && format != WorkloadFormat::kAstraText, "--model-parallel");
  refuse(options.iterations > 1 && !text, "--iterations");
  refuse(options.no_pipeline && format != WorkloadFormat::kSimai, "--no-pipeline");
  refuse(options.replicate && format != WorkloadFormat::kKineto, "--replicate");
  refuse(options.files.size() > 1 && format != WorkloadFormat::kKineto, "more than one file");
}

void import(const ImportOptions& options) {
  const WorkloadFormat format = format_of(options);
  refuse_idle_options(options, format);
  Diagnostics diagnostics;
  const Job job = import_job(options, format, diagnostics);
  print_warnings(diagnostics.problems());
  write_and_tell(job, options.out);
}

}  // namespace

void add_import_command(CLI::App& workload, Session& session) {
  ImportOptions& options = session.import;
  CLI::App* command = workload.add_subcommand(
      "import",
      "Write a workload of another format as Chakra traces: ASTRA-sim 1.0 and SimAI text, GOAL, PyTorch profiles");
  command->add_option("files", options.files, "The workload; of PyTorch profiles (Kineto) one file per rank")
      ->required();
  command->add_option("-o,--out", options.out, "Folder for rank.<r>.et and groups.json")->required();
  command->add_option("--format", options.format, "astra-text | simai | goal | kineto; without it the file tells")
      ->check(CLI::IsMember(format_names()));
  const CLI::Range count(std::uint32_t{1}, std::uint32_t{1} << 20);
  command->add_option("--ranks", options.ranks, "How many ranks, where the file does not say (astra-text, old simai)")
      ->check(count);
  command
      ->add_option("--model-parallel", options.model_parallel, "Ranks of a model-parallel group (astra-text hybrids)")
      ->check(count);
  command->add_option("--iterations", options.iterations, "Training steps (astra-text, simai)")->check(count);
  command->add_flag("--no-pipeline", options.no_pipeline,
                    "Pipeline stages send each other nothing, as in SimAI itself");
  command->add_flag("--replicate", options.replicate, "One profile stands for all ranks of its world (kineto)");
  command->callback([&session] { import(session.import); });
}

}  // namespace orrery::cli
