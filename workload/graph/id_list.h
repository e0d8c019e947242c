// SPDX-License-Identifier: MIT
// List of ids that is mostly short: up to eight stand in the list itself, so that a job's million ranks need no memory
// elsewhere, and a list is copied without asking for any.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace orrery::workload {

template <class Id>
class IdList {
 public:
  using value_type = Id;
  using iterator = Id*;
  using const_iterator = const Id*;

  IdList() = default;
  IdList(std::initializer_list<Id> ids) { assign(ids.begin(), ids.end()); }
  IdList(const std::vector<Id>& ids) { assign(ids.begin(), ids.end()); }
  IdList(const IdList& other)
      : size_(other.size_),
        few_(other.few_),
        many_(other.many_ ? std::make_unique<std::vector<Id>>(*other.many_) : nullptr) {}
  IdList(IdList&& other) noexcept { swap(other); }
  IdList& operator=(IdList other) noexcept {
    swap(other);
    return *this;
  }
  ~IdList() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Id* data() const { return many_ ? many_->data() : few_.data(); }
  Id* data() { return many_ ? many_->data() : few_.data(); }
  const Id* begin() const { return data(); }
  const Id* end() const { return data() + size_; }
  Id* begin() { return data(); }
  Id* end() { return data() + size_; }
  const Id& operator[](std::size_t at) const { return data()[at]; }
  Id& operator[](std::size_t at) { return data()[at]; }
  const Id& front() const { return *begin(); }
  const Id& back() const { return *(end() - 1); }

  void push_back(Id id) {
    if (size_ < few_.size()) {
      few_[size_] = id;
    } else {
      if (!many_) many_ = std::make_unique<std::vector<Id>>(few_.begin(), few_.end());
      many_->push_back(id);
    }
    ++size_;
  }
  void clear() {
    size_ = 0;
    many_.reset();
  }

  bool operator==(const IdList& other) const { return std::ranges::equal(*this, other); }
  bool operator==(const std::vector<Id>& other) const { return std::ranges::equal(*this, other); }

 private:
  template <class Iterator>
  void assign(Iterator from, Iterator end) {
    for (; from != end; ++from) push_back(*from);
  }
  void swap(IdList& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(few_, other.few_);
    std::swap(many_, other.many_);
  }

  std::uint32_t size_ = 0;
  std::array<Id, 8> few_{};                  // unless there are more
  std::unique_ptr<std::vector<Id>> many_{};  // then all
};

}  // namespace orrery::workload
