// SPDX-License-Identifier: MIT
// What NCCL takes, and how long, by the shipped constants: laws that hold whatever their values, and what each machine
// and release has.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/nccl/constants_config.h"
#include "collectives/nccl/model.h"
#include "collectives/nccl/tuner.h"
#include "core/error.h"
#include "experiment/experiment.h"
#include "system/plans/group_library.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::experiment;
using namespace orrery::system;
using enum NcclAlgorithm;
using enum NcclProtocol;

namespace {

const NcclConstants kConstants = shipped_nccl_constants(kFiles).constants;
constexpr auto kAllReduce = CollectiveKind::kAllReduce;

// Some GPUs of each node of a cluster; by default all.
class Gpus {
 public:
  Gpus(const std::string& cluster, std::uint32_t nodes, std::uint32_t per_node = 0) {
    Diagnostics diagnostics;
    ConfigValue root =
        parse_config("cluster: " + cluster + "\nnodes: " + std::to_string(nodes) + "\n", "test.yaml", diagnostics);
    const Experiment experiment = read_machine("test.yaml", std::move(root), kFiles, diagnostics);
    const std::uint32_t all = experiment.fabric.dimensions().front().size;
    std::vector<DeviceId> devices;
    if (per_node == 0) per_node = all;
    for (std::uint32_t node = 0; node < nodes; ++node)
      for (std::uint32_t i = 0; i < per_node; ++i) devices.push_back(DeviceId(node * all + i));
    shape_ = lay_out_group(devices, experiment.fabric).shape;
    machine_ = experiment.machine_kind();
  }

  NcclTiming way(CollectiveKind kind, Bytes bytes, const NcclOptions& options = {}) const {
    return fastest_nccl_timing({kind, bytes, &shape_, machine_}, options, kConstants);
  }
  std::set<NcclAlgorithm> algorithms(CollectiveKind kind, const NcclOptions& options = {}) const {
    std::set<NcclAlgorithm> found;
    for (const NcclTiming& way : nccl_timings({kind, Bytes(1 << 20), &shape_, machine_}, options, kConstants))
      found.insert(way.algorithm.value());
    return found;
  }
  std::set<NcclProtocol> ring_protocols(const NcclOptions& options = {}) const {
    std::set<NcclProtocol> found;
    for (const NcclTiming& way : nccl_timings({kAllReduce, Bytes(1 << 20), &shape_, machine_}, options, kConstants))
      if (way.algorithm == kRing) found.insert(way.protocol);
    return found;
  }
  static NcclOptions held(std::set<NcclAlgorithm> algorithms, std::set<NcclProtocol> protocols = {}) {
    NcclOptions options;
    for (const NcclAlgorithm algorithm : algorithms) options.algorithms.set(static_cast<std::size_t>(algorithm));
    for (const NcclProtocol protocol : protocols) options.protocols.set(static_cast<std::size_t>(protocol));
    return options;
  }
  void reduce_in_network() { machine_.in_network_reduction = true; }
  const GroupShape& shape() const { return shape_; }
  const MachineKind& machine() const { return machine_; }

 private:
  GroupShape shape_;
  MachineKind machine_;
};

NcclOptions of_version(std::uint32_t minor) {
  NcclOptions options;
  options.version = {2, minor, 0};
  return options;
}

}  // namespace

TEST_CASE("NVLS: each of p GPUs sends S + S/p, so that bus bandwidth is 2 (p - 1) / (p + 1) of what a GPU sends") {
  const double sent = 450e9 * 0.824 * kConstants.nvls_efficiency(Architecture::kHopper);
  for (std::uint32_t p = 5; p <= 8; ++p) {
    const Bytes bytes(std::int64_t{16} << 30);
    const NcclTiming way = Gpus("dgx-h200", 1, p).way(kAllReduce, bytes);
    REQUIRE(way.algorithm == kNvls);
    const double bus = static_cast<double>(bytes.count()) / way.seconds * 2 * (p - 1) / p;
    CHECK(bus == Approx(2.0 * (p - 1) / (p + 1) * sent).epsilon(0.005));  // 0.5 % for latency and fill
  }
  CHECK(Gpus("dgx-h200", 1, 4).way(kAllReduce, Bytes(std::int64_t{16} << 30)).algorithm == kRing);
}

