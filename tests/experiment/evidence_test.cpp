// SPDX-License-Identifier: MIT
// How well figures are known, and how much of the time rests on which.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "collectives/nccl/constants_config.h"
#include "core/config/dispatch.h"
#include "experiment/evidence/figures.h"
#include "experiment/runs/run.h"
#include "network/fabric/link_type.h"
#include "system/devices/device.h"
#include "tests/shipped_files.h"
#include "workload/training/spec/software.h"

using namespace orrery;
using namespace orrery::experiment;
using report::EvidenceKind;

namespace {

class FiguresFolder {
 public:
  FiguresFolder() : path_(std::filesystem::temp_directory_path() / fmt::format("orrery-evidence-{}", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~FiguresFolder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

Run run_of(const std::string& text, const std::vector<std::string>& settings = {}) {
  const FiguresFolder folder;
  RunRequest request{.file = folder.write("x.yaml", text), .settings = settings};
  request.finds_path = true;
  return run_experiment(request, kFiles);
}

report::Evidence evidence_of_run(const std::string& text, const std::vector<std::string>& settings = {}) {
  return run_of(text, settings).result.evidence;
}

const report::EvidenceFigure& figure(const report::Evidence& evidence, std::string_view key) {
  const auto found = std::ranges::find(evidence.figures, key, &report::EvidenceFigure::key);
  REQUIRE(found != evidence.figures.end());
  return *found;
}

double share_of(const report::Evidence& evidence, std::string_view key) {
  return seconds(figure(evidence, key).time) / seconds(evidence.all());
}

// 2 * 1000 * 1000 * (880 + 120) operations, 120 of them to fill the pipeline (240 bytes of two each), at half of
// 2 TFLOP/s take 2 ms; the launch another 2 ms. Memory is too fast to matter.
constexpr const char* kProduct = R"(cluster:
  device:
    name: d
    peak: {bf16: 2 TFLOP/s}
    memory: {capacity: 80 GB, bandwidth: 100000 GB/s}
    compute:
      gemm: 50 %  # fitted: to long products
      gemm_launch: 2 ms  # assumed
      memory: 100 %
    source: a data sheet
  dims: [{topology: ring, size: 2, bandwidth: 1 GB/s, latency: 1 us}]
workload: {product: {m: 1000, n: 1000, k: 880}, ranks: 1}
)";

// A ring of two sends half of the data twice: 2 * 1 MB at 1 GB/s and 2 * 1 ms.
constexpr const char* kAllReduce = R"(cluster:
  device: a100-sxm-80gb
  dims:
    - topology: ring
      size: 2
      bandwidth: 1 GB/s  # fitted: to something
      latency: 1 ms  # measured
workload: {collective: all_reduce, size: 2 MB}
collectives: {algorithms: {all_reduce: [ring]}}
)";

constexpr const char* kTraining = R"(cluster: dgx-a100
nodes: 2
workload:
  model: {hidden: 1024, layers: 8, heads: 16, vocab: 1024, sequence: 512}
  parallel: {data: 8, tensor: 2}
  batch: {global: 32, micro: 1}
  software: megatron-2022
)";

}  // namespace

TEST_CASE("a product rests on its launch and on the rate of products") {
  const report::Evidence evidence = evidence_of_run(kProduct);
  CHECK(seconds(evidence.all()) == Approx(4e-3).epsilon(1e-6));
  CHECK(evidence.share(EvidenceKind::kAssumed) == Approx(0.5).epsilon(1e-3));
  CHECK(evidence.share(EvidenceKind::kFitted) == Approx(0.5).epsilon(1e-3));
  CHECK(evidence.share(EvidenceKind::kSourced) == Approx(0).margin(1e-3));  // memory
  CHECK(evidence.share(EvidenceKind::kGiven) == 0);
  CHECK(share_of(evidence, "cluster.device.compute.gemm") == Approx(0.5).epsilon(1e-3));
  CHECK(share_of(evidence, "cluster.device.peak.bf16") == Approx(0.5).epsilon(1e-3));  // in the same term
  CHECK(share_of(evidence, "cluster.device.compute.gemm_launch") == Approx(0.5).epsilon(1e-3));
  CHECK(figure(evidence, "cluster.device.compute.gemm").source == "to long products");
  CHECK(figure(evidence, "cluster.device.compute.gemm").where.line == 7);
}

