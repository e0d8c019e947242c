#include "workload/import/layers/simai.h"

#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "workload/chakra/file.h"
#include "workload/import/layers/plan.h"
#include "workload/import/layers/schedule.h"
#include "workload/import/layers/text.h"

namespace orrery {
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
  SimaiImporter(const std::string& file, const SimaiOptions& options, Diagnostics& diagnostics)
      : file_(file), options_(options), diagnostics_(diagnostics), first_(diagnostics.problems().size()) {}

  Job import(std::string_view text) {
    workload_ = read_text_workload(file_, text, TextDialect::kSimai, diagnostics_);
    diagnostics_.throw_if_errors();
    check_parallelism();
    diagnostics_.throw_if_errors();
    check_header(workload_, diagnostics_);
    read_grid();
    if (options_.iterations < 1) diagnostics_.error({file_}, "0 iterations, expected at least 1");
    diagnostics_.throw_if_errors();

    GroupFamilies families;
    const auto scope = [&](LayerPass pass, const TextPass& call, TextParallelism) {
      return scope_of(pass, call, grid_);
    };
    const auto layers = plan_layers(file_, workload_, scope, true, families, diagnostics_);
    LayerSchedule schedule{workload_.header.parallelism, layers, options_.iterations};
    schedule.pipeline = pipeline();
    check_size(workload_.header.where, schedule, diagnostics_);
    diagnostics_.throw_if_errors();
    Job job = job_of(schedule, families);
    check_work(header().where, job.graphs, diagnostics_);
    diagnostics_.throw_if_errors();
    return job;
  }

 private:
  const TextHeader& header() const { return workload_.header; }

  void check_parallelism() {
    if (header().parallelism == kHybridTransformer || header().parallelism == kHybridTransformerRecompute) return;
    diagnostics_.error(header().where, fmt::format("parallelism {} is none of SimAI's", name_of(header().parallelism)),
                       "import the file as a text workload of ASTRA-sim 1.0");
  }

  std::uint32_t value(const std::optional<TextNumber>& number) const { return number ? number->value : 1; }

  void read_grid() {
    const auto ranks = rank_count();
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

  std::optional<std::uint32_t> rank_count() {
    const auto& of_file = header().ranks;
    if (!of_file && !options_.ranks) {
      diagnostics_.error(header().where, "the first line has no all_gpus", "give the number of ranks (--ranks)");
      return std::nullopt;
    }
    const Location where = of_file ? of_file->where : header().where;
    if (of_file && options_.ranks && of_file->value != *options_.ranks)
      diagnostics_.error(where, fmt::format("{} ranks in the file, {} asked for", of_file->value, *options_.ranks));
    const std::uint32_t ranks = of_file ? of_file->value : *options_.ranks;
    if (ranks >= 1 && ranks <= kMostImportedRanks) return ranks;
    diagnostics_.error(where, fmt::format("{} ranks, expected 1 .. {}", ranks, kMostImportedRanks));
    return std::nullopt;
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
    const auto end = static_cast<std::uint32_t>(workload_.layers.size());
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
    for (std::uint32_t i = 0; i < workload_.layers.size(); ++i)
      if (workload_.layers[i].name == kFirstLayer) starts.push_back(i);
    return starts;
  }

  // A graph for the first stage, one for those in the middle, one for the last.
  Job job_of(LayerSchedule schedule, const GroupFamilies& families) {
    Job job;
    const bool linked = schedule.pipeline.has_value();
    const std::uint32_t stages = linked ? grid_.stages : 1;
    const auto ranks = grid_.tensor * grid_.data * grid_.stages;
    const std::uint32_t ranks_per_stage = ranks / stages;
    job.ranks.resize(ranks);
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      const bool has_previous = stage > 0;
      const bool has_next = stage + 1 < stages;
      if (stage < 2 || !has_next) {
        if (linked) schedule.pipeline->has_previous = has_previous;
        if (linked) schedule.pipeline->has_next = has_next;
        LayerGraph graph = graph_of(schedule);
        job.graphs.push_back(std::move(graph.graph));
        job.labels.push_back(std::move(graph.labels));
      }
      for (std::uint32_t i = 0; i < ranks_per_stage; ++i) {
        const std::uint32_t rank = stage * ranks_per_stage + i;
        RankBinding& binding = job.ranks[rank];
        binding.graph = binding.labels = static_cast<std::uint32_t>(job.graphs.size() - 1);
        binding.source = file_;
        if (has_next) binding.peers.push_back(RankId(rank + ranks_per_stage));
        if (has_previous) binding.peers.push_back(RankId(rank - ranks_per_stage));
      }
    }
    families.bind(job);
    job.warnings = warnings_since(diagnostics_, first_);
    return job;
  }

  const std::string& file_;
  const SimaiOptions& options_;
  Diagnostics& diagnostics_;
  std::size_t first_;
  TextWorkload workload_;
  SimaiGrid grid_;
};

}  // namespace

Job import_simai(const std::string& file, const SimaiOptions& options, Diagnostics& diagnostics) {
  return import_simai(file, read_file(file), options, diagnostics);
}

Job import_simai(const std::string& file, std::string_view text, const SimaiOptions& options,
                 Diagnostics& diagnostics) {
  return SimaiImporter(file, options, diagnostics).import(text);
}

}  // namespace orrery
