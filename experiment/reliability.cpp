// SPDX-License-Identifier: MIT
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/config/decimal.h"
#include "core/config/quantity_text.h"
#include "experiment/sections.h"

namespace orrery::experiment {
namespace {

// Longer than any simulated time: "50000 h", "5 years".
std::optional<double> seconds_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 6> kLongUnits = {{{"d", 86'400},
                                                                              {"day", 86'400},
                                                                              {"days", 86'400},
                                                                              {"y", 31'557'600},
                                                                              {"year", 31'557'600},
                                                                              {"years", 31'557'600}}};
  const auto number = take_decimal(text);
  if (!number || number->mantissa <= 0) return std::nullopt;
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view unit = text.substr(first);
  for (const auto& [name, seconds] : kLongUnits)
    if (unit == name) return to_double(*number) * seconds;
  const auto ratio = ratio_of_units(unit, "s");
  return ratio ? std::optional(to_double(*number) * *ratio) : std::nullopt;
}

double read_mtbf(Section& section) {
  constexpr double kMost = 1e12;  // 30,000 years
  const ConfigValue* value = section.raw(
      "mtbf", "long time", "required",
      "mean time between failures of one device or node, or of the whole job, as `per` says. Units: s, min, "
      "h, d, years. Example: `50000 h`");
  if (value == nullptr) {
    if (!section.has("mtbf"))
      section.error("mtbf", fmt::format("'{}.mtbf' is missing (long time)", section.path()), "such as mtbf: 50000 h");
    return 1;
  }
  const auto seconds = value->kind == ConfigValue::Kind::kScalar ? seconds_of(value->scalar) : std::nullopt;
  if (seconds && *seconds >= 1 && *seconds <= kMost) return *seconds;
  section.error(
      "mtbf",
      fmt::format("{}.mtbf: {} is {}", section.path(),
                  value->kind == ConfigValue::Kind::kScalar ? fmt::format("'{}'", printable(value->scalar, 40))
                                                            : std::string(kind_name(value->kind)),
                  seconds ? "out of range" : "not a time"),
      "a number and s, min, h, d or years, from 1 s to 30000 years: 50000 h");
  return 1;
}

void read_checkpoint(Section& section, Reliability& reliability) {
  section.takes("time", reliability.write, "how long writing a checkpoint stops the job");
  section.takes("bandwidth", reliability.storage,
                "in place of `time`: bandwidth at which all ranks together write parameters and optimizer states");
  section.takes("interval", reliability.interval,
                "work between two checkpoints, rounded up to whole iterations; without it, the interval that is best");
  if (reliability.write && reliability.storage)
    section.error("time", fmt::format("{}: 'time' and 'bandwidth' say the same", section.path()),
                  "leave one of them out");
  if (reliability.interval && *reliability.interval <= Duration::zero())
    section.error("interval", fmt::format("{}.interval: a time above zero is expected", section.path()), "30 min");
}

}  // namespace

Reliability read_reliability(Section& section) {
  Reliability reliability;
  reliability.where = section.where();
  reliability.mtbf = read_mtbf(section);
  section.takes(
      "per", reliability.per, {"device", "node", "job"},
      "what `mtbf` is of; device, node: of each that the job runs on, any of which stops the job, job: of the "
      "job as a whole");
  section.needs(
      "restart", reliability.restart,
      "time from a failure until the job computes again: finding it, replacing what failed, starting, loading "
      "the checkpoint, warming up. Example: `10 min`");
  section.section("checkpoint", "what checkpoints cost. Example: `checkpoint: {time: 30 s}`",
                  [&](Section& s) { read_checkpoint(s, reliability); });
  if (section.sound() && !reliability.write && !reliability.storage)
    section.error("checkpoint", fmt::format("'{}.checkpoint' does not say how long writing takes", section.path()),
                  "write checkpoint: {time: 30 s}, or checkpoint: {bandwidth: 100 GB/s}");
  return reliability;
}

}  // namespace orrery::experiment
