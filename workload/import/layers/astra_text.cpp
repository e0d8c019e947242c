// SPDX-License-Identifier: MIT
#include "workload/import/layers/astra_text.h"

#include <utility>

#include <fmt/format.h>

#include "workload/chakra/file.h"
#include "workload/import/layers/plan.h"
#include "workload/import/layers/schedule.h"
#include "workload/import/layers/text.h"

namespace orrery::workload {
namespace {

using enum TextParallelism;

bool is_hybrid(TextParallelism parallelism) {
  return parallelism == kHybridDataModel || parallelism == kHybridModelData || parallelism == kHybridTransformer ||
         parallelism == kHybridTransformerRecompute;
}

// In HYBRID_CUSTOMIZED the layers decide.
bool needs_model_parallel(const TextWorkload& workload) {
  if (is_hybrid(workload.header.parallelism)) return true;
  for (const TextLayer& layer : workload.layers)
    if (layer.parallelism && is_hybrid(*layer.parallelism)) return true;
  return false;
}

std::optional<CallScope> scope_of(LayerPass pass, TextParallelism parallelism, std::uint32_t ranks,
                                  std::uint32_t model) {
  const bool weights = pass == LayerPass::kWeightGradient;
  const std::uint32_t data = ranks / model;
  const std::string_view family = weights ? "data" : "tensor";
  switch (parallelism) {
    case kMicro:
    case kData:
      if (!weights) return std::nullopt;
      return CallScope{family, {ranks, 1}};
    case kModel:
    case kDistributedInference:
      if (weights) return std::nullopt;
      return CallScope{family, {ranks, 1}};
    case kHybridDlrm:
    case kHybridDlrmEnhanced:
      return CallScope{family, {ranks, 1}};
    case kHybridModelData:
      return CallScope{family, weights ? FamilyShape{data, 1} : FamilyShape{model, data}};
    case kHybridDataModel:
    case kHybridTransformer:
    case kHybridTransformerRecompute:
    case kHybridCustomized:
      break;
  }
  return CallScope{family, weights ? FamilyShape{data, model} : FamilyShape{model, 1}};
}

// 1 where there are no such groups, or after an error.
std::uint32_t model_parallel_size(const TextImport& import, const AstraTextOptions& options, std::uint32_t ranks,
                                  Diagnostics& diagnostics) {
  if (!needs_model_parallel(import.workload())) return 1;
  const auto& of_file = import.header().model_parallel;
  const auto size =
      import.number(of_file, options.model_parallel,
                    {"the file does not say how many ranks make a model-parallel group",
                     "give their number (--model-parallel), or write 'model_parallel_NPU_group: 8' on the first line",
                     "model-parallel groups of {} ranks in the file, of {} asked for"});
  if (!size) return 1;
  if (*size >= 1 && ranks % *size == 0) return *size;
  if (options.ranks)  // else that is said already
    diagnostics.error(import.where(of_file),
                      fmt::format("{} ranks do not divide into model-parallel groups of {}", ranks, *size));
  return 1;
}

}  // namespace

Job import_astra_text(const std::string& file, const AstraTextOptions& options, Diagnostics& diagnostics) {
  return import_astra_text(file, read_file(file), options, diagnostics);
}

Job import_astra_text(const std::string& file, std::string_view text, const AstraTextOptions& options,
                      Diagnostics& diagnostics) {
  TextImport import(file, text, TextDialect::kAstra, diagnostics);
  import.check_header();
  const std::uint32_t ranks =
      import
          .rank_count(std::nullopt, options.ranks,
                      {"the file does not say how many ranks there are", "give their number (--ranks)", {}})
          .value_or(1);
  const std::uint32_t model_parallel = model_parallel_size(import, options, ranks, diagnostics);
  const auto scope = [&](LayerPass pass, const TextPass&, TextParallelism parallelism) {
    return scope_of(pass, parallelism, ranks, model_parallel);
  };
  return import.job({ranks, options.iterations, scope});
}

}  // namespace orrery::workload
