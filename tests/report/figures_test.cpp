// SPDX-License-Identifier: MIT
// The table of figures, and declared documents.
#include <algorithm>
#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "report/documents/documents.h"
#include "report/figures.h"

using namespace orrery;
using namespace orrery::report;

namespace {

// A job that has every figure but those of models without tokens.
Result full_result() {
  Result result;
  result.finish = Time(Duration(2'000'000'000'000));  // 2 s
  result.class_of_rank = {0};
  Breakdown& only = result.classes.emplace_back();
  only.compute = Duration(1'500'000'000'000);
  only.wait = Duration(500'000'000'000);
  only.finish = result.finish;
  result.path = {{"compute", Duration(1'600'000'000'000), 3}, {"tensor", Duration(400'000'000'000), 2}};
  LinkClassUse& link = result.links.emplace_back();
  link.name = "nic.up";
  link.most = 0.25;
  TrainingFigures& training = result.training.emplace();
  training.mfu = 0.5;
  training.mfu_all_devices = 0.25;
  training.tokens_per_s_per_gpu = 100;
  training.power = Power{400};
  training.model_tflops_per_gpu = 150;
  training.has_measured_kernels = true;
  training.bubble = BubbleFigures{0.25, "1f1b", 4};
  training.capacity = Bytes(1'000'000);
  training.run = TrainingRun{1'000'000, 86'400, 48, Power{400}, 19.2, 96};
  result.call = CallFigures{"all_reduce", Bytes(1'000'000'000), 5e9, 1e10};
  result.product = ProductFigures{"1 x 1 x 1 bf16", 5e14, 0.5};
  return result;
}

}  // namespace

TEST_CASE("figures have names of their own, and all that is told of them") {
  std::set<std::string> names;
  for (const Figure& figure : figures()) {
    INFO(figure.name());
    CHECK(!figure.name().empty());
    CHECK(names.insert(figure.name()).second);
    CHECK(!figure.heading.empty());
    CHECK(!figure.meaning.empty());
    CHECK(!figure.needed().empty());
    CHECK((!figure.is_rare || !figure.needs.empty()));  // the group does not say what such a one needs
    CHECK(figure.column_name().size() + figure.path.size() > 0);
    // A column of several figures has one heading, and one direction.
    for (const Figure& other : figures())
      if (!figure.column_name().empty() && other.column_name() == figure.column_name())
        CHECK((other.heading == figure.heading && other.better == figure.better));
  }
}

TEST_CASE("what the document of a run says of a figure is what the table takes") {
  const Result result = full_result();
  const nlohmann::ordered_json document = to_json(result, true);
  const FigureSource source = figure_source(result);
  for (const Figure& figure : figures()) {
    INFO(figure.name());
    const bool is_of_samples = figure.name().find("samples") != std::string::npos;
    const std::optional<FigureValue> value = figure.take(source);
    CHECK(value.has_value() != is_of_samples);
    if (!value || figure.path.empty()) continue;
    std::string pointer = "/" + figure.full_path();
    std::ranges::replace(pointer, '.', '/');
    CHECK(document.at(nlohmann::ordered_json::json_pointer(pointer)) == to_json(*value));
  }
  // 1 M tokens in a day; 48 device-hours are 2 device-days.
  CHECK(document["training_run"]["days"] == 1.0);
  CHECK(document["training_run"]["device_days"] == 2.0);
  CHECK(column_text(figure_values(source), "mfu") == "50.0 %");
  CHECK(column_text(figure_values(source), "throughput") == "100.0 tokens/s");
  CHECK(column_text(figure_values(source), "busbw") == "10.00 GB/s");
  // 1.6 s of the 2 s of the path, whatever the ranks' mean says (1.5 s).
  CHECK(bound_text(figure_values(source)) == "compute 80 %, bubble 25 %");
  CHECK(column_text({}, "mfu") == "-");
}

TEST_CASE("values of figures are read back as they were written") {
  for (const FigureValue& value :
       {FigureValue(std::int64_t{3}), FigureValue(3.0), FigureValue(0.1), FigureValue("3")}) {
    const std::string text = to_json(value).dump();
    INFO(text);
    CHECK(value_of(nlohmann::ordered_json::parse(text)) == value);
  }
  CHECK_THROWS(value_of(nlohmann::ordered_json::array()));
}

TEST_CASE("every figure in the document of a run is declared there") {
  const nlohmann::ordered_json schema = documents_schema(std::vector{result_document()});
  const nlohmann::ordered_json& run = schema["$defs"]["orrery.result"];
  for (const Figure& figure : figures()) {
    if (figure.path.empty()) continue;
    INFO(figure.name());
    std::string pointer = "/properties/" + figure.full_path();
    for (std::size_t dot = pointer.find('.'); dot != std::string::npos; dot = pointer.find('.'))
      pointer.replace(dot, 1, "/properties/");
    CHECK(run.contains(nlohmann::ordered_json::json_pointer(pointer)));
  }
}
