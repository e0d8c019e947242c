// SPDX-License-Identifier: MIT
// Physical quantities as types: time in integer picoseconds, bytes, bandwidth, FLOPs. Only operations that mean
// something compile: Bytes / Bandwidth is a Duration, Time + Time is an error. All arithmetic is in integers, so a
// result depends neither on the order of operations nor on the compiler.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace orrery {

using Int128 = __int128;

// A span of simulated time: signed 64-bit picoseconds, up to 106 days.
using Duration = std::chrono::duration<std::int64_t, std::pico>;

struct SimulatedClock {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<SimulatedClock, Duration>;
  static constexpr bool is_steady = true;
};

// An instant of simulated time, counted from the start of the run.
using Time = SimulatedClock::time_point;

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t value) : value_(value) {}

  // In the base unit: bytes, bytes per second, FLOPs, FLOP/s.
  constexpr std::int64_t count() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity other) const { return Quantity(value_ + other.value_); }
  constexpr Quantity operator-(Quantity other) const { return Quantity(value_ - other.value_); }
  constexpr Quantity operator*(std::int64_t factor) const { return Quantity(value_ * factor); }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }

  static constexpr Quantity max() { return Quantity(std::numeric_limits<std::int64_t>::max()); }

 private:
  std::int64_t value_ = 0;
};

using Bytes = Quantity<struct BytesTag>;
using Bandwidth = Quantity<struct BandwidthTag>;    // bytes per second
using Flops = Quantity<struct FlopsTag>;            // floating-point operations
using FlopRate = Quantity<struct FlopRateTag>;      // floating-point operations per second
using Count = Quantity<struct CountTag>;            // of things
using Power = Quantity<struct PowerTag>;            // watts
using Efficiency = Quantity<struct EfficiencyTag>;  // share of a nominal rate, in millionths: above 0, at most full

inline constexpr Efficiency kFullEfficiency{1'000'000};

namespace detail {

// ceil(amount * 10^12 / rate) picoseconds; Duration::max() when that does not fit. amount >= 0, rate > 0.
constexpr Duration time_at_rate(std::int64_t amount, std::int64_t rate) {
  constexpr Int128 kPicosecondsPerSecond = 1'000'000'000'000;
  const Int128 picoseconds = (Int128{amount} * kPicosecondsPerSecond + rate - 1) / rate;
  if (picoseconds > std::numeric_limits<std::int64_t>::max()) return Duration::max();
  return Duration(static_cast<std::int64_t>(picoseconds));
}

}  // namespace detail

// Transfer time of `bytes` at `bandwidth`, rounded up to a picosecond: the one function that all models use.
constexpr Duration operator/(Bytes bytes, Bandwidth bandwidth) {
  return detail::time_at_rate(bytes.count(), bandwidth.count());
}

// Effective bandwidth, a link's rate in simulations: nominal times efficiency, rounded down to a byte per second, but
// at least one.
constexpr Bandwidth operator*(Bandwidth nominal, Efficiency efficiency) {
  const Int128 rate = Int128{nominal.count()} * efficiency.count() / kFullEfficiency.count();
  return Bandwidth(rate < 1 ? 1 : static_cast<std::int64_t>(rate));
}

// Time that `flops` take at `rate`, rounded up to a picosecond.
constexpr Duration operator/(Flops flops, FlopRate rate) { return detail::time_at_rate(flops.count(), rate.count()); }

// One part of an n-way split: ceil(S / n), on every rank, so that one odd byte does not tell ranks apart.
// `bytes` is not negative.
constexpr Bytes ceil_div(Bytes bytes, std::int64_t parts) {
  return Bytes(bytes.count() / parts + (bytes.count() % parts > 0 ? 1 : 0));
}

// Sums that stop at the largest value instead of overflowing.
constexpr Duration saturating_add(Duration a, Duration b) {
  if (b > Duration::zero() && a > Duration::max() - b) return Duration::max();
  return a + b;
}

constexpr Bytes saturating_add(Bytes a, Bytes b) {
  if (b > Bytes(0) && a > Bytes::max() - b) return Bytes::max();
  return a + b;
}

// a + b * times, likewise; none is negative.
constexpr Bytes saturating_multiply_add(Bytes a, Bytes b, std::int64_t times) {
  const Int128 sum = Int128{a.count()} + Int128{b.count()} * times;
  return sum > Bytes::max().count() ? Bytes::max() : Bytes(static_cast<std::int64_t>(sum));
}

constexpr Duration saturating_multiply_add(Duration a, Duration b, std::int64_t times) {
  const Int128 sum = Int128{a.count()} + Int128{b.count()} * times;
  return sum > Duration::max().count() ? Duration::max() : Duration(static_cast<std::int64_t>(sum));
}

constexpr double seconds(Duration d) { return static_cast<double>(d.count()) / 1e12; }
constexpr double seconds(Time t) { return seconds(t.time_since_epoch()); }

}  // namespace orrery
