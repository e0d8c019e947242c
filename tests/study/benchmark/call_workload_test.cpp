// SPDX-License-Identifier: MIT
// Jobs of one operation as experiments: collectives against `orrery collective`, exchanges of tokens against the law
// that their validation takes, products against the model of operators.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "collectives/token_exchange.h"
#include "core/config/tree.h"
#include "core/error.h"
#include "experiment/runs/run.h"
#include "study/benchmark/study.h"
#include "study/interval/kinds.h"
#include "system/devices/operator_model.h"
#include "system/plans/group_library.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;

namespace {

experiment::Experiment read(const std::string& text) {
  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "call.yaml", diagnostics);
  return experiment::read_experiment("call.yaml", std::move(root), kFiles, diagnostics);
}

report::Result run(const std::string& text) {
  Diagnostics diagnostics;
  return experiment::run_experiment(read(text), false, diagnostics).result;
}

std::string error_of(const std::string& workload, const std::string& more = {}) {
  try {
    read(fmt::format("cluster: dgx-a100\nnodes: 2\nworkload: {{{}}}\n{}", workload, more));
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a call as an experiment takes as long, and has the bandwidths, that the table of its collective says") {
  for (const workload::CallOperation& operation : workload::call_operations())
    for (const char* library : {"nccl", "fixed"})
      for (const std::string per_node : {"", "1", "4"}) {
        CAPTURE(operation.name, library, per_node);
        const bool is_barrier = operation.size == workload::CallSize::kNone;
        CollectiveQuestion question{.cluster = "dgx-a100", .nodes = "2", .devices_per_node = per_node};
        question.library = library;
        const Bytes size = is_barrier ? Bytes(0) : Bytes(12'345'678);
        const CollectiveTable table = study_collective(question, operation, std::vector{size}, kFiles);
        const CollectiveRow& row = table.rows.front();
        const report::Result result = run(
            fmt::format("cluster: dgx-a100\nnodes: 2\nworkload: {{collective: {}{}{}}}\ncollectives: {{library: {}}}\n",
                        operation.name, is_barrier ? "" : ", size: 12345678 B",
                        per_node.empty() ? "" : ", ranks_per_node: " + per_node, library));
        CHECK(result.finish.time_since_epoch() == row.time);
        CHECK(result.class_of_rank.size() == table.ranks);
        REQUIRE(result.call.has_value());
        CHECK(result.call->operation == operation.name);
        CHECK(result.call->algorithm_bandwidth == Approx(row.algorithm_bandwidth));
        CHECK(result.call->bus_bandwidth == Approx(row.bus_bandwidth));
      }
}

TEST_CASE("a call on named GPUs of a node goes over the links between these") {
  const workload::CallOperation sends = workload::call_operation_named("sendrecv", "--op");
  const auto bandwidth = [&](const CollectiveQuestion& question) {
    return study_collective(question, sends, std::vector{Bytes(std::int64_t{1} << 30)}, kFiles)
        .rows.front()
        .algorithm_bandwidth;
  };
  // In a DGX-1 two links join GPU 0 to 3 and one joins it to 1; nothing but PCIe and the sockets' 6 GB/s join it to 5.
  const double two = bandwidth({.cluster = "dgx-1v", .devices = "0,3"});
  const double one = bandwidth({.cluster = "dgx-1v", .devices = "0,1"});
  CHECK(two == Approx(2 * one).epsilon(0.01));
  CHECK(bandwidth({.cluster = "dgx-1v", .devices_per_node = "2"}) == one);  // the first two
  CHECK(bandwidth({.cluster = "dgx-1v", .devices = "2,3"}) == Approx(two));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, ranks_per_node: 3", "placement: devices(0,1)\n"),
            "'ranks_per_node' is a placement of its own"));
  const report::Result job =
      run("cluster: dgx-1v\nworkload: {collective: sendrecv, size: 1 GiB, ranks: 2}\nplacement: devices(0,3)\n");
  CHECK(job.call->algorithm_bandwidth == Approx(two));
}

