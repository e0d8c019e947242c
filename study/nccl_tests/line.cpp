// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cctype>

#include "study/nccl_tests/reader.h"

namespace orrery::study {
namespace {

constexpr std::size_t kTab = 8;
constexpr std::size_t kLongestPrefix = 120;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Behind an escape sequence that starts at `i`: "ESC [ 0 ; 31 m", or ESC and one more character.
std::size_t behind_escape(std::string_view raw, std::size_t i) {
  if (i + 1 >= raw.size() || raw[i + 1] != '[') return std::min(i + 2, raw.size());
  i += 2;
  while (i < raw.size() && (raw[i] < '@' || raw[i] > '~')) ++i;
  return std::min(i + 1, raw.size());
}

std::string plain(std::string_view raw) {
  std::string text;
  for (std::size_t i = 0; i < raw.size();) {
    if (raw[i] == '\033') {
      i = behind_escape(raw, i);
      continue;
    }
    const auto c = static_cast<unsigned char>(raw[i++]);
    if (c == '\t') {
      text.append(kTab - text.size() % kTab, ' ');
    } else {
      text += c < 0x20 || c == 0x7F ? ' ' : static_cast<char>(c);
    }
  }
  return text;
}

// "12:34:56", "2024-05-01", "2024/05/01T12:34:56.789Z".
bool is_time(std::string_view word) {
  std::size_t separators = 0;
  for (const char c : word) {
    if (c == ':' || c == '-' || c == '/')
      ++separators;
    else if (!digit(c) && std::string_view("TZ.,+").find(c) == std::string_view::npos)
      return false;
  }
  return separators >= 2 && word.size() >= 8 && digit(word[0]) && digit(word[1]);
}

struct Prefix {
  std::size_t length = 0;  // 0: none
  std::string_view label;
};

Prefix prefix_of(std::string_view text) {
  constexpr std::size_t kNowhere = std::string_view::npos;
  const std::size_t start = text.find_first_not_of(' ');
  if (start == kNowhere) return {};
  const auto behind_colon = [text](std::size_t end) { return end + (text.substr(end).starts_with(':') ? 1 : 0); };
  // "[1,0]<stdout>:" of mpirun --tag-output, also with a time before it.
  for (const std::string_view tag : {"]<stdout>", "]<stderr>"}) {
    const std::size_t end = text.substr(0, kLongestPrefix).find(tag);
    const std::size_t open = text.substr(0, end).rfind('[');
    if (end != kNowhere && open != kNowhere)
      return {behind_colon(end + tag.size()), text.substr(open + 1, end - open - 1)};
  }
  // "[0]", "[rank0]:", "[2024-05-01 12:34:56]": only the first two are labels, a time is different on every line.
  if (text[start] == '[') {
    const std::size_t end = text.substr(0, start + kLongestPrefix).find(']', start);
    if (end == kNowhere) return {};
    const std::string_view inside = text.substr(start + 1, end - start - 1);
    const bool is_label = inside.find(' ') == kNowhere && !is_time(inside);
    return {behind_colon(end + 1), is_label ? inside : std::string_view()};
  }
  // "0:" (srun --label), "host:" (pdsh), "nccl-1  |" (compose); a word of a date or a time.
  const std::size_t end = std::min(text.find(' ', start), text.size());
  const std::string_view word = text.substr(start, end - start), stem = word.substr(0, word.size() - 1);
  if (is_time(word)) return {end, {}};
  const auto of_host = [](char c) { return letter(c) || digit(c) || c == '.' || c == '-' || c == '_'; };
  if (!std::ranges::all_of(stem, of_host)) return {};
  if (word.size() > 1 && word.ends_with(':')) return {end, stem};
  const std::size_t bar = text.find_first_not_of(' ', end);
  if (bar != kNowhere && text[bar] == '|' && letter(word[0])) return {bar + 1, word};
  return {};
}

}  // namespace

OutputLine output_line(std::string_view raw) {
  OutputLine line{{}, plain(raw)};
  constexpr int kMostPrefixes = 4;  // a label, a date, a time
  for (int i = 0; i < kMostPrefixes; ++i) {
    const Prefix prefix = prefix_of(line.text);
    if (prefix.length == 0) break;
    if (line.label.empty()) line.label = prefix.label;
    line.text.erase(0, prefix.length);
  }
  const std::size_t start = line.text.find_first_not_of(' ');
  if (start != std::string::npos && line.text[start] == '#') line.text[start] = ' ';
  return line;
}

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  std::size_t i = 0;
  while ((i = text.find_first_not_of(' ', i)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find(' ', i), text.size());
    words.push_back({text.substr(i, end - i), end});
    i = end;
  }
  return words;
}

}  // namespace orrery::study
