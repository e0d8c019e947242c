// SPDX-License-Identifier: MIT
#include "workload/training/program/generate_job.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "core/assert.h"
#include "workload/training/layers/model_layers.h"
#include "workload/training/program/expert_loads.h"
#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/other_amounts.h"
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
    const auto ranks = static_cast<std::uint32_t>(training.parallel.ranks());
    job_.communicators.push_back({"world", Members(RankId(0), std::make_shared<const Lattice>(Lattice{{ranks, 1}}))});
  }

  // Adds a program, of which it takes all but the graph.
  void add(StageProgram& program) {
    // Names of the communication in reports, by PeerKind.
    constexpr std::array kNames = {"pipeline", "pipeline", "context", "context", "server"};
    std::vector<std::string> names;
    for (const Peer& peer : program.peers) names.emplace_back(kNames[static_cast<std::size_t>(peer.kind)]);
    job_.graphs.push_back(program.graph);
    job_.labels.push_back(std::move(program.labels));
    job_.known_facts.push_back({std::move(names), std::move(program.iteration_starts), program.initial_nodes,
                                training_.input || training_.checkpoint});
    forms_.push_back(
        {std::move(program.communicators), std::move(program.peers),
         program.tags.empty() ? nullptr : std::make_shared<RankDetails>(RankDetails{.tags = std::move(program.tags)})});
    form_of_.push_back(static_cast<std::uint32_t>(forms_.size() - 1));
  }

  // Adds a graph that differs from the latest program's in amounts only.
  void add_alike(ExecutionGraph graph) {
    job_.graphs.push_back(std::move(graph));
    job_.known_facts.push_back(GraphFacts(job_.known_facts.back()));
    form_of_.push_back(static_cast<std::uint32_t>(forms_.size() - 1));
  }

  // Binds workers of digit 0, which stand for all (RankGrid::period()).
  void bind_workers(std::size_t loads) {
    const Period period = grid_.period();
    std::vector<RankBindings::Repeated> first;
    for (std::uint32_t i = 0; i < grid_.ranks() / period.count; ++i) {
      const RankGrid::Place place = grid_.place(period.at(i));
      first.push_back(bound(program_of(training_, grid_, place, loads), place));
    }
    job_.ranks = RankBindings(period, std::move(first));
  }

  // Binds a server to the program that was added last.
  void bind_server() {
    RankBinding& binding = job_.ranks.emplace_back();
    binding.graph = static_cast<std::uint32_t>(job_.graphs.size() - 1);
    binding.labels = form_of_.back();
    for (const Peer& peer : forms_.back().peers) binding.peers.push_back(RankId(peer.server));
  }

  Job take() && { return std::move(job_); }

 private:
  RankBindings::Repeated bound(std::size_t program, const RankGrid::Place& place) {
    RankBindings::Repeated bound;
    RankBinding& binding = bound.binding;
    const ProgramForm& form = forms_[form_of_[program]];
    binding.graph = static_cast<std::uint32_t>(program);
    binding.labels = form_of_[program];
    for (const GroupFamily family : form.communicators) {
      binding.communicators.push_back(
          GroupId(first_group(family) + static_cast<std::uint32_t>(grid_.group_of(family, place))));
      bound.steps.push_back(GroupId(static_cast<std::uint32_t>(grid_.step(family))));
    }
    for (const Peer& peer : form.peers) binding.peers.push_back(grid_.peer(peer, place));
    binding.shared_details = form.details;
    return bound;
  }

  // The groups of a family are made when the first rank needs one.
  std::uint32_t first_group(GroupFamily family) {
    if (family == GroupFamily::kWorld) return 0;
    const auto [known, added] = first_group_.try_emplace(family, static_cast<std::uint32_t>(job_.communicators.size()));
    if (!added) return known->second;
    std::ranges::move(grid_.groups(family, GroupId(known->second)), std::back_inserter(job_.communicators));
    if (family != GroupFamily::kExpert || training_.experts.dispatch.kind != DispatchKind::kCopies)
      return known->second;
    const TransformerSpec* model = training_.transformer();
    const auto exchange = std::make_shared<const TokenExchange>(TokenExchange{
        training_.experts.dispatch,
        {model->experts, model->experts_per_token, model->expert_groups, model->groups_per_token, false}});
    for (std::size_t group = known->second; group < job_.communicators.size(); ++group)
      job_.communicators[group].exchange = exchange;
    return known->second;
  }

  // Form of programs that differ in amounts only; with labels of its own, of the same number.
  struct ProgramForm {
    std::vector<GroupFamily> communicators;
    std::vector<Peer> peers;
    std::shared_ptr<RankDetails> details;
  };

  const TrainingSpec& training_;
  const RankGrid grid_;
  Job job_;
  std::vector<ProgramForm> forms_;
  std::vector<std::uint32_t> form_of_;  // by graph
  std::map<GroupFamily, std::uint32_t> first_group_;
};

