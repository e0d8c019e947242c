// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "astra/answer/convert.h"
#include "astra/input/inputs.h"
#include "cli/output.h"
#include "cli/session.h"
#include "core/config/config.h"
#include "core/config/quantity_text.h"
#include "core/config/text.h"
#include "core/files/input_files.h"
#include "core/files/json.h"
#include "core/files/read_file.h"
#include "core/files/shell_word.h"
#include "core/files/xml.h"
#include "experiment/recorded_run.h"
#include "experiment/sections.h"
#include "network/config/cluster.h"
#include "network/config/matrix.h"
#include "network/fabric/measures.h"
#include "network/fabric/summary.h"
#include "network/import/imported_node.h"
#include "network/import/nccl_graphs.h"
#include "network/import/nccl_topology.h"
#include "network/import/rocm_topology.h"
#include "network/import/simai_topology.h"
#include "report/table.h"

namespace orrery::cli {
namespace {

struct ClusterOptions {
  std::string cluster;
  std::string nodes;  // empty: the cluster's own number
  bool dot = false;
};

constexpr std::uint32_t kMostDrawn = 20'000;  // links; beyond, Graphviz takes for ever

std::string vertices_text(const network::Fabric& fabric, const network::FabricSummary& summary) {
  std::string text;
  for (const network::VertexKind& kind : summary.vertices)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind.count, kind.name);
  return fmt::format("{} devices, {} vertices ({}), {} directed links\n", fabric.device_count(), fabric.vertex_count(),
                     text, fabric.link_count());
}

std::string dimensions_text(const network::Fabric& fabric) {
  std::string text;
  for (const network::LogicalDimension& dimension : fabric.dimensions())
    text += fmt::format("  {}: {}, {}\n", dimension.name, dimension.size, dimension.topology);
  return text;
}

std::string links_text(const network::Fabric& fabric, const network::FabricSummary& summary) {
  report::Table table({"class", "from", "to"}, {"links", "bandwidth", "efficiency", "latency"});
  for (const network::LinkKind& kind : summary.links)
    table.row({fabric.link_classes()[kind.link.link_class], kind.from, kind.to, fmt::format("{}", kind.count),
               to_text(kind.link.nominal), to_text(kind.link.efficiency), to_text(kind.link.latency)});
  return table.text();
}

// Measures of a fabric that is small enough for them.
std::string measures_text(const network::Fabric& fabric) {
  std::string text;
  if (const auto diameter = network::diameter_of(fabric))
    text += fmt::format("  diameter: {}, {}\n", counted(diameter->links, "link"), to_text(diameter->latency));
  if (const auto bisection = network::bisection_of(fabric))
    text += fmt::format("  bisection: {:.6g} GB/s\n", static_cast<double>(bisection->count()) / 1e9);
  if (text.empty()) return {};
  return "\nBetween devices (at most of any two; from half of them to the other half, one way, as messages get it)\n" +
         text;
}

double cost_of(const std::vector<network::KindCost>& costs) {
  double sum = 0;
  for (const network::KindCost& cost : costs) sum += static_cast<double>(cost.count) * cost.each;
  return sum;
}

std::string costs_text(const network::Fabric& fabric) {
  const std::vector<network::KindCost> costs = network::costs_of(fabric);
  if (costs.empty()) return {};
  report::Table table({"kind"}, {"count", "each", "cost"});
  const auto amount = [](double price) { return fmt::format("{:.2f}", price); };
  for (const network::KindCost& cost : costs)
    table.row({cost.kind, fmt::format("{}", cost.count), amount(cost.each),
               amount(static_cast<double>(cost.count) * cost.each)});
  table.row({"together", "", "", amount(cost_of(costs))});
  return "\nCost (of what has a price)\n" + table.text();
}

// `types`: of devices, where there are several.
std::string text_of(const network::Fabric& fabric, const ConfigValue& root, const std::string& types) {
  const network::FabricSummary summary = network::summarise(fabric);
  std::string text = vertices_text(fabric, summary) + (types.empty() ? "" : types + "\n") + "\nDimensions\n" +
                     dimensions_text(fabric) +
                     "\nLinks (of each, one way; efficiency: the share of the nominal bandwidth that messages get)\n" +
                     links_text(fabric, summary) + measures_text(fabric) + costs_text(fabric);
  const std::vector<std::string> assumed = network::assumed_figures(root);
  if (!assumed.empty()) text += "\nAssumed: figures that were not read in a source\n";
  for (const std::string& figure : assumed) text += "  " + figure + "\n";
  return text;
}

// Fewer nodes, if a drawing of two has place for their links.
std::string hint_to_draw(const network::Fabric& fabric) {
  const auto dimensions = fabric.dimensions();
  const bool of_nodes = dimensions.back().name == "nodes";
  const std::uint64_t nodes = of_nodes ? dimensions.back().size : 1;
  return nodes > 2 && 2 * (fabric.link_count() / nodes) <= kMostDrawn ? "draw fewer nodes: --nodes 2" : "";
}

nlohmann::ordered_json document_of(const std::string& cluster, const network::Fabric& fabric, const ConfigValue& root,
                                   const std::string& types) {
  const network::FabricSummary summary = network::summarise(fabric);
  nlohmann::ordered_json document = {{"schema", "orrery.cluster/1"},
                                     {"cluster", cluster},
                                     {"devices", fabric.device_count()},
                                     {"vertices", nlohmann::ordered_json::object()},
                                     {"dimensions", nlohmann::ordered_json::array()},
                                     {"links", nlohmann::ordered_json::array()}};
  if (!types.empty()) document["device_types"] = types;
  for (const network::VertexKind& kind : summary.vertices) document["vertices"][kind.name] = kind.count;
  for (const network::LogicalDimension& dimension : fabric.dimensions())
    document["dimensions"].push_back(
        {{"name", dimension.name}, {"size", dimension.size}, {"topology", dimension.topology}});
  for (const network::LinkKind& kind : summary.links)
    document["links"].push_back({{"class", fabric.link_classes()[kind.link.link_class]},
                                 {"from", kind.from},
                                 {"to", kind.to},
                                 {"count", kind.count},
                                 {"bandwidth", kind.link.nominal.count()},
                                 {"efficiency", static_cast<double>(kind.link.efficiency.count()) / 1e6},
                                 {"latency_s", seconds(kind.link.latency)}});
  if (const auto diameter = network::diameter_of(fabric))
    document["diameter"] = {{"links", diameter->links}, {"latency_s", seconds(diameter->latency)}};
  if (const auto bisection = network::bisection_of(fabric)) document["bisection_bandwidth"] = bisection->count();
  if (const auto costs = network::costs_of(fabric); !costs.empty()) document["cost"] = cost_of(costs);
  document["assumed"] = network::assumed_figures(root);
  return document;
}

// Machine of an experiment or a result, for `cluster show`: its cluster, the number of nodes, and its routing. Nothing
// where the file is neither.
std::optional<ConfigValue> machine_of_job(const std::string& file, const ConfigFiles& files, Diagnostics& diagnostics) {
  if (!looks_like_path(file) || is_missing(file)) return std::nullopt;
  if (!experiment::is_result(file, files) && files.peek(file).find("cluster") == nullptr) return std::nullopt;
  ConfigValue root = experiment::load_configuration(file, files, diagnostics);
  const auto keep = [](ConfigValue& map, std::initializer_list<std::string_view> keys) {
    std::erase_if(map.entries,
                  [&](const ConfigEntry& entry) { return std::ranges::find(keys, entry.key) == keys.end(); });
  };
  keep(root, {"cluster", "nodes", "network"});
  if (ConfigEntry* network = root.find("network")) keep(network->value, {"routing", "ecmp_seed"});
  return root;
}

struct ReadFabric {
  std::optional<network::Fabric> fabric;  // is there
  std::vector<system::DeviceSpec> devices;
};

// Fabric of a configuration with `cluster`; throws its errors.
ReadFabric read_fabric(ConfigValue& root, const ConfigFiles& files, Diagnostics& diagnostics) {
  ConfigContext context(files, diagnostics);
  ReadFabric read;
  collectives::NcclConstantList measured;
  read_config(root, context, [&](Section& section) {
    network::Routing routing;
    section.section("network", "of an experiment", [&](Section& network) { routing = network::read_routing(network); });
    read.fabric = network::read_cluster(section, experiment::cluster_parts(read.devices, measured), routing);
  });
  diagnostics.throw_if_errors();
  return read;
}

void show(const ClusterOptions& options, const Session& session) {
  note_input(options.cluster);
  session.outputs.check();
  Diagnostics diagnostics;
  ConfigValue root{ConfigValue::Kind::kMap, {}, {}, {}, {}};
  if (auto machine = machine_of_job(options.cluster, session.files, diagnostics))
    root = std::move(*machine);
  else
    apply_setting(root, "cluster=" + options.cluster, session.files, diagnostics);
  if (!options.nodes.empty()) {
    const Location where{"--nodes"};
    std::erase_if(root.entries, [](const ConfigEntry& entry) { return entry.key == "nodes"; });
    root.entries.push_back({"nodes", where, {ConfigValue::Kind::kScalar, where, options.nodes, {}, {}}});
  }
  for (const std::string& setting : session.settings) apply_setting(root, setting, session.files, diagnostics);
  diagnostics.throw_if_errors();
  const auto [fabric, devices] = read_fabric(root, session.files, diagnostics);
  print_warnings(diagnostics.problems());
  const std::string types = devices.size() > 1 ? system::devices_text(devices, fabric->devices_of_types()) : "";
  if (!options.dot)
    return session.outputs.give({text_of(*fabric, root, types), document_of(options.cluster, *fabric, root, types)});
  if (fabric->link_count() > kMostDrawn)
    throw InputError({options.cluster},
                     fmt::format("{} links are too many to draw; at most {} are", fabric->link_count(), kMostDrawn),
                     hint_to_draw(*fabric));
  print_text(network::dot_text(*fabric, options.cluster));
}

struct ImportOptions {
  std::vector<std::string> files;
  std::string device;  // empty: as the file implies
};

constexpr std::string_view kImportHint =
    "known are: NCCL's and RCCL's topology (NCCL_TOPO_DUMP_FILE) and graphs (NCCL_GRAPH_DUMP_FILE), `nvidia-smi topo "
    "-m`, `rocm-smi --showtopo`, `amd-smi topology`, SimAI's topology, ASTRA-sim's network";

// Nodes and decisions of NCCL that were read from several files.
struct ImportedParts {
  std::vector<network::ImportedNode> nodes;
  std::vector<network::NcclGraph> graphs;
  std::string graphs_file;
};

void add_xml(const std::string& file, const std::string& text, const std::string& device, ImportedParts& parts) {
  const XmlDocument document(file, text, std::string(kImportHint));
  document.refuse_second_root("document");
  const std::string name = XmlDocument::name_of(document.root());
  if (name == "system") return parts.nodes.push_back(network::read_nccl_topology(document, device));
  if (name != "graphs")
    document.refuse(document.root(), fmt::format("the document is a <{}>, and no <system> or <graphs>", name),
                    std::string(kImportHint));
  if (!parts.graphs.empty())
    document.refuse(document.root(), "the graphs of a second communicator", "give those of one");
  parts.graphs = network::read_nccl_graphs(document);
  parts.graphs_file = file;
}

void check_parts(const ImportOptions& options, const ImportedParts& parts) {
  if (parts.nodes.empty())
    throw InputError({parts.graphs_file}, "graphs are what NCCL decided, and say nothing of what joins the GPUs",
                     fmt::format("give the topology, too: orrery cluster import TOPOLOGY.xml {}",
                                 shown_shell_word(parts.graphs_file)));
  const network::ImportedNode& first = parts.nodes.front();
  for (const network::ImportedNode& node : parts.nodes)
    if (!network::is_alike(first, node) && node.devices == first.devices && (!first.fabric || !node.fabric))
      throw InputError(
          {options.files.front()}, "its node and those of the other files are not joined alike",
          "nodes of one cluster differ in their devices only, or have all their GPUs on NVSwitches: import "
          "each kind for itself");
  for (std::size_t i = 1; i < parts.nodes.size(); ++i)
    if (parts.nodes[i].devices != parts.nodes.front().devices)
      throw InputError({options.files.front()},
                       fmt::format("a node of {} GPUs, and node {} has {}", parts.nodes.front().devices, i + 1,
                                   parts.nodes[i].devices),
                       "nodes of one cluster have as many GPUs: import each kind for itself");
}

// Fabric of a cluster that was imported, which says what of it cannot be.
network::Fabric fabric_of(const std::string& text, const Session& session) {
  Diagnostics diagnostics;
  const Location where{"the imported cluster"};
  ConfigValue root{ConfigValue::Kind::kMap, where, {}, {}, {}};
  root.entries.push_back({"cluster", where, parse_config(text, where.file, diagnostics)});
  diagnostics.throw_if_errors();
  return *read_fabric(root, session.files, diagnostics).fabric;
}

// GB/s that a GPU has to the others of its node, as messages get it.
double node_rate(const network::Fabric& fabric) {
  const bool is_nvlink = fabric.interconnect().within == NodeLinkKind::kNvlink;
  double rate = 0;
  for (const network::LinkKind& kind : network::summarise(fabric).links)
    if (kind.from == "gpu" && fabric.link_classes()[kind.link.link_class] == (is_nvlink ? "nvlink" : "pcie"))
      rate += static_cast<double>(kind.count) * static_cast<double>((kind.link.nominal * kind.link.efficiency).count());
  return rate / fabric.device_count() / 1e9;
}

// NCCL's decisions beside what the cluster has, as comments.
std::string graphs_text(const ImportedParts& parts, const network::Fabric& fabric) {
  if (parts.graphs.empty()) return {};
  const double rate = node_rate(fabric);
  std::string text =
      fmt::format("# NCCL's graphs {}; a GPU has {:.6g} GB/s to its node here\n", printable(parts.graphs_file), rate);
  for (const network::NcclGraph& graph : parts.graphs) {
    text += "#   " + network::text_of(graph);
    if (graph.name == "ring" && graph.channels > 0 && rate > 0)
      text += fmt::format(", {:.3g} of that", graph.channels * graph.within / rate);
    text += "\n";
  }
  return text;
}

std::string parts_text(const ImportOptions& options, const ImportedParts& parts, const Session& session) {
  check_parts(options, parts);
  const std::string text = network::cluster_text(parts.nodes, network::nccl_lines(parts.graphs));
  return graphs_text(parts, fabric_of(text, session)) + text;
}

// Node whose matrix stays in its file.
std::string matrix_text(const std::string& file, const std::string& text, const std::string& device) {
  Diagnostics diagnostics;
  const network::TopologyMatrix matrix = network::parse_topology_matrix(text, file, diagnostics);
  diagnostics.throw_if_errors();
  if (device.empty())
    throw InputError({file}, "a matrix does not say what the GPUs are", "name them: --device h100-sxm");
  std::string node = fmt::format(
      "# From `nvidia-smi topo -m` in {}\nnode:\n  device: {}\n  devices: {}\n  topology_matrix: {}\n", printable(file),
      device, matrix.devices, yaml_scalar(std::filesystem::absolute(file).string(), {file}));
  if (matrix.nics == 0) return node;
  return node +
         fmt::format(
             "  nics: {{count: {}, bandwidth: 400 Gb/s}}  # assumed: the matrix does not say how fast\n"
             "  assumed: [nics.bandwidth]\n"
             "scale_out: {{topology: switch, network: infiniband, latency: 600 ns}}  # assumed: one ideal switch\n"
             "assumed: [scale_out.network, scale_out.latency]\n",
             matrix.nics);
}

std::string astra_text(const std::string& file, const std::string& device) {
  std::vector<Problem> warnings;
  const astra::NetworkFile network = astra::read_network(file, warnings);
  print_warnings(warnings);
  return astra::cluster_text(network, device.empty() ? "a100-sxm-80gb" : device);
}

// Text of a cluster that one file alone describes; nothing where several may.
std::optional<std::string> lone_text(const std::string& file, const std::string& text, const std::string& device) {
  if (network::is_simai_topology(text)) return network::simai_cluster_text(text, file, device);
  if (text.find("GPU0") != std::string::npos) return matrix_text(file, text, device);
  return astra_text(file, device);
}

void import_cluster(const ImportOptions& options, const Session& session) {
  constexpr std::size_t kMostImported = std::size_t{64} << 20;
  ImportedParts parts;
  std::string text;
  for (const std::string& file : options.files) {
    const std::string read = read_text(file, {.most = kMostImported, .what = "a topology"});
    const std::size_t first = read.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) throw InputError({file}, "the file is empty", std::string(kImportHint));
    if (read[first] == '<') {
      add_xml(file, read, options.device, parts);
    } else if (network::is_rocm_topology(read)) {
      parts.nodes.push_back(network::read_rocm_topology(read, file, options.device));
    } else if (options.files.size() > 1) {
      throw InputError({file}, "several files are topologies and graphs of NCCL, or outputs of rocm-smi",
                       std::string(kImportHint));
    } else {
      text = *lone_text(file, read, options.device);
      fabric_of(text, session);
    }
  }
  print_text(text.empty() ? parts_text(options, parts, session) : text);
}

}  // namespace

