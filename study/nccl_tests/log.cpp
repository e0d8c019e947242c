// SPDX-License-Identifier: MIT
#include "study/nccl_tests/log.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "study/nccl_tests/reader.h"

namespace orrery::study {
namespace {

constexpr std::string_view kLogHint =
    "give it the output of all_reduce_perf or another program of nccl-tests, with the line that names the columns; or "
    "CSV with size_bytes,oop_time_us,...; or what `orrery collective` printed for one cluster";

// Begins like a row: "1048576  262144 ...", also "-8 2".
bool whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool numeric(std::string_view text) {
  return text == "N/A" || text.starts_with("nan") || text.starts_with("inf") || text.starts_with("-nan") ||
         text.starts_with("-inf") || std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
         });
}

// "host:123:456 [0] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 10.0.0.2<4711> failed",
// "host: Test NCCL failure common.cu:954 'unhandled system error'".
bool tells_failure(std::span<const Word> words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string_view first = words[i].text, second = words[i + 1].text;
    if ((first == "NCCL" || first == "RCCL") && second == "WARN") return true;
    if (first == "Test" && i + 2 < words.size() && (second == "NCCL" || second == "CUDA" || second == "HIP") &&
        words[i + 2].text == "failure")
      return true;
  }
  return false;
}

// A row whose second half comes on a later line, as the library printed something in between.
struct Begun {
  int line = 0;
  std::string text;
};

// Output of one process of a job.
struct Stream {
  NcclRun run;
  std::vector<NcclSide> sides;  // of the line above the next heading
  std::optional<std::size_t> table;
  NcclColumns columns;
  std::optional<Begun> begun;
};

class LogReader {
 public:
  LogReader(const std::string& name, Diagnostics& diagnostics) : name_(name), diagnostics_(diagnostics) {}

  std::vector<NcclTable> read(std::string_view text);

  // The first line in which the library or the benchmark says that it failed; its number is 0 where none does.
  const std::pair<int, std::string>& failure() const { return failure_; }

 private:
  void read_line(std::string_view raw, bool cut_off);
  bool begin_table(Stream& stream, std::span<const Word> words);
  bool end_table(Stream& stream, std::span<const Word> words);
  void read_row(Stream& stream, std::span<const Word> words, bool cut_off);
  bool begin_row(Stream& stream, std::span<const Word> words);
  bool finish_row(Stream& stream, std::span<const Word> words);
  void drop_begun(Stream& stream);
  void add_row(Stream& stream, const NcclCells& cells, int line);
  void note_program(std::span<const Word> words);

  Location here() const { return {name_, number_}; }

  const std::string& name_;
  Diagnostics& diagnostics_;
  int number_ = 0;
  std::map<std::string, Stream> streams_;  // by the label of their lines
  std::vector<NcclTable> tables_;
  std::pair<int, std::string> failure_{};
  std::set<std::string_view> programs_;  // whose names were read since the last table began
};

std::vector<NcclTable> LogReader::read(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ++number_;
    read_line(text.substr(0, end), end == std::string_view::npos);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  for (auto& [label, stream] : streams_) drop_begun(stream);
  const auto empty = [](const NcclTable& table) { return table.rows.empty(); };
  const bool nothing = std::ranges::all_of(tables_, empty) && !diagnostics_.has_errors();
  for (const NcclTable& table : tables_) {
    if (!table.rows.empty()) continue;
    const std::string message = "no rows under this heading";
    const std::string hint = failure_.first == 0
                                 ? "did the benchmark fail?"
                                 : fmt::format("line {} says: {}", failure_.first, printable(failure_.second, 160));
    if (nothing)
      diagnostics_.error({name_, table.line}, message, hint);
    else
      diagnostics_.warning({name_, table.line}, message, hint);
  }
  std::erase_if(tables_, empty);
  return std::move(tables_);
}

