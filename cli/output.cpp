// SPDX-License-Identifier: MIT
#include "cli/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "cli/extras.h"
#include "cli/terminal.h"
#include "core/files/input_files.h"
#include "core/files/json.h"
#include "report/table.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWarningsShown = 20;

// The message alone, safe for a terminal, coloured where messages are.
class PlainFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& text) override {
    std::string safe = printable_lines({message.payload.data(), message.payload.size()}) + "\n";
    if (has_colours_) safe = coloured_message(safe, kind_of(message.level));
    text.append(safe.data(), safe.data() + safe.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<PlainFormatter>(); }

 private:
  static MessageKind kind_of(spdlog::level::level_enum level) {
    return level == spdlog::level::err    ? MessageKind::kError
           : level == spdlog::level::warn ? MessageKind::kWarning
                                          : MessageKind::kOther;
  }

  const bool has_colours_ = has_colours(STDERR_FILENO);
};

void refuse(const std::string& path, int reason) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code code;
  std::string hint;
  if (reason == ENOENT && !folder.empty() && !std::filesystem::exists(folder, code))
    hint = fmt::format("there is no folder '{0}': mkdir -p {0}", printable(folder, 200));
  if (reason == EISDIR) hint = fmt::format("name a file, such as {}/result.json", printable(path, 200));
  throw InputError({path}, fmt::format("cannot be written: {}", std::strerror(reason)), std::move(hint));
}

std::string time_text(double seconds) {
  return seconds < 100    ? fmt::format("{:.0f} s", seconds)
         : seconds < 6000 ? fmt::format("{:.0f} min", seconds / 60)
                          : fmt::format("{:.0f} h", seconds / 3600);
}

// No less than it is.
std::string at_most_text(double seconds) {
  const double unit = seconds <= 99 ? 1 : seconds <= 99 * 60 ? 60 : 3600;
  return time_text(std::ceil(seconds / unit) * unit);
}

