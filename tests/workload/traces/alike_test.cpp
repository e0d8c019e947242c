// SPDX-License-Identifier: MIT
#include "workload/traces/alike.h"

#include <algorithm>
#include <functional>
#include <random>

#include <catch2/catch.hpp>

#include "core/error.h"
#include "tests/workload/traces/mixed_job.h"
#include "tests/workload/traces/same_trace.h"
#include "tests/workload/traces/trace_builder.h"
#include "core/files/read_file.h"
#include "workload/tools/writer.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

constexpr int kAllReduce = 0;
constexpr int kBroadcast = 5;

// What one rank calls things.
struct Names {
  std::string tensor = "1";
  std::string data = "2";
  std::string description = "tensor";
  std::int64_t root = 3;
  std::int64_t next = 1;
  std::int64_t last = 2;
  std::int64_t tag = 7;
};

Trace trace_of(const Names& names) {
  return {compute(0, 5),
          collective(1, kAllReduce, 64, names.tensor).text("pg_desc", names.description).data({0}),
          collective(2, kAllReduce, 64, names.data).data({1}),
          collective(3, kBroadcast, 64, names.data).with("root", names.root).data({2}),
          collective(4, kAllReduce, 32, names.tensor).text("pg_desc", names.description).data({3}),
          collective(5, kAllReduce, 16).data({4}),
          send(6, names.next, 8, names.tag).data({5}),
          receive(7, names.last, 8, names.tag).data({5}),
          send(8, names.next, 8, 0).with("comm_src", 9).data({7})};
}

TraceModel model_of(const std::string& bytes) {
  std::optional<TraceModel> model = TraceModel::of(bytes, read_rank_trace("model.et", bytes, Dependencies::kBoth));
  REQUIRE(model);
  return std::move(*model);
}

// How the trace differs when it is read beside the model and by itself; "not alike" where the model does not read it.
std::string difference_beside(const std::string& model, const std::string& bytes) {
  const std::optional<RankTrace> alike = model_of(model).read("trace.et", bytes);
  if (!alike) return "not alike";
  return difference(*alike, read_rank_trace("model.et", model, Dependencies::kBoth),
                    read_rank_trace("trace.et", bytes, Dependencies::kBoth));
}

std::string difference_beside_model(const Trace& trace) {
  return difference_beside(bytes_of(trace_of({})), bytes_of(trace));
}

}  // namespace

TEST_CASE("a trace that differs in names alone is what it is by itself") {
  CHECK(difference_beside_model(trace_of({})) == "");
  CHECK(difference_beside_model(trace_of({.tensor = "17", .data = "a long name of a communicator"})) == "");
  CHECK(difference_beside_model(trace_of({.description = "tensor of stage 3"})) == "");
  CHECK(difference_beside_model(trace_of({.root = 1'000'000, .next = 300, .last = 0, .tag = -1})) == "");
  CHECK(difference_beside_model(trace_of({.root = -1, .next = 2, .last = 1, .tag = 0})) == "");
}

TEST_CASE("the order of the nodes in the file does not matter to how alike traces are") {
  const auto backwards = [](Trace trace) {
    std::ranges::reverse(trace);
    return bytes_of(trace);
  };
  CHECK(difference_beside(backwards(trace_of({})), backwards(trace_of({.tensor = "5", .next = 9, .tag = 1 << 20}))) ==
        "");
}

TEST_CASE("traces that differ in more than names are not alike") {
  const auto change = [](const std::function<void(Trace&)>& how) {
    Trace trace = trace_of({});
    how(trace);
    return difference_beside_model(trace);
  };
  CHECK(change([](Trace& trace) { trace[0].set_duration_micros(6); }) == "not alike");
  CHECK(change([](Trace& trace) { trace[1].set_name("other"); }) == "not alike");
  CHECK(change([](Trace& trace) { trace[1].mutable_attr(1)->set_int64_val(65); }) == "not alike");
  CHECK(change([](Trace& trace) { trace[2].clear_data_deps(); }) == "not alike");
  CHECK(change([](Trace& trace) { trace[2].mutable_attr(3)->set_name("comm_group"); }) == "not alike");
  CHECK(change([](Trace& trace) { trace.pop_back(); }) == "not alike");
  CHECK(change([](Trace& trace) { trace.push_back(compute(9)); }) == "not alike");
}

TEST_CASE("names that make other slots, or that cannot be read, are not alike") {
  const auto change = [](const std::function<void(Trace&)>& how) {
    Trace trace = trace_of({});
    how(trace);
    return difference_beside_model(trace);
  };
  CHECK(difference_beside_model(trace_of({.tensor = "2"})) == "not alike");
  CHECK(difference_beside_model(trace_of({.tensor = ""})) == "not alike");
  CHECK(difference_beside_model(trace_of({.next = 2})) == "not alike");
  CHECK(change([](Trace& trace) { trace[1].mutable_attr(3)->set_string_val("5"); }) == "not alike");
  CHECK(change([](Trace& trace) { trace[8].mutable_attr(0)->set_int64_val(5); }) == "not alike");
  CHECK(change([](Trace& trace) { trace[1].mutable_attr(3)->set_double_val(0.5); }) == "not alike");
  CHECK(change([](Trace& trace) { trace[6].mutable_attr(0)->clear_value(); }) == "not alike");
  CHECK(change([](Trace& trace) { trace[3].mutable_attr(4)->set_int64_val(-2); }) == "not alike");
}

TEST_CASE("a trace with something to report, compressed or as JSON is no model") {
  const auto is_model = [](const std::string& bytes) {
    return TraceModel::of(bytes, read_rank_trace("x.et", bytes, Dependencies::kBoth)).has_value();
  };
  CHECK(is_model(bytes_of({compute(0)})));
  CHECK_FALSE(is_model(bytes_of({collective(0, kAllReduce, 0)})));  // a collective of zero bytes is a warning
  CHECK_FALSE(is_model(bytes_of({compute(0), compute(0)})));
  CHECK_FALSE(is_model(R"({"id": "1", "name": "x", "type": "COMP_NODE", "durationMicros": "1"})"));
}

TEST_CASE("ranks of random jobs are what they are by themselves, beside every other rank") {
  std::mt19937_64 random(4);
  int alike = 0;
  for (int i = 0; i < 40; ++i) {
    const ScratchDirectory directory;
    const Job job = random_mixed_job(random, 4, 1 + static_cast<std::uint32_t>(i));
    const std::string prefix = write_job(job, directory.path("out"), "mixed").prefix;
    std::vector<std::string> files;
    for (std::size_t rank = 0; rank < job.ranks.size(); ++rank)
      files.push_back(read_file(prefix + "." + std::to_string(rank) + ".et"));
    for (const std::string& model : files) {
      if (!TraceModel::of(model, read_rank_trace("model.et", model, Dependencies::kBoth))) continue;
      for (const std::string& file : files) {
        const std::string found = difference_beside(model, file);
        CHECK((found == "" || found == "not alike"));
        alike += &file != &model && found.empty();
      }
    }
  }
  CHECK(alike > 20);
}
