// SPDX-License-Identifier: MIT
// Reader of shell scripts that launch training: assignments, conditions on values that are known, loops and
// functions are followed; nothing is executed. What may be assigned where that cannot be told is not known from there.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/files/read_file.h"
#include "experiment/launchers/launch_files.h"
#include "experiment/launchers/shell_words.h"

namespace orrery::experiment {
namespace {

using Commands = std::span<const ShellCommand>;

constexpr int kMostCommands = 200'000;
constexpr std::size_t kMostWork = std::size_t{1} << 28;
constexpr std::size_t kMostOpen = 100;

// Ends of what is run: a round of a loop, the loop, a function, the script.
enum class Leave : std::uint8_t { kNothing, kRound, kLoop, kFunction, kScript };

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

class ShellReader {
 public:
  ShellReader(const LaunchOptions& options, LaunchFiles& launch, Diagnostics& diagnostics)
      : launch_(launch, diagnostics), diagnostics_(diagnostics) {
    for (const auto& [name, value] : options.definitions) variables_.define(name, value);
  }

  void read(const std::string& file, std::string_view text) {
    file_ = file;
    launch_.begin_file(file);
    blocks_.clear();
    leave_ = Leave::kNothing;
    launch_.read_batch_lines(text);
    std::optional<int> open_quote;
    const std::vector<ShellCommand> commands = shell_commands(text, 1, open_quote);
    run_all(commands);
    if (open_quote)
      diagnostics_.error({file_, *open_quote}, "a quote that begins here does not end", "the file may be truncated");
    if (launch_.found()) return;
    leave_ = Leave::kNothing;
    for (const auto& [name, body] : std::exchange(functions_, {})) run_all(*body);  // that something else calls
  }

  // Refuses scripts in which no command launches anything, unless they were not read to the end.
  void finish(const std::vector<std::string>& files) {
    if (launch_.found() || !has_given_up_) launch_.finish(files);
  }

 private:
  bool active() const { return blocks_.empty() || blocks_.back().active; }
  Location at(int line) const { return {file_, line}; }

  // --- control

  void run_all(Commands commands) {
    const Commands around = std::exchange(commands_, commands);
    const std::size_t next = std::exchange(next_, 0);
    const std::string joined = std::exchange(joined_by_, {});
    while (next_ < commands.size() && leave_ == Leave::kNothing) run(commands[next_++]);
    commands_ = around;
    next_ = next;
    joined_by_ = joined;
  }

  void run(ShellCommand command) {
    if (++ran_ > kMostCommands)
      give_up(command.line, fmt::format("the script runs more than {} commands", kMostCommands));
    if (variables_.work() > kMostWork)
      give_up(command.line, fmt::format("the script's commands take more than {} MiB of values", kMostWork >> 20));
    if (blocks_.size() + loops_ > kMostOpen)
      give_up(command.line, fmt::format("more than {} loops, groups and conditions in one another", kMostOpen));
    if (has_given_up_) return;
    if (!blocks_.empty() && blocks_.back().wants_pattern &&
        !(command.words.size() == 1 && command.words.front().text == "esac"))
      return blocks_.back().add_pattern(command, variables_);
    const bool is_keyword = !command.words.empty() && is_one_of(command.words.front().text, {"then", "if"});
    if (!blocks_.empty() && blocks_.back().in_condition && !command.words.empty() && !is_keyword)
      return add_condition(blocks_.back(), command);
    if (command.end == "()") {
      function_ = command.words.empty() ? "" : command.words.back().text;
      return;
    }
    for (std::size_t taken = 0; !command.words.empty() && keyword(command); ++taken)
      if (taken == kMostOpen)
        return give_up(command.line, fmt::format("more than {} keywords at the start of a command", kMostOpen));
    if (!command.words.empty()) {
      function_.clear();
      one(command);
    }
    end_of(command.end);
    joined_by_ = command.end;
  }

  // Reads no further: no script that launches training comes to this.
  void give_up(int line, std::string what) {
    if (!has_given_up_) diagnostics_.error(at(line), std::move(what), "a loop that does not end?");
    has_given_up_ = true;
    leave(Leave::kScript);
  }

