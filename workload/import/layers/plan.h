// From the layers of a text workload to what is performed of them: which ranks a communication is among, and how many
// bytes a rank puts in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "workload/import/group_families.h"
#include "workload/import/layers/flow.h"
#include "workload/import/layers/schedule.h"
#include "workload/import/layers/text.h"

namespace orrery {

struct CallScope {
  std::string_view family;
  FamilyShape shape;
};

// The numbers of the job and where they stand; all errors of the file were reported before.
class LayerPlanner {
 public:
  virtual ~LayerPlanner() = default;

  // Without communications of no bytes, and those among one rank. One warning tells of all that the parallelism does
  // not perform (but for the input gradients of layer 0, which nobody needs), one of forward and input-gradient
  // communications among one rank.
  std::vector<PlannedLayer> plan(const std::string& file, const TextWorkload& workload, GroupFamilies& families,
                                 Diagnostics& diagnostics) const;

 private:
  // Nothing when the communication is not performed.
  virtual std::optional<CallScope> scope(std::size_t layer, LayerPass pass, const TextPass& call,
                                         TextParallelism parallelism) const = 0;
  virtual Bytes input_bytes(CollectiveKind kind, Bytes size, std::uint32_t group) const = 0;
};

// What a parallelism's order of execution performs, whoever the ranks are: MICRO only the weight gradients of layer 0,
// and so on.
bool is_performed(TextParallelism parallelism, std::size_t layer, LayerPass pass, const TextPass& call);

// Keys of the header against the parallelism and the layers: layers that do not exist, recomputation without a
// checkpoint before it, keys that mean nothing for this parallelism.
void check_header(const TextWorkload& workload, Diagnostics& diagnostics);

// The most ranks, and nodes of one rank, that an import makes.
inline constexpr std::uint32_t kMostImportedRanks = 1u << 20;
inline constexpr std::uint64_t kMostImportedNodes = 16'000'000;

// Reports a schedule of too many nodes.
void check_size(const Location& where, const LayerSchedule& schedule, Diagnostics& diagnostics);

// Reports a job that does nothing.
void check_work(const Location& where, std::span<const ExecutionGraph> graphs, Diagnostics& diagnostics);

// The warnings from number `first` on of the diagnostics, for Job::warnings.
std::vector<Problem> warnings_since(const Diagnostics& diagnostics, std::size_t first);

}  // namespace orrery
