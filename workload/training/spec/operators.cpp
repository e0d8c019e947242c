// SPDX-License-Identifier: MIT
#include "workload/training/spec/operators.h"

#include <array>

#include <fmt/format.h>

namespace orrery::workload {
namespace {

Bytes result_size(Precision precision) { return is_of_products_only(precision) ? Bytes(2) : size_of(precision); }

Flops work(const Gemm& gemm) { return Flops(2 * gemm.batch * gemm.m * gemm.n * gemm.k); }

// A window's first queries see fewer keys under a causal mask: a triangle.
Flops work(const FlashAttention& attention) {
  const std::int64_t keys = attention.keys;
  const bool windowed = attention.window > 0 && attention.window < keys;
  const std::int64_t seen = windowed ? attention.window : keys;
  const std::int64_t products = attention.batch * attention.queries * seen * attention.head_size * 4;
  std::int64_t computed = products;
  if (attention.causal)
    computed = windowed ? static_cast<std::int64_t>(Int128{products} * (2 * keys - seen) / (2 * keys)) : products / 2;
  return Flops(attention.backward ? computed * 5 / 2 : computed);
}

Flops work(const ElementWise&) { return Flops(0); }

Bytes traffic(const Gemm& gemm) {
  const std::int64_t a = gemm.stored_a > 0 ? gemm.stored_a : gemm.m * gemm.k;
  const std::int64_t c = gemm.stored_c > 0 ? gemm.stored_c : gemm.m * gemm.n;
  const Bytes result = gemm.result.count() > 0 ? gemm.result : result_size(gemm.precision);
  return (stored(gemm.precision, a + gemm.k * gemm.n) + result * c) * gemm.batch;
}

// Forward: queries, keys, values in, result out. Backward: those and the result's gradient in, three gradients out.
Bytes traffic(const FlashAttention& attention) {
  const Bytes queries = size_of(attention.precision) * (attention.batch * attention.queries * attention.head_size);
  const Bytes keys = size_of(attention.precision) * (attention.batch * attention.keys * attention.head_size);
  return attention.backward ? queries * 4 + keys * 4 : queries * 2 + keys * 2;
}

Bytes traffic(const ElementWise& op) { return op.bytes; }

}  // namespace

std::string_view name_of(ElementWiseKind kind) {
  constexpr std::array<std::string_view, 11> kNames = {
      "norm", "rotary", "activation", "add", "embedding", "softmax", "loss", "optimizer", "accumulate", "copy", "cast"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(ProductStage stage) {
  constexpr std::array<std::string_view, 3> kNames = {"forward", "input gradient", "weight gradient"};
  return kNames[static_cast<std::size_t>(stage)];
}

std::string_view kind_of(const Operator& op) {
  if (std::holds_alternative<Gemm>(op)) return "matrix product";
  if (const auto* kernel = std::get_if<ElementWise>(&op)) return name_of(kernel->kind);
  return "attention";
}

std::string sizes_of(const Operator& op) {
  struct Sizes {
    std::string operator()(const Gemm& gemm) const {
      return fmt::format("{}{} x {} x {} {}", gemm.batch > 1 ? fmt::format("{} of ", gemm.batch) : "", gemm.m, gemm.n,
                         gemm.k, name_of(gemm.precision));
    }
    std::string operator()(const FlashAttention& attention) const {
      const std::string window = attention.window > 0 ? fmt::format(" in windows of {}", attention.window) : "";
      return fmt::format("{} x {} over {}{} x {} {}{}", attention.batch, attention.queries, attention.keys, window,
                         attention.head_size, name_of(attention.precision), attention.backward ? " backward" : "");
    }
    std::string operator()(const ElementWise& kernel) const { return fmt::format("{} B", kernel.bytes.count()); }
  };
  return std::visit(Sizes{}, op);
}

Flops flops_of(const Operator& op) {
  return std::visit([](const auto& o) { return work(o); }, op);
}

Bytes bytes_of(const Operator& op) {
  return std::visit([](const auto& o) { return traffic(o); }, op);
}

}  // namespace orrery::workload
