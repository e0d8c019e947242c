// SPDX-License-Identifier: MIT
#include "study/calibrate/kernel_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"

namespace orrery::study {
namespace {

constexpr std::int64_t kLargestNumber = 1 << 26;  // of a side of a matrix, or of things
constexpr double kMostWork = 4e17;                // FLOPs, and bytes: what moves for them fits 63 bits
constexpr double kLongestKernel = 3600;           // seconds

// A field and the other names that files have for it; names are compared in lower case, with '_' for '-' and blanks.
struct FieldName {
  std::string_view name;
  std::vector<std::string_view> others;
};

const std::vector<FieldName>& field_names() {
  static const std::vector<FieldName> names = {
      {"kind", {"kernel_kind"}},
      {"precision", {"dtype", "data_type", "datatype", "in_dtype", "input_dtype"}},
      {"m", {}},
      {"n", {}},
      {"k", {}},
      {"batch", {"batch_size", "bs"}},
      {"groups", {"num_groups", "experts_per_rank"}},
      {"m_per_group", {"rows_per_group"}},
      {"layout", {"transpose", "blas_layout"}},
      {"stage", {"pass", "direction"}},
      {"sequence", {"seq", "isl", "seq_len", "seqlen", "sequence_length"}},
      {"heads", {"n_heads", "num_heads", "n_head", "nheads"}},
      {"kv_heads", {"n_kv_heads", "num_kv_heads", "n_kv_head"}},
      {"head_size", {"head_dim", "qk_head_dim", "headdim"}},
      {"value_size", {"v_head_dim"}},
      {"causal", {"is_causal"}},
      {"accumulates", {"accumulate"}},
      {"result", {"out_dtype", "main_grad_dtype", "output_dtype"}},
      {"bytes", {}},
      {"graph", {"cuda_graph"}},
      {"beside_copy", {}},
      {"count", {"iterations", "samples", "repeats"}},
      {"share_of_peak", {"fraction_of_peak"}},
      {"tflops", {"tflop_s", "tflops_s"}},
      {"gb_s", {"gbps", "gb_per_s", "gbytes_s"}},
  };
  return names;
}

// Names of times begin with one of these, or with nothing, and end with a unit.
constexpr std::array<std::string_view, 6> kTimeWords = {"latency", "time", "duration", "median", "mean", "elapsed"};
struct TimeUnit {
  std::string_view name;
  double seconds;
};
constexpr std::array<TimeUnit, 6> kTimeUnits = {
    {{"seconds", 1}, {"sec", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
constexpr std::string_view kTimeField = "seconds";

std::string plain_name(std::string_view written) {
  std::string name;
  for (const char c : written) {
    if (c == '-' || c == ' ' || c == '(' || c == '[' || c == '/') {
      if (!name.empty() && name.back() != '_') name += '_';
    } else if (c != ')' && c != ']') {
      name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return name;
}

// The unit that a name of a time ends with: 1e-6 of "latency_us"; nothing of other names.
std::optional<double> time_unit(std::string_view name) {
  for (const TimeUnit& unit : kTimeUnits) {
    if (name == unit.name) return unit.seconds;
    for (const std::string_view word : kTimeWords)
      if (name == fmt::format("{}_{}", word, unit.name)) return unit.seconds;
  }
  return std::nullopt;
}

struct FormatName {
  std::string_view name;
  Precision precision;
};
// Names of formats beside those of core/precision.h.
constexpr std::array kFormatNames = {
    FormatName{"bfloat16", Precision::kBf16},     FormatName{"float16", Precision::kFp16},
    FormatName{"half", Precision::kFp16},         FormatName{"float32", Precision::kFp32},
    FormatName{"float", Precision::kFp32},        FormatName{"float64", Precision::kFp64},
    FormatName{"double", Precision::kFp64},       FormatName{"fp8_block", Precision::kFp8},
    FormatName{"float8_e4m3fn", Precision::kFp8}, FormatName{"float8_e4m3fnuz", Precision::kFp8},
    FormatName{"float8_e5m2", Precision::kFp8},   FormatName{"fp8_e4m3", Precision::kFp8},
    FormatName{"e4m3", Precision::kFp8}};

struct KindName {
  std::string_view name;
  TimedKind kind;
  std::vector<std::string_view> fields;  // that tell it
};
// Kinds with more fields come first: groups have m, n and k as well.
const std::array<KindName, 5>& kind_names() {
  static const std::array<KindName, 5> names = {
      {{"grouped", TimedKind::kGrouped, {"groups", "m_per_group", "n", "k"}},
       {"attention", TimedKind::kAttention, {"sequence", "heads", "head_size"}},
       {"product", TimedKind::kProduct, {"m", "n", "k"}},
       {"memory", TimedKind::kMemory, {"bytes"}},
       {"launch", TimedKind::kLaunch, {}}}};
  return names;
}

struct StageName {
  std::string_view name;
  TimedStage stage;
};
constexpr std::array kStageNames = {StageName{"forward", TimedStage::kForward},
                                    StageName{"fwd", TimedStage::kForward},
                                    StageName{"fprop", TimedStage::kForward},
                                    StageName{"input_gradient", TimedStage::kInputGradient},
                                    StageName{"bwd_grad_act", TimedStage::kInputGradient},
                                    StageName{"dgrad", TimedStage::kInputGradient},
                                    StageName{"weight_gradient", TimedStage::kWeightGradient},
                                    StageName{"bwd_grad_w", TimedStage::kWeightGradient},
                                    StageName{"wgrad", TimedStage::kWeightGradient},
                                    StageName{"backward", TimedStage::kBackward},
                                    StageName{"bwd", TimedStage::kBackward}};
constexpr std::array kLayoutNames = {StageName{"tn", TimedStage::kForward}, StageName{"nn", TimedStage::kInputGradient},
                                     StageName{"nt", TimedStage::kWeightGradient}};

// Turns the fields of a kernel into a timing.
class TimingReader {
 public:
  TimingReader(const KernelFields& fields, const PeakOf& peak, Diagnostics& diagnostics)
      : fields_(fields), peak_(peak), diagnostics_(diagnostics) {}

  std::optional<KernelTiming> read() {
    const std::size_t errors = diagnostics_.error_count();
    timing_.where = fields_.where();
    const auto kind = kind_of_row();
    if (!kind) return std::nullopt;
    timing_.kind = *kind;
    timing_.precision = precision("precision").value_or(Precision::kBf16);
    timing_.batch = optional_number("batch", 1);
    timing_.count = positive("count").value_or(1);
    timing_.beside_copy = flag("beside_copy", false);
    if (*kind == TimedKind::kProduct || *kind == TimedKind::kGrouped) read_product();
    if (*kind == TimedKind::kAttention) read_attention();
    if (*kind == TimedKind::kMemory) timing_.bytes = positive("bytes").value_or(missing("bytes"));
    if (*kind == TimedKind::kLaunch) timing_.graph = flag("graph", false);
    if (errors == diagnostics_.error_count()) check_size();
    if (errors == diagnostics_.error_count()) read_time();
    if (errors < diagnostics_.error_count()) return std::nullopt;
    return timing_;
  }

 private:
  using Field = KernelFields::Field;

  void error(const Field& field, std::string_view expected, std::string hint = {}) {
    diagnostics_.error(field.where,
                       fmt::format("{} '{}' is {}", printable(field.written, 40), printable(field.text, 40), expected),
                       std::move(hint));
  }

  double missing(std::string_view field) {
    if (fields_.find(field) == nullptr)
      diagnostics_.error(fields_.where(), fmt::format("a kernel without '{}'", field),
                         fmt::format("the fields are {}", kinds_of_fields()));
    return 1;
  }

  std::optional<TimedKind> kind_of_row() {
    if (const Field* field = fields_.find("kind")) {
      std::vector<std::string> names;
      for (const KindName& kind : kind_names()) {
        names.emplace_back(kind.name);
        if (kind.name == field->text) return kind.kind;
      }
      error(*field, "no kind of kernels", suggestion(field->text, names));
      return std::nullopt;
    }
    for (const KindName& kind : kind_names())
      if (!kind.fields.empty() &&
          std::ranges::all_of(kind.fields, [&](std::string_view name) { return fields_.find(name) != nullptr; }))
        return kind.kind;
    diagnostics_.error(fields_.where(), "the row does not say what was timed",
                       fmt::format("a row has {}", kinds_of_fields()));
    return std::nullopt;
  }

  std::optional<Precision> precision(std::string_view name) {
    const Field* field = fields_.find(name);
    if (field == nullptr) return std::nullopt;
    std::string text = plain_name(field->text);
    if (text.starts_with("torch.")) text.erase(0, 6);
    std::vector<std::string> names = precision_names();
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == text) return kAllPrecisions[i];
    for (const FormatName& format : kFormatNames) {
      if (format.name == text) return format.precision;
      names.emplace_back(format.name);
    }
    error(*field, "no format of numbers", suggestion(text, names));
    return std::nullopt;
  }

  std::optional<std::int64_t> number(std::string_view name) {
    const Field* field = fields_.find(name);
    if (field == nullptr) return std::nullopt;
    const std::optional<std::int64_t> value = parse_whole_number(field->text);
    if (value && *value >= 1 && *value <= kLargestNumber) return value;
    error(*field, fmt::format("not a whole number from 1 to {}", kLargestNumber));
    return 1;
  }

  std::int64_t optional_number(std::string_view name, std::int64_t fallback) { return number(name).value_or(fallback); }

  std::int64_t needed(std::string_view name) {
    if (const auto value = number(name)) return *value;
    missing(name);
    return 1;
  }

  std::optional<double> positive(std::string_view name) {
    const Field* field = fields_.find(name);
    if (field == nullptr) return std::nullopt;
    double value = 0;
    const char* const end = field->text.data() + field->text.size();
    const auto [rest, problem] = std::from_chars(field->text.data(), end, value);
    if (problem == std::errc() && rest == end && std::isfinite(value) && value > 0) return value;
    error(*field, "not a number above 0", "numbers have a point, and no unit behind them");
    return 1;
  }

  bool flag(std::string_view name, bool fallback) {
    const Field* field = fields_.find(name);
    if (field == nullptr) return fallback;
    if (field->text == "0" || field->text == "1") return field->text == "1";
    if (const std::optional<bool> value = parse_boolean(field->text)) return *value;
    error(*field, "neither true nor false");
    return fallback;
  }

  template <class Names>
  TimedStage word(const Field& field, const Names& names, std::string_view what) {
    const std::string text = plain_name(field.text);
    std::vector<std::string> known;
    for (const StageName& name : names) {
      if (name.name == text) return name.stage;
      known.emplace_back(name.name);
    }
    error(field, what, fmt::format("one of {}", fmt::join(known, ", ")));
    return TimedStage::kForward;
  }

  void read_stage() {
    if (const Field* layout = fields_.find("layout"))
      timing_.stage = word(*layout, kLayoutNames, "no layout of operands");
    if (const Field* stage = fields_.find("stage")) timing_.stage = word(*stage, kStageNames, "no stage");
  }

  void read_product() {
    read_stage();
    const Field* stage = fields_.find("stage");
    if (timing_.stage == TimedStage::kBackward && stage != nullptr)
      error(*stage, "no stage of a product", "input_gradient (dgrad) or weight_gradient (wgrad)");
    timing_.n = needed("n");
    timing_.k = needed("k");
    const std::optional<std::int64_t> rows = number("m_per_group");
    timing_.m = rows ? *rows : needed("m");
    if (timing_.kind == TimedKind::kGrouped) timing_.groups = needed("groups");
    // Rows of a group are those of the forward product, and so are n and k.
    if (rows && timing_.stage == TimedStage::kInputGradient) std::swap(timing_.n, timing_.k);
    if (rows && timing_.stage == TimedStage::kWeightGradient) std::swap(timing_.m, timing_.k);
    timing_.accumulates = flag("accumulates", false);
    const std::optional<Precision> result = precision("result");
    const bool is_gradient = timing_.stage == TimedStage::kWeightGradient || !rows;  // the sum of a table of experts
    if (result && is_gradient) timing_.result = size_of(*result) * (timing_.accumulates ? 2 : 1);
  }

  void read_attention() {
    read_stage();
    if (timing_.stage != TimedStage::kForward) timing_.stage = TimedStage::kBackward;
    timing_.sequence = needed("sequence");
    timing_.heads = needed("heads");
    const Field* shared = fields_.find("kv_heads");
    const bool are_shared = shared != nullptr && shared->text != "0";
    timing_.kv_heads = are_shared ? optional_number("kv_heads", timing_.heads) : timing_.heads;
    timing_.head_size = needed("head_size");
    timing_.value_size = optional_number("value_size", timing_.head_size);
    timing_.causal = flag("causal", true);
    if (timing_.heads % timing_.kv_heads != 0)
      error(*shared, fmt::format("not a divisor of the {} heads of queries", timing_.heads));
  }

  double work() const {
    const auto real = [](std::int64_t value) { return static_cast<double>(value); };
    if (timing_.kind == TimedKind::kAttention) {
      const double pairs = real(timing_.batch) * real(timing_.heads) * real(timing_.sequence) * real(timing_.sequence);
      return pairs * 2 * real(timing_.head_size + timing_.value_size) *
             (timing_.stage == TimedStage::kForward ? 1 : 2.5);
    }
    return 2 * real(timing_.batch) * real(timing_.groups) * real(timing_.m) * real(timing_.n) * real(timing_.k);
  }

  void check_size() {
    const bool is_memory = timing_.kind == TimedKind::kMemory;
    if (timing_.kind == TimedKind::kLaunch || (is_memory ? timing_.bytes : work()) < kMostWork) return;
    diagnostics_.error(
        fields_.where(),
        fmt::format("a kernel of {:.3g} {}", is_memory ? timing_.bytes : work(), is_memory ? "bytes" : "FLOPs"),
        "check the sizes: no kernel is that large");
  }

  void read_time() {
    if (const Field* field = fields_.find(kTimeField)) {
      const double unit = time_unit(plain_name(field->written)).value_or(1);
      return take(*field, positive(kTimeField).value_or(1) * unit);
    }
    if (const Field* field = fields_.find("tflops"); field != nullptr && timing_.kind != TimedKind::kAttention)
      return take(*field, work() / (positive("tflops").value_or(1) * 1e12));
    if (const Field* field = fields_.find("gb_s"); field != nullptr && timing_.kind == TimedKind::kMemory)
      return take(*field, timing_.bytes / (positive("gb_s").value_or(1) * 1e9));
    if (const Field* field = fields_.find("share_of_peak")) return read_share(*field);
    diagnostics_.error(fields_.where(), "the kernel has no time", "latency_us, time_ms or seconds, a number above 0");
  }

  // All pairs of a query and a key count for attention, causal or not, and 2.5 times as much backward.
  void read_share(const Field& field) {
    const auto peak = peak_ ? peak_(timing_.precision) : std::nullopt;
    if (!peak)
      return diagnostics_.error(field.where, "a share of the peak is no time, and no peak is known to count it from",
                                "add a column latency_us");
    take(field, work() / (positive("share_of_peak").value_or(1) * static_cast<double>(peak->count())));
    diagnostics_.warning(
        {field.where.file}, fmt::format("it has shares of the peak in place of times; taken of {}", to_text(*peak)),
        "a column latency_us is surer; of attention all pairs of a query and a key are taken to count");
  }

  void take(const Field& field, double seconds) {
    timing_.seconds = seconds;
    if (!(seconds > 0 && seconds <= kLongestKernel))
      error(field, "not the time of a kernel", "above 0, and at most an hour");
  }

  const KernelFields& fields_;
  const PeakOf& peak_;
  Diagnostics& diagnostics_;
  KernelTiming timing_;
};

}  // namespace

std::string_view field_name(std::string_view written) {
  const std::string name = plain_name(written);
  if (time_unit(name)) return kTimeField;
  for (const FieldName& field : field_names())
    if (field.name == name || std::ranges::find(field.others, name) != field.others.end()) return field.name;
  return {};
}

std::vector<std::string> known_field_names() {
  std::vector<std::string> names = {"latency_us", "time_us", "time_ms", "seconds"};
  for (const FieldName& field : field_names()) {
    names.emplace_back(field.name);
    names.insert(names.end(), field.others.begin(), field.others.end());
  }
  return names;
}

std::string kinds_of_fields() {
  std::string text;
  for (const KindName& kind : kind_names())
    if (!kind.fields.empty())
      text += fmt::format("{}{} of {}", text.empty() ? "" : "; ", fmt::join(kind.fields, ", "), kind.name);
  return text + "; and a time, as latency_us";
}

bool tell_a_kind(std::span<const std::string_view> fields) {
  const auto has = [&](std::string_view name) { return std::ranges::find(fields, name) != fields.end(); };
  return has("kind") || std::ranges::any_of(kind_names(), [&](const KindName& kind) {
           return !kind.fields.empty() && std::ranges::all_of(kind.fields, has);
         });
}

bool is_time_field(std::string_view field) {
  return field == kTimeField || field == "tflops" || field == "gb_s" || field == "share_of_peak";
}

void KernelFields::set(std::string_view written, std::string_view text, const Location& where) {
  const std::string_view name = field_name(written);
  if (name.empty() || text.empty()) return;
  fields_.try_emplace(name, Field{std::string(written), std::string(text), where});
}

const KernelFields::Field* KernelFields::find(std::string_view field) const {
  const auto found = fields_.find(field);
  return found == fields_.end() ? nullptr : &found->second;
}

std::optional<KernelTiming> timing_of(const KernelFields& fields, const PeakOf& peak, Diagnostics& diagnostics) {
  return TimingReader(fields, peak, diagnostics).read();
}

}  // namespace orrery::study
