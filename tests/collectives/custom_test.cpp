// SPDX-License-Identifier: MIT
// Algorithms from files: what MSCCL's XML comes to, and what is refused.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "collectives/algorithms.h"
#include "collectives/custom/check.h"
#include "collectives/custom/compile.h"
#include "collectives/custom/msccl.h"
#include "collectives/longest_chain.h"
#include "core/error.h"

namespace orrery {
namespace {

using collectives::MessageTable;
using collectives::Schedule;

std::string step(std::uint32_t number, const std::string& type, const std::string& source, const std::string& target,
                 const std::string& more = "") {
  return fmt::format(R"(<step s="{}" type="{}" srcbuf="{}" srcoff="{}" dstbuf="{}" dstoff="{}" cnt="1" {}/>)", number,
                     type, source[0], source.substr(1), target[0], target.substr(1), more);
}

std::string block(std::uint32_t id, std::int64_t send, std::int64_t receive, std::uint32_t channel,
                  const std::string& steps) {
  return fmt::format("<tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n{}\n</tb>\n", id, send, receive, channel,
                     steps);
}

std::string gpu(std::uint32_t id, const std::string& blocks, std::uint32_t input, std::uint32_t output,
                std::uint32_t scratch = 0) {
  return fmt::format("<gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n{}</gpu>\n", id, input, output,
                     scratch, blocks);
}

std::string algorithm(const std::string& collective, std::uint32_t gpus, std::uint32_t chunks,
                      const std::string& inside, bool in_place = true) {
  return fmt::format("<algo name=\"test\" coll=\"{}\" ngpus=\"{}\" nchunksperloop=\"{}\" inplace=\"{}\">\n{}</algo>\n",
                     collective, gpus, chunks, in_place ? 1 : 0, inside);
}

std::string ring(std::uint32_t gpus) {
  std::string inside;
  for (std::uint32_t id = 0; id < gpus; ++id) {
    const auto chunk = [&](std::uint32_t distance) { return fmt::format("i{}", (id + 2 * gpus - distance) % gpus); };
    std::string steps = step(0, "s", chunk(1), chunk(1));
    for (std::uint32_t i = 1; i <= 2 * (gpus - 1); ++i) {
      const std::string type = i == 2 * (gpus - 1) ? "r" : i < gpus ? "rrcs" : "rcs";
      steps += "\n" + step(i, type, chunk(i + 1), chunk(i + 1));
    }
    inside += gpu(id, block(0, (id + 1) % gpus, (id + gpus - 1) % gpus, 0, steps), gpus, gpus);
  }
  return algorithm("allreduce", gpus, gpus, inside);
}

MessageTable table_of(const std::string& text) {
  const collectives::MscclAlgorithm read = collectives::read_msccl("a.xml", text);
  collectives::check_written(read.written);
  return collectives::compile(read.name, read.written);
}

Schedule schedule_of(const MessageTable& table, Bytes bytes) {
  collectives::Request request;
  request.kind = table.kind();
  request.ranks = table.ranks();
  request.bytes = bytes;
  return collectives::make_schedule(table, request);
}

std::string error_of(const std::string& text) {
  try {
    table_of(text);
  } catch (const InputError& error) {
    return to_string(error.problems().front());
  }
  return "";
}

void check_error(const std::string& text, const std::string& expected) {
  CHECK_THAT(error_of(text), Catch::StartsWith(expected));
}

TEST_CASE("the ring as a file is the schedule of the ring, step by step") {
  for (const std::uint32_t gpus : {2U, 3U, 4U, 8U, 13U}) {
    const MessageTable table = table_of(ring(gpus));
    collectives::Request request;
    request.ranks = gpus;
    for (const std::int64_t bytes : {0, 1, 1000, 1 << 20}) {
      request.bytes = Bytes(bytes);
      const Schedule built_in = collectives::make_schedule(collectives::find_algorithm("ring").value(), request);
      const Schedule schedule = schedule_of(table, Bytes(bytes));
      for (std::uint32_t rank = 0; rank < gpus; ++rank) {
        REQUIRE(schedule.sends(rank) == built_in.sends(rank));
        CHECK(schedule.receives(rank) == built_in.receives(rank));
        CHECK(table.program(rank).lane_ends == std::vector{built_in.sends(rank)});
        for (std::uint32_t i = 0; i < schedule.sends(rank); ++i) {
          CHECK(schedule.step(rank, i) == built_in.step(rank, i));
          CHECK(table.more_waits(rank, i) == nullptr);
        }
      }
      const auto latency = [](std::uint32_t from, std::uint32_t) { return Duration(10 + from); };
      CHECK(collectives::longest_chain(schedule, latency) == collectives::longest_chain(built_in, latency));
    }
  }
}

// Two halves, each on a channel of its own; where `depends`, the second of GPU 0 is sent when its first has come back.
std::string two_channels(bool depends) {
  const auto steps = [](const std::string& chunk, bool is_first, const std::string& more = "") {
    return is_first ? step(0, "s", chunk, chunk, more) + step(1, "r", chunk, chunk) : step(0, "rrcs", chunk, chunk);
  };
  const std::string waits = depends ? R"(depid="0" deps="1")" : "";
  return algorithm("allreduce", 2, 2,
                   gpu(0, block(0, 1, 1, 0, steps("i0", true)) + block(1, 1, 1, 1, steps("i1", true, waits)), 2, 2) +
                       gpu(1, block(0, 0, 0, 0, steps("i0", false)) + block(1, 0, 0, 1, steps("i1", false)), 2, 2));
}

TEST_CASE("thread blocks are lanes that wait for one another only where a step says so") {
  const MessageTable apart = table_of(two_channels(false));
  CHECK(apart.program(0).sends.size() == 2);
  CHECK(apart.program(0).lane_ends == std::vector<std::uint32_t>{2});  // both start at once
  CHECK(apart.step(0, 1, Bytes(10)).needs.empty());
  CHECK(apart.program(1).lane_ends == std::vector<std::uint32_t>{1, 2});  // each when its own half has come
  CHECK(apart.step(1, 1, Bytes(10)).needs == collectives::SlotRange{1, 2});
  CHECK(apart.program(0).hash != apart.program(1).hash);

  const MessageTable one_after_another = table_of(two_channels(true));
  CHECK(one_after_another.step(0, 1, Bytes(10)).needs == collectives::SlotRange{0, 1});
  CHECK(one_after_another.step(0, 1, Bytes(10)).after_send == 0U);
  const auto chain = [](const MessageTable& table) {
    return collectives::longest_chain(schedule_of(table, Bytes(10)),
                                      [](std::uint32_t, std::uint32_t) { return Duration(1); });
  };
  CHECK(chain(apart) == Duration(2));
  CHECK(chain(one_after_another) == Duration(4));
}

TEST_CASE("a send that waits for several receives says all of them") {
  // GPU 0 sums up what 1, 2 and 3 send, in blocks of which the first waits for the third, and sends it to 1.
  std::string blocks;
  blocks += block(0, 1, 1, 0,
                  step(0, "r", "i0", "s1") + step(1, "nop", "i0", "i0", R"(depid="2" deps="0")") +
                      step(2, "re", "s1", "i0") + step(3, "re", "s3", "i0") + step(4, "s", "i0", "i0"));
  blocks += block(1, -1, 2, 0, step(0, "r", "i0", "s2"));
  blocks += block(2, -1, 3, 0, step(0, "r", "i0", "s3"));
  std::string inside = gpu(0, blocks, 1, 1, 4);
  inside += gpu(1, block(0, 0, 0, 0, step(0, "s", "i0", "s1") + step(1, "r", "i0", "i0")), 1, 1);
  for (const std::uint32_t id : {2U, 3U}) inside += gpu(id, block(0, 0, -1, 0, step(0, "s", "i0", "s2")), 1, 1);
  const collectives::MscclAlgorithm read = collectives::read_msccl("a.xml", algorithm("allreduce", 4, 1, inside));
  const MessageTable table = collectives::compile(read.name, read.written);
  CHECK(table.step(0, 0, Bytes(8)).needs == collectives::SlotRange{0, 1});
  REQUIRE(table.more_waits(0, 0) != nullptr);
  CHECK(table.more_waits(0, 0)->needs == std::vector{collectives::SlotRange{2, 3}});
  // That of GPU 2 never arrives in the sum, and GPUs 2 and 3 get nothing.
  CHECK_THROWS_WITH(collectives::check_written(read.written),
                    Catch::Contains("chunk 0 of rank 0 (in i[0]) ends without the contribution of rank 2"));
}

// Rank 0 and 1 exchange their parts.
std::string gather(const std::string& step0, const std::string& step1, bool in_place) {
  return algorithm("allgather", 2, 2, gpu(0, block(0, 1, 1, 0, step0), 1, 2) + gpu(1, block(0, 0, 0, 0, step1), 1, 2),
                   in_place);
}

TEST_CASE("in place the input of an all-gather is a part of its output, else it has to be copied there") {
  const auto exchange = [](const std::string& here, const std::string& there) {
    return step(0, "s", "i0", "o" + here) + step(1, "r", "i0", "o" + there);
  };
  CHECK(error_of(gather(exchange("0", "1"), exchange("1", "0"), true)) == "");
  check_error(gather(exchange("0", "1"), exchange("1", "0"), false),
              "a.xml: error: wrong all_gather: rank 0 never gets chunk 0 (in o[0])");
  const auto copied = [&](const std::string& here, const std::string& there) {
    return exchange(here, there) + step(2, "cpy", "i0", "o" + here);
  };
  CHECK(error_of(gather(copied("0", "1"), copied("1", "0"), false)) == "");
  check_error(gather(exchange("0", "1"), exchange("1", "1"), true),
              "a.xml: error: wrong all_gather: rank 1 never gets chunk 0 (in o[0])");
}

TEST_CASE("a chunk in the wrong place, twice, unordered or unwritten is named with its line") {
  // Both GPUs do these steps.
  const auto pair = [](const std::string& steps) {
    return algorithm("allreduce", 2, 2,
                     gpu(0, block(0, 1, 1, 0, steps), 2, 2, 1) + gpu(1, block(0, 0, 0, 0, steps), 2, 2, 1));
  };
  check_error(pair(step(0, "s", "i0", "i0") + step(1, "rrc", "i0", "i0")),
              "a.xml: error: wrong all_reduce: chunk 1 of rank 0 (in i[1]) ends without the contribution of rank 1");
  CHECK_THAT(
      error_of(pair(step(0, "s", "i0", "i0") + "\n" + step(1, "rrc", "i1", "i1"))),
      Catch::Matches("a.xml:(4|10): error: wrong all_reduce: gpu (0|1), tb 0, step 0 \\(s\\) \\(line (4|10)\\) adds "
                     "chunk 0 to chunk 1[^]*"));
  CHECK_THAT(error_of(pair(step(0, "s", "i0", "i0") + step(1, "rrc", "i0", "i0") + step(2, "s", "i0", "i0") +
                           step(3, "rrc", "i0", "i0"))),
             Catch::Contains("counts a contribution to chunk 0 twice"));
  CHECK_THAT(error_of(pair(step(0, "s", "s0", "i0") + step(1, "r", "i0", "i0"))),
             Catch::Contains("reads s[0], which is not written then"));
  const auto racing = [](std::uint32_t peer) {
    return block(0, peer, -1, 0, step(0, "s", "i0", "i0")) + block(1, -1, peer, 0, step(0, "rrc", "i0", "i0"));
  };
  CHECK_THAT(error_of(algorithm("allreduce", 2, 2, gpu(0, racing(1), 2, 2) + gpu(1, racing(0), 2, 2))),
             Catch::Contains("race for i[0] of rank 0"));
}

TEST_CASE("what MSCCL's parser takes is taken, and the check judges what it means") {
  // A pair: each sends its half to scratch of the other, which waits by a nop and adds it up in a block without peers.
  const auto gpu_of = [](std::uint32_t id, const std::string& nop, const std::string& local) {
    return gpu(
        id,
        block(0, 1 - id, 1 - id, 0,
              step(0, "s", "i0", "s0", R"(depid="-1" deps="-1" hasdep="1")") + step(1, "r", "i0", "s0")) +
            fmt::format(R"(<tb id="1" {}>{}{}</tb>)", local, nop, step(1, "re", "s0", "i0", R"(depid="0" deps="1")")),
        1, 0, 1);
  };
  const auto pair = [&](const std::string& nop, const std::string& local) {
    return algorithm("allreduce", 2, 1, gpu_of(0, nop, local) + gpu_of(1, nop, local));
  };
  const std::string no_peers = R"(send="-1" recv="-1" chan="0")";
  const auto nop = [](const std::string& count) {
    return fmt::format(
        R"(<step s="0" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="{}" depid="0" deps="0"/>)", count);
  };
  for (const char* count : {"1", "0", "-1"}) CHECK(error_of(pair(nop(count), no_peers)) == "");
  CHECK(error_of(pair(nop("0"), R"(send="-1" recv="-1" chan="-1")")) == "");
  CHECK(error_of(pair(nop("0"), "")) == "");  // no peers, no channel
  // Any step of no chunks only waits: here a copy from nowhere.
  CHECK(error_of(pair(R"(<step s="0" type="cpy" srcbuf="s" srcoff="9" dstbuf="i" dstoff="9" cnt="0"/>)", no_peers)) ==
        "");
  // A block that names a peer, and no step that sends there, leaves the connection to others.
  CHECK(error_of(pair(nop("0"), R"(send="0" recv="-1" chan="3")")) != "");  // gpu 0 is its own peer
  // Numbers as strtol reads them, attributes and elements that mean nothing, a dependency on no step.
  CHECK(error_of(pair(R"(<step s=" 0x0" type="nop" cnt="1.0" depid="0" deps="-1" color="red"/><note/>)", no_peers)) ==
        "");
  CHECK(error_of(pair(R"(<step type="nop"/>)", no_peers)) == "");
  // A block that sends needs a channel.
  check_error(
      algorithm("allreduce", 2, 1,
                gpu(0, R"(<tb id="0" send="1" recv="1" chan="-1">)" + step(0, "s", "i0", "i0") + "</tb>", 1, 1) +
                    gpu(1, block(0, 0, 0, 0, step(0, "rrc", "i0", "i0")), 1, 1)),
      "a.xml:3: error: tb 0 of gpu 0 has steps that send to gpu 1 on chan=\"-1\"");
}

TEST_CASE("two ranks that each wait for the other's message are a deadlock") {
  const auto steps = [](const std::string& chunk) {
    return step(0, "rrc", chunk, chunk) + "\n" + step(1, "s", chunk, chunk);
  };
  const std::string text = algorithm(
      "allreduce", 2, 1, gpu(0, block(0, 1, 1, 0, steps("i0")), 1, 1) + gpu(1, block(0, 0, 0, 0, steps("i0")), 1, 1));
  check_error(text,
              "a.xml:4: error: deadlock: gpu 0, tb 0, step 0 (rrc) (line 4), which waits for gpu 1, tb 0, step 1 "
              "(s) (line 11), which waits for gpu 1, tb 0, step 0 (rrc) (line 10), which waits for gpu 0, tb 0, "
              "step 1 (s) (line 5), which waits for the first");
}

TEST_CASE("every kind of collective has its meaning in buffers") {
  const auto direct = [](const std::string& collective, const std::string& here, const std::string& there,
                         std::uint32_t input, std::uint32_t output) {
    return algorithm(collective, 2, 2,
                     gpu(0, block(0, 1, 1, 0, here), input, output) + gpu(1, block(0, 0, 0, 0, there), input, output),
                     false);
  };
  CHECK(error_of(direct("alltoall", step(0, "s", "i1", "o0") + step(1, "r", "i0", "o1") + step(2, "cpy", "i0", "o0"),
                        step(0, "s", "i0", "o1") + step(1, "r", "i1", "o0") + step(2, "cpy", "i1", "o1"), 2, 2)) == "");
  check_error(
      direct("alltoall", step(0, "s", "i0", "o0") + step(1, "r", "i0", "o1") + step(2, "cpy", "i0", "o0"),
             step(0, "s", "i0", "o1") + step(1, "r", "i1", "o0") + step(2, "cpy", "i1", "o1"), 2, 2),
      "a.xml: error: wrong all_to_all: rank 1 ends with chunk 0 of rank 0 in place of chunk 1 of rank 0 (in o[0])");
  CHECK(error_of(direct("reduce_scatter", step(0, "s", "i1", "o0") + step(1, "rrc", "i0", "o0"),
                        step(0, "s", "i0", "o0") + step(1, "rrc", "i1", "o0"), 2, 1)) == "");
  const MessageTable table = table_of(direct("reducescatter", step(0, "s", "i1", "o0") + step(1, "rrc", "i0", "o0"),
                                             step(0, "s", "i0", "o0") + step(1, "rrc", "i1", "o0"), 2, 1));
  CHECK(table.step(0, 0, Bytes(7)).bytes == Bytes(4));  // half of the buffer, rounded up
  // rrs: what is summed up on the way is stored nowhere.
  const std::string chain = algorithm("reduce", 3, 1,
                                      gpu(0, block(0, -1, 1, 0, step(0, "rrc", "i0", "i0")), 1, 1) +
                                          gpu(1, block(0, 0, 2, 0, step(0, "rrs", "i0", "i0")), 1, 1) +
                                          gpu(2, block(0, 1, -1, 0, step(0, "s", "i0", "i0")), 1, 1));
  CHECK(error_of(chain) == "");
}

}  // namespace
}  // namespace orrery
