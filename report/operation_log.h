// SPDX-License-Identifier: MIT
// Keeps every finished operation of every rank, packed: most take 6 to 12 bytes. A rank that was simulated as part of
// another's class for a while shares what was finished then; a stretch that was gone through once more is one entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "system/execution/observer.h"

namespace orrery::report {

// A stretch that a rank went through once more. It points into the log.
struct RepeatedStretch {
  const system::RepetitionRecord* kind = nullptr;  // but for `number` and `begin`, which are of this time
  std::uint32_t number = 0;
  Time begin;

  std::span<const system::StretchRecord::Part> parts() const { return kind->parts(); }
  system::OperationRecord operation(const system::StretchRecord::Part& part) const {
    return {NodeId(index_of(kind->first) + part.offset),
            number + part.offset,
            begin + part.start,
            begin + part.moving,
            begin + part.end,
            part.slowed};
  }
};

class OperationLog final : public system::SimulationObserver {
 public:
  // `first_nodes`: only operations of that many first nodes of programs are kept; the others count nowhere.
  explicit OperationLog(std::size_t ranks, std::uint32_t first_nodes = UINT32_MAX)
      : first_nodes_(first_nodes), number_(ranks, 0), logs_(1) {}

  void finished(RankId rank, const system::OperationRecord& operation) override {
    if (index_of(operation.node) < first_nodes_) put(log_of(rank), operation);
  }
  void repeated(RankId rank, const system::RepetitionRecord& repetition) override;
  void split(RankId rank, RankId parent) override;
  void begin_anew() override { *this = OperationLog(number_.size(), first_nodes_); }

  // In order of their ends, those of one instant in order of their numbers: an order that does not depend on that of
  // simultaneous events.
  std::vector<system::OperationRecord> of(RankId rank) const;
  // The same into `operations`, which is replaced.
  void of(RankId rank, std::vector<system::OperationRecord>& operations) const;
  // The same but for the stretches gone through once more that `is_whole` says to leave in one piece: they are in
  // `repeated`, in the order in which they were over.
  template <class IsWhole>
  void of(RankId rank, std::vector<system::OperationRecord>& operations, std::vector<RepeatedStretch>& repeated,
          const IsWhole& is_whole) const {
    operations.clear();
    repeated.clear();
    const auto take = [&](const RepeatedStretch& stretch) {
      if (is_whole(stretch))
        repeated.push_back(stretch);
      else
        merge(stretch, operations);
    };
    read(
        rank, [&](const system::OperationRecord& operation) { operations.push_back(operation); }, take);
    put_in_order(operations);
  }
  // Calls `on_operation` and `on_repeated` with all entries of a rank, in the order in which they came.
  template <class OnOperation, class OnRepeated>
  void read(RankId rank, const OnOperation& on_operation, const OnRepeated& on_repeated) const {
    for (Reader reader(*this, number_[index_of(rank)]); reader.next();)
      if (reader.is_repeated())
        on_repeated(reader.repeated());
      else
        on_operation(reader.operation());
  }
  // True if both ranks were told the same, in the same order; false though both did the same if that order differs.
  bool are_told_alike(RankId one, RankId other) const;
  // Number that is the same for ranks that are told alike, and hardly for others.
  std::uint64_t digest(RankId rank) const;
  // Number of operations that of() gives.
  std::size_t count(RankId rank) const { return logs_[number_[index_of(rank)]].operations; }
  // Number of them that belong to stretches gone through once more.
  std::size_t count_repeated(RankId rank) const { return logs_[number_[index_of(rank)]].repeated; }
  std::size_t ranks() const { return number_.size(); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Entries that follow one another; those of one log are a list of pieces.
  struct Piece {
    Piece* next = nullptr;
    std::byte* end = nullptr;  // of its entries, which begin behind it; null of the last one, which is written to
    std::byte* entries() { return reinterpret_cast<std::byte*>(this + 1); }
  };

  // Operation before, from which an entry tells its differences.
  struct Before {
    Time end;
    std::uint32_t node = 0;   // that follows its node
    std::uint32_t ahead = 0;  // of its number before its node
  };

  struct Log {
    std::byte* at = nullptr;  // where the next entry is to be, and up to where it may begin
    std::byte* limit = nullptr;
    Before before;
    Piece* first = nullptr;
    Piece* last = nullptr;
    std::uint32_t parent = kNone;    // number of the log
    std::uint32_t inherited = 0;     // the first of the parent's entries
    std::uint32_t own = 0;           // entries
    std::uint32_t piece_size = 256;  // of the last
    std::size_t operations = 0;      // with those inherited
    std::size_t repeated = 0;        // of them, in stretches gone through once more
  };

  class Reader {
   public:
    Reader(const OperationLog& log, std::uint32_t number);
    // Goes on to the next entry; false at the end.
    bool next() {
      while (left_ == 0)
        if (!begin_part()) return false;
      --left_;
      while (at_ == end_) begin_piece();
      read_entry();
      return true;
    }
    bool is_repeated() const { return repeated_.kind != nullptr; }
    const system::OperationRecord& operation() const { return operation_; }
    const RepeatedStretch& repeated() const { return repeated_; }

   private:
    bool begin_part();
    void begin_piece();
    void read_entry();

    const OperationLog& log_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>>
        parts_;  // logs still to be read, and how many of their entries
    const Log* part_ = nullptr;
    std::size_t left_ = 0;
    Piece* piece_ = nullptr;
    const std::byte* at_ = nullptr;
    const std::byte* end_ = nullptr;
    Before before_;
    system::OperationRecord operation_;
    RepeatedStretch repeated_;
  };

  Log& log_of(RankId rank) {
    const std::uint32_t number = number_[index_of(rank)];
    return number != 0 ? logs_[number] : new_log(rank);
  }
  Log& new_log(RankId rank);
  void put(Log& log, const system::OperationRecord& operation);
  void begin_piece(Log& log);
  // Puts the operations of a stretch among those before it, by their ends.
  static void merge(const RepeatedStretch& stretch, std::vector<system::OperationRecord>& operations);
  static void put_in_order(std::vector<system::OperationRecord>& operations);
  std::uint32_t kind_of(const system::RepetitionRecord& repetition);

  std::uint32_t first_nodes_;
  std::vector<std::uint32_t> number_;  // by rank: of its log; 0, the empty one, of all for which others act
  std::vector<Log> logs_;
  // Memory of the pieces, and what is left of the last block.
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* free_ = nullptr;
  std::size_t free_bytes_ = 0;
  // Kinds of repetitions: of one record, main parts and rests.
  std::vector<std::unique_ptr<system::RepetitionRecord>> kinds_;
  std::unordered_map<const system::StretchRecord*, std::uint32_t> kind_of_record_[2];
};

// Ranks that were told alike.
class AlikeRanks {
 public:
  explicit AlikeRanks(const OperationLog& log) : log_(log) {}

  // The first of those asked for that was told like this one, itself if there is none.
  RankId first(RankId rank);

 private:
  const OperationLog& log_;
  std::unordered_map<std::uint64_t, std::vector<RankId>> firsts_;  // by digest
};

}  // namespace orrery::report
