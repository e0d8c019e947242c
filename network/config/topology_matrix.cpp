// SPDX-License-Identifier: MIT
#include "network/config/matrix.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "core/files/shell_word.h"
#include "network/fabric/routed_graph.h"

namespace orrery::network {
namespace {

constexpr std::uint32_t kMostBonded = 1024;
constexpr std::uint32_t kMostMatrixMembers = kMostGraphVertices / 8;  // the switches are vertices, too
constexpr std::string_view kHint = "give it the output of `nvidia-smi topo -m`, unchanged";

struct Line {
  int number = 0;
  std::vector<std::string> words;
  std::vector<int> columns;  // where each starts, from 1
};

// Words of each line that has any; the escape sequences that underline the heading are left out.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  Line line{1, {}, {}};
  std::string word;
  std::size_t start = 0;  // of the line
  std::size_t i = 0;
  const auto end_word = [&] {
    if (!word.empty()) line.words.push_back(std::move(word));
    word.clear();
  };
  const auto end_line = [&] {
    end_word();
    if (!line.words.empty()) lines.push_back(line);
    line = {line.number + 1, {}, {}};
    start = i + 1;
  };
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\033') {
      while (i + 1 < text.size() && text[i] != 'm' && text[i] != '\n') ++i;
      if (text[i] == '\n') end_line();
    } else if (c == '\n') {
      end_line();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
    } else {
      if (word.empty()) line.columns.push_back(static_cast<int>(i - start) + 1);
      word += c;
    }
  }
  end_line();
  return lines;
}

