// SPDX-License-Identifier: MIT
// Output of the program: answers on standard output and in files, everything else on standard error. What is printed
// loses its control characters here, whatever input it comes from.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/folder_lock.h"
#include "core/files/output_file.h"
#include "report/screen/time_left.h"

namespace orrery::cli {

// The program's exit status.
inline constexpr int kDone = 0;
inline constexpr int kBadInput = 2;
inline constexpr int kStuck = 3;        // the simulated job cannot finish
inline constexpr int kCheckFailed = 4;  // a check that was asked for
inline constexpr int kOutOfMemory = 5;  // the job does not fit the devices' memory

// Messages on standard error: errors alone, also warnings and what was written, or also what is being done. They go
// through spdlog: error, warn and info, debug.
enum class Verbosity : std::uint8_t { kQuiet, kUsual, kVerbose };
void start_log(Verbosity verbosity);

// The first so many warnings, in full.
void print_warnings(std::span<const Problem> problems);

// Names the file that lists communicators, which the user may not have given. Verbose only.
void tell_groups(const std::string& file);

// A sign of life for work that takes longer than a second: a line on the terminal, else one a minute, also where the
// work says nothing for long. Whoever works may tell of it from any thread.
class Progress {
 public:
  explicit Progress(std::string_view what = "working");
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows the state, its pace and the time that is left at most (report/screen/time_left.h), ten times a second or less
  // often. `share`: of the work that is done; it is that of the parts where nothing is known of how much work each is.
  void operator()(std::string_view what, std::uint64_t done, std::uint64_t total, std::optional<double> share = {});
  // The same with the first word said.
  auto of(std::string_view what) {
    return [this, what](std::uint64_t done, std::uint64_t total) { (*this)(what, done, total); };
  }
  // True if the state is shown as it changes, and not every minute or never.
  bool is_seen() const;
  // Takes the line away, and says nothing any more.
  void clear();
  // Shows nothing by itself from now on: somebody else prints line().
  void leave_to_others() { is_left_to_others_ = true; }
  std::string line();

 private:
  using Clock = std::chrono::steady_clock;
  void show(Clock::time_point now);
  std::string state(Clock::time_point now) const;
  std::string pace(Clock::time_point now) const;

  const bool terminal_;
  std::atomic<bool> is_left_to_others_ = false;
  std::mutex mutex_;  // of all below
  bool shown_ = false;
  std::string what_;  // that is under way
  std::uint64_t done_ = 0, total_ = 0;
  std::uint64_t done_at_first_ = 0;  // of it, when it was first told of
  Clock::time_point first_;          // and when that was
  report::TimeLeft left_;            // seconds since start_
  const Clock::time_point start_;
  Clock::time_point last_;
  std::condition_variable_any ended_;
  std::jthread beat_;  // the last member: it uses the others
};

// Failure of a command; the first problem stands for all.
struct Failure {
  int exit_code = kBadInput;
  std::vector<Problem> problems;
};
Failure failure_of(std::span<const Problem> problems);
Failure failure_of(const InputError& error);
Failure failure_of(const StuckError& error);
// {"exit_code", "message", "hint", "file", "line", "column", "rank", "node", "problems"}, as docs/results.md has it.
nlohmann::ordered_json to_json(const Failure& failure);
nlohmann::ordered_json to_json(const Problem& problem);

// A page for a browser (report/page/page.h).
struct Page {
  std::string title;
  nlohmann::ordered_json data;
};
// Page for a document; `kind` is one of the scripts in report/page.
Page page_of(std::string title, std::string_view kind, const nlohmann::ordered_json& document);

// Answer of a command: as text and as a document, both also for a folder, and as a page on request.
struct Answer {
  std::string text;
  nlohmann::ordered_json document;
  std::string text_name = "summary.txt";
  std::optional<Page> page{};
  std::string as_it_is{};  // behind the text: lines for other programs, however long they are
};

// Destinations of answers besides standard output, as --json, --out and --html say.
struct Outputs {
  std::string json;    // a file; "-": standard output, in place of the text; empty: nowhere
  std::string out;     // a folder; empty: nowhere
  std::string html{};  // a file; empty: nowhere

  bool wants_page() const { return !html.empty(); }
  bool wants_document() const { return !json.empty() || !out.empty() || wants_page(); }

  // Before the work: InputError if it is plain already that something cannot be written, or would be written over what
  // is read (core/files/input_files.h). Makes the folder, which will hold `files` and the answer.
  void check(std::span<const std::string> files = {}, FolderUse use = FolderUse::kAlone) const;
  // Writes the answer to files, then prints it: whoever reads what is printed may stop reading.
  void give(const Answer& answer) const;
};

// InputError if two options, each with its name and its path, would write the same file.
using OutputOption = std::pair<std::string_view, std::string>;
void refuse_same_file(const OutputOption& one, const OutputOption& other);
// InputError if write_file() cannot write to `path`; leaves nothing behind. No path and "-" are fine.
void check_writable(const std::string& path);
// The same of an option whose file has a form of its own: "-" is refused.
void check_file(std::string_view option, const std::string& path);
// The same of a configuration that is written, which has to be as it is read: a name that ends with ".gz" is refused.
void check_configuration(std::string_view option, const std::string& path);
// Makes `folder`, also in folders that are not there yet, keeps other writers out of it and checks `files` of it.
void make_folder(const std::string& folder, std::span<const std::string> files, FolderUse use = FolderUse::kAlone);

// InputError if --format chose another format than text for an answer without tables; `what` as "--print".
void refuse_table_format(std::string_view what);

// Prints an answer to standard output, in colours where it is for people and a terminal has them.
void print_answer(const std::string& text, bool is_for_people = true);
// Prints to standard output as it is.
void print_text(const std::string& text, TextKind kind = TextKind::kPlain);
// A file, whole or not at all (core/files/output_file.h). Says what it wrote, unless that is said of many at once.
enum class Telling : std::uint8_t { kEach, kNone };
void write_file(const std::string& path, const std::string& text, Telling telling = Telling::kEach,
                Durability durability = Durability::kDisk);
std::string json_text(const nlohmann::ordered_json& document);
void write_json(const std::string& path, const nlohmann::ordered_json& document);
// "12.3 KB".
std::string size_text(std::uint64_t bytes);
// "wrote PATH (12.3 KB)".
void tell_written(const std::string& path, std::uint64_t bytes);

}  // namespace orrery::cli
