// SPDX-License-Identifier: MIT
#include "collectives/nccl/options.h"

#include <algorithm>
#include <charconv>
#include <span>

#include <fmt/format.h>

namespace orrery::collectives {
namespace {

constexpr std::array<std::string_view, 7> kAlgorithms = {"tree",      "ring", "collnet-direct", "collnet-chain", "nvls",
                                                         "nvls-tree", "pat"};
constexpr std::array<std::string_view, 3> kProtocols = {"ll", "ll128", "simple"};
constexpr std::array<std::string_view, 4> kLaunches = {"mpi", "threads", "single-process", "torch"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Without what makes no difference.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (c != '-' && c != '_') text += lower(c);
  return text;
}

// The index of `name` among `names`; nothing if it is none of them.
std::optional<std::size_t> index_of(std::string_view name, std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, plain(name), plain);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

// The number that `text` starts with, which is then cut off it.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take_dot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

bool has_protocol(NcclAlgorithm algorithm, NcclProtocol protocol) {
  return protocol == NcclProtocol::kSimple || algorithm == NcclAlgorithm::kRing || algorithm == NcclAlgorithm::kTree;
}

std::string_view name_of(NcclAlgorithm algorithm) { return kAlgorithms[static_cast<std::size_t>(algorithm)]; }
std::string_view name_of(NcclProtocol protocol) { return kProtocols[static_cast<std::size_t>(protocol)]; }
std::string_view name_of(LaunchMode mode) { return kLaunches[static_cast<std::size_t>(mode)]; }

std::string to_text(NcclVersion version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::vector<std::string> nccl_algorithm_names() { return {kAlgorithms.begin(), kAlgorithms.end()}; }
std::vector<std::string> nccl_protocol_names() { return {kProtocols.begin(), kProtocols.end()}; }
std::vector<std::string> launch_mode_names() { return {kLaunches.begin(), kLaunches.end()}; }

std::optional<NcclAlgorithm> nccl_algorithm_named(std::string_view name) {
  const auto index = index_of(name, kAlgorithms);
  if (!index) return std::nullopt;
  return kAllNcclAlgorithms[*index];
}

std::optional<NcclProtocol> nccl_protocol_named(std::string_view name) {
  const auto index = index_of(name, kProtocols);
  if (!index) return std::nullopt;
  return kAllNcclProtocols[*index];
}

std::optional<NcclVersion> parse_nccl_version(std::string_view text) {
  text = text.substr(0, text.find("+cuda"));
  const auto major = take_number(text);
  if (!major || !take_dot(text)) return std::nullopt;
  const auto minor = take_number(text);
  if (!minor) return std::nullopt;
  if (text.empty()) return NcclVersion{*major, *minor, 0};
  if (!take_dot(text)) return std::nullopt;
  const auto patch = take_number(text);
  if (!patch || !text.empty()) return std::nullopt;
  return NcclVersion{*major, *minor, *patch};
}

}  // namespace orrery::collectives
