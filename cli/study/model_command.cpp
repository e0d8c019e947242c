// SPDX-License-Identifier: MIT
// `orrery model show`: the parameters, FLOPs and memory of a model.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/launcher_flags.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/study/shipped.h"
#include "core/config/number_text.h"
#include "core/config/other_names.h"
#include "core/config/quantity_text.h"
#include "core/files/input_files.h"
#include "core/files/read_file.h"
#include "core/machine_kind.h"
#include "experiment/experiment.h"
#include "experiment/recorded_run.h"
#include "report/table.h"
#include "workload/training/layers/model_layers.h"
#include "workload/training/program/generate_job.h"
#include "workload/training/program/memory_need.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::cli {
namespace {

using ModelJson = nlohmann::ordered_json;

// "48.2 GFLOP"
std::string flops_text(double flops) {
  return three_digits(flops, std::array{" FLOP", " KFLOP", " MFLOP", " GFLOP", " TFLOP"});
}

// A model, and what `workload.model` would say of it.
struct ShownModel {
  std::string name;
  ConfigValue value;
  workload::ModelSpec spec;
};

// Model of the file `name`, an experiment or a result; the name itself if it is no such file.
ConfigValue model_value(const std::string& name, const ConfigFiles& files, Diagnostics& diagnostics) {
  const ConfigValue named{ConfigValue::Kind::kScalar, {}, name, {}, {}};
  if (!looks_like_path(name) || is_missing(name)) return named;
  ConfigValue root = experiment::load_configuration(name, files, diagnostics);
  diagnostics.throw_if_errors();
  ConfigEntry* workload = root.find("workload");
  if (workload == nullptr) return named;
  expand_named(workload->value, "", files, diagnostics);
  diagnostics.throw_if_errors();
  if (const ConfigEntry* model = workload->value.find("model")) return model->value;
  throw InputError(workload->where, "'workload.model' is missing", "the model; traces and collectives have none");
}

ShownModel read_shown(const std::string& name, const ConfigFiles& files) {
  Diagnostics diagnostics;
  ShownModel shown{name, model_value(name, files, diagnostics), {}};
  ConfigValue value = shown.value;
  expand_named(value, "models", files, diagnostics);
  diagnostics.throw_if_errors();
  ConfigContext context(files, diagnostics);
  read_config(value, context, [&](Section& section) { shown.spec = workload::read_model(section); });
  diagnostics.throw_if_errors();
  print_warnings(diagnostics.problems());
  if (shown.value.scalar != name && !shown.spec.name.empty()) shown.name = shown.spec.name;
  return shown;
}

// Bytes that training keeps of every parameter, without sharing, gradients in fp32.
struct ParameterMemory {
  Precision precision = Precision::kBf16;
  Bytes weights, gradients, optimizer;
  Bytes total() const { return weights + gradients + optimizer; }
};

std::vector<ParameterMemory> parameter_memory(std::int64_t parameters) {
  std::vector<ParameterMemory> list;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp8}) {
    workload::TrainingSpec training;
    training.precision = precision;
    list.push_back({precision, training.parameter_size() * parameters,
                    size_of(training.software.gradients) * parameters,
                    workload::OptimizerSpec{}.states(parameters, precision)});
  }
  return list;
}

// FLOPs of a training step per token.
double flops_per_token(const workload::ModelSpec& model, bool causal) {
  workload::TrainingSpec training;
  training.model = model;
  training.causal_flops = causal;
  return workload::model_flops(training) / static_cast<double>(workload::tokens_per_step(training));
}

// The table of these parameters' memory, which the document gets, too.
std::string memory_text(std::int64_t parameters, ModelJson& document) {
  report::Table memory({"precision"}, {"weights", "gradients", "optimizer", "total"});
  for (const ParameterMemory& need : parameter_memory(parameters)) {
    const std::string precision(name_of(need.precision));
    memory.row({precision, need.weights, need.gradients, need.optimizer, need.total()});
    document["memory"].push_back({{"precision", precision},
                                  {"weights_bytes", need.weights.count()},
                                  {"gradients_bytes", need.gradients.count()},
                                  {"optimizer_bytes", need.optimizer.count()}});
  }
  return memory.text();
}

std::string ends_text(const workload::TransformerSpec& transformer) {
  if (const auto& patches = transformer.patches)
    return fmt::format("patches of {0} x {0} pixels, {1} classes", patches->size, patches->classes);
  return fmt::format("vocabulary {}", transformer.vocab);
}

