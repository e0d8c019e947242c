// SPDX-License-Identifier: MIT
#include "workload/import/kineto/events.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "workload/import/decimal.h"
#include "workload/import/kineto/messages.h"

namespace orrery::workload {
namespace {

// Position of the parser.
enum class Level : std::uint8_t {
  kTrace,
  kEvents,
  kEvent,
  kArgs,
  kDistributed,
  kGroups,
  kGroup,
  kRanks,
  kShapes,
  kTypes,
  kValues,
  kDevices,
  kDevice,
  kOther
};

// A number or a string of the input; the other one is empty.
struct Scalar {
  std::string text;
  std::optional<std::int64_t> integer{};
  bool is_number = false;
};

// One event as it is being read.
struct Event {
  std::string phase, category, name, thread, process;
  std::optional<KinetoTime> begin, duration;
  std::optional<std::int64_t> stream, device, correlation, external, wait_on_stream, recorded_by, record_function;
  std::vector<std::int64_t> elements;  // of each argument, of a list of tensors their sum; -1: without dimensions
  std::vector<std::string> types;      // of the arguments
  std::vector<std::string> values;     // likewise
  std::vector<std::vector<std::int64_t>> shapes;  // likewise; of a list of tensors none
  KinetoMessage message;
};

// The arguments of events that are read.
struct NamedText {
  std::string_view name;
  std::string KinetoMessage::*member;
};
constexpr std::array<NamedText, 5> kTexts = {{{"Collective name", &KinetoMessage::collective},
                                              {"dtype", &KinetoMessage::type},
                                              {"Process Group Name", &KinetoMessage::group},
                                              {"Process Group Description", &KinetoMessage::description},
                                              {"Process Group Ranks", &KinetoMessage::ranks}}};

struct NamedNote {
  std::string_view name;
  std::int64_t KinetoMessage::*member;
};
constexpr std::array<NamedNote, 7> kNotes = {{{"In msg nelems", &KinetoMessage::input_elements},
                                              {"Out msg nelems", &KinetoMessage::output_elements},
                                              {"Group size", &KinetoMessage::group_size},
                                              {"Global rank start", &KinetoMessage::first_rank},
                                              {"Global rank stride", &KinetoMessage::rank_stride},
                                              {"Src Rank", &KinetoMessage::source},
                                              {"Dst Rank", &KinetoMessage::destination}}};

struct NamedNumber {
  std::string_view name;
  std::optional<std::int64_t> Event::*member;
};
constexpr std::array<NamedNumber, 7> kNumbers = {{{"stream", &Event::stream},
                                                  {"device", &Event::device},
                                                  {"correlation", &Event::correlation},
                                                  {"External id", &Event::external},
                                                  {"wait_on_stream", &Event::wait_on_stream},
                                                  {"wait_on_cuda_event_record_corr_id", &Event::recorded_by},
                                                  {"Record function id", &Event::record_function}}};

bool is_operation(std::string_view category) {
  return category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset" || category == "Kernel" ||
         category == "Memcpy" || category == "Memset";
}

bool is_host_call(std::string_view category) {
  return category == "cuda_runtime" || category == "cuda_driver" || category == "hip_runtime" ||
         category == "hip_driver" || category == "Runtime";
}

bool is_host_operator(std::string_view category) { return category == "cpu_op" || category == "Operator"; }

// Time up to which no sum or difference of times overflows; 2^61 ns are 73 years.
constexpr KinetoTime kFarthest = KinetoTime{1} << 61;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_of_c10d(std::string_view name) {
  return name == "record_param_comms" || name.starts_with("nccl:") || name.starts_with("c10d::");
}

class KinetoHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  KinetoHandler(const std::string& file, std::string_view text, KinetoDetail detail)
      : file_(file), text_(text), keeps_operators_(detail == KinetoDetail::kOperators) {}

  KinetoTrace take() {
    if (!has_events_ && has_nodes_)
      throw InputError({file_},
                       "this is a PyTorch execution trace of the host's operators, without the times of the device; "
                       "expected a profile of torch.profiler",
                       "give the Kineto profile of the same step, too");
    if (!has_events_)
      throw InputError({file_}, "no traceEvents",
                       "expected a profile of torch.profiler: {\"traceEvents\": [...], ...}");
    return std::move(trace_);
  }

