// SPDX-License-Identifier: MIT
#include "workload/training/program/generate_job.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "core/assert.h"
#include "workload/training/layers/model_layers.h"
#include "workload/training/program/expert_loads.h"
#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/rank_grid.h"
#include "workload/training/program/stage_requests.h"

namespace orrery::workload {
namespace {

// Times that do not matter: for what follows from shapes alone.
class NoTimes final : public OperatorTimes {
 public:
  Duration time(const Operator&) const override { return Duration(1); }
};

// Every rank of a stage has its program; with uneven experts, that of its place in the expert-parallel group.
std::size_t program_of(const TrainingSpec& training, const RankGrid& grid, const RankGrid::Place& place,
                       std::size_t loads) {
  const auto stage = static_cast<std::size_t>(
      training.parallel.depth_of(place[static_cast<std::size_t>(ParallelDimension::kPipeline)]));
  return stage * loads + static_cast<std::size_t>(grid.expert_replica(place) % training.parallel.expert) % loads;
}

// Fills in the ranks and the groups of the programs' local numbers.
class JobBuilder {
 public:
  explicit JobBuilder(const TrainingSpec& training) : training_(training), grid_(training.parallel) {
    Communicator world{"world", {}};
    for (std::int64_t rank = 0; rank < training.parallel.ranks(); ++rank)
      world.members.push_back(RankId(static_cast<std::uint32_t>(rank)));
    job_.communicators.push_back(std::move(world));
    job_.ranks.resize(static_cast<std::size_t>(training.parallel.ranks()));
  }

  void add(StageProgram program) {
    // Names of the communication in reports, by PeerKind.
    constexpr std::array kNames = {"pipeline", "pipeline", "context", "context", "server"};
    std::vector<std::string> names;
    for (const Peer& peer : program.peers) names.emplace_back(kNames[static_cast<std::size_t>(peer.kind)]);
    job_.graphs.push_back(std::move(program.graph));
    job_.labels.push_back(std::move(program.labels));
    job_.known_facts.push_back({std::move(names), std::move(program.iteration_starts), program.initial_nodes,
                                training_.input || training_.checkpoint});
    details_.push_back(program.tags.empty() ? nullptr
                                            : std::make_shared<RankDetails>(RankDetails{.tags = program.tags}));
    programs_.push_back(std::move(program));
  }

  void bind_workers(std::size_t loads) {
    for (std::int64_t rank = 0; rank < grid_.ranks(); ++rank) {
      const RankGrid::Place place = grid_.place(rank);
      bind(rank, program_of(training_, grid_, place, loads), place);
    }
  }

  void bind_server(std::uint32_t server) {
    RankBinding& binding = job_.ranks[static_cast<std::size_t>(grid_.ranks() + server)];
    binding.graph = binding.labels = static_cast<std::uint32_t>(job_.graphs.size() - 1);
    for (const Peer& peer : programs_.back().peers) binding.peers.push_back(RankId(peer.server));
  }

  Job take() && { return std::move(job_); }

 private:
  void bind(std::int64_t rank, std::size_t program, const RankGrid::Place& place) {
    RankBinding& binding = job_.ranks[static_cast<std::size_t>(rank)];
    binding.graph = binding.labels = static_cast<std::uint32_t>(program);
    for (const GroupFamily family : programs_[program].communicators)
      binding.communicators.push_back(
          GroupId(first_group(family) + static_cast<std::uint32_t>(grid_.group_of(family, place))));
    for (const Peer& peer : programs_[program].peers) binding.peers.push_back(grid_.peer(peer, place));
    binding.shared_details = details_[program];
  }

  // The groups of a family are made when the first rank needs one.
  std::uint32_t first_group(GroupFamily family) {
    if (family == GroupFamily::kWorld) return 0;
    const auto [known, added] = first_group_.try_emplace(family, static_cast<std::uint32_t>(job_.communicators.size()));
    if (added) std::ranges::move(grid_.groups(family), std::back_inserter(job_.communicators));
    const TransformerSpec* model = training_.transformer();
    if (added && family == GroupFamily::kExpert && training_.experts.dispatch.kind == DispatchKind::kCopies)
      for (std::size_t group = known->second; group < job_.communicators.size(); ++group)
        job_.communicators[group].exchange = {
            training_.experts.dispatch,
            {model->experts, model->experts_per_token, model->expert_groups, model->groups_per_token, false}};
    return known->second;
  }

