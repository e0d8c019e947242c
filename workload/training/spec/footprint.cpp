// SPDX-License-Identifier: MIT
#include "workload/training/spec/footprint.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"

namespace orrery::workload {
namespace {

// Sizes beyond these are wrong units.
constexpr Bytes kMostReserve{1LL << 40}, kMostLoss{64}, kMostWorkspace{64LL << 30};

void check_workspace(Section& section, std::string_view key, Bytes size, Bytes most) {
  if (size > most)
    section.error(key, fmt::format("{}: {} is more than any device has", key, rounded(size)), "as in 32 MiB");
}

void read_workspaces(Section& section, Footprint& footprint) {
  section.map(
      "workspaces", "ARCHITECTURE",
      "workspaces that libraries take from the framework's allocator and keep, by architecture of the devices. "
      "Example: `workspaces: {hopper: {products: 32 MiB, modules: 32 MiB}}`",
      [&](const ConfigEntry& entry, Section& s) {
        Workspaces workspaces;
        s.takes("products", workspaces.products,
                "workspace of the framework's own GEMMs for each of two threads: one launches forward passes, one "
                "backward passes");
        s.takes("modules", workspaces.modules, "workspace of the GEMMs of a library of layers (Transformer Engine)");
        check_workspace(s, "products", workspaces.products, kMostWorkspace);
        check_workspace(s, "modules", workspaces.modules, kMostWorkspace);
        const std::vector<std::string> names = architecture_names();
        const auto found = std::ranges::find(names, entry.key);
        if (found == names.end())
          s.error("", fmt::format("no architecture is called '{}'", printable(entry.key, 40)),
                  suggestion(entry.key, names));
        else
          footprint.workspaces_of[static_cast<Architecture>(found - names.begin())] = workspaces;
      });
  section.takes("deterministic", footprint.deterministic,
                "with `workload.deterministic`: workspace of each thread's own GEMMs "
                "(CUBLAS_WORKSPACE_CONFIG=:4096:8)");
  check_workspace(section, "deterministic", footprint.deterministic, kMostWorkspace);
  section.takes("pieces", footprint.pieces, {1, 64},
                "with `overlap.tensor: pieces`: number of workspaces of modules, one for each stream of pieces");
  section.takes("grouped", footprint.grouped, {0, 64},
                "workspaces of modules that grouped GEMMs of experts take more, one for each of their streams");
}

void read_kept(Section& section, Footprint& footprint) {
  section.takes("loss", footprint.loss,
                "what the loss holds of each logit at its peak; without it, the logit and 4 bytes. A fused cross "
                "entropy that makes exponentials of their own holds 10 B, one that works in place 4 B");
  if (footprint.loss.value_or(Bytes(0)) > kMostLoss)
    section.error("loss", fmt::format("loss: {} of each logit", rounded(*footprint.loss)),
                  fmt::format("a few copies of it: at most {}", rounded(kMostLoss)));
  section.takes("buffer", footprint.buffer, {"none", "gathers", "scores"},
                "buffer of a rank that stays, as large as the largest use; gathers: what tensor-parallel ranks gather "
                "along the sequence before the head, and tokens gathered for experts, scores: these, and the scores "
                "of plain attention");
  section.takes("received", footprint.received, {0, 64},
                "with a pipeline: activations of neighbouring stages that a stage holds all the time; twice as many "
                "with `kind: 1f1b-interleaved`");
  section.takes("gradient_copy", footprint.gradient_copy,
                "whether gradients of 16 bits are copied to fp32 for the optimizer's step");
  section.takes("attention_mask", footprint.attention_mask,
                "whether the data loader makes a mask: a byte for each query and key of a micro-batch");
  section.takes("attention_copy", footprint.attention_copy,
                "whether flash attention keeps its result apart from the copy that the projection takes, as "
                "flash-attn does under Transformer Engine and cuDNN does not");
  section.takes("router_weights", footprint.router_weights, {"results", "activations"},
                "where the router's weights are applied; results: to what experts give, which is kept, activations: "
                "before their last GEMM, so that an activation function that is no gated one keeps its result apart");
  section.takes(
      "weight_gradient", footprint.weight_gradient,
      "what gradients take while they are made, for each weight of a layer's largest GEMM: 0 B where the GEMM "
      "adds them up itself");
  if (footprint.weight_gradient > kMostLoss)
    section.error("weight_gradient", fmt::format("weight_gradient: {} a weight", rounded(footprint.weight_gradient)),
                  fmt::format("a few copies of it: at most {}", rounded(kMostLoss)));
  section.takes("deferred_heads", footprint.deferred_heads, {0, 1 << 16},
                "number of micro-batches whose logits' gradients are held at most, to put off the head's weight "
                "gradients (Megatron-Core's wgrad-deferral-limit), and no more than a step has; memory only, the time "
                "is that of the same work at once");
}

}  // namespace

void Footprint::settle(Architecture architecture, bool is_deterministic) {
  const auto own = workspaces_of.find(architecture);
  const auto found = own == workspaces_of.end() ? workspaces_of.find(measured_as(architecture)) : own;
  workspaces = found == workspaces_of.end() ? Workspaces{} : found->second;
  if (is_deterministic && workspaces.products > Bytes(0)) workspaces.products = deterministic;
}

void read_footprint(Section& section, Footprint& footprint) {
  section.takes("reserve", footprint.reserve, "what the context and communication libraries take");
  if (footprint.reserve > kMostReserve)
    section.error("reserve", fmt::format("reserve: {} is more than any device has", rounded(footprint.reserve)),
                  "as in 7 GiB");
  const double share = section.optional<double>(
      "fragments", footprint.fragments, "what the allocator holds and cannot use, as a share of what is needed");
  if (std::isfinite(share) && share >= 0 && share <= 1)
    footprint.fragments = share;
  else
    section.error("fragments", fmt::format("fragments: {} is no share", share), "between 0 and 1");
  read_workspaces(section, footprint);
  read_kept(section, footprint);
}

}  // namespace orrery::workload
