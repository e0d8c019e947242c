// SPDX-License-Identifier: MIT
// Megatron-LM's arguments of models.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiment/launchers/megatron_rows.h"

namespace orrery::experiment {
namespace {

using R = LaunchReading;
using W = LaunchWriting;
using S = ArgumentShape;
using workload::PositionKind;

// --- vocabulary

// Vocabularies of tokenizers that scripts name without their size: what their own files have.
struct Vocabulary {
  std::string_view part;  // of the tokenizer's type or model, in small letters
  std::int64_t size;
};
constexpr std::array kVocabularies = std::to_array<Vocabulary>({
    {"gpt2bpetokenizer", 50257},        // gpt2-vocab.json
    {"bertwordpiecelowercase", 30522},  // bert-large-uncased-vocab.txt
    {"bertwordpiececase", 28996},       // bert-large-cased-vocab.txt
    {"llama2tokenizer", 32000},         // tokenizer.model of Llama 2
    {"llama-2", 32000},
    {"llama2", 32000},
    {"llama-3", 128256},  // config.json, as what follows
    {"llama3", 128256},
    {"llama-4", 202048},
    {"mixtral", 32000},
    {"mistral-7b", 32000},
    {"deepseek-v3", 129280},
    {"deepseek-v2", 102400},
    {"qwen3", 151936},
    {"qwen2", 151936},
    {"gpt-oss", 201088},
    {"multimixv8", 131072},    // Megatron-LM's functional tests: multiMixV8.gpt_nc_sd.500000.128k.vocab.json
    {"tiktokenizer", 131072},  // the default of TikTokenizer
});

// The tokenizer that a program of Megatron-LM takes by default; empty of other launchers.
std::string_view default_tokenizer(const R& r) {
  if (r.launcher() != Launcher::kMegatron || r.files().is_configuration) return {};
  return r.files().program.find("bert") != std::string::npos ? "BertWordPieceLowerCase" : "GPT2BPETokenizer";
}

std::optional<std::int64_t> vocabulary(const R& r) {
  if (const auto size = r.number("--vocab-size")) {
    const bool counts_end = r.text_or("--tokenizer-type").starts_with("Null");  // one more, for the end of a document
    return *size + (counts_end ? 1 : 0);
  }
  for (const std::string_view name :
       {"--tokenizer-model", "--tokenizer-name-or-path", "--vocab-file", "--tokenizer-type"}) {
    std::string text = r.text_or(name, name == "--tokenizer-type" ? default_tokenizer(r) : "");
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const Vocabulary& known : kVocabularies)
      if (text.find(known.part) != std::string::npos) return known.size;
  }
  return std::nullopt;
}

void read_vocabulary(R& r) {
  r.owned_by({"--padded-vocab-size", "--vocab-size", "--tokenizer-model", "--vocab-file"});
  if (const auto padded = r.number("--padded-vocab-size")) return r.set("workload.model.vocab", *padded);
  const auto size = vocabulary(r);
  if (!size)
    return r.missing("workload.model.vocab",
                     fmt::format("the size of the vocabulary is not known{}",
                                 r.given("--tokenizer-type") ? fmt::format(": the tokenizer is '{}'",
                                                                           printable(r.text_or("--tokenizer-type"), 40))
                                                             : std::string()),
                     "--vocab-size N among the arguments, or --set workload.model.vocab=N (padded)");
  // Megatron-Bridge pads where it is told to.
  if (r.launcher() == Launcher::kMegatronBridge && r.given("--vocab-size") && !r.is_on("--should-pad-vocab"))
    return r.set("workload.model.vocab", *size);
  const std::int64_t multiple =
      r.number_or("--make-vocab-size-divisible-by", 128) * r.number_or("--tensor-model-parallel-size", 1);
  const std::int64_t all = *size + r.number_or("--vocab-extra-ids", 0);
  if (multiple > 0) r.set("workload.model.vocab", (all + multiple - 1) / multiple * multiple);
}

// --- attention

void read_position(R& r) {
  r.owned_by({"--use-rotary-position-embeddings", "--multi-latent-attention", "--no-position-embedding"});
  const std::string type =
      r.word_or("--position-embedding-type", "learned_absolute", "learned_absolute rope yarn mrope relative none");
  const bool is_rotary = type == "rope" || type == "yarn" || type == "mrope" ||
                         r.is_on("--use-rotary-position-embeddings") || r.is_on("--multi-latent-attention");
  if (type == "relative")
    return r.error("relative position embeddings are not simulated", "--position-embedding-type rope");
  const bool has_none = type == "none" || r.is_on("--no-position-embedding");
  r.set("workload.model.position", std::string(is_rotary ? "rotary" : has_none ? "none" : "learned"));
}

void write_position(W& w) {
  if (w.model().latent) return;  // always rotary
  switch (w.model().position) {
    case PositionKind::kRotary:
      return w.add(std::string("rope"));
    case PositionKind::kNone:
      return w.add(std::string("none"));
    case PositionKind::kLearned:
    case PositionKind::kAlibi:
      return w.add(std::string("learned_absolute"));
  }
}

void read_latent(R& r) {
  if (!r.is_on("--multi-latent-attention")) return;
  const std::string path = "workload.model.latent_attention.";
  r.set(path + "query_rank", r.number_or("--q-lora-rank", 0));
  r.set(path + "key_value_rank", r.number_or("--kv-lora-rank", 32));
  r.set(path + "head", r.number_or("--qk-head-dim", 128));
  r.set(path + "rotary_head", r.number_or("--qk-pos-emb-head-dim", 64));
  r.set(path + "value_head", r.number_or("--v-head-dim", 128));
}

void read_query_groups(R& r) {
  // A field of a configuration is enough; the command line wants the switch as well.
  if (r.given("--num-query-groups") && !r.is_on("--group-query-attention") && !r.files().is_configuration)
    return r.warning_at("--num-query-groups", "'--num-query-groups' does nothing without '--group-query-attention'");
  if (!r.is_on("--group-query-attention") && !r.given("--num-query-groups")) return;
  r.owned_by({"--num-query-groups"});
  r.set("workload.model.kv_heads", r.number_or("--num-query-groups", 1));
}

// Every how many layers one sees all keys, of a list with 1 for layers with a window; 0 if they are not spread so.
std::int64_t interval_of(const std::vector<std::int64_t>& windows) {
  const auto first = std::ranges::find(windows, 0);
  if (first == windows.end()) return 0;
  const auto interval = first - windows.begin() + 1;
  for (std::size_t layer = 0; layer < windows.size(); ++layer)
    if ((windows[layer] == 0) != ((static_cast<std::ptrdiff_t>(layer) + 1) % interval == 0)) return 0;
  return interval;
}

// Windows of a job's layers: 1 where one has; empty if none has, or if they are of several sizes.
std::vector<std::int64_t> windows_of(const W& w) {
  std::vector<std::int64_t> windows;
  std::int64_t size = 0;
  for (std::int64_t layer = 0; layer < w.model().layers; ++layer) {
    const std::int64_t window = w.model().kind_of(layer).attention.window;
    if (window > 0 && size > 0 && window != size) return {};
    size = std::max(size, window);
    windows.push_back(window > 0 ? 1 : 0);
  }
  return size > 0 ? windows : std::vector<std::int64_t>{};
}

std::int64_t window_size(const W& w) {
  std::int64_t size = 0;
  for (std::int64_t layer = 0; layer < w.model().layers; ++layer)
    size = std::max(size, w.model().kind_of(layer).attention.window);
  return size;
}

void read_window_interval(R& r) {
  if (!r.given("--window-attn-skip-freq") || !r.given("--window-size")) return;
  const std::vector<std::int64_t> list = python_list(r.text_or("--window-attn-skip-freq"));
  const std::int64_t interval = list.size() == 1 ? list.front() : interval_of(list);
  if (interval < 2) return r.leave_out("layers with and without a window are not spread evenly");
  r.set("workload.model.window_interval", interval);
}

// "(128,0)", "128,0": the keys behind a query, and itself.
void read_window(R& r) {
  if (!r.given("--window-size")) return;
  std::string text;
  for (const std::string& word : r.list("--window-size")) text += word + ",";
  std::string digits;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0)
      digits += c;
    else if (!digits.empty() || c == '-')
      break;
  }
  if (digits.empty() || digits.size() > 9)
    return r.error(
        fmt::format("'--window-size' is '{}'; keys behind and before a query are expected", printable(text, 40)),
        "--window-size 128,0");
  r.set("workload.model.window", std::int64_t{std::stoi(digits)} + 1);
}

