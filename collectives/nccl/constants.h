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
#include <string_view>

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

inline constexpr std::size_t kNcclConstants = 81;

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
  // Time that the harness adds to each call, for `per_node` GPUs of a node.
  double launch(LaunchMode mode, std::uint32_t per_node) const;

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

  bool operator==(const NcclConstants&) const = default;

 private:
  std::array<double, kNcclConstants> values_{};
};

}  // namespace orrery::collectives
