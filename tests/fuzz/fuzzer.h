// SPDX-License-Identifier: MIT
// Function that is called with hostile input. Built for libFuzzer, a file defines one and is a program of its own.
// Built with ORRERY_REPLAY, all files are one program (tests/fuzz/replay.cpp), which calls them with inputs that were
// kept.
//
//   ORRERY_FUZZER(fuzz_goal, text) { read(text); }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace orrery::fuzz {

using Fuzzer = void (*)(std::string_view input);

// Makes a fuzzer known to the program that replays. True, so that it can be called before main().
bool add_fuzzer(std::string_view name, Fuzzer fuzzer);

// The byte at `at`; 0 behind the end.
inline std::uint8_t byte_of(std::string_view input, std::size_t at) {
  return at < input.size() ? static_cast<std::uint8_t>(input[at]) : std::uint8_t{0};
}

}  // namespace orrery::fuzz

#ifdef ORRERY_REPLAY
#define ORRERY_FUZZER(name, input)                                             \
  static void name(std::string_view input);                                    \
  static const bool is_known_##name = ::orrery::fuzz::add_fuzzer(#name, name); \
  static void name(std::string_view input)
#else
#define ORRERY_FUZZER(name, input)                                                    \
  static void name(std::string_view input);                                           \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    name({reinterpret_cast<const char*>(data), size});                                \
    return 0;                                                                         \
  }                                                                                   \
  static void name(std::string_view input)
#endif
