// SPDX-License-Identifier: MIT
#include "workload/training/spec/kernels.h"

#include <cmath>

#include <fmt/format.h>

#include "core/precision.h"

namespace orrery::workload {
namespace {

constexpr std::array<std::string_view, kOperandFormatCount> kFormats = {"bf16", "fp8", "fp8-block", "nvfp4"};

void take_factor(Section& section, std::string_view key, double& value, double most, std::string_view meaning) {
  const double read = section.optional<double>(key, value, meaning);
  if (std::isfinite(read) && read >= 0 && read <= most)
    value = read;
  else
    section.error(key, fmt::format("invalid factor {}", read), fmt::format("between 0 and {}", most));
}

// A share that something is divided by.
void take_share(Section& section, std::string_view key, double& value, std::string_view meaning) {
  take_factor(section, key, value, 2, meaning);
  if (value < 0.01)
    section.error(key, fmt::format("invalid share {}", value), "from 0.01; a share is written 0.9 or 90 %");
}

void read_format(Section& section, FormatKernels& kernels) {
  take_share(section, "main_loop", kernels.main_loop, "rate of the main loop, as a share of the library's `main_loop`");
  take_share(section, "sustained", kernels.sustained,
             "rate that lasts under the power limit, as a share of the library's `main_loop`");
  section.takes("passes", kernels.passes, {0, 8},
                "number of kernels that quantise the first operand of a GEMM, each over all of it");
}

void read_attention(Section& section, AttentionKernels& attention) {
  take_factor(section, "bf16", attention.half, 2,
              "share of the dense peak that flash attention reaches in its products of two-byte operands; 0: as "
              "`flash_forward` has it");
  take_factor(section, "fp8", attention.fp8, 2,
              "share of the dense peak that flash attention reaches in its products of fp8 operands");
  section.takes("launch", attention.launch, "fixed time of flash attention");
  section.takes("softmax", attention.softmax,
                "time that the softmax takes for a query and a key on one multiprocessor. Example: `35 ps`");
  take_factor(section, "diagonal", attention.diagonal, 10'000,
              "keys that each query of causal attention is multiplied with beyond those that it sees, twice the mean");
  take_factor(section, "traffic", attention.traffic, 100,
              "memory traffic, relative to moving queries, keys, values and result once in two bytes a value");
}

void read_experts(Section& section, ExpertKernels& experts) {
  take_share(section, "main_loop", experts.main_loop,
             "rate of the main loop of experts in one kernel, as a share of that of a single GEMM");
  section.takes("launch", experts.launch, "fixed time of the fused kernels of experts");
  section.takes("route", experts.route, "time of sorting and summing up each expert that a token goes to");
  take_factor(section, "traffic", experts.traffic, 100,
              "memory traffic of moving tokens to experts and back, relative to moving each once in every step");
}

}  // namespace

std::string_view name_of(OperandFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

OperandFormat format_of(Precision precision, Scaling scaling) {
  if (!is_of_products_only(precision)) return OperandFormat::kHalf;
  if (precision == Precision::kNvfp4) return OperandFormat::kNvfp4;
  if (scaling == Scaling::kBlock || precision == Precision::kMxfp8) return OperandFormat::kFp8Block;
  return scaling == Scaling::kNvfp4 ? OperandFormat::kNvfp4 : OperandFormat::kFp8;
}

void read_kernels(Section& section, KernelLibrary& kernels) {
  section.takes("launch", kernels.launch, "fixed time of a GEMM");
  take_share(section, "main_loop", kernels.main_loop,
             "share of the dense peak in the main loop of a tile of 256 x 128");
  take_factor(section, "small_tile", kernels.small_tile, 1000, "what smaller tiles lose");
  section.takes("wave", kernels.wave, "fixed time of each wave of tiles");
  take_factor(section, "epilogue", kernels.epilogue, 10'000,
              "writing the result of a tile takes as long as so many steps along k");
  section.takes("split", kernels.split, "fixed time of summing up slices of k");
  section.takes("quantise", kernels.quantise, "fixed time of a kernel that quantises an operand");
  section.takes("quantise_value", kernels.quantise_value,
                "time that such a kernel takes for each value on one multiprocessor. Example: `74 ps`");
  take_factor(section, "cache", kernels.cache, 1,
              "share of the device's `cache` up to which operands stay in it from one kernel to the next");
  section.defaulted_section("attention", "flash attention, forward",
                            [&](Section& s) { read_attention(s, kernels.attention); });
  section.defaulted_section("experts", "experts of a mixture in fused kernels, forward",
                            [&](Section& s) { read_experts(s, kernels.experts); });
  section.defaulted_section("formats", "constants by the format of operands", [&](Section& formats) {
    for (std::size_t format = 0; format < kOperandFormatCount; ++format)
      formats.defaulted_section(kFormats[format], "kernels whose operands have this format",
                                [&](Section& s) { read_format(s, kernels.formats[format]); });
  });
}

}  // namespace orrery::workload