// The sizes in a line, which the document gets, too.
std::string sizes_text(const workload::TransformerSpec& transformer, ModelJson& document) {
  std::string text = fmt::format(", hidden {}, {} heads ({} of keys and values), {}, sequence {}", transformer.hidden,
                                 transformer.heads, transformer.kv_heads, ends_text(transformer), transformer.sequence);
  document.update({{"hidden", transformer.hidden},
                   {"heads", transformer.heads},
                   {"kv_heads", transformer.kv_heads},
                   {"ffn_hidden", transformer.ffn_hidden},
                   {"vocab", transformer.vocab},
                   {"sequence", transformer.sequence}});
  if (transformer.experts > 0) {
    text += fmt::format(", {} experts, {} per token", transformer.experts, transformer.experts_per_token);
    document.update({{"experts", transformer.experts}, {"experts_per_token", transformer.experts_per_token}});
  }
  return text;
}

// --- memory by plan

// "tensor=8,pipeline=4", as --parallel takes it.
using PlanText = std::string;

std::string without_blanks(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

struct Degree {
  std::string key, value;
};

// Degrees in a text like "tensor=8, pipeline=4"; problems are located at `origin`.
std::vector<Degree> degrees_of(const PlanText& plan, const Location& origin) {
  std::vector<Degree> degrees;
  for (const std::string& text : comma_separated(plan)) {
    const std::size_t equals = text.find('=');
    Degree degree{without_blanks(text.substr(0, equals)),
                  equals == std::string::npos ? "" : without_blanks(text.substr(equals + 1))};
    if (degree.key.empty() || degree.value.empty())
      throw InputError(origin, fmt::format("'{}' is no degree", printable(text, 40)),
                       "write KEY=VALUE,KEY=VALUE with keys of workload.parallel: tensor=8,pipeline=4");
    degree.key = split_key_path(plain_path("workload.parallel." + degree.key)).back();
    if (std::ranges::find(degrees, degree.key, &Degree::key) != degrees.end())
      throw InputError(origin, fmt::format("'{}' is given twice", printable(degree.key, 40)), "leave one of them out");
    if (degree.value == "rest")
      throw InputError(origin, fmt::format("'{}': there is no cluster to fill", printable(text, 40)),
                       "write a number: data=4");
    degrees.push_back(degree);
  }
  return degrees;
}

// Micro-batches of each replica for each stage: the pipeline is full.
constexpr std::int64_t kMicroBatches = 4;

// An experiment's tree with the job alone, whose batch is one sequence.
ConfigValue job_of(const ShownModel& model, const PlanText& plan, const ConfigFiles& files, Diagnostics& diagnostics) {
  ConfigValue root{ConfigValue::Kind::kMap, {}, {}, {}, {}};
  set_value(root, "workload.model", model.value, files, diagnostics);
  set_value(root, "workload.batch.global", parse_option("1", "", diagnostics), files, diagnostics);
  const std::string origin = "--parallel " + printable(plan, 100);
  for (const Degree& degree : degrees_of(plan, {origin}))
    set_value(root, "workload.parallel." + degree.key, parse_option(degree.value, origin, diagnostics), files,
              diagnostics);
  diagnostics.throw_if_errors();
  return root;
}

workload::TrainingSpec training_of(const ShownModel& model, const PlanText& plan, const ConfigFiles& files) {
  Diagnostics diagnostics;
  ConfigValue root = job_of(model, plan, files, diagnostics);
  ConfigContext context(files, diagnostics);
  workload::TrainingSpec training;
  read_config(root, context, [&](Section& section) {
    section.required_section("workload", "the job", [&](Section& s) {
      training = workload::read_training(s, {Architecture::kHopper});
      s.know("precision");
    });
  });
  diagnostics.throw_if_errors();
  training.global_batch = training.parallel.data() * training.parallel.pipeline() * kMicroBatches;
  workload::check_training(training, training.parallel.ranks(), diagnostics);
  diagnostics.throw_if_errors();
  return training;
}

// The job on as many nodes as it needs, of the architecture that its figures are for.
experiment::Experiment experiment_of(const ShownModel& model, const PlanText& plan, const ConfigFiles& files) {
  const workload::TrainingSpec training = training_of(model, plan, files);
  Diagnostics diagnostics;
  ConfigValue root = job_of(model, plan, files, diagnostics);
  constexpr std::int64_t kNode = 8;  // devices
  const auto set = [&](std::string_view key, const std::string& value) {
    set_value(root, key, parse_option(value, "", diagnostics), files, diagnostics);
  };
  set("cluster", "dgx-h100");
  set("nodes", std::to_string((training.parallel.ranks() + kNode - 1) / kNode));
  set("workload.batch.global", std::to_string(training.global_batch));
  return experiment::read_experiment("--parallel", std::move(root), files, diagnostics);
}

// Memory of the rank that needs most.
workload::MemoryNeed most_memory(const workload::TrainingSpec& training) {
  return std::ranges::max(workload::memory_needs(training), {}, &workload::MemoryNeed::total);
}

// Plans that people try first, from one node on.
std::vector<PlanText> common_plans(const workload::TransformerSpec& transformer) {
  std::vector<PlanText> plans = {"data=8,zero=1", "data=8,zero=3", "tensor=8,sequence=true"};
  for (const int stages : {2, 4, 8, 16}) plans.push_back(fmt::format("tensor=8,sequence=true,pipeline={}", stages));
  for (const int stages : {4, 8, 16})
    plans.push_back(fmt::format("tensor=8,sequence=true,pipeline={},data=8,zero=1", stages));
  if (transformer.experts > 0)
    for (const int degree : {8, 32}) {
      plans.push_back(fmt::format("data={0},expert={0},zero=1", degree));
      plans.push_back(fmt::format("pipeline=8,data={0},expert={0},zero=1", degree));
    }
  return plans;
}

// The table of the plans that the model can be trained by; the document gets it, too.
std::string plans_text(const ShownModel& model, const std::vector<PlanText>& plans, bool are_given,
                       const ConfigFiles& files, ModelJson& document) {
  report::Table table({"GPU memory by plan"},
                      {"GPUs", "weights", "gradients", "optimizer", "activations", "total", "recomputed"});
  using workload::MemoryUse;
  for (const PlanText& plan : plans) {
    workload::TrainingSpec training;
    try {
      training = training_of(model, plan, files);
    } catch (const InputError&) {
      if (are_given) throw;
      continue;  // its layers, heads or experts do not divide so
    }
    const workload::MemoryNeed need = most_memory(training);
    training.recompute = workload::Recompute::kFull;
    const workload::MemoryNeed recomputed = most_memory(training);
    const Bytes weights = need[MemoryUse::kParameters] + need[MemoryUse::kCommunication] + need[MemoryUse::kWorkspaces];
    table.row({plan, fmt::format("{}", training.parallel.ranks()), weights, need[MemoryUse::kGradients],
               need[MemoryUse::kOptimizer], need[MemoryUse::kActivations], need.total(), recomputed.total()});
    document["plans"].push_back({{"parallel", plan},
                                 {"gpus", training.parallel.ranks()},
                                 {"weights_bytes", weights.count()},
                                 {"gradients_bytes", need[MemoryUse::kGradients].count()},
                                 {"optimizer_bytes", need[MemoryUse::kOptimizer].count()},
                                 {"activations_bytes", need[MemoryUse::kActivations].count()},
                                 {"total_bytes", need.total().count()},
                                 {"recomputed_total_bytes", recomputed.total().count()}});
  }
  if (!document.contains("plans")) return {};
  return "\n" + table.text() +
         "  of the rank that needs most, in bf16, micro-batches of 1; weights: with buffers; total without\n"
         "  recomputation, recomputed: with 'recompute: full'\n";
}

Answer model_answer(const ShownModel& shown, const std::vector<PlanText>& plans, const ConfigFiles& files) {
  const workload::ModelSpec& model = shown.spec;
  const std::string& name = shown.name;
  const auto* transformer = std::get_if<workload::TransformerSpec>(&model.sizes);
  const std::string unit = transformer != nullptr ? "token" : "sample";
  const ModelShape shape = shape_of(model);
  const std::int64_t parameters = workload::parameter_count(model), active = workload::active_parameters(model);
  const double flops = flops_per_token(model, false), causal = flops_per_token(model, true);
  ModelJson document = {{"schema", "orrery.model/1"},
                        {"name", name},
                        {"parameters", parameters},
                        {"active_parameters", active},
                        {"layers", shape.layers}};
  std::string text =
      fmt::format("{}: {} parameters, {} layers", printable(name), rounded_count(parameters), shape.layers);
  if (transformer != nullptr) text += sizes_text(*transformer, document);
  report::Table parts({"parameters"}, {"number", "share"});
  const auto add_part = [&](const std::string& part, std::int64_t count) {
    parts.row({part, rounded_count(count), percent_of(static_cast<double>(count), static_cast<double>(parameters))});
  };
  for (const workload::ParameterPart& part : workload::parameter_parts(model)) {
    add_part(part.name, part.count);
    document["parts"][part.name] = part.count;
  }
  add_part("total", parameters);
  if (active != parameters) add_part("active per " + unit, active);
  document["flops_per_" + unit] = flops;
  std::string work = fmt::format("\ntraining step: {} per {}, forward and backward", flops_text(flops), unit);
  if (causal != flops) {
    document["causal_flops_per_" + unit] = causal;
    work += fmt::format(" ({} with the causal half of attention)", flops_text(causal));
  }
  const std::string memory = memory_text(parameters, document);
  std::string by_plan;
  if (transformer != nullptr || !plans.empty())
    by_plan = plans_text(shown, plans.empty() ? common_plans(*transformer) : plans, !plans.empty(), files, document);
  return {text + "\n\n" + parts.text() + work + "\n\n" + memory +
              "  of all parameters together, unsharded; gradients in fp32; optimizer: Adam, with a master copy below "
              "fp32\n" +
              by_plan,
          std::move(document)};
}

}  // namespace

