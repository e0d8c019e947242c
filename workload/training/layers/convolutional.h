// What a rank computes for a convolutional network trained in data parallel: a convolution with its batch norm, the sum
// with a shortcut, ReLU and pooling is a layer, and so is the classifier with the loss.
#pragma once

#include <cstdint>
#include <vector>

#include "core/precision.h"
#include "workload/training/layers/layer_program.h"
#include "workload/training/spec/model.h"

namespace orrery {

// Which kernels a software runs.
struct ConvolutionKernels {
  bool fused_norm = false;  // batch norm, the sum with a shortcut and ReLU are one kernel
  bool winograd = false;    // 3x3 convolutions at a stride of 1
  bool transposed = false;  // channels come before pixels, which kernels with tensor cores take the other way round
};

ConvolutionKernels convolution_kernels(const SoftwareSpec& software, Precision precision);

// In the order of the network, for `batch` images: from 1 to 2^18. Memory for the images is left out.
std::vector<LayerProgram> convolutional_layers(const ConvolutionalSpec& model, std::int64_t batch, Precision precision,
                                               ConvolutionKernels kernels = {});

}  // namespace orrery
