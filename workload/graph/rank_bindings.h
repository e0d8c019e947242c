// SPDX-License-Identifier: MIT
// Bindings of all ranks of a job: a list, or, where the ranks of one place in the job are alike but for where they are,
// those of the first place with what each further one adds. The list is written out when a binding is changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "workload/graph/id_list.h"

namespace orrery::workload {

// Details of a rank's binding that ranks of generated jobs lack or share.
struct RankDetails {
  std::vector<std::int64_t> tags{};   // by transfer index; empty: all zero
  std::vector<std::int64_t> roots{};  // by collective index: global rank, or -1 for "the first member"; empty: all -1
  std::string source{};               // the trace file; may be empty for generated jobs
};

// One rank's meaning of its graph's local numbers.
struct RankBinding {
  std::uint32_t graph = 0;                        // into Job::graphs
  std::uint32_t labels = 0;                       // into Job::labels
  IdList<GroupId> communicators;                  // by communicator slot
  IdList<RankId> peers;                           // by peer slot
  std::shared_ptr<RankDetails> shared_details{};  // may be null: none; read by the functions below

  const RankDetails& details() const;
  // Details of this binding alone, copied if others share them.
  RankDetails& own_details();
  const std::vector<std::int64_t>& tags() const { return details().tags; }
  const std::vector<std::int64_t>& roots() const { return details().roots; }
  std::int64_t tag(std::uint32_t transfer_index) const { return tags().empty() ? 0 : tags()[transfer_index]; }
};

// Ranks that are alike but for where they are: a rank's number has a digit, worth `stride` and below `count`, so that
// ranks whose numbers differ in it alone have one program, peers as far apart as they are, and groups that lie to them
// as the others' to those. 1: nothing is known to repeat.
struct Period {
  std::uint32_t stride = 1;
  std::uint32_t count = 1;

  bool any() const { return count > 1; }
  std::uint32_t digit(std::uint32_t rank) const { return any() ? rank / stride % count : 0; }
  // The same rank with digit 0.
  std::uint32_t first(std::uint32_t rank) const { return rank - digit(rank) * stride; }
  // Place of a rank of digit 0 among these, of which there are so many in so many ranks.
  std::uint32_t place(std::uint32_t rank) const {
    return any() ? rank / (stride * count) * stride + rank % stride : rank;
  }
  // The rank of digit 0 at a place.
  std::uint32_t at(std::uint32_t place) const {
    return any() ? place / stride * (stride * count) + place % stride : place;
  }

  bool operator==(const Period&) const = default;
};

class RankBindings {
 public:
  // A binding of a rank of digit 0, and how far the group of each slot is from that of the next digit.
  struct Repeated {
    RankBinding binding;
    IdList<GroupId> steps;  // by communicator slot; 0: one group for all digits
  };

  class Iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = RankBinding;
    using difference_type = std::ptrdiff_t;
    using reference = RankBinding;

    Iterator() = default;
    Iterator(const RankBindings* of, std::ptrdiff_t at) : of_(of), at_(at) {}
    RankBinding operator*() const { return (*of_)[static_cast<std::size_t>(at_)]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {of_, at_++}; }
    friend std::ptrdiff_t operator-(Iterator a, Iterator b) { return a.at_ - b.at_; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const RankBindings* of_ = nullptr;
    std::ptrdiff_t at_ = 0;
  };

  RankBindings() = default;
  RankBindings(std::vector<RankBinding> list) : list_(std::move(list)) {}
  // `first` by Period::place().
  RankBindings(Period period, std::vector<Repeated> first);

  std::size_t size() const { return first_.empty() ? list_.size() : first_.size() * period_.count; }
  bool empty() const { return size() == 0; }
  const Period& period() const { return period_; }

  std::uint32_t graph(std::size_t rank) const {
    return first_.empty() ? list_[rank].graph : first_[place(rank)].binding.graph;
  }
  std::uint32_t labels(std::size_t rank) const {
    return first_.empty() ? list_[rank].labels : first_[place(rank)].binding.labels;
  }
  GroupId communicator(std::size_t rank, std::uint32_t slot) const {
    if (first_.empty()) return list_[rank].communicators[slot];
    const Repeated& repeated = first_[place(rank)];
    return GroupId(index_of(repeated.binding.communicators[slot]) +
                   index_of(repeated.steps[slot]) * period_.digit(static_cast<std::uint32_t>(rank)));
  }
  RankId peer(std::size_t rank, std::uint32_t slot) const {
    if (first_.empty()) return list_[rank].peers[slot];
    const auto number = static_cast<std::uint32_t>(rank);
    return RankId(index_of(first_[place(rank)].binding.peers[slot]) + number - period_.first(number));
  }
  std::uint32_t communicator_count(std::size_t rank) const {
    return static_cast<std::uint32_t>(base(rank).communicators.size());
  }
  std::uint32_t peer_count(std::size_t rank) const { return static_cast<std::uint32_t>(base(rank).peers.size()); }
  // First slot of the group among those of the rank; their number if it is none of them.
  std::uint32_t slot_of(std::size_t rank, GroupId group) const;
  const RankDetails& details(std::size_t rank) const { return base(rank).details(); }

  const RankBinding operator[](std::size_t rank) const;
  const RankBinding front() const { return (*this)[0]; }
  const RankBinding back() const { return (*this)[size() - 1]; }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, static_cast<std::ptrdiff_t>(size())}; }

  // The list, written out, to be changed.
  std::vector<RankBinding>& list();
  RankBinding& operator[](std::size_t rank) { return list()[rank]; }
  std::vector<RankBinding>::iterator begin() { return list().begin(); }
  std::vector<RankBinding>::iterator end() { return list().end(); }
  RankBinding& front() { return list().front(); }
  RankBinding& back() { return list().back(); }
  void resize(std::size_t size) { list().resize(size); }
  void push_back(RankBinding binding) { list().push_back(std::move(binding)); }
  RankBinding& emplace_back() { return list().emplace_back(); }

 private:
  std::uint32_t place(std::size_t rank) const { return period_.place(static_cast<std::uint32_t>(rank)); }
  // Binding of the rank, or of that of digit 0.
  const RankBinding& base(std::size_t rank) const { return first_.empty() ? list_[rank] : first_[place(rank)].binding; }

  Period period_;
  std::vector<Repeated> first_;  // empty: as listed
  std::vector<RankBinding> list_;
};

}  // namespace orrery::workload
