// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "study/nccl_tests/reader.h"

namespace orrery::study {
namespace {

using enum NcclField;

// Bus over algorithm bandwidth is `whole` plus `others` times (n - 1) / n, as nccl-tests defines it; both are 0 where
// it depends on who sends how much.
struct TestProgram {
  std::string_view program;
  std::string_view operation;
  double whole;
  double others;
};

constexpr std::array kPrograms = {
    TestProgram{"all_gather_perf", "all_gather", 0, 1},
    TestProgram{"all_reduce_perf", "all_reduce", 0, 2},
    TestProgram{"alltoall_perf", "all_to_all", 0, 1},
    TestProgram{"alltoallv_perf", "all_to_all_v", 0, 0},
    TestProgram{"broadcast_perf", "broadcast", 1, 0},
    TestProgram{"gather_perf", "gather", 0, 1},
    TestProgram{"hypercube_perf", "hypercube", 0, 1},
    TestProgram{"reduce_perf", "reduce", 1, 0},
    TestProgram{"reduce_scatter_perf", "reduce_scatter", 0, 1},
    TestProgram{"scatter_perf", "scatter", 0, 1},
    TestProgram{"sendrecv_perf", "sendrecv", 1, 0},
};

// Null where there is none.
const TestProgram* program_with(std::string_view text, std::string_view TestProgram::*which) {
  const auto found = std::ranges::find(kPrograms, text, which);
  return found == kPrograms.end() ? nullptr : &*found;
}

constexpr double kMicrosecond = 1e6;  // picoseconds
constexpr std::string_view kWrongResult = "what ran is not what should have been measured";

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
  return 0.5 * std::pow(10.0, exponent - (added ? 0 : static_cast<int>(fraction.size())));
}

class RowReader {
 public:
  RowReader(const NcclCells& cells, const NcclRowContext& context, const Location& where, Diagnostics& diagnostics)
      : cells_(cells), context_(context), where_(where), diagnostics_(diagnostics) {}

  std::optional<NcclRow> read() {
    NcclRow row;
    row.line = where_.line;
    row.bytes = Bytes(whole<std::int64_t>("size", cells_.at(kSize)).value_or(0));
    if (!missing(cells_.at(kCount))) row.count = whole<std::uint64_t>("count", cells_.at(kCount));
    if (!missing(cells_.at(kRoot))) row.root = whole<int>("root", cells_.at(kRoot));
    if (row.root && *row.root < -1) error(fmt::format("root is {}, which is not a rank", *row.root));
    row.type = cells_.at(kType);
    row.reduction = cells_.at(kReduction);
    row.out_of_place = side(NcclSide::kOutOfPlace, row.bytes);
    row.in_place = side(NcclSide::kInPlace, row.bytes);
    if (failed_) return std::nullopt;
    return row;
  }

 private:
  void error(std::string message) {
    failed_ = true;
    diagnostics_.error(where_, std::move(message), "expected a row as nccl-tests prints it");
  }
  void warning(std::string message, std::string_view hint = {}) {
    diagnostics_.warning(where_, std::move(message), std::string(hint));
  }

  template <class Integer>
  std::optional<Integer> whole(std::string_view name, std::string_view text) {
    Integer value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool negative = value < 0 && name != "root";
    if (code == std::errc{} && end == text.data() + text.size() && !negative) return value;
    const std::string_view expected =
        code == std::errc::result_out_of_range ? "is out of range" : "is not a whole number";
    error(fmt::format("{} '{}' {}", name, printable(text, 40),
                      negative || text.starts_with('-') ? "is negative" : expected));
    return std::nullopt;
  }

  // Nothing where there is none; an error where it is negative or no number, a warning where it is not finite. RCCL's
  // asterisk, for errors above what it allows, is not part of the number.
  std::optional<Printed> number(const std::string& name, std::string_view text, bool may_be_marked = false) {
    if (may_be_marked && text.ends_with('*')) {
      text.remove_suffix(1);
      warning(fmt::format("{} '{}' is marked as too large", name, printable(text, 40)), kWrongResult);
    }
    if (missing(text)) return std::nullopt;
    Printed number;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number.value);
    const std::string found = fmt::format("{} '{}'", name, printable(text, 40));
    if (code == std::errc::result_out_of_range) {
      error(found + " is out of range");
    } else if (code != std::errc{} || end != text.data() + text.size() || text.ends_with('.')) {
      error(found + " is not a number");
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

  std::optional<std::uint64_t> wrong(std::string_view text, std::string_view side) {
    const auto found = number(fmt::format("{} #wrong", side), text, true);
    if (!found) return std::nullopt;
    if (found->value != std::floor(found->value) || found->value >= 0x1p64) {
      error(fmt::format("{} #wrong '{}' is not a count", side, printable(text, 40)));
      return std::nullopt;
    }
    if (found->value > 0) warning(fmt::format("{} result has {} wrong elements", side, text), kWrongResult);
    return static_cast<std::uint64_t>(found->value);
  }

  NcclRow::Side side(NcclSide which, Bytes bytes) {
    const std::string_view name = which == NcclSide::kInPlace ? "in-place" : "out-of-place";
    const auto read = [&](std::string_view what, NcclField field) {
      return number(fmt::format("{} {}", name, what), cells_.at(field, which), field == kError);
    };
    NcclRow::Side side;
    auto time = read("time", kTime);
    side.time = duration(time, name);
    const auto algbw = read("algbw", kAlgbw), busbw = read("busbw", kBusbw);
    if (algbw) side.algbw = algbw->value;
    if (busbw) side.busbw = busbw->value;
    side.wrong = wrong(cells_.at(kWrong, which), name);
    if (const auto largest = read("error", kError)) side.error = largest->value;
    if (!time) return side;
    const double others = context_.ranks == 0 ? 0 : (context_.ranks - 1.0) / context_.ranks;
    check(name, "algbw", algbw, bytes, *time, context_.test == "hypercube" ? others : 1);
    const TestProgram* const program = program_with(context_.test, &TestProgram::operation);
    if (program != nullptr && context_.ranks > 0)
      check(name, "busbw", busbw, bytes, *time, program->whole + program->others * others);
    return side;
  }

  // A bandwidth should be `factor` times bytes / time; 0: not known. Both were rounded when they were printed; 1e-9 is
  // for the arithmetic here.
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

  const NcclCells& cells_;
  const NcclRowContext& context_;
  const Location& where_;
  Diagnostics& diagnostics_;
  bool failed_ = false;
};

}  // namespace

std::optional<NcclRow> nccl_row(const NcclCells& cells, const NcclRowContext& context, const Location& where,
                                Diagnostics& diagnostics) {
  return RowReader(cells, context, where, diagnostics).read();
}

bool is_nccl_test(std::string_view operation) { return program_with(operation, &TestProgram::operation) != nullptr; }

std::string_view nccl_test_run_by(std::string_view word) {
  constexpr std::string_view kQuotes = "\"'`,:;()";
  while (!word.empty() && kQuotes.find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  const std::size_t start = word.find_last_of("/\\\"'`(");
  if (start != std::string_view::npos) word.remove_prefix(start + 1);
  for (const std::string_view suffix : {".exe", "_mpi"})
    if (word.ends_with(suffix)) word.remove_suffix(suffix.size());
  const TestProgram* const program = program_with(word, &TestProgram::program);
  return program == nullptr ? std::string_view() : program->operation;
}

}  // namespace orrery::study