  const TrainingSpec& training_;
  const RankGrid grid_;
  Job job_;
  std::vector<StageProgram> programs_;                 // by graph, which has gone to the job
  std::vector<std::shared_ptr<RankDetails>> details_;  // by graph
  std::map<GroupFamily, std::uint32_t> first_group_;
};

PipelineFacts pipeline_facts(const TrainingSpec& training) {
  PipelineFacts facts{pipeline_shape(training), training.parallel.both_ways, {}};
  facts.shape.micro_batches = static_cast<std::uint32_t>(training.chunk_micro_batches());
  const RankGrid grid(training.parallel);
  RankGrid::Place place{};
  std::int64_t& stage = place[static_cast<std::size_t>(ParallelDimension::kPipeline)];
  for (; stage < training.parallel.pipeline(); ++stage)
    facts.ranks.push_back(RankId(static_cast<std::uint32_t>(grid.rank_at(place))));
  return facts;
}

}  // namespace

TrainingJob generate_job(const TrainingSpec& training, const OperatorTimes& times, Loops loops) {
  // 1. The programs of the pipeline stages.
  StageRequests requests(training, times);
  JobBuilder builder(training);
  TrainingJob result;
  for (StageRequest& request : requests.all()) {
    request.repeats = loops == Loops::kRepeated;
    StageProgram program = stage_program(request, times);
    result.facts.memory.push_back({RankId(0), memory_need(request), std::move(program.memory)});
    result.facts.updates.push_back(std::move(program.updates));
    result.facts.marks.push_back(std::move(program.marks));
    result.facts.marks.back().stage = request.stage;
    result.facts.kernels.push_back({0, kernel_uses(request, times)});
    builder.add(std::move(program));
  }
  const std::int64_t parameters = parameters_of(requests.all().back()).total();
  // 2. The ranks.
  builder.bind_workers(requests.loads());
  if (training.parallel.exchange == ExchangeKind::kParameterServer)
    for (std::uint32_t server = 0; server < training.parallel.servers; ++server) {
      StageProgram program = server_program(training, parameters, server, times);
      result.facts.updates.push_back(std::move(program.updates));
      builder.add(std::move(program));
      builder.bind_server(server);
      result.facts.memory.push_back({RankId(0), server_memory(training, parameters), {}});
      result.facts.kernels.emplace_back();
      result.facts.marks.emplace_back();
    }
  result.job = std::move(builder).take();
  for (std::size_t rank = result.job.ranks.size(); rank-- > 0;)
    result.facts.memory[result.job.ranks[rank].graph].first_rank = RankId(static_cast<std::uint32_t>(rank));
  for (const RankBinding& rank : result.job.ranks) ++result.facts.kernels[rank.graph].ranks;
  // 3. What it is measured by.
  result.facts.model_flops = model_flops(training);
  result.facts.tokens = tokens_per_step(training);
  result.facts.has_tokens = training.transformer() != nullptr;
  result.facts.iterations = training.iterations;
  result.facts.workers = training.parallel.workers();
  result.facts.pipelines.push_back(pipeline_facts(training));
  return result;
}

std::vector<MemoryNeed> memory_needs(const TrainingSpec& training, const StageRequests& requests) {
  std::vector<MemoryNeed> needs;
  for (const StageRequest& request : requests.all()) needs.push_back(memory_need(request));
  if (training.parallel.exchange == ExchangeKind::kParameterServer)
    needs.insert(needs.end(), static_cast<std::size_t>(training.parallel.servers),
                 server_memory(training, parameters_of(requests.all().back()).total()));
  return needs;
}

std::vector<MemoryNeed> memory_needs(const TrainingSpec& training) {
  const NoTimes times;
  return memory_needs(training, StageRequests(training, times));
}

std::vector<std::uint32_t> programs_of_ranks(const TrainingSpec& training) {
  const RankGrid grid(training.parallel);
  const std::size_t loads = expert_loads(training).size();
  std::vector<std::uint32_t> programs;
  for (std::int64_t rank = 0; rank < grid.ranks(); ++rank)
    programs.push_back(static_cast<std::uint32_t>(program_of(training, grid, grid.place(rank), loads)));
  const auto of_workers = static_cast<std::uint32_t>(training.parallel.depth()) * static_cast<std::uint32_t>(loads);
  for (std::int64_t rank = grid.ranks(); rank < training.parallel.ranks(); ++rank)
    programs.push_back(of_workers + static_cast<std::uint32_t>(rank - grid.ranks()));
  return programs;
}

namespace {

// Adds the program `graph` of `from` with all that is known of it, for a first rank.
void add_program(TrainingJob& whole, const TrainingJob& from, std::uint32_t graph, RankId first_rank) {
  whole.job.graphs.push_back(from.job.graphs[graph]);
  whole.job.known_facts.push_back(from.job.facts(graph));
  whole.facts.memory.push_back(from.facts.memory[graph]);
  whole.facts.memory.back().first_rank = first_rank;
  whole.facts.kernels.push_back({0, from.facts.kernels[graph].uses});
  whole.facts.updates.push_back(from.facts.updates[graph]);
  whole.facts.marks.push_back(from.facts.marks[graph]);
}

}  // namespace

TrainingJob join_types(const std::vector<TrainingJob>& jobs, std::span<const std::uint32_t> type_of_rank) {
  TrainingJob joined = jobs.front();
  Job& job = joined.job;
  job.graphs.clear(), job.known_facts.clear();
  joined.facts.memory.clear(), joined.facts.updates.clear(), joined.facts.kernels.clear(), joined.facts.marks.clear();
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;  // by type and graph
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const std::uint32_t graph = job.ranks[rank].graph, type = type_of_rank[rank];
    ORRERY_ASSERT(jobs[type].job.graphs[graph].size() == jobs.front().job.graphs[graph].size());
    const auto [number, is_new] = known.try_emplace({type, graph}, static_cast<std::uint32_t>(known.size()));
    if (is_new) add_program(joined, jobs[type], graph, RankId(rank));
    job.ranks[rank].graph = number->second;
    ++joined.facts.kernels[number->second].ranks;
  }
  return joined;
}

}  // namespace orrery::workload
