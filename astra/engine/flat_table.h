// SPDX-License-Identifier: MIT
// A hash table from a few numbers to one, without an allocation per entry: what a simulation of messages asks most.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/hash.h"

namespace orrery::astra {

// `kWords` numbers of 64 bits are a key. Linear probing; an erased entry is closed by moving up those behind it.
template <std::size_t kWords>
class FlatTable {
 public:
  using Key = std::array<std::uint64_t, kWords>;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  FlatTable() : slots_(64) {}

  // The value of `key`, kNone if it is new. Valid until the next call.
  std::uint32_t& operator[](const Key& key) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(key)];
    if (!slot.used) {
      slot = {key, kNone, true};
      ++count_;
    }
    return slot.value;
  }

  std::uint32_t find(const Key& key) const {
    const Slot& slot = slots_[place_of(key)];
    return slot.used ? slot.value : kNone;
  }

  void erase(const Key& key) {
    std::size_t hole = place_of(key);
    if (!slots_[hole].used) return;
    --count_;
    for (std::size_t next = following(hole); slots_[next].used; next = following(next)) {
      const std::size_t home = hash(slots_[next].key) & (slots_.size() - 1);
      // Moves up what would not be found any more from its own place on.
      const bool stays = hole <= next ? hole < home && home <= next : hole < home || home <= next;
      if (stays) continue;
      slots_[hole] = slots_[next];
      hole = next;
    }
    slots_[hole].used = false;
  }

  std::size_t size() const { return count_; }

 private:
  struct Slot {
    Key key{};
    std::uint32_t value = kNone;
    bool used = false;
  };

  static std::size_t hash(const Key& key) {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : key) hash = mixed(hash ^ word);
    return static_cast<std::size_t>(hash);
  }
  // Word by word, since the library compares arrays by a call.
  static bool is_same(const Key& one, const Key& other) {
    std::uint64_t difference = 0;
    for (std::size_t i = 0; i < kWords; ++i) difference |= one[i] ^ other[i];
    return difference == 0;
  }
  std::size_t following(std::size_t place) const { return (place + 1) & (slots_.size() - 1); }
  std::size_t place_of(const Key& key) const {
    std::size_t place = hash(key) & (slots_.size() - 1);
    while (slots_[place].used && !is_same(slots_[place].key, key)) place = following(place);
    return place;
  }
  void grow() {
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& slot : before)
      if (slot.used) slots_[place_of(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace orrery::astra
