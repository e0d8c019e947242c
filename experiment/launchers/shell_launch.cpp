// SPDX-License-Identifier: MIT
// The command of a shell script that launches training, and its arguments.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "experiment/launchers/launch_files.h"
#include "experiment/launchers/shell_words.h"

namespace orrery::experiment {
namespace {

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_program(std::string_view text) { return text.ends_with(".py"); }

// "model.tensor_model_parallel_size=2", "+train.global_batch_size=8".
bool is_override(std::string_view text) {
  while (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view key = text.substr(0, text.find('='));
  return key.size() < text.size() && key.find('.') != std::string_view::npos && !key.starts_with('.') &&
         std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
}

bool is_argument(std::string_view text) {
  return (text.starts_with("--") && text.size() > 2 && std::isalpha(static_cast<unsigned char>(text[2])) != 0) ||
         is_override(text);
}

// True of a field that is one variable whose value is not known, and nothing else.
bool is_all_unknown(const ShellField& field) {
  return !field.unknown.empty() && field.text.size() == field.unknown.size() + 2;
}

bool is_environment(std::string_view name) {
  constexpr std::array<std::string_view, 12> kPrefixes = {"NCCL_", "NVTE_",    "CUDA_", "CUBLAS_",  "CUDNN_", "TORCH_",
                                                          "UCX_",  "PYTORCH_", "HF_",   "NVSHMEM_", "OMP_",   "GLOO_"};
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Words of a command from its program on, as one text.
std::string text_from(Fields::const_iterator program, Fields::const_iterator end) {
  std::string text;
  for (; program != end; ++program) text += program->text + " ";
  return text;
}

}  // namespace

// A command that may launch training: the one with most arguments behind a program does.
void LaunchCommand::consider(const Fields& fields, const ShellVariables& variables, int depth) {
  const auto program = std::ranges::find_if(fields, [](const ShellField& f) { return is_program(f.text); });
  const auto count = std::count_if(program, fields.end(), [](const ShellField& f) { return is_argument(f.text); });
  if (program != fields.end() && count > 0) {
    launches_[program->text].insert(text_from(program, fields.end()));
    if (count > best_count_) {
      best_ = fields;
      best_count_ = count;
      best_file_ = file_;
    }
  }
  if (depth > 3) return;
  for (const ShellField& field : fields) {  // bash -c "torchrun ... pretrain_gpt.py ..."
    if (field.text.find(".py") == std::string::npos || field.text.find(' ') == std::string::npos) continue;
    std::optional<int> open_quote;
    for (const ShellCommand& inner : shell_commands(plain_text(field.text), field.line, open_quote)) {
      Fields parts;
      for (const RawWord& word : inner.words) {
        Fields of_word = variables.expand(word);
        parts.insert(parts.end(), of_word.begin(), of_word.end());
      }
      consider(parts, variables, depth + 1);
    }
  }
}

void LaunchCommand::note_environment(const std::string& name, const RawWord& word, const ShellVariables& variables) {
  const ShellVariable* value = is_environment(name) ? variables.find(name) : nullptr;
  if (value == nullptr || value->values.empty()) return;
  std::erase_if(environment_, [&](const LauncherArgument& argument) { return argument.name == name; });
  environment_.push_back(
      {name, {plain_text(value->values.front().text)}, at(word.line), value->values.front().unknown});
}

void LaunchCommand::finish(const std::vector<std::string>& files) {
  if (best_.empty()) {
    diagnostics_.error({files.back()}, "no command in it launches a program with arguments",
                       "a line such as `torchrun ... pretrain_gpt.py --num-layers 32 ...`; give the script that has "
                       "it, behind those that set its variables");
    return;
  }
  file_ = best_file_;
  const auto program = std::ranges::find_if(best_, [](const ShellField& f) { return is_program(f.text); });
  if (const std::size_t others = launches_[program->text].size() - 1; others > 0)
    diagnostics_.warning(at(program->line),
                         fmt::format("'{}' is launched {} times, with other arguments each time: this one is taken, "
                                     "the first that has most",
                                     printable(program->text, 60), others + 1),
                         "--define NAME=VALUE for a variable that tells them apart");
  take_command(best_);
  for (const LauncherArgument& argument : environment_) launch_.arguments.push_back(argument);
}

void LaunchCommand::take_command(const Fields& fields) {
  if (constexpr std::size_t kMostWords = 10'000; fields.size() > kMostWords)
    return diagnostics_.error(at(fields.front().line),
                              fmt::format("the command has {} words, more than {}", fields.size(), kMostWords),
                              "a variable that grows over and over?");
  std::size_t program = 0;
  while (!is_program(fields[program].text)) ++program;
  const std::size_t slash = fields[program].text.rfind('/');
  launch_.program = slash == std::string::npos ? fields[program].text : fields[program].text.substr(slash + 1);
  launch_.where = at(fields[program].line);
  read_placement(fields, 0, program);
  for (std::size_t i = program + 1; i < fields.size();) i = take_argument(fields, i);
}

// Takes the argument at `first`; returns where the next one is.
std::size_t LaunchCommand::take_argument(const Fields& fields, std::size_t first) {
  const ShellField& field = fields[first];
  if (!is_argument(field.text)) {
    if (!field.unknown.empty())
      diagnostics_.warning(at(field.line),
                           fmt::format("what '{}' stands for is not known: arguments in it are left out",
                                       printable(plain_text(field.text), 80)),
                           "--define NAME='--argument ...'");
    return first + 1;
  }
  LauncherArgument argument{plain_text(field.text), {}, at(field.line), field.unknown};
  const std::string text = argument.name;
  if (const std::size_t equals = text.find('='); equals != std::string::npos) {
    argument.name = text.substr(0, equals);
    argument.values.push_back(text.substr(equals + 1));
  }
  std::size_t next = first + 1;
  if (is_override(field.text)) {
    while (argument.name.starts_with('+')) argument.name.erase(0, 1);
    launch_.arguments.push_back(std::move(argument));
    return next;
  }
  for (; next < fields.size() && !is_argument(fields[next].text); ++next) {
    const bool is_a_list_of_unknowns = !argument.values.empty() && is_all_unknown(fields[next]);
    if (is_a_list_of_unknowns) break;  // told as what may hold arguments
    argument.values.push_back(plain_text(fields[next].text));
    if (argument.unresolved.empty()) argument.unresolved = fields[next].unknown;
  }
  launch_.arguments.push_back(std::move(argument));
  return next;
}

void LaunchCommand::read_batch_lines(std::string_view text) {
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    start = end + 1;
    if (!line.starts_with("#SBATCH")) continue;
    std::optional<int> open_quote;
    Fields fields;
    for (const ShellCommand& command : shell_commands(line.substr(std::string_view("#SBATCH").size()), 1, open_quote))
      for (const RawWord& word : command.words) fields.push_back({word.text, word.line, {}});
    read_placement(fields, 0, fields.size());
  }
}

void LaunchCommand::read_placement(const Fields& fields, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    const std::string& text = fields[i].text;
    const std::size_t equals = text.find('=');
    std::string name = text.substr(0, equals);
    std::ranges::replace(name, '_', '-');
    const std::string value = equals != std::string::npos ? text.substr(equals + 1)
                              : i + 1 < last              ? fields[i + 1].text
                                                          : std::string();
    const std::optional<std::int64_t> number = number_in(value);
    if (!number || *number <= 0) continue;
    if (name == "--nnodes" || name == "--nodes" || name == "-N") launch_.nodes = *number;
    if (name == "--nproc-per-node" || name == "--ntasks-per-node" || name == "--gpus-per-node")
      launch_.devices_per_node = *number;
  }
}

}  // namespace orrery::experiment
