// SPDX-License-Identifier: MIT
#include "study/launch/slurm.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/error.h"
#include "study/launch/process.h"

namespace orrery::study {
namespace {

constexpr const char* kFields = "%F|%K|%T|%r";

std::string without_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// Slurm begins its lines with the program's name, which stands there already.
std::string words_of(const std::string& program, const Process& process) {
  std::string words;
  std::string_view left = process.errors;
  while (!left.empty()) {
    std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    for (const std::string& known : {program + ": ", std::string("error: ")})
      if (line.starts_with(known)) line.remove_prefix(known.size());
    if (!line.empty()) words += fmt::format("{}{}", words.empty() ? "" : "; ", printable(line, 300));
  }
  return words.empty() ? fmt::format("ended with exit code {}", process.exit_code) : words;
}

std::string answer_of(std::vector<std::string> words, const std::string& hint = {}) {
  const Process process = run_process(words);
  if (process.exit_code != 0) throw InputError({words.front()}, words_of(words.front(), process), hint);
  return process.output;
}

// sbatch expands what follows a percent sign in the names of logs.
std::string as_pattern(const std::string& path) {
  std::string pattern;
  for (const char character : path) pattern += character == '%' ? "%%" : std::string(1, character);
  return pattern;
}

// "FAILED" of "... JobState=FAILED ...".
std::string value_of(std::string_view text, const std::string& key) {
  const std::size_t at = text.find(" " + key + "=");
  if (at == std::string_view::npos) return {};
  const std::string_view value = text.substr(at + key.size() + 2);
  return std::string(value.substr(0, value.find_first_of(" \n")));
}

}  // namespace

void check_slurm() {
  try {
    answer_of({"sbatch", "--version"});
  } catch (const InputError& error) {
    throw InputError({"--launcher"},
                     fmt::format("slurm needs Slurm's programs; sbatch {}", error.problems().front().message),
                     "run it on a machine that submits jobs, or leave --launcher out");
  }
}

std::string index_ranges(std::span<const std::size_t> indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? std::to_string(indices[i]) : fmt::format("{}-{}", indices[i], indices[last]);
    i = last + 1;
  }
  return text;
}

std::string submit(const SlurmArray& array, std::span<const std::size_t> tasks) {
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--requeue",
                                    "--open-mode=append",
                                    "--ntasks=1",
                                    fmt::format("--cpus-per-task={}", array.cores),
                                    "--job-name=" + array.name,
                                    fmt::format("--output={}/%A_%a.log", as_pattern(array.logs))};
  if (!array.partition.empty()) words.push_back("--partition=" + array.partition);
  if (!array.time_limit.empty()) words.push_back("--time=" + array.time_limit);
  words.insert(words.end(), array.arguments.begin(), array.arguments.end());
  words.push_back(fmt::format("--array={}{}", index_ranges(tasks),
                              array.at_a_time > 0 ? fmt::format("%{}", array.at_a_time) : std::string()));
  words.push_back(array.script);
  const std::string answer = without_end(answer_of(std::move(words),
                                                   "the partitions are what `sinfo` lists; Slurm's "
                                                   "MaxArraySize is the most --tasks"));
  return answer.substr(0, answer.find(';'));  // the cluster may follow
}

std::vector<SlurmTask> tasks_in(std::string_view lines) {
  std::vector<SlurmTask> tasks;
  while (!lines.empty()) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    std::array<std::string, 4> fields;
    for (std::string& field : fields) {
      const std::size_t end = &field == &fields.back() ? line.size() : std::min(line.find('|'), line.size());
      field = line.substr(0, end);
      line.remove_prefix(std::min(line.size(), end + 1));
    }
    if (const auto index = parse_whole_number(fields[1]); index && *index >= 0)
      tasks.push_back({fields[0], static_cast<std::size_t>(*index), fields[2], fields[3]});
  }
  return tasks;
}

std::vector<SlurmTask> tasks_of(const std::string& name) {
  return tasks_in(
      answer_of({"squeue", "--noheader", "--array", "--name=" + name, fmt::format("--format={}", kFields)}));
}

void cancel(const std::string& name) { answer_of({"scancel", "--name=" + name}); }

std::string end_of(const std::string& job, std::size_t index) {
  try {
    const std::string text =
        " " + answer_of({"scontrol", "show", "job", fmt::format("{}_{}", job, index), "--oneliner"});
    const std::string state = value_of(text, "JobState"), code = value_of(text, "ExitCode");
    if (state.empty()) return {};
    return code.empty() || code == "0:0" ? state : fmt::format("{}, exit code {}", state, code);
  } catch (const InputError&) {  // forgotten
    return {};
  }
}

std::string log_of(const SlurmArray& array, const std::string& job, std::size_t index) {
  return fmt::format("{}/{}_{}.log", array.logs, job, index);
}

}  // namespace orrery::study
