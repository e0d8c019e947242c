// From the layers of a text workload to what is performed of them: which ranks a communication is among, and how many
// bytes a rank puts in.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "workload/graph/job.h"
#include "workload/import/layers/schedule.h"
#include "workload/import/layers/text.h"

namespace orrery {

// Groups of `size` ranks that are `stride` apart; stride * size divides the number of ranks. Every rank is in one.
struct FamilyShape {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;

  bool operator==(const FamilyShape&) const = default;
};

// The families that a job uses, numbered in the order of their first use: these numbers are the communicator slots of
// its graphs.
class GroupFamilies {
 public:
  // The groups of a family are called "<name>0", "<name>1", ... A second shape of the same name gets its size and
  // stride into its name: "tensor_16x2_0".
  std::uint32_t slot(std::string_view name, FamilyShape shape);

  // The world and the groups of all families into `job.communicators`, and into the binding of each of its ranks.
  void bind(Job& job) const;

 private:
  struct Family {
    std::string name;
    FamilyShape shape;
    std::string prefix;
  };
  std::vector<Family> families_;
};

struct CallScope {
  std::string_view family;
  FamilyShape shape;
};

// The ranks that a communication of a layer, of that parallelism, is among; nothing when it is not performed.
using ScopeOf =
    std::function<std::optional<CallScope>(LayerPass pass, const TextPass& call, TextParallelism parallelism)>;

// What of the layers is performed: without communications of no bytes, and those among one rank. `all_gather_of_whole`:
// the file's size of an all-gather is that of its result. One warning tells of all that the parallelism does not
// perform (but for the input gradients of layer 0, which nobody needs), one of forward and input-gradient
// communications among one rank. All errors of the file were reported before.
std::vector<PlannedLayer> plan_layers(const std::string& file, const TextWorkload& workload, const ScopeOf& scope_of,
                                      bool all_gather_of_whole, GroupFamilies& families, Diagnostics& diagnostics);

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
