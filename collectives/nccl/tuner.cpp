// SPDX-License-Identifier: MIT
#include "collectives/nccl/tuner.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/config/csv_lines.h"
#include "core/suggest.h"

namespace orrery::collectives {
namespace {

constexpr std::size_t kFewestCells = 8, kMostCells = 10;
constexpr std::string_view kTunerHint =
    "a row is collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks, with -1 for any: "
    "allreduce,0,65536,tree,ll,-1,2,16";

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 5> kTuned = {{
    {"allreduce", CollectiveKind::kAllReduce},
    {"allgather", CollectiveKind::kAllGather},
    {"reducescatter", CollectiveKind::kReduceScatter},
    {"broadcast", CollectiveKind::kBroadcast},
    {"reduce", CollectiveKind::kReduce},
}};

class TunerReader {
 public:
  TunerReader(const std::string& file, Diagnostics& diagnostics) : file_(file), diagnostics_(diagnostics) {}

  // The row of a line; nothing after an error, and for a heading or a row that no call here fits.
  std::optional<NcclTunerRow> read(const CsvLine& line, bool is_first) {
    line_ = &line;
    cells_ = line.cells();
    if (is_first && lower(cells_.front().text).starts_with("coll")) return std::nullopt;  // heading
    if (cells_.size() < kFewestCells || cells_.size() > kMostCells) {
      error(cells_.front(), fmt::format("{} cells; a row has {} to {}", cells_.size(), kFewestCells, kMostCells));
      return std::nullopt;
    }
    NcclTunerRow row;
    row.line = line.number;
    const std::size_t errors = diagnostics_.error_count();
    row.kind = kind_of(cells_[0]);
    row.least = number(1, 0, std::numeric_limits<std::int64_t>::max());
    row.most = number(2, 0, std::numeric_limits<std::int64_t>::max());
    if (row.most < row.least) error(cells_[2], fmt::format("sizes from {} to {}", row.least, row.most));
    row.algorithm = named(cells_[3], "algorithm", nccl_algorithm_names(), nccl_algorithm_named(cells_[3].text));
    row.protocol = named(cells_[4], "protocol", nccl_protocol_names(), nccl_protocol_named(cells_[4].text));
    row.channels = number(5, -1, 64);
    row.nodes = number(6, -1, kMostNumber);
    row.ranks = number(7, -1, kMostNumber);
    const std::int64_t pipelined = cells_.size() > 8 ? number(8, -1, kMostNumber) : -1;
    const std::int64_t registered = cells_.size() > 9 ? number(9, -1, 1) : -1;
    if (diagnostics_.error_count() == errors && !has_protocol(row.algorithm, row.protocol))
      error(cells_[4], fmt::format("NCCL has no {} in {}", name_of(row.algorithm), name_of(row.protocol)));
    const bool fits = (pipelined == -1 || pipelined == 1) && registered != 1;
    return diagnostics_.error_count() == errors && fits ? std::optional(row) : std::nullopt;
  }

 private:
  static constexpr std::int64_t kMostNumber = std::int64_t{1} << 30;

  static std::string lower(std::string_view text) {
    std::string plain;
    for (const char c : text) plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return plain;
  }

  void error(const CsvCell& cell, std::string message, std::string hint = std::string(kTunerHint)) {
    diagnostics_.error({file_, line_->number, cell.column}, std::move(message), std::move(hint));
  }

  CollectiveKind kind_of(const CsvCell& cell) {
    std::string name = lower(cell.text);
    std::erase(name, '_');
    const auto found = std::ranges::find(kTuned, name, &decltype(kTuned)::value_type::first);
    if (found != kTuned.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [text, kind] : kTuned) known.emplace_back(text);
    error(cell, fmt::format("a tuner has no collective '{}'", printable(cell.text, 40)), suggestion(name, known));
    return CollectiveKind::kAllReduce;
  }

  std::int64_t number(std::size_t index, std::int64_t least, std::int64_t most) {
    const CsvCell& cell = cells_[index];
    std::int64_t value = 0;
    const char* end = cell.text.data() + cell.text.size();
    const auto [stop, code] = std::from_chars(cell.text.data(), end, value);
    if (code == std::errc{} && stop == end && value >= least && value <= most) return value;
    error(cell,
          fmt::format("'{}' where a whole number from {} to {} is expected", printable(cell.text, 40), least, most));
    return least;
  }

  template <class Value>
  Value named(const CsvCell& cell, std::string_view what, const std::vector<std::string>& known,
              std::optional<Value> found) {
    if (!found)
      error(cell, fmt::format("NCCL has no {} '{}'", what, printable(cell.text, 40)),
            suggestion(lower(cell.text), known));
    return found.value_or(Value{});
  }

  const std::string& file_;
  Diagnostics& diagnostics_;
  const CsvLine* line_ = nullptr;
  std::vector<CsvCell> cells_;
};

// Bytes by which a tuner is asked: of the larger of what a rank sends and gets.
Int128 tuned_bytes(CollectiveKind kind, Bytes bytes, std::uint32_t ranks) {
  return kind == CollectiveKind::kAllGather ? Int128{bytes.count()} * ranks : Int128{bytes.count()};
}

}  // namespace

const NcclTunerRow* NcclTuner::row_of(CollectiveKind kind, Bytes bytes, std::uint32_t nodes,
                                      std::uint32_t ranks) const {
  const Int128 size = tuned_bytes(kind, bytes, ranks);
  const auto found = std::ranges::find_if(rows, [&](const NcclTunerRow& row) {
    return row.kind == kind && size >= row.least && size <= row.most && (row.nodes == -1 || row.nodes == nodes) &&
           (row.ranks == -1 || row.ranks == ranks);
  });
  return found == rows.end() ? nullptr : &*found;
}

NcclTuner parse_nccl_tuner(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  NcclTuner tuner{file, {}};
  CsvLines lines(text);
  TunerReader reader(file, diagnostics);
  bool is_first = true;
  while (const auto line = lines.next()) {
    if (const auto row = reader.read(*line, is_first)) tuner.rows.push_back(*row);
    is_first = false;
  }
  if (is_first) diagnostics.error({file, 1, 1}, "no rows in the table of a tuner", std::string(kTunerHint));
  return tuner;
}

}  // namespace orrery::collectives
