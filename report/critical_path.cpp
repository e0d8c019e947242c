// SPDX-License-Identifier: MIT
#include "report/critical_path.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/assert.h"
#include "report/path_sums.h"
#include "report/rank_history.h"
#include "workload/matching/matching.h"

namespace orrery::report {
namespace {

using system::OperationRecord;
using workload::ExecutionGraph;
using workload::NodeKind;

// True if operations of one rank keep each other waiting without a dependency in its graph.
bool shares_stream(const ExecutionGraph& graph, NodeId a, NodeId b) {
  return graph.kind(a) == graph.kind(b) && graph.stream(a) == graph.stream(b);
}

std::vector<PathOfClass> classes_of(std::span<const PathOfLink> links, const network::Fabric& fabric) {
  std::vector<PathOfClass> classes(fabric.link_classes().size());
  for (const PathOfLink& one : links) {
    PathOfClass& of_class = classes[fabric.link(one.link).link_class];
    of_class.moving += one.moving;
    of_class.waiting += one.waiting;
  }
  for (std::size_t number = 0; number < classes.size(); ++number) classes[number].name = fabric.link_classes()[number];
  std::erase_if(classes, [](const PathOfClass& one) { return one.moving + one.waiting == Duration::zero(); });
  return classes;
}

class Walk {
 public:
  Walk(const workload::Job& job, const OperationLog& log, std::span<const RankId> acting, const Result& result,
       const PathSources& sources)
      : job_(job),
        log_(log),
        acting_(acting),
        likeness_(job, log, acting),
        result_(result),
        path_links_(sources.links),
        known_matching_(sources.matching) {}

  CriticalPath run() {
    start();
    while (operation_ != nullptr)
      if (!go_through_stretch()) step();
    sums_->ranks[rank_].late += now_ - Time{};
    book(rank_, "before the first operation", now_ - Time{}, nullptr);
    add_piece({}, now_ - Time{});
    return result();
  }

 private:
  RankHistory& history(RankId rank) {
    if (latest_ != nullptr && rank == latest_rank_) return *latest_;
    std::unique_ptr<RankHistory>& known = histories_[rank];
    if (!known) known = std::make_unique<RankHistory>(job_, log_, rank);
    latest_rank_ = rank;
    latest_ = known.get();
    return *known;
  }
  std::span<const Time> starts_of(RankId rank, std::uint32_t slot) {
    const auto [known, is_new] = call_starts_.try_emplace({rank, slot});
    if (is_new) known->second = call_starts(job_, log_, rank, slot);
    return known->second;
  }
  const Predecessors& predecessors(RankId rank) {
    const std::uint32_t graph = job_.ranks.graph(index_of(rank));
    std::unique_ptr<Predecessors>& known = predecessors_[graph];
    if (!known) known = std::make_unique<Predecessors>(job_.graphs[graph]);
    return *known;
  }
  const workload::Matching& matching() {
    if (path_links_ != nullptr) return path_links_->matching();
    if (known_matching_ != nullptr) return *known_matching_;
    if (!matching_) matching_ = workload::match(job_);
    return *matching_;
  }
  const std::string& family_of(GroupId group) {
    const auto [known, is_new] = family_of_.try_emplace(group, nullptr);
    if (is_new) {
      const std::string& name = job_.communicators[index_of(group)].name;
      const auto family = result_.group_family.find(name);
      known->second = family == result_.group_family.end() ? &name : &family->second;
    }
    return *known->second;
  }
  RankId acting(RankId rank) const { return acting_[index_of(rank)]; }

  // Begins with the last operation of a rank that finishes last.
  void start() {
    std::vector<RankId> last;
    for (std::uint32_t rank = 0; rank < result_.class_of_rank.size(); ++rank)
      if (result_.classes[result_.class_of_rank[rank]].finish == result_.finish) last.push_back(RankId(rank));
    if (last.empty()) return;  // no operation takes time
    rank_ = acting(likeness_.choose(last));
    now_ = result_.finish;
    operation_ = released_by(nullptr);
  }

