// SPDX-License-Identifier: MIT
// Operators of a layer: shapes, FLOPs and bytes. How long an operator takes is the device's business (OperatorTimes).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/precision.h"
#include "core/units.h"

namespace orrery::workload {

// Role of a product in a transformer layer: queries, keys and values; the projection behind attention; the first and
// the second of a perceptron.
enum class Product : std::uint8_t { kOther, kQkv, kProjection, kUp, kDown };
// Dimension of a layer's weights [k][n] that tensor parallelism splits; none: each of its ranks has all of them.
enum class WeightSplit : std::uint8_t { kNone, kRows, kColumns };
// Scaling of operands of fewer than two bytes: by tensor; fp8 by blocks of some 128 values; nvfp4, half a byte a value
// and a scale for every 16.
enum class Scaling : std::uint8_t { kTensor, kBlock, kNvfp4 };

// Stage of a linear layer that a product computes: its result, the gradient of its input, or that of its weights, whose
// operands both lie along the dimension that is summed over (BLAS: TN, NN, NT).
enum class ProductStage : std::uint8_t { kForward, kInputGradient, kWeightGradient };
std::string_view name_of(ProductStage stage);  // "forward", "input gradient", "weight gradient"

// `batch` products C[m][n] = A[m][k] * B[k][n]. Operands and result are of `precision`, but those of fp8 and int8
// products are two bytes wide where they meet the rest of the model: the result.
struct Gemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  Precision precision = Precision::kBf16;
  bool aligned = true;  // rows of operands start at multiples of 16 bytes, which fast kernels load
  bool winograd =
      false;  // of a 3x3 convolution: F(2x2, 3x3) multiplies 16 times where windows do 36 (arXiv 1509.09308)
  // Values of A and of C in memory, if a convolution's windows overlap or skip some; 0: m * k and m * n.
  std::int64_t stored_a = 0;
  std::int64_t stored_c = 0;
  Product product = Product::kOther;
  Scaling scaling = Scaling::kTensor;  // of fp8 operands
  ProductStage stage = ProductStage::kForward;
  bool grouped = false;  // `batch` experts in one kernel, each with weights of its own
  // Memory traffic of a value of the result; none: it is written once. A gradient that the kernel adds to what earlier
  // micro-batches left is read as well, in the precision of gradients.
  Bytes result{0};
  WeightSplit split = WeightSplit::kNone;  // of the weights, or of those whose gradient this is
  bool of_experts = false;                 // weights of the rank's experts, `batch` of them

  auto operator<=>(const Gemm&) const = default;
};

// Scaled dot-product attention in one kernel that keeps the scores on the chip. `batch` counts sequences times heads.
struct FlashAttention {
  std::int64_t batch = 0;
  std::int64_t queries = 0;  // per sequence
  std::int64_t keys = 0;
  std::int64_t head_size = 0;
  bool causal = true;     // half the scores are not computed
  bool backward = false;  // 2.5 times the work: scores again, and four products
  Precision precision = Precision::kBf16;
  std::int64_t group = 1;   // heads of queries that share keys and values
  std::int64_t window = 0;  // keys that a query sees, its own among them; 0: all

  auto operator<=>(const FlashAttention&) const = default;
};

// Kinds of operators bound by memory bandwidth: they differ in how often software reads and writes what it need read
// and write only once.
enum class ElementWiseKind : std::uint8_t {
  kNorm,        // layer norm, RMS norm
  kRotary,      // rotary position embedding
  kActivation,  // GeLU, SwiGLU
  kAdd,         // bias, dropout and residual
  kEmbedding,   // gather of rows, and its gradient
  kSoftmax,     // over attention scores kept in memory, with mask and dropout
  kLoss,        // cross entropy
  kOptimizer,
  kAccumulate,  // of gradients, where no GEMM does it
  kCopy,        // layouts, routing of tokens
  kCast,        // of operands to fp8
};

inline constexpr std::size_t kElementWiseKindCount = 11;

std::string_view name_of(ElementWiseKind kind);  // "norm", "rotary", ...

struct ElementWise {
  ElementWiseKind kind = ElementWiseKind::kCopy;
  Bytes bytes;  // every operand read once, every result written once

  auto operator<=>(const ElementWise&) const = default;
};

using Operator = std::variant<Gemm, FlashAttention, ElementWise>;

// "matrix product", "attention", or the kind of element-wise operators; and of which sizes: "4096 x 2304 x 12288 bf16".
std::string_view kind_of(const Operator& op);
std::string sizes_of(const Operator& op);
// Multiplications and additions counted apart; of element-wise operators zero: they are bound by bytes.
Flops flops_of(const Operator& op);
// Every operand read once, every result written once.
Bytes bytes_of(const Operator& op);

// Times of operators on some device with some software.
class OperatorTimes {
 public:
  virtual ~OperatorTimes() = default;
  // Never negative; zero only for an operator without work.
  virtual Duration time(const Operator& op) const = 0;
  // Weight of measurements of similar operators in the time, from 0 to 1.
  virtual double measured(const Operator&) const { return 0; }
  // Streaming multiprocessors of the device; 0: not known.
  virtual std::int64_t processors() const { return 0; }
};

}  // namespace orrery::workload
