// SPDX-License-Identifier: MIT
#include "network/import/nccl_topology.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "network/fabric/routed_graph.h"
#include "network/import/gpu_names.h"

namespace orrery::network {
namespace {

constexpr std::uint32_t kDeepestSlot = 32;
constexpr std::uint32_t kMostGpus = 1024;
constexpr std::uint32_t kFullWidth = 16;  // lanes
constexpr double kDefaultNic = 10'000;    // Mb/s, as NCCL takes it where a NIC does not say

// Latencies as of configs/nodes: GPU to GPU over NVSwitches and over a link, a link of PCIe, between sockets.
constexpr Duration kOverSwitch{700'000};
constexpr Duration kDirect{550'000};
constexpr Duration kSlotLatency{250'000};

struct PcieSpeed {
  double transfers = 0;  // GT/s
  std::string_view kind;
  double full = 0;  // GB/s of 16 lanes, per direction
};
constexpr std::array kPcieSpeeds = {
    PcieSpeed{2.5, "pcie-3", 4},   PcieSpeed{5, "pcie-3", 8},   PcieSpeed{8, "pcie-3", 15.75},
    PcieSpeed{16, "pcie-4", 31.5}, PcieSpeed{32, "pcie-5", 63}, PcieSpeed{64, "pcie-6", 121},
};

bool is_kind_as_it_is(const PcieSpeed& speed) { return speed.transfers >= 8; }

// Bandwidths that NCCL reckons with between sockets, GB/s: NVIDIA/nccl, src/graph/topo.h and topo.cc.
double between_sockets(std::string_view arch, std::string_view vendor, std::int64_t family, std::int64_t model) {
  if (arch == "arm64") return 6;
  if (arch == "ppc64") return 32;
  if (vendor == "AuthenticAMD" || vendor == "AMD") return 16;
  if (vendor == "GenuineIntel" && family == 6) {
    constexpr std::array<std::pair<std::int64_t, double>, 3> kFrom = {{{0xCF, 40}, {0x8F, 22}, {0x55, 10}}};
    for (const auto& [first, rate] : kFrom)
      if (model >= first) return rate;
    return 6;
  }
  return 10;
}

// Place on PCIe: what is above it, and the link that leads there.
struct Slot {
  std::string above;
  const PcieSpeed* speed = nullptr;  // null: not said
  std::uint32_t width = kFullWidth;
};

struct XmlGpu {
  pugi::xml_node node;
  std::string bus;
  std::string host;
  Slot slot;
  std::int64_t rank = -1;
  std::int64_t number = -1;
  std::uint32_t pci = 0;
  std::uint32_t capability = 0;
};

struct XmlNic {
  pugi::xml_node node;
  Slot slot;
  std::string name;
  std::string pci_class;
  double megabits = 0;
};

struct XmlCpu {
  std::string host;
  std::string name;
  double rate = 0;  // GB/s to the others
};

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// True of what is nested too deep as well, which walk() refuses.
bool has_members(const pugi::xml_node& node, std::uint32_t depth = 0) {
  if (depth > kDeepestSlot) return true;
  return std::ranges::any_of(node.children(), [&](const pugi::xml_node& child) {
    const std::string_view name = child.name();
    return name == "gpu" || name == "nic" || (name == "pci" && has_members(child, depth + 1));
  });
}

class TopologyReader {
 public:
  TopologyReader(const XmlDocument& document, const std::string& device) : document_(document) {
    node_.device = device;
  }

  ImportedNode read() {
    check_root();
    for (const pugi::xml_node& cpu : document_.root().children("cpu")) read_cpu(cpu);
    if (gpus_.empty())
      document_.refuse(document_.root(), "no <gpu> in the file",
                       "NCCL_TOPO_DUMP_FILE=FILE writes one that has them, at a run over all GPUs of the node");
    order_gpus();
    name_gpus();
    add_gpu_links();
    add_nics();
    add_sockets();
    judge_interconnect();
    assign_nics(node_);
    return std::move(node_);
  }

 private:
  void check_root() {
    const pugi::xml_node root = document_.root();
    const std::int64_t version = document_.number(root, "version", INT32_MIN, INT32_MAX);
    if (version != 1 && version != 2)
      document_.refuse(root, fmt::format("version {} of a topology; 1 (NCCL) and 2 (RCCL) are known", version),
                       "NCCL_TOPO_DUMP_FILE of a newer library may have a format of its own");
  }

  void link(std::string from, std::string to, std::string link_class, std::string kind, Duration latency,
            std::uint32_t count = 1, std::optional<double> gigabytes = {}) {
    node_.links.push_back(
        {std::move(from), std::move(to), std::move(link_class), std::move(kind), gigabytes, latency, count});
  }

  void read_cpu(const pugi::xml_node& cpu) {
    if (!has_members(cpu)) return;
    XmlCpu read;
    read.host = cpu.attribute("host_hash").value();
    read.name = fmt::format("cpu{}", cpus_.size());
    read.rate = between_sockets(cpu.attribute("arch").value(), cpu.attribute("vendor").value(),
                                document_.number(cpu, "familyid", 0, INT32_MAX, 0),
                                document_.number(cpu, "modelid", 0, INT32_MAX, 0));
    cpus_.push_back(read);
    walk(cpu, cpus_.back().name, 0);
  }

  Slot slot_of(const pugi::xml_node& pci, const std::string& above) {
    Slot slot{above};
    const std::string_view text = pci.attribute("link_speed").value();
    double transfers = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), transfers);
    const auto* found = std::ranges::find(kPcieSpeeds, transfers, &PcieSpeed::transfers);
    if (code == std::errc{} && found != kPcieSpeeds.end()) slot.speed = found;
    const std::uint32_t width = document_.count(pci, "link_width", 0, 64, 0);
    if (width > 0) slot.width = width;
    return slot;
  }

  // Link from a slot upwards. `fallback`: the kind where the file does not say, as in virtual machines.
  void join_slot(const std::string& vertex, const Slot& slot, std::string_view fallback) {
    if (slot.speed == nullptr) {
      is_speed_assumed_ = true;
      return link(vertex, slot.above, "pcie", std::string(fallback), kSlotLatency);
    }
    const double rate = slot.speed->full * slot.width / kFullWidth;
    const bool is_whole = is_kind_as_it_is(*slot.speed) && slot.width == kFullWidth;
    link(vertex, slot.above, "pcie", std::string(slot.speed->kind), kSlotLatency, 1,
         is_whole ? std::nullopt : std::optional(rate));
  }

  void walk(const pugi::xml_node& node, const std::string& above, std::uint32_t depth) {
    if (depth > kDeepestSlot)
      document_.refuse(node, fmt::format("more than {} PCIe slots in one another", kDeepestSlot));
    for (const pugi::xml_node& child : node.children()) {
      const std::string_view name = child.name();
      if (name == "gpu") add_gpu(child, node, Slot{above});
      if (name == "nic") add_nets(child, node, Slot{above});
      if (name != "pci") continue;
      const Slot slot = slot_of(child, above);
      if (const pugi::xml_node gpu = child.child("gpu")) add_gpu(gpu, child, slot);
      if (const pugi::xml_node nic = child.child("nic")) add_nets(nic, child, slot);
      const bool is_bridge = std::ranges::any_of(child.children("pci"), [](const auto& c) { return has_members(c); });
      if (!is_bridge) continue;
      const std::string vertex = fmt::format("plx{}", bridges_.size());
      bridges_.emplace_back(vertex, slot);
      walk_below(child, vertex, depth + 1);
    }
  }

  // Devices below a bridge: its slots, and no GPU or NIC of its own.
  void walk_below(const pugi::xml_node& bridge, const std::string& vertex, std::uint32_t depth) {
    if (bridge.child("gpu") || bridge.child("nic"))
      document_.refuse(bridge, "a PCIe bridge that is a GPU or a NIC, too", "NCCL writes them in a <pci> of their own");
    walk(bridge, vertex, depth);
  }

  void add_gpu(const pugi::xml_node& gpu, const pugi::xml_node& pci, const Slot& slot) {
    XmlGpu read;
    read.node = gpu;
    read.bus = lower_case(pci.attribute("busid").value());
    read.host = cpus_.back().host;
    read.slot = slot;
    read.rank = document_.number(gpu, "rank", -1, INT32_MAX, -1);
    read.number = document_.number(gpu, "dev", -1, INT32_MAX, -1);
    read.capability = document_.count(gpu, "sm", 0, 9999, 0);
    if (pci.attribute("vendor") && pci.attribute("device"))
      read.pci = document_.count(pci, "vendor", 0, 0xFFFF) << 16 | document_.count(pci, "device", 0, 0xFFFF);
    gpus_.push_back(std::move(read));
    if (gpus_.size() > kMostGpus) document_.refuse(gpu, fmt::format("more than {} GPUs in a node", kMostGpus));
  }

  void add_nets(const pugi::xml_node& nic, const pugi::xml_node& pci, const Slot& slot) {
    for (const pugi::xml_node& net : nic.children("net")) {
      XmlNic read{net, slot, net.attribute("name").value(), pci.attribute("class").value(), kDefaultNic};
      const std::int64_t speed = document_.number(net, "speed", -1, 100'000'000, 0);
      if (speed > 0) read.megabits = static_cast<double>(speed);
      nics_.push_back(std::move(read));
    }
  }

  // Orders GPUs by rank where each has one of its own, else by number, else as the file has them.
  void order_gpus() {
    for (const auto member : {&XmlGpu::rank, &XmlGpu::number}) {
      std::set<std::int64_t> seen;
      const bool is_order = std::ranges::all_of(
          gpus_, [&](const XmlGpu& gpu) { return gpu.*member >= 0 && seen.insert(gpu.*member).second; });
      if (!is_order) continue;
      std::ranges::stable_sort(gpus_, {}, member);
      return;
    }
  }

  // Type of the GPUs, which are of one kind.
  void name_gpus() {
    const XmlGpu& first = gpus_.front();
    for (const XmlGpu& gpu : gpus_)
      if (gpu.capability != first.capability || gpu.pci != first.pci)
        document_.refuse(gpu.node, "GPUs of two kinds in one node", "a node has one device");
    const bool is_amd = first.pci >> 16 == 0x1002;
    kind_ = gpu_of_pci(first.pci);
    const bool is_exact = kind_ != nullptr;
    if (kind_ == nullptr && !node_.device.empty()) kind_ = gpu_of_device(node_.device);
    if (kind_ == nullptr && !is_amd) kind_ = gpu_of_capability(first.capability);
    if (kind_ == nullptr)
      document_.refuse(
          first.node,
          fmt::format("unknown GPU, PCI {:04x}:{:04x}, sm {}; compute capabilities that are known: {}", first.pci >> 16,
                      first.pci & 0xFFFF, first.capability, fmt::join(known_capabilities(), ", ")),
          "name the device that comes nearest: --device h100-sxm");
    if (kind_->dies > 1)
      document_.refuse(first.node, fmt::format("the GPUs of an {} are its {} dies here", kind_->device, kind_->dies),
                       "start from the shipped node: orrery cluster show mi250x-4");
    if (node_.device.empty()) node_.device = kind_->device;
    is_from_hopper_on_ = !is_amd && first.capability >= 90;
    is_amd_ = is_amd;
    node_.devices = static_cast<std::uint32_t>(gpus_.size());
    node_.notes.push_back(fmt::format("From NCCL's topology {}: {} GPUs, PCI {:04x}:{:04x}, compute capability {}{}",
                                      printable(document_.file()), gpus_.size(), first.pci >> 16, first.pci & 0xFFFF,
                                      first.capability,
                                      is_exact ? "" : "; several devices have it: name yours with --device"));
  }

  std::string gpu_link_kind(const XmlGpu& gpu) const {
    if (kind_->link.empty())
      document_.refuse(gpu.node, fmt::format("no kind of link is known that joins two {}", kind_->device),
                       "name another device that has such links: --device h100-sxm");
    return std::string(kind_->link);
  }

  void add_gpu_links() {
    std::map<std::pair<std::string, std::string>, std::size_t> by_bus;
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      if (!by_bus.emplace(std::pair(gpus_[i].host, gpus_[i].bus), i).second && !gpus_[i].bus.empty())
        document_.refuse(gpus_[i].node, fmt::format("a second GPU at {}", printable(gpus_[i].bus, 40)));
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const std::string vertex = fmt::format("gpu{}", i);
      std::uint32_t switched = 0;
      for (const char* element : {"nvlink", "xgmi"})
        for (const pugi::xml_node& joined : gpus_[i].node.children(element)) {
          const std::uint32_t count = document_.count(joined, "count", 1, 64);
          const std::uint32_t target_class = document_.count(joined, "tclass", 0, 0xFFFFFF);
          if (target_class == kSwitchClass) switched += count;
          if (target_class == kSwitchClass || target_class == kCpuClass) continue;
          const auto other = by_bus.find({gpus_[i].host, lower_case(document_.text(joined, "target"))});
          if (other == by_bus.end())
            ++beyond_;
          else
            counts_[{i, other->second}] += count;
        }
      if (switched == 0) continue;
      ++switched_;
      link(vertex, "nvswitch0", "nvlink", gpu_link_kind(gpus_[i]), kOverSwitch / 2, switched);
    }
    add_direct_links();
    for (std::size_t i = 0; i < gpus_.size(); ++i) join_slot(fmt::format("gpu{}", i), gpus_[i].slot, kind_->pcie);
  }

  void add_direct_links() {
    if (counts_.size() > kMostGraphLinks)
      document_.refuse(document_.root(), fmt::format("{} links between GPUs; at most {} are possible",
                                                     counts_.size() / 2, kMostGraphLinks / 2));
    for (const auto& [pair, count] : counts_) {
      const auto back = counts_.find({pair.second, pair.first});
      if (back == counts_.end() || back->second != count)
        document_.refuse(gpus_[pair.first].node,
                         fmt::format("GPU {} has {} links to GPU {}, which has {} back", pair.first, count, pair.second,
                                     back == counts_.end() ? 0 : back->second),
                         "dump the topology again with NCCL_TOPO_DUMP_FILE");
      if (pair.first >= pair.second) continue;
      // One link of configs/links is all that joins two GPUs of AMD, whatever the lanes that the file counts.
      link(fmt::format("gpu{}", pair.first), fmt::format("gpu{}", pair.second), is_amd_ ? "xgmi" : "nvlink",
           gpu_link_kind(gpus_[pair.first]), kDirect, is_amd_ ? 1 : count);
      ++direct_;
    }
    if (beyond_ > 0) node_.notes.push_back(fmt::format("Left out: links to {} GPUs that are not in the file", beyond_));
  }

  void add_nics() {
    double fastest = 0;
    for (const XmlNic& nic : nics_) fastest = std::max(fastest, nic.megabits);
    std::vector<std::string> slower;
    for (const XmlNic& nic : nics_) {
      if (nic.megabits < fastest) {
        slower.push_back(printable(nic.name, 40));
        continue;
      }
      const std::string vertex = fmt::format("nic{}", node_.nics++);
      join_slot(vertex, nic.slot, kind_->pcie);
      if (node_.network.empty()) node_.network = network_of(nic);
    }
    node_.nic_gigabits = fastest / 1000;
    for (const auto& [vertex, slot] : bridges_) join_slot(vertex, slot, kind_->pcie);
    if (!slower.empty()) node_.notes.push_back(fmt::format("Left out: slower NICs {}", fmt::join(slower, ", ")));
    if (is_speed_assumed_)
      node_.notes.push_back(
          fmt::format("PCIe links whose speed is not said, as in virtual machines: taken as {}", kind_->pcie));
    node_.assumed = {"links.pcie.latency"};
  }

  // PCI classes: 0x0207 is InfiniBand, 0x0200 Ethernet. The names of EFA's adapters begin with rdmap or efa.
  static std::string network_of(const XmlNic& nic) {
    if (nic.name.starts_with("rdmap") || nic.name.starts_with("efa")) return "efa-v2";
    if (nic.name.starts_with("eth") || nic.name.starts_with("en") || nic.name.starts_with("bond")) return "ethernet";
    return nic.pci_class.starts_with("0x0207") ? "infiniband" : "roce";
  }

  void add_sockets() {
    for (std::size_t a = 0; a < cpus_.size(); ++a)
      for (std::size_t b = a + 1; b < cpus_.size(); ++b) {
        if (cpus_[a].host != cpus_[b].host) continue;
        link(cpus_[a].name, cpus_[b].name, "sockets", "", kSlotLatency, 1, std::min(cpus_[a].rate, cpus_[b].rate));
        if (node_.assumed.back() != "links.sockets.latency") node_.assumed.emplace_back("links.sockets.latency");
      }
  }

  void judge_interconnect() {
    const std::size_t pairs = gpus_.size() * (gpus_.size() - 1) / 2;
    const bool all_switched = switched_ == gpus_.size();
    const bool most_joined = all_switched || (pairs > 0 && 2 * direct_ > pairs);
    const NodeLinkKind joined = is_amd_ ? NodeLinkKind::kXgmi : NodeLinkKind::kNvlink;
    node_.interconnect = most_joined ? joined : NodeLinkKind::kPcie;
    node_.multicast = all_switched && is_from_hopper_on_;
    node_.host_link = kind_->pcie;
    if (all_switched) node_.fabric = {"nvlink", "switch", std::string(kind_->link), {}, kOverSwitch};
    if (switched_ + direct_ > 0)
      node_.assumed.insert(node_.assumed.begin(), fmt::format("links.{}.latency", name_of(joined)));
  }

  static constexpr std::uint32_t kSwitchClass = 0x068000;  // PCI class of an NVSwitch, and of one that a machine hides
  static constexpr std::uint32_t kCpuClass = 0x068001;     // of POWER's NVLink

  const XmlDocument& document_;
  ImportedNode node_;
  const GpuName* kind_ = nullptr;
  std::vector<XmlCpu> cpus_;
  std::vector<std::pair<std::string, Slot>> bridges_;
  std::vector<XmlGpu> gpus_;
  std::vector<XmlNic> nics_;
  std::map<std::pair<std::size_t, std::size_t>, std::uint32_t> counts_;  // direct links by pair of GPUs
  std::size_t switched_ = 0;                                             // GPUs on the switch
  std::size_t direct_ = 0;                                               // pairs of GPUs
  std::size_t beyond_ = 0;
  bool is_from_hopper_on_ = false;
  bool is_amd_ = false;
  bool is_speed_assumed_ = false;
};

}  // namespace

ImportedNode read_nccl_topology(const XmlDocument& document, const std::string& device) {
  return TopologyReader(document, device).read();
}

}  // namespace orrery::network
