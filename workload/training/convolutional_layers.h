// What a rank computes for a convolutional network trained in data parallel: a convolution with its batch norm and ReLU
// is a layer, and so is the classifier with the loss.
#pragma once

#include <cstdint>
#include <vector>

#include "core/precision.h"
#include "workload/training/layer_program.h"
#include "workload/training/model.h"

namespace orrery {

// In the order of the network, for `batch` images: from 1 to 2^18. Sums over shortcuts and pooling between convolutions
// are left out, and memory for the images.
std::vector<LayerProgram> convolutional_layers(const ConvolutionalSpec& model, std::int64_t batch, Precision precision);

}  // namespace orrery