  // Goes on to where the path leaves a stretch that its rank goes through again, and books what is on the way there,
  // which is the same each time; false if the operation does not begin such a way. Until it leaves, each operation
  // waited for one before it in the stretch, and for nothing else.
  bool go_through_stretch() {
    RankHistory& past = history(rank_);
    const RepeatedStretch* stretch = past.stretch_of(*operation_);
    if (stretch == nullptr || operation_->end != now_) return false;
    const std::uint32_t from = operation_->number - stretch->number;
    const auto [known, is_new] = ways_.try_emplace({rank_, stretch->kind, from});
    Way& way = known->second;
    if (is_new) {
      sums_ = &way.sums;
      while (is_released_within(*stretch)) step();
      sums_ = &all_;
      way.to = operation_->number - stretch->number;
    } else {
      operation_ = past.of_number(stretch->number + way.to);
      now_ = operation_->end;
    }
    ++way.times;
    return way.to != from;
  }

  // True if the operation is released by one of the same stretch, which it depends on.
  bool is_released_within(const RepeatedStretch& stretch) {
    const OperationRecord& operation = *operation_;
    RankHistory& past = history(rank_);
    if (operation.moving > operation.start) return false;
    const auto ended = past.ended_at(operation.start, &operation);
    const auto before = std::ranges::find_if(ended, [&](const OperationRecord& candidate) {
      return candidate.number != operation.number && predecessors(rank_).has(operation, candidate);
    });
    return before != ended.end() && past.stretch_of(*before) == &stretch;
  }

  // Books the operation, and finds what it waited for.
  void step() {
    const OperationRecord& operation = *operation_;  // histories keep theirs where they are
    const ExecutionGraph& graph = history(rank_).graph();
    switch (graph.kind(operation.node)) {
      case NodeKind::kCollective:
        return step_of_collective(operation);
      case NodeKind::kReceive:
        return step_of_receive(operation);
      case NodeKind::kSend:
        return step_of_send(operation);
      case NodeKind::kHostCompute:
        book_compute("host", operation, operation.start, PathPiece::Kind::kHost);
        break;
      case NodeKind::kMemoryLoad:
      case NodeKind::kMemoryStore:
        book_compute("memory", operation, operation.start, PathPiece::Kind::kMemory);
        break;
      case NodeKind::kCopyToHost:
      case NodeKind::kCopyToDevice:
        book_compute("offload", operation, operation.start, PathPiece::Kind::kCopies);
        break;
      default:
        if (operation.moving > operation.start) return step_of_host(operation);
        book_device(operation);
    }
    go_on(operation, operation.start);
  }

  // A computation that ended when its host let it: kernels from the one that was waited for on, before them launches,
  // back to where the host had waited itself.
  void step_of_host(const OperationRecord& operation) {
    RankHistory& past = history(rank_);
    const HostChain chain = past.launches_up_to(operation);
    const Time launched = std::min(chain.launched, now_);
    book_compute("compute", operation, launched, PathPiece::Kind::kCompute);
    now_ = launched;
    for (std::uint32_t number = operation.number + 1; number-- > chain.first;)
      if (const OperationRecord* one = past.of_number(number))
        book_launches(*one, std::min(past.graph().host(one->node).launches, now_ - chain.begin));
    book_launches(operation, now_ - chain.begin);
    operation_ = chain.after;
  }

  void book_launches(const OperationRecord& operation, Duration time) {
    book(rank_, "host", time, &operation);
    add_piece(of_program(PathPiece::Kind::kLaunch), time);
    sums_->ranks[rank_].launching += time;
    now_ -= time;
  }

  void step_of_collective(const OperationRecord& operation) {
    const GroupId group = job_.communicator(rank_, operation.node);
    book(rank_, family_of(group), now_ - operation.moving, &operation);
    if (path_links_ != nullptr && now_ > operation.moving)
      book_call(group, history(rank_).graph().call_index(operation.node), now_ - operation.moving);
    const OperationRecord* last = &operation;
    if (operation.moving > operation.start)
      if (const auto member = last_member(group, operation)) {
        rank_ = member->first;
        last = member->second;
      }
    const OperationRecord& here = *last;
    if (here.start < operation.moving) {  // nobody is known to have come then: it is this rank's to wait
      book(rank_, family_of(group), operation.moving - here.start, &here);
      add_piece({}, operation.moving - here.start);
    }
    go_on(here, here.start);
  }

