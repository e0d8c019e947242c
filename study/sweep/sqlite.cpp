// SPDX-License-Identifier: MIT
#include <sqlite3.h>

#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "study/sweep/data.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;
using Connection = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

// All of it is in memory: what goes wrong is lack of that.
void require(int code, sqlite3* connection) {
  if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
    throw std::runtime_error(fmt::format("SQLite: {}", sqlite3_errmsg(connection)));
}

std::string identifier(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// Type of a column: numbers if all cells are, whole ones if all are whole.
const char* type_of(const PointTable& table, std::size_t column) {
  bool is_real = false;
  for (const std::vector<Json>& row : table.rows) {
    if (row[column].is_string()) return "TEXT";
    is_real |= row[column].is_number_float();
  }
  return is_real ? "REAL" : "INTEGER";
}

void run(sqlite3* connection, const std::string& command) {
  require(sqlite3_exec(connection, command.c_str(), nullptr, nullptr, nullptr), connection);
}

void bind(sqlite3_stmt* insert, int place, const Json& value) {
  sqlite3* connection = sqlite3_db_handle(insert);
  if (value.is_null())
    require(sqlite3_bind_null(insert, place), connection);
  else if (value.is_string())
    require(sqlite3_bind_text(insert, place, value.get_ref<const std::string&>().c_str(), -1, SQLITE_TRANSIENT),
            connection);
  else if (value.is_number_float())
    require(sqlite3_bind_double(insert, place, value.get<double>()), connection);
  else
    require(sqlite3_bind_int64(insert, place, value.get<std::int64_t>()), connection);
}

}  // namespace

std::string sweep_sqlite(const Sweep& sweep, std::span<const SweepPoint> points) {
  const PointTable table = point_table(sweep, points);
  sqlite3* opened = nullptr;
  const int code = sqlite3_open(":memory:", &opened);
  const Connection connection(opened, &sqlite3_close);
  require(code, opened);
  std::string columns, places;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    columns += fmt::format("{}{} {}", i == 0 ? "" : ", ", identifier(table.columns[i]),
                           i == 0 ? "INTEGER PRIMARY KEY" : type_of(table, i));
    places += i == 0 ? "?" : ", ?";
  }
  run(opened, "BEGIN");
  run(opened, "CREATE TABLE points (" + columns + ")");
  sqlite3_stmt* prepared = nullptr;
  require(sqlite3_prepare_v2(opened, ("INSERT INTO points VALUES (" + places + ")").c_str(), -1, &prepared, nullptr),
          opened);
  {
    const Statement insert(prepared, &sqlite3_finalize);
    for (const std::vector<Json>& row : table.rows) {
      for (std::size_t i = 0; i < row.size(); ++i) bind(insert.get(), static_cast<int>(i + 1), row[i]);
      require(sqlite3_step(insert.get()), opened);
      require(sqlite3_reset(insert.get()), opened);
    }
  }
  run(opened, "COMMIT");
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(sqlite3_serialize(opened, "main", &size, 0),
                                                                      &sqlite3_free);
  if (!bytes) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
}

}  // namespace orrery::study
