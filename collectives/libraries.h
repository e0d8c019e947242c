// SPDX-License-Identifier: MIT
// The libraries that may run an experiment's collectives (`collectives.library`).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::collectives {

enum class LibraryKind : std::uint8_t { kFixed, kNccl, kRccl };

struct Library {
  LibraryKind kind;
  std::string_view name;
  std::string_view description;  // one line
};

// In the order of the enumeration, which is that of their names.
std::span<const Library> libraries();
std::vector<std::string> library_names();

}  // namespace orrery::collectives
