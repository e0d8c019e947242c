// SPDX-License-Identifier: MIT
// Errors, and how they are told. Wrong input is an InputError (exit 2, or 5 where all is right but the memory is too
// small), a simulated system that cannot finish is a StuckError (exit 3), a bug is an assertion. The library never
// prints and never exits: problems are collected in Diagnostics and shown by the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// Location of a problem in a file. `line` and `column` count from 1; 0 means the file has no lines (a binary trace).
struct Location {
  std::string file;
  int line = 0;
  int column = 0;

  bool operator==(const Location&) const = default;
};

// "path:line:col"; control characters of the path are escaped.
std::string to_string(const Location& where);

enum class Severity { kWarning, kError };

// Change of what one rank does, in words and for a program.
struct ProposedEdit {
  std::string kind;        // add, remove, change, swap, unlink (no longer wait), leave (a group)
  std::uint32_t rank = 0;  // whose trace or program has the nodes
  std::optional<std::uint64_t> node{};
  std::optional<std::uint64_t> other{};  // second node; the one behind it, where the edit is `add`
  std::string text;
};

// Changes that together let a job finish whose ranks disagree or wait for one another.
struct Proposal {
  std::vector<ProposedEdit> edits;
  bool is_tried = false;  // and all ranks did finish
};

struct Problem {
  Severity severity = Severity::kError;
  Location where;
  std::string message;                  // what was found and what was expected
  std::string hint;                     // what to do about it; may be empty
  std::optional<std::uint32_t> rank{};  // the first one concerned, where the problem is one of ranks
  std::string node{};                   // of its trace or program, as messages name it; may be empty
  std::vector<Proposal> proposals{};    // the smallest changes that let the job finish
  bool tight_memory = false;            // a warning: it fits, but may run out
  bool out_of_memory = false;           // nothing is wrong but that it does not fit the devices' memory
};

// "path:line:col: error: message", then "  hint: ..." on its own line. Control characters of the input are escaped.
std::string to_string(const Problem& problem);

// A hint that several problems have is left to the last of them: what is printed gives the same advice once.
std::vector<Problem> with_hints_once(std::span<const Problem> problems);

// Text from an input made safe to print in a line: control characters and invalid UTF-8 become \xNN, long text is cut
// at `limit`.
std::string printable(std::string_view text, std::size_t limit = 120);

// Lines of text made safe to print: likewise but for line ends and tabs. Text that is safe stays as it is. A control
// character in a JSON document becomes \u00NN.
enum class TextKind : std::uint8_t { kPlain, kJson };
std::string printable_lines(std::string_view text, TextKind kind = TextKind::kPlain);

class InputError : public std::exception {
 public:
  explicit InputError(std::vector<Problem> problems);
  InputError(Location where, std::string message, std::string hint = {});

  std::span<const Problem> problems() const { return problems_; }
  // True if the first problem, which stands for all, is one of memory.
  bool out_of_memory() const { return !problems_.empty() && problems_.front().out_of_memory; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Problem> problems_;
  std::string text_;
};

// The same, with `file` as the place of problems that name none.
InputError located(const InputError& error, const std::string& file);

// The input is right, but the ranks disagree or wait for ever. `what()` is the whole report; `rank` and `node` are the
// first that waits, where one is known.
class StuckError : public std::exception {
 public:
  explicit StuckError(std::string report, std::optional<std::uint32_t> rank = {}, std::string node = {},
                      std::vector<Proposal> proposals = {})
      : report_(std::move(report)), rank_(rank), node_(std::move(node)), proposals_(std::move(proposals)) {}
  const char* what() const noexcept override { return report_.c_str(); }
  std::optional<std::uint32_t> rank() const { return rank_; }
  const std::string& node() const { return node_; }
  const std::vector<Proposal>& proposals() const { return proposals_; }

 private:
  std::string report_;
  std::optional<std::uint32_t> rank_;
  std::string node_;
  std::vector<Proposal> proposals_;
};

// Collects problems, so that all of a file are reported together.
class Diagnostics {
 public:
  void error(Location where, std::string message, std::string hint = {});
  void warning(Location where, std::string message, std::string hint = {});
  void add(Problem problem);

  bool has_errors() const { return errors_ > 0; }
  std::size_t error_count() const { return errors_; }
  std::span<const Problem> problems() const { return problems_; }

  // Forgets all problems but the first `count`.
  void take_back(std::size_t count);

  // Throws one InputError with all errors collected so far, if there are any.
  void throw_if_errors() const;

 private:
  std::vector<Problem> problems_;
  std::size_t errors_ = 0;
};

}  // namespace orrery
