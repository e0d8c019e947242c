// SPDX-License-Identifier: MIT
// Writer of trace events in JSON, which Perfetto (ui.perfetto.dev) and Chrome open: processes with threads, slices that
// nest on a thread, counters, and arrows between slices. The text is handed over piece by piece.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace orrery {

// A text in quotation marks, safe and of at most 200 characters.
std::string json_string(std::string_view text);

// Microseconds as text, which is what the format has: "12.000345". Perfetto takes them for floating-point numbers and
// cuts them off behind the nanosecond, and it drops slices of a thread that then overlap by one: whole nanoseconds have
// a tenth of a picosecond on top, so that they stay what they are.
std::string trace_time(Duration time);
std::string trace_time_of_nanoseconds(std::uint64_t nanoseconds);
// Length of a slice that others lie in, in whole nanoseconds: ends that are cut off like the others' starts.
Duration enclosing_length(Time start, Time end);

class TraceEvents {
 public:
  struct Place {
    std::uint64_t process = 0;
    std::uint64_t thread = 0;
    std::string_view time;  // of trace_time(), as are lengths
  };

  // `write` gets the beginning at once.
  explicit TraceEvents(std::function<void(std::string_view)> write);
  // No more events: the file is whole.
  void end();
  // Hands over what is still kept.
  void flush();

  // Processes are shown in the order of their numbers, threads likewise.
  void process(std::uint64_t process, std::string_view name);
  void thread(std::uint64_t process, std::uint64_t thread, std::string_view name);
  // `arguments`: members of a JSON object, or nothing. `colour`: one of Chrome's names, or nothing.
  void slice(const Place& place, std::string_view length, std::string_view name, std::string_view arguments = {},
             std::string_view colour = {});
  // `values`: members of a JSON object, one for each line of the counter.
  void counter(const Place& place, std::string_view name, std::string_view values);
  // An arrow from a slice to another, which have its number.
  void arrow(std::uint64_t number, bool begins, const Place& place, std::string_view name);

 private:
  void begin_event();
  void end_event();

  std::function<void(std::string_view)> write_;
  std::string text_;
  bool is_first_ = true;
};

}  // namespace orrery
