#include "experiment/experiment.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "experiment/docs.h"
#include "tests/shipped_files.h"

using namespace orrery;

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
  CHECK(experiment.device.name == "a100-sxm-80gb");
  CHECK(*experiment.device.peak(Precision::kBf16) == FlopRate(312'000'000'000'000));
  CHECK(experiment.workload.trace.prefix == (folder.path() / "traces/rank").string());
  CHECK(experiment.workload.trace.dependencies == Dependencies::kBoth);
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
  CHECK(experiment.workload.trace.prefix == "q/r");
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
  const Fabric fabric = load_experiment(folder.write("x.yaml", kTwoDims), {}, kFiles, diagnostics).fabric;  // 4 nodes of 8
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
}

TEST_CASE("placement is written as a word or a list") {
  const std::string base(kTwoDims);
  for (const char* right : {"packed", "strided", "random(42)", "[0, 5, 7]"})
    CHECK(errors_of(base + "placement: " + right + "\n") == "");
  for (const char* wrong : {"pakced", "random", "random(x)", "random(-1)", "[0, a]", "{a: 1}"})
    CHECK(errors_of(base + "placement: " + wrong + "\n").find("not a placement") != std::string::npos);
}

TEST_CASE("every key is documented with its meaning") {
  const std::string docs = configuration_docs(kFiles);
  for (const KeyDescription& key : describe_configuration(kFiles)) {
    INFO(key.path);
    CHECK_FALSE(key.meaning.empty());
    CHECK(docs.find("`" + key.path + "`") != std::string::npos);
  }
}