TEST_CASE("--set moves a figure to given") {
  // A quarter of the peak takes 4 ms beside the launch's 2.
  const report::Evidence evidence = evidence_of_run(kProduct, {"cluster.device.compute.gemm=25 %"});
  CHECK(evidence.share(EvidenceKind::kAssumed) == Approx(1.0 / 3).epsilon(1e-3));
  CHECK(evidence.share(EvidenceKind::kGiven) == Approx(2.0 / 3).epsilon(1e-3));
  CHECK(evidence.share(EvidenceKind::kFitted) == 0);
  CHECK(figure(evidence, "cluster.device.compute.gemm").kind == EvidenceKind::kGiven);
  CHECK(place_text(figure(evidence, "cluster.device.compute.gemm")) == "--set cluster.device.compute.gemm=25 %");
}

TEST_CASE("a collective rests on the bandwidth and the latency of its links") {
  const report::Evidence evidence = evidence_of_run(kAllReduce);
  CHECK(seconds(evidence.all()) == Approx(4e-3).epsilon(1e-9));
  CHECK(evidence.share(EvidenceKind::kFitted) == Approx(0.5));
  CHECK(evidence.share(EvidenceKind::kMeasured) == Approx(0.5));
  CHECK(evidence.share(EvidenceKind::kAssumed) == 0);
  CHECK(share_of(evidence, "cluster.dims[0].bandwidth") == Approx(0.5));
  CHECK(share_of(evidence, "cluster.dims[0].latency") == Approx(0.5));
}

TEST_CASE("a call of NCCL rests on its constants, in the order of their times") {
  // 8 B by LL's ring or tree: launch and steps only, of which the bytes are a millionth.
  const report::Evidence evidence =
      evidence_of_run("cluster: dgx-a100\nnodes: 1\nworkload: {collective: all_reduce, size: 8 B}\n");
  double latency = 0;
  for (const report::EvidenceFigure& one : evidence.figures)
    if (one.key.starts_with("collectives.constants.launch") || one.key.starts_with("collectives.constants.base.") ||
        one.key.starts_with("collectives.constants.hop.") || one.key == "cluster.node.fabric.latency")
      latency += seconds(one.time);
  CHECK(latency == Approx(seconds(evidence.all())).epsilon(0.01));
  // Constants that do not act have no share: those of the network on one node, and of Hopper.
  CHECK(figure(evidence, "collectives.constants.hop.network.ll").time == Duration::zero());
  // One measured on the cluster replaces the library's.
  const report::Evidence own =
      evidence_of_run("cluster: dgx-a100\nnodes: 1\nworkload: {collective: all_reduce, size: 8 B}\n",
                      {"cluster.nccl={base: {ring: {ll: 5 us}, tree: {ll: 5 us}}}"});
  CHECK(own.share(EvidenceKind::kGiven) > 0.1);
}

TEST_CASE("launches on the path rest on the host") {
  // A millisecond a kernel: the device waits for nothing else, but that each kernel runs behind its launch.
  const Run run = run_of(kTraining, {"workload.software.host.launch=1 ms"});
  const report::Evidence& evidence = run.result.evidence;
  Duration host{};
  for (const report::PathShare& part : run.result.path)
    if (part.what == "host") host += part.time;
  CHECK(figure(evidence, "workload.software.host.launch").time == host);
  CHECK(share_of(evidence, "workload.software.host.launch") > 0.9);
  // Kernels of an operator are an assumption of megatron-2022, which counts more than that the time is given.
  CHECK(evidence.share(EvidenceKind::kAssumed) > 0.9);
}

TEST_CASE("shares add up to the time, and do not depend on folding") {
  for (const char* settings : {"workload.parallel={pipeline: 4, tensor: 2, data: 2}", "workload.recompute=full"}) {
    const report::Evidence folded = evidence_of_run(kTraining, {settings});
    const report::Evidence unfolded = evidence_of_run(kTraining, {settings, "fold=off"});
    const Run run = run_of(kTraining, {settings});
    CHECK(seconds(folded.all()) == Approx(seconds(run.result.finish)).epsilon(1e-9));
    for (std::size_t kind = 0; kind < report::kEvidenceKinds; ++kind)
      CHECK(seconds(folded.time[kind]) == Approx(seconds(unfolded.time[kind])).epsilon(1e-9));
    CHECK(seconds(folded.other) < 0.01 * seconds(folded.all()));
  }
}

