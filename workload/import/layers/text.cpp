// SPDX-License-Identifier: MIT
#include "workload/import/layers/text.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"
#include "workload/import/layers/header.h"

namespace orrery::workload {
namespace {

constexpr std::size_t kMostErrors = 100;
constexpr std::size_t kFields = 12;

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 5> kCollectives = {{
    {"ALLREDUCE", CollectiveKind::kAllReduce},
    {"ALLGATHER", CollectiveKind::kAllGather},
    {"REDUCESCATTER", CollectiveKind::kReduceScatter},
    {"ALLTOALL", CollectiveKind::kAllToAll},
    {"BROADCAST", CollectiveKind::kBroadcast},  // AICB's of 2024; ASTRA-sim has none
}};

// Of the layers of HYBRID_CUSTOMIZED.
constexpr std::array kOfLayers = {TextParallelism::kData, TextParallelism::kModel, TextParallelism::kHybridDataModel,
                                  TextParallelism::kHybridModelData, TextParallelism::kHybridTransformer};

constexpr std::array<std::pair<std::string_view, TextGroup>, 5> kSuffixes = {{
    {"", TextGroup::kUsual},
    {"_TP", TextGroup::kTensor},
    {"_DP", TextGroup::kData},
    {"_EP", TextGroup::kExpert},
    {"_DP_EP", TextGroup::kExpertData},
}};

class WorkloadReader {
 public:
  WorkloadReader(const std::string& file, std::string_view text, TextDialect dialect, Diagnostics& diagnostics)
      : file_(file), lines_(text), dialect_(dialect), diagnostics_(diagnostics) {}

  TextWorkload read() {
    const std::size_t errors_before = diagnostics_.error_count();
    if (!read_header()) return {};
    const auto announced = read_layer_count();
    if (!announced) return {};
    while (lines_read() < *announced) {
      const auto line = lines_.next();
      if (!line) break;
      read_layer(*line);
      if (diagnostics_.error_count() - errors_before < kMostErrors) continue;
      diagnostics_.error({file_, line->number, 1},
                         fmt::format("more than {} errors: the rest is not read", kMostErrors));
      return {};
    }
    check_end(*announced);
    return std::move(workload_);
  }

 private:
  void error(int line, const TextWord& at, std::string message, std::string hint = {}) {
    diagnostics_.error({file_, line, at.column}, std::move(message), std::move(hint));
  }

  std::int64_t lines_read() const { return static_cast<std::int64_t>(workload_.layers.size()) + broken_; }

  bool read_header() {
    const auto line = lines_.next();
    if (!line) {
      diagnostics_.error({file_, 1, 1}, "the file is empty", "the first line names the parallelism, like DATA");
      return false;
    }
    auto header = read_text_header(file_, *line, dialect_, diagnostics_);
    if (!header) return false;
    workload_.header = std::move(*header);
    return true;
  }

  std::optional<std::int64_t> read_layer_count() {
    const auto line = lines_.next();
    if (!line) {
      diagnostics_.error({file_, workload_.header.where.line, 1}, "the file ends after its first line",
                         "the second line is the number of layers");
      return std::nullopt;
    }
    const TextWord& word = line->words.front();
    const auto count = parse_whole_number(word.text);
    if (!count || *count < 1) {
      error(line->number, word, fmt::format("'{}' is not a number of layers", printable(word.text, 40)),
            "the second line is the number of layers, and nothing else");
      return std::nullopt;
    }
    if (line->words.size() > 1)
      error(line->number, line->words[1],
            fmt::format("'{}' follows the number of layers", printable(line->words[1].text, 40)));
    count_line_ = {file_, line->number, word.column};
    return count;
  }

  void check_end(std::int64_t announced) {
    const std::int64_t found = lines_read();
    if (found < announced)
      diagnostics_.error(count_line_, fmt::format("{} layers announced, {} lines follow", announced, found),
                         "every layer stands on one line");
    else if (const auto line = lines_.next())
      diagnostics_.warning(
          {file_, line->number, line->words.front().column},
          fmt::format("left out, like all that follows: line {} announces {} layers", count_line_.line, announced));
  }

