// SPDX-License-Identifier: MIT
#include "experiment/calls/call.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/error.h"
#include "network/fabric/topology.h"
#include "system/devices/operator_model.h"
#include "workload/calls/token_rows.h"
#include "workload/graph/collective_job.h"

namespace orrery::experiment {
namespace {

std::vector<std::string_view> operation_names() {
  std::vector<std::string_view> names;
  for (const workload::CallOperation& operation : workload::call_operations()) names.push_back(operation.name);
  return names;
}

// Reads the size of a collective: a barrier alone has none.
void read_size(Section& section, CallSource& call) {
  constexpr std::string_view kSize =
      "with `collective`: its size as nccl-tests counts it: the buffer of a rank; of all_gather and gather the result, "
      "of reduce_scatter and scatter the input, of sendrecv one message. Example: `1 GiB`";
  const auto size = section.maybe<Bytes>("size", kSize);
  const bool carries = call.operation.size != workload::CallSize::kNone;
  if (size) call.size = *size;
  if (section.has("size") == carries || !section.sound()) return;
  if (carries)
    section.error("", fmt::format("'{}' needs a size", call.operation.name), "size: 1 GiB");
  else
    section.error("size", "a barrier carries no data", "leave 'size' out");
}

// Reads who takes part: so many ranks, at least `least`, or so many of each node. `key`: the job's own.
void read_ranks(Section& section, const JobMachine& machine, std::string_view key, std::uint32_t least,
                CallSource& call) {
  constexpr Range kPerNode{1, 65536}, kRanks{1, network::kMostDevices};
  const auto per_node = WholeNumber("ranks_per_node",
                                    "with `collective`, `exchange` or `product`: number of ranks of each node, on its "
                                    "first devices; without it one per device",
                                    kPerNode)
                            .maybe(section);
  const auto ranks = WholeNumber("ranks",
                                 "with `collective`, `exchange` or `product`: number of ranks that take part; without "
                                 "it as many as the cluster has room for",
                                 kRanks)
                         .maybe(section);
  const std::int64_t nodes = machine.devices / machine.devices_per_node;
  const std::int64_t room = nodes * per_node.value_or(machine.devices_per_node);
  call.ranks_per_node = static_cast<std::uint32_t>(per_node.value_or(0));
  call.ranks = static_cast<std::uint32_t>(ranks.value_or(room));
  if (!machine.is_known) return;
  if (per_node && *per_node > machine.devices_per_node)
    section.error("ranks_per_node",
                  fmt::format("{} ranks on each node, which has {}", *per_node,
                              counted(static_cast<std::uint64_t>(machine.devices_per_node), "device")),
                  fmt::format("{} at most", machine.devices_per_node));
  else if (per_node && call.ranks > room)
    section.error("ranks",
                  fmt::format("{} ranks, and {} on each of {}", call.ranks, *per_node,
                              counted(static_cast<std::uint64_t>(nodes), "node")),
                  fmt::format("{} at most", room));
  else if (call.ranks < least && section.sound())
    section.error(section.has("ranks") ? "ranks" : key, fmt::format("'{}' has only one rank here", call.name),
                  "more nodes, or more ranks of each");
}

CallSource read_collective(Section& section, const JobMachine& machine) {
  CallSource call;
  const std::size_t operation =
      Choice("collective", "one collective, or `sendrecv` from each rank to the next, that all ranks call at once",
             operation_names())
          .maybe(section)
          .value_or(0);
  call.operation = workload::call_operations()[operation];
  call.name = call.operation.name;
  read_size(section, call);
  read_ranks(section, machine, "collective", 2, call);
  call.shares = read_shares(section, call.operation, machine.is_known ? call.ranks : 0);
  return call;
}

// Describes what is exchanged: tokens of `hidden` values, each for some of the experts.
struct Tokens {
  enum class Way : std::uint8_t { kDispatch, kCombine };
  Way way = Way::kDispatch;
  std::int64_t tokens = 1;  // of each rank
  std::int64_t hidden = 1;
  Precision precision = Precision::kBf16;
  TokenRouting routing;
  DispatchLibrary library;
};

void read_tokens(Section& section, Tokens& tokens) {
  constexpr Range kCount{1, std::int64_t{1} << 20};
  TokenRouting& routing = tokens.routing;
  section.takes("way", tokens.way, {"dispatch", "combine"},
                "dispatch: tokens go to the ranks of their experts, combine: results come back");
  section.needs("tokens", tokens.tokens, {1, std::int64_t{1} << 30}, "number of tokens of each rank");
  section.needs("hidden", tokens.hidden, kCount, "values of a token");
  section.needs("experts", routing.experts, kCount, "number of experts, of which each rank has as many");
  section.needs("experts_per_token", routing.experts_per_token, kCount, "number of experts a token goes to");
  section.takes("groups", routing.groups, kCount, "number of groups of experts that follow one another");
  section.takes("groups_per_token", routing.groups_per_token, kCount,
                "number of groups that the experts of a token may be of");
  section.takes("balanced", routing.balanced,
                "whether tokens spread over ranks as evenly as can be, as benchmarks have them; else at random");
  section.takes(
      "precision", tokens.precision, precision_names(),
      "precision of tokens on their way; fp8 and int8 with a scale of 4 B for each 128 values, mxfp8 with 1 B for each "
      "32, nvfp4 with 1 B for each 16");
  section.section_or(
      "dispatch", "deepep", "library that exchanges them; `orrery list dispatch` names the libraries",
      [&](Section& s) { tokens.library = read_dispatch(s); }, "dispatch");
  if (!section.sound()) return;
  if (routing.experts_per_token > routing.experts)
    section.error("experts_per_token",
                  fmt::format("a token goes to {} of {} experts", routing.experts_per_token, routing.experts),
                  fmt::format("{} at most", routing.experts));
  if (routing.experts % routing.groups != 0)
    section.error("groups", fmt::format("{} experts in {} groups", routing.experts, routing.groups),
                  "write a number that divides the experts");
  else if (routing.groups_per_token > routing.groups ||
           routing.groups_per_token * (routing.experts / routing.groups) < routing.experts_per_token)
    section.error("groups_per_token",
                  fmt::format("{} experts of a token in {} of {} groups of {}", routing.experts_per_token,
                              routing.groups_per_token, routing.groups, routing.experts / routing.groups),
                  "write as many groups as hold them, and no more than there are");
}

// Rows that a rank sends, or that it gathers from all.
Int128 rows_of(const Tokens& tokens, std::uint32_t ranks) {
  const bool gathers = tokens.library.kind == DispatchKind::kAllGather;
  return Int128{tokens.tokens} * (gathers ? std::int64_t{ranks} : tokens.routing.experts_per_token);
}

// True if the bytes of all ranks cannot be counted; a value has 8 bytes at most.
bool too_many_bytes(const Tokens& tokens, std::uint32_t ranks) {
  return rows_of(tokens, ranks) * tokens.hidden > (Int128{1} << 59) / ranks;
}

// Fills in what goes over the network, by the library's kind of exchange.
void take_exchange(const Tokens& tokens, CallSource& call) {
  const bool is_dispatch = tokens.way == Tokens::Way::kDispatch;
  const bool gathers = tokens.library.kind == DispatchKind::kAllGather;
  const char* operation = !gathers ? "all_to_all" : is_dispatch ? "all_gather" : "reduce_scatter";
  call.operation = workload::call_operation_named(operation, "exchange");
  const auto rows = static_cast<std::int64_t>(rows_of(tokens, call.ranks));
  call.size = workload::token_rows(rows, tokens.hidden, tokens.precision);
  if (tokens.library.kind == DispatchKind::kCopies) call.exchange = TokenExchange{tokens.library, tokens.routing};
}

CallSource read_exchange(Section& section, const JobMachine& machine) {
  CallSource call;
  Tokens tokens;
  section.section("exchange",
                  "one exchange of tokens between all ranks and their experts. Example: `{tokens: 4096, hidden: 7168, "
                  "experts: 256, experts_per_token: 8}`",
                  [&](Section& s) { read_tokens(s, tokens); });
  call.name = tokens.way == Tokens::Way::kDispatch ? "dispatch" : "combine";
  read_ranks(section, machine, "exchange", 2, call);
  if (!section.sound()) return call;
  if (machine.is_known && tokens.routing.experts % call.ranks != 0)
    section.error("exchange", fmt::format("{} experts on {} ranks", tokens.routing.experts, call.ranks),
                  "write a number of ranks that divides the experts: ranks: N");
  else if (machine.is_known && too_many_bytes(tokens, call.ranks))
    section.error("exchange", "the tokens of all ranks are together more than 2^62 bytes",
                  "write fewer tokens, a smaller 'hidden', or fewer experts of a token");
  else
    take_exchange(tokens, call);
  return call;
}

CallSource read_product(Section& section, const JobMachine& machine) {
  CallSource call{"product"};
  ProductCall& product = call.product.emplace();
  section.section(
      "product",
      "one matrix product C[m][n] = A[m][k] * B[k][n] that every rank computes. Example: `{m: 8192, n: 8192, k: 8192}`",
      [&](Section& s) {
        constexpr Range kSize{1, std::int64_t{1} << 24};
        workload::Gemm& gemm = product.gemm;
        s.needs("m", gemm.m, kSize, "rows of A and C");
        s.needs("n", gemm.n, kSize, "columns of B and C");
        s.needs("k", gemm.k, kSize, "columns of A, rows of B");
        s.takes("batch", gemm.batch, kSize, "number of such products in one kernel");
        s.takes("scaling", gemm.scaling, {"tensor", "block", "nvfp4"},
                "with `precision: fp8`: what shares a scale; block: some 128 values, nvfp4: 16 values of half a byte");
        s.section(
            "software", "library of kernels, that of a training framework; without it, as micro-benchmarks run them",
            [&](Section& of) { product.software = workload::read_software(of); }, "software");
      });
  read_ranks(section, machine, "product", 1, call);
  return call;
}

constexpr std::array kCallKinds = {
    CallKind{"collective", "a collective", "call it", read_collective},
    CallKind{"exchange", "an exchange of tokens", "exchange them", read_exchange},
    CallKind{"product", "a product", "compute it", read_product},
};

constexpr std::string_view kCollectives = "'collective'";
constexpr std::string_view kAllCalls = "'collective', 'exchange' or 'product'";
// Names the keys beside the kind's own, and the kinds that have them.
struct CallKey {
  std::string_view key;
  std::string_view owners;
  std::string_view operation = "all_reduce";  // one that takes it
};
constexpr std::array<CallKey, 6> kCallKeys = {{
    {"size", kCollectives},
    {"ranks", kAllCalls},
    {"ranks_per_node", kAllCalls},
    {"shares", kCollectives, "all_to_all"},
    {"skew", kCollectives, "all_to_all"},
    {"seed", kCollectives, "all_to_all"},
}};

}  // namespace

std::span<const CallKind> call_kinds() { return kCallKinds; }

const CallKind* call_kind_named(std::string_view key) {
  const auto found = std::ranges::find(kCallKinds, key, &CallKind::key);
  return found == kCallKinds.end() ? nullptr : &*found;
}

void refuse_call_keys(Section& workload, std::string_view replayed) {
  const bool is_call = call_kind_named(replayed) != nullptr;
  for (const auto& [key, owners, operation] : kCallKeys) {
    workload.know(key);
    if (replayed == "collective" || (is_call && owners == kAllCalls) || !workload.has(key)) continue;
    workload.error(key, fmt::format("'{}' belongs to {}", key, owners),
                   fmt::format("leave it out, or write collective: {}", operation));
  }
}

std::string call_text(const CallSource& call) {
  if (call.product) return fmt::format("{} {}", call.name, sizes_of(workload::Operator(call.product->gemm)));
  if (call.size == Bytes(0)) return call.name;
  return fmt::format("{} of {}", call.name, rounded(call.size));
}

workload::Job job_of(const CallSource& call) {
  workload::Job job = workload::call_job(call.operation, call.size, call.ranks);
  if (call.exchange) job.communicators.front().exchange = std::make_shared<const TokenExchange>(*call.exchange);
  return job;
}

std::vector<Duration> product_times(const ProductCall& product, std::span<const system::DeviceSpec> devices) {
  std::vector<Duration> times;
  for (const system::DeviceSpec& device : devices) {
    const workload::SoftwareRates rates =
        product.software ? product.software->rates_on(device.architecture) : system::micro_benchmark_rates(device);
    times.push_back(system::OperatorModel(device, rates).time(product.gemm));
  }
  return times;
}

workload::Job product_job(std::span<const Duration> times, std::span<const std::uint32_t> types) {
  std::map<std::uint32_t, std::uint32_t> graph_of;  // by type
  std::vector<Duration> used;
  std::vector<std::uint32_t> graphs;
  for (const std::uint32_t type : types) {
    const auto [known, added] = graph_of.try_emplace(type, static_cast<std::uint32_t>(used.size()));
    if (added) used.push_back(times[type]);
    graphs.push_back(known->second);
  }
  return workload::compute_job("product", used, graphs);
}

}  // namespace orrery::experiment