std::optional<std::uint32_t> number_of(std::string_view digits) {
  std::uint32_t number = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (code != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::optional<MatrixEntry> entry_of(std::string_view word) {
  if (word == "X") return MatrixEntry{MatrixPath::kSelf, 0};
  if (word == "PIX") return MatrixEntry{MatrixPath::kPix, 0};
  if (word == "PXB") return MatrixEntry{MatrixPath::kPxb, 0};
  if (word == "PHB") return MatrixEntry{MatrixPath::kPhb, 0};
  if (word == "NODE") return MatrixEntry{MatrixPath::kNode, 0};
  if (word == "SYS" || word == "SOC") return MatrixEntry{MatrixPath::kSys, 0};
  if (!word.starts_with("NV")) return std::nullopt;
  const auto links = number_of(word.substr(2));
  if (!links || *links == 0 || *links > kMostBonded) return std::nullopt;
  return MatrixEntry{MatrixPath::kNvlink, *links};
}

// The names of the columns: GPUs from 0, then NICs, up to the columns about processors.
std::vector<std::string> columns_of(const Line& heading) {
  const auto end = std::ranges::find_if(heading.words, [](const std::string& word) {
    return word == "CPU" || word == "NUMA" || word == "GPU" || word == "Affinity";
  });
  return {heading.words.begin(), end};
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& file, Diagnostics& diagnostics)
      : lines_(lines_of(text)), file_(file), diagnostics_(diagnostics) {}

  TopologyMatrix parse() {
    const std::size_t errors = diagnostics_.error_count();
    const auto heading = std::ranges::find_if(lines_, [](const Line& line) { return line.words.front() == "GPU0"; });
    if (heading == lines_.end()) {
      if (!lines_.empty() && lines_.front().words.front().starts_with("<"))
        diagnostics_.error(
            {file_, lines_.front().number, 1}, "this is XML, as NCCL_TOPO_DUMP_FILE writes it, and no topology matrix",
            fmt::format("make a cluster of it: orrery cluster import {} > cluster.yaml; or give it the output of "
                        "`nvidia-smi topo -m`",
                        shown_shell_word(file_)));
      else
        error(1, "no heading of a topology matrix, which starts with GPU0");
      return {};
    }
    columns_ = columns_of(*heading);
    if (!count_members(*heading)) return {};
    matrix_.entries.resize(columns_.size() * columns_.size());
    const auto first = static_cast<std::size_t>(heading - lines_.begin()) + 1;
    for (std::size_t row = 0; row < columns_.size(); ++row) {
      if (first + row >= lines_.size()) {
        error(lines_.back().number, fmt::format("the matrix ends before the row of {}", printable(columns_[row], 40)));
        return {};
      }
      read_row(row, lines_[first + row]);
      if (diagnostics_.error_count() != errors) return {};
    }
    check_symmetry();
    return diagnostics_.error_count() == errors ? std::move(matrix_) : TopologyMatrix{};
  }

 private:
  void error(int line, std::string message, int column = 1) {
    diagnostics_.error({file_, line, column}, std::move(message), std::string(kHint));
  }

  bool count_members(const Line& heading) {
    while (matrix_.devices < columns_.size() && columns_[matrix_.devices] == fmt::format("GPU{}", matrix_.devices))
      ++matrix_.devices;
    matrix_.nics = static_cast<std::uint32_t>(columns_.size()) - matrix_.devices;
    for (std::uint32_t i = matrix_.devices; i < columns_.size(); ++i)
      if (columns_[i].starts_with("GPU")) {
        error(
            heading.number,
            fmt::format("column {} is {}; GPUs are numbered from 0 and come first", i + 1, printable(columns_[i], 40)),
            heading.columns[i]);
        return false;
      }
    if (columns_.size() <= kMostMatrixMembers) return true;
    error(heading.number,
          fmt::format("{} GPUs and NICs; at most {} are possible", columns_.size(), kMostMatrixMembers));
    return false;
  }

  void read_row(std::size_t row, const Line& line) {
    const std::string& name = columns_[row];
    if (line.words.front() != name)
      return error(line.number, fmt::format("a row of {} where that of {} is expected",
                                            printable(line.words.front(), 40), printable(name, 40)));
    if (line.words.size() <= columns_.size())
      return error(line.number, fmt::format("{} entries in the row of {}; the heading has {}", line.words.size() - 1,
                                            printable(name, 40), columns_.size()));
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      const std::string& word = line.words[column + 1];
      const auto entry = entry_of(word);
      const bool numbered = word.starts_with("NV") && number_of(std::string_view(word).substr(2));
      if (!entry && numbered)
        return error(line.number,
                     fmt::format("{}: 1 to {} NVLinks can join two GPUs", printable(word, 40), kMostBonded),
                     line.columns[column + 1]);
      if (!entry)
        return error(
            line.number,
            fmt::format("unknown connection '{}'; valid connections are X, PIX, PXB, PHB, NODE, SYS and NV<number>",
                        printable(word, 40)),
            line.columns[column + 1]);
      if ((entry->path == MatrixPath::kSelf) != (row == column))
        return error(line.number,
                     fmt::format("X stands for the GPU or NIC itself, so exactly in column {} of this row", row + 1),
                     line.columns[column + 1]);
      if (entry->path == MatrixPath::kNvlink && (row >= matrix_.devices || column >= matrix_.devices))
        return error(line.number, "a NIC on NVLink", line.columns[column + 1]);
      matrix_.entries[row * columns_.size() + column] = *entry;
    }
    matrix_.lines.push_back(line.number);
    text_columns_.push_back(line.columns);
    if (row >= matrix_.devices) return;
    const bool said = line.words.size() > columns_.size() + 1;
    matrix_.affinity.push_back(said ? line.words[columns_.size() + 1] : "");
  }

  void check_symmetry() {
    for (std::uint32_t row = 0; row < matrix_.members(); ++row)
      for (std::uint32_t column = 0; column < row; ++column)
        if (matrix_.at(row, column) != matrix_.at(column, row))
          return error(matrix_.lines[row],
                       fmt::format("{} to {} is another way than {} to {} in line {}", printable(columns_[row], 40),
                                   printable(columns_[column], 40), printable(columns_[column], 40),
                                   printable(columns_[row], 40), matrix_.lines[column]),
                       text_columns_[row][column + 1]);
  }

  std::vector<Line> lines_;
  const std::string& file_;
  Diagnostics& diagnostics_;
  std::vector<std::string> columns_;
  std::vector<std::vector<int>> text_columns_;  // of the words of each row
  TopologyMatrix matrix_;
};

}  // namespace

TopologyMatrix parse_topology_matrix(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return Parser(text, file, diagnostics).parse();
}

}  // namespace orrery::network
