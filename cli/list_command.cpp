#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "collectives/algorithms.h"
#include "collectives/libraries.h"
#include "experiment/docs.h"
#include "experiment/experiment.h"
#include "network/fabric/topology.h"
#include "report/table.h"
#include "study/sweep/file.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

Json shipped(const ConfigFiles& files, const std::string& folder) {
  Json list = Json::array();
  for (const std::string& name : files.names(folder))
    list.push_back({{"name", name}, {"about", first_comment(files, folder, name)}});
  return list;
}

Json algorithm_list() {
  Json list = Json::array();
  for (const Algorithm& algorithm : algorithms()) {
    Json costs = Json::object();
    for (const CollectiveKind kind : kAllCollectiveKinds)
      if (algorithm.supports(kind)) costs[std::string(name_of(kind))] = algorithm.cost(kind);
    list.push_back({{"name", algorithm.name}, {"about", algorithm.description}, {"time", costs}});
  }
  return list;
}

Json library_list() {
  Json list = Json::array();
  for (const Library& library : libraries()) list.push_back({{"name", library.name}, {"about", library.description}});
  return list;
}

Json topology_list() {
  Json list = Json::array();
  for (const Topology& topology : topologies()) list.push_back({{"name", topology.name}, {"about", topology.summary}});
  return list;
}

std::string text_of(const Json& list) {
  Table table;
  table.column("name", Table::Align::kLeft);
  table.column("", Table::Align::kLeft);
  for (const Json& item : list) {
    table.row({item["name"].get<std::string>(), item["about"].get<std::string>()});
    if (!item.contains("time")) continue;
    for (const auto& [kind, cost] : item["time"].items())
      table.row({"", fmt::format("  {:<15} {}", kind, cost.get<std::string>())});
  }
  return table.text();
}

Json key_list(const ConfigFiles& files) {
  Json items = Json::array();
  for (const KeyDescription& key : describe_configuration(files))
    items.push_back({{"name", key.path},
                     {"type", key.type},
                     {"range", key.range},
                     {"default", key.fallback},
                     {"about", key.meaning}});
  return items;
}

void list(const ListOptions& options, Session& session) {
  check_writable(options.json);
  if (options.what == "keys" && options.json.empty())
    return write_text("-", configuration_docs(session.files, describe_sweep(session.files)));
  const Json items = options.what == "keys"         ? key_list(session.files)
                     : options.what == "algorithms" ? algorithm_list()
                     : options.what == "libraries"  ? library_list()
                     : options.what == "topologies" ? topology_list()
                                                    : shipped(session.files, options.what);
  if (options.json.empty()) return write_text("-", text_of(items));
  write_json(options.json, Json{{"schema", "orrery.list/1"}, {"what", options.what}, {"items", items}});
}

}  // namespace

void add_list_command(CLI::App& app, Session& session) {
  const std::array<std::string, 11> kinds = {"algorithms", "clusters", "devices", "keys",     "libraries", "links",
                                             "models",     "networks", "nodes",   "software", "topologies"};
  CLI::App* command =
      app.add_subcommand("list",
                         "List what is there by name: devices, nodes, clusters, links, networks, models, software, "
                         "algorithms, libraries, topologies; or all configuration keys");
  command
      ->add_option(
          "what", session.list.what,
          "algorithms | clusters | devices | keys | libraries | links | models | networks | nodes | software | "
          "topologies")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>(kinds.begin(), kinds.end())));
  command->add_option("--json", session.list.json, "Write the list as JSON to this file, '-' for standard output");
  command->callback([&session] { list(session.list, session); });
}

}  // namespace orrery::cli
