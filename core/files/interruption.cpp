// SPDX-License-Identifier: MIT
#include "core/files/interruption.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <utility>

#include "core/assert.h"

namespace orrery {
namespace {

constexpr std::array kPolite = {SIGINT, SIGTERM};
constexpr std::array kWatched = {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGQUIT, SIGXCPU};

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kWatched) sigaddset(&set, signal);
  return set;
}

// Held by a thread that gets no watched signal meanwhile. So the handler never waits for the thread that it runs in,
// and may look at whatever the lock guards.
class SignalLock {
 public:
  SignalLock() {
    const sigset_t watched = watched_signals();
    pthread_sigmask(SIG_BLOCK, &watched, &before_);
    while (taken().test_and_set(std::memory_order_acquire)) {
    }
  }
  ~SignalLock() {
    taken().clear(std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalLock(const SignalLock&) = delete;
  SignalLock& operator=(const SignalLock&) = delete;

 private:
  static std::atomic_flag& taken() {
    static constinit std::atomic_flag flag;
    return flag;
  }
  sigset_t before_{};
};

// Signals that the program has heard; one state for the whole process. Never destroyed: a signal may come at any time.
struct Signals {
  bool is_heard = false;       // by an Interruption
  std::atomic<int> heard = 0;  // the signal that it was told of
  unsigned delays = 0;         // of WithoutInterruption
  int delayed = 0;             // the signal that came meanwhile
};

Signals& signals() {
  static constinit Signals all;
  return all;
}

}  // namespace

// List of all unfinished outputs.
class UnfinishedList {
 public:
  static std::list<Unfinished::Entry>& all() {
    static auto& list = *new std::list<Unfinished::Entry>();
    return list;
  }

  // Calls async-signal-safe functions only.
  static void remove() {
    for (const Unfinished::Entry& entry : all()) {
      if (entry.kind == Unfinished::Kind::kFile) {
        unlink(entry.path.c_str());
        continue;
      }
      const pid_t child = _Fork();
      if (child == 0) {
        execl("/bin/rm", "rm", "-rf", "--", entry.path.c_str(), nullptr);
        _exit(1);
      }
      if (child > 0) waitpid(child, nullptr, 0);
    }
  }
};

namespace {

void end_by(int signal) {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

bool is_polite(int signal) {
  for (const int polite : kPolite)
    if (signal == polite) return true;
  return false;
}

void handle(int signal) {
  const SignalLock lock;
  Signals& state = signals();
  if (state.is_heard && state.heard == 0 && is_polite(signal)) {
    state.heard = signal;
  } else if (state.delays > 0) {
    state.delayed = signal;
  } else {
    UnfinishedList::remove();
    end_by(signal);
  }
}

}  // namespace

void watch_interruptions() {
  UnfinishedList::all();  // made before a signal can come
  for (const int signal : kWatched) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action.sa_handler = handle;
    action.sa_mask = watched_signals();
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

Unfinished::Unfinished(std::string path, Kind kind) {
  const SignalLock lock;
  auto& all = UnfinishedList::all();
  entry_ = all.insert(all.end(), Entry{std::move(path), kind});
}

Unfinished::~Unfinished() {
  const SignalLock lock;
  UnfinishedList::all().erase(entry_);
}

Interruption::Interruption() {
  const SignalLock lock;
  ORRERY_ASSERT(!signals().is_heard);
  signals().is_heard = true;
}

Interruption::~Interruption() {
  const SignalLock lock;
  signals().is_heard = false;
  signals().heard = 0;
}

bool Interruption::came() const { return signals().heard != 0; }

int Interruption::exit_code() const { return 128 + signals().heard; }

WithoutInterruption::WithoutInterruption() {
  const SignalLock lock;
  ++signals().delays;
}

WithoutInterruption::~WithoutInterruption() {
  int signal = 0;
  {
    const SignalLock lock;
    if (--signals().delays == 0) signal = std::exchange(signals().delayed, 0);
  }
  if (signal != 0) raise(signal);
}

}  // namespace orrery
