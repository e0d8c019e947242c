#include "study/nccl_tests/row.h"

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace orrery {
namespace {

constexpr double kMicrosecond = 1e6;  // picoseconds
constexpr std::string_view kWrongResult = "what ran is not what should have been measured";
constexpr std::string_view kRowHint = "expected a row as nccl-tests prints it";

// A number as printed: what was measured is at most `rounding` away.
struct Printed {
  double value = 0;
  double rounding = 0;
};

bool missing(std::string_view text) { return text.empty() || text == "N/A" || text == "n/a" || text == "-"; }

// Half a unit of the last digit: 0.005 for "12.34", 5e4 for "1.2e+06".
double rounding_of(std::string_view text, double value, bool written_again) {
  const std::size_t e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  int exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  }
  const std::size_t point = mantissa.find('.');
  const std::string_view fraction = point == std::string_view::npos ? "" : mantissa.substr(point + 1);
  // nccl-tests prints no fraction of what is large; a program that reads and writes it adds ".0".
  const bool added = written_again && fraction == "0" && std::abs(value) >= 1000;
  const int decimals = added ? 0 : static_cast<int>(fraction.size());
  return 0.5 * std::pow(10.0, exponent - decimals);
}

class RowReader {
 public:
  RowReader(const NcclRowContext& context, const Location& where, Diagnostics& diagnostics)
      : context_(context), where_(where), diagnostics_(diagnostics) {}

  std::optional<NcclRow> read(const NcclRowText& text) {
    NcclRow row;
    row.line = where_.line;
    row.bytes = Bytes(whole<std::int64_t>("size", text.bytes).value_or(0));
    if (!missing(text.count)) row.count = whole<std::uint64_t>("count", text.count);
    if (!missing(text.root)) row.root = whole<int>("root", text.root);
    if (row.root && *row.root < -1) error(fmt::format("root is {}, which is no rank", *row.root));
    row.type = text.type;
    row.reduction = text.reduction;
    row.out_of_place = side(text.sides[0], row.bytes, "out-of-place");
    row.in_place = side(text.sides[1], row.bytes, "in-place");
    if (failed_) return std::nullopt;
    return row;
  }

 private:
  void error(std::string message) {
    failed_ = true;
    diagnostics_.error(where_, std::move(message), std::string(kRowHint));
  }
  void warning(std::string message, std::string hint = {}) {
    diagnostics_.warning(where_, std::move(message), std::move(hint));
  }

  template <class Integer>
  std::optional<Integer> whole(std::string_view name, std::string_view text) {
    Integer value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool negative = value < 0 && name != "root";
    if (code == std::errc{} && end == text.data() + text.size() && !negative) return value;
    const std::string_view expected = code == std::errc::result_out_of_range ? "is out of range" : "is no whole number";
    error(fmt::format("{} '{}' {}", name, printable(text, 40),
                      negative || text.starts_with('-') ? "is negative" : expected));
    return std::nullopt;
  }

  // Nothing where there is none; an error where it is negative or no number, a warning where it is not finite.
  std::optional<Printed> number(std::string_view name, std::string_view text) {
    if (missing(text)) return std::nullopt;
    Printed number;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number.value);
    const std::string found = fmt::format("{} '{}'", name, printable(text, 40));
    if (code == std::errc::result_out_of_range) {
      error(found + " is out of range");
    } else if (code != std::errc{} || end != text.data() + text.size() || text.ends_with('.')) {
      error(found + " is no number");
    } else if (!std::isfinite(number.value)) {
      warning(found + " is not finite; left out");
    } else if (std::signbit(number.value)) {
      error(found + " is negative");
    } else {
      number.rounding = rounding_of(text, number.value, context_.written_again);
      return number;
    }
    return std::nullopt;
  }

  std::optional<Duration> duration(std::optional<Printed>& time, std::string_view side) {
    if (!time) return std::nullopt;
    const double picoseconds = time->value * kMicrosecond;
    if (picoseconds >= static_cast<double>(Duration::max().count())) {
      error(fmt::format("{} time {} us is out of range", side, time->value));
      return std::nullopt;
    }
    const Duration result(std::llround(picoseconds));
    if (result > Duration::zero()) return result;
    warning(fmt::format("{} time is zero, which says nothing; left out", side));
    time.reset();
    return std::nullopt;
  }

  // RCCL's asterisk, for errors above what it allows, is not part of the number.
  std::optional<Printed> marked(const std::string& name, std::string_view text) {
    if (!text.ends_with('*')) return number(name, text);
    text.remove_suffix(1);
    warning(fmt::format("{} '{}' is marked as too large", name, printable(text, 40)), std::string(kWrongResult));
    return number(name, text);
  }

  std::optional<std::uint64_t> wrong(std::string_view text, std::string_view side) {
    const auto found = marked(fmt::format("{} #wrong", side), text);
    if (!found) return std::nullopt;
    if (found->value != std::floor(found->value) || found->value >= 0x1p64) {
      error(fmt::format("{} #wrong '{}' is no count", side, printable(text, 40)));
      return std::nullopt;
    }
    if (found->value > 0)
      warning(fmt::format("{} result has {} wrong elements", side, text), std::string(kWrongResult));
    return static_cast<std::uint64_t>(found->value);
  }

  NcclRow::Side side(const NcclRowText::Side& text, Bytes bytes, std::string_view name) {
    NcclRow::Side side;
    auto time = number(fmt::format("{} time", name), text.time);
    side.time = duration(time, name);
    const auto algbw = number(fmt::format("{} algbw", name), text.algbw);
    const auto busbw = number(fmt::format("{} busbw", name), text.busbw);
    if (algbw) side.algbw = algbw->value;
    if (busbw) side.busbw = busbw->value;
    side.wrong = wrong(text.wrong, name);
    if (const auto largest = marked(fmt::format("{} error", name), text.error)) side.error = largest->value;
    if (!time) return side;
    check(name, "algbw", algbw, bytes, *time, algorithm_factor());
    check(name, "busbw", busbw, bytes, *time, bus_factor());
    return side;
  }

  double others() const { return context_.ranks == 0 ? 0 : (context_.ranks - 1.0) / context_.ranks; }

  // Bandwidths over bytes / time, as nccl-tests defines them; 0: not known.
  double algorithm_factor() const { return context_.test == NcclTest::kHypercube ? others() : 1; }
  double bus_factor() const {
    if (!context_.test || context_.ranks == 0) return 0;
    switch (*context_.test) {
      case NcclTest::kAllReduce:
        return 2 * others();
      case NcclTest::kAllGather:
      case NcclTest::kAllToAll:
      case NcclTest::kGather:
      case NcclTest::kHypercube:
      case NcclTest::kReduceScatter:
      case NcclTest::kScatter:
        return others();
      case NcclTest::kBroadcast:
      case NcclTest::kReduce:
      case NcclTest::kSendRecv:
        return 1;
      case NcclTest::kAllToAllV:  // depends on who sends how much
        return 0;
    }
    return 0;
  }

  // Both were rounded when they were printed; 1e-9 is for the arithmetic here.
  void check(std::string_view side, std::string_view name, const std::optional<Printed>& found, Bytes bytes,
             const Printed& time, double factor) {
    if (!found || factor == 0) return;
    const double amount = static_cast<double>(bytes.count()) * factor / 1e3;  // GB/s times microseconds
    const double least = amount / (time.value + time.rounding) * (1 - 1e-9) - found->rounding * (1 + 1e-9);
    const double shortest = time.value - time.rounding;
    const double most = shortest > 0 ? amount / shortest * (1 + 1e-9) + found->rounding * (1 + 1e-9)
                                     : std::numeric_limits<double>::infinity();
    if (least <= found->value && found->value <= most) return;
    const bool bus = name == "busbw";
    warning(
        fmt::format("{} {} is {} GB/s, but {} bytes in {} us {} {:.6g} GB/s", side, name, found->value, bytes.count(),
                    time.value, bus ? fmt::format("on {} ranks make", context_.ranks) : "are", amount / time.value),
        bus ? "is it a log of another program, or of another number of ranks?"
            : "was the row changed? all_gather and reduce_scatter before mid 2020 leave a rank's own share out");
  }

  const NcclRowContext& context_;
  const Location& where_;
  Diagnostics& diagnostics_;
  bool failed_ = false;
};

}  // namespace

std::optional<NcclRow> nccl_row(const NcclRowText& text, const NcclRowContext& context, const Location& where,
                                Diagnostics& diagnostics) {
  return RowReader(context, where, diagnostics).read(text);
}

}  // namespace orrery
