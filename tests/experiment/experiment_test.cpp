// SPDX-License-Identifier: MIT
#include "experiment/experiment.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "experiment/docs.h"
#include "experiment/runs/check.h"
#include "experiment/runs/run.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::experiment;
using namespace orrery::network;

namespace {

// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("orrery-experiment-{}", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string errors_of(const std::string& text, const std::vector<std::string>& settings = {}) {
  const Folder folder;
  Diagnostics diagnostics;
  try {
    load_experiment(folder.write("x.yaml", text), settings, kFiles, diagnostics);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

constexpr const char* kTwoDims =
    "cluster:\n  device: a100-sxm-80gb\n  dims:\n"
    "    - {topology: switch, size: 8, bandwidth: 300 GB/s, latency: 700 ns}\n"
    "    - {topology: ring, size: 4, bandwidth: 25 GB/s, latency: 2 us}\n"
    "workload: {chakra: {prefix: traces/rank}}\n";

}  // namespace

TEST_CASE("an experiment on dimensions is read with its defaults") {
  const Folder folder;
  Diagnostics diagnostics;
  const Experiment experiment = load_experiment(folder.write("x.yaml", kTwoDims), {}, kFiles, diagnostics);
  CHECK(experiment.fabric.device_count() == 32);
  CHECK(experiment.devices.front().name == "a100-sxm-80gb");
  CHECK(*experiment.devices.front().peak(Precision::kBf16) == FlopRate(312'000'000'000'000));
  CHECK(experiment.jobs.front().workload.trace.prefix == (folder.path() / "traces/rank").string());
  CHECK(experiment.jobs.front().workload.trace.dependencies == workload::Dependencies::kBoth);
  CHECK(experiment.simulation.collectives.chunks == 1);
  CHECK(experiment.simulation.collectives.active_chunks == 1);
}

TEST_CASE("the routing of the network shapes the fabric, wherever in the file it stands") {
  const Folder folder;
  const std::string job =
      "workload: {chakra: {prefix: traces/rank}}\n"
      "cluster: {node: dgx-a100, scale_out: {topology: fat-tree, latency: 600 ns, leaf_ports: 8, trunk_latency: 300 "
      "ns}}\n"
      "nodes: 2\n";
  const auto links = [&](const std::string& text, const std::vector<std::string>& settings = {}) {
    Diagnostics diagnostics;
    return load_experiment(folder.write("x.yaml", text), settings, kFiles, diagnostics).fabric.link_count();
  };
  // 16 devices and NICs with three links each way, and two leaves with a trunk or with eight links up and down.
  CHECK(links(job) == 2 * (3 * 16 + 2));
  CHECK(links(job + "network: {routing: spray}\n") == 2 * (3 * 16 + 2));
  CHECK(links(job + "network: {routing: deterministic}\n") == 2 * (3 * 16 + 2 * 8));
  CHECK(links("network: {routing: ecmp, ecmp_seed: 7}\n" + job) == 2 * (3 * 16 + 2 * 8));
  CHECK(links(job, {"network.routing=ecmp"}) == 2 * (3 * 16 + 2 * 8));
}

TEST_CASE("a shipped cluster takes the experiment's number of nodes") {
  const Folder folder;
  Diagnostics diagnostics;
  const std::string file = folder.write("x.yaml", "cluster: dgx-a100\nnodes: 3\nworkload: {chakra: {prefix: p}}\n");
  CHECK(load_experiment(file, {}, kFiles, diagnostics).fabric.device_count() == 24);
  CHECK(load_experiment(file, {"nodes=5"}, kFiles, diagnostics).fabric.device_count() == 40);
}

TEST_CASE("--set reaches into named files; its own paths are relative to the working directory") {
  const Folder folder;
  Diagnostics diagnostics;
  const std::string file = folder.write("x.yaml", "cluster: dgx-a100\nworkload: {chakra: {prefix: p}}\n");
  const Experiment experiment = load_experiment(
      file, {"cluster.node.fabric.bandwidth=200 GB/s", "workload.chakra.prefix=q/r"}, kFiles, diagnostics);
  CHECK(experiment.fabric.link(LinkId(0)).bandwidth == Bandwidth(160'000'000'000));  // 80 % of it
  CHECK(experiment.jobs.front().workload.trace.prefix == "q/r");
}

TEST_CASE("algorithms are checked against the collective and the dimensions") {
  CHECK(errors_of(std::string(kTwoDims) + "collectives: {algorithms: {all_reduce: [ring, direct4]}}\n") == "");
  CHECK(errors_of(std::string(kTwoDims) + "collectives: {algorithms: {all_reduce: [rign, ring]}}\n")
            .find("unknown algorithm 'rign'\n  hint: did you mean 'ring'?") != std::string::npos);
  CHECK(errors_of(std::string(kTwoDims) + "collectives: {algorithms: {all_reduce: ring}}\n")
            .find("1 algorithm for a cluster of 2 dimensions (8 switch, 4 ring)") != std::string::npos);
  CHECK(errors_of(std::string(kTwoDims) + "collectives: {algorithms: {allreduce: [ring, ring]}}\n")
            .find("unknown key 'allreduce' in 'collectives.algorithms'\n  hint: did you mean 'all_reduce'?") !=
        std::string::npos);
}

TEST_CASE("all problems of an experiment come together") {
  const std::string errors = errors_of("cluster: dgx-a10\nnodes: 0\nworklod: {}\nnetwork: {model: flw}\n");
  CHECK(errors.find("no 'dgx-a10' among the shipped clusters\n  hint: did you mean 'dgx-a100'?") != std::string::npos);
  CHECK(errors.find("nodes: 0 is out of range") != std::string::npos);
  CHECK(errors.find("unknown key 'worklod'\n  hint: did you mean 'workload'?") != std::string::npos);
  CHECK(errors.find("'workload' is missing") != std::string::npos);
  CHECK(errors.find("network.model: unknown value 'flw'") != std::string::npos);
}

TEST_CASE("ranks are placed packed, strided over nodes, at random by seed, or as listed") {
  const Folder folder;
  Diagnostics diagnostics;
  const Fabric fabric =
      load_experiment(folder.write("x.yaml", kTwoDims), {}, kFiles, diagnostics).fabric;  // 4 nodes of 8
  Placement placement;
  CHECK(place_ranks(placement, 3, fabric) == std::vector<DeviceId>{DeviceId(0), DeviceId(1), DeviceId(2)});
  placement.kind = PlacementKind::kStrided;
  CHECK(place_ranks(placement, 6, fabric) ==
        std::vector<DeviceId>{DeviceId(0), DeviceId(8), DeviceId(16), DeviceId(24), DeviceId(1), DeviceId(9)});
  placement.kind = PlacementKind::kRandom;
  placement.seed = 7;
  const std::vector<DeviceId> random = place_ranks(placement, 32, fabric);
  CHECK(std::set(random.begin(), random.end()).size() == 32);
  CHECK(random == place_ranks(placement, 32, fabric));
  placement.seed = 8;
  CHECK(random != place_ranks(placement, 32, fabric));
  placement.kind = PlacementKind::kList;
  placement.list = {5, 3};
  CHECK(place_ranks(placement, 2, fabric) == std::vector<DeviceId>{DeviceId(5), DeviceId(3)});
  CHECK_THROWS_AS(place_ranks(placement, 3, fabric), InputError);
  placement.list = {5, 5};
  CHECK_THROWS_AS(place_ranks(placement, 2, fabric), InputError);
  placement.list = {5, 32};
  CHECK_THROWS_AS(place_ranks(placement, 2, fabric), InputError);
  CHECK_THROWS_AS(place_ranks(Placement{}, 33, fabric), InputError);
  placement.kind = PlacementKind::kOfNodes;
  placement.list = {5, 3};
  CHECK(place_ranks(placement, 3, fabric) == std::vector<DeviceId>{DeviceId(5), DeviceId(3), DeviceId(13)});
  CHECK_THROWS_AS(place_ranks(placement, 9, fabric), InputError);  // two on each of four nodes
  placement.list = {8};
  CHECK_THROWS_AS(place_ranks(placement, 1, fabric), InputError);
  placement.list = {3, 3};
  CHECK_THROWS_AS(place_ranks(placement, 1, fabric), InputError);
}

TEST_CASE("placement is written as a word or a list") {
  const std::string base(kTwoDims);
  for (const char* right : {"packed", "strided", "random(42)", "'devices(0, 5)'", "[0, 5, 7]"})
    CHECK(errors_of(base + "placement: " + right + "\n") == "");
  for (const char* wrong :
       {"pakced", "random", "random(x)", "random(-1)", "devices()", "devices(0;1)", "[0, a]", "{a: 1}"})
    CHECK(errors_of(base + "placement: " + wrong + "\n").find("not a placement") != std::string::npos);
}

TEST_CASE("every key is documented with its meaning") {
  const std::string docs = configuration_docs(kFiles, {});
  for (const KeyDescription& key : describe_configuration(kFiles)) {
    INFO(key.path);
    CHECK_FALSE(key.meaning.empty());
    const DocumentedKey documented = documented_key(key.path);
    CHECK(docs.find(fmt::format("\n## {}\n", documented.chapter)) != std::string::npos);
    CHECK(docs.find(fmt::format("\n| `{}` |", documented.name)) != std::string::npos);
  }
}

TEST_CASE("the meaning of a key is complete without the keys around it") {
  for (const KeyDescription& key : describe_configuration(kFiles)) {
    INFO(key.path << ": " << key.meaning);
    for (const char* start : {"of ", "for each", "the same", "likewise", "from ", "with the "})
      CHECK_FALSE(key.meaning.starts_with(start));
    CHECK(key.meaning.find("likewise") == std::string::npos);
    CHECK(key.meaning.size() > 8);
  }
}

TEST_CASE("places that share a chapter of the documents take the same keys") {
  std::map<std::string_view, std::map<std::string_view, std::set<std::string>>> names;  // by chapter and place
  const std::vector<KeyDescription> keys = describe_configuration(kFiles);
  for (const KeyDescription& key : keys) {
    const DocumentedKey documented = documented_key(key.path);
    if (documented.name != key.path)
      names[documented.chapter][documented.place].insert(fmt::format("{}: {}", documented.name, key.meaning));
  }
  CHECK(names.size() == 6);
  for (const auto& [chapter, places] : names)
    for (const auto& [place, of_place] : places) {
      INFO(chapter << " at " << place);
      // A cluster has neither the name of a library nor the nominal figures of its constants.
      const auto& most = places.contains("collectives.constants.") ? places.at("collectives.constants.") : of_place;
      CHECK(std::ranges::includes(most, of_place));
      if (place != "cluster.nccl." && place != "collectives.constants.") CHECK(of_place == places.begin()->second);
    }
}

TEST_CASE("a whole number is described with its range") {
  for (const KeyDescription& key : describe_configuration(kFiles)) {
    INFO(key.path);
    CHECK((key.type == "whole number") == !key.range.empty());
  }
}

TEST_CASE("keys of a model to train, and of a collective, say so beside traces") {
  const std::string start = "workload.";
  const std::set<std::string> others = {"chakra",    "profile",    "layers",   "goal",   "symmetric",
                                        "precision", "collective", "exchange", "product"};
  const std::set<std::string> of_call = {"size", "ranks", "ranks_per_node", "shares", "skew", "seed"};
  std::size_t refused = 0;
  for (const KeyDescription& key : describe_configuration(kFiles)) {
    const std::string name = key.path.starts_with(start) ? key.path.substr(start.size()) : std::string();
    if (name.empty() || name.find_first_of(".[") != std::string::npos || others.contains(name)) continue;
    INFO(name);
    const std::string errors =
        errors_of("cluster: {node: dgx-a100}\nworkload: {chakra: {prefix: x}, " + name + ": 1}\n");
    const std::string_view owner = of_call.contains(name) ? "'collective'" : "a model to train";
    CHECK(errors.find(fmt::format("'{}' belongs to {}", name, owner)) != std::string::npos);
    ++refused;
  }
  CHECK(refused > 15);
}

// A cluster of `nodes` nodes of `devices` H100.
std::string cluster_of(int nodes, int devices) {
  return fmt::format(
      "{{nodes: {}, node: {{device: h100-sxm, devices: {}, fabric: {{topology: switch, bandwidth: 400 GB/s, latency: 1 "
      "us}}, nics: {{count: {}, bandwidth: 50 GB/s, host_link: pcie-5, host_latency: 500 ns}}}}, scale_out: "
      "{{topology: "
      "switch, latency: 2 us}}}}",
      nodes, devices, devices);
}

TEST_CASE("groups stay inside nodes where leaving devices of each idle does it and the cluster has the nodes") {
  const Folder folder;
  const auto devices = [&](int nodes, const std::string& parallel, const std::string& more = {}) {
    const std::string file = folder.write(
        "x.yaml",
        fmt::format("cluster: {}\ncollectives: {{library: fixed}}\n{}\nworkload: {{model: {{hidden: 256, layers: 2, "
                    "heads: 8, vocab: 512, sequence: 64, experts: 8, experts_per_token: 2, expert_hidden: 256}}, "
                    "batch: {{global: 48}}, parallel: {}}}\n",
                    cluster_of(nodes, 6), more, parallel));
    Diagnostics diagnostics;
    const Experiment experiment = load_experiment(file, {}, kFiles, diagnostics);
    std::vector<std::uint32_t> placed;
    for (const DeviceId device : place_jobs(experiment, 8)) placed.push_back(index_of(device));
    return placed;
  };
  const std::vector<std::uint32_t> dense = {0, 1, 2, 3, 4, 5, 6, 7}, by_four = {0, 1, 2, 3, 6, 7, 8, 9};
  CHECK(devices(2, "{data: 8, expert: 4}") == by_four);
  CHECK(devices(2, "{data: 2, tensor: 4, sequence: true}") == by_four);
  CHECK(devices(2, "{data: 4, tensor: 2, expert: 2, sequence: true}") ==
        by_four);  // of two replicas of a tensor group each
  CHECK(devices(2, "{data: 8, expert: 4}", "placement: dense") == dense);
  CHECK(devices(2, "{data: 8, expert: 2}") == dense);  // three groups fill a node
  CHECK(devices(2, "{data: 8, expert: 8}") == dense);  // larger than a node
  CHECK(devices(2, "{data: 4, tensor: 2, sequence: true}") == dense);
  // Two nodes by four hold no twelve ranks.
  const std::string file = (folder.path() / "x.yaml").string();
  devices(2, "{data: 12, expert: 4}");
  Diagnostics diagnostics;
  const Experiment full = load_experiment(file, {}, kFiles, diagnostics);
  CHECK(place_jobs(full, 12) == place_ranks(Placement{}, 12, full.fabric));
  CHECK_FALSE(packing_of(full));
  REQUIRE(packing_wanted(full));
  CHECK(packing_wanted(full)->nodes == 3);
}

TEST_CASE("nodes are packed by blocks in which the groups of all families are whole, else of the innermost ones") {
  const Folder folder;
  const auto packing = [&](const std::string& cluster, const std::string& parallel) {
    const std::string file = folder.write(
        "x.yaml",
        fmt::format("cluster: {}\nworkload: {{model: {{hidden: 384, layers: 2, heads: 24, vocab: 512, sequence: "
                    "48, experts: 24, experts_per_token: 2, expert_hidden: 384}}, batch: {{global: 48}}, "
                    "parallel: {}}}\n",
                    cluster, parallel));
    Diagnostics diagnostics;
    const auto wanted = packing_wanted(load_experiment(file, {}, kFiles, diagnostics));
    return wanted ? fmt::format("{} {} of {}", name_of(wanted->family), wanted->of_node, wanted->per_node) : "none";
  };
  // Blocks of 3 and of 4: no multiple of both fits, so that tensor groups decide.
  const std::string eight = cluster_of(6, 8);
  CHECK(packing(eight, "{tensor: 3, data: 8, expert: 4, expert_tensor: 1, sequence: true}") == "tensor 6 of 8");
  // Groups of 24 reach over nodes anyway.
  CHECK(packing(eight, "{tensor: 3, data: 8, expert: 8, expert_tensor: 3, sequence: true}") == "tensor 6 of 8");
  CHECK(packing(eight, "{tensor: 2, data: 12, expert: 3, expert_tensor: 2, sequence: true}") == "expert 6 of 8");
  CHECK(packing(eight, "{tensor: 4, data: 6, expert: 4, expert_tensor: 1, sequence: true}") == "none");
  // 12 is the least multiple of 3 and 4.
  CHECK(packing(cluster_of(3, 16), "{tensor: 3, data: 8, expert: 4, expert_tensor: 1, sequence: true}") ==
        "tensor 12 of 16");
  // Dimensions are no nodes.
  CHECK(packing(
            "{device: h100-sxm, dims: [{topology: ring, size: 6, bandwidth: 50 GB/s, latency: 1 us}, {topology: ring, "
            "size: 4, bandwidth: 50 GB/s, latency: 1 us}, {topology: ring, size: 4, bandwidth: 50 GB/s, latency: 1 "
            "us}]}",
            "{tensor: 4, data: 12, sequence: true}") == "none");
}

TEST_CASE("switches that reduce nothing are warned of") {
  const Folder folder;
  const auto warnings = [&](const std::string& parallel) {
    const std::string file =
        folder.write("x.yaml",
                     "cluster: {node: dgx-a100, nodes: 2, scale_out: {topology: switch, latency: 1 us, "
                     "in_network_reduction: true}}\ncollectives: {library: fixed}\nworkload: {model: {hidden: 256, "
                     "layers: 2, heads: 8, vocab: 512, sequence: 64}, batch: {global: 16, micro: 1}, parallel: " +
                         parallel + "}\n");
    std::string text;
    for (const Problem& warning : run_experiment({.file = file, .settings = {}}, kFiles).result.warnings)
      text += warning.message + "\n";
    return text;
  };
  constexpr const char* kIdle = "'in_network_reduction: true' changes nothing";
  CHECK(warnings("{data: 16}").find(kIdle) == std::string::npos);                     // an all-reduce of gradients
  CHECK(warnings("{data: 16, zero: 3}").find(kIdle) != std::string::npos);            // gathers and reduce-scatters
  CHECK(warnings("{data: 2, tensor: 8, zero: 3}").find(kIdle) != std::string::npos);  // all-reduces within nodes
}

TEST_CASE("too few devices are said where the user gives their number") {
  const Folder folder;
  Diagnostics diagnostics;
  const auto where = [&](const std::string& text, const std::vector<std::string>& settings = {}) {
    const Experiment experiment = load_experiment(
        folder.write("x.yaml", text + "workload: {chakra: {prefix: traces/rank}}\n"), settings, kFiles, diagnostics);
    try {
      place_ranks(experiment.placement, 20, experiment.fabric);
    } catch (const InputError& error) {
      const Problem& problem = error.problems().front();
      const std::string file = std::filesystem::path(problem.where.file).filename().string();
      return fmt::format("{}:{}:{} {}", file, problem.where.line, problem.where.column, problem.hint);
    }
    return std::string("no error");
  };
  CHECK(where("cluster: dgx-a100\n") == "x.yaml:1:1 write `nodes: 3` or more");
  CHECK(where("cluster: dgx-a100\nnodes: 2\n") == "x.yaml:2:1 write `nodes: 3` or more");
  CHECK(where("cluster: dgx-a100\n", {"nodes=2"}) == "--set nodes=2:0:0 write `nodes: 3` or more");
  CHECK(where("cluster:\n  node: dgx-a100\n  nodes: 1\n") == "x.yaml:3:3 write `nodes: 3` or more");
  CHECK(where("cluster: dgx-a100\nnodes: 3\n") == "no error");
}

TEST_CASE("keys that a part of an experiment leaves out are listed with what is taken for them") {
  const Folder folder;
  const std::string file = folder.write(
      "c.yaml",
      "node:\n  device: a100-sxm-80gb\n  devices: 2\n  fabric: {topology: switch, link: nvlink-3, latency: 1 us}\n");
  Diagnostics diagnostics;
  const CheckedConfig checked = check_config(file, {}, kFiles, diagnostics);
  CHECK(checked.kind == "cluster");
  CHECK_FALSE(diagnostics.has_errors());
  std::map<std::string, std::string> taken;
  for (const DefaultedKey& key : checked.defaults) taken[key.path] = key.value + ", " + key.from;
  CHECK(taken["nodes"] == "1, default");
  CHECK(taken["node.fabric.name"] == "fabric, default");
  CHECK(taken["node.fabric.bandwidth"] == "300 GB/s, by `link` and the device's `nvlink_count`, else required");
  CHECK(taken["node.multicast"].starts_with("false, by `topology_matrix`"));
  CHECK_FALSE(taken.contains("node.devices"));
  const auto given = check_config(file, {"nodes=1"}, kFiles, diagnostics).defaults;
  CHECK(std::ranges::find(given, "nodes", &DefaultedKey::path) == given.end());
}

TEST_CASE("devices of a matrix are joined by what most of them reach one another over") {
  const Folder folder;
  const std::string file = folder.write(
      "c.yaml", "node: {device: a100-sxm-80gb, devices: 5, topology_matrix: m.txt, capacities: {pcie: 31.5 GB/s}}\n");
  const auto interconnect = [&](std::size_t joined) {  // of five devices, so many by NVLink
    std::string matrix = "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\n";
    for (std::size_t from = 0; from < 5; ++from) {
      matrix += fmt::format("GPU{}", from);
      for (std::size_t to = 0; to < 5; ++to)
        matrix += from == to ? "\tX" : std::max(from, to) < joined ? "\tNV1" : "\tSYS";
      matrix += "\n";
    }
    folder.write("m.txt", matrix);
    Diagnostics diagnostics;
    const std::vector<DefaultedKey> defaults = check_config(file, {}, kFiles, diagnostics).defaults;
    return std::ranges::find(defaults, "node.interconnect", &DefaultedKey::path)->value;
  };
  CHECK(interconnect(4) == "nvlink");  // 12 of 20 pairs
  CHECK(interconnect(3) == "other");
}
