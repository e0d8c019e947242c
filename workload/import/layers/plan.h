// SPDX-License-Identifier: MIT
// From the layers of a text workload to a job: what is performed of them, which ranks a communication is among, and how
// many bytes a rank puts in.
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

namespace orrery::workload {

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

// What the imports of all dialects have in common: which numbers count, what of the layers is performed, and the job.
class TextImport {
 public:
  // Reads the text. Throws InputError with all that is wrong.
  TextImport(const std::string& file, std::string_view text, TextDialect dialect, Diagnostics& diagnostics);

  const TextWorkload& workload() const { return workload_; }
  const TextHeader& header() const { return workload_.header; }
  const Location& where(const std::optional<TextNumber>& number) const {
    return number ? number->where : header().where;
  }

  // Keys of the header against the parallelism and the layers: layers that do not exist, recomputation without a
  // checkpoint before it, keys that mean nothing for this parallelism.
  void check_header() const;

  // What a key that the file and the user may leave out comes to. Reports where both do, and where they differ.
  struct Key {
    std::string_view missing;
    std::string_view hint;
    std::string_view differ;  // "{} ranks in the file, {} asked for"
  };
  std::optional<std::uint32_t> number(const std::optional<TextNumber>& of_file, std::optional<std::uint32_t> asked,
                                      const Key& key) const;
  // The same for how many ranks there are, which are 1 .. 2^20.
  std::optional<std::uint32_t> rank_count(const std::optional<TextNumber>& of_file, std::optional<std::uint32_t> asked,
                                          const Key& key) const;

  struct Request {
    std::uint32_t ranks = 1;
    std::uint32_t iterations = 1;
    ScopeOf scope_of;
    bool all_gather_of_whole = false;  // the file's size of an all-gather is that of its result
    std::uint32_t stages = 1;
    // How the stages exchange messages; nothing where they do not.
    std::function<std::optional<PlannedPipeline>()> pipeline = [] { return std::nullopt; };
  };
  // Throws InputError with all that is wrong.
  Job job(const Request& request);

 private:
  std::vector<PlannedLayer> plan_layers(const Request& request);
  Job job_of(LayerSchedule schedule, const Request& request) const;

  const std::string& file_;
  Diagnostics& diagnostics_;
  std::size_t first_;  // problem that is of this import
  TextWorkload workload_;
  GroupFamilies families_;
};

}  // namespace orrery::workload
