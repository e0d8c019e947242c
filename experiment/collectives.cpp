// SPDX-License-Identifier: MIT
#include "experiment/sections.h"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "collectives/nccl/tuner.h"
#include "core/config/key_path.h"
#include "core/config/quantity_text.h"
#include "core/config/tree.h"
#include "core/files/read_file.h"
#include "core/suggest.h"
#include "experiment/algorithm_file.h"
#include "network/fabric/compose.h"

namespace orrery::experiment {
namespace {

// For how many bytes Chakra graphs were written, and whether there are any.
struct GraphSize {
  std::optional<Bytes> bytes;
  bool is_used = false;
};

// Files in place of names: each for the groups of its number of ranks, in whole.
void read_tables(Section& section, CollectiveKind kind, std::span<const std::string> files, GraphSize& size,
                 system::CollectiveOptions& options) {
  auto& tables = options.tables[static_cast<std::size_t>(kind)];
  for (const std::string& file : files) {
    if (!names_algorithm_file(file)) {
      section.error(name_of(kind), fmt::format("'{}' beside the file of an algorithm", printable(file, 40)),
                    "a file runs a group in whole, over all dimensions: name files only, or none");
      continue;
    }
    const std::string path = std::filesystem::path(section.path(name_of(kind), file)).lexically_normal().string();
    size.is_used = size.is_used || is_of_graphs(path);
    const auto table = load_algorithm(path, kind, size.bytes);
    if (options.table(kind, table->ranks()) != nullptr)
      section.error(name_of(kind), fmt::format("two files for {} ranks", table->ranks()));
    tables.push_back(table);
  }
}

void read_algorithms_of(Section& section, CollectiveKind kind, GraphSize& size, system::CollectiveOptions& options,
                        std::vector<NamedAlgorithms>& named) {
  const std::size_t errors = section.errors();
  const std::vector<std::string> names = section.words(
      name_of(kind),
      "algorithm for each dimension of the cluster, the innermost first; `orrery list algorithms` names them. Or files "
      "with algorithms, each for the groups of its number of ranks");
  if (!section.has(name_of(kind)) || !section.sound(errors)) return;
  if (std::ranges::any_of(names, names_algorithm_file)) return read_tables(section, kind, names, size, options);
  std::vector<std::size_t> in_network;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const auto algorithm = collectives::find_algorithm(name);
    if (!algorithm)
      section.error(name_of(kind), fmt::format("unknown algorithm '{}'", printable(name, 40)),
                    suggestion(name, collectives::algorithm_names()));
    else if (!algorithm->supports(kind))
      section.error(name_of(kind), fmt::format("'{}' cannot do {}", name, name_of(kind)));
    else
      options.algorithms[static_cast<std::size_t>(kind)].push_back(*algorithm);
    if (algorithm && algorithm->is_in_network()) in_network.push_back(i);
  }
  named.push_back({kind, names.size(), std::move(in_network), section.where(name_of(kind))});
}

std::vector<NamedAlgorithms> read_fixed(Section& section, system::CollectiveOptions& options) {
  std::vector<NamedAlgorithms> named;
  GraphSize graphs;
  section.takes("algorithm_size", graphs.bytes,
                "with `library: fixed`: size of the buffer of one rank for which Chakra graphs of an algorithm were "
                "written; their messages are scaled from it. Without it: as if no contribution were sent twice");
  if (graphs.bytes && *graphs.bytes < Bytes(1)) {
    section.error("algorithm_size", "'algorithm_size' must be at least 1 B",
                  "write the size for which the graphs were written: 1 MiB");
    graphs.bytes.reset();
  }
  section.section(
      "algorithms",
      "with `library: fixed`: algorithms by collective, one per dimension. Without it: direct for all_to_all and on "
      "fully-connected; halving-doubling for 2^k ranks on a switch, fat-tree, rail-optimised, butterfly or hypercube; "
      "bidirectional-ring on a ring, a torus (rings along all its axes at once) or a mesh; in-network between nodes "
      "whose switches reduce; "
      "ring for all else (dragonfly, flattened-butterfly, edge-list, groups that are not a whole part of a dimension). "
      "The algorithm ring "
      "on a "
      "ring or a torus is one ring in one direction. Example: `{all_reduce: [ring, halving-doubling]}`",
      [&](Section& s) {
        for (const CollectiveKind kind : kAllCollectiveKinds) read_algorithms_of(s, kind, graphs, options, named);
      });
  if (graphs.bytes && !graphs.is_used)
    section.error("algorithm_size", "'algorithm_size' means nothing without Chakra graphs in 'algorithms'",
                  "leave it out: messages of MSCCL's XML are shares of any size");
  section.takes(
      "chunks", options.chunks, {1, 65536},
      "with `library: fixed`: number of chunks that a collective is cut into; chunks pipeline through the dimensions");
  section.takes(
      "queue", options.queue, {"fifo", "lifo", "priority"},
      "with `library: fixed`: order of the chunks that wait for a dimension; priority: by comm_priority, then fifo. "
      "With `queue_scope: rank` it is the order of the collectives that they are of, by when the rank came to these");
  section.takes(
      "queue_scope", options.queue_scope, {"collective", "rank"},
      "with `library: fixed`: what queues for a dimension; collective: the chunks of one collective, and a "
      "communicator "
      "runs one collective at a time, rank: the chunks of all collectives of a rank, which may all be under way");
  section.takes("active_chunks", options.active_chunks, {1, 65536},
                "with `library: fixed`: number of chunks of one queue (`queue_scope`) that a rank runs at a time on "
                "one dimension; one more if a peer has already started it");
  section.takes(
      "dimension_order", options.order, {"baseline", "themis"},
      "with `library: fixed`: order in which chunks go through the dimensions; baseline: up the dimensions and down "
      "again, themis: each chunk of an all_reduce, reduce_scatter or all_gather in an order of its own, such that all "
      "dimensions carry as much (Rashidi et al., ISCA 2022)");
  if (options.order == system::DimensionOrder::kThemis && options.chunks == 1)
    section.warning("dimension_order", "themis balances the chunks of a collective, and there is one of each",
                    "raise collectives.chunks");
  for (const std::int64_t size : section.whole_numbers(
           "logical_dimensions", {1, collectives::kMostRanks}, network::kMostDimensions, "optional",
           "with `library: fixed`: sizes of the dimensions that collectives go along, the innermost first, in place of "
           "those of the cluster; their product is the number of devices. Example: `[4, 2, 16]`"))
    options.logical_dimensions.push_back(static_cast<std::uint32_t>(size));
  return named;
}

collectives::NcclVersion read_version(Section& section) {
  const std::string text = section.optional<std::string>(
      "version", collectives::to_text(collectives::kNewestNccl),
      "with `library: nccl`: NCCL's release, which costs and choices depend on. Example: `2.18.5` or `2.27`");
  const auto version = collectives::parse_nccl_version(text);
  if (!version) {
    section.error("version", fmt::format("invalid NCCL version '{}'", printable(text, 40)), "write 2.18.5 or 2.27");
    return collectives::kNewestNccl;
  }
  if (version->major != collectives::kOldestNccl.major)
    section.error("version",
                  fmt::format("unsupported NCCL {}; supported releases are 2.x", collectives::to_text(*version)),
                  fmt::format("write 2.18.5 or 2.27; {} is the newest that is known",
                              collectives::to_text(collectives::kNewestNccl)));
  else if (version->minor > collectives::kNewestNccl.minor)
    section.warning("version",
                    fmt::format("NCCL {} is newer than {}, the newest that is known; it is timed as that",
                                collectives::to_text(*version), collectives::to_text(collectives::kNewestNccl)));
  return *version;
}

// The names of a list as flags by enumerator; `named` finds the enumerator.
template <std::size_t kCount, class Named>
std::bitset<kCount> read_held(Section& section, std::string_view key, std::string_view meaning,
                              std::span<const std::string> known, Named named) {
  std::bitset<kCount> held;
  const std::size_t errors = section.errors();
  const std::vector<std::string> words = section.words(
      key, fmt::format("with `library: nccl`: {}: {}; without it, all", meaning, fmt::join(known, " | ")));
  if (!section.has(key) || !section.sound(errors)) return held;
  if (words.empty()) section.error(key, fmt::format("'{}' is an empty list", key), "leave it out for all");
  for (const std::string& word : words) {
    const auto found = named(word);
    if (found)
      held.set(static_cast<std::size_t>(*found));
    else
      section.error(key, fmt::format("NCCL has no '{}'", printable(word, 40)),
                    word.find(',') == std::string::npos
                        ? suggestion(word, known)
                        : fmt::format("write several as a list: [{}]", printable(word, 80)));
  }
  return held;
}

void check_held(Section& section, const collectives::NcclOptions& options) {
  for (const collectives::NcclAlgorithm algorithm : collectives::kAllNcclAlgorithms)
    for (const collectives::NcclProtocol protocol : collectives::kAllNcclProtocols)
      if (options.may_take(algorithm) && options.may_take(protocol) && collectives::has_protocol(algorithm, protocol))
        return;
  section.error("proto", "NCCL has none of the algorithms of 'algo' in a protocol of 'proto'",
                "ring and tree run in all, the others in simple only");
}

// `fabric`: null where there is none to ask.
bool read_pxn(Section& section, const collectives::NcclVersion& version, const network::Fabric* fabric) {
  const auto pxn = section.maybe<bool>(
      "pxn",
      "with `library: nccl`: whether a GPU hands what goes to another node on another rail to the GPU of its node "
      "whose "
      "NIC is on the receiver's rail (PXN, of all-to-alls and sends), over NVLink. Without it: true from 2.12 on where "
      "`interconnect` of the node is nvlink, ualink or ethernet; false: NCCL_PXN_DISABLE=1");
  if (fabric == nullptr) return false;
  const bool is_possible = carries_relays(fabric->interconnect().within);
  if (pxn.value_or(false) && !is_possible)
    section.error("pxn",
                  fmt::format("PXN goes over NVLink, and the 'interconnect' of the node is {}",
                              name_of(fabric->interconnect().within)),
                  "leave it out, or write 'interconnect: nvlink' in the node");
  if (pxn.value_or(false) && version < collectives::kFirstWithPxn)
    section.error("pxn", fmt::format("NCCL {} has no PXN, which came with 2.12", collectives::to_text(version)),
                  "leave it out, or name a newer 'version'");
  const bool has_pxn = pxn.value_or(is_possible && version >= collectives::kFirstWithPxn);
  if (!has_pxn && section.sound() && fabric->relays_between_rails())
    section.error(pxn ? "pxn" : "version", "without PXN no way leads from rail to rail: the network has no spine",
                  "leave it out: NCCL has PXN from 2.12 on");
  return has_pxn;
}

// Says so where no call of the cluster can fit a row of the table.
void find_idle_tuner(Section& section, const collectives::NcclTuner& tuner, const network::Fabric& fabric) {
  const std::uint32_t ranks = fabric.device_count(), nodes = ranks / fabric.dimensions().front().size;
  const bool fits = std::ranges::any_of(
      tuner.rows, [&](const collectives::NcclTunerRow& row) { return row.nodes <= nodes && row.ranks <= ranks; });
  if (!fits)
    section.idle("tuner", fmt::format("no row of the table is for as few as {} and {}", counted(nodes, "node"),
                                      counted(ranks, "rank")));
}

std::shared_ptr<const collectives::NcclTuner> read_tuner(Section& section, const network::Fabric* fabric) {
  constexpr std::size_t kMostTunerBytes = std::size_t{16} << 20;
  const auto name = section.maybe<std::string>(
      "tuner",
      "with `library: nccl`: table of a tuner plug-in, in the format of NVIDIA's example: which algorithm and protocol "
      "NCCL takes, by collective, size, nodes and ranks; what no row fits NCCL chooses itself. A path relative to the "
      "file that names it");
  if (!name) return nullptr;
  const std::string path = section.path("tuner", *name);
  try {
    const std::string text = read_text(path, {.most = kMostTunerBytes, .what = "the table of a tuner plug-in"});
    auto tuner = std::make_shared<const collectives::NcclTuner>(
        collectives::parse_nccl_tuner(text, path, section.context().diagnostics()));
    if (fabric != nullptr && section.sound()) find_idle_tuner(section, *tuner, *fabric);
    return tuner;
  } catch (const InputError& error) {
    const Problem& problem = error.problems().front();
    section.error("tuner", fmt::format("'{}' {}", printable(path), problem.message),
                  problem.hint.empty() ? "a path is relative to the file that names it" : problem.hint);
    return nullptr;
  }
}

collectives::NcclOptions read_nccl(Section& section, const network::Fabric* fabric) {
  collectives::NcclOptions options;
  options.version = read_version(section);
  section.takes("launch", options.launch, collectives::launch_mode_names(),
                "with `library: nccl`: how its kernels are launched, which short messages depend on; mpi: one process "
                "per GPU, threads: one thread per GPU, single-process: one thread for all GPUs of a node, torch: one "
                "process per GPU, through PyTorch");
  section.accepts(
      "in_place", options.in_place,
      "with `library: nccl`: whether all-gathers and all-to-alls find each rank's own part where it belongs, "
      "so that it is not copied");
  options.pxn = read_pxn(section, options.version, fabric);
  options.algorithms = read_held<collectives::kAllNcclAlgorithms.size()>(
      section, "algo", "the algorithms that it is held to", collectives::nccl_algorithm_names(),
      collectives::nccl_algorithm_named);
  options.protocols = read_held<collectives::kAllNcclProtocols.size()>(
      section, "proto", "the protocols that it is held to", collectives::nccl_protocol_names(),
      collectives::nccl_protocol_named);
  check_held(section, options);
  options.tuner = read_tuner(section, fabric);
  return options;
}

collectives::NcclConstantsFile read_constants(Section& section) {
  collectives::NcclConstantsFile file;
  section.section_or(
      "constants", "nccl", "with `library: nccl`: NCCL's latencies, caps and efficiencies",
      [&](Section& s) { file = collectives::read_nccl_constants(s); }, "libraries");
  return file;
}

// The dimension of the nodes, where the switches between them add up; with logical ones, that which is the same.
std::optional<std::uint32_t> in_network_dimension(Section& section, const network::Fabric& fabric,
                                                  const system::CollectiveOptions& options) {
  const std::span<const network::LogicalDimension> own = fabric.dimensions();
  if (own.size() < 2 || !fabric.interconnect().in_network_reduction) return std::nullopt;
  const std::vector<std::uint32_t>& logical = options.logical_dimensions;
  if (logical.empty()) return static_cast<std::uint32_t>(own.size() - 1);
  if (logical.back() == own.back().size) return static_cast<std::uint32_t>(logical.size() - 1);
  section.error("logical_dimensions",
                fmt::format("the last of the logical dimensions has {} members; the switches that add up join {} nodes",
                            logical.back(), own.back().size),
                fmt::format("end the list with {}, or leave out 'in_network_reduction'", own.back().size));
  return std::nullopt;
}

// Their product is the number of devices.
void check_logical_dimensions(Section& section, const network::Fabric& fabric, system::CollectiveOptions& options) {
  std::uint64_t devices = 1;
  for (const std::uint32_t size : options.logical_dimensions)
    devices = std::min<std::uint64_t>(devices * size, collectives::kMostRanks);
  if (options.logical_dimensions.empty() || devices == fabric.device_count()) return;
  section.error("logical_dimensions",
                fmt::format("the logical dimensions [{}] do not have the {} of the cluster",
                            fmt::join(options.logical_dimensions, ", "), counted(fabric.device_count(), "device")),
                "their product is the number of devices");
  options.logical_dimensions.clear();
}

// Keys that mean nothing to the library in use.
void refuse(Section& section, std::span<const std::string> keys, const collectives::Library& library,
            std::string_view hint) {
  for (const std::string& key : keys) {
    section.know(key);
    if (section.has(key))
      section.error(key, fmt::format("'{}' means nothing with 'library: {}'", key, library.name), std::string(hint));
  }
}

bool has_any(const Section& section, std::span<const std::string> keys) {
  return std::ranges::any_of(keys, [&](const std::string& key) { return section.has(key); });
}

// Lists the keys that one library reads and the other does not know.
struct LibraryKeys {
  std::vector<std::string> fixed;
  std::vector<std::string> nccl;
};

const LibraryKeys& library_keys(const ConfigFiles& files) {
  static const LibraryKeys keys = {key_names(files,
                                             [](Section& section) {
                                               system::CollectiveOptions options;
                                               read_fixed(section, options);
                                             }),
                                   key_names(files, [](Section& section) {
                                     read_nccl(section, nullptr);
                                     read_constants(section);
                                   })};
  return keys;
}

// Warns of a key that turns NCCL's cost model, by which the cluster would run, into the fixed library. Algorithms that
// are named are the fixed library's business, as everyone expects; a number of chunks is not.
void warn_of_other_library(Section& section, const LibraryHints& hints, const LibraryKeys& keys) {
  if (section.has("library") || section.has("algorithms") || hints.machine != collectives::LibraryKind::kNccl) return;
  const auto turns = [&](Location where, std::string_view name) {
    section.context().diagnostics().warning(
        std::move(where),
        fmt::format("'{}' is of the library 'fixed': collectives run by its algorithms, no longer by NCCL's cost model",
                    name),
        "write 'collectives.library: fixed' if that is meant; NCCL cuts and orders messages itself");
  };
  const auto key = std::ranges::find_if(keys.fixed, [&](const std::string& name) { return section.has(name); });
  if (key != keys.fixed.end())
    turns(section.where(*key), *key);
  else if (hints.asks_for_steps)
    turns(*hints.asks_for_steps, "network.granularity: step");
}

// Keys that only the fixed library has say that it is meant.
collectives::LibraryKind default_library(const Section& section, const LibraryHints& hints, const LibraryKeys& keys) {
  if (has_any(section, keys.fixed) || hints.asks_for_steps) return collectives::LibraryKind::kFixed;
  if (hints.machine) return *hints.machine;
  return has_any(section, keys.nccl) ? collectives::LibraryKind::kNccl : collectives::LibraryKind::kFixed;
}

}  // namespace

