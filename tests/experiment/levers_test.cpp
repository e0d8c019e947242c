// SPDX-License-Identifier: MIT
// Levers that save memory: each exists in some job and saves memory there; what the hint of a job that does not fit
// names does fit.
#include "experiment/plans/levers.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "core/config/other_names.h"
#include "core/config/quantity_text.h"
#include "experiment/experiment.h"
#include "experiment/job.h"
#include "experiment/plans/job_editor.h"
#include "tests/shipped_files.h"
#include "workload/training/program/generate_job.h"

using namespace orrery;
using namespace orrery::experiment;

namespace {

Experiment edited(const std::string& text, const std::vector<std::string>& settings = {}) {
  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  spell_out_names(root, kFiles, diagnostics);
  for (const std::string& setting : settings) apply_setting(root, setting, kFiles, diagnostics);
  return read_experiment("x.yaml", std::move(root), kFiles, diagnostics);
}

Bytes need_of(const workload::TrainingSpec& training) {
  Bytes most;
  for (const workload::MemoryNeed& need : workload::memory_needs(training)) most = std::max(most, need.total());
  return most;
}

std::string hint_of(const Experiment& experiment) {
  Diagnostics diagnostics;
  try {
    check_memory(experiment, false, diagnostics);
  } catch (const InputError& error) {
    return error.problems()[0].hint;
  }
  return {};
}

struct Remedy {
  std::vector<std::string> settings;
  std::string need;  // "70 GiB"
  bool may_run_out = false;
};

// Parses "workload.a: b and workload.c: d (70 GiB, may run out)".
Remedy remedy_of(std::string text) {
  Remedy remedy;
  const std::size_t figure = text.find(" (");
  REQUIRE(figure != std::string::npos);
  remedy.need = text.substr(figure + 2, text.find_first_of(",)", figure) - figure - 2);
  remedy.may_run_out = text.find(", may run out)") != std::string::npos;
  text.resize(figure);
  while (!text.empty()) {
    const std::size_t end = text.find(" and ");
    std::string setting = text.substr(0, end);
    setting.replace(setting.find(": "), 2, "=");
    remedy.settings.push_back(setting);
    text = end == std::string::npos ? std::string() : text.substr(end + 5);
  }
  return remedy;
}

// Parses all remedies of "would fit with ..., or ...; --allow-oom ...".
std::vector<Remedy> remedies_of(const std::string& hint) {
  const std::string begin = "would fit with ";
  REQUIRE(hint.starts_with(begin));
  std::string text = hint.substr(begin.size(), hint.find("; --allow-oom") - begin.size());
  std::vector<Remedy> remedies;
  while (!text.empty()) {
    const std::size_t end = text.find(", or ");
    remedies.push_back(remedy_of(text.substr(0, end)));
    text = end == std::string::npos ? std::string() : text.substr(end + 5);
  }
  return remedies;
}

constexpr const char* kJob =
    "cluster: {}\nnodes: {}\nworkload:\n  model: {}\n  software: {}\n  parallel: {{{}}}\n"
    "  batch: {{global: 64, micro: {}}}\n{}";

}  // namespace

TEST_CASE("every lever saves memory in some job") {
  std::set<std::string_view> saving;
  for (const std::string& text :
       {fmt::format(kJob, "dgx-a100", 2, "gpt3-13b", "megatron-2021", "tensor: 2, data: 8", 4, ""),
        fmt::format(kJob, "dgx-a100", 2, "llama2-13b", "megatron-2022", "data: 16, zero: 3, shard: 4", 1, ""),
        fmt::format(kJob, "dgx-a100", 2, "llama2-7b", "megatron-2022", "pipeline: 2, data: 8", 1,
                    "  schedule: {kind: gpipe}\n"),
        fmt::format(kJob, "dgx-a100", 2, "mixtral-8x7b", "megatron-2022", "data: 16", 1, ""),
        fmt::format(kJob, "dgx-a100", 2, "mixtral-8x7b", "megatron-2022", "data: 16, expert: 8, expert_skew: 1", 1,
                    "  experts: {redundant: 8}\n"),
        fmt::format(kJob, "dgx-a100", 2, "mixtral-8x7b", "megatron-2022", "data: 16, expert: 8", 1,
                    "  experts: {capacity_factor: 2, pad_to_capacity: true}\n"),
        fmt::format(kJob, "dgx-h100", 2, "llama2-13b", "megatron-2024", "data: 16", 1,
                    "  precision: fp8\n  recipe: block\n")}) {
    const Experiment experiment = edited(text);
    const workload::TrainingSpec& training = *experiment.jobs.front().workload.training;
    const JobEditor editor(experiment, 0);
    for (const Lever& lever : memory_levers())
      for (const LeverEdit& edit : lever.edits({training, 8}))
        if (const auto other = editor.with(edit); other && need_of(*other) < need_of(training))
          saving.insert(lever.name);
  }
  for (const Lever& lever : memory_levers()) {
    CAPTURE(lever.name);
    CHECK(saving.contains(lever.name));
  }
}