void LogReader::read_line(std::string_view raw, bool cut_off) {
  const OutputLine line = output_line(raw);
  const std::vector<Word> words = words_of(line.text);
  if (words.empty()) return;
  if (failure_.first == 0 && tells_failure(words))
    failure_ = {number_, line.text.substr(line.text.find_first_not_of(' '))};
  Stream& stream = streams_[line.label];
  if (words[0].text == "out-of-place" || words[0].text == "in-place") {
    stream.sides.clear();
    for (const Word& word : words) {
      if (word.text == "out-of-place") stream.sides.push_back(NcclSide::kOutOfPlace);
      if (word.text == "in-place") stream.sides.push_back(NcclSide::kInPlace);
    }
    return;
  }
  if (begin_table(stream, words) || end_table(stream, words)) return;
  if (stream.table) read_row(stream, words, cut_off);
  NcclTable* const waiting = stream.table && tables_[*stream.table].rows.empty() ? &tables_[*stream.table] : nullptr;
  if (!stream.run.read(words, number_))
    note_program(words);
  else if (waiting != nullptr)
    stream.run.tell_version(*waiting);
}

bool LogReader::begin_table(Stream& stream, std::span<const Word> words) {
  if (stream.table && tables_[*stream.table].rows.empty() && words[0].text == "(B)") {
    if (const std::string problem = wrong_unit(words); !problem.empty()) {
      diagnostics_.error(here(), problem, "the units of nccl-tests are the ones that are read");
      stream.table.reset();
    }
    return true;
  }
  if (!is_nccl_heading(words)) return false;
  drop_begun(stream);
  stream.table.reset();
  stream.columns = NcclColumns(words, stream.sides);
  stream.sides.clear();
  if (!stream.columns.problem.empty()) {
    diagnostics_.error(here(), stream.columns.problem, std::string(kLogHint));
    return true;
  }
  NcclTable table = stream.run.table(number_, name_, diagnostics_);
  if (table.test.empty() && programs_.size() == 1) table.test = *programs_.begin();
  programs_.clear();
  stream.run = {};
  table.cpu_times = std::ranges::find(words, std::string_view("cputime"), &Word::text) != words.end();
  if (table.cpu_times)
    diagnostics_.warning(here(), "the times are of the host: how long the calls took, not the operation",
                         "run it without --report_cputime");
  stream.table = tables_.size();
  tables_.push_back(std::move(table));
  return true;
}

// "Out of bounds values : 0 OK", "Avg bus bandwidth    : 135.455", "Collective test concluded: all_reduce_perf".
bool LogReader::end_table(Stream& stream, std::span<const Word> words) {
  if (!stream.table || words.size() < 4) return false;
  NcclTable& table = tables_[*stream.table];
  if (words[0].text == "Out" && words[1].text == "of" && words[2].text == "bounds") {
    drop_begun(stream);
    if (words.back().text == "FAILED")
      diagnostics_.warning(here(), "the benchmark found wrong results",
                           "what ran is not what should have been measured");
    return true;
  }
  if (words[0].text == "Avg" && words[1].text == "bus" && words[2].text.starts_with("bandwidth")) {
    drop_begun(stream);
    return true;
  }
  if (words[0].text != "Collective" || words[2].text != "concluded:") return false;
  const std::string_view test = nccl_test_run_by(words[3].text);
  if (!table.test.empty() && !test.empty() && test != table.test)
    diagnostics_.warning(here(), fmt::format("the table of {} ends as one of {}", table.test, test),
                         "are several runs mixed in this output?");
  if (table.test.empty()) table.test = test;
  stream.table.reset();
  return true;
}

void LogReader::read_row(Stream& stream, std::span<const Word> words, bool cut_off) {
  if (finish_row(stream, words)) return;
  const bool counted = stream.columns.columns.size() > 1 && stream.columns.columns[1].field == NcclField::kCount;
  const bool second = words.size() < 2 || !counted || whole_number(words[1].text);
  if (!whole_number(words[0].text) || !(second || words.size() == stream.columns.columns.size())) return;
  const bool early = cut_off && stream.columns.ends_early(words);
  const auto text = early ? std::nullopt : stream.columns.cells(words);
  if (text) return add_row(stream, *text, number_);
  if (!early && begin_row(stream, words)) return;
  if (!cut_off && words.size() < 2) return;
  diagnostics_.warning(here(),
                       fmt::format("{}: {} fields; expected {}; left out",
                                   cut_off ? "the last row is cut off" : "a line like a row, but not under the columns",
                                   words.size(), stream.columns.columns.size()),
                       cut_off ? "" : fmt::format("the columns are those of line {}", tables_[*stream.table].line));
}

