// SPDX-License-Identifier: MIT
#include "experiment/experiment.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "core/config/other_names.h"
#include "core/config/quantity_text.h"
#include "experiment/recorded_run.h"
#include "experiment/sections.h"
#include "experiment/warnings.h"

namespace orrery::experiment {
namespace {

// Keys collected while an experiment is read; an Experiment once all of them are there.
struct ExperimentKeys {
  std::vector<system::DeviceSpec> devices;  // by type of nodes
  std::optional<network::Fabric> fabric;
  std::vector<JobSource> jobs;
  Placement placement;
  std::optional<Reliability> reliability;
  system::NetworkModel network = system::kDefaultNetworkModel;
  network::Routing routing;
  system::SimulationOptions simulation;
  std::vector<NamedAlgorithms> algorithms;
  collectives::NcclConstantList measured;  // on the cluster
  bool is_cluster = false;                 // of nodes, not of `dims`
};

constexpr std::string_view kNetworkMeaning = "network model: how messages are timed";

void read_network_model(Section& section, ExperimentKeys& experiment) {
  section.takes(
      "model", experiment.network, system::network_model_names(),
      "how messages share links; alpha-beta: they do not share, flow: max-min fair sharing, fifo: store and forward, "
      "one message at a time (of messages that arrive together, the one between the lowest devices first)");
}

void read_memory(Section& section, ExperimentKeys& experiment) {
  section.section(
      "remote",
      "remote memory pools that MEM nodes of traces load from and store to, and storage of input and checkpoints; "
      "without it, MEM nodes use the device's own memory",
      [&](Section& s) {
        system::RemoteMemory memory;
        s.needs("bandwidth", memory.bandwidth, "bandwidth of one pool");
        s.takes("latency", memory.latency, "latency of an access; the pool can serve other accesses meanwhile");
        s.takes("shared", memory.shared, {"rank", "node", "cluster"},
                "ranks that share a pool; a pool serves one access at a time");
        experiment.simulation.remote_memory = memory;
      });
}

// Places a call on the devices of each node that it asks for.
void take_ranks_per_node(Section& section, ExperimentKeys& experiment) {
  for (const JobSource& job : experiment.jobs) {
    if (!job.workload.call || job.workload.call->ranks_per_node == 0 || !section.sound()) continue;
    const bool is_one_of_several = experiment.jobs.size() > 1;
    const Placement& placement = experiment.placement;
    const bool names_them =
        placement.kind == PlacementKind::kOfNodes && placement.list.size() == job.workload.call->ranks_per_node;
    if (names_them && !is_one_of_several) return;
    if (is_one_of_several || placement.kind != PlacementKind::kPacked)
      return section.error(is_one_of_several ? "jobs" : "placement",
                           "'ranks_per_node' is a placement of its own, of an only job",
                           "in its place list the devices of all ranks: ranks: 4 and placement: [0, 1, 8, 9]");
    experiment.placement.of_node = job.workload.call->ranks_per_node;
  }
}

// Gives the all-to-all of a call the sizes that it asks for.
void take_call_shares(Section& section, ExperimentKeys& experiment) {
  for (const JobSource& job : experiment.jobs) {
    if (!job.workload.call || !job.workload.call->shares || !section.sound()) continue;
    const UnevenShares& shares = *job.workload.call->shares;
    Diagnostics& diagnostics = section.context().diagnostics();
    if (experiment.jobs.size() > 1)
      return diagnostics.error(shares.where, "sizes that differ are those of an only job",
                               "leave them out, or put the call into an experiment of its own");
    const auto named = std::ranges::find(experiment.algorithms, CollectiveKind::kAllToAll, &NamedAlgorithms::kind);
    take_shares(shares, job.workload.call->ranks, named == experiment.algorithms.end() ? shares.where : named->where,
                experiment.simulation.collectives, diagnostics);
  }
}

void read_machine_of(Section& section, ExperimentKeys& experiment) {
  experiment.fabric =
      network::read_cluster(section, cluster_parts(experiment.devices, experiment.measured), experiment.routing);
}

std::vector<MachineKind> machines_of(const ExperimentKeys& experiment) {
  std::vector<MachineKind> machines;
  for (std::uint32_t type = 0; type < experiment.devices.size(); ++type)
    machines.push_back({experiment.fabric->interconnect(type), experiment.devices[type].architecture});
  return machines;
}

// Maker of devices, all of which share a library of collectives.
std::string_view maker_text(Architecture architecture) {
  return architecture == Architecture::kOther ? "no GPU that Orrery knows" : name_of(maker_of(architecture));
}

void check_makers(Section& section, const ExperimentKeys& experiment) {
  for (const system::DeviceSpec& device : experiment.devices) {
    const system::DeviceSpec& first = experiment.devices.front();
    if (maker_of(device.architecture) == maker_of(first.architecture)) continue;
    return section.error(
        "cluster",
        fmt::format("devices '{}' ({}) and '{}' ({}) share no library of collectives", printable(first.name),
                    maker_text(first.architecture), printable(device.name), maker_text(device.architecture)),
        "mix nodes whose devices are of one maker");
  }
}

// `network` is that of `section`; the cluster has been read.
void read_collectives_of(Section& section, const Section& network, ExperimentKeys& experiment) {
  LibraryHints hints;
  const ConfigValue* cluster = section.value("cluster");
  experiment.is_cluster = cluster != nullptr && cluster->find("dims") == nullptr;
  if (experiment.fabric) hints.machine = library_of(common_machine(machines_of(experiment)), experiment.is_cluster);
  if (experiment.fabric) hints.maker = maker_of(experiment.devices.front().architecture);
  const ConfigValue* granularity = network.value("granularity");
  if (experiment.fabric) hints.fabric = &*experiment.fabric;
  if (granularity != nullptr && granularity->scalar == "step") hints.asks_for_steps = granularity->where;
  section.defaulted_section("collectives", "algorithms and library of collectives", [&](Section& s) {
    experiment.algorithms = read_collectives(s, hints, experiment.simulation.collectives);
  });
  if (!experiment.fabric) return;
  find_idle_constants(section, experiment.simulation.collectives.nccl.has_value(), machines_of(experiment));
  const std::optional<collectives::NcclOptions>& nccl = experiment.simulation.collectives.nccl;
  if (nccl && nccl->pxn) experiment.fabric->relay_between_rails();
}

void check_dimensions(Section& section, const ExperimentKeys& experiment) {
  if (!experiment.fabric) return;
  std::vector<DimensionKind> dimensions;
  const system::CollectiveOptions& collectives = experiment.simulation.collectives;
  for (const network::LogicalDimension& d :
       system::collective_dimensions(*experiment.fabric, collectives.logical_dimensions))
    dimensions.push_back({fmt::format("{} {}", d.size, d.topology),
                          !experiment.is_cluster && network::topology_named(d.topology)->switched});
  if (experiment.is_cluster && dimensions.size() > 1) dimensions.back().joins_nodes = true;
  if (collectives.in_network_dimension) dimensions[*collectives.in_network_dimension].can_add_up = true;
  check_algorithms(experiment.algorithms, dimensions, section.context().diagnostics());
}

// Locates what sets the number of devices, in the user's own words: `nodes`, that of a cluster written out, or the name
// of the cluster.
void locate_devices(const Section& section, ExperimentKeys& experiment) {
  const ConfigValue* cluster = section.value("cluster");
  if (cluster == nullptr) return;
  Placement& placement = experiment.placement;
  placement.has_nodes = experiment.is_cluster;
  placement.devices_at = section.where_key("cluster");
  if (cluster->where.file == placement.devices_at.file) {
    const ConfigEntry* own = cluster->find("nodes");
    placement.devices_at = own != nullptr && own->defaulted.empty() ? own->where : cluster->where;
  }
  if (section.has("nodes")) placement.devices_at = section.where_key("nodes");
}

// The network's routing shapes the fabric, which decides on the library of collectives, which on the granularity.
void read_system(Section& section, ExperimentKeys& experiment, const std::function<void()>& read_workload) {
  section.defaulted_section("network", kNetworkMeaning, [&](Section& network) {
    read_network_model(network, experiment);
    experiment.routing = network::read_routing(network);
    read_machine_of(section, experiment);
    if (experiment.fabric) check_makers(section, experiment);
    read_workload();
    read_collectives_of(section, network, experiment);
    read_granularity(network, experiment.simulation.collectives);
  });
  check_dimensions(section, experiment);
  locate_devices(section, experiment);
}

void read_fold(Section& section, ExperimentKeys& experiment) {
  experiment.simulation.fold = system::FoldMode::kAuto;
  section.takes("fold", experiment.simulation.fold, {"auto", "off"},
                "auto: ranks that behave alike are simulated once, with the same result to the picosecond, off: each "
                "rank is simulated by itself (always so with `network.model: fifo`)");
}

void read_perturb(Section& section, ExperimentKeys& experiment) {
  section.section("perturb", "slow or late ranks, noise, and slow links", [&](Section& s) {
    experiment.simulation.perturbation = read_perturbation(s, experiment.network, experiment.fabric);
  });
}

// Marks a tree in which every key stands, whether anybody has set it or not.
constexpr const char* kResolved = "resolved";

bool is_resolved(const ConfigValue& root) {
  const ConfigEntry* written = root.find(kResolved);
  return root.is_resolved || (written != nullptr && written->value.scalar == "true");
}

void mark_resolved(ConfigValue& root) {
  std::erase_if(root.entries, [](const ConfigEntry& entry) { return entry.key == kResolved; });
  root.entries.push_back({kResolved, root.where, {ConfigValue::Kind::kScalar, root.where, "true", {}, {}}, "default"});
}

void read_notes(Section& section) {
  section.note(kResolved,
               "true where orrery has written all keys of an experiment out, in results: no key that changes "
               "nothing is a warning then; leave it out of what you write");
  section.note("name", "a label for people; Orrery does not use it");
  section.note("source", "sources of the figures, for people");
}

// Products with weights take the job's precision, the others bf16 where that is fp8 or int8.
void check_precision(const workload::TrainingSpec& training, const system::DeviceSpec& device,
                     Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const Precision precision : kAllPrecisions)
    if (device.peak(precision) && (!is_of_products_only(precision) || device.peak(Precision::kBf16)))
      known.emplace_back(name_of(precision));
  const std::string_view name = name_of(training.precision);
  if (std::ranges::find(known, name) != known.end()) return;
  diagnostics.error(
      training.where_of("precision"),
      fmt::format("the job computes in {}, for which device '{}' has no peak", name, printable(device.name)),
      known.empty()
          ? fmt::format("add peak.{} to the device", name)
          : fmt::format("workload.precision: {}; or add peak.{} to the device", fmt::join(known, " or "), name));
}

// The kernels that dispatch tokens leave something to what is computed beside them.
void check_dispatch(const workload::TrainingSpec& training, const system::DeviceSpec& device,
                    Diagnostics& diagnostics) {
  const DispatchLibrary& library = training.experts.dispatch;
  const std::int64_t all = device.streaming_multiprocessors;
  const bool shares = training.overlaps() || training.experts.overlap_shared;
  const std::int64_t most = shares ? all - 1 : all;
  if (library.kind != DispatchKind::kCopies || all == 0 || library.processors <= most) return;
  diagnostics.error(
      training.where_of("experts.dispatch"),
      fmt::format("'{}' takes {} multiprocessors{}, and device '{}' has {}", printable(library.name),
                  library.processors, shares ? " beside what is computed" : "", printable(device.name), all),
      shares && library.processors == all
          ? fmt::format("workload.experts.dispatch.processors: at most {}, or no passes side by side", most)
          : fmt::format("workload.experts.dispatch.processors: at most {}", most));
}

// A training job on the devices that there are.
void check_workload(Section& section, const ExperimentKeys& experiment, const WorkloadSource& workload) {
  const std::optional<workload::TrainingSpec>& training = workload.training;
  Diagnostics& diagnostics = section.context().diagnostics();
  if (!training || !experiment.fabric || diagnostics.has_errors()) return;
  for (const system::DeviceSpec& device : experiment.devices) {
    check_precision(*training, device, diagnostics);
    check_dispatch(*training, device, diagnostics);
  }
  workload::check_training(*training, experiment.fabric->device_count(), diagnostics);
  if (training->recompute == workload::Recompute::kSelective)
    for (const AlikeValues& alike : alike_values(*training))
      if (alike.path == "workload.recompute")
        diagnostics.warning(training->where_of("recompute"),
                            fmt::format("'recompute: selective' changes nothing: {}", alike.reason),
                            "leave it out; or write workload.recompute: full, or workload.model.attention: plain");
  if (training->parallel.zero == 3 && !training->software.overlap_gradients)
    diagnostics.warning(training->where_of("parallel.zero"),
                        fmt::format("zero: 3 gathers parameters before every layer, and {} overlaps none of it",
                                    printable(training->software.name)),
                        "workload.overlap.gradients: true, or take a workload.software that does, like fsdp-2023");
}

void check_storage(Section& section, const ExperimentKeys& experiment, const WorkloadSource& workload) {
  const std::optional<workload::TrainingSpec>& training = workload.training;
  if (!training || !(training->input || training->checkpoint) || experiment.simulation.remote_memory) return;
  section.context().diagnostics().error(training->where_of(training->input ? "input" : "checkpoint"),
                                        fmt::format("no storage for {}", training->input ? "input" : "checkpoints"),
                                        "write memory.remote.bandwidth, and memory.remote.shared: node or cluster");
}

// Jobs are set beside one another to see how they slow each other down.
void check_sharing(Section& section, const ExperimentKeys& experiment) {
  if (experiment.jobs.size() > 1 && experiment.network == system::NetworkModel::kAlphaBeta)
    section.warning("network", "with network.model: alpha-beta nothing shares a link, so that no job slows another",
                    "share them: network.model: flow");
}

// Names that people write without the sections around them.
constexpr std::array<Section::OtherName, 1> kOtherKeys = {{{"mtbf", "reliability.mtbf"}}};

void read_experiment(Section& section, ExperimentKeys& experiment) {
  section.translate(kOtherKeys);
  note_acting_keys(section);
  read_system(section, experiment, [&] {
    const JobMachine machine =
        experiment.fabric ? job_machine(section, *experiment.fabric, experiment.devices) : JobMachine{};
    experiment.jobs = read_jobs(section, machine);
  });
  experiment.placement.jobs = experiment.jobs.size();
  check_sharing(section, experiment);
  for (const JobSource& job : experiment.jobs) check_workload(section, experiment, job.workload);
  if (experiment.fabric && !section.context().diagnostics().has_errors())
    find_idle_keys(section, experiment.jobs, experiment.devices);
  section.section("memory", "memory outside the devices", [&](Section& s) { read_memory(s, experiment); });
  for (const JobSource& job : experiment.jobs) check_storage(section, experiment, job.workload);
  read_placement(section, experiment.placement);
  take_ranks_per_node(section, experiment);
  take_call_shares(section, experiment);
  read_perturb(section, experiment);
  section.section("reliability", "failures, checkpoints and restarts: what `orrery goodput` counts with",
                  [&](Section& s) { experiment.reliability = read_reliability(s); });
  section.idle("reliability", "`orrery goodput` alone counts with it", {}, IdleWarning::kNone);
  section.idle("cluster.prices", "`orrery cluster show` adds them up, and no time follows from them", {},
               IdleWarning::kNone);
  section.idle("fold", "ranks that behave alike are simulated once, or each by itself, with the same result", {},
               IdleWarning::kNone);
  read_fold(section, experiment);
  read_notes(section);
}

void read_machine(Section& section, ExperimentKeys& experiment) {
  read_system(section, experiment, [] {});
  read_perturb(section, experiment);
  read_fold(section, experiment);
  read_notes(section);
}

Experiment read_keys(const std::string& file, ConfigValue root, const ConfigFiles& files, Diagnostics& diagnostics,
                     void (*read)(Section&, ExperimentKeys&)) {
  ConfigContext context(files, diagnostics);
  if (!is_resolved(root)) context.set_own_file(file);
  spell_out_names(root, files, diagnostics);
  context.set_paths([&files, paths = std::vector<std::string>()]() mutable {
    if (paths.empty())
      for (const KeyDescription& key : describe_configuration(files)) paths.push_back(key.path);
    return paths;
  });
  ExperimentKeys keys;
  read_config(root, context, [&](Section& section) { read(section, keys); });
  diagnostics.throw_if_errors();
  mark_resolved(root);
  std::vector<MachineKind> machines = machines_of(keys);
  std::unique_ptr<const system::NcclLibrary> nccl;
  system::CollectiveOptions& collectives = keys.simulation.collectives;
  if (collectives.nccl) {
    for (const auto& [number, value] : keys.measured) collectives.nccl_constants->constants.set(number, value);
    nccl =
        std::make_unique<const system::NcclLibrary>(*collectives.nccl, collectives.nccl_constants->constants, machines);
    collectives.library = nccl.get();
  }
  return {file,
          std::move(root),
          std::move(keys.devices),
          std::move(*keys.fabric),
          std::move(keys.jobs),
          std::move(keys.placement),
          std::move(keys.reliability),
          keys.network,
          std::move(keys.simulation),
          std::move(machines),
          std::move(nccl),
          context.take_idle_keys(),
          &files};
}

}  // namespace

