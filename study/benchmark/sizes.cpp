#include "study/benchmark/sizes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/error.h"

namespace orrery {
namespace {

constexpr std::string_view kDefaultFirst = "32M";
constexpr std::string_view kUnits = "KMGT";
constexpr std::int64_t kLargest = std::int64_t{1} << 50;  // a PiB: beyond it, only a slip of the pen
constexpr std::size_t kMostSizes = 1000;

std::optional<std::int64_t> parse_size(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    const auto last = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
    const std::size_t unit = kUnits.find(last);
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      text.remove_suffix(1);
    }
  }
  const auto number = parse_whole_number(text);
  if (!number || *number < 1 || *number > (kLargest >> shift)) return std::nullopt;
  return *number << shift;
}

std::int64_t size_of(std::string_view option, std::string_view text) {
  if (const auto size = parse_size(text)) return *size;
  throw InputError({std::string(option)}, fmt::format("'{}' is no size from 1 byte to 1024T", printable(text, 40)),
                   "write whole bytes, with K, M, G or T for 2^10, 2^20, 2^30 or 2^40: 8, 32K, 16G");
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

std::vector<Bytes> sizes_of(const BenchmarkSizes& sizes, const BenchmarkOperation& operation) {
  if (operation.size != BenchmarkSize::kNone) return sizes_of(sizes);
  const std::pair<const char*, const std::string*> given[] = {
      {"-b", &sizes.first}, {"-e", &sizes.last}, {"-f", &sizes.factor}, {"-i", &sizes.increment}};
  for (const auto& [option, text] : given)
    if (!text->empty())
      throw InputError({option}, fmt::format("a {} carries no data, so it has no sizes", operation.name),
                       fmt::format("leave {} out", option));
  return {Bytes(0)};
}

}  // namespace orrery