// --- hybrid models

// "M-M*|M-M*": layers of each virtual stage.
void read_stages(R& r, std::string_view pattern) {
  std::vector<std::int64_t> layers(1);
  for (const char c : pattern) {
    if (c == '|')
      layers.push_back(0);
    else
      ++layers.back();
  }
  if (r.number_or("--pipeline-model-parallel-size", 1) > 1)
    r.set("workload.pipeline_layers", fmt::format("[{}]", fmt::join(layers, ", ")));
}

// Kinds of layers by their letters in --hybrid-override-pattern.
void read_hybrid(R& r) {
  std::string pattern = r.text_or("--hybrid-override-pattern", r.text_or("--hybrid-layer-pattern"));
  if (pattern.empty()) return;
  if (pattern.find('|') != std::string::npos) read_stages(r, pattern);
  std::erase(pattern, '|');
  r.owned_by({"--hybrid-layer-pattern"});
  const std::size_t bad = pattern.find_first_not_of("M*-E");
  if (bad != std::string::npos)
    return r.error(
        fmt::format("'{}' has '{}'; layers M (Mamba-2), * (attention), - (MLP) and E (experts) are simulated",
                    printable(pattern, 60), pattern[bad]));
  const std::int64_t head = r.number_or("--mamba-head-dim", 64);
  const std::int64_t heads =
      r.number_or("--mamba-num-heads", 2 * r.number_or("--hidden-size", 0) / std::max<std::int64_t>(head, 1));
  std::string kinds;
  const auto add = [&](char letter, const std::string& kind) {
    if (pattern.find(letter) != std::string::npos)
      kinds += fmt::format("{}\"{}\": {{{}}}", kinds.empty() ? "" : ", ", letter, kind);
  };
  add('M',
      fmt::format("mixer: mamba2, feed_forward: none, key_heads: {}, value_heads: {}, key_size: {}, value_size: {}, "
                  "convolution: 4, convolution_bias: true, scan_chunk: 128",
                  r.number_or("--mamba-num-groups", 8), heads, r.number_or("--mamba-state-dim", 128), head));
  add('*', "feed_forward: none");
  add('-', "mixer: none, feed_forward: dense");
  add('E', "mixer: none, feed_forward: experts");
  r.set("workload.model.kinds", "{" + kinds + "}");
  r.set("workload.model.pattern", "\"" + pattern + "\"");
}

