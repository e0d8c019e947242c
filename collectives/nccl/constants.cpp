// SPDX-License-Identifier: MIT
#include "collectives/nccl/constants.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/assert.h"

namespace orrery::collectives {
namespace {

constexpr auto kLatency = ConstantKind::kLatency;
constexpr auto kRate = ConstantKind::kRate;
constexpr auto kSize = ConstantKind::kSize;
constexpr auto kShare = ConstantKind::kShare;
constexpr auto kFactor = ConstantKind::kFactor;

// Rows of equal prefix stand together, in the order of the enumerations that index them.
constexpr std::array<NcclConstantEntry, kNcclConstants> kEntries = {{
    {"base.tree.ll", kLatency, "base latency: time from the launch of a kernel to its first step"},
    {"base.tree.ll128", kLatency, ""},
    {"base.tree.simple", kLatency, ""},
    {"base.ring.ll", kLatency, ""},
    {"base.ring.ll128", kLatency, ""},
    {"base.ring.simple", kLatency, ""},
    {"base.collnet_direct", kLatency, ""},
    {"base.collnet_chain", kLatency, ""},
    {"base.nvls", kLatency,
     "base latency of NVLS and NVLS-tree: time from the launch of a kernel to its first step, including the steps "
     "within the node"},
    {"base.pat", kLatency, "base latency of PAT: time from the launch of a kernel to its first step"},
    {"hop.nvlink.tree.ll", kLatency, "latency of one step over NVLink"},
    {"hop.nvlink.tree.ll128", kLatency, ""},
    {"hop.nvlink.tree.simple", kLatency, ""},
    {"hop.nvlink.ring.ll", kLatency, ""},
    {"hop.nvlink.ring.ll128", kLatency, ""},
    {"hop.nvlink.ring.simple", kLatency, ""},
    {"hop.nvlink.collnet_direct", kLatency, ""},
    {"hop.nvlink.collnet_chain", kLatency, ""},
    {"hop.xgmi.ll", kLatency, "latency of one step over xGMI, of RCCL's rings and trees"},
    {"hop.xgmi.simple", kLatency, ""},
    {"hop.pcie.tree.ll", kLatency, "latency of one step over PCIe or through the host's memory"},
    {"hop.pcie.tree.ll128", kLatency, ""},
    {"hop.pcie.tree.simple", kLatency, ""},
    {"hop.pcie.ring.ll", kLatency, ""},
    {"hop.pcie.ring.ll128", kLatency, ""},
    {"hop.pcie.ring.simple", kLatency, ""},
    {"hop.pcie.collnet_direct", kLatency, ""},
    {"hop.pcie.collnet_chain", kLatency, ""},
    {"hop.network.ll", kLatency, "latency of one step of a ring or tree over the network"},
    {"hop.network.ll128", kLatency, ""},
    {"hop.network.simple", kLatency, ""},
    {"hop.network.collnet_direct", kLatency,
     "latency of a reduction in the network's switches, to the switch and back (CollNet)"},
    {"hop.network.collnet_chain", kLatency, ""},
    {"hop.network.nvls", kLatency,
     "latency of a reduction in the network's switches, to the switch and back (NVLS with SHARP)"},
    {"hop.network.nvls_tree", kLatency, "latency of one step of NVLS-tree over the network"},
    {"hop.network.pat", kLatency, "latency of one step of PAT over the network"},
    {"network.other", kLatency, "latency that the software of this kind of network adds to each step"},
    {"network.infiniband", kLatency, ""},
    {"network.roce", kLatency, ""},
    {"network.efa_v1", kLatency, ""},
    {"network.efa_v2", kLatency, ""},
    {"network.tcpx", kLatency, ""},
    {"network.slingshot", kLatency, ""},
    {"network.omni_path", kLatency, ""},
    {"network.ethernet", kLatency, ""},
    {"ll_cap.volta.one_node", kRate, "largest bus bandwidth of LL on Volta and older GPUs, by number of nodes"},
    {"ll_cap.volta.two_nodes", kRate, ""},
    {"ll_cap.volta.more_nodes", kRate, ""},
    {"ll_cap.ampere.one_node", kRate,
     "largest bus bandwidth of LL on Ampere, Turing, Ada and GPUs without their own row, by number of nodes"},
    {"ll_cap.ampere.two_nodes", kRate, ""},
    {"ll_cap.ampere.more_nodes", kRate, ""},
    {"ll_cap.hopper.one_node", kRate,
     "largest bus bandwidth of LL on Hopper from NCCL 2.19 on (before it, Ampere's row holds), by number of nodes"},
    {"ll_cap.hopper.two_nodes", kRate, ""},
    {"ll_cap.hopper.more_nodes", kRate, ""},
    {"ll_cap.blackwell.one_node", kRate, "largest bus bandwidth of LL on Blackwell, by number of nodes"},
    {"ll_cap.blackwell.two_nodes", kRate, ""},
    {"ll_cap.blackwell.more_nodes", kRate, ""},
    {"efficiency.ll", kShare, "share of a link's bandwidth that carries data with LL"},
    {"efficiency.ll128", kShare, "share of a link's bandwidth that carries data with LL128"},
    {"efficiency.ring", kShare, "share of the bandwidth within a node that rings reach"},
    {"efficiency.tree", kShare, "share of the bandwidth within a node that trees reach"},
    {"efficiency.pat", kShare, "share of the bandwidth between nodes that PAT reaches"},
    {"efficiency.network", kShare, "share of the bandwidth between nodes that all algorithms reach"},
    {"efficiency.host", kShare, "share of PCIe's bandwidth that copies through the host's memory reach"},
    {"efficiency.nvls.hopper", kShare, "share of NVLink's bandwidth that NVLS reaches on this architecture"},
    {"efficiency.nvls.blackwell", kShare, ""},
    {"efficiency.send", kShare, "share of the bandwidth within a node that sends to all of it at once reach"},
    {"copy.ampere", kRate,
     "rate at which a rank writes its own part of the result to its memory: of Ampere, older GPUs and AMD's, and of "
     "Hopper and Blackwell"},
    {"copy.hopper", kRate, ""},
    {"base_factor.ampere", kFactor, "factor on base latencies; Hopper has 1"},
    {"base_factor.blackwell", kFactor, ""},
    {"hop_factor.ampere", kFactor, "factor on a step over NVLink, its links included; Hopper has 1"},
    {"hop_factor.blackwell", kFactor, ""},
    {"send_peer", kLatency, "time that sends to each further rank of the node add"},
    {"send_buffer", kSize,
     "what a send puts into buffers before its receiver has come: a larger message begins when both have; more than "
     "any "
     "message has: none waits"},
    {"collnet_direct_wait", kLatency, "time that CollNet-direct waits for each other GPU of the node, to it and back"},
    {"pat_rank", kLatency, "time that PAT adds for each rank"},
    {"chunk.cost", kLatency, "time that a kernel spends on a chunk, of all algorithms but rings and sends"},
    {"chunk.largest", kSize,
     "largest size of a chunk, of all algorithms but rings and sends: of each GPU of a node, summed over all channels"},
    {"chunk.ring_cost", kLatency, "time that a kernel spends on a chunk of a ring or of sends"},
    {"chunk.ring_largest", kSize, "largest size of a chunk of a ring or of sends, summed over all channels"},
    {"launch.kernel", kLatency,
     "time in which a thread of the host starts the kernel of one GPU; calls have no less latency, for each GPU that "
     "the thread drives"},
    {"launch.send", kLatency,
     "time in which it prepares a send or a receive of a kernel, before NCCL 2.13: an all-to-all has one of each to "
     "each rank"},
    {"launch.torch", kLatency, "time that a call takes longer with `launch: torch`"},
    {"channels.nvlink", kFactor,
     "channels of rings and trees within a node over NVLink or xGMI; each holds a multiprocessor"},
    {"channels.pcie", kFactor, "channels of rings and trees within a node over PCIe or through the host's memory"},
    {"channels.nvls", kFactor, "channels of NVLS and NVLS-tree"},
    {"channels.nic", kFactor, "channels of rings and trees between nodes, for each NIC of a node that the group uses"},
    {"channels.send", kFactor, "channels of sends: at most, and to one rank of the same node"},
    {"channels.peer", kFactor, "channels of sends to one rank of another node"},
    {"channels.traffic", kFactor,
     "bytes of its memory that a rank reads and writes for each byte that it gets from others"},
}};

// The number of the constant at `path`, which has to be there.
consteval std::size_t number_of(std::string_view path) {
  for (std::size_t i = 0; i < kEntries.size(); ++i)
    if (kEntries[i].path == path) return i;
  throw path;
}

// The first release that was measured to prepare sends in next to no time: 2.10 is not, and 2.13 simplified the code
// of kernels for the latency of sends (NCCL's release notes).
constexpr NcclVersion kFirstWithFastSends{2, 13, 0};

template <class Enum>
constexpr std::size_t index(Enum e) {
  return static_cast<std::size_t>(e);
}

bool is_host_bound(const MachineKind& machine) {
  return machine.within == NodeLinkKind::kPcie || machine.within == NodeLinkKind::kHost;
}

bool is_nvlink_like(const MachineKind& machine) {
  return machine.within != NodeLinkKind::kXgmi && !is_host_bound(machine);
}

template <Architecture architecture>
bool is_of(const MachineKind& machine) {
  return measured_as(machine.architecture) == architecture;
}

bool adds_up_between_nodes(const MachineKind& machine) { return machine.in_network_reduction; }

bool has_multicast(const MachineKind& machine) { return machine.multicast; }

// Constants of some machines alone. `path`: of one, or the start of those of several.
struct MachineRule {
  std::string_view path;
  bool (*reads)(const MachineKind& machine);
  std::string_view reason;  // where no machine reads them
};

constexpr std::string_view kNoNvls = "the switches of no node add up what is sent (NVLS)";
constexpr std::string_view kNoCollNet = "no switches between nodes add up what is sent (SHARP)";
constexpr std::string_view kNoAmpere = "no device is of architecture ampere";
constexpr std::string_view kNoHopper = "no device is of architecture hopper";
constexpr std::string_view kNoBlackwell = "no device is of architecture blackwell";
constexpr std::string_view kNoPcie = "the GPUs of no node reach one another over PCIe or their host";
constexpr std::string_view kNoNvlink = "the GPUs of no node are joined by NVLink";

constexpr MachineRule kMachineRules[] = {
    {"base.nvls", has_multicast, kNoNvls},
    {"hop.network.nvls", has_multicast, kNoNvls},
    {"channels.nvls", has_multicast, kNoNvls},
    {"efficiency.nvls", has_multicast, kNoNvls},
    {"efficiency.nvls.blackwell", is_of<Architecture::kBlackwell>, kNoBlackwell},
    {"base.collnet", adds_up_between_nodes, kNoCollNet},
    {"hop.nvlink.collnet", adds_up_between_nodes, kNoCollNet},
    {"hop.pcie.collnet", adds_up_between_nodes, kNoCollNet},
    {"hop.network.collnet", adds_up_between_nodes, kNoCollNet},
    {"collnet_direct_wait", adds_up_between_nodes, kNoCollNet},
    {"hop.nvlink.", is_nvlink_like, kNoNvlink},
    {"hop.xgmi.", [](const MachineKind& machine) { return machine.within == NodeLinkKind::kXgmi; },
     "the GPUs of no node are joined by xGMI"},
    {"hop.pcie.", is_host_bound, kNoPcie},
    {"channels.nvlink", [](const MachineKind& machine) { return !is_host_bound(machine); },
     "the GPUs of no node are joined by NVLink or xGMI"},
    {"channels.pcie", is_host_bound, kNoPcie},
    {"ll_cap.volta.",
     [](const MachineKind& machine) {
       return machine.architecture == Architecture::kPascal || machine.architecture == Architecture::kVolta;
     },
     "no device is of architecture pascal or volta"},
    {"ll_cap.hopper.", is_of<Architecture::kHopper>, kNoHopper},
    {"ll_cap.blackwell.", is_of<Architecture::kBlackwell>, kNoBlackwell},
    {"copy.hopper", [](const MachineKind& machine) { return is_from_hopper_on(machine.architecture); },
     "no device is of architecture hopper or blackwell"},
    {"base_factor.ampere", is_of<Architecture::kAmpere>, kNoAmpere},
    {"base_factor.blackwell", is_of<Architecture::kBlackwell>, kNoBlackwell},
    {"hop_factor.ampere", is_of<Architecture::kAmpere>, kNoAmpere},
    {"hop_factor.blackwell", is_of<Architecture::kBlackwell>, kNoBlackwell},
    {"hop_factor.", is_nvlink_like, kNoNvlink},
};

constexpr std::string_view kOfNetwork = "network.";  // and the word of a kind

[[noreturn]] void no_such_combination() {
  ORRERY_ASSERT(false && "NCCL has no such algorithm in this protocol");
  __builtin_unreachable();
}

}  // namespace

std::span<const NcclConstantEntry> nccl_constant_entries() { return kEntries; }

std::string_view meaning_of(std::size_t number) {
  while (kEntries[number].meaning.empty()) --number;
  return kEntries[number].meaning;
}

std::optional<std::size_t> nccl_constant_named(std::string_view path) {
  const auto found = std::ranges::find(kEntries, path, &NcclConstantEntry::path);
  if (found == kEntries.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kEntries.begin());
}

std::string why_idle(std::size_t number, std::span<const MachineKind> machines) {
  const std::string_view path = kEntries[number].path;
  const MachineKind common = common_machine(machines);
  const auto none = [&](const auto& reads) { return !reads(common) && std::ranges::none_of(machines, reads); };
  for (const MachineRule& rule : kMachineRules)
    if (path.starts_with(rule.path) && none(rule.reads)) return std::string(rule.reason);
  if (!path.starts_with(kOfNetwork)) return {};
  const std::size_t kind = number - number_of("network.other");
  if (!none([&](const MachineKind& machine) { return index(machine.network) == kind; })) return {};
  return fmt::format("no nodes are joined by a network of kind '{}'", name_of(static_cast<NetworkKind>(kind)));
}

double NcclConstants::base(NcclAlgorithm algorithm, NcclProtocol protocol, const MachineKind& machine) const {
  const double factor = base_factor(machine.architecture);
  switch (algorithm) {
    case NcclAlgorithm::kTree:
      return factor * values_[number_of("base.tree.ll") + index(protocol)];
    case NcclAlgorithm::kRing:
      return factor * values_[number_of("base.ring.ll") + index(protocol)];
    case NcclAlgorithm::kCollNetDirect:
      return factor * values_[number_of("base.collnet_direct")];
    case NcclAlgorithm::kCollNetChain:
      return factor * values_[number_of("base.collnet_chain")];
    case NcclAlgorithm::kNvls:
    case NcclAlgorithm::kNvlsTree:
      return factor * values_[number_of("base.nvls")];
    case NcclAlgorithm::kPat:
      return factor * values_[number_of("base.pat")];
  }
  no_such_combination();
}

double NcclConstants::hop(NcclAlgorithm algorithm, NcclProtocol protocol, const MachineKind& machine) const {
  if (machine.within == NodeLinkKind::kXgmi)
    return values_[protocol == NcclProtocol::kLl ? number_of("hop.xgmi.ll") : number_of("hop.xgmi.simple")];
  const std::size_t first = is_host_bound(machine) ? number_of("hop.pcie.tree.ll") : number_of("hop.nvlink.tree.ll");
  switch (algorithm) {
    case NcclAlgorithm::kTree:
      return values_[first + index(protocol)];
    case NcclAlgorithm::kRing:
      return values_[first + 3 + index(protocol)];
    case NcclAlgorithm::kCollNetDirect:
      return values_[first + 6];
    case NcclAlgorithm::kCollNetChain:
      return values_[first + 7];
    case NcclAlgorithm::kNvls:  // in their base latency
    case NcclAlgorithm::kNvlsTree:
    case NcclAlgorithm::kPat:
      return 0;
  }
  no_such_combination();
}

double NcclConstants::network_hop(NcclAlgorithm algorithm, NcclProtocol protocol, const MachineKind& machine) const {
  const double software = values_[number_of("network.other") + index(machine.network)];
  switch (algorithm) {
    case NcclAlgorithm::kTree:
    case NcclAlgorithm::kRing:
      return software + values_[number_of("hop.network.ll") + index(protocol)];
    case NcclAlgorithm::kCollNetDirect:
      return software + values_[number_of("hop.network.collnet_direct")];
    case NcclAlgorithm::kCollNetChain:
      return software + values_[number_of("hop.network.collnet_chain")];
    case NcclAlgorithm::kNvls:
      return software + values_[number_of("hop.network.nvls")];
    case NcclAlgorithm::kNvlsTree:
      return software + values_[number_of("hop.network.nvls_tree")];
    case NcclAlgorithm::kPat:
      return software + values_[number_of("hop.network.pat")];
  }
  no_such_combination();
}

double NcclConstants::ll_cap(Architecture architecture, std::uint32_t nodes) const {
  const std::size_t column = nodes <= 1 ? 0 : nodes == 2 ? 1 : 2;
  switch (measured_as(architecture)) {
    case Architecture::kPascal:
    case Architecture::kVolta:
      return values_[number_of("ll_cap.volta.one_node") + column];
    case Architecture::kHopper:
      return values_[number_of("ll_cap.hopper.one_node") + column];
    case Architecture::kBlackwell:
      return values_[number_of("ll_cap.blackwell.one_node") + column];
    default:
      return values_[number_of("ll_cap.ampere.one_node") + column];
  }
}

double NcclConstants::nvls_efficiency(Architecture architecture) const {
  return values_[measured_as(architecture) == Architecture::kBlackwell ? number_of("efficiency.nvls.blackwell")
                                                                       : number_of("efficiency.nvls.hopper")];
}

double NcclConstants::base_factor(Architecture architecture) const {
  if (architecture == Architecture::kAmpere) return values_[number_of("base_factor.ampere")];
  return measured_as(architecture) == Architecture::kBlackwell ? values_[number_of("base_factor.blackwell")] : 1;
}

double NcclConstants::hop_factor(const MachineKind& machine) const {
  if (machine.within != NodeLinkKind::kNvlink) return 1;
  if (machine.architecture == Architecture::kAmpere) return values_[number_of("hop_factor.ampere")];
  return measured_as(machine.architecture) == Architecture::kBlackwell ? values_[number_of("hop_factor.blackwell")] : 1;
}

double NcclConstants::copy_rate(Architecture architecture) const {
  return values_[is_from_hopper_on(architecture) ? number_of("copy.hopper") : number_of("copy.ampere")];
}

double NcclConstants::launch(LaunchMode mode) const {
  return mode == LaunchMode::kTorch ? values_[number_of("launch.torch")] : 0;
}

double NcclConstants::host_pace(const NcclOptions& options, std::uint32_t per_node, double sends) const {
  const double driven = options.launch == LaunchMode::kSingleProcess ? per_node : 1;
  const double of_send = options.version < kFirstWithFastSends ? values_[number_of("launch.send")] : 0;
  return driven * (values_[number_of("launch.kernel")] + sends * of_send);
}

double NcclConstants::protocol_efficiency(NcclProtocol protocol) const {
  switch (protocol) {
    case NcclProtocol::kLl:
      return values_[number_of("efficiency.ll")];
    case NcclProtocol::kLl128:
      return values_[number_of("efficiency.ll128")];
    case NcclProtocol::kSimple:
      return 1;
  }
  no_such_combination();
}

double NcclConstants::ring_efficiency() const { return values_[number_of("efficiency.ring")]; }
double NcclConstants::tree_efficiency() const { return values_[number_of("efficiency.tree")]; }
double NcclConstants::pat_efficiency() const { return values_[number_of("efficiency.pat")]; }
double NcclConstants::send_efficiency() const { return values_[number_of("efficiency.send")]; }
double NcclConstants::send_peer() const { return values_[number_of("send_peer")]; }
double NcclConstants::send_buffer() const { return values_[number_of("send_buffer")]; }
double NcclConstants::network_efficiency() const { return values_[number_of("efficiency.network")]; }
double NcclConstants::host_efficiency() const { return values_[number_of("efficiency.host")]; }
double NcclConstants::collnet_direct_wait() const { return values_[number_of("collnet_direct_wait")]; }
double NcclConstants::pat_rank() const { return values_[number_of("pat_rank")]; }
double NcclConstants::chunk_cost() const { return values_[number_of("chunk.cost")]; }
double NcclConstants::largest_chunk() const { return values_[number_of("chunk.largest")]; }
double NcclConstants::ring_chunk_cost() const { return values_[number_of("chunk.ring_cost")]; }
double NcclConstants::channels(std::optional<NcclAlgorithm> algorithm, const GroupShape& shape,
                               const MachineKind& machine) const {
  const bool is_nvls = algorithm == NcclAlgorithm::kNvls || algorithm == NcclAlgorithm::kNvlsTree;
  const double most_sends = values_[number_of("channels.send")];
  if (!algorithm && shape.nodes == 1) return most_sends;
  if (!algorithm) return std::min(most_sends, (shape.ranks - shape.fullest) * values_[number_of("channels.peer")]);
  if (is_nvls) return values_[number_of("channels.nvls")];
  if (shape.nodes > 1) return shape.nics * values_[number_of("channels.nic")];
  return values_[is_host_bound(machine) ? number_of("channels.pcie") : number_of("channels.nvlink")];
}

double NcclConstants::channels_of_send(bool is_same_node) const {
  return values_[is_same_node ? number_of("channels.send") : number_of("channels.peer")];
}

double NcclConstants::memory_traffic() const { return values_[number_of("channels.traffic")]; }
double NcclConstants::largest_ring_chunk() const { return values_[number_of("chunk.ring_largest")]; }

}  // namespace orrery::collectives
