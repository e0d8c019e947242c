// SPDX-License-Identifier: MIT
#include "workload/traces/load_job.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/quantity_text.h"
#include "core/files/input_files.h"
#include "core/files/read_file.h"
#include "core/in_parallel.h"
#include "core/sha256.h"
#include "workload/graph/builder.h"
#include "workload/graph/content_pool.h"
#include "workload/graph/findings.h"
#include "workload/graph/graph_pool.h"
#include "workload/matching/matching.h"
#include "workload/traces/alike.h"
#include "workload/traces/files.h"
#include "workload/traces/groups.h"
#include "workload/traces/rank_trace.h"
#include "workload/traces/roles.h"

namespace orrery::workload {
namespace {

constexpr std::size_t kUndefinedNamed = 10;

// Ties one rank to its graph: looks up the communicators its trace names, and checks what depends on which rank it is.
// Slots of one communicator are not merged yet.
class Binder {
 public:
  // `role`: what the rank calls groups and peers in place of the trace; null: what the trace does.
  Binder(RankId rank, std::uint32_t ranks, const RankTrace& trace, const RankRole* role, const ExecutionGraph& graph,
         const NodeLabels& labels, const CommunicatorNames& names, Findings& findings)
      : rank_(rank),
        ranks_(ranks),
        trace_(trace),
        communicators_(role == nullptr ? trace.communicators : role->groups),
        peers_(role == nullptr ? trace.peers : role->peers),
        says_own_rank_(role == nullptr && !trace.own_ranks.empty()),
        graph_(graph),
        labels_(labels),
        names_(names),
        findings_(findings) {}

  // `details` are those of a rank that has the same trace, if there is one.
  RankBinding bind(std::shared_ptr<RankDetails> details) {
    RankBinding binding;
    for (std::uint32_t slot = 0; slot < graph_.communicator_slots(); ++slot)
      binding.communicators.push_back(communicator(slot));
    for (const std::int64_t peer : peers_)
      binding.peers.push_back(RankId(peer >= 0 && peer < ranks_ ? static_cast<std::uint32_t>(peer) : 0));
    binding.shared_details =
        details ? std::move(details)
                : std::make_shared<RankDetails>(RankDetails{trace_.tags, trace_.roots, std::string(findings_.file())});
    for (const NodeId node : graph_.transfers()) check_transfer(node);
    if (!binding.roots().empty())
      for (const NodeId node : graph_.collectives())
        check_root(node, binding.communicators[graph_.communicator_slot(node)]);
    return binding;
  }

 private:
  std::string rank_named() const { return fmt::format("rank {}", index_of(rank_)); }

  GroupId communicator(std::uint32_t slot) {
    const std::string& name = communicators_[slot];
    const std::string first = labels_.describe(graph_.calls(slot).front());
    const std::optional<GroupId> group = names_.find(name);
    if (!group && ++undefined_ > kUndefinedNamed) {
      findings_.error("more communicators are not defined", first);
      return GroupId(0);
    }
    if (!group) {
      findings_.error(fmt::format("communicator {} is not defined", in_quotes(name)), first, names_.hint(name));
      return GroupId(0);
    }
    if (!names_.is_member(*group, rank_))
      findings_.error(fmt::format("collective on communicator {} by a rank that is not a member", in_quotes(name)),
                      fmt::format("{} on {}", first, rank_named()), names_.hint_about_members(*group));
    return *group;
  }

  void check_transfer(NodeId node) {
    const bool is_send = graph_.kind(node) == NodeKind::kSend;
    const std::int64_t peer = peers_[graph_.peer_slot(node)];
    const std::string_view attribute = is_send ? "comm_dst" : "comm_src";
    if (peer < 0 || peer >= ranks_)
      findings_.error(
          fmt::format("{} out of range; there {} {}", attribute, ranks_ == 1 ? "is" : "are", counted(ranks_, "rank")),
          fmt::format("{} ({})", labels_.describe(node), peer));
    else if (peer == index_of(rank_))
      findings_.error(fmt::format("{} is the rank itself", attribute),
                      fmt::format("{} on {}", labels_.describe(node), rank_named()));
    const std::int64_t own = says_own_rank_ ? trace_.own_ranks[graph_.transfer_index(node)] : -1;
    if (own == -1 || own == index_of(rank_)) return;
    findings_.error(fmt::format("{} is not the rank whose trace this is", is_send ? "comm_src" : "comm_dst"),
                    fmt::format("{} on {} ({})", labels_.describe(node), rank_named(), own));
  }

