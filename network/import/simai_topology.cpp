// SPDX-License-Identifier: MIT
#include "network/import/simai_topology.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/units.h"
#include "network/fabric/routed_graph.h"

namespace orrery::network {
namespace {

constexpr std::string_view kSimaiHint =
    "a topology of SimAI begins with the numbers of nodes, GPUs of a server, NVSwitches, switches and links, and the "
    "kind of GPU; then a line with the switches; then a line for each link: from, to, bandwidth, latency, error rate";
constexpr std::int64_t kMostSimaiNodes = std::int64_t{1} << 22;

// Devices by SimAI's gpu_type.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kGpuTypes = {{{"A100", "a100-sxm-80gb"},
                                                                                     {"A800", "a800-sxm-80gb"},
                                                                                     {"H100", "h100-sxm"},
                                                                                     {"H800", "h800-sxm"},
                                                                                     {"H200", "h200-sxm"},
                                                                                     {"H20", "h20"},
                                                                                     {"B200", "b200-sxm"}}};

struct SimaiLine {
  int number = 0;
  std::vector<std::string> words;
};

std::optional<std::int64_t> simai_number(const std::string& word) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (code != std::errc{} || end != word.data() + word.size() || number < 0 || number > kMostSimaiNodes)
    return std::nullopt;
  return number;
}

// Number with one of the units; nothing if it is none.
std::optional<double> with_unit(std::string_view word,
                                std::initializer_list<std::pair<std::string_view, double>> units) {
  double number = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (code != std::errc{} || !(number >= 0) || !std::isfinite(number)) return std::nullopt;
  const std::string_view rest(end, static_cast<std::size_t>(word.data() + word.size() - end));
  for (const auto& [unit, factor] : units)
    if (rest == unit) return number * factor;
  return std::nullopt;
}

// Links between two vertices that act together.
struct SimaiTrunk {
  double gigabits = 0;  // of one
  Duration latency{};
  std::uint32_t count = 0;
};

using Trunks = std::map<std::pair<std::int64_t, std::int64_t>, SimaiTrunk>;  // from the lower number

