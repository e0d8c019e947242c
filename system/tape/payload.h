// SPDX-License-Identifier: MIT
// Events of a tape as payloads of the engine.
#pragma once

#include <cstdint>

namespace orrery::system {

enum class TapeEvent : std::uint8_t {
  kNothing,
  kComputed,      // of an agent
  kCallBegins,    // of a home: its messages go
  kCallEnds,      // likewise
  kSends,         // of an agent and a peer slot: what is free is known now
  kMessageBegins  // of a message
};

// Numbers of messages by which the network knows calls have this bit.
inline constexpr std::uint32_t kIsCall = std::uint32_t{1} << 31;

inline constexpr std::uint64_t payload(TapeEvent event, std::uint32_t number, std::uint32_t slot = 0) {
  return std::uint64_t{static_cast<std::uint8_t>(event)} << 61 | std::uint64_t{slot} << 32 | number;
}
inline constexpr TapeEvent event_in(std::uint64_t payload) { return static_cast<TapeEvent>(payload >> 61); }
inline constexpr std::uint32_t number_in(std::uint64_t payload) { return static_cast<std::uint32_t>(payload); }
inline constexpr std::uint32_t slot_in(std::uint64_t payload) {
  return static_cast<std::uint32_t>(payload >> 32) & ((std::uint32_t{1} << 29) - 1);
}

}  // namespace orrery::system