  void end_of(std::string_view end) {
    if (end == ";;" && !blocks_.empty() && blocks_.back().kind == ShellBlock::Kind::kCase) {
      blocks_.back().wants_pattern = true;
      blocks_.back().active = false;
    } else if (end == "(" && (blocks_.empty() || !blocks_.back().wants_pattern)) {
      blocks_.push_back(joined_block(ShellBlock::Kind::kSubshell, 0));
      blocks_.back().outside = variables_.kept();
    } else if (end == ")" && !blocks_.empty() && blocks_.back().kind == ShellBlock::Kind::kSubshell) {
      variables_ = std::move(*blocks_.back().outside);
      blocks_.pop_back();
      status_ = Truth::kUnknown;
    }
  }

  // True if what follows "&&" or "||" is run.
  Truth joins() const { return joined_by_ == "&&" ? status_ : joined_by_ == "||" ? negation(status_) : Truth::kYes; }

  // A command that is run, may be, or is not.
  void one(const ShellCommand& command) {
    const Truth runs = joins();
    if (!active()) return doubt(command);
    if (runs == Truth::kNo) return;
    if (runs == Truth::kYes) {
      status_ = simple(command);
      return;
    }
    status_ = Truth::kUnknown;
    forget(command);
    const bool is_jump = is_one_of(command.words.front().text, {"exit", "return", "break", "continue"});
    if (assigned_names(command).empty() && !is_jump) simple(command);
  }

  // Takes a keyword off the front of a command; false if there is none.
  bool keyword(ShellCommand& command) {
    const std::string word = command.words.front().text;
    const int line = command.words.front().line;
    if (word == "function") {
      function_ = command.words.size() > 1 ? command.words[1].text : "";
      drop(command, 2);
    } else if (word == "{" && !function_.empty()) {
      drop(command, 1);
      define_function(command);
    } else if (word == "{") {
      blocks_.push_back(joined_block(ShellBlock::Kind::kGroup, line));
      drop(command, 1);
    } else if (is_one_of(word, {"then", "else", "do"})) {
      if (word != "do") branch(word == "else");
      drop(command, 1);
      joined_by_.clear();
    } else if (word == "if" || word == "elif") {
      drop(command, 1);
      condition(command, word == "if", line);
      command.words.clear();
    } else if (word == "case") {
      begin_case(command, line);
      command.words.clear();
    } else if (begins_loop(word)) {
      loop(command);
    } else if (is_one_of(word, {"fi", "esac", "done", "}"})) {
      if (!blocks_.empty() && word != "done") blocks_.pop_back();
      drop(command, 1);
      status_ = Truth::kUnknown;
      joined_by_.clear();
    } else {
      return false;
    }
    return true;
  }

  ShellBlock block_of(ShellBlock::Kind kind, int line) const {
    ShellBlock block;
    block.kind = kind;
    block.line = line;
    block.was_active = active();
    return block;
  }

  // A group that "&&" and "||" decide on.
  ShellBlock joined_block(ShellBlock::Kind kind, int line) {
    ShellBlock block = block_of(kind, line);
    const Truth runs = joins();
    block.active = block.was_active && runs == Truth::kYes;
    block.unknown = runs == Truth::kUnknown;
    joined_by_.clear();
    return block;
  }

  Commands take_until(bool (*opens)(std::string_view), std::string_view closes, ShellCommand& last) {
    const std::size_t first = next_;
    const Commands body = commands_until(commands_, next_, opens, closes, last);
    variables_.note_work((next_ - first) * sizeof(ShellCommand));
    return body;
  }

  void define_function(ShellCommand& command) {
    std::vector<ShellCommand> body;
    if (!command.words.empty()) body.push_back(command);
    const auto opens = [](std::string_view word) { return word == "{"; };
    for (const ShellCommand& inner : take_until(opens, "}", command)) body.push_back(inner);
    functions_[std::exchange(function_, {})] = std::make_shared<const std::vector<ShellCommand>>(std::move(body));
  }

