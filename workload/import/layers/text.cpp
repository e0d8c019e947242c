// SPDX-License-Identifier: MIT
#include "workload/import/layers/text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"
#include "workload/graph/execution_graph.h"
#include "workload/import/layers/layers.h"

namespace orrery::workload {
namespace {

using enum TextParallelism;
using enum GroupsOfLayers;

constexpr std::size_t kMostErrors = 100;
constexpr std::size_t kFields = 12;
constexpr std::string_view kBlanks = " \t\r\v\f";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// In the order of TextParallelism: the order, the groups, whether activations and weights communicate, of layers too.
constexpr std::array<ParallelismRules, 11> kParallelisms = {{
    {kMicro, "MICRO", LayerOrder::kMicro, kWorld, false, true, false},
    {kData, "DATA", LayerOrder::kData, kWorld, false, true, true},
    {kModel, "MODEL", LayerOrder::kHybrid, kWorld, true, false, true},
    {kHybridDataModel, "HYBRID_DATA_MODEL", LayerOrder::kHybrid, kModelConsecutive, true, true, true},
    {kHybridModelData, "HYBRID_MODEL_DATA", LayerOrder::kHybrid, kDataConsecutive, true, true, true},
    {kHybridDlrm, "HYBRID_DLRM", LayerOrder::kDlrm, kWorld, true, true, false},
    {kHybridDlrmEnhanced, "HYBRID_DLRM_ENHANCED", LayerOrder::kDlrm, kWorld, true, true, false},
    {kHybridTransformer, "HYBRID_TRANSFORMER", LayerOrder::kTransformer, kModelConsecutive, true, true, true},
    {kHybridTransformerRecompute, "HYBRID_TRANSFORMER_FWD_IN_BCKWD", LayerOrder::kTransformer, kModelConsecutive, true,
     true, false},
    {kHybridCustomized, "HYBRID_CUSTOMIZED", LayerOrder::kHybrid, kModelConsecutive, true, true, false},
    {kDistributedInference, "DISTRIBUTED_INFERENCE", LayerOrder::kForward, kWorld, true, false, false},
}};

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 5> kCollectives = {{
    {"ALLREDUCE", CollectiveKind::kAllReduce},
    {"ALLGATHER", CollectiveKind::kAllGather},
    {"REDUCESCATTER", CollectiveKind::kReduceScatter},
    {"ALLTOALL", CollectiveKind::kAllToAll},
    {"BROADCAST", CollectiveKind::kBroadcast},  // AICB's of 2024; ASTRA-sim has none
}};

// Suffixes of SimAI's format, except the first.
constexpr std::array<std::pair<std::string_view, TextGroup>, 5> kSuffixes = {{
    {"", TextGroup::kUsual},
    {"_TP", TextGroup::kTensor},
    {"_DP", TextGroup::kData},
    {"_EP", TextGroup::kExpert},
    {"_DP_EP", TextGroup::kExpertData},
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

struct Word {
  std::string_view text;
  int column = 1;  // from 1, in bytes
};

std::string shown(const Word& word) { return printable(word.text, 40); }

// Goes through the lines that have words, and through the words of each as fields. Words end at blanks, tabs and
// carriage returns; a word that begins with '#' and what follows it in its line is a comment; a byte-order mark at the
// start is skipped. A field that is wrong is an error at its place.
class LineReader {
 public:
  LineReader(const std::string& file, std::string_view text, Diagnostics& diagnostics)
      : file_(file), rest_(text), diagnostics_(diagnostics) {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  // False at the end of the text.
  bool next() {
    for (words_.clear(), next_ = 0; !rest_.empty() && words_.empty(); ++line_) {
      const std::size_t end = rest_.find('\n');
      const std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      for (std::size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
        if (line[begin] == '#') break;
        const std::size_t behind = std::min(line.find_first_of(kBlanks, begin), line.size());
        words_.push_back({line.substr(begin, behind - begin), static_cast<int>(begin) + 1});
        begin = line.find_first_not_of(kBlanks, behind);
      }
    }
    return !words_.empty();
  }

  int line() const { return line_; }  // from 1
  const std::vector<Word>& words() const { return words_; }
  std::size_t left() const { return words_.size() - next_; }
  const Word& peek() const { return words_[next_]; }
  const Word& take() { return words_[next_++]; }

  Location place(const Word& word) const { return {file_, line_, word.column}; }
  // False.
  bool error(const Word& at, std::string message, std::string hint = {}) {
    diagnostics_.error(place(at), std::move(message), std::move(hint));
    return false;
  }

  // True if a value follows `key`; else reports an error.
  bool has_value(const Word& key) {
    return left() > 0 || error(key, fmt::format("'{}' has no number after it", shown(key)));
  }

  // The number that follows `key`.
  std::optional<TextNumber> number(const Word& key, std::int64_t least) {
    if (!has_value(key)) return std::nullopt;
    const Word& word = take();
    const auto value = parse_whole_number(word.text);
    if (value && *value >= least && *value <= std::numeric_limits<std::int32_t>::max())
      return TextNumber{static_cast<std::uint32_t>(*value), place(word)};
    error(word, fmt::format("'{}' is not a whole number of at least {}", shown(word), least));
    return std::nullopt;
  }

  Duration time() {
    const Word& word = take();
    const auto time = parse_quantity<Duration>(std::string(word.text) + " ns").value;
    if (!time)
      error(word, fmt::format("'{}' is not a time in nanoseconds", shown(word)),
            "a number such as 13003, without a unit");
    return time.value_or(Duration::zero());
  }

  // In bytes, without a unit; Python writes it as a fraction: 8388608.0. Nothing, with an error, where it is none or
  // more than a message may have.
  std::optional<Bytes> size() {
    const Word& word = take();
    const auto bytes = parse_quantity<Bytes>(std::string(word.text) + " B").value;
    if (bytes && *bytes <= kMostNodeBytes) return bytes;
    if (bytes)
      error(word, fmt::format("a message of {} bytes, more than {}", bytes->count(), kMostNodeBytes.count()),
            "look for a size that is off by orders of magnitude");
    else
      error(word, fmt::format("'{}' is not a size in bytes", shown(word)), "a number such as 8388608, without a unit");
    return std::nullopt;
  }

 private:
  const std::string& file_;
  std::string_view rest_;
  Diagnostics& diagnostics_;
  int line_ = 0;
  std::vector<Word> words_;
  std::size_t next_ = 0;
};

class WorkloadReader {
 public:
  WorkloadReader(const std::string& file, std::string_view text, TextDialect dialect, Diagnostics& diagnostics)
      : file_(file),
        is_simai_(dialect == TextDialect::kSimai),
        diagnostics_(diagnostics),
        line_(file, text, diagnostics) {
    for (const auto& [name, kind] : kCollectives)
      for (const auto& [suffix, group] : kSuffixes)
        if (is_simai_ || (kind != CollectiveKind::kBroadcast && group == TextGroup::kUsual))
          communications_.emplace_back(std::string(name) + std::string(suffix), TextCall{kind, group});
  }

  TextWorkload read() {
    const std::size_t errors_before = diagnostics_.error_count();
    if (!read_header() || !read_layer_count()) return {};
    std::int64_t found = 0;
    for (; found < announced_ && line_.next(); ++found) {
      read_layer();
      if (diagnostics_.error_count() - errors_before < kMostErrors) continue;
      diagnostics_.error({file_, line_.line(), 1},
                         fmt::format("more than {} errors: the rest is not read", kMostErrors));
      return {};
    }
    check_end(found);
    return std::move(workload_);
  }

 private:
  // A word that calls, and what it calls.
  using Communication = std::pair<std::string, std::optional<TextCall>>;

  bool read_header() {
    if (!line_.next()) {
      diagnostics_.error({file_, 1, 1}, "the file is empty", "the first line names the parallelism, like DATA");
      return false;
    }
    const Word& word = line_.take();
    TextHeader& header = workload_.header;
    const auto parallelism = read_parallelism(word, false);
    if (!parallelism) return false;
    header.parallelism = *parallelism;
    header.where = line_.place(word);
    const bool is_dlrm = rules_of(*parallelism).order == LayerOrder::kDlrm;
    if (is_dlrm && line_.left() > 0 && parse_whole_number(line_.peek().text))
      header.last_bottom_layer = line_.number(word, 0);
    while (line_.left() > 0 && read_key(line_.take())) continue;
    return true;
  }

  std::optional<TextParallelism> read_parallelism(const Word& word, bool of_layer) {
    std::vector<std::string> names;
    for (const ParallelismRules& rules : kParallelisms) {
      if (of_layer && !rules.of_layers) continue;
      if (rules.name == word.text) return rules.parallelism;
      names.emplace_back(rules.name);
    }
    line_.error(word,
                of_layer ? fmt::format("'{}' is not a parallelism of a layer", shown(word))
                         : fmt::format("parallelism '{}' is not known", shown(word)),
                suggestion(word.text, names));
    return std::nullopt;
  }

  // False where what follows cannot be understood either.
  bool read_key(const Word& word) {
    std::string_view name = word.text;
    if (name.ends_with(':')) name.remove_suffix(1);
    const auto* key = std::ranges::find(kKeys, name, &HeaderKey::name);
    if (key == kKeys.end()) {
      std::vector<std::string> names;
      for (const HeaderKey& known : kKeys)
        if (!known.of_simai || is_simai_) names.emplace_back(known.name);
      return line_.error(word, fmt::format("'{}' is not a key of the first line", shown(word)),
                         suggestion(name, names));
    }
    if (key->of_simai && !is_simai_)
      return line_.error(word, fmt::format("'{}' is a key of SimAI, not of ASTRA-sim 1.0", name),
                         "import the file as a SimAI workload");
    return std::visit([&](auto member) { return read_value(word, workload_.header.*member); }, key->into);
  }

  bool read_value(const Word& key, std::optional<TextNumber>& value) {
    value = line_.number(key, &value == &workload_.header.last_bottom_layer ? 0 : 1);
    return value.has_value();
  }

  // A count and as many layers.
  bool read_value(const Word& key, std::vector<TextNumber>& layers) {
    const auto count = line_.number(key, 0);
    if (!count) return false;
    if (count->value > line_.left()) {
      diagnostics_.error(count->where, fmt::format("'{}' announces {} layers, {} words follow", shown(key),
                                                   count->value, line_.left()));
      return false;
    }
    for (std::uint32_t i = 0; i < count->value; ++i) {
      const auto layer = line_.number(key, 0);
      if (!layer) return false;
      layers.push_back(*layer);
    }
    return true;
  }

  bool read_value(const Word& key, Bytes& value) {
    const auto size = line_.has_value(key) ? line_.size() : std::nullopt;
    value = size.value_or(Bytes(0));
    return size.has_value();
  }

  bool read_layer_count() {
    if (!line_.next()) {
      diagnostics_.error({file_, workload_.header.where.line, 1}, "the file ends after its first line",
                         "the second line is the number of layers");
      return false;
    }
    const Word& word = line_.words().front();
    announced_ = parse_whole_number(word.text).value_or(0);
    if (announced_ < 1)
      return line_.error(word, fmt::format("'{}' is not a number of layers", shown(word)),
                         "the second line is the number of layers, and nothing else");
    if (line_.words().size() > 1)
      line_.error(line_.words()[1], fmt::format("'{}' follows the number of layers", shown(line_.words()[1])));
    announced_at_ = line_.place(word);
    return true;
  }

  void check_end(std::int64_t found) {
    if (found < announced_)
      diagnostics_.error(announced_at_, fmt::format("{} layers announced, {} lines follow", announced_, found),
                         "every layer stands on one line");
    else if (line_.next())
      diagnostics_.warning(
          line_.place(line_.words().front()),
          fmt::format("left out, like all that follows: line {} announces {} layers", announced_at_.line, announced_));
  }

  void read_layer() {
    const bool customized = workload_.header.parallelism == kHybridCustomized;
    const std::size_t expected = kFields + (customized ? 1 : 0);
    if (line_.words().size() != expected) {
      line_.error(line_.words().size() > expected ? line_.words()[expected] : line_.words().back(),
                  fmt::format("{} fields, expected {}", line_.words().size(), expected),
                  "name, -1, then time, communication and size of the forward pass, of input gradients and of weight "
                  "gradients, the update time" +
                      std::string(customized ? ", the parallelism of the layer" : ""));
      return;
    }
    TextLayer layer;
    layer.name = printable(line_.take().text, 80);
    layer.line = line_.line();
    if (const Word& word = line_.take(); !parse_whole_number(word.text))
      line_.error(word, fmt::format("'{}' is not a whole number", shown(word)),
                  "the second field is -1 and means nothing");
    for (TextPass& pass : layer.passes) {
      pass.compute = line_.time();
      pass.call = read_communication(line_.take());
      const Bytes size = line_.size().value_or(Bytes(0));
      if (pass.call) pass.call->bytes = size;
    }
    layer.update = line_.time();
    if (customized) layer.parallelism = read_parallelism(line_.take(), true);
    workload_.layers.push_back(std::move(layer));
  }

  std::optional<TextCall> read_communication(const Word& word) {
    const auto known = std::ranges::find(communications_, word.text, &Communication::first);
    if (known != communications_.end()) return known->second;
    std::vector<std::string> names;
    for (const auto& [name, call] : communications_) names.push_back(name);
    line_.error(word, fmt::format("communication '{}' is not known", shown(word)), suggestion(word.text, names));
    return std::nullopt;
  }

  const std::string& file_;
  bool is_simai_;
  Diagnostics& diagnostics_;
  LineReader line_;
  std::vector<Communication> communications_ = {{"NONE", std::nullopt}};
  TextWorkload workload_;
  std::int64_t announced_ = 0;  // layers
  Location announced_at_;
};

}  // namespace

const ParallelismRules& rules_of(TextParallelism parallelism) {
  return kParallelisms[static_cast<std::size_t>(parallelism)];
}

bool is_layers_text(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n"));
  return std::ranges::find(kParallelisms, word, &ParallelismRules::name) != kParallelisms.end();
}

std::string_view name_of(LayerPass pass) {
  constexpr std::array<std::string_view, 4> kNames = {"forward", "input gradient", "weight gradient",
                                                      "recomputed forward"};
  return kNames[static_cast<std::size_t>(pass)];
}

TextWorkload read_text_workload(const std::string& file, std::string_view text, TextDialect dialect,
                                Diagnostics& diagnostics) {
  return WorkloadReader(file, text, dialect, diagnostics).read();
}

}  // namespace orrery::workload
