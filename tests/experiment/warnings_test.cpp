// SPDX-License-Identifier: MIT
// What an experiment says without being asked: figures that are right and yet hardly what was meant.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "experiment/experiment.h"
#include "experiment/job.h"
#include "experiment/runs/run.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::experiment;

namespace {

class TraceFolder {
 public:
  TraceFolder() : path_(std::filesystem::temp_directory_path() / fmt::format("orrery-warnings-{}", getpid())) {
    std::filesystem::create_directories(path_ / "traces");
  }
  ~TraceFolder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

constexpr const char* kTwoNodes =
    "cluster: dgx-h100\nnodes: 2\nworkload:\n  model: llama3-8b\n  parallel: {tensor: 8, data: 2}\n"
    "  batch: {global: 12, micro: 1}\n";

// "message (hint)" of every warning on the way to the job.
std::vector<std::string> warnings_of(const std::vector<std::string>& settings, const char* text = kTwoNodes) {
  const TraceFolder folder;
  Diagnostics diagnostics;
  const Experiment experiment = load_experiment(folder.write("x.yaml", text), settings, kFiles, diagnostics);
  if (experiment.jobs.front().workload.training) load_experiment_job(experiment, diagnostics);
  std::vector<std::string> warnings;
  for (const Problem& problem : diagnostics.problems())
    warnings.push_back(fmt::format("{} ({})", problem.message, problem.hint));
  return warnings;
}

using Warnings = std::vector<std::string>;

}  // namespace

TEST_CASE("devices without a rank are said, with the replicas that would use them") {
  CHECK(warnings_of({}).empty());
  CHECK(warnings_of({"workload.parallel={tensor: 8}"}).empty());  // which fills the devices
  CHECK(warnings_of({"workload.parallel={tensor: 8, data: 1}"}) ==
        Warnings{"the job has 8 ranks: 8 of the cluster's 16 devices have nothing to do (workload.parallel.data: 2, "
                 "or rest, uses all of them)"});
  // 12 sequences do not divide by 4 replicas of 2, but by 3.
  CHECK(warnings_of({"workload.parallel={tensor: 4, data: 1}", "workload.batch.micro=4"}) ==
        Warnings{"the job has 4 ranks: 12 of the cluster's 16 devices have nothing to do (workload.parallel.data: 3 "
                 "uses 12 of "
                 "them)"});
  // No other number of replicas divides 12.
  CHECK(warnings_of({"workload.batch={global: 2, micro: 1}", "nodes=4"}) ==
        Warnings{"the job has 16 ranks: 16 of the cluster's 32 devices have nothing to do (nodes: 2 is as much as the "
                 "job needs)"});
}

TEST_CASE("devices that stay idle for the sake of whole groups are not said to have nothing to do") {
  constexpr const char* kThree = "workload.model={hidden: 384, layers: 2, heads: 24, vocab: 512, sequence: 64}";
  const auto of = [&](const char* parallel, const char* nodes, const char* placement = "placement=packed") {
    return warnings_of({kThree, parallel, nodes, placement});
  };
  // Tensor groups of 3 take 6 devices of each node.
  CHECK(of("workload.parallel={tensor: 3, data: 4}", "nodes=2").empty());
  CHECK(of("workload.parallel={tensor: 3, data: 4}", "nodes=2", "placement=dense").size() == 1);
  CHECK(of("workload.parallel={tensor: 3, data: 4}", "nodes=3") ==
        Warnings{"the job has 12 ranks: 8 of the cluster's 24 devices have nothing to do (workload.parallel.data: 6 "
                 "uses 18 of them)"});
  CHECK(of("workload.parallel={tensor: 3, data: 3}", "nodes=2") ==
        Warnings{"the job has 9 ranks: 3 of the cluster's 16 devices have nothing to do (workload.parallel.data: 4 "
                 "uses 12 of them)"});
}

TEST_CASE("a hint at other dispatch looks at the group of experts that reaches over the most nodes") {
  const TraceFolder folder;
  const auto warnings = [&](const std::string& placement) {
    const std::string file = folder.write(
        "x.yaml",
        "cluster: gb200-nvl72\nnodes: 2\nworkload: {model: {hidden: 256, layers: 2, heads: 8, vocab: 512, "
        "sequence: 64, experts: 64, experts_per_token: 2, expert_hidden: 256}, batch: {global: 128, micro: 1}, "
        "parallel: {data: 128, expert: 64}}\nplacement: " +
            placement + "\n");
    std::string text;
    for (const Problem& warning : run_experiment({.file = file, .settings = {}}, kFiles).result.warnings)
      text += warning.message + "\n";
    return text;
  };
  // Of two groups the first is in one rack.
  CHECK(warnings("dense").find("groups of 64 expert ranks reach over up to 2 nodes") != std::string::npos);
  CHECK(warnings("strided").find("groups of 64 expert ranks reach over 2 nodes") != std::string::npos);
  CHECK(warnings("packed").find("expert ranks reach over") == std::string::npos);
}

TEST_CASE("data: rest is as many replicas as there are devices for") {
  const auto replicas = [](const std::vector<std::string>& settings) {
    const TraceFolder folder;
    Diagnostics diagnostics;
    const Experiment experiment = load_experiment(folder.write("x.yaml", kTwoNodes), settings, kFiles, diagnostics);
    return experiment.jobs.front().workload.training->parallel.data();
  };
  CHECK(replicas({"workload.parallel={tensor: 8, data: rest}"}) == 2);
  CHECK(replicas({"workload.parallel={tensor: 4, data: rest}"}) == 4);
  CHECK(replicas({"workload.parallel={tensor: 4, data: rest}", "nodes=6"}) == 12);
  // Three replicas of five ranks: one device is left, and said to be.
  CHECK(replicas({"workload.parallel={tensor: 1, pipeline: 5, data: rest}", "workload.pipeline_layers=[6,7,7,6,6]"}) ==
        3);
  CHECK(replicas({"workload.parallel={tensor: 8, data: rest}", "nodes=1"}) == 1);
}

TEST_CASE("selective recomputation that has nothing to make again is said") {
  CHECK(warnings_of({"workload.recompute=selective"}) ==
        Warnings{"'recompute: selective' changes nothing: selective computes the scores of attention again, and flash "
                 "attention keeps none (leave it out; or write workload.recompute: full, or workload.model.attention: "
                 "plain)"});
  CHECK(warnings_of({"workload.recompute=selective", "workload.model.attention=plain"}).empty());
  CHECK(warnings_of({"workload.recompute=selective", "workload.software=torchtitan-2025"}).empty());
  CHECK(warnings_of({"workload.recompute=full"}).empty());
}

TEST_CASE("factors that look like a share of a slowdown are said") {
  CHECK(warnings_of({"perturb={ranks: {5: {compute: 3 %}}}"}) ==
        Warnings{"perturb.ranks.5.compute: 0.03 makes computations 33.3 times as fast (it is a factor on times: write "
                 "1.03 for 3 % longer)"});
  CHECK(warnings_of({"perturb={ranks: {5: {compute: 12}}}"}).front().find("12 times as long") != std::string::npos);
  for (const char* usual : {"0.5", "1.03", "97 %", "10"})
    CHECK(warnings_of({fmt::format("perturb={{ranks: {{5: {{compute: {}}}}}}}", usual)}).empty());
  CHECK(warnings_of({"perturb={links: {nic.up: {bandwidth: 3 %}}}"}) ==
        Warnings{"perturb.links.nic.up.bandwidth: 3 % leaves a transfer 33.3 times as long (it is what is left of the "
                 "bandwidth: write 97 % for 3 % less)"});
  CHECK(warnings_of({"perturb={links: {nic.up: {bandwidth: 10 %}}}"}).empty());
}

TEST_CASE("links to NICs answer to their former name") {
  const TraceFolder folder;
  for (const auto& [former, now] : {std::pair("host.up", "pcie.up"), std::pair("host.down[3]", "pcie.down[3]"),
                                    std::pair("node1.gpu0.host.up", "node1.gpu0.pcie.up")}) {
    const auto fabric_of = [&](const char* name, Diagnostics& diagnostics) {
      return load_experiment(folder.write("x.yaml", kTwoNodes),
                             {fmt::format("perturb={{links: {{\"{}\": {{bandwidth: 50 %}}}}}}", name)}, kFiles,
                             diagnostics);
    };
    Diagnostics quiet, said;
    const Experiment a = fabric_of(now, quiet), b = fabric_of(former, said);
    CHECK(quiet.problems().empty());
    REQUIRE(said.problems().size() == 1);
    CHECK(said.problems()[0].message == fmt::format("perturb.links.{}: these links are now called '{}'", former, now));
    for (std::uint32_t i = 0; i < a.fabric.link_count(); ++i) {
      CHECK(a.fabric.link(LinkId(i)).bandwidth == b.fabric.link(LinkId(i)).bandwidth);
    }
  }
}

TEST_CASE("comm_group.json, or else groups.json, beside the traces holds their groups, unless another file is named") {
  const TraceFolder folder;
  const auto groups_of = [&](const char* chakra) {
    Diagnostics diagnostics;
    const Experiment experiment =
        load_experiment(folder.write("x.yaml", fmt::format("cluster: dgx-h100\nworkload: {{chakra: {}}}\n", chakra)),
                        {}, kFiles, diagnostics);
    const ConfigEntry* groups = experiment.resolved.find("workload")->value.find("chakra")->value.find("groups");
    const std::string trace = experiment.jobs.front().workload.trace.groups.value_or("none");
    return fmt::format("{} {}", groups == nullptr ? "none" : groups->value.scalar,
                       std::filesystem::path(trace).filename().string());
  };
  CHECK(groups_of("{prefix: traces/rank}") == "none none");
  folder.write("traces/groups.json", "{}");
  CHECK(groups_of("{prefix: traces/rank}") == "traces/groups.json groups.json");
  folder.write("traces/comm_group.json", "{}");
  CHECK(groups_of("{prefix: traces/rank}") == "traces/comm_group.json comm_group.json");
  CHECK(groups_of("{prefix: traces/rank, groups: traces/own.json}") == "traces/own.json own.json");
}

TEST_CASE("flash attention is the first advice where a job does not fit for its plain attention") {
  const TraceFolder folder;
  Diagnostics diagnostics;
  const Experiment experiment = load_experiment(
      folder.write("x.yaml",
                   "cluster: dgx-a100\nnodes: 1\nworkload:\n  model: gpt3-6.7b\n  software: megatron-2021\n"
                   "  parallel: {tensor: 8}\n  batch: {global: 16, micro: 16}\n"),
      {}, kFiles, diagnostics);
  try {
    check_memory(experiment, false, diagnostics);
    FAIL("it fits");
  } catch (const InputError& error) {
    CHECK(error.problems()[0].hint.starts_with("would fit with workload.model.attention: flash ("));
    CHECK(error.problems()[0].hint.find("`orrery search ") != std::string::npos);
  }
}

TEST_CASE("the search that a job is told of that does not fit is of what the command line says") {
  const TraceFolder folder;
  const std::string text =
      "cluster: dgx-a100\nworkload:\n  model: gpt3-6.7b\n  software: megatron-2021\n"
      "  parallel: {tensor: 8}\n  batch: {global: 16, micro: 16}\n";
  const auto hint_of = [](const Experiment& experiment) {
    Diagnostics diagnostics;
    try {
      check_memory(experiment, false, diagnostics);
    } catch (const InputError& error) {
      return error.problems()[0].hint;
    }
    return std::string();
  };
  Diagnostics diagnostics;
  const std::string file = folder.write("a b.yaml", text);
  Experiment experiment = load_experiment(file, {"nodes=1", "fold=off", "workload.model={like: gpt3-6.7b, heads: 32}"},
                                          kFiles, diagnostics);
  CHECK(hint_of(experiment)
            .find(fmt::format("`orrery search '{}' --nodes 1 --set 'workload.model={{like: gpt3-6.7b, "
                              "heads: 32}}'` looks for",
                              file)) != std::string::npos);
  experiment.file = "/dev/stdin";  // has been read by then
  CHECK_FALSE(hint_of(experiment).empty());
  CHECK(hint_of(experiment).find("orrery search") == std::string::npos);
  // An experiment that no command line makes has no command that could be named.
  const Experiment made =
      read_experiment(file, parse_config(text + "nodes: 1\n", file, diagnostics), kFiles, diagnostics);
  CHECK_FALSE(hint_of(made).empty());
  CHECK(hint_of(made).find("orrery search") == std::string::npos);
}

TEST_CASE("a job that fits its devices, but not with libraries and fragments, is warned of") {
  const TraceFolder folder;
  const auto problems_of = [&](const std::string& reserve) {
    Diagnostics diagnostics;
    const Experiment experiment = load_experiment(
        folder.write("x.yaml",
                     "cluster: dgx-a100\nnodes: 1\nworkload:\n  model: gpt3-6.7b\n  software: megatron-2022\n"
                     "  parallel: {tensor: 8}\n  batch: {global: 16, micro: 8}\n"),
        {"workload.software.footprint.reserve=" + reserve}, kFiles, diagnostics);
    CHECK(check_memory(experiment, false, diagnostics));
    return std::vector<Problem>(diagnostics.problems().begin(), diagnostics.problems().end());
  };
  CHECK(problems_of("0 B").empty());
  const std::vector<Problem> problems = problems_of("70 GiB");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].tight_memory);
  CHECK(problems[0].severity == Severity::kWarning);
  CHECK(problems[0].message.ends_with("its device has 80.00 GiB: it may run out"));
}

