// SPDX-License-Identifier: MIT
#include "core/suggest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace orrery {
namespace {

constexpr std::size_t kLongestWord = 64;  // a longer "name" is no slip of the pen
constexpr std::size_t kShortestPart = 2;  // of a name: fewer letters are in nearly every name
constexpr std::size_t kSuggestions = 8;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Numbers in names by their values.
bool comes_before(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && is_digit(text[end])) ++end;
    std::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return digits;
  };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = number(a), y = number(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

// Two letters that changed places are one slip.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1), above(b.size() + 1), two_above;
  std::iota(row.begin(), row.end(), std::size_t{0});
  const auto same = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    two_above = std::exchange(above, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({above[j] + (same(i, j) ? 0 : 1), row[j] + 1, above[j + 1] + 1});
      if (i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j)) row[j + 1] = std::min(row[j + 1], two_above[j - 1] + 1);
    }
  }
  return row.back();
}

// Names that begin with the word, then names that contain it.
std::vector<std::string> names_around(const std::string& part, std::span<const std::string> candidates) {
  if (part.size() < kShortestPart) return {};
  std::vector<std::string> names;
  for (const std::string& candidate : candidates)
    if (plain_name(candidate).find(part) != std::string::npos) names.push_back(candidate);
  std::ranges::sort(names, comes_before);
  std::stable_partition(names.begin(), names.end(),
                        [&](const std::string& name) { return plain_name(name).starts_with(part); });
  return names;
}

// "a800", "h100": parts of names between hyphens that have digits say more than others.
std::vector<std::string> telling_parts(std::string_view name) {
  constexpr std::size_t kShortest = 3;
  std::vector<std::string> parts(1);
  for (const char c : name)
    if (c == '-' || c == '_')
      parts.emplace_back();
    else
      parts.back() += lower(c);
  std::erase_if(parts, [](const std::string& p) { return p.size() < kShortest || std::ranges::none_of(p, is_digit); });
  return parts;
}

// Names that have such a part of the word as one of theirs: hgx-a800 for dgx-a800, rather than dgx-a100.
std::vector<std::string> names_with_parts(std::string_view word, std::span<const std::string> candidates) {
  const std::vector<std::string> parts = telling_parts(word);
  std::vector<std::string> names;
  for (const std::string& candidate : candidates) {
    const std::vector<std::string> own = telling_parts(candidate);
    if (std::ranges::find_first_of(parts, own) != parts.end()) names.push_back(candidate);
  }
  std::ranges::sort(names, comes_before);
  return names;
}

// The longest name within the word: h100-sxm of h100-sxm5-80gb, llama3-70b of Meta-Llama-3-70B.
std::string name_within(const std::string& word, std::span<const std::string> candidates) {
  std::string best;
  for (const std::string& candidate : candidates)
    if (candidate.size() > std::max(kShortestPart, best.size()) &&
        word.find(plain_name(candidate)) != std::string::npos)
      best = candidate;
  return best;
}

}  // namespace

std::string plain_name(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (c != '-' && c != '_' && c != ' ') letters += lower(c);
  return letters;
}

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kLongestWord) return {};
  std::string best;
  // A short word allows one difference only; with more, any word would match it.
  const std::size_t most = word.size() < 4 ? 1 : std::max<std::size_t>(2, word.size() / 3);
  std::size_t best_distance = most + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::vector<std::string> likely_names(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kLongestWord) return {};
  const std::string letters = plain_name(word);
  const auto is_spelling = [&](const std::string& candidate) { return plain_name(candidate) == letters; };
  if (std::ranges::count_if(candidates, is_spelling) == 1) return {*std::ranges::find_if(candidates, is_spelling)};
  if (std::vector<std::string> names = names_around(letters, candidates); !names.empty()) return names;
  if (std::string name = nearest_name(word, candidates); !name.empty()) {
    std::vector<std::string> names = names_with_parts(word, candidates);
    if (names.empty() || std::ranges::find(names, name) != names.end()) return {std::move(name)};
    return names;
  }
  if (std::string name = name_within(letters, candidates); !name.empty()) return {std::move(name)};
  return names_with_parts(word, candidates);
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  std::vector<std::string> likely = likely_names(word, candidates);
  if (likely.size() == 1) return fmt::format("did you mean '{}'?", likely.front());
  if (likely.empty()) return candidates.empty() ? "" : fmt::format("known: {}", fmt::join(candidates, ", "));
  const std::size_t count = likely.size();
  likely.resize(std::min(count, kSuggestions));
  return fmt::format("did you mean one of {}{}?", fmt::join(likely, ", "),
                     count > kSuggestions ? fmt::format(", ... ({} in all)", count) : "");
}

}  // namespace orrery