collectives::LibraryKind library_of(const MachineKind& machine, bool is_real_cluster) {
  const bool has_nccl = is_real_cluster && is_gpu(machine.architecture);
  return has_nccl ? collectives::LibraryKind::kNccl : collectives::LibraryKind::kFixed;
}

std::vector<NamedAlgorithms> read_collectives(Section& section, const LibraryHints& hints,
                                              system::CollectiveOptions& options) {
  const LibraryKeys& keys = library_keys(section.context().files());
  warn_of_other_library(section, hints, keys);
  collectives::LibraryKind kind = default_library(section, hints, keys);
  section.takes(
      "library", kind, collectives::library_names(),
      "library that chooses algorithms; fixed: the configuration names one per dimension and collective, nccl: NCCL's "
      "cost model chooses, rccl: the same, of AMD's GPUs alone. Without it: nccl for NVIDIA and AMD GPUs in a cluster "
      "of nodes; fixed for other devices, "
      "for `dims`, and beside a key that only fixed has (`algorithms`, `chunks`, `queue`, `queue_scope`, "
      "`active_chunks`, "
      "`dimension_order`, `logical_dimensions`, `network.granularity: step`)",
      "by the cluster");
  if (kind == collectives::LibraryKind::kRccl && hints.maker && *hints.maker != Maker::kAmd)
    section.error("library", fmt::format("'rccl' is of AMD's GPUs, and these are {}'s", name_of(*hints.maker)),
                  "write 'library: nccl', or leave it out");
  const collectives::Library& library = collectives::libraries()[static_cast<std::size_t>(kind)];
  const bool is_fixed = kind == collectives::LibraryKind::kFixed;
  if (is_fixed)
    refuse(section, keys.nccl, library, "write 'library: nccl', or leave it out");
  else
    refuse(section, keys.fixed, library,
           "NCCL cuts and orders messages itself: leave it out, or write 'library: fixed'");
  std::vector<NamedAlgorithms> named;
  section.when(is_fixed, [&] {
    named = read_fixed(section, options);
    if (hints.fabric == nullptr) return;
    check_logical_dimensions(section, *hints.fabric, options);
    options.in_network_dimension = in_network_dimension(section, *hints.fabric, options);
  });
  section.when(!is_fixed, [&] {
    options.granularity = system::Granularity::kPhase;
    options.nccl = read_nccl(section, hints.fabric);
    options.nccl_constants = read_constants(section);
    section.takes(
        "contention", options.contention,
        "with `library: nccl`: calls and sends, and dispatch by copies, hold multiprocessors and move bytes in "
        "memory, and slow down what is computed beside them; false: they do not");
  });
  return named;
}