  void check_root(NodeId node, GroupId group) {
    const std::int64_t root = trace_.roots[graph_.collective_index(node)];
    if (root < 0) return;
    if (root < ranks_ && names_.is_member(group, RankId(static_cast<std::uint32_t>(root)))) return;
    findings_.error("root that is not a member of the communicator",
                    fmt::format("{} (rank {} in {})", labels_.describe(node), root, in_quotes(names_[group].name)),
                    "a root is given as a global rank");
  }

  RankId rank_;
  std::uint32_t ranks_;
  const RankTrace& trace_;
  const std::vector<std::string>& communicators_;
  const std::vector<std::int64_t>& peers_;
  bool says_own_rank_;
  const ExecutionGraph& graph_;
  const NodeLabels& labels_;
  const CommunicatorNames& names_;
  Findings& findings_;
  std::size_t undefined_ = 0;
};

class JobLoader {
 public:
  JobLoader(const ChakraSource& source, TraceReader reader, Diagnostics& diagnostics)
      : source_(source), reader_(reader), diagnostics_(diagnostics) {}

  // Nothing when there are errors.
  std::optional<Job> load(const LoadProgress& progress) {
    job_ = find_job_traces(source_.prefix);
    if (!job_.roles_file.empty()) note_input(job_.roles_file);
    const TraceSet traces{source_.prefix, world()};
    CommunicatorNames names(traces, source_.groups.value_or(""), reader_);
    read_groups_file(traces, names);
    for (std::uint32_t file = 0; file < file_count();) file = read_traces(file, progress);
    for (std::uint32_t rank = 0; rank < world(); ++rank) {
      of_rank_.push_back(std::move(of_file_[job_.file_of_rank[rank]]));
      of_file_[job_.file_of_rank[rank]] = Findings(of_rank_.back().file());
      check_world(rank, traces);
      check_role(rank);
      declare_groups(rank, names);
    }
    // A broken groups file would make every communicator unknown.
    const bool groups_are_whole = !diagnostics_.has_errors();
    for (std::uint32_t rank = 0; rank < world(); ++rank)
      for (const std::string& name : job_.roles.empty() ? trace_of(rank).trace.communicators : job_.roles[rank].groups)
        names.note_call(name, RankId(rank));
    if (groups_are_whole && reader_ == TraceReader::kInspect) names.define_unknown(diagnostics_);
    for (std::uint32_t rank = 0; groups_are_whole && rank < world(); ++rank) bind(rank, names);
    warn_of_lonely_collectives();
    report_findings();
    if (groups_are_whole) warn_of_unused_groups(names);
    if (diagnostics_.has_errors()) return std::nullopt;
    return finish(names);
  }

 private:
  struct Loaded {
    RankTrace trace;                       // its graph and labels are in the pools
    std::optional<std::uint32_t> model{};  // the trace whose graph and labels it has
    std::uint32_t graph = 0;
    std::uint32_t labels = 0;
    bool has_graph = false;
    bool is_shared = false;
    std::shared_ptr<RankDetails> details{};  // of ranks in roles, which share them
  };

  std::uint32_t world() const { return static_cast<std::uint32_t>(job_.file_of_rank.size()); }
  std::uint32_t file_count() const { return static_cast<std::uint32_t>(job_.files.size()); }
  Loaded& trace_of(std::uint32_t rank) { return traces_[trace_of_file_[job_.file_of_rank[rank]]]; }

  void read_groups_file(const TraceSet& traces, CommunicatorNames& names) {
    if (!source_.groups) return;
    try {
      const std::string text = read_file(*source_.groups);
      for (CommunicatorGroup& group : read_groups(*source_.groups, text, traces, diagnostics_))
        names.add(std::move(group));
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) diagnostics_.error(problem.where, problem.message, problem.hint);
    }
  }

  struct FileContent {
    std::string bytes;
    std::string sha256;
    std::optional<InputError> failure;
  };

