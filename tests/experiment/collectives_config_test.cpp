// SPDX-License-Identifier: MIT
// The `collectives` of an experiment: what each library is told, and what it refuses.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::experiment;
using namespace orrery::system;

namespace {

struct Read {
  std::optional<Experiment> experiment;
  std::string problems;  // errors and warnings, as they are printed
};

constexpr const char* kDims =
    "{device: a100-sxm-80gb, dims: [{topology: switch, size: 8, bandwidth: 1 GB/s, latency: 1 us}]}";

// A cluster, unless another a DGX A100, with these further lines, as x.yaml.
Read read_lines(const std::string& lines, const std::string& cluster = "dgx-a100") {
  Read result;
  Diagnostics diagnostics;
  try {
    ConfigValue root = parse_config("cluster: " + cluster + "\n" + lines, "x.yaml", diagnostics);
    result.experiment = read_machine("x.yaml", std::move(root), kFiles, diagnostics);
    for (const Problem& problem : diagnostics.problems()) result.problems += to_string(problem) + "\n";
  } catch (const InputError& error) {
    result.problems = error.what();
  }
  return result;
}

CollectiveOptions options_of(const std::string& lines) {
  const Read result = read_lines(lines);
  INFO(result.problems);
  REQUIRE(result.experiment.has_value());
  return result.experiment->simulation.collectives;
}

NcclOptions nccl_of(const std::string& keys) {
  const CollectiveOptions options = options_of("collectives: {library: nccl" + keys + "}\n");
  REQUIRE(options.nccl.has_value());
  return *options.nccl;
}

std::string problems_of(const std::string& keys) { return read_lines("collectives: {" + keys + "}\n").problems; }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

template <class Enumerator>
std::size_t number_of(Enumerator enumerator) {
  return static_cast<std::size_t>(enumerator);
}

}  // namespace

TEST_CASE("NCCL is the default for GPUs in a cluster of nodes") {
  const auto runs_nccl = [](const char* cluster, const char* lines = "") {
    const Read result = read_lines(lines, cluster);
    INFO(result.problems);
    REQUIRE(result.experiment.has_value());
    const Experiment& experiment = *result.experiment;
    // The resolved configuration says which it is.
    const ConfigValue& library = experiment.resolved.find("collectives")->value.find("library")->value;
    CHECK(library.scalar == (experiment.nccl ? "nccl" : "fixed"));
    CHECK((experiment.simulation.collectives.granularity == Granularity::kPhase) == (experiment.nccl != nullptr));
    return experiment.nccl != nullptr;
  };
  for (const char* gpus : {"dgx-a100", "dgx-1p", "rtx4090-pcie", "gb200-nvl72", "mi300x-8", "mi250x-4"}) {
    CAPTURE(gpus);
    CHECK(runs_nccl(gpus));
    CHECK(runs_nccl(gpus, "nodes: 2\nnetwork: {routing: deterministic, model: fifo}\ncollectives: {launch: torch}\n"));
    CHECK_FALSE(runs_nccl(gpus, "collectives: {library: fixed}\n"));
  }
  for (const char* others : {"gaudi2-8", "dojo-tile", "tenstorrent-galaxy", "cerebras-swarmx", kDims}) {
    CAPTURE(others);
    CHECK_FALSE(runs_nccl(others));
  }
  CHECK(runs_nccl(kDims, "collectives: {library: nccl}\n"));
}

TEST_CASE("a key that only the fixed library has means that library") {
  for (const char* lines : {"collectives: {algorithms: {all_reduce: ring}}\n", "collectives: {chunks: 4}\n",
                            "collectives: {queue: lifo}\n", "collectives: {active_chunks: 2}\n",
                            "collectives: {dimension_order: themis}\n", "collectives: {queue_scope: rank}\n",
                            "collectives: {logical_dimensions: [2, 4]}\n", "network: {granularity: step}\n"}) {
    CAPTURE(lines);
    const CollectiveOptions options = options_of(lines);
    CHECK_FALSE(options.nccl.has_value());
    CHECK(options.granularity == Granularity::kStep);
    const bool is_named = has(lines, "algorithms");
    CHECK(has(read_lines(lines, "dgx-a100").problems, "no longer by NCCL's cost model") == !is_named);
    CHECK_FALSE(has(read_lines(lines, "gaudi2-8").problems, "cost model"));
  }
  CHECK(read_lines("collectives: {library: fixed, chunks: 4}\n", "dgx-a100").problems.empty());
  CHECK(options_of("network: {granularity: phase}\n").nccl.has_value());
  CHECK(has(problems_of("chunks: 2, launch: torch"), "'launch' means nothing with 'library: fixed'"));
}