TEST_CASE("a default is assumed, and one that changes nothing rests nothing on it") {
  const report::Evidence evidence = evidence_of_run(
      "cluster:\n  device: {name: d, peak: {bf16: 2 TFLOP/s}, memory: {capacity: 80 GB, bandwidth: 1 TB/s}}\n"
      "  dims: [{topology: ring, size: 2, bandwidth: 1 GB/s, latency: 1 us}]\n"
      "workload: {product: {m: 4096, n: 4096, k: 4096}, ranks: 1}\n");
  CHECK(figure(evidence, "cluster.device.compute.gemm").is_default);
  CHECK(figure(evidence, "cluster.device.compute.gemm").kind == EvidenceKind::kAssumed);
  CHECK(share_of(evidence, "cluster.device.compute.gemm") > 0.9);
  CHECK(std::ranges::find(evidence.figures, "cluster.device.compute.clock", &report::EvidenceFigure::key) ==
        evidence.figures.end());  // 100 %
  CHECK(evidence.share(EvidenceKind::kAssumed) == Approx(1));
}

namespace {

std::map<std::string, Figure> figures_in(const std::string& text, const std::string& name = "d.yaml") {
  const FiguresFolder folder;
  Diagnostics diagnostics;
  const ConfigFiles files("/nowhere");
  const ConfigValue root = files.load(folder.write(name, text), {}, diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  std::map<std::string, Figure> figures;
  for (Figure& one : find_figures(root, {}, "", files)) figures.emplace(one.shown.key, one);
  return figures;
}

}  // namespace

TEST_CASE("comments and lists say of what kind a figure is") {
  const auto figures = figures_in(
      "a: 1 GB/s\n"
      "b: 2 us  # assumed: as others\n"
      "c: {d: 3 GB/s, e: 4 us}  # fitted to a log\n"
      "f: 5 us\n"
      "g:  # measured: twice\n"
      "  h: 6 us\n"
      "rates: {gemm: 0.8, flash_forward: 0.5}\n"
      "i: \"7 us # no comment\"\n"
      "fp8: {operand: 6 B}\n"
      "assumed: [f]\n"
      "fitted: [gemm, fp8]\n"
      "source: [x, y]\n");
  const auto kind = [&](const std::string& key) { return figures.at(key).shown.kind; };
  CHECK(kind("a") == EvidenceKind::kSourced);
  CHECK(figures.at("a").shown.source == "x; y");
  CHECK(kind("b") == EvidenceKind::kAssumed);
  CHECK(figures.at("b").shown.source == "as others");
  CHECK(kind("c.d") == EvidenceKind::kFitted);
  CHECK(figures.at("c.e").shown.source == "to a log");
  CHECK(kind("f") == EvidenceKind::kAssumed);
  CHECK(figures.at("f").shown.source.empty());  // the file's sources do not say it
  CHECK(figures_in("a: 1 us\nsource: u/v, w; z\n").at("a").shown.citations == std::vector<std::string>{"u/v, w", "z"});
  CHECK(kind("g.h") == EvidenceKind::kMeasured);
  CHECK(kind("rates.gemm") == EvidenceKind::kFitted);
  CHECK(kind("rates.flash_forward") == EvidenceKind::kSourced);
  CHECK(kind("i") == EvidenceKind::kSourced);
  CHECK(kind("fp8.operand") == EvidenceKind::kSourced);  // the constant of `rates` is meant
  CHECK(figures.at("f").agrees);
  CHECK(figures_in("a: 1 us\n").at("a").shown.kind == EvidenceKind::kGiven);  // without a source
  CHECK_FALSE(figures_in("a: 1 us  # fitted\nassumed: [a]\nsource: x\n").at("a").agrees);
  CHECK_FALSE(figures_in("a: 1 us\nassumed: [a]\nfitted: [a]\nsource: x\n").at("a").agrees);
}

namespace {

// Words of a list in a file.
std::vector<std::string> list_of(const ConfigValue& map, std::string_view key) {
  const ConfigEntry* entry = map.find(key);
  std::vector<std::string> words;
  if (entry == nullptr) return words;
  for (const ConfigValue& item : entry->value.items) words.push_back(item.scalar);
  if (entry->value.kind == ConfigValue::Kind::kScalar) words.push_back(entry->value.scalar);
  return words;
}

}  // namespace

TEST_CASE("every figure of the shipped files is of one kind") {
  std::size_t count = 0;
  for (const std::string folder :
       {"devices", "links", "networks", "nodes", "clusters", "software", "libraries", "dispatch"})
    for (const std::string& name : kFiles.names(folder)) {
      INFO(folder + "/" + name);
      Diagnostics diagnostics;
      const ConfigValue root = kFiles.load(kFiles.shipped() / folder / (name + ".yaml"), {}, diagnostics);
      const std::vector<Figure> figures = find_figures(root, {}, "", kFiles);
      for (const Figure& one : figures) {
        INFO(one.shown.key);
        ++count;
        CHECK(one.agrees);
        CHECK(one.shown.kind != EvidenceKind::kGiven);
        CHECK(one.shown.where.file == fmt::format("configs/{}/{}.yaml", folder, name));
        if (one.shown.kind != EvidenceKind::kSourced) continue;
        const bool is_told =
            std::ranges::any_of(one.shown.citations, [](const std::string& s) { return s != "assumed"; });
        CHECK((is_told || (!one.shown.source.empty() && one.shown.source != "assumed")));
      }
    }
  CHECK(count > 2200);
}

TEST_CASE("what shipped software and libraries list as assumed or fitted are keys of theirs") {
  const auto read = [](const std::string& folder, const std::string& name, const Section::Read& reader) {
    INFO(folder + "/" + name);
    Diagnostics diagnostics;
    const ConfigValue file = kFiles.load(kFiles.shipped() / folder / (name + ".yaml"), {}, diagnostics);
    ConfigValue root = file;
    ConfigContext context(kFiles, diagnostics);
    read_config(root, context, reader);
    CHECK_FALSE(diagnostics.has_errors());
    for (const char* list : {"assumed", "fitted"})
      for (const std::string& word : list_of(file, list)) {
        if (folder == "software" && std::string(list) == "fitted") continue;  // its reader checks them
        INFO(word);
        ConfigValue* at = &root;
        for (const std::string& step : split_key_path(word)) at = at == nullptr ? nullptr : element_of(*at, step);
        CHECK(at != nullptr);
      }
    return file;
  };
  for (const std::string& name : kFiles.names("software"))
    read("software", name, [](Section& s) { workload::read_software(s); });
  for (const std::string& name : kFiles.names("dispatch")) read("dispatch", name, [](Section& s) { read_dispatch(s); });
  // The library has the former value of each constant that was fitted.
  const ConfigValue library = read("libraries", "nccl", [](Section& s) { collectives::read_nccl_constants(s); });
  std::vector<std::string> formers;
  const std::function<void(const ConfigValue&, const std::string&)> walk = [&](const ConfigValue& map,
                                                                               const std::string& path) {
    for (const ConfigEntry& entry : map.entries) {
      const std::string here = path.empty() ? entry.key : path + "." + entry.key;
      if (entry.value.kind == ConfigValue::Kind::kMap)
        walk(entry.value, here);
      else
        formers.push_back(here);
    }
  };
  walk(library.find("nominal")->value, "");
  const std::vector<std::string> fitted = list_of(library, "fitted");
  const auto is_below = [](const std::string& path, const std::string& key) {
    return path == key || path.starts_with(key + ".");
  };
  for (const std::string& former : formers) {
    INFO(former);
    CHECK(std::ranges::any_of(fitted, [&](const std::string& key) { return is_below(former, key); }));
  }
  for (const std::string& key : fitted) {
    INFO(key);
    CHECK(std::ranges::any_of(formers, [&](const std::string& former) { return is_below(former, key); }));
  }
}

TEST_CASE("evidence of a term is that of its weakest figure, where nothing was fitted beside it") {
  using enum EvidenceKind;
  const auto of = [](std::vector<EvidenceKind> kinds) { return report::evidence_of(kinds); };
  CHECK(of({kSourced, kFitted}) == kFitted);
  CHECK(of({kSourced, kMeasured}) == kMeasured);
  CHECK(of({kMeasured, kFitted}) == kFitted);
  CHECK(of({kFitted, kAssumed}) == kAssumed);
  CHECK(of({kGiven, kFitted}) == kGiven);
  CHECK(of({kGiven, kAssumed}) == kAssumed);
  CHECK(of({kSourced, kSourced}) == kSourced);
}

TEST_CASE("sources as BibTeX have fields and no character that BibTeX takes for its own") {
  report::Evidence evidence;
  evidence.figures.push_back({"a",
                              "1",
                              {"configs/a.yaml", 3, 1},
                              EvidenceKind::kSourced,
                              false,
                              "x & y_z, 50 %",
                              {"Kort {et} al., arXiv 2205.05198", "NVIDIA/nccl, src/graph/topo.h"},
                              {}});
  evidence.figures.push_back({"b",
                              "1",
                              {"configs/b.yaml", 3, 1},
                              EvidenceKind::kFitted,
                              false,
                              "arXiv 2104.04473_v1",
                              {"NVIDIA/nccl, src/graph/topo.h", "assumed"},
                              {}});
  evidence.figures.push_back({"c", "1", {}, EvidenceKind::kAssumed, true, "default of Orrery", {"ignored"}, {}});
  // The same preprint in other words beside a figure, and a site.
  evidence.figures.push_back({"d",
                              "1",
                              {"configs/a.yaml", 4, 1},
                              EvidenceKind::kSourced,
                              false,
                              "arXiv 2205.05198: table 4",
                              {"Kort {et} al., arXiv 2205.05198"},
                              {}});
  evidence.figures.push_back(
      {"e", "1", {"configs/b.yaml", 4, 1}, EvidenceKind::kSourced, false, "", {"a.com/b/c"}, {}});
  CHECK(report::sources_bibtex(evidence) ==
        "@misc{nvidia-nccl-src-graph,\n"
        "  title = {NVIDIA/nccl, src/graph/topo.h},\n"
        "  url = {https://github.com/NVIDIA/nccl},\n"
        "  note = {figures of configs/a.yaml, configs/b.yaml},\n"
        "}\n\n"
        "@misc{a-com-b-c,\n"
        "  title = {a.com/b/c},\n"
        "  url = {https://a.com/b/c},\n"
        "  note = {a figure of configs/b.yaml},\n"
        "}\n\n"
        "@misc{arxiv-2104.04473,\n"
        "  title = {arXiv 2104.04473\\_v1},\n"
        "  eprint = {2104.04473},\n"
        "  archiveprefix = {arXiv},\n"
        "  note = {a figure of configs/b.yaml},\n"
        "}\n\n"
        "@misc{arxiv-2205.05198,\n"
        "  title = {Kort \\{et\\} al., arXiv 2205.05198},\n"
        "  eprint = {2205.05198},\n"
        "  archiveprefix = {arXiv},\n"
        "  note = {figures of configs/a.yaml},\n"
        "}\n");
  const nlohmann::ordered_json json = report::to_json(evidence, true);
  CHECK(json["figures"].size() == 5);
  CHECK(report::to_json(evidence, false)["figures"].empty());  // no time rests on them
}

TEST_CASE("a product rests on the share of its own format, and on that of its stage") {
  // A quarter of 2 TFLOP/s takes 4 ms beside the launch's 2; compute.gemm is of other formats.
  const report::Evidence evidence = evidence_of_run(
      kProduct, {"workload.precision=fp16", "cluster.device.peak.fp16=2 TFLOP/s", "cluster.device.compute.fp16=25 %"});
  CHECK(share_of(evidence, "cluster.device.compute.fp16") == Approx(2.0 / 3).epsilon(1e-3));
  CHECK(evidence.share(EvidenceKind::kGiven) == Approx(2.0 / 3).epsilon(1e-3));
  CHECK(evidence.share(EvidenceKind::kFitted) == 0);
  const report::Evidence training = evidence_of_run(kTraining, {"cluster.node.device.compute.weight_gradient=0.9"});
  const double all = share_of(training, "cluster.node.device.compute.gemm");
  // A third of the products' time: as many FLOPs as each of the other two stages.
  CHECK(share_of(training, "cluster.node.device.compute.weight_gradient") == Approx(all / 3).epsilon(0.3));
}

TEST_CASE("what a job leaves to its software is known as the software's file knows it") {
  std::string job = kTraining;
  job.replace(job.find("megatron-2022"), 13, "megatron-2025");
  Diagnostics diagnostics;
  const Experiment experiment =
      read_experiment("x.yaml", parse_config(job, "x.yaml", diagnostics), kFiles, diagnostics);
  const std::vector<report::EvidenceFigure> assumptions =
      find_assumptions(experiment.resolved, experiment.idle_keys, "x.yaml", kFiles);
  for (const char* key : {"workload.parallel.zero", "workload.parallel.sequence"}) {
    INFO(key);
    const auto found = std::ranges::find(assumptions, key, &report::EvidenceFigure::key);
    REQUIRE(found != assumptions.end());
    CHECK(found->kind == EvidenceKind::kSourced);
    CHECK(found->where.file == "configs/software/megatron-2025.yaml");
    CHECK_FALSE(found->is_default);
  }
}

TEST_CASE("a software that nobody names has the evidence of its file") {
  const std::string job =
      "cluster: gb200-nvl72\nworkload: {model: llama3-8b, parallel: {tensor: 1, data: 8}, batch: {global: 8, micro: 1}";
  const report::Evidence unnamed = evidence_of_run(job + "}\n");
  const report::Evidence named = evidence_of_run(job + ", software: megatron-2025}\n");
  CHECK(figure(unnamed, "workload.software.rates_of.blackwell.gemm").time > Duration::zero());
  CHECK(unnamed.time == named.time);
}
