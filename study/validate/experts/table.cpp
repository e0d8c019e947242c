// SPDX-License-Identifier: MIT
#include "study/validate/experts/table.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery::study {
namespace {

constexpr std::size_t kNumbers = 9;
constexpr std::size_t kWholeNumbers = 7;
constexpr std::int64_t kMost = 1 << 24;

Duration time_of(const ConfigValue& part, Diagnostics& diagnostics) {
  const Parsed<Duration> time = parse_quantity<Duration>(part.scalar + " us");
  if (time.value && *time.value > Duration::zero()) return *time.value;
  diagnostics.error(part.where, fmt::format("'{}' is not a time in microseconds", printable(part.scalar, 40)),
                    "a number above 0, without a unit");
  return Duration(1);
}

void read_row(const ConfigValue& item, Diagnostics& diagnostics, ExpertTable& table) {
  const auto is_scalar = [](const ConfigValue& part) { return part.kind == ConfigValue::Kind::kScalar; };
  if (item.kind != ConfigValue::Kind::kList || item.items.size() != kNumbers ||
      !std::ranges::all_of(item.items, is_scalar))
    return diagnostics.error(item.where, "an exchange is nine numbers",
                             "[nodes, GPUs of a node, hidden, tokens, experts per token, experts, multiprocessors, "
                             "dispatch in us, combine in us]");
  const std::size_t errors = diagnostics.error_count();
  std::array<std::int64_t, kWholeNumbers> numbers{};
  auto next = item.items.begin();
  for (std::size_t i = 0; i < kWholeNumbers; ++i) {
    const ConfigValue& part = *next++;
    numbers[i] = parse_whole_number(part.scalar).value_or(0);
    if (numbers[i] < 1 || numbers[i] > kMost)
      diagnostics.error(part.where, fmt::format("invalid number '{}'", printable(part.scalar, 40)),
                        fmt::format("a whole number from 1 to {}", kMost));
  }
  const Duration dispatch = time_of(*next++, diagnostics);
  const Duration combine = time_of(*next, diagnostics);
  if (errors < diagnostics.error_count()) return;
  const auto& [nodes, gpus, hidden, tokens, experts_per_token, experts, processors] = numbers;
  if (experts % (nodes * gpus) != 0)
    diagnostics.error(item.where, fmt::format("{} experts do not divide among {} ranks", experts, nodes * gpus));
  if (experts_per_token > experts)
    diagnostics.error(item.where, fmt::format("{} of {} experts for a token", experts_per_token, experts));
  table.rows.push_back({item.where, static_cast<std::uint32_t>(nodes), static_cast<std::uint32_t>(gpus), hidden, tokens,
                        experts_per_token, experts, processors, dispatch, combine});
}

}  // namespace

void read_table(Section& section, ExpertTable& table) {
  table.name = read_words(section, "table", "its name, which no other table has");
  table.where = section.where("table");
  table.source = read_words(section, "source", "where it was published");
  section.note("license", "under which it was published");
  table.measured = read_words(section, "measured", "the machine, in the words of the source");
  table.system = read_words(section, "system", "a name that the tables of one system share");
  table.cluster = read_words(section, "cluster", "the machine, by its name in configs/clusters");
  section.required_section(
      "dispatch", "the library that was measured", [&](Section& s) { table.library = read_dispatch(s); }, "dispatch");
  if (section.has("dispatch") && table.library.kind != DispatchKind::kCopies && section.sound())
    section.error("dispatch", fmt::format("'{}' has no kernels of its own", printable(table.library.name)),
                  "name a library whose exchange is copies: orrery list dispatch");
  section.required_section("bytes_per_value", "size of a value of a row on its way, with scales", [&](Section& s) {
    const std::array<std::string_view, 2> ways = {"dispatch", "combine"};
    for (std::size_t i = 0; i < ways.size(); ++i) {
      table.bytes_per_value[i] = s.required<double>(ways[i], "bytes of a value");
      if (s.has(ways[i]) && !(table.bytes_per_value[i] > 0 && table.bytes_per_value[i] <= 8))
        s.error(ways[i], "not a size of a value in bytes", "a number above 0 and at most 8");
    }
  });
  section.takes("groups_per_token", table.groups_per_token, {0, 1 << 16},
                "number of nodes that a token's experts may lie on; 0: all");
  section.takes("balanced", table.balanced, "whether tokens go to experts of as many ranks as there are");
  section.takes("fitted", table.fitted, "whether the library's rates were fitted to it");
  section.accepts("why_not", table.why_not, "if not, why");
  if (table.fitted != table.why_not.empty())
    section.error("fitted", "a table that is not fitted to, and only such a one, says why", "add or drop 'why_not'");
  const ConfigValue* rows = section.raw("exchanges", "list of lists of nine numbers", "required", "measured times");
  if (rows == nullptr || rows->kind != ConfigValue::Kind::kList || rows->items.empty())
    return section.error("exchanges", "'exchanges' must be a list of lists of nine numbers");
  for (const ConfigValue& item : rows->items) read_row(item, section.context().diagnostics(), table);
}

}  // namespace orrery::study
