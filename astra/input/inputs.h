// SPDX-License-Identifier: MIT
// ASTRA-sim's own input files: the system's JSON, the network's YAML, the remote memory's JSON and the communicator
// groups' JSON, with its defaults. What ASTRA-sim ignores is a warning, what it dies of an error at a line.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "astra/input/ticks.h"
#include "core/config/tree.h"
#include "core/error.h"

namespace orrery::astra {

enum class Backend : std::uint8_t { kUnaware, kAware };

// The command line, as ASTRA-sim has it.
struct Flags {
  Backend backend = Backend::kUnaware;
  std::string workload;  // PREFIX of PREFIX.<rank>.et
  std::string system;
  std::string network;
  std::string remote_memory;
  std::string groups = "empty";  // a path with "empty" in it is none
  std::uint32_t queues_per_dimension = 1;
  double injection_scale = 1;
  bool rendezvous = false;
};

enum class CommKind : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast };
std::string_view name_of(CommKind kind);

enum class AlgorithmKind : std::uint8_t { kRing, kDirect, kHalvingDoubling, kDoubleBinaryTree };

struct Algorithm {
  AlgorithmKind kind = AlgorithmKind::kRing;
  std::uint32_t window = 0;  // of kDirect: messages in flight; 0: one for each peer
  bool flat = false;         // "oneRing": over all NPUs as one dimension
  std::string name;          // as the file has it
};

struct Implementation {
  std::vector<Algorithm> dimensions{};
  std::string custom;  // a prefix of files; empty: none
  int line = 0;        // of the key; 0: there is none
};

struct SharedBus {
  bool on = false;
  Ticks latency = 0;
  Ticks overhead = 0;
  Ticks gap = 0;
  double byte_gap = 0;
  Ticks reduction = 1;  // of 100 bytes
  Location where_byte_gap{};
};

struct System {
  std::array<Implementation, 4> implementations{};  // by CommKind
  bool baseline = true;                             // ASTRA-sim leaves it to what memory holds, which is mostly zero
  bool has_optimization = false;
  std::uint64_t splits = 0;
  std::uint32_t active_chunks = 1;
  Ticks endpoint_delay = 10;
  double memory_bandwidth = 0;  // bytes a nanosecond
  bool roofline = false;
  double peak = 0;  // operations a second
  bool replay_only = false;
  bool track_memory = false;
  SharedBus bus{};
  std::map<std::uint64_t, std::string> custom_of_node{};
  std::string file{};
  std::map<std::string, int, std::less<>> lines{};  // of its keys

  Location where(std::string_view key) const;
};

enum class TopologyKind : std::uint8_t { kRing, kSwitch, kFullyConnected };
std::string_view name_of(TopologyKind kind);

struct Dimension {
  TopologyKind topology = TopologyKind::kRing;
  std::uint32_t size = 0;
  double bandwidth = 0;  // bytes a nanosecond
  double latency = 0;    // nanoseconds
  double gigabytes = 0;  // the bandwidth as the file has it
  Location where_bandwidth{};
  Location where_latency{};
};

struct NetworkFile {
  std::vector<Dimension> dimensions{};
  std::uint32_t npus = 0;
  std::string file;
};

enum class MemoryKind : std::uint8_t { kUnset, kNone, kPerNpu, kPerNode, kPool };

struct RemoteMemory {
  MemoryKind kind = MemoryKind::kUnset;
  Ticks latency = 0;
  double bandwidth = 0;  // bytes a nanosecond
  std::string file;
  Location where_bandwidth{};
};

using Groups = std::map<std::uint64_t, std::vector<std::uint32_t>>;

struct Inputs {
  Flags flags;
  System system{};
  NetworkFile network{};
  RemoteMemory memory{};
  Groups groups{};
  std::string groups_file{};  // empty: none
  std::vector<Problem> warnings{};
};

// Reads all but the traces. InputError with what is wrong with a file.
Inputs read_inputs(const Flags& flags);

NetworkFile read_network(const std::string& file, std::vector<Problem>& warnings);

// InputError of `what`, which by the value of a key would end after the end of time.
[[noreturn]] void refuse_too_long(const Location& where, std::string_view key, std::string_view what, double duration);

}  // namespace orrery::astra
