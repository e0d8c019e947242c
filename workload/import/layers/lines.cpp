#include "workload/import/layers/lines.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::vector<TextWord> words_of(std::string_view line) {
  std::vector<TextWord> words;
  for (std::size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    if (line[begin] == '#') break;
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back({line.substr(begin, end - begin), static_cast<int>(begin) + 1});
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

}  // namespace

TextLines::TextLines(std::string_view text) : rest_(text) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

std::optional<TextLine> TextLines::next() {
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    TextLine result{number_, words_of(line)};
    if (!result.words.empty()) return result;
  }
  return std::nullopt;
}

}  // namespace orrery
