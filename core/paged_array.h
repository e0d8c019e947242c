// SPDX-License-Identifier: MIT
// Array of very many values of which few are ever other than at the start: pages of it come to be when a value in them
// is first written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace orrery {

template <class Value>
class PagedArray {
 public:
  explicit PagedArray(std::size_t size, Value initial = {})
      : size_(size), initial_(initial), pages_((size + kPage - 1) / kPage) {}

  std::size_t size() const { return size_; }
  const Value& at(std::size_t index) const {
    const std::unique_ptr<Page>& page = pages_[index / kPage];
    return page ? (*page)[index % kPage] : initial_;
  }
  // To be written.
  Value& own(std::size_t index) {
    std::unique_ptr<Page>& page = pages_[index / kPage];
    if (!page) {
      page = std::make_unique<Page>();
      page->fill(initial_);
    }
    return (*page)[index % kPage];
  }
  // Visits, in ascending order, index and value of all that may have been written.
  template <class Visit>
  void for_each_own(const Visit& visit) const {
    for (std::size_t page = 0; page < pages_.size(); ++page)
      for (std::size_t i = 0; pages_[page] && i < kPage && page * kPage + i < size_; ++i)
        visit(page * kPage + i, (*pages_[page])[i]);
  }

 private:
  static constexpr std::size_t kPage = 256;
  using Page = std::array<Value, kPage>;

  std::size_t size_;
  Value initial_;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace orrery
