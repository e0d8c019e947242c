#include "workload/matching/collectives.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "workload/graph/content_digest.h"
#include "workload/graph/content_pool.h"
#include "workload/matching/call_disagreement.h"
#include "workload/matching/callers.h"

namespace orrery {
namespace {

using Kinds = std::vector<std::uint32_t>;  // of callers

struct HashOfKinds {
  std::size_t operator()(const Kinds& kinds) const {
    ContentDigest digest;
    digest.add_column(kinds);
    return digest.value();
  }
};

struct CallList {
  std::vector<CollectiveCall> calls;

  bool operator==(const CallList&) const = default;
  std::uint64_t content_hash() const {
    ContentDigest digest;
    for (const CollectiveCall& call : calls) {
      digest.add(
          hash_of({static_cast<std::uint64_t>(call.kind), static_cast<std::uint64_t>(call.bytes.count()), call.root}));
      digest.add_column(call.bytes_of_member);
    }
    return digest.value();
  }
};

// What members of the same kinds come to, in whatever communicator.
struct Agreement {
  CallList list;
  std::optional<std::size_t> disagreed;  // the first call about which they disagree
};

bool agree(const CallRequest& a, const CallRequest& b) {
  return a.root == b.root && can_be_one(a.kind, a.bytes, b.kind, b.bytes);
}

class CallMatcher {
 public:
  CallMatcher(const Callers& callers, std::span<const std::uint32_t> kinds)
      : callers_(callers), kinds_(kinds), distinct_(distinct_kinds(kinds)) {}

  Agreement match() const {
    Agreement agreement;
    std::size_t longest = 0;
    for (const std::uint32_t kind : distinct_) longest = std::max(longest, callers_[kind].calls.size());
    for (std::size_t k = 0; k < longest; ++k) {
      if (!all_agree(k)) return {{}, k};
      agreement.list.calls.push_back(call(k));
    }
    return agreement;
  }

 private:
  bool all_agree(std::size_t k) const {
    for (const std::uint32_t kind : distinct_)
      if (k >= callers_[kind].calls.size()) return false;
    const CallRequest first = callers_[distinct_.front()].request(k);
    return std::ranges::all_of(distinct_, [&](std::uint32_t kind) { return agree(first, callers_[kind].request(k)); });
  }

  CollectiveCall call(std::size_t k) const {
    const CallRequest first = callers_[distinct_.front()].request(k);
    CollectiveCall result{first.kind, first.bytes, first.root, {}};
    const auto is_alike = [&](std::uint32_t kind) { return callers_[kind].request(k).bytes == first.bytes; };
    if (std::ranges::all_of(distinct_, is_alike)) return result;
    for (const std::uint32_t kind : kinds_) {
      result.bytes_of_member.push_back(callers_[kind].request(k).bytes);
      result.bytes = std::max(result.bytes, result.bytes_of_member.back());
    }
    return result;
  }

  const Callers& callers_;
  std::span<const std::uint32_t> kinds_;  // by member
  Kinds distinct_;
};

struct Matched {
  std::uint32_t list = 0;
  std::optional<std::size_t> disagreed;
};

}  // namespace

bool can_be_one(CollectiveKind kind, Bytes bytes, CollectiveKind other_kind, Bytes other_bytes) {
  const bool may_differ =
      kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
  return kind == other_kind && (bytes == other_bytes || may_differ);
}

CallLists match_collectives(const Job& job, DisagreementReport& report) {
  Callers callers(job);
  std::unordered_map<Kinds, Matched, HashOfKinds> by_kinds;
  ContentPool<CallList> lists;
  CallLists result;
  for (std::uint32_t group = 0; group < job.communicators.size(); ++group) {
    const auto [known, is_new] = by_kinds.try_emplace(callers.kinds_of(GroupId(group)));
    Matched& matched = known->second;
    if (is_new) {
      Agreement agreement = CallMatcher(callers, known->first).match();
      matched = {lists.intern(std::move(agreement.list)), agreement.disagreed};
    }
    if (matched.disagreed)
      report.add(describe_disagreement(job, GroupId(group), callers, known->first, *matched.disagreed));
    result.list_of.push_back(matched.list);
  }
  for (CallList& list : lists.take()) result.lists.push_back(std::move(list.calls));
  return result;
}

}  // namespace orrery
