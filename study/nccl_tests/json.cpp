#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "study/nccl_tests/formats.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr std::string_view kJsonHint = "expected the document of `orrery collective --json`";

std::optional<double> positive(const json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  if (!std::isfinite(value) || value <= 0) return std::nullopt;
  return value;
}

std::optional<NcclRow> row_of(const json& document, std::size_t index, const std::string& name,
                              Diagnostics& diagnostics) {
  const auto refuse = [&](std::string_view what) {
    diagnostics.error({name}, fmt::format("rows[{}]: {}", index, what), std::string(kJsonHint));
    return std::nullopt;
  };
  if (!document.is_object()) return refuse("no object");
  const auto bytes = document.find("bytes");
  const auto time = positive(document, "time_us");
  const bool whole = bytes != document.end() && bytes->is_number_integer();
  if (!whole || (bytes->is_number_unsigned() ? bytes->get<std::uint64_t>() > std::uint64_t{INT64_MAX}
                                             : bytes->get<std::int64_t>() < 0))
    return refuse("bytes is no size");
  if (!time || *time * 1e6 >= static_cast<double>(Duration::max().count()) || *time * 1e6 < 0.5)
    return refuse("time_us is no time");
  NcclRow row;
  row.bytes = Bytes(bytes->get<std::int64_t>());
  row.out_of_place.time = Duration(std::llround(*time * 1e6));
  row.out_of_place.algbw = positive(document, "algbw_GBps");
  row.out_of_place.busbw = positive(document, "busbw_GBps");
  return row;
}

}  // namespace

std::optional<std::vector<NcclTable>> read_collective_json(std::string_view text, const std::string& name,
                                                           Diagnostics& diagnostics) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return std::nullopt;
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  std::vector<NcclTable> none;
  const auto schema = document.find("schema");
  if (schema == document.end() || *schema != "orrery.collective/1") {
    diagnostics.error({name}, "JSON, but not of schema 'orrery.collective/1'", std::string(kJsonHint));
    return none;
  }
  NcclTable table;
  if (const auto op = document.find("op"); op != document.end() && op->is_string())
    table.test = nccl_test_named(op->get_ref<const std::string&>());
  if (const auto ranks = document.find("ranks");
      ranks != document.end() && ranks->is_number_unsigned() && ranks->get<std::uint64_t>() <= UINT32_MAX)
    table.ranks = ranks->get<std::uint32_t>();
  table.groups = table.ranks > 0 ? 1 : 0;
  const auto rows = document.find("rows");
  if (rows == document.end() || !rows->is_array() || rows->empty()) {
    diagnostics.error({name}, "no rows", std::string(kJsonHint));
    return none;
  }
  for (std::size_t i = 0; i < rows->size(); ++i)
    if (auto row = row_of((*rows)[i], i, name, diagnostics)) table.rows.push_back(std::move(*row));
  if (table.rows.empty()) return none;
  none.push_back(std::move(table));
  return none;
}

}  // namespace orrery
