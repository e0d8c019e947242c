// SPDX-License-Identifier: MIT
// Columns of a screen: how wide it is, and how a table is laid out on one that cannot hold all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::report {

// Columns and lines of a screen where nobody knows of another.
inline constexpr std::size_t kScreenWidth = 80, kScreenLines = 24;

// Sets the columns for which answers are laid out, at least 40. Called once, before any is; kScreenWidth until then.
void set_screen_width(std::size_t columns);
std::size_t screen_width();
// Columns of sentences: those of the screen, but no more than kScreenWidth, for longer lines are hard to read.
std::size_t text_width();

// Lines into which a longer text is broken. Bytes count as columns.
struct Wrapping {
  // kBlanks: at the last blank that fits; a longer word stays whole. kClauses: if the second half of a line has one,
  // at a blank behind ",", ";" or ":", or before "(". kWords: also inside a word that is longer than a line, though
  // not inside a character. kShell: between words of a command, which single quotes may hold together; lines that go
  // on end in a backslash.
  enum class Break : std::uint8_t { kBlanks, kClauses, kWords, kShell };

  std::string first = "  ", next = "    ";  // beginnings of the first line and of the others
  std::size_t width = text_width();         // of a line with its beginning
  Break at = Break::kBlanks;
};
// `text`, of one line, as lines that all have an end. Blanks at which it is broken are left out.
std::string wrapped(std::string_view text, const Wrapping& wrapping = {});
// The same lines one by one, without their ends.
std::vector<std::string> wrapped_lines(std::string_view text, const Wrapping& wrapping);

// Columns that a text in UTF-8 takes on a terminal: two for each wide character (Chinese, Japanese, Korean, emoji),
// none for a mark that stands on the character before it.
std::size_t width_of(std::string_view text);
// Width of the character that begins there; 0 inside one.
std::size_t width_at(std::string_view text, std::size_t at);

// Rank by which a column leaves a table that the screen cannot hold. Among equals the last goes first. Answers never
// leave: those for which there is no place stand in further tables below, beside the names again.
enum class Interest : std::uint8_t {
  kDetail,  // goes first
  kUsual,
  kAnswer,  // stays
  kRemark,  // sentences, which are broken into lines; goes as kUsual does where there is no place for that either
  kName,    // stays: without it nobody knows what a row is of
};

// A column of a table that is laid out: its heading, and a cell for each row.
struct ScreenColumn {
  std::string_view heading;
  bool is_right = false;  // aligned
  Interest interest = Interest::kUsual;
  std::vector<std::string_view> cells{};
  std::size_t group = 0;  // of columns that leave together; 0: it leaves alone
  std::size_t block = 0;  // of neighbours that stand in the same table; 0: it stands alone
};

// Lines of at most so many columns, each indented by two and ended; columns are two apart, and no line ends with
// blanks. A table that is too wide has headings of several lines, then remarks of several lines, then fewer columns; a
// line below it then says which were left out. Names are broken in the last resort. `headings`: as they may be.
enum class Headings : std::uint8_t { kSeveralLines, kOneLine };
std::string on_screen(std::span<const ScreenColumn> columns, std::size_t width,
                      Headings headings = Headings::kSeveralLines);

// True for a blank between a number and its unit ("13.3 %", "2 GB/s"), at which no line is broken.
bool is_before_unit(std::string_view text, std::size_t blank);

// Sentences among tables that are on the screen: lines that are too wide are broken between words, clauses before other
// words, and go on two columns further right. Lines of a command that was broken stay as they are.
std::string sentences_on_screen(std::string_view text);

}  // namespace orrery::report