void add_cluster_command(CLI::App& app, Session& session) {
  ClusterOptions& options = session.keep<ClusterOptions>();
  CLI::App& cluster = add_command(app, "cluster", {});
  cluster.require_subcommand(1);
  CLI::App& command = add_command(cluster, "show", "Print a cluster's fabric: vertices, links, assumed figures",
                                  {"orrery cluster show dgx-a100 --nodes 2", "orrery cluster show job.yaml",
                                   "orrery cluster show dgx-a100 --dot | dot -Tsvg"});
  command
      .add_option("cluster", options.cluster,
                  "A name from `orrery list clusters`, '{node: ...}', or a file: a cluster, an experiment or a "
                  "result.json")
      ->type_name("NAME")
      ->required();
  command.add_option("--nodes", options.nodes, kNodesAbout)->type_name("N");
  add_set(command, session.settings, "cluster.node.nics.count=4");
  CLI::Option* dot = command.add_flag("--dot", options.dot, "Print a drawing for Graphviz instead");
  add_outputs(command, session);
  dot->excludes(command.get_option("--json"))->excludes(command.get_option("--out"));
  command.callback([&] { show(options, session); });

  ImportOptions& imported = session.keep<ImportOptions>();
  CLI::App& import =
      add_command(cluster, "import", "Print the file of another tool as a cluster",
                  {"orrery cluster import system.xml > cluster.yaml", "orrery cluster import system.xml graphs.xml",
                   "orrery cluster import showtopo.txt --device mi300x",
                   "orrery cluster import network.yml --device a100-sxm-80gb"});
  import
      .add_option("files", imported.files,
                  "NCCL's dumps of topology and graphs, output of rocm-smi, amd-smi or nvidia-smi, SimAI's or "
                  "ASTRA-sim's network")
      ->type_name("FILE")
      ->required();
  import
      .add_option("--device", imported.device,
                  "The device (default: as the file implies; a100-sxm-80gb for ASTRA-sim's)")
      ->type_name("NAME");
  import.callback([&] { import_cluster(imported, session);
});
}  // namespace orrery::cli

}  // namespace orrery::cli
