// SPDX-License-Identifier: MIT
#include "experiment/docs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/files/read_file.h"

#include "experiment/experiment.h"

namespace orrery::experiment {
namespace {

constexpr std::string_view kIntroduction =
    "# Configuration\n\n"
    "`orrery list keys` prints this page from the readers of the program.\n\n"
    "An experiment is one YAML file (JSON is YAML). `--set a.b=v` changes a key from the command line; `--set a.b*=2` "
    "multiplies a\n"
    "quantity or a number, also one that is only a default. Paths on the command line are relative to the working "
    "directory. In the\n"
    "names of keys `[]` stands for each element of a list, `<NAME>` for a name of "
    "your choice.\n\n"
    "`orrery list schema > experiment.schema.json` writes the same as a JSON Schema, which is also installed, as "
    "`share/orrery/experiment.schema.json`:\n"
    "editors with a YAML language server complete and check keys of a file that begins with\n\n"
    "    # yaml-language-server: $schema=./experiment.schema.json\n\n"
    "| type | example | |\n|---|---|---|\n"
    "| bandwidth | `300 GB/s`, `200 Gb/s` | GB = 10^9 bytes, Gb or Gbit = 10^9 bits; a bare number is an error |\n"
    "| time | `700 ns`, `2.5 us` | ps, ns, us, ms, s |\n"
    "| long time | `50000 h`, `5 years` | as time, also min, h, d, years; at most 30000 years |\n"
    "| size | `25 MB`, `64 MiB` | MB = 10^6, MiB = 2^20 bytes |\n"
    "| rate | `312 TFLOP/s` | floating-point operations per second |\n"
    "| efficiency | `85 %` | above 0 %, at most 100 % |\n"
    "| number or share | `1.3`, `50 %` | |\n"
    "| whole number | `16` | the range stands behind it |\n"
    "| true \\| false | `true` | |\n"
    "| list of words | `[ring, direct]` | a lone word is a list of one |\n"
    "| map or path | `{a: 1}`, `my/file.yaml` | a path of a YAML file is relative to the file that names it |\n"
    "| map, path or name in FOLDER | `dgx-a100` | a bare name is a file of `configs/FOLDER`; "
    "`{like: NAME, key: value}` is that file with other values |\n"
    "| any | | Orrery ignores the value |\n\n"
    "A default of \"required\" means that the key must be there, \"optional\" that nothing takes its place.\n";

constexpr std::string_view kSweepChapter = "Sweep file";

// A part of the documents: the keys below one place, or below several places that take the same keys.
struct Chapter {
  std::string_view title;
  std::string_view about;
  std::vector<std::string_view> places;
};

// In the order in which a user meets them.
const std::array kChapters = std::to_array<Chapter>({
    {"Experiment", "The keys of an experiment file.", {""}},
    {"Workload: a model to train",
     "The job is generated from a model and its parallelism. The keys of a collective, and those that name traces to "
     "replay, stand at the end.",
     {"workload."}},
    {"Model", "A file of `configs/models`, or the same keys in the experiment.", {"workload.model."}},
    {"Software",
     "A file of `configs/software`, or the same keys in the experiment.",
     {"workload.software.", "workload.product.software."}},
    {"Workload: traces to replay",
     "The job is read from Chakra execution traces, or from profiles of PyTorch (`workload.profile`).",
     {"workload.chakra."}},
    {"Workload: tables of layers",
     "The job is read from a text workload of ASTRA-sim 1.0 or SimAI; `workload.goal` takes a schedule in GOAL.",
     {"workload.layers."}},
    {"Cluster",
     "A file of `configs/clusters`, or the same keys in the experiment: nodes and what joins them, or `dims`.",
     {"cluster."}},
    {"Dimensions", "An abstract fabric: each element of `cluster.dims` is one dimension.", {"cluster.dims[]."}},
    {"Node", "A file of `configs/nodes`, or the same keys in a cluster.", {"cluster.node."}},
    {"Device",
     "A file of `configs/devices`, or the same keys in a node or in a cluster of `dims`.",
     {"cluster.node.device.", "cluster.device."}},
    {"Fabric of a node", "The topology that joins the devices of a node.", {"cluster.node.fabric."}},
    {"NICs of a node", "The NICs that join a node to the others.", {"cluster.node.nics."}},
    {"Scale-out fabric", "The topology that joins the NICs of all nodes.", {"cluster.scale_out."}},
    {"Links of an edge list",
     "The links of the topology `edge-list`, one by one.",
     {"cluster.node.links[].", "cluster.node.fabric.links[].", "cluster.scale_out.links[].",
      "cluster.dims[].links[]."}},
    {"Kinds of links",
     "A file of `configs/links`, or the same keys where a link is described.",
     {"cluster.node.fabric.link.", "cluster.node.fabric.links[].link.", "cluster.node.links[].link.",
      "cluster.node.nics.host_link.", "cluster.node.device.nvlink.", "cluster.node.device.pcie.",
      "cluster.scale_out.links[].link.", "cluster.dims[].link.", "cluster.dims[].links[].link.",
      "cluster.device.nvlink.", "cluster.device.pcie."}},
    {"Network of the NICs",
     "A file of `configs/networks`, or the same keys in a cluster.",
     {"cluster.scale_out.network."}},
    {"Network model", "How messages share the links.", {"network."}},
    {"Collectives", "The library that runs collectives, and its choices.", {"collectives."}},
    {"Dispatch of tokens",
     "A file of `configs/dispatch`, or the same keys in an experiment.",
     {"workload.experts.dispatch.", "workload.exchange.dispatch."}},
    {"Memory", "Memory outside the devices, for MEM nodes of traces, input and checkpoints.", {"memory."}},
    {"Perturbation", "Slow or late ranks, noise, and slow links.", {"perturb."}},
    {kSweepChapter, "The keys of a sweep file, which `orrery sweep` takes; they stand in no experiment.", {}},
    {"NCCL's constants",
     "A file of `configs/libraries`, with all constants. A cluster file has those that were measured on it: there "
     "every\nconstant is optional.",
     {"collectives.constants.", "cluster.nccl."}},
});

// A cell must not end the table's column.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string row(std::string_view name, const KeyDescription& key) {
  const std::string type = key.range.empty() ? key.type : fmt::format("{}, {}", key.type, key.range);
  return fmt::format("| `{}` | {} | {} | {} |\n", name, cell(type), cell(key.fallback), cell(key.meaning));
}

// The number of the chapter of the keys below `path`; behind all of them if there is none.
std::ptrdiff_t chapter_below(const std::string& path) {
  const std::string place = path + ".";
  const auto is_below = [&](const Chapter& chapter) { return std::ranges::count(chapter.places, place) > 0; };
  return std::ranges::find_if(kChapters, is_below) - kChapters.begin();
}

// Keys in the order of the chapters below them, each of which is looked up once.
std::vector<KeyDescription> by_chapter_below(std::vector<KeyDescription> keys) {
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> order;
  for (std::size_t i = 0; i < keys.size(); ++i) order.emplace_back(chapter_below(keys[i].path), i);
  std::ranges::sort(order);
  std::vector<KeyDescription> sorted;
  for (const auto& [chapter, i] : order) sorted.push_back(std::move(keys[i]));
  return sorted;
}

// Anchor by which links reach a heading of Markdown.
std::string anchor_of(std::string_view title) {
  std::string anchor;
  for (const char c : title) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c == ' ' || c == '-')
      anchor += '-';
  }
  return anchor;
}

