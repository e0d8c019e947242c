// SPDX-License-Identifier: MIT
#include "workload/import/layers/header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"
#include "workload/graph/execution_graph.h"

namespace orrery::workload {
namespace {

using enum TextParallelism;

constexpr std::array<std::pair<TextParallelism, std::string_view>, 11> kParallelisms = {{
    {kMicro, "MICRO"},
    {kData, "DATA"},
    {kModel, "MODEL"},
    {kHybridDataModel, "HYBRID_DATA_MODEL"},
    {kHybridModelData, "HYBRID_MODEL_DATA"},
    {kHybridDlrm, "HYBRID_DLRM"},
    {kHybridDlrmEnhanced, "HYBRID_DLRM_ENHANCED"},
    {kHybridTransformer, "HYBRID_TRANSFORMER"},
    {kHybridTransformerRecompute, "HYBRID_TRANSFORMER_FWD_IN_BCKWD"},
    {kHybridCustomized, "HYBRID_CUSTOMIZED"},
    {kDistributedInference, "DISTRIBUTED_INFERENCE"},
}};

// The keys, which stand with or without their colon, and where what follows them goes: a number, a count and as many
// layers, or a size.
struct HeaderKey {
  std::string_view name;
  std::variant<std::optional<TextNumber> TextHeader::*, std::vector<TextNumber> TextHeader::*, Bytes TextHeader::*>
      into;
  bool of_simai = false;
};

constexpr std::array<HeaderKey, 10> kKeys = {{
    {"model_parallel_NPU_group", &TextHeader::model_parallel},
    {"DLRM_LAST_BOTTOM_LAYER", &TextHeader::last_bottom_layer},
    {"ep", &TextHeader::expert_parallel, true},
    {"pp", &TextHeader::pipeline_parallel, true},
    {"vpp", &TextHeader::virtual_pipeline, true},
    {"ga", &TextHeader::micro_batches, true},
    {"all_gpus", &TextHeader::ranks, true},
    {"checkpoints", &TextHeader::checkpoints},
    {"checkpoint_initiates", &TextHeader::recomputation_starts},
    {"pp_comm", &TextHeader::pipeline_message, true},
}};

constexpr std::string_view kBlanks = " \t\r\v\f";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::vector<TextWord> words_of(std::string_view line) {
  std::vector<TextWord> words;
  for (std::size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    if (line[begin] == '#') break;
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back({line.substr(begin, end - begin), static_cast<int>(begin) + 1});
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

class HeaderReader {
 public:
  HeaderReader(const std::string& file, const TextLine& line, TextDialect dialect, Diagnostics& diagnostics)
      : file_(file), line_(line.number), words_(line.words), dialect_(dialect), diagnostics_(diagnostics) {}

  std::optional<TextHeader> read() {
    const TextWord word = take();
    const auto parallelism = text_parallelism_named(word.text);
    if (!parallelism) {
      std::vector<std::string> names;
      for (const auto& [value, name] : kParallelisms) names.emplace_back(name);
      error(word, fmt::format("parallelism '{}' is not known", printable(word.text, 40)), suggestion(word.text, names));
      return std::nullopt;
    }
    header_.parallelism = *parallelism;
    header_.where = {file_, line_, word.column};
    if (is_dlrm() && next_ < words_.size() && parse_whole_number(words_[next_].text))
      header_.last_bottom_layer = number(word, 0);
    while (next_ < words_.size() && read_key(take())) continue;
    return std::move(header_);
  }

 private:
  bool is_dlrm() const { return header_.parallelism == kHybridDlrm || header_.parallelism == kHybridDlrmEnhanced; }

  TextWord take() { return words_[next_++]; }

  void error(const TextWord& at, std::string message, std::string hint = {}) {
    diagnostics_.error({file_, line_, at.column}, std::move(message), std::move(hint));
  }

  // False where what follows cannot be understood either.
  bool read_key(const TextWord& word) {
    std::string_view name = word.text;
    if (name.ends_with(':')) name.remove_suffix(1);
    const auto* key = std::ranges::find(kKeys, name, &HeaderKey::name);
    if (key == kKeys.end()) {
      std::vector<std::string> names;
      for (const HeaderKey& known : kKeys)
        if (!known.of_simai || dialect_ == TextDialect::kSimai) names.emplace_back(known.name);
      error(word, fmt::format("'{}' is not a key of the first line", printable(word.text, 40)),
            suggestion(name, names));
      return false;
    }
    if (key->of_simai && dialect_ == TextDialect::kAstra) {
      error(word, fmt::format("'{}' is a key of SimAI, not of ASTRA-sim 1.0", name),
            "import the file as a SimAI workload");
      return false;
    }
    return std::visit([&](auto member) { return read_value(word, header_.*member); }, key->into);
  }

  bool read_value(const TextWord& key, std::optional<TextNumber>& value) {
    value = number(key, &value == &header_.last_bottom_layer ? 0 : 1);
    return value.has_value();
  }

  // The number that follows `key`.
  std::optional<TextNumber> number(const TextWord& key, std::int64_t least) {
    if (next_ == words_.size()) {
      error(key, fmt::format("'{}' has no number after it", printable(key.text, 40)));
      return std::nullopt;
    }
    const TextWord word = take();
    const auto value = parse_whole_number(word.text);
    if (!value || *value < least || *value > std::numeric_limits<std::int32_t>::max()) {
      error(word, fmt::format("'{}' is not a whole number of at least {}", printable(word.text, 40), least));
      return std::nullopt;
    }
    return TextNumber{static_cast<std::uint32_t>(*value), {file_, line_, word.column}};
  }

  // A count and as many layers.
  bool read_value(const TextWord& key, std::vector<TextNumber>& layers) {
    const auto count = number(key, 0);
    if (!count) return false;
    if (count->value > words_.size() - next_) {
      diagnostics_.error(count->where, fmt::format("'{}' announces {} layers, {} words follow", printable(key.text, 40),
                                                   count->value, words_.size() - next_));
      return false;
    }
    for (std::uint32_t i = 0; i < count->value; ++i) {
      const auto layer = number(key, 0);
      if (!layer) return false;
      layers.push_back(*layer);
    }
    return true;
  }

  bool read_value(const TextWord& key, Bytes& value) {
    if (next_ == words_.size()) {
      error(key, fmt::format("'{}' has no size after it", printable(key.text, 40)));
      return false;
    }
    const auto size = read_text_size(file_, line_, take(), diagnostics_);
    value = size.value_or(Bytes(0));
    return size.has_value();
  }

  const std::string& file_;
  int line_;
  std::span<const TextWord> words_;
  TextDialect dialect_;
  Diagnostics& diagnostics_;
  std::size_t next_ = 0;
  TextHeader header_;
};

}  // namespace

std::string_view name_of(TextParallelism parallelism) {
  return std::ranges::find(kParallelisms, parallelism, &std::pair<TextParallelism, std::string_view>::first)->second;
}

std::optional<TextParallelism> text_parallelism_named(std::string_view name) {
  const auto* found = std::ranges::find(kParallelisms, name, &std::pair<TextParallelism, std::string_view>::second);
  if (found == kParallelisms.end()) return std::nullopt;
  return found->first;
}

TextLines::TextLines(std::string_view text) : rest_(text) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

std::optional<TextLine> TextLines::next() {
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    TextLine result{number_, words_of(line)};
    if (!result.words.empty()) return result;
  }
  return std::nullopt;
}

std::optional<Bytes> read_text_size(const std::string& file, int line, const TextWord& word, Diagnostics& diagnostics) {
  const auto size = parse_quantity<Bytes>(std::string(word.text) + " B").value;
  const Location where{file, line, word.column};
  if (!size) {
    diagnostics.error(where, fmt::format("'{}' is not a size in bytes", printable(word.text, 40)),
                      "a number such as 8388608, without a unit");
    return std::nullopt;
  }
  if (*size <= kMostNodeBytes) return size;
  diagnostics.error(where, fmt::format("a message of {} bytes, more than {}", size->count(), kMostNodeBytes.count()),
                    "look for a size that is off by orders of magnitude");
  return std::nullopt;
}

std::optional<TextHeader> read_text_header(const std::string& file, const TextLine& line, TextDialect dialect,
                                           Diagnostics& diagnostics) {
  return HeaderReader(file, line, dialect, diagnostics).read();
}

}  // namespace orrery::workload
