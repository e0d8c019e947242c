// SPDX-License-Identifier: MIT
// Natural numbers of any size and fractions of them, for results that must be exact.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <compare>
#include <cstdint>
#include <vector>

namespace orrery::test {

// A natural number of any size.
class Natural {
 public:
  Natural(std::uint64_t value = 0)
      : digits_{static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)} {
    trim();
  }
  friend Natural operator*(const Natural& a, const Natural& b) {
    Natural product;
    product.digits_.assign(a.digits_.size() + b.digits_.size(), 0);
    for (std::size_t i = 0; i < a.digits_.size(); ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j < b.digits_.size() || carry > 0; ++j) {
        const std::uint64_t factor = j < b.digits_.size() ? b.digits_[j] : 0;
        carry += product.digits_[i + j] + std::uint64_t{a.digits_[i]} * factor;
        product.digits_[i + j] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
    }
    product.trim();
    return product;
  }
  // a >= b
  friend Natural operator-(Natural a, const Natural& b) {
    std::int64_t borrow = 0;
    for (std::size_t i = 0; i < a.digits_.size(); ++i) {
      borrow += std::int64_t{a.digits_[i]} - (i < b.digits_.size() ? b.digits_[i] : 0);
      a.digits_[i] = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
    }
    REQUIRE(borrow == 0);
    a.trim();
    return a;
  }
  friend std::strong_ordering operator<=>(const Natural& a, const Natural& b) {
    if (a.digits_.size() != b.digits_.size()) return a.digits_.size() <=> b.digits_.size();
    return std::lexicographical_compare_three_way(a.digits_.rbegin(), a.digits_.rend(), b.digits_.rbegin(),
                                                  b.digits_.rend());
  }

 private:
  void trim() {
    while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
  }
  std::vector<std::uint32_t> digits_;  // least first
};

struct Fraction {
  Natural numerator;
  Natural denominator = 1;
};

}  // namespace orrery::test
