// The profiles of one job by rank, and whether they are of all its ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "workload/import/kineto/events.h"

namespace orrery {

struct KinetoRank {
  std::string file;
  KinetoTrace trace;  // which says its rank
};

struct KinetoWorld {
  std::vector<KinetoRank> ranks;  // ascending; one only where it stands for all
  std::uint32_t size = 0;
  bool replicate = false;  // the one rank stands for all
};

class KinetoWorldReader {
 public:
  // Of so many files. With `replicate`, one file may stand for all ranks.
  KinetoWorldReader(std::size_t files, bool replicate, Diagnostics& diagnostics)
      : files_(files), replicate_(replicate && files == 1), diagnostics_(diagnostics) {}

  // Errors are collected. `text` is that of the file; nothing: it is read.
  void add(const std::string& file, std::optional<std::string_view> text = {});
  // Throws InputError with all errors: of files, and of ranks that are missing or contradict one another.
  KinetoWorld take();

 private:
  void add_trace(const std::string& file, KinetoTrace trace);
  void check_ranks();
  std::uint32_t world_of_one() const;

  std::size_t files_;
  bool replicate_;
  Diagnostics& diagnostics_;
  std::map<std::int64_t, KinetoRank> by_rank_;
};

}  // namespace orrery