  bool null() override { return true; }
  bool boolean(bool value) override {
    if (is_of_ranks()) refuse_number(value ? "true" : "false");
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool number_integer(number_integer_t value) override { return scalar({std::to_string(value), value, true}); }
  bool number_unsigned(number_unsigned_t value) override {
    std::optional<std::int64_t> integer;
    if (value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      integer = static_cast<std::int64_t>(value);
    return scalar({std::to_string(value), integer, true});
  }
  bool number_float(number_float_t, const string_t& digits) override { return scalar({digits, {}, true}); }
  bool string(string_t& value) override {
    if (level() == Level::kOther) return true;
    return scalar({std::move(value), {}, false});
  }
  bool key(string_t& value) override {
    if (level() == Level::kOther) return true;
    key_ = std::move(value);
    if (level() == Level::kTrace && (key_ == "traceEvents" || key_ == "distributedInfo")) once(key_);
    if (is_of_ranks()) once("distributedInfo." + key_);
    return true;
  }

  bool start_object(std::size_t) override {
    if (is_of_ranks()) refuse_number("a map");
    switch (level()) {
      case Level::kEvents:
        event_ = {};
        return push(Level::kEvent);
      case Level::kEvent:
        return push(key_ == "args" ? Level::kArgs : Level::kOther);
      case Level::kDevices:
        return push(Level::kDevice);
      case Level::kGroups:
        group_name_.clear();
        group_ranks_.clear();
        return push(Level::kGroup);
      case Level::kTrace:
        if (levels_.empty()) return push(Level::kTrace);
        return push(key_ == "distributedInfo" ? Level::kDistributed : Level::kOther);
      default:
        return push(Level::kOther);
    }
  }

  bool start_array(std::size_t) override {
    if (is_of_ranks()) refuse_number("a list");
    has_nodes_ = has_nodes_ || (level() == Level::kTrace && key_ == "nodes");
    if (levels_.empty() || (level() == Level::kTrace && key_ == "traceEvents")) {
      has_events_ = true;
      return push(Level::kEvents);
    }
    if (level() == Level::kShapes) return start_shape();
    if (level() == Level::kArgs && key_ == "Input Dims" && has_arguments()) return start_shape();
    if (level() == Level::kArgs && key_ == "Input type" && has_arguments()) return push(Level::kTypes);
    if (level() == Level::kArgs && key_ == "Concrete Inputs" && has_arguments()) return push(Level::kValues);
    if (level() == Level::kTrace && key_ == "deviceProperties") return push(Level::kDevices);
    if (level() == Level::kDistributed && key_ == "pg_config") return push(Level::kGroups);
    if (level() == Level::kGroup && key_ == "ranks") {
      group_ranks_ = "[";
      return push(Level::kRanks);
    }
    return push(Level::kOther);
  }

  bool end_object() override {
    if (level() == Level::kEvent) finish_event();
    if (level() == Level::kGroup && !group_name_.empty() && !group_ranks_.empty())
      trace_.group_ranks[group_name_] = group_ranks_;
    return pop();
  }

  bool end_array() override {
    if (level() == Level::kRanks) group_ranks_ += "]";
    if (level() == Level::kShapes) end_shape();
    return pop();
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    throw not_json(file_, text_, position, json_reason(error));
  }

 private:
  Level level() const { return levels_.empty() ? Level::kTrace : levels_.back(); }
  bool push(Level level) {
    levels_.push_back(level);
    return true;
  }
  bool pop() {
    levels_.pop_back();
    return true;
  }

  // True of events whose arguments are kept.
  bool has_arguments() const {
    return is_of_c10d(event_.name) || (keeps_operators_ && is_host_operator(event_.category));
  }

  // "Input Dims" are a list of arguments, each a list of dimensions, or of lists of them where it is a list of tensors.
  bool start_shape() {
    if (++shape_depth_ == 2) {
      event_.elements.push_back(-1);
      event_.shapes.emplace_back();
    }
    product_ = -1;
    return push(Level::kShapes);
  }

  void end_shape() {
    if (shape_depth_-- >= 2 && product_ >= 0) {
      std::int64_t& elements = event_.elements.back();
      elements = product_ > kMostElements - std::max<std::int64_t>(elements, 0)
                     ? kMostElements
                     : product_ + std::max<std::int64_t>(elements, 0);
    }
    product_ = -1;
  }

  void dimension(std::optional<std::int64_t> size) {
    if (shape_depth_ < 2 || !size || *size < 0) return;
    if (shape_depth_ == 2) event_.shapes.back().push_back(*size);
    product_ = std::abs(product_);
    product_ = *size > 0 && product_ > kMostElements / *size ? kMostElements : product_ * *size;
  }

  bool scalar(Scalar value) {
    switch (level()) {
      case Level::kShapes:
        dimension(value.integer);
        break;
      case Level::kTypes:
        event_.types.push_back(std::move(value.text));
        break;
      case Level::kValues:
        event_.values.push_back(std::move(value.text));
        break;
      case Level::kDevice:
        if (key_ == "name" && trace_.device.empty()) trace_.device = std::move(value.text);
        break;
      case Level::kTrace:
        if (key_ == "baseTimeNanoseconds") {
          if (const std::optional<std::int64_t> base = integer(value)) trace_.base = *base;
        }
        break;
      case Level::kEvent:
        event_field(std::move(value));
        break;
      case Level::kArgs:
        argument(std::move(value));
        break;
      case Level::kDistributed:
        if (key_ == "rank") trace_.rank = whole(value);
        if (key_ == "world_size") trace_.world = whole(value);
        break;
      case Level::kGroup:
        if (key_ == "pg_name")
          group_name_ = std::move(value.text);
        else if (key_ == "ranks")
          group_ranks_ = std::move(value.text);
        break;
      case Level::kRanks:
        group_ranks_ += (group_ranks_.size() > 1 ? ", " : "") + value.text;
        break;
      default:
        break;
    }
    return true;
  }

  // Throws InputError where the key was there before.
  void once(const std::string& key) {
    if (!begun_.insert(key).second)
      throw InputError({file_}, fmt::format("has '{}' twice", printable(key)),
                       "is it two profiles in one file? give each its own");
  }

  // True of the values of "rank" and "world_size".
  bool is_of_ranks() const { return level() == Level::kDistributed && (key_ == "rank" || key_ == "world_size"); }

  [[noreturn]] void refuse_number(std::string_view found) const {
    throw InputError({file_}, fmt::format("'distributedInfo.{}' is {}; a whole number is expected", key_, found),
                     "\"distributedInfo\": {\"rank\": 0, \"world_size\": 8} says it of the first of 8 ranks");
  }

  // A whole number; nothing of an empty text. Throws InputError for what is no number.
  std::optional<std::int64_t> whole(const Scalar& value) const {
    const std::optional<std::int64_t> number = integer(value);
    if (!number && !value.text.empty())
      refuse_number(value.is_number ? printable(value.text, 60) : fmt::format("'{}'", printable(value.text, 60)));
    return number;
  }

  // Some versions write numbers as strings.
  static std::optional<std::int64_t> integer(const Scalar& value) {
    if (value.integer) return value.integer;
    std::int64_t result = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto [stop, error] = std::from_chars(value.text.data(), end, result);
    return error == std::errc() && stop == end ? std::optional(result) : std::nullopt;
  }

  void event_field(Scalar value) {
    if (key_ == "ph")
      event_.phase = std::move(value.text);
    else if (key_ == "cat")
      event_.category = std::move(value.text);
    else if (key_ == "name")
      event_.name = std::move(value.text);
    else if (key_ == "tid")
      event_.thread = std::move(value.text);
    else if (key_ == "pid")
      event_.process = std::move(value.text);
    else if (key_ == "ts")
      event_.begin = thousandths(value.text);
    else if (key_ == "dur")
      event_.duration = thousandths(value.text);
  }

  void argument(Scalar value) {
    if (const auto text = std::ranges::find(kTexts, key_, &NamedText::name); text != kTexts.end())
      event_.message.*text->member = std::move(value.text);
    else if (const auto note = std::ranges::find(kNotes, key_, &NamedNote::name); note != kNotes.end())
      event_.message.*note->member = integer(value).value_or(-1);
    else if (const auto number = std::ranges::find(kNumbers, key_, &NamedNumber::name); number != kNumbers.end())
      event_.*number->member = integer(value);
  }

  void finish_event() {
    const std::uint64_t index = events_++;
    if (event_.phase != "X") return;
    if (is_operation(event_.category)) return add_operation(index);
    if (is_host_call(event_.category)) return add_call();
    if (event_.category == "cuda_sync") return add_wait();
    if (event_.category == "python_function") trace_.has_stacks = true;
    if (!event_.begin || *event_.begin > kFarthest || *event_.begin < -kFarthest) return;
    if (event_.category == "user_annotation" && event_.name.starts_with("ProfilerStep"))
      trace_.steps.push_back({*event_.begin, end_of_event()});
    if (keeps_operators_ && is_host_operator(event_.category))
      trace_.operators.push_back(
          {*event_.begin, end_of_event(), event_.thread, event_.name, event_.shapes, event_.types, event_.values});
    if (is_of_c10d(event_.name)) add_host_operator();
  }

  KinetoTime end_of_event() const {
    const KinetoTime begin = *event_.begin;
    const KinetoTime duration = std::max<KinetoTime>(event_.duration.value_or(0), 0);
    return begin > std::numeric_limits<KinetoTime>::max() - duration ? std::numeric_limits<KinetoTime>::max()
                                                                     : begin + duration;
  }

  void add_operation(std::uint64_t index) {
    if (!event_.begin || !event_.duration || *event_.duration < 0 || *event_.duration > kFarthest ||
        *event_.begin > kFarthest || *event_.begin < -kFarthest)
      throw InputError(
          {file_}, fmt::format("event {} \"{}\" has no ts and dur in microseconds", index, printable(event_.name, 60)));
    KinetoOperation operation{.event = index,
                              .name = std::move(event_.name),
                              .begin = *event_.begin,
                              .end = end_of_event(),
                              .device = event_.device.value_or(0),
                              .stream = event_.stream.value_or(integer({event_.thread}).value_or(0)),
                              .correlation = event_.correlation.value_or(-1),
                              .external = event_.external.value_or(-1)};
    operation.is_communication = !event_.message.collective.empty() || is_nccl_kernel(operation.name);
    if (!event_.message.collective.empty()) operation.message = std::move(event_.message);
    trace_.operations.push_back(std::move(operation));
  }

  void add_host_operator() {
    if (!trace_.process) trace_.process = integer({event_.process});
    KinetoHostOperator host;
    host.begin = *event_.begin;
    host.end = end_of_event();
    host.thread = event_.thread;
    host.name = std::move(event_.name);
    host.external = event_.external.value_or(-1);
    host.record_function = event_.record_function.value_or(0);
    for (std::size_t i = 0; i < event_.elements.size(); ++i) {
      const bool is_tensor = i < event_.types.size() && element_size(event_.types[i]).has_value();
      if (host.elements.empty() && is_tensor) host.type = event_.types[i];
      if (event_.elements[i] >= 0 || is_tensor) host.elements.push_back(std::max<std::int64_t>(event_.elements[i], 1));
    }
    host.message = std::move(event_.message);
    trace_.host_operators.push_back(std::move(host));
  }

  void add_call() {
    trace_.has_host_calls = true;
    if (!event_.begin) return;
    if (event_.correlation)
      trace_.launches.push_back(
          {*event_.correlation, *event_.begin, end_of_event(), event_.thread, contains(event_.name, "GraphLaunch")});
    const bool waits = contains(event_.name, "StreamWaitEvent");
    if (!waits && !contains(event_.name, "Synchronize")) return;
    trace_.calls.push_back({waits ? KinetoCallKind::kStreamWait : KinetoCallKind::kSynchronize, *event_.begin,
                            end_of_event(), std::move(event_.thread), event_.correlation.value_or(-1)});
  }

  void add_wait() {
    if (!contains(event_.name, "Stream Wait Event") || !event_.stream || !event_.correlation) return;
    trace_.waits.push_back({event_.device.value_or(0), *event_.stream, event_.wait_on_stream.value_or(-1),
                            event_.recorded_by.value_or(-1), *event_.correlation});
  }

  const std::string& file_;
  std::string_view text_;
  bool keeps_operators_;
  KinetoTrace trace_;
  std::vector<Level> levels_;
  std::string key_;
  Event event_;
  std::uint64_t events_ = 0;
  bool has_events_ = false;
  bool has_nodes_ = false;       // of a PyTorch execution trace
  std::set<std::string> begun_;  // keys that a profile has once
  std::string group_name_;
  std::string group_ranks_;
  int shape_depth_ = 0;
  std::int64_t product_ = -1;  // of the dimensions so far; -1: none
};

}  // namespace

InputError not_json(const std::string& file, std::string_view text, std::size_t position, const std::string& reason) {
  const auto line =
      static_cast<int>(std::min<std::ptrdiff_t>(std::ranges::count(text.substr(0, position), '\n') + 1, INT32_MAX));
  return InputError({file, line, 0}, "not JSON: " + reason, "was the profiler stopped while it wrote?");
}

KinetoTrace read_kineto(const std::string& file, std::string_view text, KinetoDetail detail) {
  KinetoHandler handler(file, text, detail);
  try {
    walk_json(text, handler);
  } catch (const JsonError& error) {
    throw not_json(file, text, error.offset() + 1, error.reason());
  }
  return handler.take();
}

}  // namespace orrery::workload
