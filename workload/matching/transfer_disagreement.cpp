#include "workload/matching/transfer_disagreement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace orrery {
namespace {

// The sends and the receives of one (source, destination, tag), each in order.
class Channel {
 public:
  Channel(const Job& job, RankId source, std::span<const MessageEnd> sends, RankId destination,
          std::span<const MessageEnd> receives)
      : job_(job), source_(source), sends_(sends), destination_(destination), receives_(receives) {}

  void check(DisagreementReport& report) const {
    const std::size_t pairs = std::min(sends_.size(), receives_.size());
    for (std::size_t k = 0; k < pairs; ++k)
      if (sends_[k].bytes != receives_[k].bytes) return report.add(describe_sizes(k));
    if (sends_.size() != receives_.size()) report.add(describe_unmatched(pairs));
  }

 private:
  std::string heading() const {
    const MessageEnd& end = sends_.empty() ? receives_.front() : sends_.front();
    return fmt::format("  from rank {} to rank {}, tag {}: ", index_of(source_), index_of(destination_), end.tag);
  }

  std::string describe_sizes(std::size_t k) const {
    return heading() + fmt::format("transfer {} is sent with {} bytes ({}) and received with {} bytes ({})", k + 1,
                                   sends_[k].bytes.count(), job_.describe(source_, sends_[k].node),
                                   receives_[k].bytes.count(), job_.describe(destination_, receives_[k].node));
  }

  std::string describe_unmatched(std::size_t pairs) const {
    const auto count = [](std::size_t n, std::string_view what) {
      return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    const bool sends_left = sends_.size() > receives_.size();
    const NodeId first = sends_left ? sends_[pairs].node : receives_[pairs].node;
    const RankId rank = sends_left ? source_ : destination_;
    return heading() + fmt::format("{} but {}; the first without {} is {} on rank {}", count(sends_.size(), "send"),
                                   count(receives_.size(), "receive"), sends_left ? "a receive" : "a send",
                                   job_.describe(rank, first), index_of(rank));
  }

  const Job& job_;
  RankId source_;
  std::span<const MessageEnd> sends_;
  RankId destination_;
  std::span<const MessageEnd> receives_;
};

// The ends of `tag` at the front of `ends`, which loses them.
std::span<const MessageEnd> take_tag(std::int64_t tag, std::span<const MessageEnd>& ends) {
  const auto after = std::ranges::upper_bound(ends, tag, {}, &MessageEnd::tag);
  const auto count = static_cast<std::size_t>(after - ends.begin());
  const std::span<const MessageEnd> taken = ends.first(count);
  ends = ends.subspan(count);
  return taken;
}

}  // namespace

void report_disagreement(const Job& job, RankId source, std::span<const MessageEnd> sends, RankId destination,
                         std::span<const MessageEnd> receives, DisagreementReport& report) {
  while (!sends.empty() || !receives.empty()) {
    const std::int64_t tag = sends.empty()      ? receives.front().tag
                             : receives.empty() ? sends.front().tag
                                                : std::min(sends.front().tag, receives.front().tag);
    const std::span<const MessageEnd> of_tag = take_tag(tag, sends);
    Channel(job, source, of_tag, destination, take_tag(tag, receives)).check(report);
  }
}

}  // namespace orrery
