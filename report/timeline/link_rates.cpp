// SPDX-License-Identifier: MIT
#include "report/timeline/link_rates.h"

#include <algorithm>
#include <map>
#include <set>

namespace orrery::report {
namespace {

// Movement over links of a class between two times.
struct Movement {
  Time begin;
  Time end;
  std::uint16_t link_class = 0;
  double bytes = 0;

  double rate() const { return bytes / seconds(end - begin); }
};

class RankMovements {
 public:
  RankMovements(const workload::Job& job, RankId rank, PathLinks& links) : job_(job), rank_(rank), links_(links) {}

  std::vector<Movement> of(std::span<const system::OperationRecord> operations) {
    for (const system::OperationRecord& operation : operations) add(operation);
    return std::move(movements_);
  }

 private:
  void add(const system::OperationRecord& operation) {
    if (operation.end <= operation.moving) return;
    const workload::ExecutionGraph& graph = job_.graph(rank_);
    const workload::NodeKind kind = graph.kind(operation.node);
    if (kind == workload::NodeKind::kCollective)
      add(operation, links_.bytes_of_call(job_.communicator(rank_, operation.node), graph.call_index(operation.node)));
    if (kind != workload::NodeKind::kSend) return;
    const workload::TransferEnd end = links_.matching().end(rank_, graph.transfer_index(operation.node));
    add(operation, links_.bytes_of_message(rank_, end.rank, graph.bytes(operation.node)));
  }

  void add(const system::OperationRecord& operation, std::span<const ClassBytes> all) {
    for (const ClassBytes& of_class : all)
      movements_.push_back({operation.moving, operation.end, of_class.link_class, of_class.bytes});
  }

  const workload::Job& job_;
  RankId rank_;
  PathLinks& links_;
  std::vector<Movement> movements_;
};

std::size_t place_of(std::span<const std::uint16_t> classes, std::uint16_t link_class) {
  return static_cast<std::size_t>(std::ranges::lower_bound(classes, link_class) - classes.begin());
}

// At every change.
std::vector<LinkRate> exact(std::span<const Movement> movements, std::span<const std::uint16_t> classes) {
  // Sums of what begins and ends would keep the rounding of what is over: counts say when nothing is left.
  struct Change {
    std::vector<double> by;
    std::vector<int> more;
  };
  std::map<Time, Change> changes;
  const auto change = [&](Time time, std::uint16_t link_class, double by, int more) {
    Change& at = changes[time];
    at.by.resize(classes.size());
    at.more.resize(classes.size());
    at.by[place_of(classes, link_class)] += by;
    at.more[place_of(classes, link_class)] += more;
  };
  for (const Movement& movement : movements) {
    change(movement.begin, movement.link_class, movement.rate(), 1);
    change(movement.end, movement.link_class, -movement.rate(), -1);
  }
  std::vector<LinkRate> rates;
  std::vector<double> sums(classes.size());
  std::vector<int> moving(classes.size());
  for (const auto& [time, at] : changes) {
    for (std::size_t i = 0; i < classes.size(); ++i) {
      moving[i] += at.more[i];
      sums[i] = moving[i] == 0 ? 0 : sums[i] + at.by[i];
    }
    rates.push_back({time, sums});
  }
  return rates;
}

std::vector<LinkRate> means(std::span<const Movement> movements, std::span<const std::uint16_t> classes, Time finish,
                            std::size_t parts) {
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(parts, 2) - 1);  // and the end
  const Duration part{std::max<std::int64_t>(1, (finish.time_since_epoch().count() + count - 1) / count)};
  std::vector<LinkRate> rates;
  for (std::int64_t i = 0; i < count && Time(part * i) < finish; ++i)
    rates.push_back({Time(part * i), std::vector<double>(classes.size())});
  for (const Movement& movement : movements) {
    const std::size_t place = place_of(classes, movement.link_class);
    for (auto i = static_cast<std::size_t>(movement.begin.time_since_epoch() / part);
         i < rates.size() && rates[i].time < movement.end; ++i) {
      const Duration within = std::min(movement.end, rates[i].time + part) - std::max(movement.begin, rates[i].time);
      rates[i].by_class[place] += movement.rate() * seconds(within) / seconds(part);
    }
  }
  rates.push_back({finish, std::vector<double>(classes.size())});
  return rates;
}

}  // namespace

std::vector<RankLinkRates> link_rates(const workload::Job& job, const OperationLog& log, std::span<const RankId> acting,
                                      std::span<const ChosenRank> ranks, Time finish, std::size_t most,
                                      PathLinks& links) {
  std::vector<RankLinkRates> all;
  for (const ChosenRank& chosen : ranks) {
    const std::vector<Movement> movements =
        RankMovements(job, chosen.rank, links).of(log.of(acting[index_of(chosen.rank)]));
    std::vector<std::uint16_t> classes;
    for (const Movement& movement : movements) classes.push_back(movement.link_class);
    std::ranges::sort(classes);
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    std::set<Time> changes;
    for (const Movement& movement : movements) changes.insert({movement.begin, movement.end});
    RankLinkRates& of_rank = all.emplace_back(RankLinkRates{chosen.rank, {}, {}});
    of_rank.rates = changes.size() > most ? means(movements, classes, finish, most) : exact(movements, classes);
    for (const std::uint16_t number : classes) of_rank.classes.push_back(links.fabric().link_classes()[number]);
  }
  return all;
}

}  // namespace orrery::report