// Text of several places of keys: `a`, `b`. Without the dot at their ends.
std::string places_text(std::span<const std::string_view> places) {
  std::string text;
  for (const std::string_view place : places)
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", place.substr(0, place.size() - 1));
  return text;
}

}  // namespace

DocumentedKey documented_key(std::string_view path) {
  DocumentedKey found{kChapters.front().title, "", path};
  for (const Chapter& chapter : kChapters)
    for (const std::string_view place : chapter.places)
      if (path.starts_with(place) && place.size() >= found.place.size())
        found = {chapter.title, place, chapter.places.size() == 1 ? path : path.substr(place.size())};
  return found;
}

std::string configuration_docs(const ConfigFiles& files, std::span<const KeyDescription> sweep) {
  const std::vector<KeyDescription> keys = by_chapter_below(describe_configuration(files));
  std::vector<DocumentedKey> places;
  for (const KeyDescription& key : keys) places.push_back(documented_key(key.path));
  std::string text = std::string(kIntroduction) + "\n## Contents\n\n";
  for (const Chapter& chapter : kChapters)
    text += fmt::format("* [{}](#{})\n", chapter.title, anchor_of(chapter.title));
  for (const Chapter& chapter : kChapters) {
    text += fmt::format("\n## {}\n\n{}\n", chapter.title, chapter.about);
    if (chapter.places.size() > 1) text += fmt::format("They stand in {}.\n", places_text(chapter.places));
    text += "\n| key | type | default | meaning |\n|---|---|---|---|\n";
    std::set<std::string> rows;  // fat trees and rails have keys in common
    const auto add = [&](std::string_view name, const KeyDescription& key) {
      const auto [written, is_new] = rows.insert(row(name, key));
      if (is_new) text += *written;
    };
    if (chapter.title == kSweepChapter)
      for (const KeyDescription& key : sweep) add(key.path, key);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (places[i].chapter == chapter.title && places[i].place == chapter.places.front()) add(places[i].name, keys[i]);
  }
  return text;
}

std::string first_comment(const ConfigFiles& files, const std::string& folder, const std::string& name) {
  const std::string text = beginning_of_file((files.shipped() / folder / (name + ".yaml")).string(), 4096);
  const std::string line = text.substr(0, text.find('\n'));
  return line.starts_with("# ") ? line.substr(2) : std::string();
}

}  // namespace orrery::experiment