  static std::size_t place_of(const OperationRecord& call, const ExecutionGraph& graph,
                              std::span<const OperationRecord* const> calls) {
    if (graph.stretches().empty()) return graph.call_index(call.node);
    return static_cast<std::size_t>(std::ranges::lower_bound(calls, call.number, {}, &OperationRecord::number) -
                                    calls.begin());
  }

  // A member that came when the call began to move.
  std::optional<std::pair<RankId, const OperationRecord*>> last_member(GroupId group,
                                                                       const OperationRecord& operation) {
    const ExecutionGraph& graph = history(rank_).graph();
    const auto calls = history(rank_).calls(graph.communicator_slot(operation.node));
    const std::size_t place = place_of(operation, graph, calls);
    std::vector<RankId> last;
    std::set<std::pair<RankId, std::uint32_t>> asked;  // by rank that acts, and slot
    std::map<RankId, std::uint32_t> slot_of_last;
    for (const RankId member : job_.communicators[index_of(group)].members) {
      const std::uint32_t slot = job_.ranks.slot_of(index_of(member), group);
      if (slot == job_.ranks.communicator_count(index_of(member)) || !asked.emplace(acting(member), slot).second)
        continue;
      const std::span<const Time> starts = starts_of(acting(member), slot);
      if (place >= starts.size() || starts[place] != operation.moving) continue;
      last.push_back(member);
      std::uint32_t& least = slot_of_last.try_emplace(acting(member), slot).first->second;
      least = std::min(least, slot);
    }
    if (last.empty()) return std::nullopt;
    const RankId chosen = acting(likeness_.choose(last));
    return std::pair(chosen, history(chosen).calls(slot_of_last.at(chosen))[place]);
  }

  // Whoever waits in a receive waits for the sender, unless that waited for the receive to be posted.
  void step_of_receive(const OperationRecord& operation) {
    const ExecutionGraph& graph = history(rank_).graph();
    const std::string_view family = job_.peer_family(rank_, operation.node);
    if (operation.end > operation.start) {
      const workload::TransferEnd end = matching().end(rank_, graph.transfer_index(operation.node));
      const RankId sender = acting(end.rank);
      const OperationRecord* send = history(sender).of_node(end.node);
      if (send != nullptr && send->start <= now_) {
        const OperationRecord& sent = *send;
        book(rank_, family, now_ - sent.moving, &operation);
        if (path_links_ != nullptr && now_ > sent.moving)
          book_message(end.rank, rank_, graph.bytes(operation.node), now_ - sent.moving);
        if (sent.moving > sent.start) return go_on(operation, sent.moving);
        rank_ = sender;
        return go_on(sent, sent.start);
      }
    }
    book(rank_, family, now_ - operation.start, &operation);
    add_piece({}, now_ - operation.start);
    go_on(operation, operation.start);
  }

  // A send that waited goes on from the rank that posted the receive.
  void step_of_send(const OperationRecord& operation) {
    book_send(operation);
    if (operation.moving == operation.start) return go_on(operation, operation.start);
    const workload::TransferEnd end = matching().end(rank_, history(rank_).graph().transfer_index(operation.node));
    rank_ = acting(end.rank);
    go_on(*history(rank_).of_node(end.node), operation.moving);
  }

  // Continues with the operation that let `operation` begin, at `time`.
  void go_on(const OperationRecord& operation, Time time) {
    now_ = time;
    operation_ = released_by(&operation);
  }

  // Operation that ended on the rank now and for which `operation` waited: one before it in the graph, else one of its
  // stream, else any; null if it could start from the beginning. Without an operation: the last of all.
  const OperationRecord* released_by(const OperationRecord* operation) {
    const RankHistory& past = history(rank_);
    const Predecessors* predecessors = operation == nullptr ? nullptr : &this->predecessors(rank_);
    const OperationRecord *other = nullptr, *of_stream = nullptr;
    for (const OperationRecord& candidate : past.ended_at(now_, operation)) {
      if (operation == nullptr) {
        other = &candidate;
        continue;
      }
      if (candidate.number == operation->number) continue;
      if (predecessors->has(*operation, candidate)) return &candidate;
      if (candidate.start == candidate.end) continue;
      if (other == nullptr) other = &candidate;
      if (of_stream == nullptr && shares_stream(past.graph(), candidate.node, operation->node)) of_stream = &candidate;
    }
    return of_stream != nullptr ? of_stream : other;
  }

