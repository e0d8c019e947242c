// SPDX-License-Identifier: MIT
// How a name or a file tells which launcher it is of. Apart from the readers of arguments, which `orrery` does not link.
#include <algorithm>
#include <initializer_list>

#include "experiment/launchers/launcher.h"

namespace orrery::experiment {

std::optional<Launcher> launcher_named(std::string_view name) {
  const auto found = std::ranges::find(kLauncherNames, name);
  if (found == kLauncherNames.end()) return std::nullopt;
  return static_cast<Launcher>(found - kLauncherNames.begin());
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

}  // namespace orrery::experiment
