// SPDX-License-Identifier: MIT
#include "collectives/nccl/constants_config.h"

#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/quantity_text.h"

namespace orrery::collectives {
namespace {

constexpr double kPicoseconds = 1e12;

template <class T>
std::optional<double> number(std::optional<T> value, double unit) {
  if (!value) return std::nullopt;
  return static_cast<double>(value->count()) / unit;
}

// One constant; nothing if it is not there, which is an error if it has to be.
std::optional<double> read(Section& section, std::string_view key, std::size_t constant, bool is_required) {
  const std::string_view meaning = meaning_of(constant);
  const auto ask = [&]<class T>(T) -> std::optional<T> {
    if (is_required) return section.required<T>(key, meaning);
    return section.maybe<T>(key, meaning);
  };
  switch (nccl_constant_entries()[constant].kind) {
    case ConstantKind::kLatency:
      return number(ask(Duration{}), kPicoseconds);
    case ConstantKind::kRate:
      return number(ask(Bandwidth(1)), 1);
    case ConstantKind::kSize:
      return number(ask(Bytes(0)), 1);
    case ConstantKind::kShare:
      return number(ask(kFullEfficiency), static_cast<double>(kFullEfficiency.count()));
    case ConstantKind::kFactor:
      return ask(double{});
  }
  ORRERY_ASSERT(false);
  return std::nullopt;
}

using Visit = std::function<void(std::size_t number, double value)>;

// The entries from `first` on whose paths start with `prefix`, as nested maps. Returns the number behind the last.
std::size_t read_nested(Section& section, std::string_view prefix, std::size_t first, bool is_required,
                        const Visit& visit) {
  const std::span<const NcclConstantEntry> entries = nccl_constant_entries();
  std::size_t i = first;
  while (i < entries.size() && entries[i].path.starts_with(prefix)) {
    const std::string_view rest = entries[i].path.substr(prefix.size());
    const std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos) {
      if (const auto value = read(section, rest, i, is_required)) visit(i, *value);
      ++i;
      continue;
    }
    const std::string_view inner = entries[i].path.substr(0, prefix.size() + dot + 1);
    const auto read_inner = [&](Section& s) { read_nested(s, inner, i, is_required, visit); };
    if (is_required)
      section.required_section(rest.substr(0, dot), meaning_of(i), read_inner);
    else
      section.section(rest.substr(0, dot), meaning_of(i), read_inner);
    while (i < entries.size() && entries[i].path.starts_with(inner)) ++i;
  }
  return i;
}

}  // namespace

NcclConstantsFile read_nccl_constants(Section& section) {
  NcclConstantsFile file;
  section.note("name", "a label for people; Orrery does not use it");
  section.sources();
  read_nested(section, "", 0, true, [&](std::size_t i, double value) { file.constants.set(i, value); });
  section.repeated_section("nominal",
                           "NCCL's own or nominal figures of the constants that were fitted, under the same keys",
                           [&](Section& s) { file.nominal = read_some_nccl_constants(s); });
  return file;
}

NcclConstantsFile shipped_nccl_constants(const ConfigFiles& files) {
  Diagnostics diagnostics;
  ConfigValue root = files.load(files.shipped() / "libraries" / "nccl.yaml", {}, diagnostics);
  diagnostics.throw_if_errors();
  ConfigContext context(files, diagnostics);
  NcclConstantsFile file;
  read_config(root, context, [&](Section& section) { file = read_nccl_constants(section); });
  diagnostics.throw_if_errors();
  return file;
}

NcclConstantList read_some_nccl_constants(Section& section) {
  NcclConstantList constants;
  read_nested(section, "", 0, false, [&](std::size_t i, double value) { constants.emplace_back(i, value); });
  return constants;
}

std::string nccl_constant_text(std::size_t number, double value) {
  switch (nccl_constant_entries()[number].kind) {
    case ConstantKind::kLatency:
      return orrery::to_text(Duration(std::llround(value * kPicoseconds)));
    case ConstantKind::kRate:
      return to_text(Bandwidth(std::llround(value)));
    case ConstantKind::kSize:
      return to_text(Bytes(std::llround(value)));
    case ConstantKind::kShare:
      return to_text(Efficiency(std::llround(value * static_cast<double>(kFullEfficiency.count()))));
    case ConstantKind::kFactor:
      return fmt::format("{:.6g}", value);
  }
  ORRERY_ASSERT(false);
  return {};
}

}  // namespace orrery::collectives
