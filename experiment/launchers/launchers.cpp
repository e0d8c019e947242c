// SPDX-License-Identifier: MIT
// The launchers that there are, how a file tells which it is of, and what an import has found, for people.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/assert.h"
#include "experiment/launchers/argument_table.h"

namespace orrery::experiment {
namespace {

constexpr std::array kFates = {ArgumentFate::kUsed, ArgumentFate::kIgnored, ArgumentFate::kNotSimulated,
                               ArgumentFate::kUnknown};

std::string argument_text(const LauncherArgument& argument) {
  return printable(
      argument.values.empty() ? argument.name : fmt::format("{} {}", argument.name, fmt::join(argument.values, " ")),
      70);
}

std::string settings_text(const KeySettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ",
                        key.starts_with("workload.") ? key.substr(std::string_view("workload.").size()) : key, value);
  return text;
}

std::string details_of(const ImportedLaunch& launch, ArgumentFate fate) {
  std::string text;
  for (const ReadArgument& read : launch.arguments) {
    if (read.fate != fate) continue;
    std::string why = fate == ArgumentFate::kUsed ? settings_text(read.settings) : read.reason;
    if (fate == ArgumentFate::kUsed && why.empty()) why = "with others";
    text += fmt::format("  {:<50} {}\n", argument_text(read.argument), printable(why, 200));
  }
  return text;
}

}  // namespace

const LauncherTable& table_of_launcher(Launcher launcher) {
  static const LauncherTable megatron = megatron_table();
  static const LauncherTable bridge = megatron_bridge_table();
  static const LauncherTable torchtitan = torchtitan_table();
  static const LauncherTable deepspeed = deepspeed_table();
  static const LauncherTable fsdp = fsdp_table();
  switch (launcher) {
    case Launcher::kMegatron:
      return megatron;
    case Launcher::kMegatronBridge:
      return bridge;
    case Launcher::kTorchtitan:
      return torchtitan;
    case Launcher::kDeepSpeed:
      return deepspeed;
    case Launcher::kFsdp:
      break;
  }
  return fsdp;
}

std::optional<Launcher> launcher_of(const std::string& file, std::string_view beginning) {
  const auto has = [&](std::string_view text) { return beginning.find(text) != std::string_view::npos; };
  const auto has_any = [&](std::initializer_list<std::string_view> texts) { return std::ranges::any_of(texts, has); };
  if (file.ends_with(".toml")) return Launcher::kTorchtitan;
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && (beginning[first] == '{' || beginning[first] == '[');
  const bool is_yaml = file.ends_with(".yaml") || file.ends_with(".yml");
  if (is_json || is_yaml) {
    if (has_any({"\"zero_optimization\"", "\"train_micro_batch_size_per_gpu\"", "distributed_type: DEEPSPEED"}))
      return Launcher::kDeepSpeed;
    if (has_any({"distributed_type: FSDP", "fsdp_config", "fsdp_sharding_strategy", "\"fsdp\"", "\"sharding_strategy\"",
                 "\"backward_prefetch\""}))
      return Launcher::kFsdp;
  }
  if (is_json || beginning.starts_with("\x1f\x8b")) return std::nullopt;  // a profile
  if (has_any({"MODEL_ARGS:", "language_model:", "num_layers:", "--num-layers", "--num-attention-heads"}) && is_yaml) {
    const bool is_bridge = has_any({"\nmodel:", "\ntrain:", "model.", "_target_:"}) && !has("MODEL_ARGS:");
    return is_bridge ? Launcher::kMegatronBridge : Launcher::kMegatron;
  }
  if (has_any({".tensor_model_parallel_size=", "megatron.bridge", "++model."})) return Launcher::kMegatronBridge;
  const bool is_script = beginning.starts_with("#!") || file.ends_with(".sh") || file.ends_with(".sbatch") ||
                         file.ends_with(".slurm") || file.ends_with(".bash");
  if (is_script || has_any({"pretrain_gpt", "torchrun", "--tensor-model-parallel-size"})) return Launcher::kMegatron;
  return std::nullopt;
}

std::string launch_text(const ImportedLaunch& launch, bool details) {
  std::string text =
      fmt::format("{} arguments of {}:", launch.arguments.size(), table_of_launcher(launch.launcher).title);
  for (const ArgumentFate fate : kFates)
    text += fmt::format("{} {} {}", fate == kFates.front() ? "" : ",", launch.count(fate), name_of(fate));
  text += fmt::format("; {} keys by its defaults\n", launch.defaults.size());
  for (const ArgumentFate fate : kFates) {
    const bool shows = details || fate == ArgumentFate::kNotSimulated || fate == ArgumentFate::kUnknown;
    if (shows && launch.count(fate) > 0) text += fmt::format("{}:\n{}", name_of(fate), details_of(launch, fate));
  }
  if (details && !launch.defaults.empty()) {
    text += "by default:\n";
    for (const auto& [key, value] : launch.defaults) text += fmt::format("  {:<50} {}\n", key, printable(value, 120));
  }
  return text;
}

}  // namespace orrery::experiment