  // --- loops and functions

  void loop(ShellCommand& command) {
    const ShellCommand head = command;
    const Commands body = take_until(begins_loop, "done", command);
    if (joins() == Truth::kNo) return;
    joined_by_.clear();
    ++loops_;
    if (is_one_of(head.words.front().text, {"for", "select"}))
      for_each(head, body);
    else
      while_true(head, body);
    --loops_;
    if (leave_ == Leave::kLoop || leave_ == Leave::kRound) leave_ = Leave::kNothing;
    status_ = Truth::kUnknown;
  }

  // Runs the body once where it is not known how often: values that it may assign are not known within and behind it.
  void run_doubtfully(Commands body) {
    for (const bool is_behind : {false, true}) {
      for (const ShellCommand& command : body)
        if (active()) forget(command);
      if (!is_behind) run_all(body);
    }
  }

  void for_each(const ShellCommand& head, Commands body) {
    const bool has_list = head.words.size() > 2 && head.words[2].text == "in";
    const std::string name = head.words.size() > 1 ? head.words[1].text : "";
    if (name == "((") return run_doubtfully(body);
    Fields values;
    for (std::size_t i = 3; has_list && i < head.words.size(); ++i)
      for (ShellField& field : variables_.expand(head.words[i])) values.push_back(std::move(field));
    if (std::ranges::any_of(values, [](const ShellField& field) { return !field.unknown.empty(); })) {
      variables_.forget(name);
      return run_doubtfully(body);
    }
    for (const ShellField& value : values) {
      if (active()) variables_.set(name, {{value}, false});
      run_all(body);
      if (leave_ == Leave::kRound) leave_ = Leave::kNothing;
      if (leave_ != Leave::kNothing) return;
    }
  }

  void while_true(const ShellCommand& head, Commands all) {
    const auto is_do = [](const ShellCommand& c) { return !c.words.empty() && c.words.front().text == "do"; };
    const auto begin = std::ranges::find_if(all, is_do);
    std::vector<ShellCommand> tests(all.begin(), begin);
    tests.insert(tests.begin(), head);
    drop(tests.front(), 1);
    const Commands body(begin, all.end());
    constexpr int kMostRounds = 100;
    for (int round = 0; round < kMostRounds; ++round) {
      ShellBlock block = block_of(ShellBlock::Kind::kGroup, head.line);
      for (const ShellCommand& test : tests) add_condition(block, test);
      const Truth goes_on = head.words.front().text == "until" ? negation(block.condition) : block.condition;
      if (goes_on == Truth::kNo && active()) return;
      if (goes_on != Truth::kYes) return run_doubtfully(body);
      run_all(body);
      if (leave_ == Leave::kRound) leave_ = Leave::kNothing;
      if (leave_ != Leave::kNothing) return;
    }
  }

  void call(Commands body, const Fields& fields) {
    constexpr int kMostCalls = 20;
    if (++calls_ > kMostCalls) return void(--calls_);
    constexpr std::size_t kPositions = 10;
    const std::size_t kept = locals_.size();
    for (std::size_t i = 1; i < kPositions; ++i) {
      keep(std::to_string(i));
      variables_.unset(std::to_string(i));
      if (i < fields.size()) variables_.set(std::to_string(i), {{fields[i]}, false});
    }
    std::vector<ShellBlock> around = std::exchange(blocks_, {});
    run_all(body);
    blocks_ = std::move(around);
    if (leave_ == Leave::kFunction) leave_ = Leave::kNothing;
    for (; locals_.size() > kept; locals_.pop_back()) {
      auto& [name, value] = locals_.back();
      variables_.unset(name);
      if (value) variables_.set(name, std::move(*value));
    }
    --calls_;
  }

  // Keeps a variable for the end of the function.
  void keep(const std::string& name) {
    const ShellVariable* const value = variables_.find(name);
    locals_.emplace_back(name, value == nullptr ? std::nullopt : std::optional(variables_.kept(*value)));
  }

