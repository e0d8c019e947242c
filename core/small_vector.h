// SPDX-License-Identifier: MIT
// A vector of small plain things, of which the first few stand in it: no allocation and no other cache line while there
// are no more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace orrery {

template <class T, std::uint32_t kInline>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  SmallVector() = default;
  explicit SmallVector(const T& item) { push_back(item); }
  SmallVector(const SmallVector& other) { append(other); }
  SmallVector(SmallVector&& other) noexcept { steal(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this == &other) return *this;
    size_ = 0;
    append(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    steal(other);
    return *this;
  }
  ~SmallVector() { release(); }

  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return capacity_ == kInline ? reinterpret_cast<T*>(room_.items) : room_.heap; }
  T* end() { return begin() + size_; }
  const T* begin() const { return capacity_ == kInline ? reinterpret_cast<const T*>(room_.items) : room_.heap; }
  const T* end() const { return begin() + size_; }
  T& operator[](std::uint32_t at) { return begin()[at]; }
  const T& operator[](std::uint32_t at) const { return begin()[at]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return begin()[size_ - 1]; }
  const T& back() const { return begin()[size_ - 1]; }

  void push_back(T item) {
    if (size_ == capacity_) grow(2 * capacity_);
    begin()[size_++] = item;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  // Moves up all elements behind `at`.
  void erase(T* at) {
    std::copy(at + 1, end(), at);
    --size_;
  }
  // The first that equals `item`, if there is one.
  template <class Item>
  void erase_first(const Item& item) {
    if (T* const found = std::find(begin(), end(), item); found != end()) erase(found);
  }

 private:
  union Room {
    T* heap;
    alignas(T) std::byte items[kInline * sizeof(T)];
  };

  void grow(std::uint32_t capacity) {
    T* const more = new T[capacity];
    std::copy(begin(), end(), more);
    release();
    room_.heap = more;
    capacity_ = capacity;
  }
  void append(const SmallVector& other) {
    if (other.size_ > capacity_) grow(other.size_);
    std::copy(other.begin(), other.end(), begin());
    size_ = other.size_;
  }
  void steal(SmallVector& other) {
    room_ = other.room_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    other.size_ = 0;
    other.capacity_ = kInline;
  }
  void release() {
    if (capacity_ != kInline) delete[] room_.heap;
    capacity_ = kInline;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInline;
  Room room_;
};

}  // namespace orrery