  void read_layer(const TextLine& line) {
    const bool customized = workload_.header.parallelism == TextParallelism::kHybridCustomized;
    const std::size_t expected = kFields + (customized ? 1 : 0);
    if (line.words.size() != expected) {
      ++broken_;
      error(line.number, line.words.size() > expected ? line.words[expected] : line.words.back(),
            fmt::format("{} fields, expected {}", line.words.size(), expected),
            "name, -1, then time, communication and size of the forward pass, of input gradients and of weight "
            "gradients, the update time" +
                std::string(customized ? ", the parallelism of the layer" : ""));
      return;
    }
    const std::span<const TextWord> words = line.words;
    line_ = line.number;
    if (!parse_whole_number(words[1].text))
      error(line_, words[1], fmt::format("'{}' is not a whole number", printable(words[1].text, 40)),
            "the second field is -1 and means nothing");
    TextLayer layer;
    layer.name = printable(words[0].text, 80);
    layer.line = line_;
    layer.forward = read_pass(words.subspan(2, 3));
    layer.input_gradient = read_pass(words.subspan(5, 3));
    layer.weight_gradient = read_pass(words.subspan(8, 3));
    layer.update = read_time(words[11]);
    if (customized) layer.parallelism = read_parallelism(words[12]);
    workload_.layers.push_back(std::move(layer));
  }

  TextPass read_pass(std::span<const TextWord> words) {
    TextPass pass;
    pass.compute = read_time(words[0]);
    read_communication(words[1], pass);
    pass.size = read_text_size(file_, line_, words[2], diagnostics_).value_or(Bytes(0));
    return pass;
  }

  Duration read_time(const TextWord& word) {
    const auto time = parse_quantity<Duration>(std::string(word.text) + " ns");
    if (!time.value)
      error(line_, word, fmt::format("'{}' is not a time in nanoseconds", printable(word.text, 40)),
            "a number such as 13003, without a unit");
    return time.value.value_or(Duration::zero());
  }

  void read_communication(const TextWord& word, TextPass& pass) {
    if (word.text == "NONE") return;
    for (const auto& [name, kind] : kCollectives) {
      if (!word.text.starts_with(name) || !is_known(kind)) continue;
      for (const auto& [suffix, group] : kSuffixes) {
        if (word.text.substr(name.size()) != suffix || !is_known(group)) continue;
        pass.collective = kind;
        pass.group = group;
        return;
      }
    }
    error(line_, word, fmt::format("communication '{}' is not known", printable(word.text, 40)),
          suggestion(word.text, known_communications()));
  }

  bool is_known(CollectiveKind kind) const {
    return dialect_ == TextDialect::kSimai || kind != CollectiveKind::kBroadcast;
  }
  bool is_known(TextGroup group) const { return dialect_ == TextDialect::kSimai || group == TextGroup::kUsual; }

  std::vector<std::string> known_communications() const {
    std::vector<std::string> names = {"NONE"};
    for (const auto& [name, kind] : kCollectives)
      for (const auto& [suffix, group] : kSuffixes)
        if (is_known(kind) && is_known(group)) names.push_back(std::string(name) + std::string(suffix));
    return names;
  }

  std::optional<TextParallelism> read_parallelism(const TextWord& word) {
    const auto parallelism = text_parallelism_named(word.text);
    if (parallelism && std::ranges::find(kOfLayers, *parallelism) != kOfLayers.end()) return parallelism;
    std::vector<std::string> names;
    for (const TextParallelism known : kOfLayers) names.emplace_back(name_of(known));
    error(line_, word, fmt::format("'{}' is not a parallelism of a layer", printable(word.text, 40)),
          suggestion(word.text, names));
    return std::nullopt;
  }

  const std::string& file_;
  TextLines lines_;
  TextDialect dialect_;
  Diagnostics& diagnostics_;
  TextWorkload workload_;
  Location count_line_;
  int line_ = 0;             // of the layer being read
  std::int64_t broken_ = 0;  // lines that are no layers
};

}  // namespace

TextWorkload read_text_workload(const std::string& file, std::string_view text, TextDialect dialect,
                                Diagnostics& diagnostics) {
  return WorkloadReader(file, text, dialect, diagnostics).read();
}

}  // namespace orrery::workload