TEST_CASE("NVLS gathers and scatters with the amount in one direction of a GPU's link, and no steps") {
  const double sent = 450e9 * 0.824 * kConstants.nvls_efficiency(Architecture::kHopper);
  const Gpus gpus("dgx-h200", 1, 8);
  const std::int64_t amount = std::int64_t{16} << 30;
  for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    const Bytes bytes(kind == CollectiveKind::kAllGather ? amount / 8 : amount);
    const NcclTiming way = gpus.way(kind, bytes, Gpus::held({kNvls}, {kSimple}));
    REQUIRE(way.algorithm == kNvls);
    CHECK(static_cast<double>(amount) / way.seconds == Approx(sent).epsilon(0.005));
    // Of a large amount a ring sends an eighth less, and at NVLink's full rate.
    CHECK(gpus.way(kind, bytes).algorithm == kRing);
    // Of 16 MiB nothing waits for a chunk to be added up first: base, launch and the bytes.
    const std::int64_t some = std::int64_t{16} << 20;
    const NcclTiming shorter = gpus.way(kind, Bytes(kind == CollectiveKind::kAllGather ? some / 8 : some));
    CHECK(shorter.algorithm == kNvls);
    const NcclTiming all = gpus.way(CollectiveKind::kAllReduce, Bytes(some), Gpus::held({kNvls}, {kSimple}));
    CHECK(shorter.seconds < 0.75 * all.seconds);
  }
}

TEST_CASE("a ring of 8 on one node: base, 14 steps, and what a protocol puts on the wire") {
  const Gpus gpus("dgx-a100", 1, 8);
  for (const NcclProtocol protocol : kAllNcclProtocols) {
    const NcclTiming way = gpus.way(kAllReduce, Bytes(8), Gpus::held({kRing}, {protocol}));
    // 700 ns for the links of a step.
    const double latency =
        kConstants.base(kRing, protocol, gpus.machine()) +
        14 * kConstants.hop_factor(gpus.machine()) * (kConstants.hop(kRing, protocol, gpus.machine()) + 0.7e-6);
    CHECK(way.seconds == Approx(latency).epsilon(0.02));  // 8 bytes, and of Simple a chunk
  }
  // 2 * 7/8 of 64 MiB, with a flag for every word, or for 120 of 128 bytes.
  const double data = 1.75 * (64 << 20);
  const auto wire = [&](NcclProtocol protocol) {
    return static_cast<double>(
        gpus.way(kAllReduce, Bytes(64 << 20), Gpus::held({kRing}, {protocol})).transfer.within.count());
  };
  CHECK(wire(kSimple) == data);
  CHECK(wire(kLl128) == Approx(data / 0.92));
  CHECK(wire(kLl) >= 2 * data);
}

TEST_CASE("out of place a rank copies its own part of what is gathered or exchanged, and of nothing else") {
  const Gpus gpus("dgx-b200", 1, 4);
  NcclOptions in_place;
  in_place.in_place = true;
  const Bytes bytes(1 << 30);
  const double rate = kConstants.copy_rate(Architecture::kBlackwell);
  const auto copied = [&](CollectiveKind kind) {
    return (gpus.way(kind, bytes).seconds - gpus.way(kind, bytes, in_place).seconds) * rate;
  };
  CHECK(copied(CollectiveKind::kAllGather) == Approx(1 << 30));       // of 4 GiB
  CHECK(copied(CollectiveKind::kAllToAll) == Approx((1 << 30) / 4));  // of 1 GiB
  CHECK(copied(CollectiveKind::kReduceScatter) == 0);
  CHECK(copied(kAllReduce) == 0);
}

TEST_CASE("the pipe of a ring is one hop long, whatever the number of ranks") {
  for (const std::uint32_t ranks : {2U, 4U, 8U}) {
    const Gpus gpus("dgx-h100", 1, ranks);
    const auto seconds = [&](std::int64_t bytes) {
      return gpus.way(CollectiveKind::kReduceScatter, Bytes(bytes), Gpus::held({kRing}, {kSimple})).seconds;
    };
    // From where chunks are as large as they get, time is linear in the bytes: what it starts from is base, hops, fill.
    const std::int64_t large = std::int64_t{4} << 30;
    const double start = 2 * seconds(large) - seconds(2 * large);
    const double latency = kConstants.base(kRing, kSimple, gpus.machine()) +
                           (ranks - 1) * (kConstants.hop(kRing, kSimple, gpus.machine()) + 0.7e-6);
    CHECK(start - latency == Approx(2 * kConstants.largest_ring_chunk() / (450e9 * 0.824)).epsilon(0.01));
  }
}