void check_algorithms(std::span<const NamedAlgorithms> named, std::span<const DimensionKind> dimensions,
                      Diagnostics& diagnostics) {
  std::vector<std::string> texts;
  for (const DimensionKind& dimension : dimensions) texts.push_back(dimension.text);
  for (const NamedAlgorithms& list : named) {
    const auto cannot = std::ranges::find_if(
        list.in_network, [&](std::size_t i) { return i < dimensions.size() && !dimensions[i].can_add_up; });
    if (list.count != dimensions.size())
      diagnostics.error(list.where,
                        fmt::format("{} for a cluster of {} ({})", counted(list.count, "algorithm"),
                                    counted(dimensions.size(), "dimension"), fmt::join(texts, ", ")),
                        "name one per dimension, the innermost first");
    else if (cannot != list.in_network.end())
      diagnostics.error(
          list.where,
          fmt::format("in-network needs switches that add up, which '{}' has not", dimensions[*cannot].text),
          dimensions[*cannot].joins_nodes
              ? "set cluster.scale_out.in_network_reduction: true, or name another algorithm"
              : "name another algorithm for this dimension; switches between nodes add up, and those of `dims`");
  }
}

// True if some collective runs in the switches, by name or by default.
bool runs_in_network(const system::CollectiveOptions& options) {
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    const std::vector<collectives::Algorithm>& named = options.algorithms[static_cast<std::size_t>(kind)];
    if (std::ranges::any_of(named, &collectives::Algorithm::is_in_network)) return true;
    const bool by_default = options.in_network_dimension && named.empty();
    if (by_default && collectives::find_algorithm("in-network")->supports(kind)) return true;
  }
  return false;
}

void read_granularity(Section& network, system::CollectiveOptions& options) {
  constexpr std::string_view kDefault = "phase with nccl or where switches reduce, else step";
  const bool in_network = runs_in_network(options);
  if (in_network) options.granularity = system::Granularity::kPhase;
  network.takes("granularity", options.granularity, system::granularity_names(),
                "unit of simulation; step: every message of every collective, phase: all messages of a collective's "
                "phase together; they start when all its ranks have arrived, and take the latencies of the longest "
                "chain plus the time of the busiest link (always so with `library: nccl` and where switches reduce)",
                kDefault);
  if (in_network && options.granularity == system::Granularity::kStep)
    network.error("granularity", "'step' has no meaning where switches add up",
                  "what they add up is not a message from rank to rank: leave it out, or name other algorithms");
  if (options.nccl && options.granularity == system::Granularity::kStep)
    network.error("granularity", "'step' has no meaning with 'library: nccl'",
                  "each channel of NCCL sends in an order of its own, so that there is no small set of messages to "
                  "simulate; leave it out");
}

}  // namespace orrery::experiment
