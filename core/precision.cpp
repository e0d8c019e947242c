// SPDX-License-Identifier: MIT
#include "core/precision.h"

#include <array>

#include "core/assert.h"

namespace orrery {

std::string_view name_of(Precision precision) {
  constexpr std::array<std::string_view, kAllPrecisions.size()> kNames = {"fp64", "fp32",  "tf32",  "fp16", "bf16",
                                                                          "fp8",  "mxfp8", "nvfp4", "int8"};
  return kNames[static_cast<std::size_t>(precision)];
}

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  for (const Precision precision : kAllPrecisions) names.emplace_back(name_of(precision));
  return names;
}

std::int64_t values_of_scale(Precision precision) {
  if (precision == Precision::kMxfp8) return 32;
  return precision == Precision::kNvfp4 ? 16 : 0;
}

std::int64_t bits_of(Precision precision) {
  return precision == Precision::kNvfp4 ? 4 : size_of(precision).count() * 8;
}

Bytes stored(Precision precision, std::int64_t values) {
  const std::int64_t shared = values_of_scale(precision);
  return ceil_div(Bytes(values) * bits_of(precision), 8) + (shared > 0 ? ceil_div(Bytes(values), shared) : Bytes(0));
}

Bytes size_of(Precision precision) {
  switch (precision) {
    case Precision::kFp64:
      return Bytes(8);
    case Precision::kFp32:
    case Precision::kTf32:
      return Bytes(4);
    case Precision::kFp16:
    case Precision::kBf16:
      return Bytes(2);
    case Precision::kFp8:
    case Precision::kMxfp8:
    case Precision::kNvfp4:
    case Precision::kInt8:
      return Bytes(1);
  }
  ORRERY_ASSERT(false);
}

bool is_of_products_only(Precision precision) { return size_of(precision) == Bytes(1); }

}  // namespace orrery
