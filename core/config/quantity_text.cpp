// SPDX-License-Identifier: MIT
#include "core/config/quantity_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "core/config/decimal.h"
#include "core/error.h"
#include "core/suggest.h"

namespace orrery {
namespace {

// A unit is numerator / denominator base units (bits are 1/8 byte).
struct Unit {
  std::string_view name;
  std::int64_t numerator;
  std::int64_t denominator = 1;
};

constexpr std::int64_t kKilo = 1'000, kMega = 1'000'000, kGiga = 1'000'000'000, kTera = 1'000'000'000'000,
                       kPeta = 1'000'000'000'000'000, kExa = 1'000'000'000'000'000'000;
constexpr std::int64_t kKibi = 1ll << 10, kMebi = 1ll << 20, kGibi = 1ll << 30, kTebi = 1ll << 40, kPebi = 1ll << 50;

// Sorted from large to small within a family: to_text takes the first that divides.
constexpr std::array kByteUnits = {Unit{"PB", kPeta}, Unit{"PiB", kPebi}, Unit{"TB", kTera},  Unit{"TiB", kTebi},
                                   Unit{"GB", kGiga}, Unit{"GiB", kGibi}, Unit{"MB", kMega},  Unit{"MiB", kMebi},
                                   Unit{"kB", kKilo}, Unit{"KB", kKilo},  Unit{"KiB", kKibi}, Unit{"B", 1}};
constexpr std::array kBandwidthUnits = {
    Unit{"TB/s", kTera},    Unit{"TiB/s", kTebi},   Unit{"GB/s", kGiga},    Unit{"GiB/s", kGibi},   Unit{"MB/s", kMega},
    Unit{"MiB/s", kMebi},   Unit{"kB/s", kKilo},    Unit{"KB/s", kKilo},    Unit{"KiB/s", kKibi},   Unit{"B/s", 1},
    Unit{"Tb/s", kTera, 8}, Unit{"Tbps", kTera, 8}, Unit{"Gb/s", kGiga, 8}, Unit{"Gbps", kGiga, 8}, Unit{"GBps", kGiga},
    Unit{"Mb/s", kMega, 8}, Unit{"Mbps", kMega, 8}, Unit{"kb/s", kKilo, 8}, Unit{"b/s", 1, 8}};
constexpr std::array kTimeUnits = {
    Unit{"s", kTera},  Unit{"min", 60 * kTera},  Unit{"h", 3600 * kTera}, Unit{"ms", kGiga},
    Unit{"us", kMega}, Unit{"\xC2\xB5s", kMega}, Unit{"ns", kKilo},       Unit{"ps", 1}};
constexpr std::array kFlopUnits = {Unit{"EFLOP", kExa},  Unit{"PFLOP", kPeta}, Unit{"TFLOP", kTera},
                                   Unit{"GFLOP", kGiga}, Unit{"MFLOP", kMega}, Unit{"FLOP", 1}};
constexpr std::array kFlopRateUnits = {Unit{"EFLOP/s", kExa},  Unit{"EFLOPS", kExa},   Unit{"PFLOP/s", kPeta},
                                       Unit{"PFLOPS", kPeta},  Unit{"TFLOP/s", kTera}, Unit{"TFLOPS", kTera},
                                       Unit{"GFLOP/s", kGiga}, Unit{"GFLOPS", kGiga},  Unit{"MFLOP/s", kMega},
                                       Unit{"FLOP/s", 1}};

constexpr std::array kPowerUnits = {Unit{"MW", kMega}, Unit{"kW", kKilo}, Unit{"W", 1}};
constexpr std::array kCountUnits = {Unit{"T", kTera}, Unit{"B", kGiga}, Unit{"M", kMega}, Unit{"K", kKilo},
                                    Unit{"", 1}};
constexpr std::array kEfficiencyUnits = {Unit{"%", 10'000}, Unit{"ppm", 1}};

struct Family {
  std::string_view what;
  std::string_view example;
  std::span<const Unit> units;
  bool positive = false;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

constexpr Family kBytes{"a size", "64 MiB", kByteUnits};
constexpr Family kBandwidth{"a bandwidth", "300 GB/s", kBandwidthUnits, true};
constexpr Family kTime{"a time", "700 ns", kTimeUnits};
constexpr Family kFlops{"an operation count", "2 TFLOP", kFlopUnits};
constexpr Family kFlopRate{"a rate", "312 TFLOP/s", kFlopRateUnits, true};
constexpr Family kPower{"a power", "400 W", kPowerUnits, true};
constexpr Family kCount{"a number", "300 B", kCountUnits, true};
constexpr Family kEfficiency{"an efficiency", "80 %", kEfficiencyUnits, true, kFullEfficiency.count()};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// round(decimal * unit), or nothing when it does not fit in 63 bits.
std::optional<std::int64_t> scaled(Decimal number, const Unit& unit) {
  constexpr Int128 kMost = std::numeric_limits<std::int64_t>::max();
  if (number.mantissa == 0) return 0;
  Int128 divisor = unit.denominator;
  for (; number.decimals < 0; ++number.decimals) {
    number.mantissa *= 10;
    if (number.mantissa / divisor > kMost) return std::nullopt;
  }
  // Cancel tens of the unit against tens of the divisor, so that nothing overflows.
  Int128 factor = unit.numerator;
  for (; number.decimals > 0; --number.decimals) {
    if (factor % 10 == 0) {
      factor /= 10;
    } else if (number.mantissa % 10 == 0) {
      number.mantissa /= 10;
    } else if (divisor < kMost) {
      divisor *= 10;
    } else {
      number.mantissa /= 10;  // below the 18th decimal: cannot change the rounded result by more than one base unit
    }
  }
  const Int128 limit = (Int128{1} << 126) / factor;
  if (number.mantissa > limit) return std::nullopt;
  const Int128 value = (number.mantissa * factor + divisor / 2) / divisor;
  if (value > kMost) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

const Unit* find_unit(const Family& family, std::string_view name) {
  for (const Unit& unit : family.units)
    if (unit.name == name) return &unit;
  return nullptr;
}

// The name of what values are counted in.
std::string_view base_unit(const Family& family) {
  return std::ranges::find_if(family.units, [](const Unit& u) { return u.numerator == 1 && u.denominator == 1; })->name;
}

// "Gbit/s" and "GBit/s" are "Gb/s".
std::string with_short_bits(std::string_view name) {
  std::string text(name);
  for (const std::string_view bits : {"bits", "Bits", "bit", "Bit"})
    if (const std::size_t at = text.find(bits); at != std::string::npos) return text.replace(at, bits.size(), "b");
  return text;
}

// Units that differ from `name` in small and capital letters alone; where it says which, those of bits or of bytes.
std::vector<std::string> units_spelt(const Family& family, std::string_view name, bool is_of_bits) {
  const auto small = [](std::string_view text) {
    std::string letters(text);
    std::ranges::transform(letters, letters.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return letters;
  };
  const auto has = [](std::string_view text, char letter) { return text.find(letter) != std::string_view::npos; };
  // "gb" may be either; "Gb" has capital letters where it wants them.
  const bool says_bits = is_of_bits || (has(name, 'b') && small(name) != name);
  std::vector<std::string> units;
  for (const Unit& unit : family.units) {
    const bool is_other = (has(name, 'B') && has(unit.name, 'b')) || (says_bits && has(unit.name, 'B'));
    if (!unit.name.empty() && !is_other && small(unit.name) == small(name)) units.emplace_back(unit.name);
  }
  return units;
}

// Bits are not suggested for bytes nor bytes for bits: the one is no slip of the pen for the other. Where small and
// capital letters do not tell which, both are.
std::string unit_hint(const Family& family, std::string_view name, bool is_of_bits) {
  const std::vector<std::string> spelt = units_spelt(family, name, is_of_bits);
  if (spelt.size() == 1) return fmt::format("did you mean '{}'?", spelt.front());
  if (spelt.size() > 1)
    return fmt::format("did you mean '{}'? 'b' is a bit, and 'B' a byte", fmt::join(spelt, "' or '"));
  std::vector<std::string> names, likely;
  const auto has = [](std::string_view text, char letter) { return text.find(letter) != std::string_view::npos; };
  for (const Unit& unit : family.units) {
    if (unit.name.empty()) continue;
    names.emplace_back(unit.name);
    const bool other = (has(name, 'b') && has(unit.name, 'B')) || (has(name, 'B') && has(unit.name, 'b'));
    if (!other) likely.emplace_back(unit.name);
  }
  const std::string hint = suggestion(name, likely);
  return hint.starts_with("did you mean") ? hint : suggestion({}, names);
}

// The shortest exact text: a whole number of a unit, or up to three decimals of a decimal one.
std::string exact_text(const Family& family, std::int64_t value) {
  std::string best;
  for (const Unit& unit : family.units) {
    const bool decimal = unit.numerator % 1000 == 0;
    const std::int64_t grain = decimal ? unit.numerator / 1000 : unit.numerator;
    if (unit.denominator != 1 || (value < unit.numerator && unit.numerator != 1) || value % grain != 0) continue;
    const std::int64_t grains = value / grain;
    std::string text = fmt::format("{}", decimal ? grains / 1000 : grains);
    if (decimal && grains % 1000 != 0) {
      text += fmt::format(".{:03}", grains % 1000);
      while (text.back() == '0') text.pop_back();
    }
    if (!unit.name.empty()) text += fmt::format(" {}", unit.name);
    if (best.empty() || text.size() < best.size()) best = std::move(text);
  }
  return best;
}

// Nothing where the text is no such quantity.
std::optional<std::int64_t> value_in(const Family& family, std::string_view whole) {
  std::string_view text = trimmed(whole);
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto number = take_decimal(text);
  if (!number) return std::nullopt;
  const Unit* unit = find_unit(family, with_short_bits(trimmed(text)));
  const auto value = unit == nullptr ? std::nullopt : scaled(*number, *unit);
  if (!value || *value > family.most || (*value == 0 && (family.positive || number->mantissa != 0)))
    return std::nullopt;
  return value;
}

// Explains why a text is no such quantity.
Parsed<std::int64_t> problem_with(const Family& family, std::string_view whole) {
  const std::string shown = printable(whole, 40);
  const std::string wanted = fmt::format("write {} such as '{}'", family.what, family.example);
  std::string_view text = trimmed(whole);
  if (text.empty()) return {{}, fmt::format("empty text where {} is expected", family.what), wanted};
  if (text.front() == '-') return {{}, fmt::format("'{}' is negative; {} must not be", shown, family.what), wanted};
  if (text.front() == '+') text.remove_prefix(1);
  const auto number = take_decimal(text);
  if (!number) return {{}, fmt::format("'{}' is not {}", shown, family.what), wanted};
  text = trimmed(text);
  if (std::string slip = hint_for_number(whole); !slip.empty() && text.find_first_of(",_'") == 0)
    return {{}, fmt::format("'{}' is not {}", shown, family.what), std::move(slip)};
  if (text.empty() && find_unit(family, "") == nullptr) return {{}, fmt::format("'{}' has no unit", shown), wanted};
  const std::string name = with_short_bits(text);
  const Unit* unit = find_unit(family, name);
  if (unit == nullptr)
    return {{},
            fmt::format("'{}' is not {}: unknown unit '{}'", shown, family.what, printable(text, 20)),
            unit_hint(family, name, name != text)};
  const auto value = scaled(*number, *unit);
  if (!value)
    return {{},
            fmt::format("'{}' is too large", shown),
            fmt::format("the limit is {} {}", std::numeric_limits<std::int64_t>::max(), base_unit(family))};
  if (*value == 0 && number->mantissa != 0)
    return {{}, fmt::format("'{}' is finer than the resolution of {}", shown, family.what), {}};
  if (*value == 0 && family.positive)
    return {{}, fmt::format("'{}' is zero; {} must be positive", shown, family.what), wanted};
  return {{},
          fmt::format("'{}' is too large; {} is at most {}", shown, family.what, exact_text(family, family.most)),
          wanted};
}

Parsed<std::int64_t> parse(const Family& family, std::string_view text) {
  if (const auto value = value_in(family, text)) return {value, {}, {}};
  return problem_with(family, text);
}

template <class Q>
constexpr const Family& family_of() {
  if constexpr (std::is_same_v<Q, Bytes>) return kBytes;
  if constexpr (std::is_same_v<Q, Bandwidth>) return kBandwidth;
  if constexpr (std::is_same_v<Q, Duration>) return kTime;
  if constexpr (std::is_same_v<Q, Flops>) return kFlops;
  if constexpr (std::is_same_v<Q, FlopRate>) return kFlopRate;
  if constexpr (std::is_same_v<Q, Power>) return kPower;
  if constexpr (std::is_same_v<Q, Count>) return kCount;
  if constexpr (std::is_same_v<Q, Efficiency>) return kEfficiency;
}

constexpr std::array kFamilies = {&kBytes, &kBandwidth, &kTime, &kFlops, &kFlopRate, &kPower, &kCount, &kEfficiency};

std::string significant(double value, std::string_view unit) {
  const int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  return fmt::format("{:.{}f} {}", value, decimals, unit);
}

}  // namespace

template <class Q>
Parsed<Q> parse_quantity(std::string_view text) {
  Parsed<std::int64_t> parsed = parse(family_of<Q>(), text);
  if (!parsed.value) return {{}, std::move(parsed.problem), std::move(parsed.hint)};
  return {Q(*parsed.value), {}, {}};
}
template <class Q>
bool is_quantity(std::string_view text) {
  return value_in(family_of<Q>(), text).has_value();
}
template bool is_quantity<Bandwidth>(std::string_view text);
template bool is_quantity<Duration>(std::string_view text);
template bool is_quantity<Efficiency>(std::string_view text);

template Parsed<Bytes> parse_quantity(std::string_view text);
template Parsed<Bandwidth> parse_quantity(std::string_view text);
template Parsed<Duration> parse_quantity(std::string_view text);
template Parsed<Flops> parse_quantity(std::string_view text);
template Parsed<FlopRate> parse_quantity(std::string_view text);
template Parsed<Power> parse_quantity(std::string_view text);
template Parsed<Count> parse_quantity(std::string_view text);
template Parsed<Efficiency> parse_quantity(std::string_view text);

std::optional<double> ratio_of_units(std::string_view unit, std::string_view other) {
  for (const Family* family : kFamilies) {
    const Unit* of = find_unit(*family, with_short_bits(unit));
    const Unit* in = find_unit(*family, with_short_bits(other));
    if (of != nullptr && in != nullptr)
      return static_cast<double>(of->numerator) * static_cast<double>(in->denominator) /
             (static_cast<double>(of->denominator) * static_cast<double>(in->numerator));
  }
  return std::nullopt;
}

std::string hint_for_number(std::string_view whole) {
  constexpr std::string_view kSeparators = ",_'";
  const std::string_view text = trimmed(whole);
  const std::size_t end = text.find_first_not_of("0123456789.,_'");
  const std::string_view number = text.substr(0, end);
  const std::string behind(end == std::string_view::npos ? std::string_view() : text.substr(end));
  const std::size_t first = number.find_first_of(kSeparators);
  if (first == 0 || number.empty()) return {};
  if (first == std::string_view::npos) {
    const std::size_t point = number.find('.');
    const bool is_whole = behind.empty() && point != std::string_view::npos && point > 0 && point + 1 < number.size() &&
                          number.find_first_not_of('0', point + 1) == std::string_view::npos;
    return is_whole ? fmt::format("write {}, without decimals", number.substr(0, point)) : std::string();
  }
  std::string digits;
  std::size_t group = 3;  // digits since the last separator
  bool is_grouped = first <= 3;
  for (const char c : number.substr(0, number.find('.'))) {
    const bool separates = kSeparators.find(c) != std::string_view::npos;
    if (separates && digits.size() > first) is_grouped = is_grouped && group == 3;
    if (!separates) digits += c;
    group = separates ? 0 : group + 1;
  }
  is_grouped = is_grouped && group == 3;
  const std::size_t point = number.find('.');
  if (is_grouped)
    return fmt::format("write {}{}{}, without separators", digits,
                       point == std::string_view::npos ? std::string_view() : number.substr(point), behind);
  if (number[first] != ',' || number.find_first_of(".,_'", first + 1) != std::string_view::npos) return {};
  return fmt::format("write {}.{}{}, with a decimal point", number.substr(0, first), number.substr(first + 1), behind);
}

std::optional<std::int64_t> parse_whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<bool> parse_boolean(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

Parsed<double> parse_share(std::string_view whole) {
  const std::string shown = printable(whole, 40);
  std::string_view text = trimmed(whole);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  const std::string slip = hint_for_number(whole);
  if (code != std::errc{} || !std::isfinite(value) || (!unit.empty() && unit != "%"))
    return {
        {}, fmt::format("'{}' is not a share", shown), slip.empty() ? "write a ratio such as '0.85' or '85 %'" : slip};
  if (value < 0)
    return {{}, fmt::format("'{}' is negative; a ratio must not be", shown), "write a ratio such as '0.85' or '85 %'"};
  return {unit == "%" ? value / 100 : value, {}, {}};
}

bool stand_for_one_value(std::string_view one, std::string_view other) {
  if (one == other) return true;
  const auto are_one = [&](const auto& parse) {
    const auto value = parse(one).value, other_value = parse(other).value;
    return value && other_value && *value == *other_value;
  };
  return are_one(parse_quantity<Bytes>) || are_one(parse_quantity<Bandwidth>) || are_one(parse_quantity<Duration>) ||
         are_one(parse_quantity<FlopRate>) || are_one(parse_quantity<Flops>) || are_one(parse_quantity<Power>) ||
         are_one(parse_share);
}

std::string to_text(Bytes bytes) { return exact_text(kBytes, bytes.count()); }
std::string to_text(Bandwidth bandwidth) { return exact_text(kBandwidth, bandwidth.count()); }
std::string to_text(Duration duration) { return exact_text(kTime, duration.count()); }
std::string to_text(Flops flops) { return exact_text(kFlops, flops.count()); }
std::string to_text(FlopRate rate) { return exact_text(kFlopRate, rate.count()); }
std::string to_text(Power power) { return exact_text(kPower, power.count()); }
std::string to_text(Count count) { return exact_text(kCount, count.count()); }
std::string to_text(Efficiency efficiency) { return exact_text(kEfficiency, efficiency.count()); }

std::string rounded(Duration duration) {
  if (duration < Duration::zero()) return "-" + rounded(std::max(-Duration::max(), duration) * -1);
  const double picoseconds = static_cast<double>(duration.count());
  if (duration >= std::chrono::seconds(1)) return significant(picoseconds * 1e-12, "s");
  if (duration >= std::chrono::milliseconds(1)) return significant(picoseconds * 1e-9, "ms");
  if (duration >= std::chrono::microseconds(1)) return significant(picoseconds * 1e-6, "us");
  if (duration >= std::chrono::nanoseconds(1)) return significant(picoseconds * 1e-3, "ns");
  return fmt::format("{} ps", duration.count());
}

std::string rounded(Bytes bytes) {
  constexpr std::array kNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes.count());
  std::size_t step = 0;
  for (; value >= 1024 && step + 1 < kNames.size(); ++step) value /= 1024;
  return step == 0 ? fmt::format("{} B", bytes.count()) : significant(value, kNames[step]);
}

std::string rounded(Bandwidth bandwidth) {
  constexpr std::array kNames = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s"};
  double value = static_cast<double>(bandwidth.count());
  std::size_t step = 0;
  // A value that would round to 1000 takes the next unit.
  for (; value >= 999.95 && step + 1 < kNames.size(); ++step) value /= 1000;
  return fmt::format("{:.4g} {}", value, kNames[step]);
}

std::string three_digits(double number, std::span<const char* const> units) {
  std::size_t unit = 0;
  while (number >= 999.5 && unit + 1 < units.size()) number /= 1000, ++unit;
  return fmt::format("{:.{}f}{}", number, unit == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2, units[unit]);
}

std::string rounded_count(std::int64_t count) {
  return three_digits(static_cast<double>(count), std::array{"", " K", " M", " B", " T"});
}

std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::vector<std::string_view> units_of_type(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, const Family*>, 6> kTypes = {{{"size", &kBytes},
                                                                                 {"bandwidth", &kBandwidth},
                                                                                 {"time", &kTime},
                                                                                 {"rate", &kFlopRate},
                                                                                 {"power", &kPower},
                                                                                 {"efficiency", &kEfficiency}}};
  std::vector<std::string_view> units;
  for (const auto& [name, family] : kTypes)
    if (name == type)
      for (const Unit& unit : family->units) units.push_back(unit.name);
  return units;
}

}  // namespace orrery