// Says that an answer in the chosen format, whose lines all have an end, is nothing but comments, since it has no
// table.
void warn_without_table(std::string_view formatted) {
  const report::TableFormat format = report::table_format();
  const char comment = format == report::TableFormat::kCsv ? '#' : format == report::TableFormat::kLatex ? '%' : '\0';
  if (comment == '\0' || formatted.empty()) return;
  for (std::size_t at = 0; at < formatted.size(); at = formatted.find('\n', at) + 1)
    if (formatted[at] != comment && formatted[at] != '\n') return;
  spdlog::warn(
      "--format: warning: this answer has no table: all of it is comments of {}\n"
      "  hint: --json FILE writes an answer for other programs",
      report::kTableFormatNames[static_cast<std::size_t>(format)]);
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  constexpr std::array kUnits = {"KB", "MB", "GB", "TB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (size >= 1000 && unit + 1 < kUnits.size()) size /= 1000, ++unit;
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

void start_log(Verbosity verbosity) {
  auto logger = std::make_shared<spdlog::logger>(
      "orrery", std::make_shared<spdlog::sinks::stderr_sink_mt>());  // spdlog owns by shared_ptr
  logger->set_formatter(std::make_unique<PlainFormatter>());
  logger->set_level(verbosity == Verbosity::kQuiet     ? spdlog::level::err
                    : verbosity == Verbosity::kVerbose ? spdlog::level::debug
                                                       : spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void print_warnings(std::span<const Problem> problems) {
  std::vector<Problem> warnings;
  std::ranges::copy_if(problems, std::back_inserter(warnings),
                       [](const Problem& problem) { return problem.severity == Severity::kWarning; });
  const std::size_t shown = std::min(warnings.size(), kWarningsShown);
  for (const Problem& warning : with_hints_once(std::span(warnings).first(shown))) spdlog::warn(to_string(warning));
  if (warnings.size() > shown) spdlog::warn("... and {} more warnings", warnings.size() - shown);
}

void tell_groups(const std::string& file) { spdlog::debug("communicator groups are those of {}", file); }

Progress::Progress(std::string_view what)
    : terminal_(isatty(STDERR_FILENO) == 1), what_(what), first_(Clock::now()), start_(first_), last_(first_) {
  if (!spdlog::should_log(spdlog::level::info)) return;
  beat_ = std::jthread([this](const std::stop_token& stop) {
    const auto pause = terminal_ ? std::chrono::seconds(1) : std::chrono::seconds(60);
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) show(Clock::now());
  });
}

void Progress::operator()(std::string_view what, std::uint64_t done, std::uint64_t total, std::optional<double> share) {
  if (total == 0 || !spdlog::should_log(spdlog::level::info)) return;
  const auto now = Clock::now();
  const std::scoped_lock lock(mutex_);
  if (what != what_ || done < done_) what_ = what, first_ = now, done_at_first_ = done, left_ = {};
  done_ = done;
  total_ = total;
  left_.tell(std::chrono::duration<double>(now - start_).count(),
             share.value_or(static_cast<double>(done) / static_cast<double>(total)));
  if (terminal_ || done < total) show(now);
}

bool Progress::is_seen() const { return terminal_ && spdlog::should_log(spdlog::level::info); }

// The lock is held.
void Progress::show(Clock::time_point now) {
  if (is_left_to_others_) return;
  if (!terminal_) {
    if (now - last_ < std::chrono::minutes(1)) return;
    last_ = now;
    return spdlog::info("{}", state(now));
  }
  if (now - start_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  // The terminal may be gone, which is no reason to end: nothing here throws.
  std::fputs(("\r\x1b[K" + printable(state(now), 500)).c_str(), stderr);
  std::fflush(stderr);
}

std::string Progress::state(Clock::time_point now) const {
  const std::string elapsed = time_text(std::chrono::duration<double>(now - start_).count());
  if (total_ == 0) return fmt::format("{}, {} so far", what_, elapsed);
  if (!terminal_) return fmt::format("{} of {} {}{}, {} so far", done_, total_, what_, pace(now), elapsed);
  constexpr std::uint64_t kWidth = 30;
  const std::uint64_t filled = kWidth * std::min(done_, total_) / total_;
  return fmt::format("{} [{:#<{}}{:.<{}}] {:3} %{}, {} so far", what_, "", filled, "", kWidth - filled,
                     100 * done_ / total_, pace(now), elapsed);
}

// ", 3.2 a second, at most 5 min left": of what was done since the first look.
std::string Progress::pace(Clock::time_point now) const {
  const double elapsed = std::chrono::duration<double>(now - first_).count();
  if (done_ <= done_at_first_ || elapsed < 1) return {};
  std::string text = fmt::format(", {:.3g} a second", static_cast<double>(done_ - done_at_first_) / elapsed);
  if (const auto most = left_.at_most(std::chrono::duration<double>(now - start_).count()))
    text += fmt::format(", at most {} left", at_most_text(*most));
  return text;
}

std::string Progress::line() {
  const std::scoped_lock lock(mutex_);
  return state(Clock::now());
}

void Progress::clear() {
  if (beat_.joinable()) {
    beat_.request_stop();
    beat_.join();
  }
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

Failure failure_of(std::span<const Problem> problems) {
  Failure failure;
  std::ranges::copy_if(problems, std::back_inserter(failure.problems),
                       [](const Problem& problem) { return problem.severity == Severity::kError; });
  if (!failure.problems.empty() && failure.problems.front().out_of_memory) failure.exit_code = kOutOfMemory;
  return failure;
}

Failure failure_of(const InputError& error) { return failure_of(error.problems()); }

// The hint is the end of the report.
Failure failure_of(const StuckError& error) {
  constexpr std::string_view kHint = "\n  hint: ";
  const std::string_view report = error.what();
  const std::size_t end = std::min(report.rfind(kHint), report.size());
  Problem problem{Severity::kError, {}, std::string(report.substr(0, end)), {}};
  if (end < report.size()) problem.hint = report.substr(end + kHint.size());
  problem.rank = error.rank();
  problem.node = error.node();
  problem.proposals = error.proposals();
  return {kStuck, {std::move(problem)}};
}

namespace {

Json mending_json(const Proposal& proposal) {
  Json edits = Json::array();
  for (const ProposedEdit& edit : proposal.edits) {
    Json& json = edits.emplace_back(Json{{"edit", edit.kind}, {"rank", edit.rank}});
    if (edit.node) json["node"] = *edit.node;
    if (edit.other) json["other"] = *edit.other;
    json["text"] = edit.text;
  }
  return {{"tried", proposal.is_tried}, {"edits", std::move(edits)}};
}

}  // namespace

Json to_json(const Problem& problem) {
  Json json = {{"message", problem.message}};
  if (problem.severity == Severity::kWarning) json["severity"] = "warning";
  if (!problem.hint.empty()) json["hint"] = problem.hint;
  if (!problem.where.file.empty()) json["file"] = problem.where.file;
  if (problem.where.line > 0) json["line"] = problem.where.line;
  if (problem.where.line > 0 && problem.where.column > 0) json["column"] = problem.where.column;
  if (problem.rank) json["rank"] = *problem.rank;
  if (!problem.node.empty()) json["node"] = problem.node;
  for (const Proposal& proposal : problem.proposals) json["mendings"].push_back(mending_json(proposal));
  return json;
}

Json to_json(const Failure& failure) {
  Json json = {{"exit_code", failure.exit_code}};
  if (failure.problems.empty()) return json;
  json.update(to_json(failure.problems.front()));
  if (failure.problems.size() == 1) return json;
  Json& all = json["problems"] = Json::array();
  for (const Problem& problem : failure.problems) all.push_back(to_json(problem));
  return json;
}

Page page_of(std::string title, std::string_view kind, const Json& document) {
  return {std::move(title), {{"kind", kind}, {"document", document}}};
}

void Outputs::check(std::span<const std::string> files, FolderUse use) const {
  if (json == "-" && out.empty() && report::table_format() != report::TableFormat::kText)
    throw InputError({"--format"}, "is of the tables, in whose place --json - prints the document",
                     "leave one of them out");
  check_writable(json);
  if (!out.empty()) make_folder(out, files, use);
  if (!out.empty()) report::set_screen_width(report::kScreenWidth);  // what is kept does not depend on the terminal
  check_file("--html", html);
  refuse_same_file({"--json", json}, {"--html", html});
  if (out.empty()) return;
  for (const char* file : {"/result.json", "/summary.txt"}) check_writable(out + file);
  std::vector<std::string> all(files.begin(), files.end());
  all.insert(all.end(), {"result.json", "summary.txt"});
  for (const std::string& file : all) {
    refuse_same_file({"--json", json}, {"--out", out + "/" + file});
    refuse_same_file({"--html", html}, {"--out", out + "/" + file});
  }
}

namespace {

// The document and the text of an answer, both or neither.
void write_answer(const std::string& folder, const Answer& answer, const std::string& text) {
  const std::string document = folder + "/result.json", beside = folder + "/" + answer.text_name;
  OutputFiles files;
  files.add(document, [&](OutputFile& file) { file.write(json_text(answer.document)); });
  files.add(beside, [&](OutputFile& file) { file.write(text); });
  files.commit(document);
  for (const std::string& file : {document, beside}) tell_written(file, std::filesystem::file_size(file));
}

}  // namespace

void Outputs::give(const Answer& answer) const {
  if (!json.empty() && json != "-") write_json(json, answer.document);
  const bool is_text = report::table_format() == report::TableFormat::kText;
  const std::string text = is_text ? report::sentences_on_screen(answer.text) + answer.as_it_is
                                   : report::in_table_format(answer.text + answer.as_it_is);
  warn_without_table(text);
  if (!out.empty()) write_answer(out, answer, text);
  std::optional<InputError> unwritten;  // told behind the answer, which took long
  try {
    if (wants_page() && answer.page) write_file(html, extras().page_text(*answer.page));
  } catch (const InputError& error) {
    unwritten = error;
  }
  if (json == "-")
    write_json(json, answer.document);
  else
    print_answer(text, is_text);
  if (unwritten) throw InputError(*unwritten);
}

void refuse_table_format(std::string_view what) {
  if (report::table_format() == report::TableFormat::kText) return;
  throw InputError({"--format"}, fmt::format("is of tables, and {} prints none", what), "leave one of them out");
}

void refuse_same_file(const OutputOption& one, const OutputOption& other) {
  if (one.second.empty() || other.second.empty() || one.second == "-" || other.second == "-") return;
  const auto target = replaceable_file(one.second), other_target = replaceable_file(other.second);
  if (!target || !other_target) return;
  const auto place = [](const std::string& path) {
    std::error_code code;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path), code);
  };
  if (place(*target) != place(*other_target)) return;
  throw InputError({one.second}, fmt::format("{} and {} would both write this file", one.first, other.first),
                   "give each a file of its own");
}

void check_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  struct stat found {};
  const bool there = stat(path.c_str(), &found) == 0;
  if (there && S_ISDIR(found.st_mode)) return refuse(path, EISDIR);
  note_output(path);
  if (there && access(path.c_str(), W_OK) == 0) return;
  if (there || errno != ENOENT) return refuse(path, errno);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) refuse(path, errno);
}

void check_file(std::string_view option, const std::string& path) {
  if (path == "-")
    throw InputError({std::string(option)}, "'-' is no file, and standard output has the answer", "name a file");
  check_writable(path);
}

void check_configuration(std::string_view option, const std::string& path) {
  if (path.ends_with(".gz"))
    throw InputError({std::string(option)},
                     fmt::format("'{}' would be compressed, and configurations are read as they are", printable(path)),
                     "leave out the .gz");
  if (path != "-") check_writable(path);
}

void make_folder(const std::string& folder, std::span<const std::string> files, FolderUse use) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) throw InputError({folder}, fmt::format("the folder cannot be made: {}", code.message()));
  lock_folder(folder, use);
  for (const std::string& file : files) check_writable(folder + "/" + file);
}

namespace {

void print_safe(const std::string& safe) {
  errno = 0;
  const bool written = std::fwrite(safe.data(), 1, safe.size(), stdout) == safe.size();
  if (std::fflush(stdout) != 0 || !written) refuse("standard output", errno);
}

}  // namespace

void print_text(const std::string& text, TextKind kind) { print_safe(printable_lines(text, kind)); }

void print_answer(const std::string& text, bool is_for_people) {
  const std::string safe = printable_lines(text);
  print_safe(is_for_people && has_colours(STDOUT_FILENO) ? coloured_answer(safe) : safe);
}

void write_file(const std::string& path, const std::string& text, Telling telling, Durability durability) {
  OutputFile file(path, durability);
  file.write(text);
  file.close();
  if (telling == Telling::kEach) tell_written(path, file.size());
}

std::string json_text(const Json& document) { return dump_json(document, 2) + "\n"; }

void write_json(const std::string& path, const Json& document) {
  if (path == "-") return print_text(json_text(document), TextKind::kJson);
  write_file(path, json_text(document));
}

void tell_written(const std::string& path, std::uint64_t bytes) {
  spdlog::info("wrote {} ({})", printable(path), size_text(bytes));
}

}  // namespace orrery::cli