// The word of letters of a model whose kinds are those; empty if they are others.
std::string hybrid_pattern(const workload::TransformerSpec& model) {
  std::string text;
  for (std::int64_t layer = 0; layer < model.layers && !model.kinds.empty(); ++layer) {
    const workload::LayerKind kind = model.kind_of(layer);
    if (kind.name.size() != 1 || std::string_view("M*-E").find(kind.name) == std::string_view::npos) return {};
    text += kind.name;
  }
  return text;
}

const workload::LayerKind* mamba_kind(const W& w) {
  const auto found = std::ranges::find(w.model().kinds, workload::MixerKind::kMamba2, &workload::LayerKind::mixer);
  return found == w.model().kinds.end() || hybrid_pattern(w.model()).empty() ? nullptr : &*found;
}

std::int64_t default_ffn(const R& r) {
  const std::int64_t hidden = r.number_or("--hidden-size", 0);
  const bool is_gated = r.is_on("--swiglu");
  return is_gated ? 4 * hidden * 2 / 3 / 64 * 64 : 4 * hidden;
}

std::vector<ArgumentRow> size_rows() {
  return {
      {"--num-layers", "--decoder-num-layers", S::kNumber,
       [](R& r) {
         const std::string pattern = r.text_or("--hybrid-override-pattern", r.text_or("--hybrid-layer-pattern"));
         const auto layers = static_cast<std::int64_t>(pattern.size()) - std::ranges::count(pattern, '|');
         if (!pattern.empty() && r.number_or("--num-layers", layers) != layers)
           return r.error(fmt::format("'--num-layers' is {}, and the pattern of layers has {}",
                                      r.number_or("--num-layers", 0), layers));
         if (!pattern.empty()) return r.set("workload.model.layers", layers);
         r.needs_number("workload.model.layers");
       },
       [](W& w) { w.add(w.model().layers); }},
      {"--hidden-size", "", S::kNumber, [](R& r) { r.needs_number("workload.model.hidden"); },
       [](W& w) { w.add(w.model().hidden); }},
      {"--num-attention-heads", "", S::kNumber, [](R& r) { r.needs_number("workload.model.heads"); },
       [](W& w) { w.add(w.model().heads); }},
      {"--group-query-attention", "", S::kSwitch, read_query_groups,
       [](W& w) {
         if (w.model().kv_heads != w.model().heads && !w.model().latent) w.add();
       }},
      {"--num-query-groups", "", S::kNumber, nullptr,
       [](W& w) {
         if (w.model().kv_heads != w.model().heads && !w.model().latent) w.add(w.model().kv_heads);
       }},
      {"--kv-channels", "", S::kNumber,
       [](R& r) {
         if (!r.is_on("--multi-latent-attention")) r.set_number("workload.model.head_size");  // has its own
       },
       [](W& w) {
         if (!w.model().latent && w.model().head_size * w.model().heads != w.model().hidden) w.add(w.model().head_size);
       }},
      {"--ffn-hidden-size", "", S::kNumber,
       [](R& r) {
         if (!r.given("--hidden-size") && !r.given("--ffn-hidden-size")) return;
         r.set("workload.model.ffn_hidden", r.number_or("--ffn-hidden-size", default_ffn(r)));
       },
       [](W& w) { w.add(w.model().ffn_hidden); }},
      {"--swiglu", "--quick-geglu --gated-linear-unit", S::kSwitch,
       [](R& r) { r.set("workload.model.gated_mlp", r.is_on("--swiglu")); },
       [](W& w) {
         if (w.model().gated_mlp) w.add();
       }},
      {"--seq-length", "--encoder-seq-length --sequence-length --max-sequence-length", S::kNumber,
       [](R& r) { r.needs_number("workload.model.sequence"); }, [](W& w) { w.add(w.model().sequence); }},
      {"--max-position-embeddings", "", S::kNumber,
       [](R& r) {
         const std::int64_t sequence = r.number_or("--seq-length", 0);
         const bool is_table = r.text_or("--position-embedding-type", "learned_absolute") == "learned_absolute" &&
                               !r.is_on("--multi-latent-attention");
         if (is_table && r.number_or("--max-position-embeddings", sequence) != sequence)
           r.leave_out("the table of positions has a row for each token of a sequence here");
       },
       [](W& w) { w.add(w.model().sequence); }},
      {"--position-embedding-type", "", S::kText, read_position, write_position},
      {"--use-rotary-position-embeddings", "", S::kSwitch, nullptr, nullptr},
      {"--no-position-embedding", "", S::kSwitch, nullptr, nullptr},
  };
}