TEST_CASE("LL moves no more than its cap, which 2.19 raised on Hopper") {
  const Gpus gpus("dgx-h100", 1, 8);
  const double data = 1.75 * (64 << 20);
  NcclOptions held = Gpus::held({kRing}, {kLl});
  CHECK(gpus.way(kAllReduce, Bytes(64 << 20), held).seconds == Approx(data / 141e9).epsilon(0.03));
  held.version = {2, 18, 5};
  CHECK(gpus.way(kAllReduce, Bytes(64 << 20), held).seconds ==
        Approx(data / kConstants.ll_cap(Architecture::kAmpere, 1)).epsilon(0.03));
}

TEST_CASE("on 8 H100, LL up to 1 MiB and NVLS from 2 MiB on") {
  const Gpus gpus("dgx-h100", 1, 8);
  for (int power = 3; power <= 34; ++power) {
    const NcclTiming way = gpus.way(kAllReduce, Bytes(std::int64_t{1} << power));
    INFO("2^" << power);
    CHECK(way.algorithm == (power <= 20 ? kRing : kNvls));
    CHECK(way.protocol == (power <= 20 ? kLl : kSimple));
  }
}

TEST_CASE("what a machine and a release have") {
  const std::set<NcclAlgorithm> ring = {kRing};
  CHECK(Gpus("dgx-a100", 1, 8).algorithms(kAllReduce) == ring);
  CHECK(Gpus("dgx-a100", 2, 8).algorithms(kAllReduce) == std::set{kRing, kTree});
  CHECK(Gpus("dgx-h100", 1, 8).algorithms(kAllReduce) == std::set{kRing, kNvls});
  CHECK(Gpus("dgx-h100", 1, 8).algorithms(kAllReduce, of_version(16)) == ring);
  CHECK(Gpus("dgx-h100", 1, 4).algorithms(kAllReduce) == ring);
  CHECK(Gpus("dgx-h100", 2, 8).algorithms(kAllReduce) == std::set{kRing, kTree, kNvlsTree});
  CHECK(Gpus("dgx-h100", 2, 8).algorithms(kAllReduce, of_version(17)) == std::set{kRing, kTree});
  CHECK(Gpus("dgx-a100", 2, 8).algorithms(kAllReduce, of_version(4)) == std::set{kRing, kTree});
  CHECK(Gpus("dgx-a100", 2, 8).algorithms(kAllReduce, of_version(3)) == ring);
  Gpus sharp("dgx-h100", 2, 8);
  sharp.reduce_in_network();
  CHECK(sharp.algorithms(kAllReduce, of_version(5)) == std::set{kRing, kTree});
  CHECK(sharp.algorithms(kAllReduce, of_version(6)) == std::set{kRing, kTree, kCollNetDirect, kCollNetChain});
  CHECK(sharp.algorithms(kAllReduce) == std::set{kRing, kTree, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree});
  CHECK(Gpus("dgx-h100", 4, 1).algorithms(CollectiveKind::kAllGather) == std::set{kRing, kPat});
  CHECK(Gpus("dgx-h100", 4, 1).algorithms(CollectiveKind::kAllGather, of_version(22)) == ring);
  CHECK(Gpus("dgx-h100", 4, 8).algorithms(CollectiveKind::kAllGather) == ring);
  CHECK(Gpus("dgx-h100", 4, 8).algorithms(CollectiveKind::kBroadcast) == ring);
  CHECK(Gpus("dgx-a100", 1, 8).ring_protocols() == std::set{kLl, kLl128, kSimple});
  CHECK(Gpus("dgx-a100", 1, 8).ring_protocols(of_version(5)) == std::set{kLl, kLl128, kSimple});
  CHECK(Gpus("dgx-a100", 1, 8).ring_protocols(of_version(4)) == std::set{kLl, kSimple});
  CHECK(Gpus("rtx4090-pcie", 1, 4).ring_protocols() == std::set{kLl, kSimple});
  CHECK(Gpus("l40s-pcie", 2, 1).ring_protocols() == std::set{kLl, kLl128, kSimple});  // no link of a node in it
}

