// SPDX-License-Identifier: MIT
// Words of shell scripts: commands as they are written, and what their words are with the values of variables put in.
// Nothing is executed: what a command would print is not known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::experiment {

// A word with its quotes.
struct RawWord {
  std::string text;
  int line = 0;
};

struct ShellCommand {
  std::vector<RawWord> words;
  std::string end;  // what stands behind it: "\n", ";", ";;", "|", "&&", "(", ")"; "()" of a function's name
  int line = 0;
};

// The commands of a text, comments, redirections and here-documents left out. Quotes that do not end, end with it;
// `open_quote` is the line where one begins.
std::vector<ShellCommand> shell_commands(std::string_view text, int first_line, std::optional<int>& open_quote);

// True of the keyword of a loop.
bool begins_loop(std::string_view word);
// Removes words from the front.
void drop(ShellCommand& command, std::size_t count);
// The commands from number `next` on, up to the one that closes what is open: `last`, without the keyword. `next` is
// then the number behind it.
std::span<const ShellCommand> commands_until(std::span<const ShellCommand> commands, std::size_t& next,
                                             bool (*opens)(std::string_view), std::string_view closes,
                                             ShellCommand& last);

// A word as a command gets it. What is not known is in it by name, between marks that plain_text() takes away.
struct ShellField {
  std::string text;
  int line = 0;
  std::string unknown;  // the first variable or command in it whose value is not known: "NAME", "$(date)"
};

// The text for people: "$NAME" in place of what is not known.
std::string plain_text(std::string_view text);

struct ShellVariable {
  std::vector<ShellField> values;  // of an array its elements, else one
  bool is_array = false;
};

class ShellVariables {
 public:
  // Values given from outside, which assignments do not change.
  void define(const std::string& name, const std::string& value);
  // Carries out "NAME=value", "NAME+=value", "NAME=(...)"; false if the word is no assignment. `name`: whose.
  bool assign(const RawWord& word, std::string& name);
  void set(const std::string& name, ShellVariable value);
  void unset(const std::string& name);
  // Makes a value one that is not known: it may have been assigned.
  void forget(const std::string& name);

  const ShellVariable* find(std::string_view name) const;
  // Copies that are put back later.
  ShellVariables kept() const;
  ShellVariable kept(const ShellVariable& variable) const;
  // Characters that expansions and kept copies have had in all, of these variables and of their copies; a field counts
  // as a few more.
  std::size_t work() const { return *work_; }
  void note_work(std::size_t characters) { *work_ += characters; }
  // Expands a word: what is not in quotes is split at blanks.
  std::vector<ShellField> expand(const RawWord& word) const;
  // Expands it to one text.
  ShellField expand_whole(const RawWord& word, int depth = 0) const;
  // The elements of the text between the brackets of an array.
  std::vector<ShellField> elements(std::string_view text, int line) const;

 private:
  friend class Expansion;
  std::map<std::string, ShellVariable, std::less<>> variables_;
  std::map<std::string, bool, std::less<>> fixed_;
  std::shared_ptr<std::size_t> work_ = std::make_shared<std::size_t>(0);
};

// kUnknown: it cannot be told without executing.
enum class Truth : std::uint8_t { kNo, kYes, kUnknown };
Truth negation(Truth truth);
// Truth of two conditions that "&&" or "||" joins.
Truth joined_truth(Truth one, std::string_view by, Truth other);
// Truth of "[ $NODES -gt 1 ]", "[[ $MODEL == llama* && -z $X ]]", "(( TP > 1 ))", "true"; kUnknown of other
// commands.
Truth truth_of(const std::vector<RawWord>& words, const ShellVariables& variables);
// True if a text matches a pattern of a case: "llama*"; quoted characters are themselves.
bool matches_pattern(const std::string& text, const RawWord& pattern, const ShellVariables& variables);
// Variables that a command may assign, by name.
std::vector<std::string> assigned_names(const ShellCommand& command);

// An if, a case, a group or a subshell that is open.
struct ShellBlock {
  enum class Kind : std::uint8_t { kIf, kCase, kGroup, kSubshell } kind = Kind::kIf;
  int line = 0;
  bool was_active = true;  // what is around it
  bool active = false;
  bool taken = false;    // a branch before was
  bool unknown = false;  // a condition was not known
  bool told = false;
  Truth condition = Truth::kUnknown;
  bool in_condition = false;  // more of it may follow
  std::string joined_by;      // "&&", "||": what stands before the rest of the condition
  std::string subject;        // of a case
  bool wants_pattern = false;
  std::vector<RawWord> patterns;
  std::optional<ShellVariables> outside;  // variables as they are behind a subshell

  // True of a part of which it cannot be told whether it is run.
  bool is_doubtful() const { return was_active && unknown && !taken; }
  // One test more of a condition; a pipe is no test that can be told.
  void add_condition(const ShellCommand& command, const ShellVariables& variables);
  // Begins what follows "then" or "else".
  void begin_branch(bool is_else);
  // Patterns of a case, "7b | llama*)".
  void add_pattern(const ShellCommand& command, const ShellVariables& variables);
};

}  // namespace orrery::experiment
