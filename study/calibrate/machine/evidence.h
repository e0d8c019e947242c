// SPDX-License-Identifier: MIT
// Kinds of files that a calibration takes, told by their contents.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/config/tree.h"

namespace orrery::study {

enum class EvidenceKind : std::uint8_t {
  kCollectives,  // output of nccl-tests or rccl-tests, a table of it, `orrery collective --json`
  kKernels,      // a table of timed kernels, a measurement of scripts/measure
  kProfile,      // of PyTorch (Kineto)
  kSteps,        // a table of measured training jobs
};
inline constexpr std::array kAllEvidence = {EvidenceKind::kCollectives, EvidenceKind::kKernels, EvidenceKind::kProfile,
                                            EvidenceKind::kSteps};
// "collectives", "kernels", "profile", "steps".
std::string_view name_of(EvidenceKind kind);

struct EvidenceFile {
  EvidenceKind kind = EvidenceKind::kCollectives;
  std::string path;
};

// Throws InputError for a file that cannot be read, is empty or binary, or is of none of the kinds, with what was
// looked for.
EvidenceFile evidence_of(const std::string& path, const ConfigFiles& files);

}  // namespace orrery::study