std::vector<ArgumentRow> vocabulary_rows() {
  return {
      {"--tokenizer-type", "", S::kText, read_vocabulary, [](W& w) { w.add(std::string("NullTokenizer")); }},
      {"--vocab-size", "", S::kNumber, nullptr, [](W& w) { w.add(w.model().vocab - 1); }},
      {"--padded-vocab-size", "", S::kNumber, nullptr, nullptr},
      {"--make-vocab-size-divisible-by", "", S::kNumber, nullptr, [](W& w) { w.add(std::int64_t{1}); }},
      {"--tokenizer-model", "", S::kAny, nullptr, nullptr},
      {"--tokenizer-name-or-path", "", S::kAny, nullptr, nullptr},
      {"--vocab-file", "", S::kAny, nullptr, nullptr},
      {"--vocab-extra-ids", "", S::kNumber, nullptr, nullptr},
      {"--should-pad-vocab", "", S::kSwitch, nullptr, nullptr},
      {"--untie-embeddings-and-output-weights", "", S::kSwitch,
       [](R& r) {
         r.owned_by({"--share-embeddings-and-output-weights"});
         const bool shares =
             r.is_on("--share-embeddings-and-output-weights") || !r.given("--share-embeddings-and-output-weights");
         r.set("workload.model.tied_embeddings", shares && !r.is_on("--untie-embeddings-and-output-weights"));
       },
       [](W& w) {
         if (!w.model().tied_embeddings) w.add();
       }},
  };
}

std::vector<ArgumentRow> latent_rows() {
  return {
      {"--multi-latent-attention", "", S::kSwitch, read_latent,
       [](W& w) {
         if (w.model().latent) w.add();
       }},
      {"--q-lora-rank", "", S::kNumber, nullptr,
       [](W& w) {
         if (w.model().latent && w.model().latent->query_rank > 0) w.add(w.model().latent->query_rank);
       }},
      {"--kv-lora-rank", "", S::kNumber, nullptr,
       [](W& w) {
         if (w.model().latent) w.add(w.model().latent->key_value_rank);
       }},
      {"--qk-head-dim", "", S::kNumber, nullptr,
       [](W& w) {
         if (w.model().latent) w.add(w.model().latent->head);
       }},
      {"--qk-pos-emb-head-dim", "", S::kNumber, nullptr,
       [](W& w) {
         if (w.model().latent) w.add(w.model().latent->rotary_head);
       }},
      {"--v-head-dim", "", S::kNumber, nullptr,
       [](W& w) {
         if (w.model().latent) w.add(w.model().latent->value_head);
       }},
  };
}

