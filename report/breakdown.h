// SPDX-License-Identifier: MIT
// Breakdown of a rank's time. The parts are disjoint and sum to the iteration time, to the picosecond.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/units.h"
#include "report/operation_log.h"
#include "report/stretch_time.h"
#include "system/execution/observer.h"
#include "workload/graph/job.h"

namespace orrery::report {

// At every instant: a device, host or memory node runs, or a device node waits for its host -> compute; but of a job
// whose host and memory nodes are its input and checkpoints, these are like communication: exposed as "input" and
// "checkpoint". Else the first unfinished operation in canonical order decides: a collective or message that moves ->
// exposed communication; a collective whose members have not all come -> wait; a receive whose sender has not started
// -> bubble, or wait if it is known not to be of a pipeline. Nothing under way, or finished -> idle.
// Copies between a device and its host's memory are like communication, too: exposed as "offload".
inline const std::string kInput = "input", kCheckpoint = "checkpoint", kOffload = "offload";

struct Breakdown {
  Duration compute{};
  Duration slowed{};  // of `compute`: the end of what the device computed, as far as calls beside it delayed that
  Duration host{};    // of `compute`: the host ran or launched kernels, and no device or memory node ran
  Duration memory{};  // of `compute`: remote memory, and no device node did
  std::map<std::string, Duration>
      exposed;  // by communicator name; sends and receives by Job::peer_family; kInput, kCheckpoint, kOffload
  Duration bubble{};
  Duration wait{};
  Duration idle{};
  Duration loading{};  // beside all of these: input was on its way
  // Likewise: the host launched one kernel after the other, until that of the last computation that had to wait for it;
  // nothing else on the rank could have made that end earlier.
  Duration host_pace{};
  Time finish;

  Duration exposed_total() const;
  bool operator==(const Breakdown&) const = default;
};

// Breaks down the ranks of a job, one after the other, and keeps the memory it works in.
class TimeAccount {
 public:
  explicit TimeAccount(const workload::Job& job) : job_(job) {}

  // `operations` are all of `rank`'s, in order of their end; `end` is the end of the iteration.
  Breakdown of(RankId rank, std::span<const system::OperationRecord> operations, Time end);
  // The same of what the log has of the rank, which is one log for all ranks and one `end`. Stretches gone through
  // again are not written out, and ranks that did the same are accounted for once.
  Breakdown of(RankId rank, const OperationLog& log, Time end);

 private:
  enum class Busy : std::uint8_t { kDevice, kMemory, kSlowed, kHost };
  // Use that a node makes of its rank: none, of what keeps it busy, or communication, input or a checkpoint, for which
  // it has to wait.
  enum class Use : std::uint8_t { kNone, kCompute, kMemory, kHost, kCommunication, kReading, kSaving };
  // Stages of a computation: it waits for the host to launch it, or computes; computes; would be done, had no call
  // slowed it.
  enum class Stage : std::uint8_t { kBegun, kLaunched, kOverdue };
  // Communication under way; the first in the canonical order decides.
  struct Open {
    std::uint32_t position = 0;
    const system::OperationRecord* operation = nullptr;
    bool operator>(const Open& other) const { return position > other.position; }
  };
  struct Start {
    Time time;
    std::uint32_t operation = 0;
    Stage stage = Stage::kBegun;
    bool operator<(const Start& other) const { return time < other.time; }
  };
  // A stretch gone through once more: what is under way in it is known.
  struct Stretch {
    const StretchTime* time = nullptr;
    Time origin;
    std::uint32_t number = 0;  // of its first node
    std::size_t step = 0;

    Time begin() const { return origin + time->begin(); }
    Time end() const { return origin + time->end(); }
  };

  // Account of ranks with one program that did the same: all but the calls' names, which are the ranks' own.
  struct Known {
    Breakdown common;
    std::vector<Duration> in_collectives;
  };

  void account(std::span<const system::OperationRecord> operations, Time end);
  Breakdown named(RankId rank, const Breakdown& common, std::span<const Duration> in_collectives, Time end) const;
  void take_up(RankId rank);
  void take_uses(const workload::ExecutionGraph& graph);
  Use use_of(workload::NodeKind kind) const;
  const StretchTime& time_of(const RepeatedStretch& stretch);
  Time take_stretches();
  void sort_starts(std::span<const system::OperationRecord> operations);
  void start(const system::OperationRecord& operation, Stage stage);
  void open(const system::OperationRecord& operation);
  Use use(NodeId node) const { return uses_[index_of(node)]; }
  void finish(const system::OperationRecord& operation);
  void follow_host(const system::OperationRecord& operation);
  void book_until(Time time);
  void book(Time until);
  void book_stretch(const Stretch& stretch, Time until);
  void book_together(Time until);
  void book_blocked(const system::OperationRecord& first, Time until);
  std::string_view peer_family(std::uint32_t peer_slot) const;
  int& busy(Busy what) { return busy_[static_cast<std::size_t>(what)]; }
  bool is_busy() const { return busy_[0] > 0 || busy_[1] > 0 || busy_[2] > 0 || busy_[3] > 0; }

  const workload::Job& job_;
  const workload::ExecutionGraph* graph_ = nullptr;
  std::uint32_t graph_number_ = 0;
  // In the canonical order of *graph_, by node; of a program with repetitions the numbers are their order.
  std::vector<std::uint32_t> position_;
  std::vector<Use> uses_;           // of *graph_, by node
  std::vector<bool> synchronises_;  // likewise; empty: the host takes no time
  std::unordered_map<const system::RepetitionRecord*, std::unique_ptr<StretchTime>> times_;
  std::optional<AlikeRanks> alike_;
  std::map<std::pair<RankId, std::uint32_t>, Known> known_;  // by the first of those alike, by program
  std::vector<system::OperationRecord> operations_;          // of the rank, those of stretches aside
  std::vector<RepeatedStretch> repeated_;
  Breakdown result_;
  Time now_;
  std::array<int, 4> busy_{};
  Time host_free_;                      // when the host went on behind what it waited for last, or began
  Time paced_until_;                    // by the host
  std::uint32_t synchronisations_ = 0;  // done
  int loading_ = 0;
  std::vector<Open> open_;          // a heap, with operations that have ended
  std::vector<Start> starts_;       // of operations that take time, in order
  std::vector<Start> late_;         // scratch of sort_starts()
  std::vector<Start> merged_;       // likewise
  std::vector<Stretch> stretches_;  // that take time, by their begin
  std::size_t next_stretch_ = 0;    // the first that has not begun
  std::vector<Stretch> under_way_;
  std::vector<Duration> in_collectives_;  // exposed, by communicator slot
  std::vector<Duration> in_transfers_;    // likewise, by peer slot
};

}  // namespace orrery::report
