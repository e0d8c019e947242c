// SPDX-License-Identifier: MIT
#include "network/import/rocm_topology.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "network/import/gpu_names.h"

namespace orrery::network {
namespace {

constexpr std::uint32_t kWeightOfLink = 15;  // of xGMI: AMD SMI, explanation of weights
constexpr std::size_t kMostRocmGpus = 256;
constexpr double kBetweenEpycs = 16;  // GB/s: NVIDIA/nccl, AMD_BW of src/graph/topo.h
constexpr double kModuleLinks = 100;  // GB/s between two MI250X, as configs/nodes/mi250x-4.yaml has it
constexpr Duration kXgmiLatency{550'000};
constexpr Duration kHostLatency{250'000};
constexpr std::string_view kRocmHint = "give it the output of `rocm-smi --showtopo` or `amd-smi topology`, unchanged";

struct RocmLine {
  int number = 0;
  std::vector<std::string> words;
};

std::vector<RocmLine> words_of(std::string_view text) {
  std::vector<RocmLine> lines;
  std::istringstream stream{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::istringstream words(line);
    RocmLine read{number, {}};
    for (std::string word; words >> word;) read.words.push_back(std::move(word));
    if (!read.words.empty()) lines.push_back(std::move(read));
  }
  return lines;
}

// Words of a heading, without the lines around it, in lower case: "link type between two gpus".
std::string title_of(const RocmLine& line) {
  std::string title;
  for (const std::string& word : line.words) {
    if (word.find_first_not_of('=') == std::string::npos) continue;
    if (!title.empty()) title += ' ';
    for (const char c : word) title += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return title;
}

enum RocmTable : std::size_t { kLinkTypes, kWeights };
constexpr std::array<std::array<std::string_view, 2>, 2> kTitles = {
    {{"link type between two gpus", "link type table:"}, {"weight between two gpus", "weight table:"}}};

class RocmReader {
 public:
  RocmReader(std::string_view text, const std::string& file, const std::string& device)
      : lines_(words_of(text)), file_(file) {
    node_.device = device;
  }

  ImportedNode read() {
    const std::vector<std::string> types = table(kLinkTypes);
    const std::vector<std::string> weights = table(kWeights);
    if (types.empty()) refuse(1, "no table of link types in the output");
    name_gpu();
    read_numa_nodes();
    join(types, weights);
    return std::move(node_);
  }

 private:
  [[noreturn]] void refuse(int line, std::string message, std::string hint = std::string(kRocmHint)) const {
    throw InputError({file_, line, 1}, std::move(message), std::move(hint));
  }

  // Cells row by row; none if there is no such table. The first table says how many GPUs there are.
  std::vector<std::string> table(RocmTable kind) {
    const auto is_title = [&](const RocmLine& line) {
      return std::ranges::find(kTitles[kind], title_of(line)) != kTitles[kind].end();
    };
    auto line = std::ranges::find_if(lines_, is_title);
    if (line == lines_.end()) return {};
    const int title = line->number;
    if (++line == lines_.end()) refuse(title, "the output ends before its table");
    const std::vector<std::string>& names = line->words;
    if (gpus_ == 0) gpus_ = names.size();
    if (names.size() != gpus_ || gpus_ > kMostRocmGpus)
      refuse(line->number, fmt::format("a table of {} GPUs; {}", names.size(),
                                       gpus_ > kMostRocmGpus ? fmt::format("at most {} are possible", kMostRocmGpus)
                                                             : fmt::format("another has {}", gpus_)));
    std::vector<std::string> cells;
    for (const std::string& name : names) {
      const int before = line->number;
      if (++line == lines_.end())
        refuse(before, fmt::format("the table ends before the row of {}", printable(name, 40)));
      if (line->words.front() != name || line->words.size() != gpus_ + 1)
        refuse(line->number, fmt::format("expected the row of {} with {} entries", printable(name, 40), gpus_));
      cells.insert(cells.end(), line->words.begin() + 1, line->words.end());
      rows_.push_back(line->number);
    }
    return cells;
  }

  void name_gpu() {
    if (node_.device.empty()) refuse(1, "the output does not say what the GPUs are", "name them: --device mi300x");
    kind_ = gpu_of_device(node_.device);
    if (kind_ == nullptr || kind_->pci >> 16 != 0x1002)
      refuse(1, fmt::format("no links of xGMI are known of '{}'", printable(node_.device, 40)),
             "name one of mi250x, mi300x, mi325x, mi350x, mi355x: --device mi300x; node.device of the result can then "
             "be changed");
    if (gpus_ % kind_->dies != 0)
      refuse(rows_.front(),
             fmt::format("{} GPUs, which are the dies of {}, {} of each", gpus_, kind_->device, kind_->dies));
    node_.devices = static_cast<std::uint32_t>(gpus_) / kind_->dies;
    node_.notes.push_back(fmt::format("From {}: {} GPUs", printable(file_), gpus_));
    if (kind_->dies > 1)
      node_.notes.push_back(fmt::format("{} dies of each {} are one device here", kind_->dies, kind_->device));
  }

  // "GPU[0] : (Topology) Numa Node: 0", of which amd-smi says nothing.
  void read_numa_nodes() {
    numa_.assign(gpus_, 0);
    std::size_t next = 0;
    for (const RocmLine& line : lines_) {
      const std::vector<std::string>& words = line.words;
      if (words.size() < 4 || words[words.size() - 3] != "Numa" || words[words.size() - 2] != "Node:") continue;
      const std::string& word = words.back();
      const auto [end, code] =
          std::from_chars(word.data(), word.data() + word.size(), numa_.at(std::min(next, gpus_ - 1)));
      if (code != std::errc{} || end != word.data() + word.size() || next == gpus_)
        refuse(line.number, fmt::format("expected the NUMA node of one of {} GPUs", gpus_));
      ++next;
    }
  }

  bool is_joined(const std::vector<std::string>& types, const std::vector<std::string>& weights, std::size_t a,
                 std::size_t b) const {
    const std::string& type = types[a * gpus_ + b];
    if (type != "XGMI" && type != "PCIE")
      refuse(rows_[a], fmt::format("unknown link type '{}'; XGMI and PCIE are known", printable(type, 40)));
    if (type != types[b * gpus_ + a])
      refuse(rows_[b], fmt::format("GPU {} to {} is another type than {} to {}", b, a, a, b));
    if (type != "XGMI" || weights.empty()) return type == "XGMI";
    std::uint32_t weight = 0;
    const std::string& word = weights[a * gpus_ + b];
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), weight);
    if (code != std::errc{} || end != word.data() + word.size())
      refuse(rows_[gpus_ + a], fmt::format("expected a weight, found '{}'", printable(word, 40)));
    return weight <= kWeightOfLink;
  }

  ImportedLink xgmi(std::uint32_t a, std::uint32_t b) const {
    ImportedLink link{
        fmt::format("gpu{}", a), fmt::format("gpu{}", b), "xgmi", std::string(kind_->link), {}, kXgmiLatency};
    if (kind_->link.empty()) link.gigabytes = kModuleLinks;
    return link;
  }

  // A mesh where every two devices are joined; else links, and PCIe beside them.
  void join(const std::vector<std::string>& types, const std::vector<std::string>& weights) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, bool> joined;  // devices
    for (std::size_t a = 0; a < gpus_; ++a)
      for (std::size_t b = a + 1; b < gpus_; ++b) {
        const std::pair pair{static_cast<std::uint32_t>(a / kind_->dies), static_cast<std::uint32_t>(b / kind_->dies)};
        const bool is = is_joined(types, weights, a, b);
        if (pair.first != pair.second) joined[pair] = joined[pair] || is;
      }
    const auto count = static_cast<std::size_t>(std::ranges::count_if(joined, [](const auto& p) { return p.second; }));
    node_.interconnect = 2 * count > joined.size() ? NodeLinkKind::kXgmi : NodeLinkKind::kPcie;
    node_.notes.emplace_back("The output says nothing of NICs: give the node `nics` and the cluster `scale_out`");
    if (kind_->link.empty()) node_.notes.push_back(fmt::format("Assumed: {} GB/s between two modules", kModuleLinks));
    if (count == joined.size() && count > 0) {
      const ImportedLink link = xgmi(0, 1);
      node_.fabric = {"xgmi", "fully-connected", link.kind, link.gigabytes, kXgmiLatency};
      node_.assumed = {"fabric.latency"};
      if (link.gigabytes) node_.assumed.emplace_back("fabric.bandwidth");
      return;
    }
    for (const auto& [pair, is] : joined)
      if (is) node_.links.push_back(xgmi(pair.first, pair.second));
    node_.assumed = {"links.pcie.latency"};
    if (count > 0) node_.assumed.emplace_back("links.xgmi.latency");
    join_hosts();
  }

  // Each device to the CPU of its NUMA node, and these to each other.
  void join_hosts() {
    std::map<std::uint32_t, std::size_t> cpus;
    for (const std::uint32_t numa : numa_) cpus.try_emplace(numa, cpus.size());
    for (std::uint32_t device = 0; device < node_.devices; ++device)
      node_.links.push_back({fmt::format("gpu{}", device),
                             fmt::format("cpu{}", cpus[numa_[device * kind_->dies]]),
                             "pcie",
                             std::string(kind_->pcie),
                             {},
                             kHostLatency});
    for (std::size_t a = 0; a < cpus.size(); ++a)
      for (std::size_t b = a + 1; b < cpus.size(); ++b)
        node_.links.push_back(
            {fmt::format("cpu{}", a), fmt::format("cpu{}", b), "sockets", "", kBetweenEpycs, kHostLatency});
    if (cpus.size() > 1) {
      node_.assumed.emplace_back("links.sockets.latency");
      node_.assumed.emplace_back("links.sockets.bandwidth");
    }
  }

  std::vector<RocmLine> lines_;
  const std::string& file_;
  ImportedNode node_;
  const GpuName* kind_ = nullptr;
  std::size_t gpus_ = 0;   // as the output counts them
  std::vector<int> rows_;  // lines of the rows, of link types first
  std::vector<std::uint32_t> numa_;
};

}  // namespace

bool is_rocm_topology(std::string_view text) {
  return std::ranges::any_of(words_of(text), [](const RocmLine& line) {
    const std::string title = title_of(line);
    return std::ranges::any_of(kTitles,
                               [&](const auto& names) { return std::ranges::find(names, title) != names.end(); });
  });
}

ImportedNode read_rocm_topology(std::string_view text, const std::string& file, const std::string& device) {
  return RocmReader(text, file, device).read();
}

}  // namespace orrery::network