TEST_CASE("parameters are kept cast where copies that are cast would go") {
  const Experiment experiment = edited(fmt::format(kJob, "dgx-h100", 2, "llama2-13b", "megatron-2024", "data: 16", 1,
                                                   "  precision: fp8\n  recipe: block\n"));
  workload::TrainingSpec training = *experiment.jobs.front().workload.training;
  REQUIRE(training.recipe);
  const auto has_lever = [&] {
    return std::ranges::any_of(memory_levers(), [&](const Lever& lever) {
      return std::ranges::any_of(lever.edits({training, 8}), [](const LeverEdit& edit) {
        return text_of(edit).find("recipe.parameters: true") != std::string::npos;
      });
    });
  };
  training.recipe->copies = Bytes(1);
  training.recipe->parameters = false;
  CHECK(has_lever());
  training.recipe->copies = Bytes(0);
  CHECK_FALSE(has_lever());
}

TEST_CASE("what the hint names fits, alone or as a pair") {
  for (const auto& [text, count] :
       {std::pair(fmt::format(kJob, "dgx-a100", 1, "gpt3-6.7b", "megatron-2022", "data: 8", 2, ""), 1U),
        std::pair(fmt::format(kJob, "dgx-a100", 16, "gpt3-175b", "megatron-2022", "tensor: 4, data: 32", 1, ""), 2U)}) {
    CAPTURE(text);
    const std::vector<Remedy> remedies = remedies_of(hint_of(edited(text)));
    const std::vector<std::string>& settings = remedies.front().settings;
    CHECK(settings.size() >= count);
    if (count == 2) CHECK(remedies.size() == 1);  // of pairs one is named
    CHECK(hint_of(edited(text, settings)).empty());
  }
}

TEST_CASE("a hint has the memory that comes out with its settings, and says where it may run out") {
  const std::string plain = "cluster: {}\nnodes: {}\nworkload: {{model: {}, gbs: {}{}}}\n";
  bool one_fits = false;
  for (const std::string& text :
       {fmt::format(fmt::runtime(plain), "dgx-h200", 32, "llama3-70b", 512, ""),
        fmt::format(fmt::runtime(plain), "dgx-h100", 32, "llama3-70b", 512, ""),
        fmt::format(fmt::runtime(plain), "dgx-h100", 32, "llama3-70b", 512, ", tp: 4, pp: 2"),
        fmt::format(fmt::runtime(plain), "dgx-h200", 8, "llama3-70b", 512, ""),
        fmt::format(fmt::runtime(plain), "mi300x-8", 4, "llama3-70b", 512, ""),
        fmt::format(fmt::runtime(plain), "l40s-pcie", 4, "llama3-8b", 128, ""),
        fmt::format(kJob, "dgx-a100", 1, "gpt3-6.7b", "megatron-2022", "data: 8", 2, ""),
        fmt::format(kJob, "dgx-a100", 16, "gpt3-175b", "megatron-2022", "tensor: 4, data: 32", 1, "")}) {
    CAPTURE(text);
    for (const Remedy& remedy : remedies_of(hint_of(edited(text)))) {
      CAPTURE(remedy.settings);
      const Experiment experiment = edited(text, remedy.settings);
      Diagnostics diagnostics;
      CHECK(check_memory(experiment, false, diagnostics));
      CHECK(rounded(need_of(*experiment.jobs.front().workload.training)) == remedy.need);
      CHECK(std::ranges::any_of(diagnostics.problems(), &Problem::tight_memory) == remedy.may_run_out);
      one_fits = one_fits || !remedy.may_run_out;
    }
  }
  CHECK(one_fits);
}

TEST_CASE("a change with which memory may run out is offered only where no other is left") {
  const std::string text = fmt::format(kJob, "dgx-a100", 1, "gpt3-6.7b", "megatron-2022", "data: 8", 2, "");
  const std::string hint = hint_of(edited(text));
  CHECK(hint.find("may run out") == std::string::npos);
  // Whatever is left, libraries take nearly all of the device.
  const std::string tight = hint_of(edited(text, {"workload.software.footprint.reserve=79.9 GiB"}));
  for (const Remedy& remedy : remedies_of(tight)) CHECK(remedy.may_run_out);
}

TEST_CASE("of the pairs of changes with which a job fits the one that costs least time is named") {
  const std::string text = fmt::format(kJob, "dgx-a100", 1, "llama3-70b", "megatron-2024", "tensor: 8, data: 1", 1, "");
  CHECK(hint_of(edited(text))
            .starts_with("would fit with workload.optimizer: adam-8bit and workload.offload.activations: 100 % ("));
}

TEST_CASE("the memory of a job is checked beside one that is no training") {
  const Experiment experiment = edited(
      "cluster: dgx-a100\nnodes: 2\njobs:\n  - {name: a, workload: {collective: all_reduce, size: 1 MiB, ranks: 8}}\n"
      "  - name: b\n    workload: {model: gpt3-13b, parallel: {data: 8}, batch: {global: 64, micro: 1}}\n");
  CHECK(hint_of(experiment).starts_with("would fit with "));
}