  void leave(Leave what) {
    if (leave_ < what) leave_ = what;
  }

  // --- conditions

  void condition(const ShellCommand& command, bool is_first, int line) {
    if (is_first) blocks_.push_back(block_of(ShellBlock::Kind::kIf, line));
    if (blocks_.empty()) return;
    ShellBlock& block = blocks_.back();
    block.joined_by.clear();
    block.in_condition = true;
    add_condition(block, command);
    block.active = false;
  }

  void add_condition(ShellBlock& block, const ShellCommand& command) {
    if (block.was_active) forget(command);
    block.add_condition(command, variables_);
  }

  void branch(bool is_else) {
    if (!blocks_.empty() && blocks_.back().kind == ShellBlock::Kind::kIf) blocks_.back().begin_branch(is_else);
  }

  void begin_case(const ShellCommand& command, int line) {
    ShellBlock block = block_of(ShellBlock::Kind::kCase, line);
    const ShellField subject = command.words.size() > 1 ? variables_.expand_whole(command.words[1]) : ShellField{};
    block.subject = subject.text;
    block.unknown = !subject.unknown.empty();
    block.wants_pattern = true;
    blocks_.push_back(std::move(block));
    ShellCommand pattern = command;  // that begins on the line
    drop(pattern, 3);
    if (!pattern.words.empty()) blocks_.back().add_pattern(pattern, variables_);
  }

  // --- what cannot be told

  void forget(const ShellCommand& command) {
    for (const std::string& name : assigned_names(command)) variables_.forget(name);
  }

  // A command of a part that is not run, or may be: what it may assign is not known then. Arguments that it may add are
  // left out, which is said once of the part.
  void doubt(const ShellCommand& command) {
    const auto unknown = std::ranges::find_if(blocks_, &ShellBlock::is_doubtful);
    if (unknown == blocks_.end()) return;
    const bool matters = std::ranges::any_of(command.words, [](const RawWord& word) {
      return word.text.find("--") != std::string::npos || word.text.find("_ARGS") != std::string::npos;
    });
    const bool adds = matters && std::ranges::any_of(command.words, [](const RawWord& word) {
                        return word.text.find("+=") != std::string::npos;
                      });
    if (!adds) forget(command);
    if (!matters || unknown->told) return;
    unknown->told = true;
    diagnostics_.warning(
        at(unknown->line),
        "what holds here cannot be told without running the script: the arguments of this part are left out",
        "--define NAME=VALUE for the variables of the condition");
  }

  // --- commands

  // Returns whether it succeeds.
  Truth simple(const ShellCommand& command) {
    const std::string& verb = command.words.front().text;
    if (is_one_of(verb, {"exit", "return", "break", "continue"})) return jump(verb);
    if (verb == "unset") {
      for (const RawWord& word : command.words) variables_.unset(word.text);
      return Truth::kYes;
    }
    if (is_one_of(verb, {"((", "let", "eval", "read", "mapfile", "readarray", "getopts", "printf"})) forget(command);
    const Truth truth = truth_of(command.words, variables_);
    if (truth != Truth::kUnknown) return truth;
    const bool is_piped = joined_by_ == "|" || command.end == "|" || command.end == "&";
    std::optional<ShellVariables> before;
    if (is_piped) before = variables_.kept();
    const bool exports = is_one_of(verb, {"export", "declare", "local", "readonly", "typeset"});
    std::size_t assigned = exports ? 1 : 0;
    if (!exports && !before && has_command(command)) before = variables_.kept();
    for (; assigned < command.words.size(); ++assigned)
      if (!assign(command, assigned, exports) && !exports) break;
    const bool is_assignment = assigned == command.words.size();
    if (!is_assignment) words_of_command(command, assigned);
    // Assignments before a command are for it alone, unless a function has made others.
    const bool is_call = !is_assignment && functions_.contains(command.words[assigned].text);
    if (before && !is_call) variables_ = std::move(*before);
    return is_assignment ? Truth::kYes : Truth::kUnknown;
  }

