// SPDX-License-Identifier: MIT
#include "study/launch/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"

extern char** environ;

namespace orrery::study {
namespace {

[[noreturn]] void refuse_program(const std::string& program, int reason) {
  throw InputError({program}, fmt::format("cannot be started: {}", std::strerror(reason)));
}

// One that the program writes to, and its end here.
class Pipe {
 public:
  explicit Pipe(const std::string& program) {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) refuse_program(program, errno);
  }
  ~Pipe() {
    close_writing();
    close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_writing() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

pid_t start(std::span<const std::string> words, const Pipe& output, const Pipe& errors) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.writing(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.writing(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;  // what is ignored here would be there, too
  sigemptyset(&usual);
  sigaddset(&usual, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  pid_t process = 0;
  const int failure = posix_spawnp(&process, arguments.front(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) refuse_program(words.front(), failure);
  return process;
}

// Appends what is there to read; whether more may come.
bool read_part(const pollfd& from, std::string& text) {
  if (from.revents == 0) return true;
  std::array<char, 1 << 14> part;
  const ssize_t count = read(from.fd, part.data(), part.size());
  if (count > 0) text.append(part.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

// Until both pipes are at their ends; whether that was within the limit.
bool read_all(const Pipe& output, const Pipe& errors, std::chrono::steady_clock::time_point end, Process& process) {
  std::array<pollfd, 2> open{pollfd{output.reading(), POLLIN, 0}, pollfd{errors.reading(), POLLIN, 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (poll(open.data(), open.size(), static_cast<int>(left.count())) < 0) continue;  // a signal
    if (open[0].fd >= 0 && !read_part(open[0], process.output)) open[0].fd = -1;
    if (open[1].fd >= 0 && !read_part(open[1], process.errors)) open[1].fd = -1;
  }
  return true;
}

// A program may have closed its pipes and live on. Whether it ended before that.
bool wait_until(std::chrono::steady_clock::time_point end, pid_t id, int& status) {
  for (auto pause = std::chrono::microseconds(100);; pause = std::min(2 * pause, std::chrono::microseconds(50'000))) {
    const pid_t found = waitpid(id, &status, WNOHANG);
    if (found == id) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

Process run_process(std::span<const std::string> words, std::chrono::seconds limit) {
  Process process;
  Pipe output(words.front()), errors(words.front());
  const pid_t id = start(words, output, errors);
  output.close_writing();
  errors.close_writing();
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  const bool ended = read_all(output, errors, end, process) && wait_until(end, id, status);
  if (!ended) {
    kill(-id, SIGKILL);
    while (waitpid(id, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (!ended) throw InputError({words.front()}, fmt::format("did not answer within {} s", limit.count()));
  process.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return process;
}

}  // namespace orrery::study