TEST_CASE("balanced orders of one chunk are warned of, since they balance nothing") {
  CHECK(has(problems_of("dimension_order: themis"), "themis balances the chunks of a collective, and there is one"));
  CHECK(problems_of("library: fixed, dimension_order: themis, chunks: 2").empty());
}

TEST_CASE("logical dimensions have the devices of the cluster, and algorithms of their own") {
  CHECK(problems_of("logical_dimensions: [2, 4], algorithms: {all_reduce: [ring, direct]}").empty());
  CHECK(has(problems_of("logical_dimensions: [2, 4], algorithms: {all_reduce: [ring]}"),
            "1 algorithm for a cluster of 2 dimensions"));
  CHECK(has(problems_of("logical_dimensions: [3, 2]"),
            "the logical dimensions [3, 2] do not have the 8 devices of the cluster"));
  CHECK(has(problems_of("logical_dimensions: 8"), "must be a list of 1 to 32 whole numbers"));
  CHECK(has(problems_of("logical_dimensions: [8, x]"), "an element of 'collectives.logical_dimensions' is 'x'"));
  CHECK(has(problems_of("logical_dimensions: [8, -1, 0]"), "a whole number, 1 to"));
  CHECK(has(problems_of("library: nccl, logical_dimensions: [8]"), "means nothing with 'library: nccl'"));
}

TEST_CASE("the keys of NCCL are no further error where the cluster is wrong") {
  const std::string problems = read_lines("collectives: {launch: torch}\n", "dgx-a10").problems;
  CHECK(has(problems, "no 'dgx-a10'"));
  CHECK_FALSE(has(problems, "launch"));
}

TEST_CASE("all sections are checked where one of them is a file that is not there") {
  const std::string problems = read_lines("network: nowhere.yaml\ncollectives: {library: ncll}\n", "dgx-a10").problems;
  CHECK(has(problems, "nowhere.yaml"));
  CHECK(has(problems, "no 'dgx-a10'"));
  CHECK(has(problems, "did you mean 'nccl'?"));
}

TEST_CASE("constants of the cluster win over those of the library") {
  const auto constant = [](const std::string& lines, const char* path) {
    return options_of(lines).nccl_constants->constants.value(*nccl_constant_named(path));
  };
  const std::string nccl = "collectives: {library: nccl}\n";
  const std::string cluster = "cluster: {node: dgx-a100, nccl: {base: {ring: {ll: 9 us}}, efficiency: {ring: 88 %}}}\n";
  const auto of_cluster = [&](const char* path) {
    Diagnostics diagnostics;
    ConfigValue root = parse_config(cluster + nccl, "x.yaml", diagnostics);
    const Experiment experiment = read_machine("x.yaml", std::move(root), kFiles, diagnostics);
    return experiment.simulation.collectives.nccl_constants->constants.value(*nccl_constant_named(path));
  };
  CHECK(of_cluster("base.ring.ll") == 9e-6);
  CHECK(of_cluster("efficiency.ring") == 0.88);
  for (const char* path : {"base.ring.ll128", "base.tree.ll", "efficiency.tree"})
    CHECK(of_cluster(path) == constant(nccl, path));
}

