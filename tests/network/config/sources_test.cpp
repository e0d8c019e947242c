// SPDX-License-Identifier: MIT
// Every figure in configs/devices, configs/nodes and configs/clusters says where it comes from.
//
// A file names its sources under `source`. A figure has a comment on its line that says which, or "assumed"; the links
// of a written-out graph share the comment above them, which speaks of efficiencies if they have any. What a comment
// calls assumed is in `assumed`, so that `orrery
// cluster show` names it, and nothing else is.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "core/config/tree.h"

using namespace orrery;

namespace {

const std::filesystem::path kConfigs = std::filesystem::path(ORRERY_SOURCE_DIR) / "configs";

struct File {
  std::vector<std::string> lines;
  ConfigValue root;
};

File read_file(const std::filesystem::path& path) {
  std::ifstream stream(path);
  File file;
  std::string text;
  for (std::string line; std::getline(stream, line);) {
    file.lines.push_back(line);
    text += line + "\n";
  }
  Diagnostics diagnostics;
  file.root = parse_config(text, path.string(), diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  return file;
}

bool is_figure(const ConfigValue& value) {
  if (value.kind == ConfigValue::Kind::kScalar)
    return !value.scalar.empty() && value.scalar.front() >= '0' && value.scalar.front() <= '9';
  return value.kind == ConfigValue::Kind::kList && !value.items.empty() && std::ranges::all_of(value.items, is_figure);
}

std::string comment_of(const std::string& line) {
  const std::size_t at = line.find("  # ");
  return at == std::string::npos ? "" : line.substr(at + 4);
}

// The text of a `source` or `assumed`, item by item.
std::vector<std::string> words_of(const ConfigValue& root, std::string_view key) {
  const ConfigEntry* entry = root.find(key);
  if (entry == nullptr) return {};
  const ConfigValue* value = &entry->value;
  if (value->kind == ConfigValue::Kind::kScalar) return {value->scalar};
  std::vector<std::string> words;
  for (const ConfigValue& item : value->items)
    words.push_back(item.kind == ConfigValue::Kind::kScalar ? item.scalar : "");
  return words;
}

// What is wrong with a file's sources, a line for each.
class SourceCheck {
 public:
  explicit SourceCheck(const File& file) : file_(file) {
    const std::vector<std::string> assumed = words_of(file.root, "assumed");
    assumed_.insert(assumed.begin(), assumed.end());
    check_map(file.root, "");
    check_sources();
    for (const std::string& path : assumed_)
      if (!known_.contains(path) && !(has_links_ && path.starts_with("links.")))
        complain(path + " is in `assumed`, but the file says otherwise or has no such figure");
  }
  const std::string& complaints() const { return complaints_; }

 private:
  void complain(const std::string& what) { complaints_ += what + "\n"; }

  void check_sources() {
    const std::vector<std::string> sources = words_of(file_.root, "source");
    if (sources.empty()) complain("no `source`");
    for (const std::string& source : sources) {
      if (source.empty()) complain("an empty source");
      if (source == "assumed" && assumed_.empty()) complain("`source: assumed`, but nothing is in `assumed`");
    }
  }

  void check_map(const ConfigValue& map, const std::string& path) {
    for (const ConfigEntry& entry : map.entries) {
      if (entry.key == "source" || entry.key == "assumed" || entry.key == "name") continue;
      const std::string here = path.empty() ? entry.key : path + "." + entry.key;
      if (entry.key == "links") {
        check_links(entry);
      } else if (entry.value.kind == ConfigValue::Kind::kMap) {
        check_map(entry.value, here);
      } else {
        check_value(entry, here);
      }
    }
  }

  void check_value(const ConfigEntry& entry, const std::string& path) {
    const std::string comment = comment_of(file_.lines.at(static_cast<std::size_t>(entry.value.where.line) - 1));
    if (is_figure(entry.value) && comment.empty()) complain(path + " has no source beside it");
    const bool assumed = comment.starts_with("assumed");
    if (assumed) known_.insert(path);
    if (assumed && !assumed_.contains(path)) complain(path + " is assumed, but not in `assumed`");
  }

  // The comment stands right above `links`.
  void check_links(const ConfigEntry& links) {
    has_links_ = true;
    auto line = static_cast<std::size_t>(links.where.line) - 1;
    std::string comment;
    while (line > 0 && file_.lines[line - 1].starts_with("#")) comment = file_.lines[--line] + "\n" + comment;
    if (comment.empty()) complain("links have no source above them");
    const bool says = comment.find("ssumed") != std::string::npos;
    const bool listed =
        std::ranges::any_of(assumed_, [](const std::string& path) { return path.starts_with("links."); });
    const bool has_efficiency = std::ranges::any_of(
        links.value.items, [](const ConfigValue& link) { return link.find("efficiency") != nullptr; });
    if (has_efficiency != (comment.find("efficiency") != std::string::npos))
      complain("the efficiencies of links are not those that the comment above them speaks of");
    if (says != listed) complain("what the comment above links calls assumed is not what is in `assumed`");
  }

  const File& file_;
  std::set<std::string> assumed_;
  std::set<std::string> known_;  // assumed by the comment beside them
  bool has_links_ = false;
  std::string complaints_;
};

std::string complaints_about(const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(ORRERY_BINARY_DIR) / "sources_test.yaml";
  std::ofstream(path) << text;
  return SourceCheck(read_file(path)).complaints();
}

}  // namespace

TEST_CASE("every figure of the shipped devices, nodes, clusters, links and networks has its source") {
  std::size_t files = 0;
  for (const char* folder : {"devices", "nodes", "clusters", "links", "networks"}) {
    for (const auto& entry : std::filesystem::directory_iterator(kConfigs / folder)) {
      INFO(entry.path().filename());
      const File file = read_file(entry.path());
      CHECK(SourceCheck(file).complaints() == "");
      ++files;
    }
  }
  CHECK(files > 120);
}

TEST_CASE("figures without sources are noticed") {
  CHECK(complaints_about("a: 3  # data sheet\nsource: [data sheet]\n") == "");
  CHECK(complaints_about("a: 3\nsource: [data sheet]\n") == "a has no source beside it\n");
  CHECK(complaints_about("a: {b: 3 GB}\nsource: [x]\n") == "a.b has no source beside it\n");
  CHECK(complaints_about("a: 3  # x\n") == "no `source`\n");
  CHECK(complaints_about("a: word\nsource: assumed\n") == "`source: assumed`, but nothing is in `assumed`\n");
  CHECK(complaints_about("a: 3  # assumed\nsource: [x]\n") == "a is assumed, but not in `assumed`\n");
  CHECK(complaints_about("a: 3  # x\nsource: [x]\nassumed: [a]\n") ==
        "a is in `assumed`, but the file says otherwise or has no such figure\n");
  CHECK(complaints_about("links: [{a: 3}]\nsource: [x]\n") == "links have no source above them\n");
  CHECK(complaints_about("a: {bandwidth: 3 GB/s}  # x\nb: {efficiency: 80 %}\nsource: [x]\n") ==
        "b.efficiency has no source beside it\n");
  CHECK(complaints_about("# x\nlinks: [{a: 3, efficiency: 80 %}]\nsource: [x]\n") ==
        "the efficiencies of links are not those that the comment above them speaks of\n");
  CHECK(complaints_about("# x; latency assumed\nlinks: [{a: 3}]\nsource: [x]\n") ==
        "what the comment above links calls assumed is not what is in `assumed`\n");
}

namespace {

std::string scalar_of(const ConfigValue& map, std::string_view key) {
  const ConfigEntry* entry = map.find(key);
  return entry == nullptr ? "" : entry->value.scalar;
}

std::string shipped(const std::string& folder, const std::string& name, std::string_view key) {
  return scalar_of(read_file(kConfigs / folder / (name + ".yaml")).root, key);
}

}  // namespace

TEST_CASE("kinds of links have the share that NCCL counts on") {
  // topo.h, over the nominal 20, 25, 50 or 14.0625 GB/s of a link; topo.cc: 12, 24 and 48 GB/s of PCIe x16.
  const std::map<std::string, std::string> shares = {
      {"nvlink-1", "90 %"},        {"nvlink-2", "80 %"},   {"nvlink-3", "80 %"},
      {"nvlink-3-a40", "85.33 %"}, {"nvlink-4", "82.4 %"}, {"nvlink-5", "80.2 %"},
      {"pcie-3", "76.19 %"},       {"pcie-4", "76.19 %"},  {"pcie-5", "76.19 %"}};
  for (const auto& [name, share] : shares) CHECK(shipped("links", name, "efficiency") == share);
}

TEST_CASE("the links of a shipped node are of the kind that its device has, and say nothing else") {
  std::size_t nvlinks = 0;
  std::size_t pcie_links = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / "nodes")) {
    INFO(entry.path().filename());
    const File file = read_file(entry.path());
    const std::string expected = shipped("devices", scalar_of(file.root, "device"), "nvlink");
    if (const ConfigEntry* fabric = file.root.find("fabric"); fabric && scalar_of(fabric->value, "name") == "nvlink") {
      CHECK(scalar_of(fabric->value, "link") == expected);
      CHECK(scalar_of(fabric->value, "efficiency") == "");
      ++nvlinks;
    }
    if (const ConfigEntry* nics = file.root.find("nics"); nics && scalar_of(nics->value, "host_link") != "") {
      CHECK(scalar_of(nics->value, "host_link").starts_with("pcie-"));
      CHECK(scalar_of(nics->value, "host_efficiency") == "");
      ++pcie_links;
    }
    const ConfigEntry* links = file.root.find("links");
    if (links == nullptr) continue;
    for (const ConfigValue& link : links->value.items) {
      const std::string link_class = scalar_of(link, "class");
      const std::string kind = scalar_of(link, "link");
      CHECK((link_class == "nvlink" ? kind == expected
             : link_class == "pcie" ? kind.starts_with("pcie-")
                                    : kind.empty()));
      CHECK(scalar_of(link, "efficiency") == "");
    }
  }
  CHECK(nvlinks > 20);
  CHECK(pcie_links > 20);
}

TEST_CASE("no shipped host of the time of A100 or before launches kernels faster than that of DGX A100") {
  const std::set<std::string> old = {"pascal", "volta", "turing", "ampere"};
  const double least = std::stod(shipped("nodes", "dgx-a100", "host_launch"));
  CHECK(least > 1);
  std::size_t nodes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / "nodes")) {
    INFO(entry.path().filename());
    const ConfigValue node = read_file(entry.path()).root;
    if (!old.contains(shipped("devices", scalar_of(node, "device"), "architecture"))) continue;
    const std::string launch = scalar_of(node, "host_launch");
    CHECK((!launch.empty() && std::stod(launch) >= least));
    ++nodes;
  }
  CHECK(nodes > 15);
}
