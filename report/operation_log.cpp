// SPDX-License-Identifier: MIT
#include "report/operation_log.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "core/assert.h"
#include "core/hash.h"

namespace orrery::report {
namespace {

using system::OperationRecord;

// Entry of an operation: a byte with the length of its end's distance from the end before (4 bits), of its start's from
// there (3 bits), and a bit that says whether it differs in anything else from the next node that moves when it starts
// and is not slowed; then two bytes with the lengths of these four. Then these numbers, in so many bytes.
// Entry of a repetition: the byte kRepeated, numbers of its kind (4 bytes) and of its first node (4), its begin (8).
constexpr std::uint8_t kRepeated = 15;
constexpr std::uint8_t kHasMore = 128;
constexpr std::size_t kLongest = 64;  // more than any entry takes, with what is written beyond its end
constexpr std::uint32_t kLongestPiece = 16U << 10U;
constexpr std::size_t kFirstBlock = 64U << 10U, kLongestBlock = 4U << 20U;

// Differences in either direction as numbers that are small where they are.
std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
}
std::int64_t difference(std::uint64_t zigzag) {
  return static_cast<std::int64_t>(zigzag >> 1U) ^ -static_cast<std::int64_t>(zigzag & 1U);
}

unsigned bytes_for(std::uint64_t value) { return (static_cast<unsigned>(std::bit_width(value)) + 7) / 8; }

// Writes all of `value`, of which `bytes` count.
void put_bytes(std::byte*& at, std::uint64_t value, unsigned bytes) {
  if constexpr (std::endian::native == std::endian::big) value <<= 8 * (8 - std::max(bytes, 1U));
  std::memcpy(at, &value, sizeof value);
  at += bytes;
}

// Reads 8 bytes, of which `bytes` count.
std::uint64_t get_bytes(const std::byte*& at, unsigned bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  at += bytes;
  if (bytes == 0) return 0;
  const unsigned others = 8 * (8 - bytes);
  return std::endian::native == std::endian::big ? value >> others : value << others >> others;
}

}  // namespace

OperationLog::Log& OperationLog::new_log(RankId rank) {
  number_[index_of(rank)] = static_cast<std::uint32_t>(logs_.size());
  return logs_.emplace_back();
}

// Pieces grow with their log, so that short ones take little and long ones waste little.
void OperationLog::begin_piece(Log& log) {
  if (log.last != nullptr) log.last->end = log.at;
  log.piece_size = std::min(2 * log.piece_size, kLongestPiece);
  if (free_bytes_ < log.piece_size) {
    free_bytes_ = std::min(kFirstBlock << std::min<std::size_t>(blocks_.size(), 6), kLongestBlock);
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(free_bytes_));
    free_ = blocks_.back().get();
  }
  auto* piece = new (free_) Piece;
  free_ += log.piece_size;
  free_bytes_ -= log.piece_size;
  (log.last == nullptr ? log.first : log.last->next) = piece;
  log.last = piece;
  log.at = piece->entries();
  log.limit = free_ - kLongest;
}

void OperationLog::put(Log& log, const OperationRecord& operation) {
  if (log.at >= log.limit) begin_piece(log);
  Before& before = log.before;
  const std::uint32_t node = index_of(operation.node), ahead = operation.number - node;
  const auto end = static_cast<std::uint64_t>((operation.end - before.end).count());
  const std::uint64_t start = zigzag((operation.start - before.end).count());
  const std::uint64_t more[] = {zigzag(static_cast<std::int32_t>(node - before.node)),
                                zigzag(static_cast<std::int32_t>(ahead - before.ahead)),
                                zigzag((operation.moving - operation.start).count()), zigzag(operation.slowed.count())};
  const unsigned end_bytes = bytes_for(end), start_code = std::min(bytes_for(start), 7U);
  std::byte* at = log.at;
  const bool has_more = (more[0] | more[1] | more[2] | more[3]) != 0;
  *at++ = static_cast<std::byte>(end_bytes | start_code << 4U | (has_more ? kHasMore : 0));
  if (has_more) {
    const unsigned lengths =
        bytes_for(more[0]) | bytes_for(more[1]) << 4U | bytes_for(more[2]) << 8U | bytes_for(more[3]) << 12U;
    put_bytes(at, lengths, 2);
    for (unsigned i = 0; i < 4; ++i) put_bytes(at, more[i], lengths >> 4U * i & 15U);
  }
  put_bytes(at, end, end_bytes);
  put_bytes(at, start, start_code == 7 ? 8 : start_code);
  log.at = at;
  before = {operation.end, node + 1, ahead};
  ++log.own;
  ++log.operations;
}