TEST_CASE("a call on some ranks leaves the others idle, and two calls share the cluster") {
  const report::Result half =
      run("cluster: dgx-a100\nnodes: 1\nworkload: {collective: all_reduce, size: 1 GiB, ranks: 4}\n");
  CHECK(half.class_of_rank.size() == 4);
  const report::Result both =
      run("cluster: dgx-a100\nnodes: 1\njobs:\n"
          "  - {name: a, workload: {collective: all_reduce, size: 1 GiB, ranks: 4}}\n"
          "  - {name: b, workload: {collective: all-gather, size: 1 GiB, ranks: 4}}\n");
  REQUIRE(both.jobs.size() == 2);
  CHECK(both.jobs[0].workload == "all_reduce of 1.000 GiB");
  // Through one switch that never blocks, on devices of their own.
  CHECK(both.jobs[0].together == half.finish.time_since_epoch());
  CHECK(both.jobs[1].together == both.jobs[1].alone);
}

TEST_CASE(
    "shares say what goes from rank to rank of an all-to-all, and a skew draws them, as the options of its table do") {
  constexpr std::string_view kSwitch =
      "{device: a100-sxm-80gb, dims: [{topology: switch, size: 4, bandwidth: 1 GB/s, latency: 1 us}]}";
  const auto finish = [&](std::string_view sizes) {
    return run(fmt::format("cluster: {}\nworkload: {{collective: all_to_all, size: 1 MB{}}}\n", kSwitch, sizes))
        .finish.time_since_epoch();
  };
  using namespace std::chrono_literals;
  // Each rank sends its buffer of 1 MB to the next one, all at once: 1 ms after 1 us.
  CHECK(finish(", shares: [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]") == 1001us);
  // All buffers go to rank 0, whose own stays: 3 MB through its port, by thirds of its bandwidth that are rounded down.
  const Duration to_first = finish(", shares: [1, 0, 0, 0]");
  CHECK(to_first >= 3001us);
  CHECK(to_first <= 3001us + Duration(10));
  CHECK(finish(", shares: [1, 1, 1, 1]") == finish(""));
  const auto table = [&](const CollectiveQuestion& question) {
    const workload::CallOperation all_to_all = workload::call_operation_named("all_to_all", "--op");
    return study_collective(question, all_to_all, std::vector{Bytes(1'000'000)}, kFiles);
  };
  const std::string cluster(kSwitch);
  CHECK(finish(", skew: 1, seed: 3") == table({.cluster = cluster, .skew = "1", .seed = "3"}).rows.front().time);
  const CollectiveTable given = table({.cluster = cluster, .shares = "[4, 2, 1, 1]"});
  CHECK(finish(", shares: [4, 2, 1, 1]") == given.rows.front().time);
  REQUIRE(given.shares.has_value());
  // Rank 0 gets 4 of each of the three others; on average a rank gets 3 * (4 + 2 + 1 + 1) / 4.
  CHECK(given.shares->receiver == 0);
  CHECK(given.shares->received == Approx(12 / 6.0));
}

TEST_CASE("sizes that differ take the library that the algorithm means, and settings relative to its defaults") {
  const workload::CallOperation all_to_all = workload::call_operation_named("all_to_all", "--op");
  const auto time = [&](const CollectiveQuestion& question) {
    return study_collective(question, all_to_all, std::vector{Bytes(1'000'000)}, kFiles).rows.front().time;
  };
  const Duration fixed = time({.cluster = "dgx-a100", .library = "fixed", .skew = "1"});
  CHECK(time({.cluster = "dgx-a100", .algorithm = "direct", .skew = "1"}) == fixed);  // no algorithm of NCCL
  CHECK(time({.cluster = "dgx-a100",
              .library = "fixed",
              .settings = {"cluster.node.nics.host_latency*=1"},
              .skew = "1"}) == fixed);
}