  void book(RankId rank, std::string_view what, Duration time, const OperationRecord* operation) {
    if (time == Duration::zero()) return;
    sums_->part(what).add(time);
    if (operation != nullptr && sums_ != &all_) sums_->operations.emplace_back(operation->node, time);
    if (operation != nullptr && sums_ == &all_) history(rank).on_path(operation->node).add(time);
    sums_->ranks[rank].time += time;
  }

  void book_compute(std::string_view what, const OperationRecord& operation, Time from, PathPiece::Kind kind) {
    book(rank_, what, now_ - from, &operation);
    add_piece(of_program(kind), now_ - from);
    PathOfRank& of_rank = sums_->ranks[rank_];
    of_rank.compute += now_ - from;
    if (kind == PathPiece::Kind::kHost) of_rank.hosting += now_ - from;
  }

  // A computation, and how long others beside it delayed its end.
  void book_device(const OperationRecord& operation) {
    const Time overdue = std::min(operation.end - operation.slowed, now_);
    book(rank_, "slowed by communication", now_ - overdue, &operation);
    book(rank_, "compute", overdue - operation.start, &operation);
    add_piece(of_program(PathPiece::Kind::kSlowed), now_ - overdue);
    add_piece(of_program(PathPiece::Kind::kCompute), overdue - operation.start);
    sums_->ranks[rank_].compute += now_ - operation.start;
  }

  void book_send(const OperationRecord& operation) {
    book(rank_, job_.peer_family(rank_, operation.node), now_ - operation.moving, &operation);
    if (path_links_ == nullptr || now_ == operation.moving) return;
    const ExecutionGraph& graph = history(rank_).graph();
    const workload::TransferEnd end = matching().end(rank_, graph.transfer_index(operation.node));
    book_message(rank_, end.rank, graph.bytes(operation.node), now_ - operation.moving);
  }

  PathPiece of_program(PathPiece::Kind kind) const {
    PathPiece piece;
    piece.kind = kind;
    piece.rank = rank_;
    piece.graph = job_.ranks.graph(index_of(rank_));
    return piece;
  }

  // Adds a step to those that are like it.
  void add_piece(PathPiece piece, Duration time) {
    if (path_links_ == nullptr || time == Duration::zero()) return;
    PathPiece& known = known_piece(piece);
    ++known.steps;
    known.time += time;
  }

  void add_piece(PathPiece piece, const StepLinks& step, Duration time) {
    const auto class_of = [&](const std::optional<LinkId>& link) {
      return link ? std::optional(path_links_->fabric().link(*link).link_class) : std::nullopt;
    };
    piece.rank = rank_;
    piece.slowest = class_of(step.slowest);
    piece.shared = class_of(step.shared);
    PathPiece& known = known_piece(piece);
    ++known.steps;
    known.time += time;
    known.moving += step.moving;
    known.latency += step.latency;
    known.waiting += step.waiting;
  }

  PathPiece& known_piece(const PathPiece& piece) {
    const auto [known, is_new] = sums_->pieces.try_emplace(piece.place(), NumberedPiece{piece, latest_piece_ + 1});
    if (is_new) ++latest_piece_;
    return known->second.piece;
  }

  void book_call(GroupId group, std::uint32_t number, Duration time) {
    const StepLinks step = path_links_->of_call(group, number, time);
    const workload::CollectiveCall& call = matching().calls(group)[number];
    PathPiece piece;
    piece.kind = PathPiece::Kind::kCollective;
    piece.group = path_links_->model_of(group);
    piece.number = number;
    piece.call = call.kind;
    piece.bytes = call.bytes;
    add_piece(piece, step, time);
    book(step);
  }

