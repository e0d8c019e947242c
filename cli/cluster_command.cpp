#include <string>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "core/config/config.h"
#include "core/config/quantity_text.h"
#include "experiment/cluster_parts.h"
#include "network/config/cluster.h"
#include "network/fabric/summary.h"
#include "report/table.h"

namespace orrery::cli {
namespace {

constexpr std::uint32_t kMostDrawn = 20'000;  // links; beyond, Graphviz takes for ever

std::string vertices_text(const Fabric& fabric, const FabricSummary& summary) {
  std::string text;
  for (const VertexKind& kind : summary.vertices)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind.count, kind.name);
  return fmt::format("{} devices, {} vertices ({}), {} directed links\n", fabric.device_count(), fabric.vertex_count(),
                     text, fabric.link_count());
}

std::string dimensions_text(const Fabric& fabric) {
  std::string text;
  for (const LogicalDimension& dimension : fabric.dimensions())
    text += fmt::format("  {}: {}, {}\n", dimension.name, dimension.size, dimension.topology);
  return text;
}

std::string links_text(const Fabric& fabric, const FabricSummary& summary) {
  Table table;
  for (const char* heading : {"class", "from", "to"}) table.column(heading, Table::Align::kLeft);
  for (const char* heading : {"links", "bandwidth", "efficiency", "latency"}) table.column(heading);
  for (const LinkKind& kind : summary.links)
    table.row({fabric.link_classes()[kind.link.link_class], kind.from, kind.to, fmt::format("{}", kind.count),
               to_text(kind.link.nominal), to_text(kind.link.efficiency), to_text(kind.link.latency)});
  return table.text();
}

std::string text_of(const Fabric& fabric, const ConfigValue& root) {
  const FabricSummary summary = summarise(fabric);
  std::string text = vertices_text(fabric, summary) + "\nDimensions\n" + dimensions_text(fabric) +
                     "\nLinks (of each, one way; efficiency: the share of the nominal bandwidth that messages get)\n" +
                     links_text(fabric, summary);
  const std::vector<std::string> assumed = assumed_figures(root);
  if (!assumed.empty()) text += "\nAssumed: figures that were not read in a source\n";
  for (const std::string& figure : assumed) text += "  " + figure + "\n";
  return text;
}

// Fewer nodes, if a drawing of two has place for their links.
std::string hint_to_draw(const Fabric& fabric) {
  const auto dimensions = fabric.dimensions();
  const bool of_nodes = dimensions.back().name == "nodes";
  const std::uint64_t nodes = of_nodes ? dimensions.back().size : 1;
  return nodes > 2 && 2 * (fabric.link_count() / nodes) <= kMostDrawn ? "draw fewer nodes: --nodes 2" : "";
}

void show(const ClusterOptions& options, const Session& session) {
  Diagnostics diagnostics;
  ConfigValue root{ConfigValue::Kind::kMap, {}, {}, {}, {}};
  apply_setting(root, "cluster=" + options.cluster, session.files, diagnostics);
  if (!options.nodes.empty()) {
    const Location where{"--nodes"};
    root.entries.push_back({"nodes", where, {ConfigValue::Kind::kScalar, where, options.nodes, {}, {}}});
  }
  for (const std::string& setting : options.settings) apply_setting(root, setting, session.files, diagnostics);
  diagnostics.throw_if_errors();
  ConfigContext context(session.files, diagnostics);
  std::optional<Fabric> fabric;
  read_config(root, context, [&](Section& section) {
    Routing routing;
    section.section("network", "of an experiment", [&](Section& network) { routing = read_routing(network); });
    fabric = read_cluster(section, unused_cluster_parts(), routing);
  });
  diagnostics.throw_if_errors();
  print_warnings(diagnostics.problems());
  if (!options.dot) return write_text("-", text_of(*fabric, root));
  if (fabric->link_count() > kMostDrawn)
    throw InputError({options.cluster},
                     fmt::format("{} links are too many to draw; at most {} are", fabric->link_count(), kMostDrawn),
                     hint_to_draw(*fabric));
  write_text("-", dot_text(*fabric, options.cluster));
}

}  // namespace

void add_cluster_command(CLI::App& app, Session& session) {
  ClusterOptions& options = session.cluster;
  CLI::App* command = app.add_subcommand("cluster", "Show clusters");
  command->require_subcommand(1);
  CLI::App* show_command =
      command->add_subcommand("show", "Print the fabric: vertices, links and what of it is assumed");
  show_command
      ->add_option("cluster", options.cluster,
                   "A name from `orrery list clusters`, a file, or the cluster itself: '{node: ...}'")
      ->required();
  show_command->add_option("--nodes", options.nodes, "How many nodes; without it, the cluster's own number");
  show_command->add_option("--set", options.settings, "Change a key first, as cluster.a.b=v (may be repeated)")
      ->expected(1)
      ->take_all();
  show_command->add_flag("--dot", options.dot, "Print a drawing for Graphviz: orrery cluster show C --dot | dot -Tsvg");
  show_command->callback([&session] { show(session.cluster, session); });
}

}  // namespace orrery::cli