  // True of "A=1 command".
  static bool has_command(const ShellCommand& command) {
    const auto first = std::ranges::find_if(command.words, [](const RawWord& word) {
      return assigned_names({{word}, {}, 0}).empty();
    });
    return first != command.words.begin() && first != command.words.end();
  }

  bool assign(const ShellCommand& command, std::size_t word, bool exports) {
    const RawWord& text = command.words[word];
    const bool is_local = calls_ > 0 && is_one_of(command.words.front().text, {"local", "declare", "typeset"});
    std::string name = text.text.substr(0, text.text.find_first_of("+="));
    if (is_local) keep(name);
    if (!variables_.assign(text, name)) return false;
    if (exports || word + 1 < command.words.size()) launch_.note_environment(name, text, variables_);
    check_size(name, text.line);
    return true;
  }

  // Linux takes no argument that is longer.
  void check_size(const std::string& name, int line) {
    constexpr std::size_t kMost = std::size_t{1} << 17;
    std::size_t size = 0;
    for (const ShellField& field : variables_.find(name)->values) size += field.text.size() + 1;
    if (size <= kMost) return;
    diagnostics_.error(at(line),
                       fmt::format("the value of '{}' is longer than {} characters", printable(name, 60), kMost),
                       "no command takes as much: does it grow over and over?");
    variables_.set(name, {{{{}, line, {}}}, false});
  }

  void words_of_command(const ShellCommand& command, std::size_t first) {
    const std::string& verb = command.words[first].text;
    if (verb == "source" || verb == ".") return tell_source(command);
    Fields fields;
    for (std::size_t i = first; i < command.words.size() && variables_.work() <= kMostWork; ++i) {
      Fields of_word = variables_.expand(command.words[i]);
      fields.insert(fields.end(), of_word.begin(), of_word.end());
    }
    launch_.consider(fields, variables_);
    const auto function = functions_.find(verb);
    if (function == functions_.end()) return;
    const auto body = function->second;  // which may be defined anew meanwhile
    call(*body, fields);
  }

  // A script that ends before anything is launched says how it is to be called: it is read on, as if it were called so.
  Truth jump(std::string_view verb) {
    if (verb == "exit" && launch_.found()) leave(Leave::kScript);
    if (verb == "return" && calls_ > 0) leave(Leave::kFunction);
    if (verb == "break") leave(Leave::kLoop);
    if (verb == "continue") leave(Leave::kRound);
    return Truth::kYes;
  }

  void tell_source(const ShellCommand& command) {
    if (command.words.size() > 1)
      diagnostics_.warning(at(command.line), fmt::format("'{}' is not read", printable(command.words[1].text, 80)),
                           "give it before this script if variables or arguments are in it");
  }

  LaunchCommand launch_;
  Diagnostics& diagnostics_;
  std::string file_;
  ShellVariables variables_;
  std::vector<ShellBlock> blocks_;
  Commands commands_;               // that are run
  std::size_t next_ = 0;            // of them
  std::string joined_by_;           // what stands before the next command: "&&"
  Truth status_ = Truth::kUnknown;  // of the last command
  Leave leave_ = Leave::kNothing;
  std::map<std::string, std::shared_ptr<const std::vector<ShellCommand>>> functions_;
  std::string function_;  // whose body follows
  std::vector<std::pair<std::string, std::optional<ShellVariable>>> locals_;
  int calls_ = 0, ran_ = 0;
  std::size_t loops_ = 0;  // that are run, one in another
  bool has_given_up_ = false;
};

}  // namespace

void read_script_text(const std::string& file, std::string_view text, const LaunchOptions& options, LaunchFiles& launch,
                      Diagnostics& diagnostics) {
  ShellReader reader(options, launch, diagnostics);
  reader.read(file, text);
  reader.finish({file});
}

void read_scripts(const std::vector<std::string>& files, const LaunchOptions& options, LaunchFiles& launch,
                  Diagnostics& diagnostics) {
  ShellReader reader(options, launch, diagnostics);
  for (const std::string& file : files) reader.read(file, read_text(file));
  reader.finish(files);
}

}  // namespace orrery::experiment
