// SPDX-License-Identifier: MIT
#include "tests/network/config/read_cluster_text.h"

#include <filesystem>

#include "network/config/cluster.h"

namespace orrery {
namespace {

// The device reader belongs to the system layer; here its keys are only known, so that none is reported.
void read_device(Section& section, ReadCluster& read) {
  read.device = section.optional<std::string>("name", "", "name");
  for (const char* key : {"vendor", "peak", "memory", "streaming_multiprocessors", "power", "architecture", "compute",
                          "systolic", "exponentials", "cache", "source", "assumed", "nvlink", "pcie"})
    section.note(key, "");
}

}  // namespace

ReadCluster read_cluster_text(const std::string& text, const std::vector<std::string>& settings,
                              const network::Routing& routing) {
  const ConfigFiles shipped(std::filesystem::path(ORRERY_SOURCE_DIR) / "configs");
  Diagnostics diagnostics;
  ConfigContext context(shipped, diagnostics);
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  for (const std::string& setting : settings) apply_setting(root, setting, shipped, diagnostics);
  ReadCluster result;
  read_config(root, context, [&](Section& section) {
    const network::ClusterReaders readers{[&](Section& device) { read_device(device, result); }, [](Section&) {},
                                          [](Section& node) {
                                            node.note("host_launch", "");
                                            node.note("host", "");
                                          }};
    result.fabric = network::read_cluster(section, readers, routing);
  });
  for (const Problem& problem : diagnostics.problems()) result.errors += to_string(problem) + "\n";
  return result;
}

}  // namespace orrery
