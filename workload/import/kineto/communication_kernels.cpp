// SPDX-License-Identifier: MIT
// Kernels that communicate, told by their names.
#include <algorithm>
#include <array>
#include <string>

#include "workload/import/kineto/events.h"

namespace orrery::workload {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Kernels that communicate without NCCL, by a part of their names.
struct OtherCommunication {
  std::string_view part;
  std::string_view library;
};
constexpr std::array kOtherCommunication = std::to_array<OtherCommunication>({
    {"internode::", "DeepEP"},  // dispatch and combine of tokens; the namespace around it differs between forks
    {"intranode::", "DeepEP"},
    {"internode_ll::", "DeepEP"},
    {"nvshmem", "NVSHMEM"},                 // the start of all its symbols
    {"cross_device_reduce", "vLLM"},        // its all-reduce, which SGLang has too
    {"userbuffers_", "TransformerEngine"},  // overlap of tensor parallelism with products
});
// Words that mark the collectives of any other library: one of them in the name, without underscores and in lower case.
constexpr std::array<std::string_view, 4> kCollectiveWords = {"allreduce", "allgather", "reducescatter", "alltoall"};

}  // namespace

bool is_nccl_kernel(std::string_view name) {
  return name.starts_with("nccl") || name.starts_with("rccl") || has(name, "ncclKernel") ||
         has(name, "ncclDevKernel") || has(name, "ncclSymk");
}

std::string_view other_communication(std::string_view kernel) {
  if (is_nccl_kernel(kernel)) return {};
  for (const OtherCommunication& other : kOtherCommunication)
    if (has(kernel, other.part)) return other.library;
  std::string letters;
  for (const char c : kernel)
    if (c != '_') letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto is_in = [&](std::string_view word) { return has(letters, word); };
  return std::ranges::any_of(kCollectiveWords, is_in) ? "another library" : std::string_view{};
}

}  // namespace orrery::workload
