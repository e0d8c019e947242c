// SPDX-License-Identifier: MIT
// Lines of a job's output without what a launcher puts before them: "0: ", "[1,0]<stdout>:", "host: ", times, colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::study {

struct OutputLine {
  std::string label;  // which process or host it comes from, as the launcher says; empty where it says nothing
  std::string text;   // tabs are spaces; no '#' of a comment at its start, but a space in its place
};

OutputLine output_line(std::string_view raw);

struct Word {
  std::string_view text;
  std::size_t end = 0;  // the column behind it
};

// What blanks separate. The views are into `text`.
std::vector<Word> words_of(std::string_view text);

}  // namespace orrery::study