class SimaiReader {
 public:
  SimaiReader(std::string_view text, const std::string& file, const std::string& device)
      : file_(file), device_(device) {
    std::istringstream stream{std::string(text)};
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
      std::istringstream words(line);
      SimaiLine read{number, {}};
      for (std::string word; words >> word;) read.words.push_back(std::move(word));
      if (!read.words.empty()) lines_.push_back(std::move(read));
    }
  }

  std::string read() {
    read_heading();
    read_links();
    check_servers();
    merge_switches();
    return text();
  }

 private:
  [[noreturn]] void refuse(int line, std::string message, std::string hint = std::string(kSimaiHint)) const {
    throw InputError({file_, line, 1}, std::move(message), std::move(hint));
  }

  void read_heading() {
    const SimaiLine& first = lines_.front();
    std::array<std::int64_t, 5> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = *simai_number(first.words[i]);
    const auto [nodes, per_server, nvswitches, switches, links] = numbers;
    gpus_ = nodes - nvswitches - switches;
    per_server_ = per_server;
    first_switch_ = gpus_ + nvswitches;
    nodes_ = nodes;
    links_ = links;
    if (gpus_ < 1 || per_server < 1 || gpus_ % per_server != 0)
      refuse(first.number, fmt::format("{} nodes less {} NVSwitches and {} switches are {} GPUs, which do not make "
                                       "servers of {}",
                                       nodes, nvswitches, switches, gpus_, per_server));
    if (device_.empty()) {
      const auto found = std::ranges::find(kGpuTypes, first.words[5], [](const auto& type) { return type.first; });
      if (found == kGpuTypes.end())
        refuse(first.number, fmt::format("unknown kind of GPU '{}'", printable(first.words[5], 40)),
               "name the device: --device h100-sxm");
      device_ = found->second;
    }
    if (lines_.size() < 2) refuse(first.number, "the file ends before the line of switches");
    if (std::cmp_not_equal(lines_[1].words.size(), nvswitches + switches))
      refuse(lines_[1].number,
             fmt::format("{} switches; the first line has {}", lines_[1].words.size(), nvswitches + switches));
    for (std::size_t i = 0; i < lines_[1].words.size(); ++i)
      if (simai_number(lines_[1].words[i]) != gpus_ + static_cast<std::int64_t>(i))
        refuse(lines_[1].number,
               fmt::format("'{}' where switch {} is expected: GPUs are numbered first, then NVSwitches, "
                           "then switches",
                           printable(lines_[1].words[i], 40), gpus_ + static_cast<std::int64_t>(i)));
  }

  std::int64_t end_of(const SimaiLine& line, std::size_t word) const {
    const auto number = simai_number(line.words[word]);
    if (!number || *number >= nodes_)
      refuse(line.number,
             fmt::format("'{}' is no node; nodes are 0 to {}", printable(line.words[word], 40), nodes_ - 1));
    return *number;
  }

  void read_links() {
    if (std::cmp_not_equal(lines_.size() - 2, links_))
      refuse(lines_.back().number, fmt::format("{} links; the first line has {}", lines_.size() - 2, links_),
             "the file may be cut short");
    for (std::size_t i = 2; i < lines_.size(); ++i) {
      const SimaiLine& line = lines_[i];
      if (line.words.size() != 5)
        refuse(line.number,
               fmt::format("{} words; a link has 5: from, to, bandwidth, latency, error rate", line.words.size()));
      const auto [low, high] = std::minmax({end_of(line, 0), end_of(line, 1)});
      const auto gigabits = with_unit(line.words[2], {{"Gbps", 1}, {"Mbps", 1e-3}, {"Tbps", 1e3}});
      if (!gigabits || *gigabits < 1e-3)
        refuse(line.number, fmt::format("invalid bandwidth '{}'", printable(line.words[2], 40)), "for example 400Gbps");
      const auto latency = with_unit(line.words[3], {{"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}});
      if (!latency || *latency > 1e15)
        refuse(line.number, fmt::format("invalid latency '{}'", printable(line.words[3], 40)), "for example 0.0005ms");
      if (const auto rate = with_unit(line.words[4], {{"", 1}}); !rate)
        refuse(line.number, fmt::format("invalid error rate '{}'", printable(line.words[4], 40)), "for example 0");
      else if (*rate > 0)
        loses_ = true;
      if (low == high || high < gpus_)
        refuse(line.number, fmt::format("a link from {} to {}", low, high), "GPUs are joined by switches");
      const SimaiTrunk link{*gigabits, Duration(std::llround(*latency)), 1};
      add(trunks_, {low, high}, link, line.number);
      where_.try_emplace({low, high}, line.number);
    }
  }

  void add(Trunks& trunks, const std::pair<std::int64_t, std::int64_t>& ends, const SimaiTrunk& link, int line) const {
    SimaiTrunk& trunk = trunks.try_emplace(ends, SimaiTrunk{link.gigabits, link.latency, 0}).first->second;
    if (trunk.gigabits != link.gigabits || trunk.latency != link.latency)
      refuse(line, fmt::format("parallel links of {} and {} are not alike", ends.first, ends.second),
             "switches that lead to the same places act as one here, so their links have one bandwidth and latency");
    trunk.count += link.count;
  }

  bool is_nvswitch(std::int64_t vertex) const { return vertex >= gpus_ && vertex < first_switch_; }

  // Every GPU has the same NVLinks, to NVSwitches that only its server has, and NICs that are alike.
  void check_servers() {
    std::map<std::int64_t, std::int64_t> server_of;  // by NVSwitch
    std::vector<double> nvlink(static_cast<std::size_t>(gpus_));
    std::vector<double> nic(static_cast<std::size_t>(gpus_));
    for (const auto& [ends, trunk] : trunks_) {
      if (ends.first >= gpus_) {
        if (is_nvswitch(ends.first)) refuse(where_.at(ends), "an NVSwitch that leads to a switch");
        continue;
      }
      const auto gpu = static_cast<std::size_t>(ends.first);
      const double rate = trunk.gigabits * trunk.count;
      if (!is_nvswitch(ends.second)) {
        nic[gpu] += rate;
        continue;
      }
      nvlink[gpu] += rate;
      nvlink_latency_ = std::max(nvlink_latency_, trunk.latency);
      if (server_of.try_emplace(ends.second, ends.first / per_server_).first->second != ends.first / per_server_)
        refuse(where_.at(ends), fmt::format("NVSwitch {} is of two servers", ends.second));
    }
    for (const auto& [what, rates] : {std::pair("NVLink", &nvlink), std::pair("NIC", &nic)})
      for (std::size_t gpu = 0; gpu < rates->size(); ++gpu)
        if ((*rates)[gpu] != rates->front())
          refuse(lines_.front().number,
                 fmt::format("GPU {} has {:.6g} Gbps of {}, GPU 0 {:.6g}", gpu, (*rates)[gpu], what, rates->front()),
                 "GPUs of one cluster are joined alike");
    if (nvlink.front() == 0)
      refuse(lines_.front().number, "no NVSwitch joins the GPUs of a server",
             "orrery needs one way between GPUs: NVSwitches");
    nvlink_ = nvlink.front();
    nic_ = nic.front();
  }

  // Level by level from the GPUs: the switches above one level that lead to the same vertices of it become the lowest
  // of them.
  void merge_switches() {
    Trunks left;
    for (const auto& [ends, trunk] : trunks_)
      if (!is_nvswitch(ends.second)) left[ends] = trunk;
    std::set<std::int64_t> level;
    for (std::int64_t gpu = 0; gpu < gpus_; ++gpu) level.insert(gpu);
    while (!left.empty() && !level.empty()) {
      std::map<std::int64_t, std::map<std::int64_t, SimaiTrunk>> below;  // of each switch of the next level
      Trunks further;
      for (const auto& [ends, trunk] : left) {
        if (level.contains(ends.first))
          below[ends.second][ends.first] = trunk;
        else if (level.contains(ends.second))
          below[ends.first][ends.second] = trunk;
        else
          further[ends] = trunk;
      }
      level = merge_level(below, further);
      left = std::move(further);
    }
    if (!left.empty()) refuse(where_.at(left.begin()->first), "a switch that leads to no GPU");
  }

  // Takes the links of a level into `merged_`, and gives the switches of those further up their new numbers.
  std::set<std::int64_t> merge_level(const std::map<std::int64_t, std::map<std::int64_t, SimaiTrunk>>& below,
                                     Trunks& further) {
    std::map<std::vector<std::int64_t>, std::int64_t> lowest;  // by what a switch leads to
    std::map<std::int64_t, std::int64_t> stands_for;
    for (const auto& [at, links] : below) {
      std::vector<std::int64_t> ends;
      for (const auto& [end, trunk] : links) ends.push_back(end);
      stands_for[at] = lowest.try_emplace(ends, at).first->second;
      for (const auto& [end, trunk] : links)
        add(merged_, {end, stands_for[at]}, trunk, where_.at(std::minmax(end, at)));
    }
    Trunks renamed;
    for (const auto& [ends, trunk] : further) {
      const auto name = [&](std::int64_t vertex) {
        const auto found = stands_for.find(vertex);
        return found == stands_for.end() ? vertex : found->second;
      };
      const std::pair<std::int64_t, std::int64_t> fresh = std::minmax(name(ends.first), name(ends.second));
      where_.try_emplace(fresh, where_.at(ends));
      add(renamed, fresh, trunk, where_.at(ends));
    }
    further = std::move(renamed);
    std::set<std::int64_t> level;
    for (const auto& [at, lowest_one] : stands_for) level.insert(lowest_one);
    return level;
  }

  std::string vertex_name(std::int64_t vertex) const {
    return vertex < gpus_ ? fmt::format("nic{}", vertex) : fmt::format("switch{}", vertex - first_switch_);
  }

  std::string text() const {
    std::set<std::int64_t> vertices;
    for (const auto& [ends, trunk] : merged_) vertices.insert({ends.first, ends.second});
    if (vertices.size() > kMostGraphVertices)
      refuse(lines_.front().number,
             fmt::format("{} NICs and switches; at most {} can be written out", vertices.size(), kMostGraphVertices),
             "import a smaller cluster of the kind, or write `scale_out: {topology: fat-tree}`");
    std::string text = fmt::format(
        "# From SimAI's topology {}: {} GPUs, {} a server. Bandwidths are what messages get, as SimAI has them.\n",
        printable(file_), gpus_, per_server_);
    if (loses_) text += "# Left out: the error rates of links\n";
    text += fmt::format(
        "nodes: {}\nnode:\n  device: {}\n  devices: {}\n  interconnect: nvlink\n"
        "  fabric: {{name: nvlink, topology: switch, bandwidth: {:.9g} GB/s, latency: {}}}\n",
        gpus_ / per_server_, device_, per_server_, nvlink_ / 8, to_text(nvlink_latency_ * 2));
    if (merged_.empty()) return text;
    text += fmt::format(
        "  nics: {{count: {}, bandwidth: {:.9g} Gb/s, host_bandwidth: {:.9g} GB/s, host_latency: 0 ns}}\n"
        "scale_out:\n  topology: edge-list\n  network: roce\n  links:\n",
        per_server_, nic_, nic_ / 8);
    for (const auto& [ends, trunk] : merged_)
      text += fmt::format("    - {{from: {}, to: {}, bandwidth: {:.9g} Gb/s, latency: {}, class: {}{}}}\n",
                          vertex_name(ends.first), vertex_name(ends.second), trunk.gigabits, to_text(trunk.latency),
                          ends.first < gpus_ ? "access" : "trunk",
                          trunk.count > 1 ? fmt::format(", count: {}", trunk.count) : "");
    return text;
  }

  std::vector<SimaiLine> lines_;
  const std::string& file_;
  std::string device_;
  std::int64_t nodes_ = 0;
  std::int64_t gpus_ = 0;
  std::int64_t per_server_ = 0;
  std::int64_t first_switch_ = 0;
  std::int64_t links_ = 0;
  Trunks trunks_;
  Trunks merged_;                                               // of NICs and switches, from below to above
  std::map<std::pair<std::int64_t, std::int64_t>, int> where_;  // lines of links
  double nvlink_ = 0;                                           // Gb/s of a GPU
  double nic_ = 0;
  Duration nvlink_latency_{};
  bool loses_ = false;
};

}  // namespace

bool is_simai_topology(std::string_view text) {
  std::istringstream words{std::string(text.substr(0, text.find('\n')))};
  std::vector<std::string> first;
  for (std::string word; words >> word;) first.push_back(std::move(word));
  if (first.size() < 6 || simai_number(first[5])) return false;
  return std::ranges::all_of(first.begin(), first.begin() + 5,
                             [](const auto& word) { return simai_number(word).has_value(); });
}

std::string simai_cluster_text(std::string_view text, const std::string& file, const std::string& device) {
  return SimaiReader(text, file, device).read();
}

}  // namespace orrery::network