// "1048576  262144  float  sum  -1" and no more, or "... -1host:123:456 [0] NCCL INFO ...".
bool LogReader::begin_row(Stream& stream, std::span<const Word> words) {
  std::string text;
  std::size_t count = words.size();
  const auto library = std::ranges::find(words, std::string_view("NCCL"), &Word::text);
  if (library != words.end()) {
    count = static_cast<std::size_t>(library - words.begin());
    if (count > 0 && words[count - 1].text.starts_with('[')) --count;
    if (count == 0) return false;
    --count;  // "host:123:456"
  }
  for (std::size_t i = 0; i < count; ++i) text += std::string(words[i].text) + ' ';
  const bool glued = count < words.size() && words[count].text.starts_with("-1");  // no host is named so
  if (glued) text += "-1 ";
  if (count + (glued ? 1 : 0) != stream.columns.before_sides || stream.columns.before_sides < 2) return false;
  drop_begun(stream);
  stream.begun = Begun{number_, std::move(text)};
  return true;
}

bool LogReader::finish_row(Stream& stream, std::span<const Word> words) {
  if (!stream.begun) return false;
  if (words.size() + stream.columns.before_sides != stream.columns.columns.size()) return false;
  if (!std::ranges::all_of(words, [](const Word& word) { return numeric(word.text); })) return false;
  std::string text = stream.begun->text;
  for (const Word& word : words) text += std::string(word.text) + ' ';
  const std::vector<Word> whole = words_of(text);
  const auto fields = stream.columns.cells(whole);
  if (!fields) return false;
  add_row(stream, *fields, stream.begun->line);
  stream.begun.reset();
  return true;
}

void LogReader::drop_begun(Stream& stream) {
  if (stream.begun) diagnostics_.warning({name_, stream.begun->line}, "this row has no times; left out");
  stream.begun.reset();
}

void LogReader::add_row(Stream& stream, const NcclCells& cells, int line) {
  NcclTable& table = tables_[*stream.table];
  const NcclRowContext context{table.test, table.groups == 1 ? table.ranks : 0};
  if (auto row = nccl_row(cells, context, {name_, line}, diagnostics_)) table.rows.push_back(std::move(*row));
}

// The command that was run, as shells and launchers show it.
void LogReader::note_program(std::span<const Word> words) {
  for (const Word& word : words)
    if (const auto test = nccl_test_run_by(word.text); !test.empty()) programs_.insert(test);
}

}  // namespace

std::vector<NcclTable> read_nccl_log(std::string_view text, const std::string& name, Diagnostics& diagnostics) {
  constexpr std::string_view kUtf8 = "\xEF\xBB\xBF";
  if (text.starts_with(kUtf8)) text.remove_prefix(kUtf8.size());
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    diagnostics.error({name}, "UTF-16 text; expected UTF-8", "redirect it as UTF-8, or convert it: iconv -f UTF-16");
    return {};
  }
  const std::size_t errors = diagnostics.error_count();
  if (auto tables = read_collective_json(text, name, diagnostics)) return std::move(*tables);
  auto csv = read_nccl_csv(text, name, diagnostics);
  LogReader log(name, diagnostics);
  std::vector<NcclTable> tables = csv ? std::move(*csv) : log.read(text);
  if (!tables.empty() || diagnostics.error_count() > errors) return tables;
  if (const auto& [line, said] = log.failure(); line > 0)
    diagnostics.error({name, line}, "no table of nccl-tests in it; the benchmark failed: " + printable(said, 160),
                      "run it again once it works, and give it that output");
  else
    diagnostics.error({name}, "no table of nccl-tests in it", std::string(kLogHint));
  return tables;
}

}  // namespace orrery::study
