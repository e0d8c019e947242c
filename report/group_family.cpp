#include "report/group_family.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery {
namespace {

std::string shape_of(const Communicator& communicator) {
  const std::size_t size = communicator.members.size();
  if (size < 2) return fmt::format("{} rank", size);
  const auto distance = [&](std::size_t i) {
    return std::int64_t{index_of(communicator.members[i + 1])} - std::int64_t{index_of(communicator.members[i])};
  };
  const std::int64_t first = distance(0);
  for (std::size_t i = 1; i + 1 < size; ++i)
    if (distance(i) != first) return fmt::format("{} ranks, mixed", size);
  return first == 1 ? fmt::format("{} ranks", size) : fmt::format("{} ranks by {}", size, first);
}

// A word people chose, as against a number or a hash: it has a letter, and fewer digits than letters once the trailing
// number is gone.
bool is_word(const std::string& name) {
  const auto letters = std::ranges::count_if(name, [](unsigned char c) { return std::isalpha(c) != 0; });
  const auto digits = std::ranges::count_if(name, [](unsigned char c) { return std::isdigit(c) != 0; });
  return letters > digits;
}

}  // namespace

std::vector<std::string> group_families(const std::vector<Communicator>& communicators) {
  std::vector<std::string> families;
  for (const Communicator& communicator : communicators) {
    std::string stem = communicator.name;
    while (!stem.empty() && std::isdigit(static_cast<unsigned char>(stem.back()))) stem.pop_back();
    while (!stem.empty() && (stem.back() == '_' || stem.back() == '-' || stem.back() == ' ' || stem.back() == '.'))
      stem.pop_back();
    families.push_back(is_word(stem) ? printable(stem, 24) : shape_of(communicator));
  }
  return families;
}

}  // namespace orrery
