#include "workload/import/layers/astra_text.h"

#include <utility>

#include <fmt/format.h>

#include "workload/chakra/file.h"
#include "workload/import/layers/plan.h"
#include "workload/import/layers/schedule.h"
#include "workload/import/layers/text.h"

namespace orrery {
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

class AstraImporter {
 public:
  AstraImporter(const std::string& file, const AstraTextOptions& options, Diagnostics& diagnostics)
      : file_(file), options_(options), diagnostics_(diagnostics), first_(diagnostics.problems().size()) {}

  Job import(std::string_view text) {
    const TextWorkload workload = read_text_workload(file_, text, TextDialect::kAstra, diagnostics_);
    diagnostics_.throw_if_errors();
    check_header(workload, diagnostics_);
    const std::uint32_t ranks = rank_count(workload);
    const std::uint32_t model_parallel = model_parallel_size(workload, ranks);
    if (options_.iterations < 1) diagnostics_.error({file_}, "0 iterations, expected at least 1");
    diagnostics_.throw_if_errors();

    GroupFamilies families;
    const auto scope = [&](LayerPass pass, const TextPass&, TextParallelism parallelism) {
      return scope_of(pass, parallelism, ranks, model_parallel);
    };
    const auto layers = plan_layers(file_, workload, scope, false, families, diagnostics_);
    LayerSchedule schedule{workload.header.parallelism, layers, options_.iterations};
    if (workload.header.last_bottom_layer) schedule.last_bottom_layer = workload.header.last_bottom_layer->value;
    check_size(workload.header.where, schedule, diagnostics_);
    diagnostics_.throw_if_errors();
    Job job = job_of(graph_of(schedule), families, ranks);
    check_work(workload.header.where, job.graphs, diagnostics_);
    diagnostics_.throw_if_errors();
    return job;
  }

 private:
  std::uint32_t rank_count(const TextWorkload& workload) {
    if (!options_.ranks) {
      diagnostics_.error(workload.header.where, "the file does not say how many ranks there are",
                         "give their number (--ranks)");
      return 1;
    }
    if (*options_.ranks >= 1 && *options_.ranks <= kMostImportedRanks) return *options_.ranks;
    diagnostics_.error(workload.header.where,
                       fmt::format("{} ranks, expected 1 .. {}", *options_.ranks, kMostImportedRanks));
    return 1;
  }

  std::uint32_t model_parallel_size(const TextWorkload& workload, std::uint32_t ranks) {
    if (!needs_model_parallel(workload)) return 1;
    const auto& of_file = workload.header.model_parallel;
    const Location where = of_file ? of_file->where : workload.header.where;
    if (!of_file && !options_.model_parallel) {
      diagnostics_.error(
          where, "the file does not say how many ranks make a model-parallel group",
          "give their number (--model-parallel), or write 'model_parallel_NPU_group: 8' on the first line");
      return 1;
    }
    if (of_file && options_.model_parallel && of_file->value != *options_.model_parallel)
      diagnostics_.error(where, fmt::format("model-parallel groups of {} ranks in the file, of {} asked for",
                                            of_file->value, *options_.model_parallel));
    const std::uint32_t size = of_file ? of_file->value : *options_.model_parallel;
    if (size >= 1 && ranks % size == 0) return size;
    if (options_.ranks)  // else that is said already
      diagnostics_.error(where, fmt::format("{} ranks do not divide into model-parallel groups of {}", ranks, size));
    return 1;
  }

  Job job_of(LayerGraph graph, const GroupFamilies& families, std::uint32_t ranks) {
    Job job;
    job.graphs.push_back(std::move(graph.graph));
    job.labels.push_back(std::move(graph.labels));
    job.ranks.resize(ranks);
    for (RankBinding& rank : job.ranks) rank.source = file_;
    families.bind(job);
    job.warnings = warnings_since(diagnostics_, first_);
    return job;
  }

  const std::string& file_;
  const AstraTextOptions& options_;
  Diagnostics& diagnostics_;
  std::size_t first_;
};

}  // namespace

Job import_astra_text(const std::string& file, const AstraTextOptions& options, Diagnostics& diagnostics) {
  return import_astra_text(file, read_file(file), options, diagnostics);
}

Job import_astra_text(const std::string& file, std::string_view text, const AstraTextOptions& options,
                      Diagnostics& diagnostics) {
  return AstraImporter(file, options, diagnostics).import(text);
}

}  // namespace orrery
