// SPDX-License-Identifier: MIT
#include "workload/import/layers/simai.h"

#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "workload/chakra/file.h"
#include "workload/import/layers/plan.h"
#include "workload/import/layers/schedule.h"
#include "workload/import/layers/text.h"

namespace orrery::workload {
namespace {

using enum TextParallelism;

// rank = tensor position + tensor * (data position + data * stage).
struct SimaiGrid {
  std::uint32_t tensor = 1;
  std::uint32_t data = 1;
  std::uint32_t stages = 1;
  std::uint32_t expert = 1;  // divides data
};

CallScope scope_of(LayerPass pass, const TextPass& call, const SimaiGrid& grid) {
  const CallScope tensor{"tensor", {grid.tensor, 1}}, data{"data", {grid.data, grid.tensor}};
  switch (call.group) {
    case TextGroup::kUsual:
      return pass == LayerPass::kWeightGradient ? data : tensor;
    case TextGroup::kTensor:
      return tensor;
    case TextGroup::kData:
      return data;
    case TextGroup::kExpert:
      return {"expert", {grid.expert, grid.tensor}};
    case TextGroup::kExpertData:
      return {"expert_data", {grid.data / grid.expert, grid.tensor * grid.expert}};
  }
  ORRERY_ASSERT(false);
}

// AICB writes one of these for each micro-batch, in front of its layers.
constexpr std::string_view kFirstLayer = "embedding_layer";

class SimaiImporter {
 public:
  SimaiImporter(const std::string& file, std::string_view text, const SimaiOptions& options, Diagnostics& diagnostics)
      : options_(options), diagnostics_(diagnostics), import_(file, text, TextDialect::kSimai, diagnostics) {}

  Job import() {
    check_parallelism();
    diagnostics_.throw_if_errors();
    import_.check_header();
    read_grid();
    const auto scope = [&](LayerPass pass, const TextPass& call, TextParallelism) {
      return scope_of(pass, call, grid_);
    };
    return import_.job({grid_.tensor * grid_.data * grid_.stages, options_.iterations, scope, true, grid_.stages,
                        [&] { return pipeline(); }});
  }

 private:
  const TextHeader& header() const { return import_.header(); }

  void check_parallelism() {
    if (header().parallelism == kHybridTransformer || header().parallelism == kHybridTransformerRecompute) return;
    diagnostics_.error(header().where, fmt::format("unknown SimAI parallelism {}", name_of(header().parallelism)),
                       "import the file as a text workload of ASTRA-sim 1.0");
  }

  std::uint32_t value(const std::optional<TextNumber>& number) const { return number ? number->value : 1; }

  void read_grid() {
    const auto ranks = import_.rank_count(
        header().ranks, options_.ranks,
        {"the first line has no all_gpus", "give the number of ranks (--ranks)", "{} ranks in the file, {} asked for"});
    if (!header().model_parallel)
      diagnostics_.error(header().where, "the first line has no model_parallel_NPU_group",
                         "the number of tensor-parallel ranks");
    if (!ranks || !header().model_parallel) return;
    const std::uint64_t replica = std::uint64_t{value(header().model_parallel)} * value(header().pipeline_parallel);
    if (*ranks % replica != 0) {
      diagnostics_.error(header().where,
                         fmt::format("{} ranks do not divide by {} tensor-parallel ranks times {} stages", *ranks,
                                     value(header().model_parallel), value(header().pipeline_parallel)),
                         "all_gpus is a multiple of model_parallel_NPU_group times pp");
      return;
    }
    grid_.tensor = value(header().model_parallel);
    grid_.stages = value(header().pipeline_parallel);
    grid_.data = static_cast<std::uint32_t>(*ranks / replica);
    grid_.expert = value(header().expert_parallel);
    if (grid_.data % grid_.expert != 0)
      diagnostics_.error(header().expert_parallel->where,
                         fmt::format("{} data-parallel ranks do not divide into expert-parallel groups of {}",
                                     grid_.data, grid_.expert));
  }

  // Nothing, with a warning, where the file does not show what a micro-batch is.
  std::optional<PlannedPipeline> pipeline() {
    if (grid_.stages == 1) return std::nullopt;
    const auto without = [&](std::string why) {
      diagnostics_.warning(header().where,
                           fmt::format("the {} pipeline stages do not wait for one another: {}", grid_.stages, why));
      return std::nullopt;
    };
    if (!options_.pipeline) return without("as asked for");
    if (header().pipeline_message == Bytes(0)) return without("the first line has no pp_comm");
    const std::vector<std::uint32_t> starts = micro_batch_starts();
    if (starts.empty() || starts.size() != value(header().micro_batches))
      return without(fmt::format("{} layers are named {}, expected one for each of ga {} micro-batches", starts.size(),
                                 kFirstLayer, value(header().micro_batches)));
    const auto end = static_cast<std::uint32_t>(import_.workload().layers.size());
    const std::uint32_t length = starts.size() > 1 ? starts[1] - starts[0] : end - starts[0];
    for (std::size_t i = 0; i < starts.size(); ++i)
      if (starts[i] != starts[0] + i * length || starts[i] + length > end)
        return without("the micro-batches differ in their number of layers");
    warn_of_interleaving();
    return PlannedPipeline{false,     false,  header().pipeline_message,
                           starts[0], length, static_cast<std::uint32_t>(starts.size())};
  }

  void warn_of_interleaving() {
    if (value(header().virtual_pipeline) == 1) return;
    diagnostics_.warning(header().virtual_pipeline->where,
                         fmt::format("vpp {}: the interleaved schedule is not rebuilt, so stages wait longer for one "
                                     "another than with it",
                                     value(header().virtual_pipeline)));
  }

  std::vector<std::uint32_t> micro_batch_starts() const {
    std::vector<std::uint32_t> starts;
    for (std::uint32_t i = 0; i < import_.workload().layers.size(); ++i)
      if (import_.workload().layers[i].name == kFirstLayer) starts.push_back(i);
    return starts;
  }

  const SimaiOptions& options_;
  Diagnostics& diagnostics_;
  TextImport import_;
  SimaiGrid grid_;
};

}  // namespace

Job import_simai(const std::string& file, const SimaiOptions& options, Diagnostics& diagnostics) {
  return import_simai(file, read_file(file), options, diagnostics);
}

Job import_simai(const std::string& file, std::string_view text, const SimaiOptions& options,
                 Diagnostics& diagnostics) {
  return SimaiImporter(file, text, options, diagnostics).import();
}

}  // namespace orrery::workload