TEST_CASE("a call that makes no sense is refused where it stands") {
  CHECK(has(error_of("collective: all_reduse, size: 1 GiB"), "did you mean 'all_reduce'?"));
  CHECK(has(error_of("collective: all_reduce"), "'all_reduce' needs a size\n  hint: size: 1 GiB"));
  CHECK(has(error_of("collective: barrier, size: 1 GiB"), "a barrier carries no data"));
  CHECK(has(error_of("collective: all_reduce, size: many"), "size"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, ranks: 1"), "'all_reduce' has only one rank here"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, ranks: 0"), "out of range; expected 1 to"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, ranks_per_node: 9"),
            "9 ranks on each node, which has 8 devices"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, ranks_per_node: 2, ranks: 5"),
            "5 ranks, and 2 on each of 2 nodes"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, ranks_per_node: 2", "placement: strided\n"),
            "'ranks_per_node' is a placement of its own"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, batch: {global: 4}"),
            "'batch' belongs to a model to train, not to a collective"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, model: gpt3-13b"),
            "'model' belongs to a model to train, not to a collective"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, chakra: {prefix: x}"),
            "'chakra' and 'collective' are two jobs"));
  CHECK(has(error_of("model: gpt3-13b, size: 1 GiB, parallel: {tensor: 8, data: 2}, batch: {global: 16, micro: 1}"),
            "'size' belongs to 'collective'"));
}

TEST_CASE("an exchange of tokens as an experiment takes as long as the law of its library says") {
  for (const std::string_view way : {"dispatch", "combine"}) {
    const experiment::Experiment read_one = read(fmt::format(
        "cluster: dgx-h100\nnodes: 4\nworkload:\n  exchange: {{way: {}, tokens: 4096, hidden: 7168, experts: "
        "256, experts_per_token: 8, precision: {}}}\n",
        way, way == "dispatch" ? "fp8" : "bf16"));
    Diagnostics diagnostics;
    const report::Result result = experiment::run_experiment(read_one, false, diagnostics).result;
    REQUIRE(result.call.has_value());
    CHECK(result.call->operation == way);
    // A row for each expert of a token: 7168 values of a byte with a scale of 4 bytes for each 128, or of two bytes.
    CHECK(result.call->size == Bytes(4096LL * 8 * (way == "dispatch" ? 7168 + 4 * 56 : 2 * 7168)));
    std::vector<DeviceId> devices;
    for (std::uint32_t device = 0; device < 32; ++device) devices.push_back(DeviceId(device));
    const collectives::GroupShape shape = system::lay_out_group(devices, read_one.fabric).shape;
    const auto& call = *read_one.jobs.front().workload.call;
    REQUIRE(call.exchange.has_value());
    const collectives::Aggregate law = collectives::token_exchange(*call.exchange, call.size, shape);
    const double moving = std::max(collectives::lone_seconds(law, shape).together, seconds(law.least));
    CHECK(seconds(result.finish.time_since_epoch()) == Approx(seconds(law.latency) + moving).epsilon(1e-3));
  }
}

TEST_CASE("tokens go as the collectives that their library takes") {
  const auto finish = [](std::string_view workload) {
    return run(fmt::format("cluster: dgx-h100\nnodes: 2\nworkload: {{{}}}\n", workload)).finish;
  };
  constexpr std::string_view kTokens = "tokens: 128, hidden: 4096, experts: 64, experts_per_token: 4";
  const auto exchange = [&](std::string_view way, std::string_view library) {
    return finish(fmt::format("exchange: {{way: {}, dispatch: {}, {}}}", way, library, kTokens));
  };
  // 128 tokens x 4 experts x 4096 values of 2 bytes; to all of 16 ranks 128 tokens each.
  CHECK(exchange("dispatch", "all-to-all") == finish("collective: all_to_all, size: 4194304 B"));
  CHECK(exchange("dispatch", "all-gather") == finish("collective: all_gather, size: 16777216 B"));
  CHECK(exchange("combine", "all-gather") == finish("collective: reduce_scatter, size: 16777216 B"));
}

