// SPDX-License-Identifier: MIT
#include "study/launch/array.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/files/read_file.h"

namespace orrery::study {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Results are looked for often at the beginning, later so that little of the time goes by unseen. Slurm is asked more
// seldom, since many ask one controller.
constexpr milliseconds kFirstLook = milliseconds(200), kLastLook = seconds(2);
constexpr milliseconds kFirstQuery = milliseconds(500), kLastQuery = seconds(5);
constexpr seconds kPatience = seconds(600);
constexpr seconds kWaiting = seconds(3);  // before it is told
constexpr std::size_t kLogLines = 10;

// The last lines of a task's log, as far as they are few.
std::string last_lines(const std::string& file) {
  constexpr std::size_t kMost = 4096;
  const std::optional<std::string> text = ending_of_file(file, kMost);
  if (!text) return "  (there is none)";
  std::vector<std::string> lines;
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) lines.push_back("  " + printable(line, 400));
  if (lines.empty()) return "  (it is empty)";
  if (lines.size() > kLogLines) lines.erase(lines.begin(), lines.end() - kLogLines);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace

bool ArrayWatch::wait(const Collect& collect, bool is_beginning) {
  missing_ = collect();
  if (nothing_missing()) return true;
  const bool is_first = tasks_.empty();
  tasks_.resize(missing_.size());
  if (is_first) adopt(tasks_of(array_.name));
  if (is_stopped_()) return stop();
  if (is_first) submit_missing(is_beginning);
  try {
    return watch(collect);
  } catch (const InputError&) {  // as of a full disk; the tasks could do nothing of use any more
    try_cancel();
    throw;
  }
}

bool ArrayWatch::watch(const Collect& collect) {
  for (auto asked = Clock::now();; std::this_thread::sleep_for(part_of_time(20, kFirstLook, kLastLook))) {
    missing_ = collect();
    if (nothing_missing()) return true;
    if (is_stopped_()) return stop();
    if (Clock::now() - asked < part_of_time(10, kFirstQuery, kLastQuery)) continue;
    query(collect);
    asked = Clock::now();
  }
}

void ArrayWatch::end() {
  if (!alive_.empty()) try_cancel();
}

// Part of the time since the last submission, within limits.
ArrayWatch::Clock::duration ArrayWatch::part_of_time(int divisor, Clock::duration least, Clock::duration most) const {
  return std::clamp((Clock::now() - begun_) / divisor, least, most);
}

bool ArrayWatch::nothing_missing() const {
  return std::ranges::all_of(missing_, [](std::size_t count) { return count == 0; });
}

void ArrayWatch::adopt(std::vector<SlurmTask> alive) {
  alive_ = std::move(alive);
  for (const SlurmTask& found : alive_)
    if (found.index < tasks_.size()) tasks_[found.index] = {found.job, true, true, missing_[found.index]};
  if (!alive_.empty())
    tell_(fmt::format("{} of job {} wait or run already", counted(alive_.size(), "task"), alive_.front().job));
}

void ArrayWatch::submit_missing(bool with_others) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if ((missing_[i] > 0 || with_others) && !tasks_[i].is_under_way && !given_up(tasks_[i])) chosen.push_back(i);
  if (chosen.empty()) return;
  const std::string job = submit(array_, chosen);
  for (const std::size_t i : chosen) {
    tasks_[i].job = job;
    tasks_[i].is_under_way = true;
    tasks_[i].is_adopted = false;
    tasks_[i].missing = missing_[i];
  }
  tell_(fmt::format("submitted {} to Slurm as job {}", counted(chosen.size(), "task"), job));
  begun_ = Clock::now();
}

