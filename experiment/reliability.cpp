// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "experiment/sections.h"

namespace orrery::experiment {
namespace {

// In seconds, longer than any simulated time: "50000 h", "5 years".
constexpr double kMostSeconds = 1e12;

constexpr std::array<std::pair<std::string_view, double>, 6> kLongUnits = {
    {{"d", 86'400}, {"day", 86'400}, {"days", 86'400}, {"y", 31'557'600}, {"year", 31'557'600}, {"years", 31'557'600}}};

std::optional<double> seconds_of_unit(std::string_view unit) {
  for (const auto& [name, seconds] : kLongUnits)
    if (unit == name) return seconds;
  return unit.empty() ? std::nullopt : ratio_of_units(unit, "s");
}

// Numbers that no double holds are too large, or as good as zero.
Parsed<double> parse_long_time(std::string_view text) {
  const std::string shown = fmt::format("'{}'", printable(text, 40));
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(" \t") + 1, text.size()));
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || std::string_view("0123456789.").find(text.front()) == std::string_view::npos)
    return {{}, shown + " is not a time", {}};
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc::invalid_argument) return {{}, shown + " is not a time", {}};
  const std::string_view read = text.substr(0, static_cast<std::size_t>(end - text.data()));
  if (code == std::errc::result_out_of_range && read.find('-') == std::string_view::npos) number = HUGE_VAL;
  text.remove_prefix(read.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (is_negative && number > 0) return {{}, shown + " is negative", {}};
  if (text.empty()) return {{}, shown + (number == 0 ? " is zero, and has no unit" : " has no unit"), {}};
  const auto unit = seconds_of_unit(text);
  if (!unit) return {{}, fmt::format("{}: unknown unit '{}'", shown, printable(text, 20)), {}};
  if (!(number * *unit <= kMostSeconds)) return {{}, shown + " is too large", {}};
  return {number * *unit, {}, {}};
}

// A value that is a time, from `least` on; nothing where the key is missing, or after an error.
std::optional<double> read_long_time(Section& section, std::string_view key, double least, std::string_view presence,
                                     std::string_view meaning, std::string_view example) {
  const ConfigValue* value = section.raw(key, "long time", presence, meaning);
  if (value == nullptr) return std::nullopt;
  const std::string path = fmt::format("{}.{}", section.path(), key);
  const std::string wanted = fmt::format("a number and s, min, h, d or years, at most 30000 years: {}", example);
  if (value->kind != ConfigValue::Kind::kScalar) {
    section.error(key, fmt::format("{} is {}; a time is expected", path, kind_name(value->kind)), wanted);
    return std::nullopt;
  }
  const Parsed<double> time = parse_long_time(value->scalar);
  if (time.value && *time.value >= least) return time.value;
  if (time.value)
    section.error(key,
                  fmt::format("{}: '{}' is {}", path, printable(value->scalar, 40),
                              *time.value == 0 ? std::string("zero") : fmt::format("less than {:g} s", least)),
                  wanted);
  else
    section.error(key, fmt::format("{}: {}", path, time.problem), wanted);
  return std::nullopt;
}

double read_required_time(Section& section, std::string_view key, double least, std::string_view meaning,
                          std::string_view example) {
  if (const auto time = read_long_time(section, key, least, "required", meaning, example)) return *time;
  if (!section.has(key))
    section.error(key, fmt::format("'{}.{}' is missing (long time)", section.path(), key),
                  fmt::format("such as {}: {}", key, example));
  return 1;
}

constexpr double kLeastMtbf = 1, kLeastInterval = 1e-12;

// The command line's way of setting a value wins over another way in the file.
void prefer_options(Section& section) {
  const auto is_option = [&](const char* key) { return section.where(key).file.starts_with("--set "); };
  if (!section.has("time") || !section.has("bandwidth") || is_option("time") == is_option("bandwidth")) return;
  ConfigValue contents = section.contents();
  const std::string_view loser = is_option("time") ? "bandwidth" : "time";
  std::erase_if(contents.entries, [&](const ConfigEntry& entry) { return entry.key == loser; });
  section.rewrite(std::move(contents));
}

void read_checkpoint(Section& section, Reliability& reliability) {
  prefer_options(section);
  reliability.write =
      read_long_time(section, "time", 0, "optional", "how long writing a checkpoint stops the job", "30 s");
  section.takes("bandwidth", reliability.storage,
                "in place of `time`: bandwidth at which all ranks together write parameters and optimizer states");
  reliability.interval = read_long_time(
      section, "interval", kLeastInterval, "optional",
      "work between two checkpoints, rounded up to whole iterations, at most the whole training; without "
      "it, the interval that is best",
      "30 min");
  if (section.has("time") && section.has("bandwidth"))
    section.error("time", fmt::format("{}: 'time' and 'bandwidth' say the same", section.path()),
                  "leave one of them out");
}

}  // namespace

Reliability read_reliability(Section& section) {
  Reliability reliability;
  reliability.where = section.where();
  reliability.mtbf = read_required_time(section, "mtbf", kLeastMtbf,
                                        "mean time between failures of one device or node, or of the whole job, as "
                                        "`per` says. Units: s, min, h, d, years. "
                                        "Example: `50000 h`",
                                        "50000 h");
  section.takes(
      "per", reliability.per, {"device", "node", "job"},
      "what `mtbf` is of; device, node: of each that the job runs on, any of which stops the job, job: of the "
      "job as a whole");
  reliability.restart =
      read_required_time(section, "restart", 0,
                         "time from a failure until the job computes again: finding it, replacing what failed, "
                         "starting, loading the checkpoint, warming up. Example: `10 min`",
                         "10 min");
  section.section("checkpoint", "what checkpoints cost. Example: `checkpoint: {time: 30 s}`",
                  [&](Section& s) { read_checkpoint(s, reliability); });
  if (section.sound() && !reliability.write && !reliability.storage)
    section.error("checkpoint", fmt::format("'{}.checkpoint' does not say how long writing takes", section.path()),
                  "write checkpoint: {time: 30 s}, or checkpoint: {bandwidth: 100 GB/s}");
  return reliability;
}

}  // namespace orrery::experiment
