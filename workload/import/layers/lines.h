// A text of words in lines, with the place of every word: what the importers of text workloads read from.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace orrery {

struct TextWord {
  std::string_view text;
  int column = 1;  // from 1, in bytes
};

struct TextLine {
  int number = 1;               // from 1
  std::vector<TextWord> words;  // at least one
};

// Goes through the lines that have words. Words end at blanks, tabs and carriage returns; a word that begins with '#'
// and what follows it in its line is a comment; a byte-order mark at the start is skipped. `text` must outlive the
// words.
class TextLines {
 public:
  explicit TextLines(std::string_view text);
  std::optional<TextLine> next();

 private:
  std::string_view rest_;
  int number_ = 0;
};

}  // namespace orrery
