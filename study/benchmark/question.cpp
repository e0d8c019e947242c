// SPDX-License-Identifier: MIT
#include "study/benchmark/question.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "collectives/algorithms.h"
#include "collectives/nccl/options.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "experiment/algorithm_file.h"
#include "system/plans/dimensions.h"

namespace orrery::study {
namespace {

ConfigValue option_value(std::string_view option, std::string text) {
  return {ConfigValue::Kind::kScalar, {std::string(option)}, std::move(text), {}, {}};
}

// The cluster that the option writes out; nothing where it is a name or a path.
std::optional<ConfigValue> written_out(const std::string& cluster) {
  Diagnostics ignored;
  ConfigValue value = parse_option(cluster, "--cluster", ignored);
  if (value.kind != ConfigValue::Kind::kMap) return std::nullopt;
  return value;
}

// Refuses another cluster, call or place of ranks than the options name, in the answer, too, and keys that no call
// looks at; parts of the cluster may be set.
void refuse_other_job(const std::string& setting) {
  const std::string_view key = std::string_view(setting).substr(0, setting.find('='));
  if (key == "cluster" && key.size() < setting.size())
    throw InputError({"--set " + printable(setting)}, "the cluster is the one that --cluster names",
                     fmt::format("write --cluster {}", printable(setting.substr(key.size() + 1))));
  const std::string_view first = key.substr(0, key.find_first_of(".["));
  if (first == "workload" || first == "jobs")
    throw InputError({"--set " + printable(setting)}, "the workload is one call",
                     "leave it out; options name the call");
  if (first == "placement" || first == "memory" || first == "reliability")
    throw InputError({"--set " + printable(setting)}, fmt::format("one call has no {}", first),
                     "leave it out, or write the experiment and run it: workload: {collective: all_reduce}");
}

// "LL,Simple" as the configuration has it: a list of words in lower case.
ConfigValue list_of(std::string_view option, const std::string& text) {
  ConfigValue list{ConfigValue::Kind::kList, {std::string(option)}, {}, {}, {}};
  std::string name;
  for (const char c : text + ",") {
    if (c != ',') {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    list.items.push_back(option_value(option, std::exchange(name, {})));
  }
  return list;
}

// The configuration that the question comes to, but for --algo and --algorithm.
ConfigValue configuration_of(const CollectiveQuestion& question, const workload::CallOperation& operation, Bytes size,
                             const ConfigFiles& files, Diagnostics& diagnostics) {
  ConfigValue root{ConfigValue::Kind::kMap, {"--cluster"}, {}, {}, {}};
  const auto set = [&](std::string_view key, std::string_view option, const std::string& text) {
    if (!text.empty()) set_value(root, key, option_value(option, text), files, diagnostics);
  };
  ConfigValue cluster =
      question.resolved_cluster ? *question.resolved_cluster : parse_option(question.cluster, "--cluster", diagnostics);
  set_value(root, "cluster", std::move(cluster), files, diagnostics);
  set("nodes", "--nodes", question.nodes);
  // Nothing else can be wrong with the operation but that the cluster has too few ranks for it.
  set("workload.collective", "--cluster", std::string(operation.name));
  if (operation.size != workload::CallSize::kNone) set("workload.size", "-b", fmt::format("{} B", size.count()));
  set("workload.ranks_per_node", "--gpus-per-node", question.devices_per_node);
  if (!question.devices.empty()) {
    if (question.devices.find_first_not_of("0123456789,") != std::string::npos)
      throw InputError({"--gpus"}, fmt::format("'{}' is no list of GPUs", printable(question.devices, 60)),
                       "write their numbers: --gpus 0,1,4,5");
    const auto listed = std::ranges::count(question.devices, ',') + 1;
    set("placement", "--gpus", fmt::format("devices({})", question.devices));
    set("workload.ranks_per_node", "--gpus", fmt::format("{}", listed));
  }
  const std::string origin = cluster_origin(question.cluster);
  for (const std::string& setting : question.settings) {
    refuse_other_job(setting);
    apply_setting(root, setting, files, diagnostics, experiment::resolver(origin, files));
  }
  set("collectives.library", "--library", question.library);
  set("collectives.launch", "--launch", question.launch);
  if (!question.protocol.empty())
    set_value(root, "collectives.proto", list_of("--proto", question.protocol), files, diagnostics);
  diagnostics.throw_if_errors();
  return root;
}

// Sizes that differ from pair to pair. Set last: with NCCL, which is the library until the algorithm is known, they
// would be refused.
void set_shares(ConfigValue& root, const CollectiveQuestion& question, const ConfigFiles& files,
                Diagnostics& diagnostics) {
  if (!question.shares.empty())
    set_value(root, "workload.shares", parse_option(question.shares, "--shares", diagnostics), files, diagnostics);
  if (!question.skew.empty())
    set_value(root, "workload.skew", option_value("--skew", question.skew), files, diagnostics);
  if (!question.seed.empty())
    set_value(root, "workload.seed", option_value("--seed", question.seed), files, diagnostics);
  diagnostics.throw_if_errors();
}

// A choice that there is none of where ranks send single messages.
void refuse_choice(std::string_view option, std::string_view what, const std::string& text,
                   const workload::CallOperation& operation) {
  if (!text.empty() && !operation.kind)
    throw InputError({std::string(option)},
                     fmt::format("{} has no {}: each rank sends one message", operation.name, what),
                     fmt::format("leave {} out", option));
}

// True if, on a cluster whose default is NCCL, the names mean the fixed library: NCCL does not have them, but that
// library does.
bool means_fixed(const ConfigValue& root, const ConfigValue& names) {
  const auto is_nccl = [](const ConfigValue& name) {
    return collectives::nccl_algorithm_named(name.scalar).has_value();
  };
  const auto is_fixed = [](const ConfigValue& name) { return collectives::find_algorithm(name.scalar).has_value(); };
  const ConfigEntry* collectives = root.find("collectives");
  return (collectives == nullptr || collectives->value.find("library") == nullptr) &&
         !std::ranges::all_of(names.items, is_nccl) && std::ranges::all_of(names.items, is_fixed);
}

constexpr std::string_view kDefaultFirst = "32M";
constexpr std::string_view kUnits = "KMGT";
constexpr std::int64_t kLargest = std::int64_t{1} << 50;  // a PiB: beyond it, only a slip of the pen
constexpr std::size_t kMostSizes = 1000;

// The units of nccl-tests are the binary ones; what has another is a quantity as everywhere.
std::optional<std::int64_t> parse_size(std::string text) {
  const auto last = static_cast<char>(text.empty() ? '\0' : std::toupper(static_cast<unsigned char>(text.back())));
  if (std::isdigit(static_cast<unsigned char>(last)) != 0) return parse_whole_number(text);
  if (kUnits.find(last) != std::string_view::npos) text = text.substr(0, text.size() - 1) + last + "iB";
  const Parsed<Bytes> size = parse_quantity<Bytes>(text);
  return size.value ? std::optional(size.value->count()) : std::nullopt;
}

std::int64_t size_of(std::string_view option, std::string_view text) {
  const auto size = parse_size(std::string(text));
  if (size && *size >= 1 && *size <= kLargest) return *size;
  throw InputError({std::string(option)},
                   fmt::format("invalid size '{}'; valid sizes are 1 byte to 1024T", printable(text, 40)),
                   "write whole bytes, with K, M, G or T for 2^10, 2^20, 2^30 or 2^40, or with a unit: 8, 32K, 16G, "
                   "1.5 GiB, 100 MB");
}

// The file of --algorithm, as the configuration names it.
void set_file(ConfigValue& root, const CollectiveQuestion& question, const workload::CallOperation& operation,
              const ConfigFiles& files, Diagnostics& diagnostics) {
  // A bare name is a file, too, here.
  const std::string& file = question.algorithm_file;
  const std::string path = experiment::names_algorithm_file(file) ? file : "./" + file;
  ConfigValue list{ConfigValue::Kind::kList, {"--algorithm"}, {}, {option_value("--algorithm", path)}, {}};
  set_value(root, fmt::format("collectives.algorithms.{}", name_of(*operation.kind)), std::move(list), files,
            diagnostics);
  if (!question.algorithm_size.empty())
    set_value(
        root, "collectives.algorithm_size",
        option_value("--algorithm-size", fmt::format("{} B", size_of("--algorithm-size", question.algorithm_size))),
        files, diagnostics);
}

double factor_of(const std::string& text) {
  if (text.empty()) return 2;
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(factor) || factor <= 1)
    throw InputError({"-f"}, fmt::format("'{}' does not lead from one size to a larger one", printable(text, 40)),
                     "write a number above 1: -f 2");
  return factor;
}

// Rounded down, but never the same again; what cannot be counted becomes the largest.
std::int64_t times(std::int64_t size, double factor) {
  const double next = static_cast<double>(size) * factor;
  if (next > static_cast<double>(kLargest)) return kLargest + 1;
  return std::max(size + 1, static_cast<std::int64_t>(next));
}

}  // namespace

std::string cluster_origin(const std::string& cluster) { return written_out(cluster) ? "--cluster" : cluster; }

std::string cluster_title(const std::string& cluster) {
  const std::optional<ConfigValue> value = written_out(cluster);
  if (!value) return looks_like_path(cluster) ? std::filesystem::path(cluster).stem().string() : cluster;
  const ConfigEntry* name = value->find("name");
  return name != nullptr && name->value.kind == ConfigValue::Kind::kScalar ? name->value.scalar : "inline";
}

experiment::Experiment read_question(const CollectiveQuestion& question, const workload::CallOperation& operation,
                                     const ConfigFiles& files, Diagnostics& diagnostics, Bytes size) {
  refuse_choice("--algo", "algorithm", question.algorithm, operation);
  refuse_choice("--algorithm", "algorithm", question.algorithm_file, operation);
  refuse_choice("--proto", "protocol", question.protocol, operation);
  const std::string origin = cluster_origin(question.cluster);
  ConfigValue root = configuration_of(question, operation, size, files, diagnostics);
  if (!question.algorithm_file.empty()) set_file(root, question, operation, files, diagnostics);
  if (question.algorithm.empty()) {
    set_shares(root, question, files, diagnostics);
    return experiment::read_experiment(origin, std::move(root), files, diagnostics);
  }
  // The library and the number of dimensions are known only after reading everything; the second reading reports
  // warnings.
  Diagnostics first_reading;
  const experiment::Experiment first = experiment::read_experiment(origin, root, files, first_reading);
  ConfigValue names = list_of("--algo", question.algorithm);
  if (first.simulation.collectives.nccl && !means_fixed(root, names)) {
    set_value(root, "collectives.algo", std::move(names), files, diagnostics);
  } else {
    // An algorithm for each dimension that collectives go along; a lone one is for all.
    const std::vector<std::uint32_t>& logical = first.simulation.collectives.logical_dimensions;
    if (names.items.size() == 1)
      names.items.resize(system::collective_dimensions(first.fabric, logical).size(), names.items.front());
    set_value(root, fmt::format("collectives.algorithms.{}", name_of(*operation.kind)), std::move(names), files,
              diagnostics);
  }
  set_shares(root, question, files, diagnostics);
  return experiment::read_experiment(origin, std::move(root), files, diagnostics);
}

std::vector<Bytes> sizes_of(const BenchmarkSizes& sizes) {
  const std::string first_text = sizes.first.empty() ? std::string(kDefaultFirst) : sizes.first;
  const std::int64_t first = size_of("-b", first_text);
  const std::int64_t last = sizes.last.empty() ? first : size_of("-e", sizes.last);
  if (last < first)
    throw InputError({"-e"},
                     fmt::format("the last size, {}, is less than the first, {}", printable(sizes.last), first_text),
                     "give both, the smaller as -b: -b 8 -e 16G");
  const std::int64_t increment = sizes.increment.empty() ? 0 : size_of("-i", sizes.increment);
  const double factor = factor_of(sizes.factor);
  std::vector<Bytes> found;
  for (std::int64_t size = first; size <= last;) {
    if (found.size() == kMostSizes)
      throw InputError({increment > 0 ? "-i" : "-f"}, fmt::format("this makes more than {} sizes", kMostSizes),
                       "take larger steps or a smaller range");
    found.emplace_back(size);
    size = increment > 0 ? size + increment : times(size, factor);
  }
  return found;
}

std::vector<Bytes> sizes_of(const BenchmarkSizes& sizes, const workload::CallOperation& operation) {
  if (operation.size != workload::CallSize::kNone) return sizes_of(sizes);
  const std::pair<const char*, const std::string*> given[] = {
      {"-b", &sizes.first}, {"-e", &sizes.last}, {"-f", &sizes.factor}, {"-i", &sizes.increment}};
  for (const auto& [option, text] : given)
    if (!text->empty())
      throw InputError({option}, fmt::format("a {} carries no data, so it has no sizes", operation.name),
                       fmt::format("leave {} out", option));
  return {Bytes(0)};
}

}  // namespace orrery::study
