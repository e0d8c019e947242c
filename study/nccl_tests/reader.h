// SPDX-License-Identifier: MIT
// Parts that the readers of nccl-tests' numbers share: lines of a job's output as words, columns by name, rows of
// cells, and what the lines before a table tell. study/nccl_tests/log.h is the way in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "study/nccl_tests/log.h"

namespace orrery::study {

// A line without what a launcher puts before it: "0: ", "[1,0]<stdout>:", "host: ", times, colours.
struct OutputLine {
  std::string label;  // which process or host it comes from, as the launcher says; empty where it says nothing
  std::string text;   // tabs are spaces; no '#' of a comment at its start, but a space in its place
};
OutputLine output_line(std::string_view raw);

struct Word {
  std::string_view text;
  std::size_t end = 0;  // the column behind it
};
// Words between blanks. The views are into `text`.
std::vector<Word> words_of(std::string_view text);

enum class NcclField : std::uint8_t {
  kSize,
  kCount,
  kType,
  kReduction,
  kRoot,
  kTime,   // in microseconds; a side has those from here on
  kAlgbw,  // in GB/s, as kBusbw
  kBusbw,
  kWrong,
  kError,
  kOther
};

enum class NcclSide : std::uint8_t { kOutOfPlace, kInPlace };

struct NcclColumn {
  NcclField field = NcclField::kOther;
  NcclSide side = NcclSide::kOutOfPlace;
  std::size_t end = 0;  // where its name ends in the heading of a log: fields stand to the right
};

// "oop_time_us": as CSV names it. Nothing for a name that is not known.
std::optional<NcclColumn> csv_column(std::string_view name);

// The words of a row. Empty where the table has no such column or the row leaves it blank.
class NcclCells {
 public:
  std::string_view& operator[](const NcclColumn& column) { return words_[place(column.field, column.side)]; }
  std::string_view at(NcclField field, NcclSide side = NcclSide::kOutOfPlace) const {
    return words_[place(field, side)];
  }

 private:
  static constexpr std::size_t kFields = static_cast<std::size_t>(NcclField::kOther) + 1;
  static std::size_t place(NcclField field, NcclSide side) {
    return static_cast<std::size_t>(field) + kFields * static_cast<std::size_t>(side);
  }

  std::array<std::string_view, 2 * kFields> words_;
};

// The columns of a table, as its heading names them. Versions differ in them (no redop, no root, "error" for "#wrong",
// times of iterations); rows leave fields blank.
struct NcclColumns {
  std::vector<NcclColumn> columns;
  std::size_t before_sides = 0;  // how many tell what was run
  bool tail = false;             // words of their own follow: a time, an algorithm
  std::string problem;           // why rows under this heading cannot be read; empty: they can

  NcclColumns() = default;
  // `sides` is their order in the line above, as far as there was one.
  NcclColumns(std::span<const Word> heading, std::span<const NcclSide> sides);

  // Nothing where the words do not fill the columns, and their places do not tell which ones are blank.
  std::optional<NcclCells> cells(std::span<const Word> words) const;
  // True if a last line without a line end is too short: it may be cut off, also within a number.
  bool ends_early(std::span<const Word> words) const;
};

// "size ... time ... busbw"?
bool is_nccl_heading(std::span<const Word> words);
// Fault of the line of units; empty if it has none.
std::string wrong_unit(std::span<const Word> words);

// Context that a row is checked against.
struct NcclRowContext {
  std::string_view test;       // as NcclTable has it
  std::uint32_t ranks = 0;     // of a group; 0: not known
  bool written_again = false;  // another program read the numbers and wrote them: 13989 became 13989.0
};

// Nothing, and an error, where a value is no number of its kind, negative or out of range. Warns of wrong results,
// of times and bandwidths that are not finite or not positive (and leaves them out), and of bandwidths that do not
// follow from bytes and time.
std::optional<NcclRow> nccl_row(const NcclCells& cells, const NcclRowContext& context, const Location& where,
                                Diagnostics& diagnostics);

// True if a program of nccl-tests measures the operation: "all_reduce".
bool is_nccl_test(std::string_view operation);
// Operation measured by the program in a word like "./build/all_reduce_perf_mpi"; empty if it is none of nccl-tests.
std::string_view nccl_test_run_by(std::string_view word);

// Facts on the run from the lines before a table.
class NcclRun {
 public:
  // Takes what the line tells; false where it tells nothing of a run.
  bool read(std::span<const Word> words, int number);

  // The table of `line`, which begins. Warns where the lines about ranks contradict each other.
  NcclTable table(int line, const std::string& file, Diagnostics& diagnostics) const;

  // Moves the version of the library to a table that has begun: NCCL prints it when it starts to work.
  void tell_version(NcclTable& table);

 private:
  bool read_version(std::span<const Word> words);
  bool read_rank(std::span<const Word> words, int number);
  std::uint32_t ranks(std::uint64_t devices_per_process, const std::string& file, Diagnostics& diagnostics) const;

  NcclTable told_;  // but for ranks, nodes and groups
  std::set<std::uint64_t> ranks_;
  std::set<std::uint64_t> groups_;
  std::set<std::string> hosts_;
  std::set<std::pair<std::string, std::uint64_t>> processes_;
  int last_line_ = 0;      // of a rank
  int repeated_line_ = 0;  // where a rank was named again
};

// "size_bytes,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps", in any order, each but
// the size optional; also count, type, redop, root, oop_wrong, ip_wrong. Lines that start with '#' are comments.
// Nothing where the first line names no size_bytes.
std::optional<std::vector<NcclTable>> read_nccl_csv(std::string_view text, const std::string& name,
                                                    Diagnostics& diagnostics);

// The documents of `orrery collective --json`. Nothing where the text is no JSON object.
std::optional<std::vector<NcclTable>> read_collective_json(std::string_view text, const std::string& name,
                                                           Diagnostics& diagnostics);

}  // namespace orrery::study
