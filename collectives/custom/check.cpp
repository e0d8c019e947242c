// SPDX-License-Identifier: MIT
#include "collectives/custom/check.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "collectives/custom/pairing.h"
#include "collectives/oracle/bit_matrix.h"
#include "collectives/oracle/meaning.h"
#include "collectives/oracle/oracle.h"
#include "core/assert.h"

namespace orrery::collectives {
namespace {

using Kind = Action::Kind;

// Actions of all ranks, numbered rank after rank.
class ActionOrder {
 public:
  ActionOrder(const WrittenCollective& written, const Pairing& pairing) : written_(written) {
    for (std::uint32_t rank = 0; rank < written.ranks; ++rank) {
      first_.push_back(static_cast<std::uint32_t>(earlier_.size()));
      earlier_.resize(earlier_.size() + written.actions[rank].size());
    }
    for (std::uint32_t rank = 0; rank < written.ranks; ++rank)
      for (std::uint32_t a = 0; a < written.actions[rank].size(); ++a) {
        const Action& action = written.actions[rank][a];
        for (const std::uint32_t before : action.after) earlier_[first_[rank] + a].push_back(first_[rank] + before);
        if (action.kind == Kind::kReceive)
          earlier_[first_[rank] + a].push_back(first_[action.peer] + pairing.ends[rank][a]);
      }
    sort();
  }

  // Each after those that it waits for.
  const std::vector<std::uint32_t>& order() const { return order_; }
  const std::vector<std::uint32_t>& earlier(std::uint32_t action) const { return earlier_[action]; }
  std::uint32_t rank_of(std::uint32_t action) const {
    return static_cast<std::uint32_t>(std::ranges::upper_bound(first_, action) - first_.begin() - 1);
  }
  std::size_t size() const { return earlier_.size(); }

 private:
  void sort() {
    std::vector<std::size_t> waiting(earlier_.size());
    std::vector<std::vector<std::uint32_t>> unblocks(earlier_.size());
    for (std::uint32_t a = 0; a < earlier_.size(); ++a) {
      waiting[a] = earlier_[a].size();
      if (waiting[a] == 0) order_.push_back(a);
      for (const std::uint32_t before : earlier_[a]) unblocks[before].push_back(a);
    }
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const std::uint32_t next : unblocks[order_[i]])
        if (--waiting[next] == 0) order_.push_back(next);
    if (order_.size() < earlier_.size()) refuse_cycle(waiting);
  }

  // From an action that never comes to one that it waits for and that never comes either, until one is met again.
  [[noreturn]] void refuse_cycle(const std::vector<std::size_t>& waiting) const {
    const auto waits = [&](std::uint32_t action) { return waiting[action] > 0; };
    std::vector<std::uint32_t> chain;
    auto at = static_cast<std::uint32_t>(std::ranges::find_if(waiting, [](std::size_t n) { return n > 0; }) -
                                         waiting.begin());
    for (; std::ranges::find(chain, at) == chain.end(); at = *std::ranges::find_if(earlier_[at], waits))
      chain.push_back(at);
    chain.erase(chain.begin(), std::ranges::find(chain, at));
    std::vector<std::string> names;  // a step of a file may be several actions
    for (const std::uint32_t action : chain)
      if (names.empty() || names.back() != name_of(action)) names.push_back(name_of(action));
    if (names.size() > 1 && names.back() == names.front()) names.pop_back();
    constexpr std::size_t kMostNamed = 6;
    const std::size_t more = names.size() - std::min(names.size(), kMostNamed);
    names.resize(names.size() - more);
    std::string text = fmt::format("{}", fmt::join(names, ", which waits for "));
    text += more > 0 ? fmt::format(", and {} more, the last of which waits for the first", more)
                     : ", which waits for the first";
    const std::uint32_t rank = rank_of(chain.front());
    throw InputError(written_.where(rank, chain.front() - first_[rank]), "deadlock: " + text,
                     "let the other rank send first, or take a dependency away");
  }

  std::string name_of(std::uint32_t action) const {
    const std::uint32_t rank = rank_of(action);
    const Action& of_rank = written_.actions[rank][action - first_[rank]];
    const std::string line = of_rank.line > 0 ? fmt::format(" (line {})", of_rank.line) : "";
    return fmt::format("{}{}", of_rank.name, line);
  }

