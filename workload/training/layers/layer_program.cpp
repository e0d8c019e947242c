#include "workload/training/layers/layer_program.h"

#include "core/assert.h"

namespace orrery {

std::string_view name_of(GroupFamily family) {
  switch (family) {
    case GroupFamily::kTensor:
      return "tensor";
    case GroupFamily::kContext:
      return "context";
    case GroupFamily::kExpert:
      return "expert";
    case GroupFamily::kData:
      return "data";
    case GroupFamily::kShard:
      return "shard";
    case GroupFamily::kReplicate:
      return "replicate";
    case GroupFamily::kExpertData:
      return "expert-data";
    case GroupFamily::kEmbedding:
      return "embedding";
    case GroupFamily::kWorld:
      return "world";
  }
  ORRERY_ASSERT(false);
}

}  // namespace orrery
