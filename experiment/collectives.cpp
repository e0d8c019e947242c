#include "experiment/collectives.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, 4> kFixedKeys = {"algorithms", "chunks", "queue", "active_chunks"};
constexpr std::array<std::string_view, 5> kNcclKeys = {"version", "launch", "algo", "proto", "constants"};

void read_algorithms_of(Section& section, CollectiveKind kind, CollectiveOptions& options,
                        std::vector<NamedAlgorithms>& named) {
  Diagnostics& diagnostics = section.context().diagnostics();
  const std::size_t errors = diagnostics.error_count();
  const std::vector<std::string> names =
      section.words(name_of(kind), "an algorithm per dimension of the cluster, see `orrery list algorithms`");
  if (!section.has(name_of(kind)) || diagnostics.error_count() > errors) return;
  bool is_in_network = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const auto algorithm = find_algorithm(name);
    const bool is_last = i + 1 == names.size();
    if (!algorithm)
      section.error(name_of(kind), fmt::format("unknown algorithm '{}'", printable(name, 40)),
                    suggestion(name, algorithm_names()));
    else if (!algorithm->supports(kind))
      section.error(name_of(kind), fmt::format("'{}' cannot do {}", name, name_of(kind)));
    else if (algorithm->is_in_network() && !is_last)
      section.error(name_of(kind), fmt::format("'{}' is for the last dimension only", name),
                    "the others take parts of the buffer before it and give them back after it");
    else
      options.algorithms[static_cast<std::size_t>(kind)].push_back(*algorithm);
    is_in_network = algorithm && algorithm->is_in_network() && is_last;
  }
  named.push_back({kind, names.size(), is_in_network, section.where(name_of(kind))});
}

std::vector<NamedAlgorithms> read_fixed(Section& section, CollectiveOptions& options) {
  std::vector<NamedAlgorithms> named;
  section.section(
      "algorithms",
      "algorithms by collective, per dimension; without it direct for all_to_all and where fully connected, "
      "halving-doubling for 2^k ranks on a switch, a fat-tree or rails, bidirectional-ring on a ring, a torus (rings "
      "along "
      "all its axes at once) or a mesh, ring elsewhere (dragonfly, edge list, groups that are no part of a dimension), "
      "but in-network between nodes whose switches add up; ring on a ring or a torus: one ring, one way",
      [&](Section& s) {
        for (const CollectiveKind kind : kAllCollectiveKinds) read_algorithms_of(s, kind, options, named);
      });
  options.chunks = static_cast<std::uint32_t>(section.optional_integer(
      "chunks", 1, {1, 65536}, "parts of a collective that go through the dimensions one behind the other"));
  const std::vector<std::string> queues = {"fifo", "lifo", "priority"};
  options.queue = static_cast<QueuePolicy>(
      section.optional_choice("queue", queues, 0,
                              "which of the chunks of a collective that wait for a dimension goes first; priority: its "
                              "comm_priority, then fifo "
                              "(calls of a communicator run one at a time, so their chunks have one priority)"));
  options.active_chunks = static_cast<std::uint32_t>(section.optional_integer(
      "active_chunks", 1, {1, 65536},
      "chunks of one collective that a rank takes up at a time on one dimension; one more if a peer is ahead with it"));
  return named;
}

NcclVersion read_version(Section& section) {
  const std::string text = section.optional<std::string>(
      "version", to_text(kNewestNccl),
      "with `library: nccl`: its release, as 2.18.5 or 2.27; costs and choices depend on it");
  const auto version = parse_nccl_version(text);
  if (!version) {
    section.error("version", fmt::format("'{}' is no version of NCCL", printable(text, 40)), "write 2.18.5 or 2.27");
    return kNewestNccl;
  }
  if (version->major != kOldestNccl.major)
    section.error("version", fmt::format("NCCL {} is none of the releases 2.x", to_text(*version)),
                  fmt::format("write 2.18.5 or 2.27; {} is the newest that is known", to_text(kNewestNccl)));
  else if (version->minor > kNewestNccl.minor)
    section.warning("version", fmt::format("NCCL {} is newer than {}, the newest that is known; it is timed as that",
                                           to_text(*version), to_text(kNewestNccl)));
  return *version;
}

// The names of a list as flags by enumerator; `named` finds the enumerator.
template <std::size_t kCount, class Named>
std::bitset<kCount> read_held(Section& section, std::string_view key, std::string_view meaning,
                              std::span<const std::string> known, Named named) {
  std::bitset<kCount> held;
  const std::size_t errors = section.context().diagnostics().error_count();
  const std::vector<std::string> words = section.words(
      key, fmt::format("with `library: nccl`: {}: {}; without it, all", meaning, fmt::join(known, " | ")));
  if (!section.has(key) || section.context().diagnostics().error_count() > errors) return held;
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

void check_held(Section& section, const NcclOptions& options) {
  for (const NcclAlgorithm algorithm : kAllNcclAlgorithms)
    for (const NcclProtocol protocol : kAllNcclProtocols)
      if (options.may_take(algorithm) && options.may_take(protocol) && has_protocol(algorithm, protocol)) return;
  section.error("proto", "NCCL has none of the algorithms of 'algo' in a protocol of 'proto'",
                "ring and tree run in all, the others in simple only");
}

NcclOptions read_nccl(Section& section) {
  NcclOptions options;
  options.version = read_version(section);
  options.launch = static_cast<LaunchMode>(section.optional_choice(
      "launch", launch_mode_names(), 0,
      "with `library: nccl`: who starts its kernels, by which short messages fare; mpi: a process for each GPU, "
      "single-process: one thread for all GPUs of a node, torch: a process for each GPU, through PyTorch"));
  options.algorithms = read_held<kAllNcclAlgorithms.size()>(section, "algo", "the algorithms that it is held to",
                                                            nccl_algorithm_names(), nccl_algorithm_named);
  options.protocols = read_held<kAllNcclProtocols.size()>(section, "proto", "the protocols that it is held to",
                                                          nccl_protocol_names(), nccl_protocol_named);
  check_held(section, options);
  return options;
}

NcclConstantsFile read_constants(Section& section) {
  NcclConstantsFile file;
  section.section_or(
      "constants", "nccl", "with `library: nccl`: its latencies, caps and efficiencies",
      [&](Section& s) { file = read_nccl_constants(s); }, "libraries");
  return file;
}

// Keys that mean nothing to the library in use.
void refuse(Section& section, std::span<const std::string_view> keys, const Library& library, std::string_view hint) {
  for (const std::string_view key : keys) {
    section.know(key);
    if (section.has(key))
      section.error(key, fmt::format("'{}' means nothing with 'library: {}'", key, library.name), std::string(hint));
  }
}

bool has_any(const Section& section, std::span<const std::string_view> keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) { return section.has(key); });
}

