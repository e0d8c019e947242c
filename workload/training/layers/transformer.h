// The parts of a transformer as layer programs: the embedding, layers with dense or expert perceptrons, and the head
// with the loss. Tensor parallelism splits products by columns, then by rows (Megatron-LM, Shoeybi et al. 2019);
// sequence parallelism splits what is between them and turns all-reduces into all-gathers and reduce-scatters
// (Korthikanti et al. 2022).
#pragma once

#include <vector>

#include "workload/training/layers/blocks.h"
#include "workload/training/layers/layer_program.h"

namespace orrery {

LayerProgram embedding_layer(const LayerShape& shape);
LayerProgram transformer_layer(const LayerShape& shape, bool has_experts);
// `tied_here`: the embedding is on the same rank, and the weights are counted there.
LayerProgram head_layer(const LayerShape& shape, bool tied_here);

}  // namespace orrery