TEST_CASE("a product as an experiment takes as long as its kernel on each device") {
  const experiment::Experiment read_one =
      read("cluster: dgx-h100\nnodes: 1\nworkload: {product: {m: 4096, n: 512, k: 1024}}\n");
  const workload::Gemm gemm{.m = 4096, .n = 512, .k = 1024};
  Diagnostics diagnostics;
  const report::Result result = experiment::run_experiment(read_one, false, diagnostics).result;
  const Duration kernel = system::OperatorModel(read_one.devices.front()).time(gemm);
  CHECK(result.finish.time_since_epoch() == kernel);
  CHECK(result.class_of_rank.size() == 8);
  REQUIRE(result.product.has_value());
  CHECK(result.product->sizes == "4096 x 512 x 1024 bf16");
  CHECK(result.product->rate == Approx(2.0 * 4096 * 512 * 1024 / seconds(kernel)));
  REQUIRE(result.product->peak_share.has_value());
  CHECK(*result.product->peak_share == Approx(result.product->rate / 989.4e12).epsilon(1e-3));
}

TEST_CASE("an exchange or a product that makes no sense is refused where it stands") {
  const std::string tokens = "exchange: {tokens: 128, hidden: 4096, experts: 64, experts_per_token: 4";
  CHECK(has(error_of("exchange: {hidden: 4096, experts: 64, experts_per_token: 4}"), "tokens"));
  CHECK(has(error_of("exchange: {tokens: 1, hidden: 4096, experts: 63, experts_per_token: 4}"),
            "63 experts on 16 ranks"));
  CHECK(has(error_of("exchange: {tokens: 1, hidden: 4096, experts: 16, experts_per_token: 17}"),
            "a token goes to 17 of 16 experts"));
  CHECK(has(error_of(tokens + ", groups: 5}"), "64 experts in 5 groups"));
  CHECK(has(error_of(tokens + ", groups: 32, groups_per_token: 1}"), "4 experts of a token in 1 of 32 groups of 2"));
  CHECK(has(error_of(tokens + "}, size: 1 GiB"), "'size' belongs to 'collective'"));
  CHECK(has(error_of(tokens + "}, ranks: 1"), "'dispatch' has only one rank here"));
  CHECK(has(error_of(tokens + "}, batch: {global: 4}"),
            "'batch' belongs to a model to train, not to an exchange of tokens"));
  CHECK(has(error_of("product: {m: 0, n: 1, k: 1}"), "out of range; expected 1 to"));
  CHECK(has(error_of("product: {m: 1, n: 1}"), "k"));
  CHECK(has(error_of("product: {m: 1, n: 1, k: 1}, collective: barrier"), "'collective' and 'product' are two jobs"));
}

TEST_CASE("a job that calls a collective of NCCL's compares with measured collectives, others do not") {
  const auto kind = [](const std::string& text) { return called_collective(read("cluster: dgx-h100\n" + text)); };
  CHECK(kind("nodes: 2\nworkload: {collective: all_reduce, size: 64 MiB}\n") ==
        RunKind{{"all_reduce", "1 to 256 MiB", "between nodes", "hopper"}, "", 16});
  const std::string tcp =
      "cluster: {node: dgx-h100, nodes: 2, scale_out: {topology: switch, network: ethernet, latency: 600 ns}}\n";
  CHECK(called_collective(read(tcp + "workload: {collective: all_reduce, size: 64 MiB}\n")) ==
        RunKind{{"all_reduce", "1 to 256 MiB", "between nodes by sockets", "hopper"}, "", 16});
  // The ranks of one node are within it, whatever else the cluster has.
  CHECK(kind("nodes: 1\nworkload: {collective: all_to_all, size: 1 KiB}\n") ==
        RunKind{{"all_to_all", "less than 1 MiB", "within a node", "hopper"}, "", 8});
  for (const char* other :
       {"nodes: 2\nworkload: {collective: all_reduce, size: 64 MiB}\ncollectives: {library: fixed}\n",
        "nodes: 2\nworkload: {collective: barrier}\n", "nodes: 1\nworkload: {product: {m: 4096, n: 512, k: 1024}}\n"}) {
    INFO(other);
    CHECK(!kind(other));
  }
}