  // End of the batch of files from `first` on that is read at once: as much as is soon read, and at least one per
  // thread.
  std::uint32_t batch_end(std::uint32_t first) const {
    constexpr std::uintmax_t kMostBytes = std::uintmax_t{8} << 20;
    constexpr std::uint32_t kMostFiles = 256;
    std::uintmax_t bytes = 0;
    std::uint32_t end = first;
    while (end < file_count() &&
           (end - first < hardware_threads() || (bytes < kMostBytes && end - first < kMostFiles))) {
      std::error_code code;
      const std::uintmax_t size = std::filesystem::file_size(job_.files[end++], code);
      if (!code) bytes += size;
    }
    return end;
  }

  // Reads some files from `first` on, on several threads, and takes what they hold in their order. Returns the number
  // of the file behind them.
  std::uint32_t read_traces(std::uint32_t first, const LoadProgress& progress) {
    const std::uint32_t end = batch_end(first);
    std::vector<FileContent> contents(end - first);
    in_parallel(contents.size(), hardware_threads(), [&](std::size_t i) {
      try {
        contents[i].bytes = read_file(job_.files[first + i]);
        Sha256 hash;
        hash.add(contents[i].bytes);
        contents[i].sha256 = hash.finish();
        note_input(job_.files[first + i], InputKind::kData, contents[i].sha256);
      } catch (const InputError& error) {
        contents[i].failure = error;
      }
    });
    std::vector<std::uint32_t> first_of;  // of each content that is new: its file
    const std::size_t known = traces_.size();
    std::uint32_t seen = first;
    const auto tell = [&](std::uint64_t, std::uint64_t) {
      ++seen;
      if (progress) progress(seen, file_count());
    };
    for (std::uint32_t file = first; file < end; ++file) {
      if (take_content(file, contents[file - first]))
        first_of.push_back(file);
      else
        tell(1, 1);
    }
    const auto decode = [&](std::size_t i) {
      std::string& bytes = contents[first_of[i] - first].bytes;
      const std::string& file = job_.files[first_of[i]];
      const std::uint32_t number = trace_of_file_[first_of[i]];
      Loaded& loaded = traces_[number];
      const bool times_are_content = source_.host == HostTimes::kTimestamps;
      std::optional<TraceModels::Alike> alike;
      if (!times_are_content) alike = models_.read(file, bytes);
      if (alike) {
        loaded.trace = std::move(alike->trace);
        loaded.model = alike->model;
        std::string().swap(bytes);
      } else {
        loaded.trace = read_rank_trace(file, bytes, source_.dependencies, reader_, source_.host);
        if (!times_are_content) models_.add(std::move(bytes), loaded.trace, number);
      }
    };
    in_parallel(first_of.size(), hardware_threads(), decode, tell);
    for (std::size_t i = known; i < traces_.size(); ++i) share(traces_[i]);
    models_.trim();
    return end;
  }

  // True if no earlier file has the same content.
  bool take_content(std::uint32_t file, FileContent& content) {
    of_file_.emplace_back(job_.files[file]);
    const auto next = static_cast<std::uint32_t>(traces_.size());
    trace_of_file_.push_back(next);
    bool is_new = false;
    if (content.failure) {
      of_file_.back().take(*content.failure);
    } else {
      const auto [known, is_first] = by_content_.try_emplace(std::move(content.sha256), next);
      trace_of_file_.back() = known->second;
      is_new = is_first;
      if (!is_new) std::string().swap(content.bytes);
    }
    if (trace_of_file_.back() == next) traces_.push_back({RankTrace(job_.files[file])});
    return is_new;
  }

  // In the order of the files, so that graphs are numbered as they come; a model may be the trace of a later one.
  void share(Loaded& loaded) {
    if (std::exchange(loaded.is_shared, true)) return;
    if (loaded.model) {
      Loaded& model = traces_[*loaded.model];
      share(model);
      loaded.labels = model.labels;
      loaded.graph = model.graph;
      loaded.has_graph = true;
      return;
    }
    loaded.labels = labels_.intern(std::move(loaded.trace.labels));
    if (!loaded.trace.graph) return;
    loaded.graph = graphs_.intern(std::move(*loaded.trace.graph));
    loaded.trace.graph.reset();
    loaded.has_graph = true;
  }

  // The world is the number of files, unless a trace knows better: the last rank's file would not be missed.
  void check_world(std::uint32_t rank, const TraceSet& traces) {
    const std::optional<std::uint64_t> world = trace_of(rank).trace.world;
    if (!world || *world == traces.ranks) return;
    of_rank_[rank].error(fmt::format("the trace is of a world of {}", *world), traces.differs_from(*world),
                         TraceSet::kHint);
  }

