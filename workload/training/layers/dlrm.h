// What a rank computes and communicates for a recommendation model (Naumov et al. 2019): embedding tables spread over
// all ranks, multi-layer perceptrons repeated on every rank. A rank looks up the rows of its tables for the samples of
// all ranks; an all-to-all brings every rank those of its own samples, and their gradients back.
#pragma once

#include <cstdint>
#include <vector>

#include "core/precision.h"
#include "workload/training/layers/layer_program.h"
#include "workload/training/spec/model.h"

namespace orrery {

// "embedding", "bottom", "top": a rank with `batch` samples of its own, 1 to 2^18, and 2^26 on all ranks. Tables are
// split by columns where their number is no multiple of the ranks, so that ranks have equal shares. Backward, nothing
// but the exchange of gradients waits for "bottom"; so it comes before the all-to-all of "embedding".
//
// `parameters` are the dense ones alone, for gradients of the tables are neither exchanged nor met by the optimizer:
// rows are updated where they are. The tables' memory is apart.
std::vector<LayerProgram> dlrm_layers(const DlrmSpec& model, std::int64_t batch, std::int64_t ranks,
                                      Precision precision);

// A rank's share of the tables.
Bytes dlrm_table_bytes(const DlrmSpec& model, std::int64_t ranks);

}  // namespace orrery
