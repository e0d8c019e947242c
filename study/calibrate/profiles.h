// SPDX-License-Identifier: MIT
// A PyTorch profile (Kineto) of one rank as evidence for a calibration: how long its host takes to launch a kernel, the
// kernels whose sizes the operators say, the collectives with their bytes, and what the device's time went by with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/collective_kind.h"
#include "core/config/tree.h"
#include "core/error.h"
#include "core/units.h"
#include "study/calibrate/findings.h"
#include "study/calibrate/kernel_timing.h"

namespace orrery::study {

// State of a device at an instant: of several the first. kExchange: alone. kHost: nothing, and what comes next had
// not been launched. kIdle: nothing, though it had been.
enum class ProfiledKind : std::uint8_t { kProduct, kAttention, kOther, kCopy, kExchange, kHost, kIdle };
inline constexpr std::size_t kProfiledKindCount = 7;
std::string_view name_of(ProfiledKind kind);

// Parts of the time from the first operation of the device to the end of the last, of a step: they sum to it.
struct ProfiledTime {
  std::string file;
  std::size_t steps = 0;  // 0: the profile marks none, and is taken as one
  std::array<double, kProfiledKindCount> seconds{};
  double exchange = 0;  // seconds of collectives, hidden or not

  double of(ProfiledKind kind) const { return seconds[static_cast<std::size_t>(kind)]; }
  double total() const;
};

// Launches of a rank's host, each with the time since the one before on its thread.
struct ProfiledLaunches {
  std::size_t kernels = 0;        // launched one by one
  std::size_t late = 0;           // of them: the device had nothing to do when they were launched
  std::size_t graphs = 0;         // launches of graphs
  std::size_t graph_kernels = 0;  // that these ran
  std::vector<double> waited;     // seconds between launches, while the device waited for its host, ascending
  std::vector<double> all;        // likewise between all launches
  double until_start = 0;         // seconds from a launch to the start of its kernel on a device that waits: median
};

// A kind of collective of one size among as many ranks.
struct ProfiledCollective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes{0};  // as workload::CallSize has it
  std::int64_t ranks = 0;
  std::size_t count = 0;
  double fastest = 0;  // seconds; kernels of NCCL wait for the last rank, the fastest the least
  double median = 0;
  Location where;
};

struct ProfileEvidence {
  std::string file;
  std::string device;  // as the driver calls it; empty: not said
  ProfiledTime time;
  ProfiledLaunches launches;
  std::vector<KernelTiming> kernels;  // alike ones are one, with their median
  std::vector<ProfiledCollective> collectives;
  bool has_shapes = false;
  bool has_stacks = false;        // Python's calls were recorded, which slows the host
  double products_known = 0;      // share of the time of products whose sizes are known
  std::vector<Problem> warnings;  // of the reading; calibrate_host() does not repeat them
};

// Reads profiles, one of each file. InputError with all that is wrong with them: no profile, truncated, without
// operations of a device, times that are none.
std::vector<ProfileEvidence> read_profile_evidence(std::span<const std::string> files);
ProfileEvidence read_profile_evidence_text(const std::string& file, std::string_view text);

// All timed kernels of the profiles.
std::vector<KernelTiming> kernels_of(std::span<const ProfileEvidence> profiles);

// The host's launch time: sets host.launch of the software, where a profile shows its host as the bound. Its rows are
// the profiles. The cluster's node may say by how much its hosts launch slower (`host_launch`). InputError where a
// profile is of another device than the cluster's.
Finding calibrate_host(std::span<const ProfileEvidence> profiles, CalibratedMachine& machine, const ConfigFiles& files);

}  // namespace orrery::study