TEST_CASE("constants of the cluster mean nothing to the fixed library, and are checked all the same") {
  const auto problems = [](const std::string& cluster) {
    Diagnostics diagnostics;
    ConfigValue root = parse_config("cluster: {node: dgx-a100, nccl: " + cluster + "}\n", "x.yaml", diagnostics);
    try {
      read_machine("x.yaml", std::move(root), kFiles, diagnostics);
      return std::string();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  CHECK(problems("{base: {ring: {ll: 9 us}}}") == "");
  CHECK(has(problems("{base: {ring: {l1: 9 us}}}"), "unknown key 'l1' in 'cluster.nccl.base.ring'"));
  CHECK(has(problems("{efficiency: {ring: 120 %}}"), "120 %"));
}

TEST_CASE("NCCL is the newest, launched by MPI and held to nothing unless the experiment says otherwise") {
  NcclOptions defaults;
  defaults.pxn = true;  // the newest has it, and NVLink joins the devices
  CHECK(nccl_of("") == defaults);
  CHECK(nccl_of(", version: 2.18.5").version == NcclVersion{2, 18, 5});
  CHECK(nccl_of(", version: 2.27").version == NcclVersion{2, 27, 0});
  CHECK(nccl_of(", version: 2.20").version == NcclVersion{2, 20, 0});  // no number: 2.2 is another
  CHECK(nccl_of(", launch: single-process").launch == LaunchMode::kSingleProcess);
  const NcclOptions held = nccl_of(", algo: [NVLSTree, Ring], proto: LL128");
  CHECK(held.algorithms.count() == 2);
  CHECK(held.algorithms[number_of(NcclAlgorithm::kNvlsTree)]);
  CHECK(held.algorithms[number_of(NcclAlgorithm::kRing)]);
  CHECK(held.protocols.count() == 1);
  CHECK(held.protocols[number_of(NcclProtocol::kLl128)]);
}

TEST_CASE("what NCCL cannot be told is an error with a hint") {
  CHECK(has(problems_of("library: nccl, version: newest"),
            "x.yaml:2:39: error: invalid NCCL version 'newest'\n  hint: write 2.18.5 or 2.27"));
  CHECK(has(problems_of("library: nccl, version: 1.3.4"), "unsupported NCCL 1.3.4; supported releases are 2.x"));
  CHECK(has(problems_of("library: nccl, version: 2.31.1"),
            "warning: NCCL 2.31.1 is newer than 2.30.0, the newest that is known"));
  CHECK(problems_of("library: nccl, version: 2.30.4").empty());
  CHECK(has(problems_of("library: nccl, launch: slurm"), "collectives.launch: unknown value 'slurm'"));
  CHECK(has(problems_of("library: nccl, algo: rign"), "NCCL has no 'rign'\n  hint: did you mean 'ring'?"));
  CHECK(has(problems_of("library: nccl, proto: [ll, 128]"), "x.yaml:2:37: error: NCCL has no '128'"));
  CHECK(has(problems_of("library: nccl, algo: []"), "'algo' is an empty list"));
  CHECK(has(problems_of("library: nccl, algo: {ring: 1}"), "'collectives.algo' is a map; a list of words"));
  CHECK(has(problems_of("library: nccl, algo: [nvls, pat], proto: [ll, ll128]"),
            "NCCL has none of the algorithms of 'algo' in a protocol of 'proto'"));
  CHECK(problems_of("library: nccl, algo: [nvls, tree], proto: [ll, ll128]").empty());
  CHECK(has(problems_of("library: ncll"), "did you mean 'nccl'?"));
}

TEST_CASE("each library refuses the keys of the other") {
  for (const std::string key : {"version: 2.18.5", "launch: mpi", "algo: ring", "proto: ll"})
    for (const bool is_named : {false, true}) {
      CAPTURE(key, is_named);
      const std::string name = key.substr(0, key.find(':'));
      const Read result = is_named ? read_lines("collectives: {library: fixed, " + key + "}\n")
                                   : read_lines("collectives: {" + key + "}\n", kDims);
      CHECK(has(result.problems, "error: '" + name +
                                     "' means nothing with 'library: fixed'\n  hint: write "
                                     "'library: nccl'"));
    }
  for (const std::string key : {"algorithms: {all_reduce: ring}", "chunks: 2", "queue: lifo", "active_chunks: 2"}) {
    CAPTURE(key);
    const std::string name = key.substr(0, key.find(':'));
    CHECK(has(problems_of("library: nccl, " + key), "error: '" + name + "' means nothing with 'library: nccl'"));
  }
}

TEST_CASE("NCCL is simulated phase by phase, wherever in the file that stands") {
  const std::string nccl = "collectives: {library: nccl}\n";
  CHECK(options_of(nccl).granularity == Granularity::kPhase);
  CHECK(options_of(nccl + "network: {model: flow}\n").granularity == Granularity::kPhase);
  CHECK(options_of("network: {granularity: phase}\n" + nccl).granularity == Granularity::kPhase);
  CHECK(has(read_lines("network: {granularity: step}\n" + nccl).problems,
            "x.yaml:2:24: error: 'step' has no meaning with 'library: nccl'\n  hint: each channel of NCCL sends in an "
            "order of its own"));
}

TEST_CASE("an experiment as it was resolved is read as the same one") {
  for (const char* lines : {"collectives: {library: nccl}\nnetwork: {model: flow}\n",
                            "collectives: {library: nccl, algo: Tree, version: 2.18}\n",
                            "collectives: {chunks: 3}\nnetwork: {granularity: phase}\n", "network: {model: fifo}\n",
                            "network: {granularity: step}\n", ""}) {
    CAPTURE(lines);
    const Read first = read_lines(lines);
    REQUIRE(first.experiment.has_value());
    Diagnostics diagnostics;
    const Experiment again = read_machine("x.yaml", first.experiment->resolved, kFiles, diagnostics);
    const CollectiveOptions& a = first.experiment->simulation.collectives;
    const CollectiveOptions& b = again.simulation.collectives;
    CHECK(a.nccl == b.nccl);
    CHECK(a.granularity == b.granularity);
    CHECK(a.chunks == b.chunks);
    CHECK(again.machine_kind() == first.experiment->machine_kind());
  }
}
