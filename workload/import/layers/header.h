// SPDX-License-Identifier: MIT
// A text of words in lines, and its first line: the parallelism and what follows it, `key: value`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "workload/import/layers/text.h"

namespace orrery::workload {

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

// A size in bytes, without a unit; Python writes it as a fraction: 8388608.0. Nothing, with an error, where it is none
// or more than a message may have.
std::optional<Bytes> read_text_size(const std::string& file, int line, const TextWord& word, Diagnostics& diagnostics);

// Nothing when the parallelism is none that is known; other errors go to `diagnostics` too.
std::optional<TextHeader> read_text_header(const std::string& file, const TextLine& line, TextDialect dialect,
                                           Diagnostics& diagnostics);

}  // namespace orrery::workload