network::ClusterReaders cluster_parts(std::vector<system::DeviceSpec>& devices,
                                      collectives::NcclConstantList& measured) {
  return {[&devices](Section& section) { devices.push_back(system::read_device(section)); },
          [&measured](Section& section) { measured = collectives::read_some_nccl_constants(section); },
          [&devices](Section& section) { system::read_host(section, devices.empty() ? nullptr : &devices.back()); }};
}

network::ClusterReaders unused_cluster_parts() {
  return {[](Section& section) { system::read_device(section); },
          [](Section& section) { collectives::read_some_nccl_constants(section); },
          [](Section& section) { system::read_host(section, nullptr); }};
}

Experiment load_experiment(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                           Diagnostics& diagnostics) {
  ConfigValue root = load_configuration(file, files, diagnostics);
  const std::string name = root.where.file;
  spell_out_names(root, files, diagnostics);
  if (!diagnostics.has_errors())
    for (const std::string& setting : settings) apply_setting(root, setting, files, diagnostics, resolver(name, files));
  diagnostics.throw_if_errors();
  if (root.find("cluster") == nullptr && is_profile_file(file))
    throw InputError({file}, "a profile does not say on which cluster to replay it",
                     "--set cluster=NAME, one of `orrery list clusters`, and --nodes N");
  Experiment experiment = read_experiment(name, std::move(root), files, diagnostics);
  experiment.settings = settings;
  return experiment;
}

Experiment read_experiment(const std::string& file, ConfigValue root, const ConfigFiles& files,
                           Diagnostics& diagnostics) {
  return read_keys(file, std::move(root), files, diagnostics, read_experiment);
}

ResolveConfig resolver(const std::string& file, const ConfigFiles& files) {
  return [&file, &files](ConfigValue root) {
    Diagnostics ignored;  // they come when the whole is read
    return read_experiment(file, std::move(root), files, ignored).resolved;
  };
}

Experiment read_machine(const std::string& name, ConfigValue root, const ConfigFiles& files, Diagnostics& diagnostics) {
  return read_keys(name, std::move(root), files, diagnostics, read_machine);
}

system::Simulation::NetworkFactory network_of(const Experiment& experiment) {
  return [&experiment](Engine& engine) { return system::make_network(experiment.network, engine, experiment.fabric); };
}

std::vector<KeyDescription> describe_configuration(const ConfigFiles& files) {
  ExperimentKeys keys;
  return list_keys(files, [&](Section& section) { read_experiment(section, keys); });
}

}  // namespace orrery::experiment
