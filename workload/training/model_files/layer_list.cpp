// SPDX-License-Identifier: MIT
#include "workload/training/model_files/layer_list.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery::workload {
namespace {

constexpr Range kLayerNumber{0, 100'000};
constexpr Range kSpan{0, std::int64_t{1} << 26};

struct LayerWord {
  std::string_view word;
  LayerParts parts;
};
// Words of lists, and letters of Nemotron-H's pattern, whose layers are a mixer or a perceptron alone.
constexpr std::array<LayerWord, 16> kLayerWords = {{{"attention", {}},
                                                    {"full_attention", {}},
                                                    {"global_attention", {}},
                                                    {"sliding_attention", {Mixer::kWindow}},
                                                    {"local_attention", {Mixer::kWindow}},
                                                    {"chunked_attention", {Mixer::kChunk}},
                                                    {"linear_attention", {Mixer::kGatedDelta}},
                                                    {"mamba", {Mixer::kMamba2}},
                                                    {"mamba2", {Mixer::kMamba2}},
                                                    {"mlp", {Mixer::kNone, Tail::kDense}},
                                                    {"moe", {Mixer::kNone, Tail::kExperts}},
                                                    {"M", {Mixer::kMamba2, Tail::kNone}},
                                                    {"*", {Mixer::kFull, Tail::kNone}},
                                                    {"-", {Mixer::kNone, Tail::kDense}},
                                                    {"E", {Mixer::kNone, Tail::kExperts}},
                                                    {"L", {Mixer::kWindow}}}};

// A layer of layers.* lists whose other entries are mixers alone is one alone as well.
bool is_of_single_parts(const std::vector<LayerParts>& layers) {
  return std::ranges::any_of(layers, [](const LayerParts& layer) { return layer.mixer == Mixer::kNone; });
}

class LayerReader {
 public:
  LayerReader(KeyReader& keys, std::int64_t layers) : keys_(keys), count_(layers) {}

  std::optional<std::vector<LayerParts>> read() {
    layers_.assign(static_cast<std::size_t>(count_), {});
    if (const ConfigEntry* list = keys_.value({"layer_types", "layers_block_type"}); list != nullptr)
      read_words(*list);
    else if (const ConfigEntry* pattern = keys_.value({"hybrid_override_pattern"}); pattern != nullptr)
      read_letters(*pattern);
    else if (const ConfigEntry* full = keys_.value({"linear_attn_config.full_attn_layers"}); full != nullptr)
      read_numbers(*full, 1, Mixer::kKimiDelta);
    else if (const ConfigEntry* attention = keys_.value({"attn_layer_indices"}); attention != nullptr)
      read_numbers(*attention, 0, Mixer::kMamba2);
    else if (const ConfigEntry* interval = keys_.value({"full_attention_interval"}); interval != nullptr)
      read_interval(*interval);
    else if (const ConfigEntry* windows = keys_.value({"hybrid_layer_pattern"}); windows != nullptr)
      read_switches(*windows);
    else
      read_windows();
    keys_.know({"layer_types", "layers_block_type", "hybrid_override_pattern", "linear_attn_config.full_attn_layers",
                "linear_attn_config.kda_layers", "attn_layer_indices", "full_attention_interval",
                "hybrid_layer_pattern", "use_sliding_window", "max_window_layers", "sliding_window_pattern"});
    if (!is_sound_) return std::nullopt;
    drop_wide_windows();
    return layers_;
  }

 private:
  void error(const Location& where, std::string message, std::string hint = {}) {
    keys_.error(where, std::move(message), std::move(hint));
    is_sound_ = false;
  }

  void check_length(const ConfigEntry& entry, std::size_t listed) {
    if (listed < layers_.size())
      error(entry.where, fmt::format("{} has the types of {} of {} layers", entry.key, listed, layers_.size()));
  }

  bool set(std::size_t layer, std::string_view word, const ConfigEntry& entry, const Location& where) {
    const auto known = std::ranges::find(kLayerWords, word, &LayerWord::word);
    if (known != kLayerWords.end()) return layers_[layer] = known->parts, true;
    error(where, fmt::format("{}: Orrery does not model layers of '{}'", entry.key, printable(word, 40)),
          "known: attention (full_attention, sliding_attention, chunked_attention), linear_attention, mamba, mlp, moe");
    return false;
  }

  void read_words(const ConfigEntry& entry) {
    if (entry.value.kind != ConfigValue::Kind::kList)
      return error(entry.value.where, fmt::format("{}: {} is not a list", entry.key, text_of(entry.value)));
    check_length(entry, entry.value.items.size());
    std::size_t layer = 0;
    for (const ConfigValue& item : entry.value.items)
      if (layer == layers_.size() || !is_sound_ || !set(layer++, item.scalar, entry, item.where)) break;
    if (is_of_single_parts(layers_))
      for (LayerParts& parts : layers_)
        if (parts.tail == Tail::kUsual) parts.tail = Tail::kNone;
  }

  void read_letters(const ConfigEntry& entry) {
    const std::string& letters = entry.value.scalar;
    if (entry.value.kind != ConfigValue::Kind::kScalar)
      return error(entry.value.where, fmt::format("{}: {} is not a text", entry.key, text_of(entry.value)));
    check_length(entry, letters.size());
    for (std::size_t layer = 0; layer < layers_.size() && is_sound_; ++layer)
      if (!set(layer, letters.substr(layer, 1), entry, entry.value.where)) break;
  }

  // Layers of full attention by their numbers, from `first` on; the others have `mixer`.
  void read_numbers(const ConfigEntry& entry, std::int64_t first, Mixer mixer) {
    const auto numbers = keys_.numbers(entry);
    if (!numbers) return void(is_sound_ = false);
    for (LayerParts& parts : layers_) parts.mixer = mixer;
    for (const std::int64_t number : *numbers)
      if (number - first >= 0 && number - first < count_)
        layers_[static_cast<std::size_t>(number - first)].mixer = Mixer::kFull;
      else
        return error(entry.where, fmt::format("{}: there is no layer {}", entry.key, number),
                     fmt::format("{} to {}", first, first + count_ - 1));
  }

  void read_interval(const ConfigEntry& entry) {
    const auto interval = keys_.number_of(entry, {1, kLayerNumber.most});
    if (!interval) return void(is_sound_ = false);
    for (std::int64_t layer = 0; layer < count_; ++layer)
      if ((layer + 1) % *interval != 0) layers_[static_cast<std::size_t>(layer)].mixer = Mixer::kGatedDelta;
  }

  // 1: a window, 0: none (MiMo-V2).
  void read_switches(const ConfigEntry& entry) {
    const auto switches = keys_.numbers(entry);
    if (!switches) return void(is_sound_ = false);
    check_length(entry, switches->size());
    for (std::size_t layer = 0; layer < std::min(layers_.size(), switches->size()); ++layer)
      if ((*switches)[layer] != 0) layers_[layer].mixer = Mixer::kWindow;
  }

  // Reads which layers have a window where no key lists them: all that are not every so-manieth, or from one on.
  void read_windows() {
    const bool chunks = keys_.has({"attention_chunk_size"});
    if (!keys_.flag({"use_sliding_window"}, true)) return;
    const auto first = keys_.number({"max_window_layers"}, kLayerNumber);
    const std::int64_t start = keys_.contents().find("use_sliding_window") != nullptr ? first.value_or(0) : 0;
    const ConfigEntry* pattern = keys_.value({"sliding_window_pattern"});
    const std::string letters =
        pattern != nullptr && !parse_whole_number(pattern->value.scalar) ? pattern->value.scalar : "";
    const std::int64_t every =
        pattern == nullptr || !letters.empty() ? 0 : keys_.number_of(*pattern, kLayerNumber).value_or(0);
    for (std::int64_t layer = start; layer < count_; ++layer) {
      const bool is_full = !letters.empty() ? letters[static_cast<std::size_t>(layer) % letters.size()] != 'L'
                                            : every > 0 && (layer + 1) % every == 0;
      if (!is_full) layers_[static_cast<std::size_t>(layer)].mixer = chunks ? Mixer::kChunk : Mixer::kWindow;
    }
  }

  // Windows and chunks whose size no key gives, or that are switched off, are none.
  void drop_wide_windows() {
    const bool windows = keys_.number({"sliding_window", "sliding_window_size"}, kSpan).value_or(0) > 0 &&
                         keys_.flag({"use_sliding_window"}, true);
    const bool chunks = keys_.number({"attention_chunk_size"}, kSpan).value_or(0) > 0;
    for (LayerParts& parts : layers_)
      if ((parts.mixer == Mixer::kWindow && !windows) || (parts.mixer == Mixer::kChunk && !chunks))
        parts.mixer = Mixer::kFull;
  }

  KeyReader& keys_;
  std::int64_t count_;
  std::vector<LayerParts> layers_;
  bool is_sound_ = true;
};

ConfigEntry scalar_entry(std::string_view key, std::string text, const Location& where) {
  return {std::string(key), where, {ConfigValue::Kind::kScalar, where, std::move(text), {}, {}}};
}

// A size of a kind of layers: the key here, and the names that it has there.
struct KindSize {
  std::string_view key;
  std::array<std::string_view, 2> names;
  bool may_be_left_out = false;
};

struct KindWords {
  Mixer mixer;
  std::string_view name;
  std::string_view mixer_word;  // empty: attention
  std::vector<KindSize> sizes;
};

const KindWords& words_of(Mixer mixer) {
  static const std::vector<KindWords> kWords = {
      {Mixer::kFull,
       "full",
       "",
       {{"kv_heads", {"num_global_key_value_heads"}, true}, {"head_size", {"global_head_dim"}, true}}},
      {Mixer::kWindow,
       "sliding",
       "",
       {{"window", {"sliding_window", "sliding_window_size"}},
        {"heads", {"swa_num_attention_heads"}, true},
        {"kv_heads", {"swa_num_key_value_heads"}, true},
        {"head_size", {"swa_head_dim"}, true},
        {"value_head", {"swa_v_head_dim"}, true}}},
      {Mixer::kChunk, "chunked", "", {{"chunk", {"attention_chunk_size"}}}},
      {Mixer::kGatedDelta,
       "linear",
       "gated-delta",
       {{"key_heads", {"linear_num_key_heads"}},
        {"value_heads", {"linear_num_value_heads"}},
        {"key_size", {"linear_key_head_dim"}},
        {"value_size", {"linear_value_head_dim"}},
        {"convolution", {"linear_conv_kernel_dim"}, true}}},
      {Mixer::kKimiDelta,
       "linear",
       "kimi-delta",
       {{"key_heads", {"linear_attn_config.num_heads"}},
        {"value_heads", {"linear_attn_config.num_heads"}},
        {"key_size", {"linear_attn_config.head_dim"}},
        {"value_size", {"linear_attn_config.head_dim"}},
        {"gate_rank", {"linear_attn_config.head_dim"}},
        {"convolution", {"linear_attn_config.short_conv_kernel_size"}, true}}},
      {Mixer::kMamba2,
       "mamba",
       "mamba2",
       {{"key_heads", {"mamba_n_groups", "n_groups"}},
        {"value_heads", {"mamba_n_heads", "mamba_num_heads"}},
        {"key_size", {"mamba_d_state", "ssm_state_size"}},
        {"value_size", {"mamba_d_head", "mamba_head_dim"}},
        {"convolution", {"mamba_d_conv", "conv_kernel"}, true},
        {"scan_chunk", {"mamba_chunk_size", "chunk_size"}, true}}},
      {Mixer::kNone, "perceptron", "none", {}}};
  return *std::ranges::find(kWords, mixer, &KindWords::mixer);
}

std::string name_of(const LayerParts& parts) {
  std::string name(words_of(parts.mixer).name);
  if (parts.mixer == Mixer::kNone) return parts.tail == Tail::kExperts ? "experts" : name;
  if (parts.tail == Tail::kDense) name += "-dense";
  if (parts.tail == Tail::kExperts) name += "-experts";
  return name;
}

ConfigEntry kind_entry(KeyReader& keys, const LayerParts& parts) {
  const KindWords& words = words_of(parts.mixer);
  const Location where = keys.where("layer_types");
  ConfigEntry kind{name_of(parts), where, {ConfigValue::Kind::kMap, where, {}, {}, {}}};
  if (!words.mixer_word.empty())
    kind.value.entries.push_back(scalar_entry("mixer", std::string(words.mixer_word), where));
  for (const KindSize& size : words.sizes) {
    const ConfigEntry* entry = keys.value(KeyNames(size.names));
    if (entry == nullptr && size.may_be_left_out) continue;
    if (entry == nullptr) {
      keys.error(where, fmt::format("'{}' is missing", size.names.front()),
                 fmt::format("layers of {} need it; copy it from the model's config.json", words.mixer_word));
      break;
    }
    if (const auto number = keys.number_of(*entry, {1, kSpan.most}))
      kind.value.entries.push_back(scalar_entry(size.key, fmt::format("{}", *number), entry->where));
  }
  if (parts.mixer == Mixer::kMamba2 && keys.flag({"mamba_conv_bias", "use_conv_bias"}, false))
    kind.value.entries.push_back(scalar_entry("convolution_bias", "true", where));
  if (parts.mixer == Mixer::kWindow && keys.flag({"add_swa_attention_sink_bias"}, false))
    kind.value.entries.push_back(scalar_entry("sinks", "true", where));
  constexpr std::array<std::string_view, 4> kTails = {"", "dense", "experts", "none"};
  if (parts.tail != Tail::kUsual)
    kind.value.entries.push_back(
        scalar_entry("feed_forward", std::string(kTails[static_cast<std::size_t>(parts.tail)]), where));
  return kind;
}

// The shortest beginning that, over and over, makes all layers.
std::size_t period_of(const std::vector<LayerParts>& layers) {
  const auto repeats = [&](std::size_t period) {
    for (std::size_t i = period; i < layers.size(); ++i)
      if (layers[i] != layers[i - period]) return false;
    return true;
  };
  std::size_t period = 1;
  while (!repeats(period)) ++period;
  return period;
}

// The interval of full attention among windows or chunks alike; 0: all have them, nothing: there is no such rule.
std::optional<std::int64_t> window_interval(const std::vector<LayerParts>& layers) {
  const auto is_partial = [](const LayerParts& parts) { return parts.mixer != Mixer::kFull; };
  for (const LayerParts& parts : layers)
    if (parts.tail != Tail::kUsual || (parts.mixer != Mixer::kFull && parts.mixer != layers.front().mixer))
      return std::nullopt;
  const auto full = std::ranges::find_if_not(layers, is_partial);
  if (full == layers.end()) return 0;
  const auto interval = std::distance(layers.begin(), full) + 1;
  for (std::ptrdiff_t i = 0; i < std::ssize(layers); ++i)
    if (is_partial(layers[static_cast<std::size_t>(i)]) == ((i + 1) % interval == 0)) return std::nullopt;
  return interval;
}

bool has_own_sizes(KeyReader& keys) {
  return keys.has({"swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim",
                   "global_head_dim", "num_global_key_value_heads", "add_swa_attention_sink_bias"});
}

ConfigEntry pattern_entry(const std::vector<LayerParts>& layers, const Location& where) {
  ConfigEntry pattern{"pattern", where, {ConfigValue::Kind::kList, where, {}, {}, {}}};
  const std::size_t period = period_of(layers);
  for (std::size_t i = 0; i < period;) {
    std::size_t end = i;
    while (end < period && layers[end] == layers[i]) ++end;
    const std::string name = name_of(layers[i]);
    const std::string item = end - i == 1 ? name : fmt::format("{} {}", end - i, name);
    pattern.value.items.push_back({ConfigValue::Kind::kScalar, where, item, {}, {}});
    i = end;
  }
  return pattern;
}

std::optional<std::vector<bool>> by_numbers(KeyReader& keys, const ConfigEntry& entry, std::int64_t layers,
                                            bool listed) {
  std::optional<std::vector<std::int64_t>> numbers;
  if (entry.value.kind == ConfigValue::Kind::kScalar && entry.value.scalar.find(',') != std::string::npos) {
    numbers.emplace();  // "4,5,6" (Step-3)
    for (std::size_t at = 0; at < entry.value.scalar.size();) {
      const std::size_t end = std::min(entry.value.scalar.find(',', at), entry.value.scalar.size());
      numbers->push_back(parse_whole_number(entry.value.scalar.substr(at, end - at)).value_or(-1));
      at = end + 1;
    }
  } else {
    numbers = keys.numbers(entry);
  }
  if (!numbers) return std::nullopt;
  std::vector<bool> found(static_cast<std::size_t>(layers), !listed);
  for (const std::int64_t number : *numbers)
    if (number >= 0 && number < layers) found[static_cast<std::size_t>(number)] = listed;
  return found;
}

// "dense" or "sparse" for each layer, or 0 and 1.
std::optional<std::vector<bool>> by_words(KeyReader& keys, const ConfigEntry& entry, std::int64_t layers) {
  std::vector<bool> found;
  for (const ConfigValue& item : entry.value.items) {
    const bool is_dense = item.scalar == "dense" || item.scalar == "0";
    if (!is_dense && item.scalar != "sparse" && item.scalar != "moe" && item.scalar != "1") {
      keys.error(item.where, fmt::format("{}: Orrery does not model layers of {}", entry.key, text_of(item)),
                 "known: dense, sparse");
      return std::nullopt;
    }
    found.push_back(!is_dense);
  }
  if (std::ssize(found) < layers) {
    keys.error(entry.where, fmt::format("{} has the types of {} of {} layers", entry.key, found.size(), layers));
    return std::nullopt;
  }
  found.resize(static_cast<std::size_t>(layers));
  return found;
}

}  // namespace

std::optional<std::vector<LayerParts>> read_layers(KeyReader& keys, std::int64_t layers) {
  return LayerReader(keys, layers).read();
}

std::optional<std::vector<bool>> read_expert_layers(KeyReader& keys, std::int64_t layers) {
  const ConfigEntry* words = keys.value({"mlp_layer_types", "moe_layer_freq"});
  keys.know({"mlp_layer_types", "moe_layer_freq", "moe_layers_enum", "moe_layers", "interleave_moe_layer_step"});
  if (words != nullptr && words->value.kind == ConfigValue::Kind::kList) return by_words(keys, *words, layers);
  if (const ConfigEntry* listed = keys.value({"moe_layers", "moe_layers_enum"}))
    return by_numbers(keys, *listed, layers, true);
  const Range number{0, kLayerNumber.most}, interval{1, kLayerNumber.most};
  const std::int64_t dense =
      keys.number({"first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"}, number).value_or(0);
  const auto of_depth = keys.number({"moe_layer_freq"}, interval);  // of the layer's number from 0 on
  const std::int64_t every =
      keys.number({"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval", "expert_layer_period"},
                  interval)
          .value_or(1);
  const std::int64_t offset = keys.number({"expert_layer_offset"}, number).value_or(every - 1);
  const ConfigEntry* end = keys.value({"moe_layer_end_index"});
  const std::int64_t last = end == nullptr ? -1 : parse_whole_number(end->value.scalar).value_or(-1);
  std::vector<bool> found;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    found.push_back(layer >= dense && layer % every == offset && (!of_depth || layer % *of_depth == 0) &&
                    (last < 0 || layer <= last));
  if (const ConfigEntry* only = keys.value({"mlp_only_layers"})) {
    const auto others = by_numbers(keys, *only, layers, false);
    if (!others) return std::nullopt;
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = found[i] && (*others)[i];
  }
  return found;
}

std::optional<ExpertRule> rule_of(const std::vector<bool>& has_experts) {
  const auto layers = std::ssize(has_experts);
  const auto first = std::ranges::find(has_experts, true) - has_experts.begin();
  if (first == layers) return std::nullopt;
  const auto second = std::find(has_experts.begin() + first + 1, has_experts.end(), true) - has_experts.begin();
  const ExpertRule rule{std::max<std::int64_t>(0, first + 1 - (second - first)), second - first};
  for (std::ptrdiff_t layer = 0; layer < layers; ++layer)
    if (has_experts[static_cast<std::size_t>(layer)] !=
        (layer >= rule.dense && (layer - rule.dense + 1) % rule.interval == 0))
      return std::nullopt;
  return rule;
}

void add_layers(KeyReader& keys, const std::vector<LayerParts>& layers, ConfigValue& model) {
  const LayerParts& first = layers.front();
  const auto full = [](const LayerParts& parts) { return parts == LayerParts{}; };
  if (std::ranges::all_of(layers, full)) return;
  const bool is_partial = first.mixer == Mixer::kWindow || first.mixer == Mixer::kChunk;
  const auto interval = is_partial && !has_own_sizes(keys) ? window_interval(layers) : std::nullopt;
  const Location where = keys.where("layer_types");
  if (interval) {
    const ConfigEntry kind = kind_entry(keys, {first.mixer, Tail::kUsual});
    model.entries.insert(model.entries.end(), kind.value.entries.begin(), kind.value.entries.end());
    if (*interval > 0) model.entries.push_back(scalar_entry("window_interval", fmt::format("{}", *interval), where));
    return;
  }
  ConfigEntry kinds{"kinds", where, {ConfigValue::Kind::kMap, where, {}, {}, {}}};
  for (const LayerParts& parts : layers)
    if (const std::string name = name_of(parts); kinds.value.find(name) == nullptr)
      kinds.value.entries.push_back(kind_entry(keys, parts));
  model.entries.push_back(std::move(kinds));
  model.entries.push_back(pattern_entry(layers, where));
}

}  // namespace orrery::workload