  const WrittenCollective& written_;
  std::vector<std::uint32_t> first_;                 // action of each rank
  std::vector<std::vector<std::uint32_t>> earlier_;  // by action
  std::vector<std::uint32_t> order_;
};

// True if a rank's result is made from the data of `other`.
bool needs(const WrittenCollective& written, std::uint32_t rank, std::uint32_t other) {
  switch (written.kind) {
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather:
      return rank == written.root;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
      return other == written.root;
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBarrier:
      return true;
  }
  ORRERY_ASSERT(false);
}

// Checks reach, which needs no names of chunks: a rank has to be at the end of a chain of messages from every rank
// whose data it needs.
void check_reach(const WrittenCollective& written, const ActionOrder& actions) {
  BitMatrix known(actions.size(), written.ranks);
  BitMatrix at_end(written.ranks, written.ranks);
  for (const std::uint32_t action : actions.order()) {
    const std::uint32_t rank = actions.rank_of(action);
    insert(known.row(action), rank);
    for (const std::uint32_t before : actions.earlier(action)) add_all(known.row(action), known.row(before));
    add_all(at_end.row(rank), known.row(action));
  }
  for (std::uint32_t rank = 0; rank < written.ranks; ++rank)
    for (std::uint32_t other = 0; other < written.ranks; ++other)
      if (rank != other && needs(written, rank, other) && !contains(at_end.row(rank), other))
        throw InputError({written.file_of(rank)},
                         fmt::format("wrong {}: nothing that rank {} has reaches rank {}, by no chain of messages",
                                     orrery::name_of(written.kind), other, rank),
                         "look for a send that is missing, or that waits for the wrong receive");
}

// The messages of a file with buffers, and its local copies and sums, for the oracle.
class Expansion {
 public:
  Expansion(const WrittenCollective& written, const Pairing& pairing) : written_(written) {
    exchange_ = {written.kind, written.ranks, written.root, written.chunks, {}, 0, written.buffers, {}};
    for (std::uint32_t rank = 0; rank < written.ranks; ++rank) message_of_.emplace_back(written.actions[rank].size());
    for (std::uint32_t rank = 0; rank < written.ranks; ++rank)
      for (std::uint32_t a = 0; a < written.actions[rank].size(); ++a) add(rank, a, pairing);
    if (exchange_.messages.size() > kMostChecked)
      throw InputError({written.file_of(0)},
                       fmt::format("{} messages and local copies: too many to check; at most {} are",
                                   exchange_.messages.size(), kMostChecked),
                       "the check takes memory in the square of that number: write it for fewer ranks or chunks");
    for (std::uint32_t rank = 0; rank < written.ranks; ++rank)
      for (std::uint32_t a = 0; a < written.actions[rank].size(); ++a) connect(rank, a);
    exchange_.name_of = [this](std::uint32_t message) { return name_of(message); };
  }
  Expansion(const Expansion&) = delete;

  const Exchange& exchange() const { return exchange_; }

  Location where(std::uint32_t message) const { return written_.where(at_[message].first, at_[message].second); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  static std::vector<PieceId> places(std::uint32_t first, std::uint32_t count) {
    std::vector<PieceId> all(count);
    for (std::uint32_t i = 0; i < count; ++i) all[i] = PieceId{first} + i;
    return all;
  }

  void add(std::uint32_t rank, std::uint32_t a, const Pairing& pairing) {
    const Action& action = written_.actions[rank][a];
    if (action.kind == Kind::kReceive) return;
    if (action.kind == Kind::kLocal && action.to == Action::kNowhere) {
      message_of_[rank][a] = kNone;
      return;
    }
    const auto number = static_cast<std::uint32_t>(exchange_.messages.size());
    message_of_[rank][a] = number;
    const bool is_send = action.kind == Kind::kSend;
    const std::uint32_t to = is_send ? action.peer : rank;
    if (is_send) message_of_[to][pairing.ends[rank][a]] = number;
    const Action& end = is_send ? written_.actions[to][pairing.ends[rank][a]] : action;
    exchange_.messages.push_back(
        {rank, to, places(action.from, action.count), end.combine, {}, places(end.to, end.count), {}});
    at_.emplace_back(rank, a);
  }

  // Adds the rank's messages that an action waits for by way of actions that move nothing.
  void add_earlier(std::uint32_t rank, std::uint32_t a, std::set<std::uint32_t>& messages) const {
    std::vector<std::uint32_t> pending = written_.actions[rank][a].after;
    std::set<std::uint32_t> seen(pending.begin(), pending.end());
    while (!pending.empty()) {
      const std::uint32_t earlier = pending.back();
      pending.pop_back();
      if (message_of_[rank][earlier] != kNone) {
        messages.insert(message_of_[rank][earlier]);
        continue;
      }
      for (const std::uint32_t next : written_.actions[rank][earlier].after)
        if (seen.insert(next).second) pending.push_back(next);
    }
  }

  void connect(std::uint32_t rank, std::uint32_t a) {
    if (message_of_[rank][a] == kNone) return;
    std::set<std::uint32_t> earlier;
    add_earlier(rank, a, earlier);
    Message& message = exchange_.messages[message_of_[rank][a]];
    (written_.actions[rank][a].kind == Kind::kReceive ? message.lands_after : message.after)
        .assign(earlier.begin(), earlier.end());
  }

  std::string name_of(std::uint32_t message) const {
    const auto& [rank, a] = at_[message];
    const Action& action = written_.actions[rank][a];
    return fmt::format("{}{}", action.name, action.line > 0 ? fmt::format(" (line {})", action.line) : "");
  }

  const WrittenCollective& written_;
  Exchange exchange_;
  std::vector<std::vector<std::uint32_t>> message_of_;       // by rank and action
  std::vector<std::pair<std::uint32_t, std::uint32_t>> at_;  // rank and action of each message, where it starts
};

}  // namespace

void check_written(const WrittenCollective& written) {
  constexpr std::array<std::uint64_t, 3> kSeeds = {1, 2, 3};
  const Pairing pairing = pair_messages(written);
  const ActionOrder order(written, pairing);
  if (!written.buffers) return check_reach(written, order);
  const Expansion expansion(written, pairing);
  const Verdict verdict = check_meaning(expansion.exchange(), kSeeds);
  if (verdict.correct) return;
  throw InputError(verdict.message ? expansion.where(*verdict.message) : Location{written.file_of(0)},
                   fmt::format("wrong {}: {}", orrery::name_of(written.kind), verdict.reason),
                   "the file was played on symbolic data: each chunk has to end where the collective promises it, with "
                   "each contribution once");
}

}  // namespace orrery::collectives