// Keys that only the fixed library has say that it is meant.
LibraryKind default_library(const Section& section, const LibraryHints& hints) {
  if (has_any(section, kFixedKeys) || hints.asks_for_steps) return LibraryKind::kFixed;
  if (hints.machine) return *hints.machine;
  return has_any(section, kNcclKeys) ? LibraryKind::kNccl : LibraryKind::kFixed;
}

}  // namespace

LibraryKind library_of(const MachineKind& machine, bool is_real_cluster) {
  const bool has_nccl = is_real_cluster && machine.architecture != Architecture::kOther;
  return has_nccl ? LibraryKind::kNccl : LibraryKind::kFixed;
}

std::vector<NamedAlgorithms> read_collectives(Section& section, const LibraryHints& hints, CollectiveOptions& options) {
  const Library& library = libraries()[section.optional_choice(
      "library", library_names(), static_cast<std::size_t>(default_library(section, hints)),
      "who chooses algorithms; fixed: one per dimension and collective, nccl: as NCCL does. Without it, nccl for GPUs "
      "of NVIDIA and AMD in a cluster of nodes; but fixed for other devices, for `dims`, and beside a key that only "
      "fixed "
      "has: algorithms, chunks, queue, active_chunks, or `network.granularity: step`",
      "by the cluster")];
  if (section.describes()) {
    read_fixed(section, options);
    read_nccl(section);
    read_constants(section);
    return {};
  }
  if (library.kind == LibraryKind::kFixed) {
    refuse(section, kNcclKeys, library, "write 'library: nccl', or leave it out");
    options.in_network_dimension = hints.in_network_dimension;
    return read_fixed(section, options);
  }
  refuse(section, kFixedKeys, library, "NCCL cuts and orders messages itself: leave it out, or write 'library: fixed'");
  options.granularity = Granularity::kPhase;
  options.nccl = read_nccl(section);
  options.nccl_constants = read_constants(section);
  return {};
}

void check_algorithms(std::span<const NamedAlgorithms> named, std::span<const DimensionKind> dimensions,
                      Diagnostics& diagnostics) {
  std::vector<std::string> texts;
  for (const DimensionKind& dimension : dimensions) texts.push_back(dimension.text);
  for (const NamedAlgorithms& list : named) {
    if (list.count != dimensions.size())
      diagnostics.error(list.where,
                        fmt::format("{} for a cluster of {} ({})", counted(list.count, "algorithm"),
                                    counted(dimensions.size(), "dimension"), fmt::join(texts, ", ")),
                        "name one per dimension, the innermost first");
    else if (list.is_in_network && !dimensions.back().can_add_up)
      diagnostics.error(
          list.where, fmt::format("in-network needs switches that add up, which '{}' has not", dimensions.back().text),
          "set cluster.scale_out.in_network_reduction: true, or name another algorithm");
  }
}

// Whether some collective runs in the switches, by name or by default.
bool runs_in_network(const CollectiveOptions& options) {
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    const std::vector<Algorithm>& named = options.algorithms[static_cast<std::size_t>(kind)];
    if (std::ranges::any_of(named, &Algorithm::is_in_network)) return true;
    const bool by_default = options.in_network_dimension && named.empty();
    if (by_default && find_algorithm("in-network")->supports(kind)) return true;
  }
  return false;
}

void read_granularity(Section& network, CollectiveOptions& options) {
  constexpr std::string_view kDefault = "phase with nccl or where switches add up, else step";
  const bool in_network = !network.describes() && runs_in_network(options);
  if (in_network) options.granularity = Granularity::kPhase;
  options.granularity = static_cast<Granularity>(network.optional_choice(
      "granularity", granularity_names(), static_cast<std::size_t>(options.granularity),
      "step: every message of every collective; phase: all messages of a collective's phase as one, which starts when "
      "all its ranks have come and takes the latencies of the longest chain and the time of its busiest link "
      "(always so with `library: nccl` and where switches add up)",
      kDefault));
  if (in_network && options.granularity == Granularity::kStep)
    network.error("granularity", "'step' has no meaning where switches add up",
                  "what they add up is no message from rank to rank: leave it out, or name other algorithms");
  if (options.nccl && options.granularity == Granularity::kStep)
    network.error("granularity", "'step' has no meaning with 'library: nccl'",
                  "each channel of NCCL sends in an order of its own, so that there is no small set of messages to "
                  "simulate; leave it out");
}

}  // namespace orrery