// Writes the programs of the pipeline stages. Of a stage's programs that differ in amounts only the first is written.
class ProgramsWriter {
 public:
  // All outlive it.
  ProgramsWriter(const OperatorTimes& times, JobBuilder& builder, TrainingFacts& facts)
      : times_(times), builder_(builder), facts_(facts) {}

  void write(const StageRequest& request) {
    std::optional<OtherAmounts> other;
    if (program_) other = other_amounts(*program_, *written_, request);
    if (!other) write_in_full(request);
    facts_.memory.push_back({RankId(0), memory_need(request), other ? std::move(other->memory) : program_->memory});
    facts_.updates.push_back(program_->updates);
    facts_.marks.push_back(marks_);
    facts_.kernels.push_back({0, kernel_uses(request, runs_, times_)});
    if (other) builder_.add_alike(std::move(other->graph));
  }

 private:
  void write_in_full(const StageRequest& request) {
    program_ = stage_program(request, times_);
    written_ = &request;
    runs_ = runs_of(request);
    program_->marks.stage = request.stage;
    marks_ = std::make_shared<const ProgramMarks>(std::move(program_->marks));
    builder_.add(*program_);
  }

  const OperatorTimes& times_;
  JobBuilder& builder_;
  TrainingFacts& facts_;
  const StageRequest* written_ = nullptr;  // the latest that was written in full, and what belongs to it
  std::optional<StageProgram> program_;
  StageRuns runs_;
  std::shared_ptr<const ProgramMarks> marks_;
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
  // Members of an expert-parallel group with different programs wait for one another: no stretch goes on by itself.
  for (StageRequest& request : requests.all()) request.repeats = loops == Loops::kRepeated && requests.loads() == 1;
  ProgramsWriter writer(times, builder, result.facts);
  for (const StageRequest& request : requests.all()) writer.write(request);
  const std::int64_t parameters = parameters_of(requests.all().back()).total();
  // 2. The ranks.
  builder.bind_workers(requests.loads());
  if (training.parallel.exchange == ExchangeKind::kParameterServer)
    for (std::uint32_t server = 0; server < training.parallel.servers; ++server) {
      StageProgram program = server_program(training, parameters, server, times);
      result.facts.updates.push_back(std::move(program.updates));
      builder.add(program);
      builder.bind_server();
      result.facts.memory.push_back({RankId(0), server_memory(training, parameters), {}});
      result.facts.kernels.emplace_back();
      result.facts.marks.push_back(std::make_shared<const ProgramMarks>());
    }
  result.job = std::move(builder).take();
  const Period period = result.job.ranks.period();
  for (auto i = static_cast<std::uint32_t>(result.job.ranks.size()) / period.count; i-- > 0;) {
    const std::uint32_t rank = period.at(i), program = result.job.ranks.graph(rank);
    result.facts.memory[program].first_rank = RankId(rank);
    result.facts.kernels[program].ranks += period.count;
  }
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
  const Period period = grid.period();
  std::vector<std::uint32_t> first;
  for (std::uint32_t i = 0; i < grid.ranks() / period.count; ++i)
    first.push_back(static_cast<std::uint32_t>(program_of(training, grid, grid.place(period.at(i)), loads)));
  std::vector<std::uint32_t> programs;
  programs.reserve(static_cast<std::size_t>(training.parallel.ranks()));
  for (std::uint32_t rank = 0; rank < grid.ranks(); ++rank) programs.push_back(first[period.place(rank)]);
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
