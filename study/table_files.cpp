// SPDX-License-Identifier: MIT
#include "study/table_files.h"

namespace orrery::study {

std::string read_words(Section& section, std::string_view key, std::string_view meaning) {
  std::string text = section.required<std::string>(key, meaning);
  if (section.has(key) && text.empty()) section.error(key, fmt::format("'{}' is empty", key), std::string(meaning));
  return text;
}

void check_scoring(Section& section, bool scored, const std::string& why_not) {
  if (!scored && why_not.empty()) section.error("scored", "a table that is not scored has no reason", "add 'why_not'");
  if (scored && !why_not.empty())
    section.error("why_not", "a reason not to score a table that is scored", "take it out, or write 'scored: false'");
}

void read_rows(Section& section, std::string_view what, std::string_view meaning,
               const std::function<void(const ConfigValue&)>& read) {
  const ConfigValue* rows = section.raw("rows", fmt::format("list of {}", what), "required", meaning);
  if (rows == nullptr || rows->kind != ConfigValue::Kind::kList || rows->items.empty())
    return section.error("rows", fmt::format("'rows' must be a list of {}", what), "a table has at least one row");
  for (const ConfigValue& item : rows->items) read(item);
}

}  // namespace orrery::study