  void book_message(RankId from, RankId to, Bytes bytes, Duration time) {
    const StepLinks step = path_links_->of_message(from, to, bytes, time);
    PathPiece piece;
    piece.kind = PathPiece::Kind::kMessage;
    piece.bytes = bytes;
    piece.is_same_node = path_links_->is_same_node(from, to);
    add_piece(piece, step, time);
    book(step);
  }

  void book(const StepLinks& step) {
    sums_->latency += step.latency;
    if (step.slowest) {
      PathOfLink& slowest = sums_->links[*step.slowest];
      slowest.moving += step.moving;
      slowest.excess += step.moving - step.own;
    }
    if (step.shared && step.waiting > Duration::zero()) sums_->links[*step.shared].waiting += step.waiting;
  }

  CriticalPath result() {
    for (const auto& [from, way] : ways_) {
      all_.add(way.sums, way.times);
      for (const auto& [node, time] : way.sums.operations)
        history(std::get<0>(from)).on_path(node).add(PathSum{time, 1} * way.times);
    }
    const auto shares_of = [](const std::map<std::string, PathSum, std::less<>>& sums) {
      std::vector<PathShare> shares;
      for (const auto& [what, sum] : sums) shares.push_back({what, sum.time, sum.steps});
      std::ranges::stable_sort(shares, std::greater{}, &PathShare::time);
      return shares;
    };
    std::map<std::string, PathSum, std::less<>> parts, operations;
    for (const auto& [what, sum] : all_.parts) parts[std::string(what)].add(sum);
    for (const auto& [rank, past] : histories_)
      for (std::uint32_t node = 0; node < past->on_path().size(); ++node)
        if (const PathSum& sum = past->on_path()[node]; sum.steps > 0)
          operations[std::string(job_.labels_of(rank).name(NodeId(node)))].add(sum);
    CriticalPath path{shares_of(parts), shares_of(operations), {}, {}, {}, all_.latency, {}};
    for (const auto& [place, piece] : all_.pieces) path.pieces.push_back(piece.piece);
    for (auto [rank, on_rank] : all_.ranks) {
      on_rank.rank = rank;
      if (on_rank.time > Duration::zero()) path.ranks.push_back(on_rank);
    }
    for (auto [link, on_link] : all_.links) {
      on_link.link = link;
      path.links.push_back(on_link);
    }
    if (path_links_ != nullptr) path.link_classes = classes_of(path.links, path_links_->fabric());
    std::ranges::stable_sort(path.ranks, std::greater{}, &PathOfRank::time);
    return path;
  }

  const workload::Job& job_;
  const OperationLog& log_;
  std::span<const RankId> acting_;
  Likeness likeness_;
  const Result& result_;
  PathLinks* path_links_;
  const workload::Matching* known_matching_;
  std::map<RankId, std::unique_ptr<RankHistory>> histories_;
  RankId latest_rank_{};  // asked for, and its history
  RankHistory* latest_ = nullptr;
  std::map<std::pair<RankId, std::uint32_t>, std::vector<Time>> call_starts_;  // by rank that acts, by slot
  std::map<std::uint32_t, std::unique_ptr<Predecessors>> predecessors_;        // by graph
  std::unordered_map<GroupId, const std::string*> family_of_;
  std::optional<workload::Matching> matching_;
  RankId rank_{};
  Time now_;                                    // where the path has got to, from the end
  const OperationRecord* operation_ = nullptr;  // that ended then
  PathSums all_;
  PathSums* sums_ = &all_;  // that steps are booked to
  std::size_t latest_piece_ = 0;
  std::map<std::tuple<RankId, const system::RepetitionRecord*, std::uint32_t>, Way> ways_;  // from an offset
};

}  // namespace

CriticalPath critical_path(const workload::Job& job, const OperationLog& log, std::span<const RankId> acting,
                           const Result& result, const PathSources& sources) {
  CriticalPath path = Walk(job, log, acting, result, sources).run();
  Duration sum{};
  for (const PathShare& part : path.parts) sum += part.time;
  ORRERY_ASSERT(path.parts.empty() || sum == result.finish.time_since_epoch());
  return path;
}

}  // namespace orrery::report