std::vector<ArgumentRow> attention_rows() {
  return {
      {"--qk-layernorm", "", S::kSwitch,
       [](R& r) {
         if (r.is_on("--qk-layernorm") && !r.is_on("--multi-latent-attention"))
           r.set("workload.model.head_norms", true);
       },
       [](W& w) {
         if (w.model().head_norms || w.model().latent) w.add();
       }},
      {"--window-size", "", S::kList, read_window,
       [](W& w) {
         if (!windows_of(w).empty()) w.add(fmt::format("{},0", window_size(w) - 1));
       }},
      {"--window-attn-skip-freq", "", S::kText, read_window_interval,
       [](W& w) {
         if (const std::int64_t interval = interval_of(windows_of(w)); interval > 1) w.add(interval);
       }},
      {"--softmax-type", "", S::kText,
       [](R& r) {
         if (r.text_or("--softmax-type") == "learnable") r.set("workload.model.sinks", true);
       },
       [](W& w) {
         if (w.model().sinks) w.add(std::string("learnable"));
       }},
      {"--attention-output-gate", "", S::kSwitch,
       [](R& r) {
         if (r.is_on("--attention-output-gate")) r.set("workload.model.output_gate", true);
       },
       [](W& w) {
         if (w.model().output_gate) w.add();
       }},
      {"--mtp-num-layers", "", S::kNumber, [](R& r) { r.set_number("workload.model.mtp_layers"); },
       [](W& w) {
         if (w.model().mtp_layers > 0) w.add(w.model().mtp_layers);
       }},
  };
}

std::vector<ArgumentRow> other_rows() {
  return {
      {"--disable-bias-linear", "", S::kSwitch,
       [](R& r) {
         r.owned_by({"--add-bias-linear"});
         const bool adds = r.is_on("--add-bias-linear") || !r.given("--add-bias-linear");
         r.set("workload.model.biases", adds && !r.is_on("--disable-bias-linear"));
       },
       [](W& w) {
         if (!w.model().biases) w.add();
       }},
      {"--normalization", "", S::kText,
       [](R& r) { r.word_or("--normalization", "LayerNorm", "LayerNorm RMSNorm L2Norm"); },
       [](W& w) {
         if (!w.model().biases) w.add(std::string("RMSNorm"));
       }},
      {"--add-bias-linear", "", S::kSwitch, nullptr, nullptr},
      {"--share-embeddings-and-output-weights", "", S::kSwitch, nullptr, nullptr},
      {"--bert-no-binary-head", "", S::kSwitch, nullptr, nullptr},
      {"--hybrid-override-pattern", "--hybrid-layer-pattern", S::kText, read_hybrid,
       [](W& w) {
         if (const std::string pattern = hybrid_pattern(w.model()); !pattern.empty()) w.add(pattern);
       }},
      {"--is-hybrid-model", "", S::kSwitch, nullptr,
       [](W& w) {
         if (!hybrid_pattern(w.model()).empty()) w.add();
       }},
      {"--mamba-num-groups", "", S::kNumber, nullptr,
       [](W& w) {
         if (const auto* kind = mamba_kind(w)) w.add(kind->linear.key_heads);
       }},
      {"--mamba-num-heads", "", S::kNumber, nullptr,
       [](W& w) {
         if (const auto* kind = mamba_kind(w)) w.add(kind->linear.value_heads);
       }},
      {"--mamba-state-dim", "", S::kNumber, nullptr,
       [](W& w) {
         if (const auto* kind = mamba_kind(w)) w.add(kind->linear.key_size);
       }},
      {"--mamba-head-dim", "", S::kNumber, nullptr,
       [](W& w) {
         if (const auto* kind = mamba_kind(w)) w.add(kind->linear.value_size);
       }},
  };
}

}  // namespace

std::vector<ArgumentRow> megatron_model_rows() {
  std::vector<ArgumentRow> rows;
  for (const auto& part : {size_rows(), vocabulary_rows(), latent_rows(), attention_rows(), other_rows()})
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace orrery::experiment
