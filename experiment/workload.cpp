// SPDX-License-Identifier: MIT
#include "experiment/sections.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/config/key_path.h"
#include "core/files/read_file.h"
#include "workload/traces/files.h"
#include "workload/traces/roles.h"

namespace orrery::experiment {
namespace {

// Lists the keys of a model to train, which no other job has.
const std::vector<std::string>& training_keys(const ConfigFiles& files) {
  static const std::vector<std::string> keys =
      key_names(files, [](Section& section) { workload::read_training(section, {}); });
  return keys;
}

// From here on nobody writes over them, and a sweep knows what its results depend on.
void note_traces(const workload::ChakraSource& trace) {
  for (const workload::TraceFile& file : workload::list_trace_files(trace.prefix)) note_input(file.path);
  if (const std::string roles = workload::roles_file_of(trace.prefix); !is_missing(roles)) note_input(roles);
  if (trace.groups) note_input(*trace.groups);
}

// A word in place of a map is {KEY: WORD}.
void spell_out(std::string_view name, std::string_view key, Section& section) {
  const ConfigValue* given = section.value(name);
  if (given == nullptr || given->kind != ConfigValue::Kind::kScalar) return;
  ConfigValue contents = section.contents();
  ConfigValue& value = contents.find(name)->value;
  ConfigValue map{ConfigValue::Kind::kMap, value.where, {}, {}, {}};
  map.entries.push_back({std::string(key), value.where, value});
  value = std::move(map);
  section.rewrite(std::move(contents));
}

void read_compute(Section& section, system::ComputeOptions& compute) {
  compute.prefer_roofline =
      Choice("by", "source of the time of a compute node that has both a measured duration and FLOPs",
             {"measured", "roofline"})
          .optional(section, 0) == 1;
  compute.efficiency = section.maybe<Efficiency>(
      "efficiency",
      "share of the device's peak, and of the bandwidth of its memory, that computations by the roofline "
      "reach; by default the device's own: `compute.gemm` with `compute.clock`, and `compute.memory`");
}

void read_chakra(Section& section, workload::ChakraSource& trace, system::ComputeOptions& compute) {
  const std::string prefix = section.required<std::string>(
      "prefix",
      "start P of the trace files' names P.<rank>.et (or .et.gz, .json), one file per rank, from rank 0 on; a path "
      "relative to the file that names it. Example: `traces/dp8/rank`");
  trace.prefix = section.path("prefix", prefix);
  constexpr std::string_view kGroups =
      "communicator groups: a JSON file {\"name\": [global ranks]}; by default comm_group.json or groups.json in the "
      "folder of the traces, and if there is neither PyTorch's metadata nodes";
  const std::filesystem::path folder = path_from(section.where("prefix").file, "");
  const auto beside =
      section.has("prefix") && !section.has("groups") ? workload::groups_file_beside(prefix, folder) : std::nullopt;
  if (beside) {
    section.optional<std::string>("groups", *beside, kGroups);
    trace.groups = (folder / *beside).string();
  } else if (const auto groups = section.maybe<std::string>("groups", kGroups)) {
    trace.groups = section.path("groups", *groups);
  }
  note_traces(trace);
  section.takes("dependencies", trace.dependencies, {"both", "data", "ctrl"},
                "kind of dependencies in the trace that order its nodes");
  section.takes("host", trace.host, {"durations", "timestamps"},
                "what a node of the host takes: its duration, or the time until the next one began, by the attribute "
                "`ts` that PyTorch's converter writes: with the time of Python between operators");
  spell_out("compute", "by", section);
  section.defaulted_section(
      "compute",
      "how long computations take. `measured` or `roofline` in place of the map stands for `by`. Example: "
      "`{by: roofline, efficiency: 70 %}`",
      [&](Section& s) { read_compute(s, compute); });
}

ProfileSource read_profile(Section& section) {
  ProfileSource profile;
  const std::size_t errors = section.errors();
  profile.files = section.words(
      "profile",
      "profiles of torch.profiler to replay (Kineto's JSON, also gzipped), one of each rank, and if there are any the "
      "PyTorch execution traces of the same step; paths relative to the file that names them. Example: "
      "`[rank0.json.gz, rank1.json.gz]`");
  for (std::string& file : profile.files) file = section.path("profile", file);
  for (const std::string& file : profile.files) note_input(file);
  if (profile.files.empty() && section.has("profile") && section.sound(errors))
    section.error("profile", "'profile' names no file", "profile: [rank0.json, rank1.json]");
  section.takes("symmetric", profile.symmetric,
                "with `profile`: the profiles of some ranks stand for those of all of their world");
  return profile;
}

void read_layers(Section& section, std::optional<TextSource>& text) {
  constexpr Range kRanks{1, std::int64_t{1} << 20};
  text.emplace();
  section.needs("file", text->file, "the table of layers; a path relative to the file that names it");
  text->where = section.where("file");
  text->file = section.path("file", text->file);
  if (const auto format =
          Choice("format", "format of the file; by default the file tells", {"astra-text", "simai"}).maybe(section))
    text->format = *format == 0 ? workload::WorkloadFormat::kAstraText : workload::WorkloadFormat::kSimai;
  const auto count = [&](std::string_view key, std::optional<std::uint32_t>& member, std::string_view meaning) {
    if (const auto number = WholeNumber(key, meaning, kRanks).maybe(section))
      member = static_cast<std::uint32_t>(*number);
  };
  count("ranks", text->layers.ranks, "number of ranks, where the file does not have it: ASTRA-sim's, SimAI's of 2024");
  count("model_parallel", text->layers.model_parallel, "ranks of a model-parallel group: ASTRA-sim's hybrids");
  section.takes("iterations", text->layers.iterations, kRanks, "number of training steps");
  section.takes("pipeline", text->layers.pipeline,
                "SimAI: whether pipeline stages exchange messages; SimAI itself simulates none");
}

TextSource read_goal(Section& section) {
  TextSource text;
  section.accepts(
      "goal", text.file,
      "a GOAL schedule to replay, as text; a path relative to the file that names it. Example: `allreduce.goal`");
  text.where = section.where("goal");
  text.file = section.path("goal", text.file);
  text.format = workload::WorkloadFormat::kGoal;
  return text;
}

// The keys of jobs that are not trained. The first that is there is the job, any other one too many.
constexpr std::array<std::string_view, 7> kReplays = {"chakra",     "profile",  "layers", "goal",
                                                      "collective", "exchange", "product"};

std::string_view replayed_key(Section& section) {
  const auto has = [&](std::string_view key) { return section.has(key); };
  const auto first = std::ranges::find_if(kReplays, has);
  if (first == kReplays.end()) return {};
  const auto second = std::find_if(first + 1, kReplays.end(), has);
  if (second != kReplays.end())
    section.error(*second, fmt::format("'{}' and '{}' are two jobs", *first, *second),
                  "leave one of them out, or list both in jobs");
  return *first;
}

// Refuses keys of a model to train beside another job, which says by itself how its work is spread.
void refuse_training_keys(Section& section, std::string_view replayed) {
  const CallKind* call = call_kind_named(replayed);
  for (const std::string& key : training_keys(section.context().files())) {
    section.know(key);
    if (section.has(key) && !replayed.empty())
      section.error(
          key, fmt::format("'{}' belongs to a model to train, not to {}", key, call != nullptr ? call->what : "traces"),
          fmt::format("leave out '{}' to train a model, or this key to {}", replayed,
                      call != nullptr ? call->verb : "replay traces"));
  }
}

// Tells whether the library that dispatches tokens, in a part of the workload that has been read, reaches one node
// only.
bool dispatches_within_node(const Section& workload, std::string_view part) {
  const ConfigValue* experts = workload.value(part);
  const ConfigEntry* dispatch = experts == nullptr ? nullptr : experts->find("dispatch");
  const ConfigEntry* reach = dispatch == nullptr ? nullptr : dispatch->value.find("reach");
  return reach != nullptr && reach->value.scalar == "node";
}

// Takes the precision, a key of the workload, into the product, and says where its scales mean nothing.
void take_precision(Section& section, Precision precision, ProductCall& product) {
  product.gemm.precision = precision;
  if (product.gemm.scaling == workload::Scaling::kTensor) return;
  if (precision != Precision::kFp8)
    section.idle("product.scaling", fmt::format("operands of {} have no scales", name_of(precision)),
                 "write precision: fp8", IdleWarning::kOwnFile);
  else if (!product.software || !product.software->has_kernels())
    section.idle("product.scaling", "only software with constants of its own kernels tells scales apart",
                 "write software: inference-2026", IdleWarning::kOwnFile);
}

// `recipe: default` is that of the precision, as if the key were not there: how settings take a file's recipe back.
void drop_default_recipe(Section& section) {
  const ConfigEntry* recipe = section.contents().find("recipe");
  if (recipe == nullptr || recipe->value.kind != ConfigValue::Kind::kScalar || recipe->value.scalar != "default")
    return;
  ConfigValue contents = section.contents();
  std::erase_if(contents.entries, [](const ConfigEntry& entry) { return entry.key == "recipe"; });
  section.rewrite(std::move(contents));
}

// The precision may be left out beside a recipe, which has one.
void check_recipe(Section& section, Precision precision, const workload::TrainingSpec& training) {
  const workload::Recipe& recipe = *training.recipe;
  if (precision != recipe.precision)
    section.error("precision",
                  fmt::format("the recipe '{}' is of {}, not of {}", printable(recipe.name, 40),
                              name_of(recipe.precision), name_of(precision)),
                  fmt::format("precision: {}, or another recipe, or none", name_of(recipe.precision)));
}

WorkloadSource read_workload(Section& section, const JobMachine& machine) {
  WorkloadSource source;
  system::ComputeOptions& compute = source.compute;
  spell_out("layers", "file", section);
  drop_default_recipe(section);
  spell_out_shares(section);
  const Location dispatch_at =  // before the file that it names is read
      section.where_below(section.has("exchange") ? "exchange.dispatch" : "experts.dispatch");
  const std::string_view replayed = replayed_key(section);
  const bool profiles = replayed == "profile";
  const bool trains = section.has("model") && replayed.empty();
  const auto chakra = [&](Section& s) { read_chakra(s, source.trace, compute); };
  constexpr std::string_view kChakra =
      "Chakra execution traces to replay; of the other keys of `workload`, only `precision` may stand beside it";
  section.when(replayed == "chakra", [&] { section.section("chakra", kChakra, chakra); });
  section.when(profiles, [&] { source.profile = read_profile(section); });
  section.when(replayed == "layers", [&] {
    section.section("layers",
                    "a text workload of ASTRA-sim 1.0 or SimAI to replay: the file, or a map with it. Example: "
                    "`resnet.txt`",
                    [&](Section& s) { read_layers(s, source.text); });
  });
  section.when(replayed == "goal", [&] { source.text = read_goal(section); });
  for (const CallKind& kind : call_kinds())
    section.when(replayed == kind.key, [&] { source.call = kind.read(section, machine); });
  for (const std::string_view key : kReplays) section.know(key);
  refuse_call_keys(section, replayed);
  section.know("symmetric");
  if (section.has("symmetric") && !profiles)
    section.error("symmetric", "'symmetric' belongs to 'profile'", "leave it out");
  if (replayed.empty() && !trains)
    section.error(
        "", "a workload needs traces to replay, a collective to call or a model to train",
        "write chakra: {prefix: ...}, profile: FILE, layers: FILE, goal: FILE, collective: NAME with size, exchange: "
        "{...}, product: {...}, or model: NAME with parallel and batch");
  section.when(trains, [&] {
    source.training = workload::read_training(
        section, {machine.architecture, machine.room, machine.devices_per_node, machine.is_alone});
  });
  const std::string part = trains ? "experts" : "exchange";
  if (dispatches_within_node(section, part)) source.kernels_of_node = dispatch_at;
  if (!trains) refuse_training_keys(section, replayed);
  if (source.training && source.training->recipe) compute.precision = source.training->recipe->precision;
  section.takes("precision", compute.precision, precision_names(),
                "precision of GEMMs with weights: the device's peak in this precision times their FLOPs",
                "that of `recipe`, or bf16");
  if (source.training && source.training->recipe) check_recipe(section, compute.precision, *source.training);
  if (source.training) source.training->precision = compute.precision;
  if (source.training) source.training->offload.host = machine.host;
  if (source.training && source.training->chooses_micro_batch && section.sound())
    source.training->micro_batch = chosen_micro_batch(*source.training, machine);
  if (source.call && source.call->product) take_precision(section, compute.precision, *source.call->product);
  return source;
}

// Names stand in front of those of communicators, and in tables.
void check_name(Section& section, const std::string& name, std::map<std::string, Location>& known) {
  const Location where = section.where("name");
  if (name.empty() && section.has("name")) section.error("name", "the name of a job is empty", "a word, such as a");
  if (name.empty()) return;
  const auto [other, is_new] = known.emplace(name, where);
  if (!is_new)
    section.error("name", fmt::format("two jobs are called '{}', one at {}", printable(name), to_string(other->second)),
                  "give each a name of its own");
}

}  // namespace

std::vector<std::string> WorkloadSource::files() const {
  if (training || call) return {};
  if (profile) return profile->files;
  return text ? std::vector{text->file} : workload::find_job_traces(trace.prefix).files;
}

std::vector<JobSource> read_jobs(Section& experiment, const JobMachine& machine) {
  std::vector<JobSource> jobs;
  const bool has_list = experiment.has("jobs");
  if (has_list && experiment.has("workload"))
    experiment.error("workload",
                     fmt::format("'workload' is one job, and 'jobs' at {} are others: an experiment has one of the two",
                                 to_string(experiment.where_key("jobs"))),
                     "put the workload into the list: jobs: [{name: a, workload: ...}, ...]");
  if (has_list) experiment.know("workload");
  experiment.when(!has_list, [&] {
    experiment.required_section(
        "workload",
        "the job: a model to train, a collective to call, or traces to replay; several jobs stand in `jobs`",
        [&](Section& s) {
          jobs.push_back({{}, read_workload(s, machine)});
        });
  });
  std::map<std::string, Location> names;
  JobMachine of_several = machine;
  of_several.is_alone = false;
  experiment.list(
      "jobs",
      "several jobs on one cluster, in place of `workload`: their ranks are numbered on, and placed one job "
      "after the other. Example: `jobs: [{name: a, workload: {...}}, {name: b, workload: {...}}]`",
      [&](Section& s) {
        JobSource job;
        s.needs("name", job.name, "what reports call the job; each has a name of its own");
        check_name(s, job.name, names);
        const bool has_workload = s.repeated_section(
            "workload", "the job: keys as in `workload` of an experiment",
            [&](Section& w) { job.workload = read_workload(w, of_several); }, "required");
        if (!has_workload && !s.has("workload"))
          s.error("", fmt::format("job '{}' has no workload", printable(job.name)),
                  "workload: a model to train, a collective to call, or traces to replay");
        s.takes("start", job.start, "time before which none of the job's operations starts");
        jobs.push_back(std::move(job));
      });
  if (has_list && jobs.empty() && experiment.sound())
    experiment.error("jobs", "'jobs' is an empty list", "list a job at least: jobs: [{name: a, workload: {...}}]");
  return jobs;
}

}  // namespace orrery::experiment