TEST_CASE("what NCCL is held to counts for collectives that have it, and has to be there") {
  const Gpus gpus("dgx-a100", 2, 8);
  CHECK(gpus.way(kAllReduce, Bytes(1 << 30), Gpus::held({kTree})).algorithm == kTree);
  CHECK(gpus.way(CollectiveKind::kBroadcast, Bytes(1 << 30), Gpus::held({kTree})).algorithm == kRing);
  CHECK_THROWS_AS(gpus.way(kAllReduce, Bytes(1 << 30), Gpus::held({kNvls})), InputError);
  // On one node a tree is a chain: taken only if NCCL is held to it.
  CHECK(Gpus("dgx-a100", 1, 8).way(kAllReduce, Bytes(1 << 30), Gpus::held({kTree})).algorithm == kTree);
}

TEST_CASE("a tuner's row is taken whatever is fastest, and refused where it cannot run") {
  const Gpus one("dgx-h100", 1);
  const auto tuned = [](const std::string& rows) {
    NcclOptions options;
    Diagnostics diagnostics;
    options.tuner = std::make_shared<const NcclTuner>(parse_nccl_tuner(rows, "tuner.csv", diagnostics));
    REQUIRE_FALSE(diagnostics.has_errors());
    return options;
  };
  const Bytes large(std::int64_t{1} << 30);
  REQUIRE(one.way(kAllReduce, large).algorithm == kNvls);
  const NcclOptions ring = tuned("allreduce,1073741824,1073741824,ring,ll128,4,1,8\n");
  const NcclTiming way = one.way(kAllReduce, large, ring);
  CHECK(way.algorithm == kRing);
  CHECK(way.protocol == kLl128);
  CHECK(way.seconds == one.way(kAllReduce, large, Gpus::held({kRing}, {kLl128})).seconds);
  CHECK(way.transfer.takes.processors == 4);
  CHECK(one.way(kAllReduce, large + large, ring).algorithm == kNvls);  // no row: NCCL's own choice
  CHECK(one.way(kAllReduce, large, tuned("allreduce,0,1099511627776,tree,simple,-1,-1,-1\n")).algorithm == kTree);
  const auto refused = [&](const std::string& rows, NcclOptions options = {}) {
    options.tuner = tuned(rows).tuner;
    try {
      one.way(kAllReduce, large, options);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused("# x\nallreduce,0,1099511627776,nvlstree,simple,-1,-1,-1\n").starts_with("tuner.csv:2:1: error: NCCL"));
  CHECK(refused("allreduce,0,1099511627776,ring,ll,-1,-1,-1\n", Gpus::held({kNvls})) != "");
}

TEST_CASE("LL moves no more than its cap as bus bandwidth, which is a ring's volume and twice a tree's buffer") {
  const Gpus gpus("dgx-h100", 2, 8);
  const double bytes = 1 << 30, cap = kConstants.ll_cap(Architecture::kHopper, 2);
  const auto seconds_of_bytes = [&](NcclAlgorithm algorithm, double factor, double copied) {
    const auto seconds = [&](double size) {
      return gpus.way(kAllReduce, Bytes(std::llround(size)), Gpus::held({algorithm}, {kLl})).seconds;
    };
    const double copying = copied / kConstants.copy_rate(Architecture::kHopper);
    CHECK(seconds(2 * bytes) - seconds(bytes) == Approx(factor * bytes / cap + copying));  // latencies cancel
  };
  seconds_of_bytes(kRing, 2 * 15.0 / 16, bytes / 16);
  seconds_of_bytes(kTree, 2, 0);
}

TEST_CASE("a send held to a protocol that sends have not got is Simple") {
  const Gpus gpus("dgx-a100", 1, 8);
  for (const auto& [held, bytes, taken] : {std::tuple{kLl, 16384, kLl}, std::tuple{kLl, 16385, kSimple},
                                           std::tuple{kLl128, 8, kSimple}, std::tuple{kSimple, 8, kSimple}}) {
    const NcclOptions options = Gpus::held({}, {held});
    CHECK(nccl_send(Bytes(bytes), true, gpus.machine(), options, kConstants).protocol == taken);
    CHECK(gpus.way(CollectiveKind::kAllToAll, Bytes(8 * bytes), options).protocol == taken);
  }
}

TEST_CASE("one thread for all GPUs of a node starts their kernels one by one, which covers the latency of a call") {
  const Gpus gpus("dgx-a100", 1, 8);
  NcclOptions by_threads, by_one;
  by_threads.launch = LaunchMode::kThreads;
  by_one.launch = LaunchMode::kSingleProcess;
  for (const std::int64_t bytes : {8, 1 << 18, 1 << 20, 1 << 26}) {
    const NcclTiming alone = gpus.way(kAllReduce, Bytes(bytes));
    CHECK(gpus.way(kAllReduce, Bytes(bytes), by_threads).seconds == alone.seconds);
    // The choice is that of the GPUs.
    const NcclTiming one = gpus.way(kAllReduce, Bytes(bytes), by_one);
    CHECK(one.algorithm == alone.algorithm);
    CHECK(one.protocol == alone.protocol);
    CHECK(one.device == alone.seconds);
  }
  // Eight kernels of 4.2 us, whatever the call, and next to no bytes.
  for (const CollectiveKind kind : {kAllReduce, CollectiveKind::kBroadcast, CollectiveKind::kAllToAll})
    CHECK(gpus.way(kind, Bytes(1024), by_one).seconds == Approx(8 * 4.2e-6).epsilon(0.001));
  // Fourteen steps in Simple are longer than they.
  CHECK(gpus.way(kAllReduce, Bytes(1 << 26), by_one).seconds == gpus.way(kAllReduce, Bytes(1 << 26)).seconds);
}

TEST_CASE("before 2.13 the host prepares each send and each receive of an all-to-all") {
  const Gpus gpus("dgx-a100", 1, 8);
  NcclOptions options = of_version(10);
  options.launch = LaunchMode::kSingleProcess;
  // Each of 8 GPUs has a kernel of 8 sends and 8 receives.
  CHECK(gpus.way(CollectiveKind::kAllToAll, Bytes(1024), options).seconds ==
        Approx(8 * (4.2e-6 + 16 * 0.42e-6)).epsilon(0.001));
  CHECK(gpus.way(kAllReduce, Bytes(1024), options).seconds == Approx(8 * 4.2e-6).epsilon(0.001));
  options.version = {2, 13, 0};
  CHECK(gpus.way(CollectiveKind::kAllToAll, Bytes(1024), options).seconds == Approx(8 * 4.2e-6).epsilon(0.001));
}

TEST_CASE("a broadcast within a node passes from rank to rank, to the last") {
  const auto seconds = [](std::uint32_t ranks) {
    return Gpus("dgx-h100", 1, ranks).way(CollectiveKind::kBroadcast, Bytes(8), Gpus::held({kRing}, {kLl})).seconds;
  };
  const double step = (seconds(8) - seconds(2)) / 6;
  CHECK(seconds(5) == Approx(seconds(2) + 3 * step));
  CHECK(step > 0.5e-6);
}

TEST_CASE("a step over xGMI has a latency of its own, which no factor of NVLink's changes") {
  const Gpus gpus("mi300x-8", 1, 8);
  for (const NcclProtocol protocol : {kLl, kSimple}) {
    NcclConstants slower = kConstants;
    const std::size_t number = nccl_constant_named(protocol == kLl ? "hop.xgmi.ll" : "hop.xgmi.simple").value();
    slower.set(number, kConstants.value(number) + 1e-6);
    const NcclOptions options = Gpus::held({kRing}, {protocol});
    const NcclCall call{kAllReduce, Bytes(8), &gpus.shape(), gpus.machine()};
    CHECK(fastest_nccl_timing(call, options, slower).seconds ==
          Approx(fastest_nccl_timing(call, options, kConstants).seconds + 14e-6));
  }
}

TEST_CASE("CollNet-direct waits for each other GPU of the node, to it and back") {
  const std::size_t number = nccl_constant_named("collnet_direct_wait").value();
  NcclConstants slower = kConstants;
  slower.set(number, kConstants.value(number) + 1e-6);
  const NcclOptions options = Gpus::held({kCollNetDirect});
  for (const std::uint32_t per_node : {1u, 2u, 8u}) {
    Gpus gpus("dgx-a100", 2, per_node);
    gpus.reduce_in_network();
    const NcclCall call{kAllReduce, Bytes(8), &gpus.shape(), gpus.machine()};
    CHECK(fastest_nccl_timing(call, options, slower).seconds ==
          Approx(fastest_nccl_timing(call, options, kConstants).seconds + 2e-6 * (per_node - 1)));
  }
}

TEST_CASE("a constant is read where one of several kinds of nodes reads it, or what they have in common") {
  MachineKind old_node = Gpus("dgx-a100", 2).machine();
  MachineKind new_node = Gpus("dgx-h100", 2).machine();
  new_node.network = NetworkKind::kRoce;
  const auto reason = [](const char* name, const std::vector<MachineKind>& machines) {
    return why_idle(nccl_constant_named(name).value(), machines);
  };
  // Common to both is the older architecture.
  CHECK(reason("ll_cap.hopper.one_node", {old_node}) == "no device is of architecture hopper");
  CHECK(reason("ll_cap.hopper.one_node", {old_node, new_node}).empty());
  CHECK(reason("base_factor.ampere", {old_node, new_node}).empty());
  CHECK(reason("base_factor.ampere", {new_node}) == "no device is of architecture ampere");
  CHECK(reason("network.roce", {old_node}) == "no nodes are joined by a network of kind 'roce'");
  CHECK(reason("network.roce", {old_node, new_node}).empty());
}

TEST_CASE("reduction in the network sends a node's data once, a tree over three nodes and more twice") {
  Gpus gpus("dgx-a100", 4, 8);
  gpus.reduce_in_network();
  const Bytes bytes(1 << 30);
  CHECK(gpus.way(kAllReduce, bytes, Gpus::held({kCollNetChain})).transfer.between == Bytes((1 << 30) / 8));
  // An edge of one of two trees carries half, there and back, for one of 8 places.
  CHECK(gpus.way(kAllReduce, bytes, Gpus::held({kTree}, {kSimple})).transfer.between == Bytes((1 << 30) / 16));
}

TEST_CASE("more bytes never take less time") {
  for (const std::string& cluster : kFiles.names("clusters")) {
    if (Gpus(cluster, 1).machine().architecture == Architecture::kOther) continue;  // not NCCL's
    for (const std::uint32_t nodes : {1U, 2U, 5U, 64U}) {
      const Gpus gpus(cluster, nodes);
      for (const CollectiveKind kind : kAllCollectiveKinds) {
        double before = 0;
        for (double size = 1; size < 1e11; size *= 1.13) {
          const double now = gpus.way(kind, Bytes(std::llround(size))).seconds;
          INFO(cluster << ", " << nodes << " nodes, " << name_of(kind) << " of " << size);
          CHECK(now >= before * (1 - 1e-9));
          CHECK((std::isfinite(now) && now > 0));
          before = now;
        }
      }
    }
  }
}

TEST_CASE("a send goes over from LL to Simple without a jump, and its bytes on the wire never fall") {
  for (const std::string cluster : {"dgx-a100", "dgx-h100", "mi300x-8"})
    for (const bool is_same_node : {false, true}) {
      const Gpus gpus(cluster, 2, 8);
      const auto send = [&](std::int64_t bytes) {
        return nccl_send(Bytes(bytes), is_same_node, gpus.machine(), {}, kConstants);
      };
      CHECK(send(1).bytes == Bytes(2));  // a flag beside each word
      CHECK(send(8192).latency == send(1).latency);
      CHECK(send(16384).latency == send(16385).latency);
      for (std::int64_t bytes = 0; bytes < 40'000; bytes += 7) {
        INFO(cluster << ", " << bytes << " bytes");
        CHECK(send(bytes).latency <= send(bytes + 7).latency);
        CHECK(send(bytes).bytes <= send(bytes + 7).bytes);
        CHECK(send(bytes).bytes >= Bytes(bytes));
      }
    }
}

TEST_CASE("bytes that no number holds are refused, not cut off") {
  // 10^-6 of a network: 10^12 bytes take the time of 10^18, which Bytes holds, and 10^13 that of 10^19, which it does
  // not.
  NcclConstants constants = kConstants;
  constants.set(*nccl_constant_named("efficiency.network"), 1e-6);
  const auto send = [&](Bytes bytes) { return nccl_send(bytes, false, MachineKind{}, NcclOptions{}, constants); };
  CHECK(static_cast<double>(send(Bytes(1'000'000'000'000)).bytes.count()) == Approx(1e18));
  CHECK_THROWS_AS(send(Bytes(10'000'000'000'000)), InputError);
}
