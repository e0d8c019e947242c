// How keys and values pass round a context-parallel group beside the attention over them (Liu et al. 2023).
#pragma once

#include <string>

#include "workload/training/layers/priced_layer.h"
#include "workload/training/program/program_writer.h"

namespace orrery {

// In line. Block after block: each is computed while the next one comes and goes on to the neighbour. A block's
// gradients come in while it is computed and go on with this rank's part; after the last hop they are where the block
// belongs.
void write_ring(const PricedRing& ring, const std::string& name, ProgramWriter& writer);

}  // namespace orrery
