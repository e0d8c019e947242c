// SPDX-License-Identifier: MIT
// The constants of the `nccl` library: latencies, caps and efficiencies, by name, as configs/libraries/nccl.yaml gives
// them with their sources.
//
// Latencies of a hop are net: what the links of the fabric add is not in them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collectives/group_shape.h"
#include "collectives/nccl/options.h"
#include "core/machine_kind.h"

namespace orrery::collectives {

enum class ConstantKind : std::uint8_t {
  kLatency,  // seconds
  kRate,     // bytes per second
  kSize,     // bytes
  kShare,    // of a nominal rate, at most 1
  kFactor,
};

struct NcclConstantEntry {
  std::string_view path;  // in the file: "hop.nvlink.ring.ll128"
  ConstantKind kind;
  std::string_view meaning;  // empty: as of the entry before
};

// All of them, in the order of the file.
std::span<const NcclConstantEntry> nccl_constant_entries();
// Meaning of a constant, shared by its neighbours of the same meaning.
std::string_view meaning_of(std::size_t number);
// The number of the one at `path`.
std::optional<std::size_t> nccl_constant_named(std::string_view path);

inline constexpr std::size_t kNcclConstants = 91;

// Reason why none of these machines, nor groups of several of them, reads the constant, whatever the job calls:
// "no GPUs of a node are joined by xGMI". Empty if one may.
std::string why_idle(std::size_t number, std::span<const MachineKind> machines);

// Each in the unit of its kind.
class NcclConstants {
 public:
  double value(std::size_t number) const { return values_[number]; }
  void set(std::size_t number, double value) { values_[number] = value; }

  // Time of a kernel from its launch to its first step.
  double base(NcclAlgorithm algorithm, NcclProtocol protocol, const MachineKind& machine) const;
  // Time of one step from GPU to GPU of a node, before hop_factor(); and of one over the network.
  double hop(NcclAlgorithm algorithm, NcclProtocol protocol, const MachineKind& machine) const;
  double network_hop(NcclAlgorithm algorithm, NcclProtocol protocol, const MachineKind& machine) const;
  // The most that the LL protocol moves, in bytes per second of bus bandwidth.
  double ll_cap(Architecture architecture, std::uint32_t nodes) const;
  double nvls_efficiency(Architecture architecture) const;
  // Factors on all of base(), and on a whole step within a node, its links included.
  double base_factor(Architecture architecture) const;
  double hop_factor(const MachineKind& machine) const;
  // Rate at which a rank writes its own memory, in bytes per second.
  double copy_rate(Architecture architecture) const;
  // Time that the harness adds to each call.
  double launch(LaunchMode mode) const;
  // Time that a thread of the host needs to start a call on its GPUs (`per_node` of a node, or one), whose kernels hold
  // `sends` sends and receives each. The host starts calls while earlier ones run, so that one of many takes no less.
  double host_pace(const NcclOptions& options, std::uint32_t per_node, double sends) const;

  double protocol_efficiency(NcclProtocol protocol) const;  // data in what is sent
  double ring_efficiency() const;
  double tree_efficiency() const;
  double pat_efficiency() const;
  double network_efficiency() const;
  double host_efficiency() const;
  double send_efficiency() const;      // of sends within a node
  double send_peer() const;            // for each further rank of the node
  double send_buffer() const;          // of a message whose receiver has not come, in bytes
  double collnet_direct_wait() const;  // for each other GPU of the node
  double pat_rank() const;             // for each rank
  double chunk_cost() const;
  double largest_chunk() const;  // per GPU of a node
  double ring_chunk_cost() const;
  double largest_ring_chunk() const;  // of all channels
  // Channels of a call's kernel; each holds a multiprocessor. `algorithm`: none of what is made of sends.
  double channels(std::optional<NcclAlgorithm> algorithm, const GroupShape& shape, const MachineKind& machine) const;
  // The same of one send.
  double channels_of_send(bool is_same_node) const;
  // Bytes of its memory that a rank reads and writes for each byte that it gets.
  double memory_traffic() const;

  bool operator==(const NcclConstants&) const = default;

 private:
  std::array<double, kNcclConstants> values_{};
};

}  // namespace orrery::collectives
