// SPDX-License-Identifier: MIT
// Signals that ask the program to end, so that it leaves no half of a file behind and may say what it has. SIGINT and
// SIGTERM ask politely; SIGHUP, after which nobody listens, SIGPIPE, SIGQUIT and SIGXCPU end it. Any thread may use all
// of this.
#pragma once

#include <cstdint>
#include <list>
#include <string>

namespace orrery {

// From the beginning of main() on: a signal removes what is unfinished and ends the program as it ends others, which
// shells tell as 128 plus its number. One that is ignored, as SIGHUP is below nohup, stays ignored.
void watch_interruptions();

// A file or folder that is removed if a signal ends the program while this lives.
class Unfinished {
 public:
  enum class Kind : std::uint8_t { kFile, kFolder };
  explicit Unfinished(std::string path, Kind kind = Kind::kFile);
  ~Unfinished();
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

 private:
  struct Entry {
    std::string path;
    Kind kind;
  };
  friend class UnfinishedList;
  std::list<Entry>::iterator entry_;
};

// While one lives the first polite signal only says that it came, and whoever made this ends in order; the second one
// ends the program. There is one at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool came() const;
  // Exit code of a program that the signal ends: 128 plus the signal's number.
  int exit_code() const;
};

// While one lives no signal ends the program; the last that came does so then. For steps that belong together and take
// a moment.
class WithoutInterruption {
 public:
  WithoutInterruption();
  ~WithoutInterruption();
  WithoutInterruption(const WithoutInterruption&) = delete;
  WithoutInterruption& operator=(const WithoutInterruption&) = delete;
};

}  // namespace orrery
