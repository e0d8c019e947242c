// SPDX-License-Identifier: MIT
// Measured times of single kernels as CSV, a row a kernel; the columns tell what was measured, as in
// configs/validation/compute/{gemm,attention,experts}-*.csv. Matrix products have dtype, m, n, k and latency_us, those
// of training as well layout (TN forward, NN gradient of the input, NT gradient of the weight), out_dtype (of the
// result) and accumulate (True where it is added to); grouped products of experts have groups, m_per_group, n and k of
// the forward product, stage (fwd, bwd_grad_act, bwd_grad_w), main_grad_dtype and accumulate; causal attention of whole
// sequences has batch, isl (tokens of a sequence), heads, kv_heads and head_dim in place of m, n, k, and may have
// v_head_dim and pass (fwd, bwd); fused experts have tokens, hidden, inter (of a whole expert), topk, experts, tp, ep,
// distribution (balanced or power_law_1.2) and kernel, whose name says where experts have no gate ("nongated").
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"
#include "core/units.h"
#include "workload/training/spec/kernels.h"
#include "workload/training/spec/operators.h"

namespace orrery::system {

// Rows of each expert of the busiest of `ranks`, most first, of those that have any: every token goes to `per_token` of
// `experts`. exponent 0: all experts are alike; else their shares follow a power law, x^-exponent from 1 to 0.8 tokens,
// as in the measurements of ai-dynamo/aiconfigurator; experts are dealt to ranks in an order that is always the same.
std::vector<double> expert_rows(std::int64_t tokens, std::int64_t per_token, std::int64_t experts, std::int64_t ranks,
                                double exponent);

struct KernelSample {
  Location where;
  std::string kind;       // "gemm bf16", "gemm fp8-block": what errors are summed up under
  std::string at;         // its shape: "4096x1024x8192"
  std::int64_t rows = 0;  // that it counts by: m of a product
  std::variant<workload::Operator, workload::FusedExperts> what;
  Duration measured{};

  bool operator==(const KernelSample&) const = default;
};

// True if the first line that is no comment names columns of kernels.
bool is_kernel_csv(std::string_view text);

// Lines that start with '#' are comments; columns that nothing needs are not read. Problems go to `diagnostics`, with
// line and column of `name`; rows that have one are left out.
std::vector<KernelSample> read_kernel_csv(std::string_view text, const std::string& name, Diagnostics& diagnostics);

// Samples of all files that a key lists; paths are relative to the file of the key, and gzip is allowed.
std::vector<KernelSample> read_kernel_files(Section& section, std::string_view key, std::string_view meaning);

}  // namespace orrery::system
