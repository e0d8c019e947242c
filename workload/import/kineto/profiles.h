// SPDX-License-Identifier: MIT
// The profiles of a job as they are read from files: each with its rank, linked to the execution trace of its step, and
// on one clock where they have one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "workload/import/kineto/events.h"
#include "workload/import/kineto/kineto.h"

namespace orrery::workload {

inline constexpr std::int64_t kPicosecondsPerKinetoTick = 1'000;

struct KinetoRank {
  std::string file;
  KinetoTrace trace;  // which says its rank
};

// One profile with the calls of c10d noted on its kernels, as far as it has them by itself. `text`: of the file, if it
// has been read already. InputError where it is none, or has no operation of a device.
KinetoTrace read_lone_profile(const std::string& file, std::optional<std::string_view> text, KinetoDetail detail);

using KinetoRanks = std::map<std::int64_t, KinetoRank>;

// Throws InputError with the errors of all files. `text` is that of the one file, if it has been read already.
KinetoRanks read_profiles(std::span<const std::string> files, std::optional<std::string_view> text,
                          Diagnostics& diagnostics, KinetoFacts& facts);

// Throws InputError where ranks are missing or contradict one another.
void check_profiles(const KinetoRanks& ranks, Diagnostics& diagnostics);

// The ranks of the world, of which the profiles are some. InputError where it is none.
std::uint32_t world_of_profiles(const KinetoRanks& ranks);

// Delay of each rank's first operation, by rank: empty if the ranks have no clock in common, which is a warning. Fills
// in what was measured.
std::map<std::int64_t, KinetoTime> starts_of(const KinetoRanks& ranks, KinetoFacts& facts, Diagnostics& diagnostics);

}  // namespace orrery::workload