ModelShape shape_of(const workload::ModelSpec& model) {
  if (const auto* transformer = std::get_if<workload::TransformerSpec>(&model.sizes))
    return {transformer->layers, transformer->hidden};
  if (const auto* dlrm = std::get_if<workload::DlrmSpec>(&model.sizes))
    return {static_cast<std::int64_t>(dlrm->bottom.size() + dlrm->top.size())};
  if (const auto* recurrent = std::get_if<workload::RecurrentSpec>(&model.sizes))
    return {recurrent->encoder + recurrent->decoder, recurrent->hidden};
  if (const auto* evoformer = std::get_if<workload::EvoformerSpec>(&model.sizes)) {
    std::int64_t blocks = 0;
    for (const workload::EvoformerStack& stack : evoformer->stacks) blocks += stack.blocks;
    return {blocks};
  }
  std::int64_t layers = 1;  // the classifier
  for (const workload::Convolution& c : std::get<workload::ConvolutionalSpec>(model.sizes).convolutions)
    layers += c.repeat;
  return {layers};
}

void add_model_command(CLI::App& app, Session& session) {
  auto& name = session.keep<std::string>();
  auto& plans = session.keep<std::vector<std::string>>();
  auto& flags = session.keep<LauncherFlags>();
  CLI::App& model = add_command(app, "model", {});
  model.require_subcommand(1);
  CLI::App& show =
      add_command(model, "show", "Print a model's parameters, FLOPs, and memory by precision and by parallelism",
                  {"orrery model show llama3-8b", "orrery model show llama3-70b --parallel tensor=8,pipeline=2",
                   "orrery model show mixtral-8x7b --json -"});
  show.add_option("model", name, "A name, or a file: a model, a config.json of Hugging Face, an experiment, a result")
      ->type_name("NAME")
      ->required();
  show.add_option("--parallel", plans, "Memory with these degrees, as tensor=8,pipeline=2,data=4,zero=1; repeatable")
      ->type_name("PLAN")
      ->expected(1)
      ->take_all();
  add_launcher_flags(show, flags, "the plan of --parallel");
  show.get_option("--launcher-flags")->needs(show.get_option("--parallel"));
  add_outputs(show, session);
  show.callback([&] {
    note_input(name);
    session.outputs.check();
    flags.check(session.outputs);
    if (flags.wanted() && plans.size() > 1)
      throw InputError({"--launcher-flags"}, "is of one plan, and several are given", "leave the others out");
    const ShownModel shown = read_shown(name, session.files);
    Answer answer = model_answer(shown, plans, session.files);
    if (flags.wanted()) add_flags(flags, flags.of(experiment_of(shown, plans.front(), session.files)), answer);
    session.outputs.give(answer);
  });
}

}  // namespace orrery::cli