std::uint32_t OperationLog::kind_of(const system::RepetitionRecord& repetition) {
  const auto [known, is_new] = kind_of_record_[repetition.is_rest ? 1 : 0].try_emplace(
      repetition.record.get(), static_cast<std::uint32_t>(kinds_.size()));
  if (is_new) kinds_.push_back(std::make_unique<system::RepetitionRecord>(repetition));
  ORRERY_ASSERT(kinds_[known->second]->first == repetition.first);
  return known->second;
}

void OperationLog::repeated(RankId rank, const system::RepetitionRecord& repetition) {
  if (index_of(repetition.first) >= first_nodes_) return;
  Log& log = log_of(rank);
  if (log.at >= log.limit) begin_piece(log);
  *log.at++ = static_cast<std::byte>(kRepeated);
  put_bytes(log.at, kind_of(repetition), 4);
  put_bytes(log.at, repetition.number, 4);
  put_bytes(log.at, static_cast<std::uint64_t>(repetition.begin.time_since_epoch().count()), 8);
  ++log.own;
  log.operations += repetition.parts().size();
  log.repeated += repetition.parts().size();
}

void OperationLog::split(RankId rank, RankId parent) {
  Log& log = new_log(rank);
  const std::uint32_t number = number_[index_of(parent)];
  const Log& whole = logs_[number];
  log.parent = number;
  log.inherited = whole.inherited + whole.own;
  log.operations = whole.operations;
  log.repeated = whole.repeated;
}

bool OperationLog::are_told_alike(RankId one, RankId other) const {
  const Log &a = logs_[number_[index_of(one)]], &b = logs_[number_[index_of(other)]];
  if (a.parent != b.parent || a.inherited != b.inherited || a.own != b.own || a.operations != b.operations)
    return false;
  // Equal entries fill equal pieces.
  Piece *of_a = a.first, *of_b = b.first;
  for (; of_a != nullptr && of_b != nullptr; of_a = of_a->next, of_b = of_b->next) {
    const auto length = [](Piece& piece, const Log& log) {
      return static_cast<std::size_t>((&piece == log.last ? log.at : piece.end) - piece.entries());
    };
    const std::size_t bytes = length(*of_a, a);
    if (bytes != length(*of_b, b) || std::memcmp(of_a->entries(), of_b->entries(), bytes) != 0) return false;
  }
  return of_a == of_b;
}

std::uint64_t OperationLog::digest(RankId rank) const {
  const Log& log = logs_[number_[index_of(rank)]];
  return hash_of(
      {log.parent, log.own, log.operations, static_cast<std::uint64_t>(log.before.end.time_since_epoch().count())});
}

RankId AlikeRanks::first(RankId rank) {
  std::vector<RankId>& known = firsts_[log_.digest(rank)];
  for (const RankId other : known)
    if (log_.are_told_alike(rank, other)) return other;
  known.push_back(rank);
  return rank;
}

OperationLog::Reader::Reader(const OperationLog& log, std::uint32_t number) : log_(log) {
  const Log& own = log.logs_[number];
  parts_.emplace_back(number, own.own);
  std::uint32_t left = own.inherited;
  for (number = own.parent; number != kNone && left > 0; number = log.logs_[number].parent) {
    const Log& of = log.logs_[number];
    const std::uint32_t inherited = std::min(left, of.inherited);
    parts_.emplace_back(number, left - inherited);
    left = inherited;
  }
}