TEST_CASE("keys that change nothing are no warnings in a file that was calibrated") {
  const TraceFolder folder;
  const auto warnings_of = [&](const std::string& first_line) {
    Diagnostics diagnostics;
    load_experiment(
        folder.write("x.yaml", first_line + "cluster: dgx-a100\nnodes: 1\nworkload:\n  model: gpt3-6.7b\n"
                                            "  software: {like: megatron-2022, zero: 1}\n"
                                            "  parallel: {tensor: 2, zero: 1}\n  batch: {global: 16, micro: 1}\n"),
        {}, kFiles, diagnostics);
    return diagnostics.problems().size();
  };
  CHECK(warnings_of("") == 1);
  CHECK(warnings_of("# orrery calibrate a.log --cluster dgx-a100\n") == 0);
}

TEST_CASE("a job that is out of memory by software that nobody chose is told so") {
  const TraceFolder folder;
  const auto message_of = [&](const std::string& cluster, const std::vector<std::string>& settings) {
    Diagnostics diagnostics;
    const Experiment experiment = load_experiment(
        folder.write("x.yaml", "cluster: " + cluster +
                                   "\nnodes: 4\nworkload:\n  model: llama3-70b\n  parallel: {tensor: 8, pipeline: 4}\n"
                                   "  batch: {global: 64, micro: 8}\n"),
        settings, kFiles, diagnostics);
    CHECK_FALSE(check_memory(experiment, true, diagnostics));
    return diagnostics.problems().back().message;
  };
  const std::string by_default =
      "; software megatron-2022 (default on ampere): plain attention, no sequence parallelism";
  const std::string key = "workload.software";
  CHECK(message_of("dgx-a100", {}).ends_with(by_default));
  CHECK(message_of("dgx-a100", {key + ".dropout=true"}).ends_with(by_default));  // a change of a key of the default
  CHECK(message_of("dgx-a100", {"workload.parallel.sequence=true"}).ends_with("(default on ampere): plain attention"));
  CHECK(message_of("dgx-a100", {key + "=megatron-2022"}).find("default on") == std::string::npos);
  // Software by default that saves what it can is not to blame.
  CHECK(message_of("dgx-h100", {"workload.batch.micro=64"}).find("default on") == std::string::npos);
}