  // A role names as many groups and peers as the trace does.
  void check_role(std::uint32_t rank) {
    if (job_.roles.empty() || !trace_of(rank).has_graph) return;
    const RankTrace& trace = trace_of(rank).trace;
    const RankRole& role = job_.roles[rank];
    const auto check = [&](std::size_t found, std::size_t expected, const char* what) {
      if (found == expected) return;
      diagnostics_.error({job_.roles_file},
                         fmt::format("rank {} has {}, and the trace of rank {}, which it shares, has {}", rank,
                                     counted(found, what), role.trace, expected),
                         "one of the two files is that of another job");
    };
    check(role.groups.size(), trace.communicators.size(), "group");
    check(role.peers.size(), trace.peers.size(), "peer");
  }

  void declare_groups(std::uint32_t rank, CommunicatorNames& names) {
    for (const ProcessGroup& group : trace_of(rank).trace.process_groups) names.add(group, of_rank_[rank]);
  }

  void bind(std::uint32_t rank, CommunicatorNames& names) {
    Loaded& loaded = trace_of(rank);
    bindings_.emplace_back();
    if (!loaded.has_graph) return;
    const RankRole* role = job_.roles.empty() ? nullptr : &job_.roles[rank];
    RankBinding& binding = bindings_.back();
    binding = Binder(RankId(rank), world(), loaded.trace, role, graphs_[loaded.graph], labels_[loaded.labels], names,
                     of_rank_[rank])
                  .bind(loaded.details);
    if (role != nullptr) loaded.details = binding.shared_details;
    for (std::size_t slot = 0; role == nullptr && slot < binding.communicators.size(); ++slot)
      names.describe(binding.communicators[slot], loaded.trace.descriptions[slot]);
    for (std::size_t slot = 0; slot < binding.communicators.size(); ++slot)
      if (const auto& involved = loaded.trace.involved[slot])
        binding.communicators[slot] = names.over(binding.communicators[slot], *involved);
    binding.graph = loaded.graph;
    binding.labels = loaded.labels;
    merge_slots(binding);
  }

  // A trace may call the same communicator by two names, "" and "0". Its calls are counted together.
  void merge_slots(RankBinding& binding) {
    std::vector<GroupId> distinct;
    std::map<GroupId, std::uint32_t> slot_of;
    std::vector<std::uint32_t> slot_map;
    for (const GroupId group : binding.communicators) {
      const auto [slot, is_new] = slot_of.try_emplace(group, static_cast<std::uint32_t>(distinct.size()));
      slot_map.push_back(slot->second);
      if (is_new) distinct.push_back(group);
    }
    if (distinct.size() == binding.communicators.size()) return;
    const auto [known, is_new] = merged_.try_emplace({binding.graph, slot_map}, 0);
    if (is_new) known->second = graphs_.intern(with_communicator_slots(graphs_[binding.graph], slot_map));
    binding.graph = known->second;
    binding.communicators = std::move(distinct);
  }

  // A single trace may be that of one rank of many, the others' files being elsewhere.
  void warn_of_lonely_collectives() {
    if (world() > 1) return;
    const Loaded& loaded = traces_.front();
    const auto says_world = [](const ProcessGroup& group) { return group.world.has_value(); };
    if (!loaded.has_graph || loaded.trace.world || std::ranges::any_of(loaded.trace.process_groups, says_world)) return;
    const std::size_t calls = graphs_[loaded.graph].collectives().size();
    if (calls == 0) return;
    of_rank_.front().warning(
        fmt::format("{} of a single rank {} no time", counted(calls, "collective"), calls == 1 ? "takes" : "take"), {},
        fmt::format("if the job has more ranks, their traces belong beside this one: {}.1.et",
                    printable(source_.prefix)));
  }