// A controller that restarts does not answer for a while.
void ArrayWatch::query(const Collect& collect) {
  try {
    alive_ = tasks_of(array_.name);
    missing_ = collect();  // what has ended has written all before
    take_ended();
    submit_missing();
    answered_ = Clock::now();
    told_silence_ = false;
  } catch (const InputError& error) {
    if (error.problems().front().where.file != "squeue" && error.problems().front().where.file != "sbatch") throw;
    if (Clock::now() - answered_ > kPatience) throw;
    if (!told_silence_) tell_(fmt::format("Slurm does not answer, which is tried again: {}", error.what()));
    told_silence_ = true;
    return;
  }
  tell_waiting();
  const bool any_under_way = std::ranges::any_of(tasks_, &Task::is_under_way);
  if (!any_under_way && !nothing_missing()) fail();
}

void ArrayWatch::take_ended() {
  std::vector<bool> is_alive(tasks_.size());
  for (const SlurmTask& found : alive_)
    if (found.index < is_alive.size()) is_alive[found.index] = true;
  std::vector<std::size_t> ended;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    if (!task.is_under_way || is_alive[i]) continue;
    task.is_under_way = false;
    if (missing_[i] == 0) continue;
    if (missing_[i] < task.missing)
      task.failures = 0;
    else if (!task.is_adopted)
      ++task.failures;
    ended.push_back(i);
  }
  if (!ended.empty()) tell_ended(ended);
}

void ArrayWatch::tell_ended(const std::vector<std::size_t>& ended) {
  const std::size_t first = ended.front();
  const std::string end = end_of(tasks_[first].job, first);
  tell_(fmt::format("{} ended before {} points were done; the first is task {} of job {}{}",
                    counted(ended.size(), "task"), ended.size() > 1 ? "their" : "its", first, tasks_[first].job,
                    end.empty() ? std::string() : fmt::format(" ({})", end)));
}

// Tells why nothing moves, if the queue knows.
void ArrayWatch::tell_waiting() {
  const bool all_wait = !alive_.empty() && std::ranges::all_of(alive_, &SlurmTask::waits);
  if (!all_wait) {
    waiting_since_.reset();
    return;
  }
  if (!waiting_since_) waiting_since_ = Clock::now();
  const std::string& reason = alive_.front().reason;
  if (Clock::now() - *waiting_since_ < kWaiting || reason == told_reason_ || reason == "None") return;
  told_reason_ = reason;
  tell_(fmt::format("{} {}: {}", counted(alive_.size(), "task"), alive_.size() > 1 ? "wait" : "waits",
                    printable(reason)));
}

void ArrayWatch::fail() const {
  const auto task = std::ranges::find_if(tasks_, [this](const Task& one) { return given_up(one); });
  const auto index = static_cast<std::size_t>(task - tasks_.begin());
  const std::string log = log_of(array_, task->job, index);
  const std::string end = end_of(task->job, index);
  throw InputError({log},
                   fmt::format("task {} of job {} ended{} without a result, as {} in a row; its log ends with\n{}",
                               index, task->job, end.empty() ? std::string() : fmt::format(" ({})", end),
                               counted(task->failures, "task"), last_lines(log)),
                   fmt::format("what every task runs: {}", printable(array_.script, 4096)));
}

bool ArrayWatch::stop() {
  try_cancel();
  return false;
}

void ArrayWatch::try_cancel() {
  try {
    cancel(array_.name);
  } catch (const InputError& error) {
    tell_(fmt::format("the tasks could not be cancelled: {}; later: scancel --name={}", error.what(), array_.name));
  }
}

std::size_t end_array(const SlurmArray& array, const std::function<bool()>& is_stopped) {
  const std::size_t found = tasks_of(array.name).size();
  if (found == 0) return 0;
  cancel(array.name);
  const auto end = Clock::now() + kPatience;
  while (!tasks_of(array.name).empty()) {
    if (is_stopped()) break;
    if (Clock::now() > end) throw InputError({"scancel"}, fmt::format("the tasks of {} have not ended", array.name));
    std::this_thread::sleep_for(kFirstQuery);
  }
  return found;
}

}  // namespace orrery::study
