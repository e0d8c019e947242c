// SPDX-License-Identifier: MIT
// The tables of Megatron-LM and of Megatron-Bridge. Fields of Megatron-Bridge's configurations are Megatron's arguments
// by their last names, in sections.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/text.h"
#include "core/files/shell_word.h"
#include "experiment/experiment.h"
#include "experiment/launchers/argument_files.h"
#include "experiment/launchers/launch_files.h"
#include "experiment/launchers/megatron_rows.h"

namespace orrery::experiment {
namespace {

// Sections of configurations that say nothing of a step.
constexpr std::array<std::string_view, 17> kOtherSections = {"checkpoint.",
                                                             "checkpoint_config.",
                                                             "logger.",
                                                             "scheduler.",
                                                             "rng.",
                                                             "dist.",
                                                             "profiling.",
                                                             "ft.",
                                                             "straggler.",
                                                             "nvrx_straggler.",
                                                             "inprocess_restart.",
                                                             "rerun_state_machine.",
                                                             "tensor_inspection.",
                                                             "peft.",
                                                             "exp_manager.",
                                                             "trainer.logger",
                                                             "hydra."};

// "--num_layers", "num_layers" and "model.num_layers" are "--num-layers"; names of the environment stay.
std::string canonical(std::string_view name) {
  if (std::ranges::any_of(kOtherSections, [&](std::string_view section) { return name.starts_with(section); }))
    return std::string(name);
  const bool is_argument = name.starts_with("--");
  if (is_argument) name.remove_prefix(2);
  const bool is_environment =
      !is_argument && std::ranges::none_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '.'; });
  if (is_environment) return std::string(name);
  if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  if (name.starts_with('_')) return std::string(name);
  std::string text = "--" + std::string(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

LaunchFiles parse(const std::vector<std::string>& files, const LaunchOptions& options, Diagnostics& diagnostics) {
  LaunchFiles launch;
  launch.where = {files.front()};
  std::vector<std::string> scripts;
  for (const std::string& file : files)
    if (is_launch_yaml(file))
      read_launch_yaml(file, launch, diagnostics);
    else
      scripts.push_back(file);
  if (!scripts.empty()) read_scripts(scripts, options, launch, diagnostics);
  return launch;
}

// Programs of Megatron-LM that train something else than one transformer of tokens.
struct OtherProgram {
  std::string_view part;  // of the program's name
  std::string_view what;
};
constexpr std::array<OtherProgram, 6> kOtherPrograms = {{{"t5", "an encoder and a decoder (T5)"},
                                                         {"vlm", "images beside tokens"},
                                                         {"vision", "images"},
                                                         {"ict", "two encoders"},
                                                         {"retro", "retrieval (RETRO)"},
                                                         {"rl", "reinforcement learning"}}};

void check_program(LaunchReading& r) {
  const std::string& program = r.files().program;
  for (const OtherProgram& other : kOtherPrograms)
    if (program.find(fmt::format("_{}", other.part)) != std::string::npos)
      return r.error_at("--num-layers",
                        fmt::format("'{}' trains {}, which is not simulated", printable(program, 60), other.what),
                        "pretrain_gpt.py, pretrain_mamba.py and pretrain_bert.py are");
  if (r.given("--encoder-num-layers") || r.given("--decoder-seq-length"))
    return r.error_at(r.given("--encoder-num-layers") ? "--encoder-num-layers" : "--decoder-seq-length",
                      "an encoder and a decoder (T5) are not simulated", "give a decoder alone, or a model of one");
  const bool is_bert = program.find("bert") != std::string::npos || r.given("--bert-no-binary-head") ||
                       r.text_or("--tokenizer-type").starts_with("Bert");
  if (is_bert) r.set("workload.model.causal", false);
}

// Numbers that are multiplied with one another, or that are those of loops.
constexpr Range kMegatronDegree = {1, 65536};
constexpr std::array<ArgumentRange, 7> kMegatronRanges = {{{"--tensor-model-parallel-size", kMegatronDegree},
                                                           {"--pipeline-model-parallel-size", kMegatronDegree},
                                                           {"--context-parallel-size", kMegatronDegree},
                                                           {"--expert-model-parallel-size", kMegatronDegree},
                                                           {"--expert-tensor-parallel-size", kMegatronDegree},
                                                           {"--num-virtual-stages-per-pipeline-rank", kMegatronDegree},
                                                           {"--num-layers", {1, 100'000}}}};

void check_arguments(LaunchReading& r) {
  check_ranges(r, kMegatronRanges);
  check_program(r);
}

std::vector<ArgumentRow> all_rows() {
  std::vector<ArgumentRow> rows;
  for (const auto& part : {megatron_model_rows(), megatron_expert_rows(), megatron_parallel_rows(),
                           megatron_memory_rows(), megatron_software_rows()})
    rows.insert(rows.end(), part.begin(), part.end());
  rows.push_back({"--encoder-num-layers", "", ArgumentShape::kNumber, nullptr, nullptr});
  rows.push_back({"--decoder-seq-length", "", ArgumentShape::kNumber, nullptr, nullptr});
  return rows;
}

std::string program_of(const workload::TransformerSpec& model) {
  const bool has_mamba = std::ranges::any_of(
      model.kinds, [](const workload::LayerKind& kind) { return kind.mixer == workload::MixerKind::kMamba2; });
  return !model.causal ? "pretrain_bert.py" : has_mamba ? "pretrain_mamba.py" : "pretrain_gpt.py";
}

std::int64_t nodes_of(const Experiment& experiment) {
  const std::int64_t devices = experiment.fabric.device_count();
  const std::int64_t each = experiment.fabric.dimensions().front().size;
  return each > 0 && devices % each == 0 ? devices / each : 1;
}

// A command of a shell, an argument a line.
std::string print_script(const WrittenLaunch& launch, const Experiment& experiment) {
  const std::int64_t nodes = nodes_of(experiment);
  std::string text =
      fmt::format("torchrun --nnodes {} --nproc-per-node {} {}", nodes, experiment.fabric.device_count() / nodes,
                  program_of(*experiment.jobs.front().workload.training->transformer()));
  for (const LauncherArgument& argument : launch.arguments) {
    text += " \\\n  " + argument.name;
    for (const std::string& value : argument.values) text += " " + shell_word(value);
  }
  return text + "\n";
}

// Fields of Megatron-Bridge by sections.
std::string section_of(std::string_view name) {
  constexpr std::array<std::string_view, 2> kTrain = {"--micro-batch-size", "--global-batch-size"};
  constexpr std::array<std::string_view, 5> kDdp = {"--use-distributed-optimizer", "--overlap-grad-reduce",
                                                    "--overlap-param-gather", "--use-megatron-fsdp",
                                                    "--data-parallel-sharding-strategy"};
  if (std::ranges::find(kTrain, name) != kTrain.end()) return "train";
  if (std::ranges::find(kDdp, name) != kDdp.end()) return "ddp";
  return "model";
}

// Arguments whose fields have other names, or say the opposite.
struct FieldName {
  std::string_view argument;
  std::string_view field;
  std::string_view value;  // in place of a switch's true
};
constexpr std::array<FieldName, 5> kFieldNames = {
    {{"--num-experts", "num_moe_experts", ""},
     {"--disable-bias-linear", "add_bias_linear", "false"},
     {"--untie-embeddings-and-output-weights", "share_embeddings_and_output_weights", "false"},
     {"--swiglu", "gated_linear_unit", "true"},
     {"--num-virtual-stages-per-pipeline-rank", "virtual_pipeline_model_parallel_size", ""}}};

std::string field_text(const LauncherArgument& argument) {
  const auto other =
      std::ranges::find(kFieldNames, argument.name, [](const FieldName& f) { return std::string(f.argument); });
  std::string field = argument.name.substr(2);
  std::ranges::replace(field, '-', '_');
  if (other != kFieldNames.end()) field = other->field;
  std::string value = other != kFieldNames.end() && argument.values.empty() ? std::string(other->value) : "true";
  if (!argument.values.empty()) {
    std::vector<std::string> values;
    for (const std::string& text : argument.values) values.push_back(yaml_scalar(text, argument.where));
    value = values.size() == 1 ? values.front() : fmt::format("[{}]", fmt::join(values, ", "));
  }
  return fmt::format("  {}: {}\n", field, value);
}

std::string print_fields(const WrittenLaunch& launch, const Experiment&) {
  std::string text;
  for (const std::string_view section : {"model", "train", "ddp"}) {
    std::string fields;
    for (const LauncherArgument& argument : launch.arguments)
      if (section_of(argument.name) == section) fields += field_text(argument);
    if (!fields.empty()) text += fmt::format("{}:\n{}", section, fields);
  }
  return text;
}

// Fields that Megatron-Bridge's configurations have beside Megatron's arguments.
std::vector<UnusedArguments> bridge_unused() {
  constexpr ArgumentFate kIgnored = ArgumentFate::kIgnored;
  std::vector<UnusedArguments> all = megatron_unused();
  all.push_back({ArgumentFate::kNotSimulated, "adapters (workload.lora has them)", "peft.*"});
  all.push_back({kIgnored, "a section that says nothing of a step",
                 "checkpoint.* checkpoint_config.* logger.* scheduler.* rng.* dist.* profiling.* ft.* straggler.* "
                 "nvrx_straggler.* inprocess_restart.* rerun_state_machine.* tensor_inspection.* exp_manager.* "
                 "trainer.logger* hydra.*"});
  all.push_back({kIgnored, "names a class", "_*"});
  all.push_back(
      {kIgnored, "of the model's construction, not of a step",
       "--activation-func --init-method --output-layer-init-method --params-dtype --pipeline-dtype "
       "--autocast-dtype --enable-autocast --perform-initialization --layernorm-epsilon "
       "--layernorm-zero-centered-gamma "
       "--transformer-layer-spec --generation-config --rope-scaling "
       "--scatter-embedding-sequence-parallel "
       "--parallel-output --fp16-lm-cross-entropy --batch-p2p-comm --deallocate-pipeline-outputs "
       "--use-ring-exchange-p2p "
       "--softmax-scale --attention-softmax-in-fp32 --apply-rope-fusion --bias-activation-fusion "
       "--check-for-nan-in-grad "
       "--average-in-collective --align-param-gather --num-workers --random-seed --reset-* --eod-mask-loss --blend* "
       "--tp-comm-bootstrap-backend --tp-comm-overlap-cfg --moe-router-padding --optimizer-param-scheduler "
       "--data-sharding --dataloader-* --skip-getting-attention-mask-from-dataset --persistent-workers --pin-memory"});
  return all;
}

// The next whole number of a list's text; nothing if there is none.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::size_t digits = 0;
  while (digits < text.size() && digits < 9 && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
  if (digits == 0) return std::nullopt;
  const std::int64_t number = std::stoll(std::string(text.substr(0, digits)));
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

constexpr std::size_t kMostLayers = 100'000;

// sum = term {"+" term}; term = ("[" numbers "]" | "(" sum ")") ["*" number]. False if it is none.
bool take_sum(std::string_view& text, std::vector<std::int64_t>& list, int depth) {
  do {
    std::vector<std::int64_t> term;
    if (take(text, '(')) {
      if (depth > 20 || !take_sum(text, term, depth + 1) || !take(text, ')')) return false;
    } else {
      if (!take(text, '[')) return false;
      do {
        const auto number = take_number(text);
        if (!number) return false;
        term.push_back(*number);
      } while (take(text, ','));
      if (!take(text, ']')) return false;
    }
    std::int64_t times = 1;
    if (take(text, '*')) {
      const auto number = take_number(text);
      if (!number) return false;
      times = *number;
    }
    if (static_cast<std::size_t>(times) * term.size() + list.size() > kMostLayers) return false;
    for (std::int64_t i = 0; i < times; ++i) list.insert(list.end(), term.begin(), term.end());
  } while (take(text, '+'));
  return true;
}

}  // namespace

std::vector<std::int64_t> python_list(std::string_view text) {
  std::string plain;
  std::ranges::copy_if(text, std::back_inserter(plain), [](char c) { return c != ' ' && c != '"' && c != '\''; });
  std::string_view rest = plain;
  if (const auto number = take_number(rest); number && rest.empty()) return {*number};
  rest = plain;
  std::vector<std::int64_t> list;
  if (!take_sum(rest, list, 0) || !rest.empty()) return {};
  return list;
}

LauncherTable megatron_table() {
  LauncherTable table;
  table.launcher = Launcher::kMegatron;
  table.title = "Megatron-LM";
  table.software = "megatron-2025";
  table.rows = all_rows();
  table.unused = bridge_unused();  // --yaml-cfg has the same fields
  table.parse = parse;
  table.canonical = canonical;
  table.check = check_arguments;
  table.program = program_of;
  table.print = print_script;
  return table;
}

LauncherTable megatron_bridge_table() {
  LauncherTable table = megatron_table();
  table.launcher = Launcher::kMegatronBridge;
  table.title = "Megatron-Bridge";
  table.print = print_fields;
  return table;
}

}  // namespace orrery::experiment
