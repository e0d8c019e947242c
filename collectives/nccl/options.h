// SPDX-License-Identifier: MIT
// Options of the `nccl` library: its version, who launches its kernels, and the algorithms and protocols that it is
// restricted to (NCCL_ALGO, NCCL_PROTO).
#pragma once

#include <array>
#include <bitset>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::collectives {

enum class NcclAlgorithm : std::uint8_t { kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat };

inline constexpr std::array<NcclAlgorithm, 7> kAllNcclAlgorithms = {
    NcclAlgorithm::kTree,         NcclAlgorithm::kRing, NcclAlgorithm::kCollNetDirect,
    NcclAlgorithm::kCollNetChain, NcclAlgorithm::kNvls, NcclAlgorithm::kNvlsTree,
    NcclAlgorithm::kPat};

enum class NcclProtocol : std::uint8_t { kLl, kLl128, kSimple };

inline constexpr std::array<NcclProtocol, 3> kAllNcclProtocols = {NcclProtocol::kLl, NcclProtocol::kLl128,
                                                                  NcclProtocol::kSimple};

// Launcher of a call's kernels; the times of small messages depend on it.
enum class LaunchMode : std::uint8_t {
  kMpi,            // a process for each GPU
  kThreads,        // a thread for each GPU
  kSingleProcess,  // one thread for all GPUs of a node
  kTorch,          // a process for each GPU, through PyTorch
};

struct NcclVersion {
  std::uint32_t major = 2;
  std::uint32_t minor = 0;
  std::uint32_t patch = 0;

  auto operator<=>(const NcclVersion&) const = default;
};

// The oldest release that is one library with all of today's calls, and the newest whose decisions are known.
inline constexpr NcclVersion kOldestNccl{2, 0, 0};
inline constexpr NcclVersion kNewestNccl{2, 30, 0};
// First version of NCCL with PXN (release notes of 2.12).
inline constexpr NcclVersion kFirstWithPxn{2, 12, 0};

struct NcclTuner;  // collectives/nccl/tuner.h

struct NcclOptions {
  NcclVersion version = kNewestNccl;
  LaunchMode launch = LaunchMode::kMpi;
  bool in_place = false;  // all-gathers and all-to-alls find their own part where it belongs
  bool pxn = false;       // what goes to another rail is sent by a GPU of the node that is on it
  // Algorithms by enumerator; none: the library is not held to any and may take all.
  std::bitset<kAllNcclAlgorithms.size()> algorithms{};
  std::bitset<kAllNcclProtocols.size()> protocols{};
  std::shared_ptr<const NcclTuner> tuner{};  // null: NCCL chooses itself

  bool may_take(NcclAlgorithm a) const { return algorithms.none() || algorithms[static_cast<std::size_t>(a)]; }
  bool may_take(NcclProtocol p) const { return protocols.none() || protocols[static_cast<std::size_t>(p)]; }

  bool operator==(const NcclOptions&) const = default;
};

// True if NCCL has `algorithm` in `protocol`: ring and tree in all, the others in Simple only.
bool has_protocol(NcclAlgorithm algorithm, NcclProtocol protocol);

// "ring", "collnet-direct"; "ll128"; "single-process"; "2.18.5".
std::string_view name_of(NcclAlgorithm algorithm);
std::string_view name_of(NcclProtocol protocol);
std::string_view name_of(LaunchMode mode);
std::string to_text(NcclVersion version);

// In the order of the enumerations.
std::vector<std::string> nccl_algorithm_names();
std::vector<std::string> nccl_protocol_names();
std::vector<std::string> launch_mode_names();

// Case, hyphens and underscores make no difference, so NCCL's own spellings (CollnetDirect, NVLSTree) serve too.
std::optional<NcclAlgorithm> nccl_algorithm_named(std::string_view name);
std::optional<NcclProtocol> nccl_protocol_named(std::string_view name);

// "2.18.5", "2.27" (patch 0), and as NCCL prints itself, "2.18.3+cuda12.2"; nothing for others.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);

}  // namespace orrery::collectives
