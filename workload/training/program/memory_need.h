// SPDX-License-Identifier: MIT
// Memory of a rank's device during training, by purpose.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "workload/training/program/stage_program.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

enum class MemoryUse : std::uint8_t {
  kParameters,
  kGradients,
  kOptimizer,      // master copies and states
  kActivations,    // between the forward and the backward pass, at their peak; or MemoryNeed::step if that is more
  kCommunication,  // parameters gathered from others (ZeRO 3), buckets under way, activations of neighbouring stages
  kWorkspaces,     // that libraries take from the framework's allocator, and buffers that stay
};

inline constexpr std::size_t kMemoryUseCount = 6;

std::string_view name_of(MemoryUse use);  // "parameters", ...

struct MemoryNeed {
  std::array<Bytes, kMemoryUseCount> by{};
  Bytes passing{0};  // of communication: what is there while layers are computed alone
  Bytes step{0};     // copies of gradients during the optimizer's step, when no activations are there
  Bytes reserve{0};  // beside these: libraries and the allocator
  Bytes host{0};     // of the host's memory

  Bytes& operator[](MemoryUse use) { return by[static_cast<std::size_t>(use)]; }
  Bytes operator[](MemoryUse use) const { return by[static_cast<std::size_t>(use)]; }
  Bytes total() const;
  // Bytes behind the optimizer's step, before activations of the next one come: `memory_allocated` of PyTorch, where
  // the software's footprint has what its libraries take.
  Bytes rest() const { return standing() - passing + step; }
  // Memory that the device's tools show; the allocator gives back some of it before it fails.
  Bytes in_use() const { return total() + reserve; }
  // All but activations: there from beginning to end.
  Bytes standing() const { return total() - (*this)[MemoryUse::kActivations]; }
  bool operator==(const MemoryNeed&) const = default;
};

// Memory of a rank of a stage.
MemoryNeed memory_need(const StageRequest& request);

// Parameters from which training can go on, with masters and states; `matrices` of them are updated as matrices.
Bytes checkpoint_bytes(const TrainingSpec& training, std::int64_t parameters, std::int64_t matrices);

// Memory of a parameter server, which has its share of the model's `parameters`.
MemoryNeed server_memory(const TrainingSpec& training, std::int64_t parameters);

// Activations that a pass over a chunk of layers takes when it starts and gives back when it ends. Where weight
// gradients are put off, what they need stays until then, also what the backward pass computed again.
struct PassMemory {
  Bytes taken;
  Bytes given;
};
PassMemory pass_memory(std::span<const StageLayer> chunk, const Pass& pass);

// Activations that layer `at` of a chunk, in the order of the pass, takes and gives back where the pass runs beside
// another; none behind the last layer. Two such passes go layer by layer: the forward pass takes what it saves while
// the backward pass gives back what another had saved, each after the layers of both.
PassMemory layer_memory(std::span<const StageLayer> chunk, const Pass& pass, std::size_t at);

// Memory of all the parts.
Bytes sum_of(std::span<const MemoryPart> parts, const StageRequest& request);

// Writes down where the memory of activations changes in a program.
class MemoryBook {
 public:
  using Parts = std::vector<MemoryPart>;

  // `request` outlives it.
  explicit MemoryBook(const StageRequest& request) : request_(request) {}

  // Node `number` takes the parts when it starts, or gives them back when it ends.
  void takes(std::uint32_t number, const Parts& parts) { add(number, false, parts); }
  void gives(std::uint32_t number, const Parts& parts) { add(number, true, parts); }

  void take(StageProgram& program) &&;

 private:
  void add(std::uint32_t number, bool at_end, const Parts& parts);

  const StageRequest& request_;
  std::map<Parts, std::uint32_t> known_;
  std::vector<std::int64_t> amounts_;
  std::vector<Parts> parts_;  // by amount
  std::vector<MemoryCourse::Place> places_;
};

// The most that the passes of an iteration hold together.
Bytes peak_activations(const StageRequest& request);

}  // namespace orrery::workload
