// SPDX-License-Identifier: MIT
#include "core/files/trace_events.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include <fmt/compile.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"

namespace orrery {
namespace {

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kPiece = std::size_t{1} << 20;

}  // namespace

std::string json_string(std::string_view text) { return dump_json(nlohmann::json(printable(text, kLongestName))); }

std::string trace_time(Duration time) {
  const std::int64_t picoseconds = time.count();
  if (picoseconds % 1000 == 0) return trace_time_of_nanoseconds(static_cast<std::uint64_t>(picoseconds / 1000));
  return fmt::format(FMT_COMPILE("{}.{:06}"), picoseconds / 1'000'000, picoseconds % 1'000'000);
}

std::string trace_time_of_nanoseconds(std::uint64_t nanoseconds) {
  return fmt::format(FMT_COMPILE("{}.{:03}0001"), nanoseconds / 1000, nanoseconds % 1000);
}

Duration enclosing_length(Time start, Time end) {
  constexpr std::int64_t kNanosecond = 1000;
  return kNanosecond *
         Duration(end.time_since_epoch().count() / kNanosecond - start.time_since_epoch().count() / kNanosecond);
}

TraceEvents::TraceEvents(std::function<void(std::string_view)> write) : write_(std::move(write)) {
  text_ = R"({"displayTimeUnit": "ms", "otherData": {"program": "orrery"}, "traceEvents": [)";
}

void TraceEvents::end() {
  text_ += "\n]}\n";
  flush();
}

void TraceEvents::flush() { write_(std::exchange(text_, {})); }

void TraceEvents::process(std::uint64_t process, std::string_view name) {
  begin_event();
  fmt::format_to(std::back_inserter(text_), R"("ph":"M","pid":{},"name":"process_name","args":{{"name":{}}})", process,
                 json_string(name));
  end_event();
  begin_event();
  fmt::format_to(std::back_inserter(text_),
                 R"("ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}})", process);
  end_event();
}

void TraceEvents::thread(std::uint64_t process, std::uint64_t thread, std::string_view name) {
  begin_event();
  fmt::format_to(std::back_inserter(text_), R"("ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}})",
                 process, thread, json_string(name));
  end_event();
  begin_event();
  fmt::format_to(std::back_inserter(text_),
                 R"("ph":"M","pid":{0},"tid":{1},"name":"thread_sort_index","args":{{"sort_index":{1}}})", process,
                 thread);
  end_event();
}

void TraceEvents::slice(const Place& place, std::string_view length, std::string_view name, std::string_view arguments,
                        std::string_view colour) {
  begin_event();
  fmt::format_to(std::back_inserter(text_), FMT_COMPILE(R"("ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{})"),
                 place.process, place.thread, place.time, length, json_string(name));
  if (!colour.empty()) fmt::format_to(std::back_inserter(text_), FMT_COMPILE(R"(,"cname":"{}")"), colour);
  if (!arguments.empty()) fmt::format_to(std::back_inserter(text_), FMT_COMPILE(R"(,"args":{{{}}})"), arguments);
  end_event();
}

void TraceEvents::counter(const Place& place, std::string_view name, std::string_view values) {
  begin_event();
  fmt::format_to(std::back_inserter(text_), FMT_COMPILE(R"("ph":"C","pid":{},"name":{},"ts":{},"args":{{{}}})"),
                 place.process, json_string(name), place.time, values);
  end_event();
}

void TraceEvents::arrow(std::uint64_t number, bool begins, const Place& place, std::string_view name) {
  begin_event();
  fmt::format_to(std::back_inserter(text_),
                 FMT_COMPILE(R"("ph":"{0}","bp":"e","id":{1},"pid":{2},"tid":{3},"ts":{4},"name":{5},"cat":{5})"),
                 begins ? 's' : 'f', number, place.process, place.thread, place.time, json_string(name));
  end_event();
}

void TraceEvents::begin_event() {
  text_ += is_first_ ? "\n{" : ",\n{";
  is_first_ = false;
}

void TraceEvents::end_event() {
  text_ += '}';
  if (text_.size() >= kPiece) flush();
}

}  // namespace orrery
