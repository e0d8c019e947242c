// SPDX-License-Identifier: MIT
// Pictures of tables. That every picture is sound XML, tests/cli/contract_test.py checks.
#include <catch2/catch.hpp>
#include <regex>
#include <string>
#include <vector>

#include "core/error.h"
#include "study/validate/collectives/validate.h"

using namespace orrery;
using namespace orrery::study;

namespace {

ValidationTable table(std::vector<ValidationRow> rows) {
  ValidationTable table;
  table.name = "two_nodes";
  table.source = "a <report> & its \"appendix\"";
  table.measured = "16 GPUs";
  table.cluster = table.machine = "dgx-a100";
  table.nodes = 2;
  table.gpus_per_node = 8;
  table.operation = workload::call_operation_named("broadcast", "op");
  table.rows = std::move(rows);
  return table;
}

ValidationRow row(std::int64_t bytes, std::int64_t microseconds) {
  return {Bytes(bytes), Duration(microseconds * 1'000'000)};
}

// Every prediction is `percent` of what was measured.
std::string plot(const ValidationTable& table, std::int64_t percent) {
  MeasuredGroup validated{table.name, rows_of(table)};
  for (Measured& row : validated.rows) row.predicted = row.measured * static_cast<double>(percent) / 100;
  return validation_plot(validated);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The y of the first element whose text this expression finds.
double height(const std::string& picture, const std::string& element) {
  std::smatch found;
  if (!std::regex_search(picture, found, std::regex(element))) return -1;
  return std::stod(found[1]);
}

}  // namespace

TEST_CASE("a picture has a mark for every row, its captions and its labels") {
  const ValidationTable measured = table({row(1 << 10, 10), row(1 << 20, 30), row(1 << 30, 9000)});
  const std::string picture = plot(measured, 80);
  CHECK(count(picture, "class=\"measured\"") == 3 + 1);            // and the legend's
  CHECK(count(picture, "class=\"predicted-spot\"") == 3 + 1 + 3);  // and those of the errors
  CHECK(count(picture, "<polyline") == 1);
  CHECK(picture.find(">two_nodes</text>") != std::string::npos);
  CHECK(picture.find(">broadcast on 2 x 8 GPUs of dgx-a100</text>") != std::string::npos);
  CHECK(picture.find(">Error: median 20.0 %, 90 % of the rows at most 20.0 %, worst -20.0 % at 1.000 KiB</text>") !=
        std::string::npos);
  CHECK(picture.find(">Source: a &lt;report&gt; &amp; its &quot;appendix&quot;</text>") != std::string::npos);
  for (const char* label : {">1K<", ">1M<", ">1G<", ">-20<", ">0<"}) CHECK(picture.find(label) != std::string::npos);
  CHECK(picture == plot(measured, 80));
}

TEST_CASE("bus bandwidth is where its labels say") {
  // A broadcast of 10^9 bytes in 10^5 us is 10 GB/s of bus bandwidth, which has a label: text stands 4 pixels below.
  const std::string picture = plot(table({row(1'000'000'000, 100'000)}), 50);
  const double label = height(picture, "y=\"([0-9.]+)\">10</text>");
  REQUIRE(label > 0);
  const std::string below_the_legend = picture.substr(picture.find("<polyline"));
  CHECK(height(below_the_legend, "\"measured\" cx=\"[0-9.]+\" cy=\"([0-9.]+)\"") == Approx(label - 4).margin(0.02));
  // Half of the time is twice the bandwidth, and an error of -50 %.
  CHECK(height(below_the_legend, "points=\"[0-9.]+,([0-9.]+)\"") ==
        Approx(height(picture, "y=\"([0-9.]+)\">20</text>") - 4).margin(0.02));
  const std::string errors = picture.substr(picture.find("Error of the predicted time"));
  CHECK(height(errors, "\"predicted-spot\" cx=\"[0-9.]+\" cy=\"([0-9.]+)\"") ==
        Approx(height(errors, "y=\"([0-9.]+)\">-50</text>") - 4).margin(0.02));
}

TEST_CASE("a long source goes over several lines, and a word that is longer is cut between characters") {
  ValidationTable measured = table({row(1024, 10)});
  measured.source = std::string(100, 'a') + " " + std::string(60, 'b');
  const std::string picture = plot(measured, 100);
  CHECK(picture.find(">Source: " + std::string(100, 'a') + "</text>") != std::string::npos);
  CHECK(picture.find(">" + std::string(60, 'b') + "</text>") != std::string::npos);
  measured.source.clear();
  for (int i = 0; i < 200; ++i) measured.source += "\xC3\xBC";
  CHECK(plot(measured, 100).find("\\x") == std::string::npos);  // what half a character would become
}

TEST_CASE("a table has to have a name that a file can have") {
  ValidationTable measured = table({});
  CHECK(plot_file_name(measured) == "two_nodes.svg");
  for (const char* name : {"", "..", "../up", "a/b", ".hidden", "a b", "a\nb"}) {
    measured.name = name;
    INFO(name);
    CHECK_THROWS_AS(plot_file_name(measured), InputError);
  }
  measured.name = std::string(201, 'a');
  CHECK_THROWS_WITH(plot_file_name(measured), Catch::Contains("cannot be the name of a picture"));
}