  // Says so where the groups file is that of another job, or its names are others than the traces'; lint of every group
  // of several ranks that nobody calls on.
  void warn_of_unused_groups(const CommunicatorNames& names) {
    if (!source_.groups || names.from_file() == 0) return;
    std::vector<bool> used(names.from_file() + 1, false);
    for (const RankBinding& binding : bindings_)
      for (const GroupId group : binding.communicators)
        if (const std::uint32_t base = index_of(names.base_of(group)); base < used.size()) used[base] = true;
    const bool none = std::find(used.begin() + 1, used.end(), true) == used.end();
    std::vector<std::string> unused;
    for (std::uint32_t group = 1; group < used.size(); ++group)
      if (const Communicator& named = names[GroupId(group)]; !used[group] && (none || named.members.size() > 1))
        unused.push_back(in_quotes(named.name));
    if (unused.empty() || (!none && reader_ != TraceReader::kLint)) return;
    constexpr std::size_t kShown = 10;
    std::string list = fmt::format("{}", fmt::join(std::span(unused).first(std::min(unused.size(), kShown)), ", "));
    if (unused.size() > kShown) list += fmt::format(" and {} more", unused.size() - kShown);
    const std::string message =
        none && unused.size() > 1
            ? fmt::format("no rank calls on any of the {} groups of this file", unused.size())
            : fmt::format("no rank calls on {} {}", unused.size() == 1 ? "group" : "groups", list);
    diagnostics_.warning({*source_.groups}, message, "`orrery workload inspect` names the communicators of the traces");
  }

  void report_findings() {
    std::vector<RankFindings> findings;
    for (std::uint32_t rank = 0; rank < world(); ++rank) {
      findings.push_back({rank, &trace_of(rank).trace.findings});
      findings.push_back({rank, &of_rank_[rank]});
    }
    report(findings, true, diagnostics_);
  }

  Job finish(CommunicatorNames& names) {
    Job job;
    job.graphs = graphs_.take();
    job.labels = labels_.take();
    job.ranks = std::move(bindings_);
    job.communicators = names.take();
    count_calls_by_id(job);
    drop_unused_graphs(job);
    for (const Problem& problem : diagnostics_.problems())
      if (problem.severity == Severity::kWarning) job.warnings.push_back(problem);
    return job;
  }

  // Graphs whose every rank got one with merged slots.
  static void drop_unused_graphs(Job& job) {
    std::vector<bool> used(job.graphs.size(), false);
    for (const RankBinding& binding : job.ranks) used[binding.graph] = true;
    std::vector<std::uint32_t> new_index(job.graphs.size(), 0);
    std::vector<ExecutionGraph> kept;
    for (std::uint32_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      new_index[i] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(std::move(job.graphs[i]));
    }
    job.graphs = std::move(kept);
    for (RankBinding& binding : job.ranks) binding.graph = new_index[binding.graph];
  }

  const ChakraSource& source_;
  TraceReader reader_;
  Diagnostics& diagnostics_;
  JobTraces job_;
  std::vector<Loaded> traces_;                       // of distinct content
  std::vector<std::uint32_t> trace_of_file_;         // into traces_
  std::map<std::string, std::uint32_t> by_content_;  // by SHA-256
  TraceModels models_;                               // by index into traces_
  std::vector<Findings> of_file_;                    // why files cannot be read
  std::vector<Findings> of_rank_;                    // what depends on the rank
  std::vector<RankBinding> bindings_;
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> merged_;
  GraphPool graphs_;
  ContentPool<NodeLabels> labels_;
};

}  // namespace

std::string_view name_of(Dependencies dependencies) {
  constexpr std::array<std::string_view, 3> kDependencyNames = {"both", "data", "ctrl"};
  return kDependencyNames[static_cast<std::size_t>(dependencies)];
}

std::string choice_of(TraceReader reader, std::string_view key, std::string_view value) {
  if (reader == TraceReader::kExperiment) return fmt::format("workload.chakra.{}: {}", key, value);
  return fmt::format("--{} {}", key, value);
}

std::optional<Dependencies> dependencies_named(std::string_view name) {
  for (const Dependencies choice : {Dependencies::kBoth, Dependencies::kData, Dependencies::kCtrl})
    if (name == name_of(choice)) return choice;
  return std::nullopt;
}

Job load_chakra_job(const ChakraSource& source, Diagnostics& diagnostics, const LoadProgress& progress) {
  std::optional<Job> job = try_load_chakra_job(source, TraceReader::kExperiment, diagnostics, progress);
  diagnostics.throw_if_errors();
  ORRERY_ASSERT(job.has_value());
  return std::move(*job);
}

std::optional<Job> try_load_chakra_job(const ChakraSource& source, TraceReader reader, Diagnostics& diagnostics,
                                       const LoadProgress& progress) {
  try {
    return JobLoader(source, reader, diagnostics).load(progress);
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) diagnostics.error(problem.where, problem.message, problem.hint);
    return std::nullopt;
  }
}

}  // namespace orrery::workload
