#include "report/breakdown.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "core/assert.h"

namespace orrery {
namespace {

enum class Change : std::uint8_t { kEnd, kMoving, kStart };

struct Moment {
  Time time;
  Change change;
  const OperationRecord* operation;
};

enum class Busy : std::uint8_t { kDevice, kMemory, kHost };

// Follows one rank through its operations and books every interval between two moments.
class Sweep {
 public:
  Sweep(const Job& job, RankId rank) : job_(job), rank_(rank), graph_(job.graph(rank)), position_(graph_.size()) {
    std::uint32_t position = 0;
    for (const NodeId node : graph_.order()) position_[index_of(node)] = position++;
  }

  void book_until(Time time) {
    const Duration span = time - now_;
    now_ = time;
    if (span == Duration::zero()) return;
    if (busy(Busy::kDevice) + busy(Busy::kMemory) + busy(Busy::kHost) > 0) {
      result_.compute += span;
      if (busy(Busy::kDevice) == 0) (busy(Busy::kMemory) > 0 ? result_.memory : result_.host) += span;
    } else if (open_.empty()) {
      result_.idle += span;
    } else {
      book_blocked(*open_.begin(), span);
    }
  }

  void apply(const Moment& moment) {
    const NodeId node = moment.operation->node;
    const NodeKind kind = graph_.kind(node);
    switch (kind) {
      case NodeKind::kFree:
        return;
      case NodeKind::kCompute:
        return count(Busy::kDevice, moment.change);
      case NodeKind::kMemoryLoad:
      case NodeKind::kMemoryStore:
        return count(Busy::kMemory, moment.change);
      case NodeKind::kHostCompute:
        return count(Busy::kHost, moment.change);
      case NodeKind::kCollective:
      case NodeKind::kSend:
      case NodeKind::kReceive:
        break;
    }
    if (moment.change == Change::kStart) open_.insert(entry(moment));
    if (moment.change == Change::kEnd) open_.erase(entry(moment));
  }

  Breakdown take(Time finish) {
    result_.finish = finish;
    return std::move(result_);
  }

 private:
  struct Open {
    std::uint32_t position;  // in canonical order
    const OperationRecord* operation;
    bool operator<(const Open& other) const { return position < other.position; }
  };

  Open entry(const Moment& moment) const { return {position_[index_of(moment.operation->node)], moment.operation}; }

  int busy(Busy what) const { return busy_[static_cast<std::size_t>(what)]; }

  void count(Busy what, Change change) {
    if (change == Change::kMoving) return;
    busy_[static_cast<std::size_t>(what)] += change == Change::kStart ? 1 : -1;
  }

  void book_blocked(const Open& first, Duration span) {
    // The interval ends at now_; it lies wholly before or after the instant of moving, which is a moment of its own.
    const bool moving = first.operation->moving < now_;
    const bool collective = graph_.kind(first.operation->node) == NodeKind::kCollective;
    if (moving) {
      const NodeId node = first.operation->node;
      result_.exposed[collective ? job_.communicators[index_of(job_.communicator(rank_, node))].name
                                 : std::string(job_.peer_family(rank_, node))] += span;
    } else {
      (collective || !is_pipeline(first.operation->node) ? result_.wait : result_.bubble) += span;
    }
  }

  // Traces do not say what their messages are for; mostly pipelines send them.
  bool is_pipeline(NodeId transfer) const {
    const std::string_view family = job_.peer_family(rank_, transfer);
    return family == "pipeline" || family == "p2p";
  }

  const Job& job_;
  RankId rank_;
  const ExecutionGraph& graph_;
  std::vector<std::uint32_t> position_;
  Time now_{};
  std::array<int, 3> busy_{};
  std::set<Open> open_;  // communication under way, in program order
  Breakdown result_;
};

}  // namespace

Duration Breakdown::exposed_total() const {
  Duration total{};
  for (const auto& [name, time] : exposed) total += time;
  return total;
}

Breakdown break_down(const Job& job, RankId rank, std::span<const OperationRecord> operations, Time end) {
  std::vector<Moment> moments;
  Time finish{};
  for (const OperationRecord& operation : operations) {
    if (operation.start == operation.end) continue;
    moments.push_back({operation.start, Change::kStart, &operation});
    moments.push_back({operation.moving, Change::kMoving, &operation});
    moments.push_back({operation.end, Change::kEnd, &operation});
    finish = std::max(finish, operation.end);
  }
  std::ranges::sort(moments, {}, [](const Moment& m) { return std::tuple(m.time, m.change, m.operation->node); });
  Sweep sweep(job, rank);
  for (const Moment& moment : moments) {
    sweep.book_until(moment.time);
    sweep.apply(moment);
  }
  sweep.book_until(end);
  Breakdown result = sweep.take(finish);
  ORRERY_ASSERT(result.compute + result.exposed_total() + result.bubble + result.wait + result.idle ==
                end.time_since_epoch());
  return result;
}

}  // namespace orrery
