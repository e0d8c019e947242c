// SPDX-License-Identifier: MIT
// `orrery collective` with NCCL: which algorithm and protocol each size takes, and what bounds it.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "study/benchmark/study.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;

namespace {

constexpr Bytes kGiB{1 << 30};

CollectiveTable table_of(const CollectiveQuestion& question, const char* operation, std::vector<Bytes> sizes) {
  return study_collective(question, workload::call_operation_named(operation, "--op"), sizes, kFiles);
}

CollectiveRow row_of(const CollectiveQuestion& question, const char* operation, Bytes size) {
  return table_of(question, operation, {size}).rows.at(0);
}

std::string taken(const CollectiveQuestion& question, const char* operation, Bytes size) {
  const CollectiveRow row = row_of(question, operation, size);
  return row.algorithm + " " + row.protocol.value_or("none");
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("GPUs of a cluster of nodes run NCCL unless a key says otherwise") {
  CHECK(table_of({.cluster = "dgx-a100"}, "all_reduce", {kGiB}).library == "nccl 2.30.0");
  CHECK(table_of({.cluster = "mi300x-8"}, "all_reduce", {kGiB}).library == "nccl 2.30.0");  // RCCL
  CHECK(table_of({.cluster = "dgx-a100", .settings = {"collectives.version=2.18.5"}}, "all_reduce", {kGiB}).library ==
        "nccl 2.18.5");
  for (const CollectiveQuestion& fixed :
       {CollectiveQuestion{.cluster = "dgx-a100", .library = "fixed"},
        CollectiveQuestion{.cluster = "gaudi2-8"},  // not NVIDIA's, not AMD's
        CollectiveQuestion{.cluster = "dgx-a100", .settings = {"collectives.chunks=2"}},
        CollectiveQuestion{.cluster = "dgx-a100", .settings = {"network.granularity=step"}},
        CollectiveQuestion{.cluster = "dgx-a100", .algorithm = "ring", .settings = {"collectives.chunks=2"}},
        CollectiveQuestion{.cluster = "dgx-a100", .algorithm = "halving-doubling"}}) {
    CAPTURE(fixed.cluster, fixed.algorithm);
    const CollectiveTable table = table_of(fixed, "all_reduce", {kGiB});
    CHECK(table.library.empty());
    CHECK_FALSE(table.rows[0].protocol.has_value());
  }
}

TEST_CASE("NCCL takes what it is held to, and names it") {
  const CollectiveQuestion two{.cluster = "dgx-h100", .nodes = "2"};
  const auto held = [&](const char* algorithms, const char* protocols) {
    CollectiveQuestion question = two;
    question.algorithm = algorithms;
    question.protocol = protocols;
    return taken(question, "all_reduce", Bytes(1 << 20));
  };
  CHECK(held("ring", "ll") == "ring ll");
  CHECK(held("Ring", "LL128") == "ring ll128");
  CHECK(held("tree", "simple") == "tree simple");
  CHECK(held("NVLSTree", "") == "nvls-tree simple");
  CHECK(held("ring,tree", "ll128") == "tree ll128");  // fewer steps over the network
}

TEST_CASE("what NCCL makes of sends and receives has their name and no other") {
  for (const char* nodes : {"1", "2"})
    for (const char* operation : {"all_to_all", "sendrecv"}) {
      CAPTURE(nodes, operation);
      const CollectiveQuestion question{.cluster = "dgx-h100", .nodes = nodes};
      CHECK(taken(question, operation, Bytes(8)) == "send/recv ll");
      CHECK(taken(question, operation, kGiB) == "send/recv simple");
    }
  CHECK(taken({.cluster = "dgx-h100"}, "broadcast", kGiB) == "ring simple");
}

TEST_CASE("the time of NCCL's collectives is latency and the bytes of the bounding link") {
  // A lone group flow takes its latency, and then its bytes at the rate of its slowest link, in every network model.
  for (const char* model : {"flow", "alpha-beta", "fifo"})
    for (const char* nodes : {"1", "2", "3"})
      for (const workload::CallOperation& operation : workload::call_operations()) {
        if (!operation.kind || operation.size == workload::CallSize::kNone) continue;
        const CollectiveQuestion question{
            .cluster = "dgx-h100", .nodes = nodes, .settings = {std::string("network.model=") + model}};
        for (const Bytes size : {Bytes(1 << 16), kGiB}) {
          CAPTURE(model, nodes, operation.name, size.count());
          const CollectiveTable table = study_collective(question, operation, std::vector{size}, kFiles);
          const CollectiveRow& row = table.rows[0];
          CHECK(table.warnings.empty());
          CHECK(row.overload.factor <= 1 + 1e-6);  // rounding to whole bytes per second
          CHECK(row.bound.name == (size == kGiB ? row.bound.name : "latency"));
          CHECK(row.bound.share >= 0.5);
          CHECK(row.bound.share <= 1);
        }
      }
}

TEST_CASE("a network model changes nothing of one collective of NCCL") {
  const auto time = [](const char* model) {
    const CollectiveQuestion question{
        .cluster = "dgx-h100", .nodes = "2", .settings = {std::string("network.model=") + model}};
    return row_of(question, "all_reduce", kGiB).time;
  };
  // Each model rounds the bytes of a link, and its rate, to whole ones.
  const auto alike = [](Duration a, Duration b) { return seconds(a) == Approx(seconds(b)).epsilon(1e-8); };
  CHECK(alike(time("alpha-beta"), time("flow")));
  CHECK(alike(time("fifo"), time("flow")));
}

TEST_CASE("the table has a column for the protocol, and the document a field") {
  const CollectiveTable nccl = table_of({.cluster = "dgx-h100"}, "all_reduce", {Bytes(8), kGiB});
  CHECK(has(collective_text(nccl), "8 ranks (1 x 8 h100-sxm), flow network, nccl 2.30.0\n"));
  CHECK(has(collective_text(nccl), "algorithm  protocol  bound by"));
  CHECK(has(collective_text(nccl), "ring       ll        latency (100 %)"));
  CHECK(has(collective_text(nccl), "nvls       simple    nvlink"));
  CHECK(to_json(nccl)["rows"][0]["protocol"] == "ll");
  CHECK(to_json(nccl)["rows"][1]["algorithm"] == "nvls");
  const CollectiveTable fixed = table_of({.cluster = "dgx-h100", .library = "fixed"}, "all_reduce", {kGiB});
  CHECK_FALSE(has(collective_text(fixed), "protocol"));
  CHECK(to_json(fixed)["rows"][0]["protocol"].is_null());
}