bool OperationLog::Reader::begin_part() {
  if (parts_.empty()) return false;
  part_ = &log_.logs_[parts_.back().first];
  left_ = parts_.back().second;
  parts_.pop_back();
  piece_ = nullptr;
  at_ = end_ = nullptr;
  before_ = {};
  return true;
}

void OperationLog::Reader::begin_piece() {
  piece_ = piece_ == nullptr ? part_->first : piece_->next;
  at_ = piece_->entries();
  end_ = piece_->end != nullptr ? piece_->end : part_->at;
}

void OperationLog::Reader::read_entry() {
  const auto head = std::to_integer<unsigned>(*at_++);
  if (head == kRepeated) {
    repeated_.kind = log_.kinds_[get_bytes(at_, 4)].get();
    repeated_.number = static_cast<std::uint32_t>(get_bytes(at_, 4));
    repeated_.begin = Time(Duration(static_cast<std::int64_t>(get_bytes(at_, 8))));
    return;
  }
  repeated_.kind = nullptr;
  std::uint64_t more[4] = {};
  if ((head & kHasMore) != 0) {
    const auto lengths = static_cast<unsigned>(get_bytes(at_, 2));
    for (unsigned i = 0; i < 4; ++i) more[i] = get_bytes(at_, lengths >> 4U * i & 15U);
  }
  const Time before = before_.end;
  const std::uint64_t end = get_bytes(at_, head & 15U);
  const unsigned start_code = head >> 4U & 7U;
  const std::uint64_t start = get_bytes(at_, start_code == 7 ? 8 : start_code);
  const std::uint32_t node = before_.node + static_cast<std::uint32_t>(difference(more[0]));
  before_ = {before + Duration(static_cast<std::int64_t>(end)), node + 1,
             before_.ahead + static_cast<std::uint32_t>(difference(more[1]))};
  operation_.node = NodeId(node);
  operation_.number = node + before_.ahead;
  operation_.start = before + Duration(difference(start));
  operation_.moving = operation_.start + Duration(difference(more[2]));
  operation_.end = before_.end;
  operation_.slowed = Duration(difference(more[3]));
}

std::vector<OperationRecord> OperationLog::of(RankId rank) const {
  std::vector<OperationRecord> operations;
  of(rank, operations);
  return operations;
}

void OperationLog::of(RankId rank, std::vector<OperationRecord>& operations) const {
  std::vector<RepeatedStretch> none;
  operations.clear();
  operations.reserve(count(rank));
  of(rank, operations, none, [](const RepeatedStretch&) { return false; });
}

// Goes from the last ends to the first, so that each operation is moved once.
void OperationLog::merge(const RepeatedStretch& stretch, std::vector<OperationRecord>& operations) {
  const std::span<const system::StretchRecord::Part> parts = stretch.parts();
  std::size_t old = operations.size(), own = parts.size();
  operations.resize(old + own);
  for (std::size_t to = old + own; own > 0;) {
    const bool is_old = old > 0 && operations[old - 1].end > stretch.begin + parts[own - 1].end;
    operations[--to] = is_old ? operations[--old] : stretch.operation(parts[--own]);
  }
}

void OperationLog::put_in_order(std::vector<OperationRecord>& operations) {
  const auto disordered = [](const OperationRecord& one, const OperationRecord& next) {
    return next.end < one.end || (next.end == one.end && next.number < one.number);
  };
  for (auto at = operations.begin();;) {
    at = std::adjacent_find(at, operations.end(), disordered);
    if (at == operations.end()) return;
    const Time instant = at->end;
    if (std::next(at)->end < instant) break;
    // Few instants are out of order: only theirs are sorted.
    const auto is_other = [&](const OperationRecord& other) { return other.end != instant; };
    const auto last = std::find_if(at, operations.end(), is_other);
    const auto first = std::find_if(std::make_reverse_iterator(at), operations.rend(), is_other).base();
    std::ranges::sort(first, last, {}, &OperationRecord::number);
    at = last;
    if (at == operations.end()) return;
    if (at->end < instant) break;
  }
  std::ranges::sort(operations, {}, [](const OperationRecord& one) { return std::pair(one.end, one.number); });
}

}  // namespace orrery::report
