// SPDX-License-Identifier: MIT
#include "workload/training/spec/software.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"

namespace orrery::workload {
namespace {

constexpr std::array<std::string_view, kSoftwareConstantCount> kNames = {"gemm",  "bf16",         "fp8",      "traffic",
                                                                         "flash", "accumulation", "optimizer"};

// Kinds of kernels with a common factor of traffic: layers that move memory and do little else.
constexpr std::array<ElementWiseKind, 5> kTrafficKinds = {ElementWiseKind::kNorm, ElementWiseKind::kRotary,
                                                          ElementWiseKind::kActivation, ElementWiseKind::kAdd,
                                                          ElementWiseKind::kCopy};

bool is_of_rates(SoftwareConstant constant) { return constant < SoftwareConstant::kAccumulation; }

double& traffic_of(SoftwareRates& rates, ElementWiseKind kind) { return rates.traffic[static_cast<std::size_t>(kind)]; }

double traffic_of(const SoftwareRates& rates, ElementWiseKind kind) {
  return rates.traffic[static_cast<std::size_t>(kind)];
}

bool is_one_factor(const SoftwareRates& rates) {
  return std::ranges::all_of(kTrafficKinds, [&](ElementWiseKind kind) {
    return traffic_of(rates, kind) == traffic_of(rates, kTrafficKinds.front());
  });
}

void set_rate(SoftwareRates& rates, SoftwareConstant constant, double value) {
  if (constant == SoftwareConstant::kGemm) rates.gemm = value;
  if (constant == SoftwareConstant::kBf16) rates.bf16 = value;
  if (constant == SoftwareConstant::kFp8) rates.fp8 = value;
  if (constant == SoftwareConstant::kFlash) {
    rates.flash_backward *= value / rates.flash_forward;
    rates.flash_forward = value;
  }
  if (constant != SoftwareConstant::kTraffic) return;
  for (const ElementWiseKind kind : kTrafficKinds) traffic_of(rates, kind) = value;
  if (rates.gathers_as_copies) traffic_of(rates, ElementWiseKind::kEmbedding) = value;
}

// A factor that makes sense: far from overflow, never zero.
double factor(Section& section, std::string_view key, double fallback, std::string_view meaning,
              std::string_view documented = {}) {
  const double value = section.optional<double>(key, fallback, meaning, documented);
  if (std::isfinite(value) && value >= 0.01 && value <= 100) return value;
  section.error(key, fmt::format("invalid factor {}", value), "between 0.01 and 100; a share is written 0.9 or 90 %");
  return fallback;
}

void read_traffic(Section& section, SoftwareRates& rates) {
  for (std::size_t i = 0; i < kElementWiseKindCount; ++i) {
    const auto kind = static_cast<ElementWiseKind>(i);
    if (kind != ElementWiseKind::kEmbedding)
      rates.traffic[i] = factor(section, name_of(kind), rates.traffic[i],
                                "factor on the memory traffic of element-wise kernels of this kind");
  }
  const std::string_view key = name_of(ElementWiseKind::kEmbedding);
  if (section.has(key)) rates.gathers_as_copies = false;
  const ElementWiseKind like = rates.gathers_as_copies ? ElementWiseKind::kCopy : ElementWiseKind::kEmbedding;
  traffic_of(rates, ElementWiseKind::kEmbedding) = factor(
      section, key, traffic_of(rates, like),
      "factor on the memory traffic of kernels that gather rows by index: of an embedding, or of tokens that go to "
      "experts",
      "that of `copy`");
}

void read_rates(Section& section, SoftwareRates& rates) {
  rates.gemm = factor(section, "gemm", rates.gemm,
                      "share of the device's GEMM rate that training sustains (clock under load, layout copies)");
  rates.bf16 =
      factor(section, "bf16", rates.bf16,
             "share of that in GEMMs with operands of two bytes or more, which take more power than those in fp8");
  rates.fp8 = factor(section, "fp8", rates.fp8,
                     "share of `gemm` in the GEMMs of backward passes in fp8 and int8, which accumulate in fp32");
  rates.mxfp8 = factor(section, "mxfp8", rates.mxfp8, "share of `gemm` in GEMMs with mxfp8 operands");
  rates.nvfp4 = factor(section, "nvfp4", rates.nvfp4, "share of `gemm` in GEMMs with nvfp4 operands");
  rates.flash_forward = factor(section, "flash_forward", rates.flash_forward,
                               "share of the dense peak that flash attention reaches in the forward pass");
  rates.flash_backward =
      factor(section, "flash_backward", rates.flash_backward,
             "share of the peak that flash attention reaches in the backward pass, unless the software says otherwise");
  section.takes(
      "flash_launch", rates.flash_launch,
      "fixed time of flash attention in the forward pass, with the kernels around it; at least that of a GEMM");
  section.defaulted_section(
      "traffic",
      "memory traffic of element-wise kernels, relative to reading each operand and writing each result once",
      [&](Section& s) { read_traffic(s, rates); });
  section.section("kernels", "constants of a library of kernels, in place of those of the device's `compute`",
                  [&](Section& s) {
                    KernelLibrary kernels = rates.kernels.value_or(KernelLibrary{});
                    read_kernels(s, kernels);
                    rates.kernels = kernels;
                  });
}

void read_rates_of(Section& section, SoftwareSpec& software) {
  section.map("rates_of", "ARCHITECTURE",
              "rates on devices of one architecture, where they differ from `rates`. Example: `rates_of: {hopper: "
              "{gemm: 0.8}}`",
              [&](const ConfigEntry& entry, Section& s) {
                SoftwareRates rates = software.rates;
                read_rates(s, rates);
                const std::vector<SoftwareConstant> fitted = read_fitted(s, rates, true);
                const std::vector<std::string> names = architecture_names();
                for (std::size_t i = 0; i < names.size(); ++i) {
                  if (names[i] != entry.key) continue;
                  software.rates_of[static_cast<Architecture>(i)] = rates;
                  software.fitted_of[static_cast<Architecture>(i)] = fitted;
                }
                if (std::ranges::find(names, entry.key) == names.end())
                  s.error("", fmt::format("no architecture is called '{}'", entry.key),
                          fmt::format("one of {}", fmt::join(names, ", ")));
              });
}

// The precisions that something holds for, by name.
std::array<bool, kAllPrecisions.size()> read_precisions(Section& section, std::string_view key,
                                                        std::string_view meaning) {
  std::array<bool, kAllPrecisions.size()> chosen{};
  const std::vector<std::string> names = precision_names();
  for (const std::string& word : section.words(key, meaning)) {
    const auto found = std::ranges::find(names, word);
    if (found == names.end())
      section.error(key, fmt::format("no precision is called '{}'", printable(word, 40)), suggestion(word, names));
    else
      chosen[static_cast<std::size_t>(found - names.begin())] = true;
  }
  return chosen;
}

void read_overlap(Section& section, SoftwareSpec& software) {
  section.defaulted_section("overlap", "communication that overlaps with computation", [&](Section& s) {
    s.takes("gradients", software.overlap_gradients,
            "whether gradient synchronisation overlaps with the backward pass of the last micro-batch");
    s.takes("bucket", software.bucket, "size of a gradient bucket");
    s.takes("parameters", software.overlap_parameters,
            "with ZeRO 1 or 2 and `overlap.gradients`: whether the all-gather of updated parameters overlaps with the "
            "next forward pass, bucket by bucket");
    s.takes("layers", software.overlap_layers,
            "with `overlap.gradients`: whether gradients and updated parameters are exchanged layer by layer, as in "
            "FSDP and "
            "always with ZeRO 3; otherwise bucket by bucket");
    s.takes("bucket_of_replica", software.bucket_of_replica,
            "with more replicas a bucket is larger: at least so much for each");
    s.takes("bucket_first", software.bucket_first,
            "whether only the first pipeline stage's first chunk of layers has buckets; each other chunk is one");
    const std::vector<std::string> kinds = {"none", "weight-gradient", "pieces"};
    s.takes("tensor", software.overlap_tensor, kinds,
            "tensor-parallel communication that overlaps; weight-gradient: the collectives of input gradients overlap "
            "with the weight gradients of their layer, pieces: with sequence parallelism all-gathers and "
            "reduce-scatters also overlap with the GEMM behind or before them, in a piece for each rank");
    s.takes("pipeline", software.overlap_pipeline,
            "whether a pipeline stage computes while it sends to the next stage");
  });
}

void read_kernel_counts(Section& section, HostSpec& host) {
  constexpr Range kCounts{0, 1000};
  section.takes("product", host.product, kCounts, "kernels of a matrix product");
  section.takes("attention", host.attention, kCounts, "kernels of flash attention");
  for (std::size_t kind = 0; kind < kElementWiseKindCount; ++kind)
    section.takes(name_of(static_cast<ElementWiseKind>(kind)), host.element_wise[kind], kCounts,
                  "kernels of an element-wise operator of this kind");
  section.takes("communication", host.communication, kCounts, "kernels of a collective, a send or a receive");
}

constexpr Duration kLongestLaunch = std::chrono::seconds(1);

void read_host(Section& section, HostSpec& host) {
  if (section.has("expert_host")) {
    section.know("expert_host");
    section.error("expert_host",
                  "'expert_host' is gone: a host takes time for each kernel that it launches, those of experts too",
                  "host: {launch: 30 us, router: 40, reads_sizes: true}");
  }
  section.defaulted_section(
      "host", "the host's part: it launches kernels one after the other, ahead of the device", [&](Section& s) {
        s.takes("launch", host.launch,
                "time of the host for one kernel, with what the framework does for it, on a host of `host_launch` 1; "
                "0: the device never waits for its host");
        if (host.launch > kLongestLaunch)
          s.error("launch", fmt::format("a launch cannot take {}", to_text(host.launch)),
                  fmt::format("at most {}", to_text(kLongestLaunch)));
        const std::vector<std::string> scopes = {"none", "dense", "step"};
        s.takes("graphs", host.graphs, scopes,
                "kernels that CUDA graphs hold, which are launched as one; dense: those of constant sizes (all but "
                "experts), from one collective to the next; step: all, and the host is never waited for");
        s.takes("reads_sizes", host.reads_sizes,
                "whether the host waits in every forward pass through a layer of experts, to read how many tokens "
                "each of them gets");
        s.takes("router", host.router, {0, 1000},
                "kernels of a pass through a layer of experts, beside the router's product, that choose experts and "
                "put tokens in order");
        s.defaulted_section("kernels", "kernels that an operator is made of, by its kind",
                            [&](Section& kinds) { read_kernel_counts(kinds, host); });
      });
}

}  // namespace

std::int64_t HostSpec::kernels_of(const Operator& op) const {
  if (std::holds_alternative<Gemm>(op)) return product;
  if (std::holds_alternative<FlashAttention>(op)) return attention;
  return element_wise[static_cast<std::size_t>(std::get<ElementWise>(op).kind)];
}

std::string_view name_of(SoftwareConstant constant) { return kNames[static_cast<std::size_t>(constant)]; }

std::vector<SoftwareConstant> fitted_on(const SoftwareSpec& software, Architecture architecture) {
  const Architecture holding = software.rates_of.contains(architecture) ? architecture : measured_as(architecture);
  const auto own = software.fitted_of.find(holding);
  const bool has_own = software.rates_of.contains(holding);
  std::vector<SoftwareConstant> constants;
  if (own != software.fitted_of.end()) constants = own->second;
  for (const SoftwareConstant constant : software.fitted)
    if (!has_own || !is_of_rates(constant)) constants.push_back(constant);
  return constants;
}

double value_of(const SoftwareSpec& software, Architecture architecture, SoftwareConstant constant) {
  const SoftwareRates& rates = software.rates_on(architecture);
  switch (constant) {
    case SoftwareConstant::kGemm:
      return rates.gemm;
    case SoftwareConstant::kBf16:
      return rates.bf16;
    case SoftwareConstant::kFp8:
      return rates.fp8;
    case SoftwareConstant::kTraffic:
      return traffic_of(rates, kTrafficKinds.front());
    case SoftwareConstant::kFlash:
      return rates.flash_forward;
    case SoftwareConstant::kAccumulation:
      return static_cast<double>(software.accumulation.count());
    case SoftwareConstant::kOptimizer:
      break;
  }
  return static_cast<double>(software.optimizer.count());
}

void set_value(SoftwareSpec& software, Architecture architecture, SoftwareConstant constant, double value) {
  if (constant == SoftwareConstant::kAccumulation) software.accumulation = Bytes(std::llround(value));
  if (constant == SoftwareConstant::kOptimizer) software.optimizer = Bytes(std::llround(value));
  if (!is_of_rates(constant)) return;
  const auto [rates, added] = software.rates_of.try_emplace(architecture, software.rates_on(architecture));
  if (added) software.fitted_of[architecture] = software.fitted;
  if (added) std::erase_if(software.fitted_of[architecture], [](SoftwareConstant c) { return !is_of_rates(c); });
  set_rate(rates->second, constant, value);
}

std::string value_text(SoftwareConstant constant, double value) {
  if (is_of_rates(constant)) return fmt::format("{:.3g}", value);
  return fmt::format("{} B", std::llround(value));
}

std::vector<SoftwareConstant> read_fitted(Section& section, const SoftwareRates& rates, bool of_architecture) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (!of_architecture || is_of_rates(static_cast<SoftwareConstant>(i))) names.emplace_back(kNames[i]);
  std::vector<SoftwareConstant> constants;
  for (const std::string& word : section.words(
           "fitted", of_architecture
                         ? "constants of this architecture that were fitted to published training runs"
                         : "constants that were fitted to published training runs: gemm, bf16, fp8, traffic, flash, "
                           "accumulation, optimizer; traffic: one factor for norm, rotary, activation, add "
                           "and copy, flash: `flash_forward` and `flash_backward` together")) {
    const auto found = std::ranges::find(names, word);
    if (found == names.end()) {
      section.error("fitted", fmt::format("no constant '{}' is fitted here", printable(word, 40)),
                    suggestion(word, names));
      continue;
    }
    const auto constant = static_cast<SoftwareConstant>(found - names.begin());
    if (std::ranges::find(constants, constant) != constants.end())
      section.error("fitted", fmt::format("'{}' stands twice", word));
    else
      constants.push_back(constant);
    if (constant == SoftwareConstant::kTraffic && !is_one_factor(rates))
      section.error("fitted", "'traffic' is one factor, but norm, rotary, activation, add and copy differ",
                    "write the same factor for all five, or leave 'traffic' out");
  }
  return constants;
}

const SoftwareRates& SoftwareSpec::rates_on(Architecture architecture) const {
  for (const Architecture of : {architecture, measured_as(architecture)})
    if (const auto found = rates_of.find(of); found != rates_of.end()) return found->second;
  return rates;
}

bool SoftwareSpec::has_kernels() const {
  return rates.kernels || std::ranges::any_of(rates_of, [](const auto& of) { return of.second.kernels.has_value(); });
}

SoftwareSpec read_software(Section& section) {
  SoftwareSpec software;
  section.needs("name", software.name, "name of the framework and its year in results");
  const std::vector<std::string> attentions = {"flash", "plain"};
  section.takes("attention", software.attention, attentions,
                "attention kernel; flash: flash attention, plain: the scores go through memory");
  section.takes("dropout", software.dropout, "whether the model trains with dropout");
  section.takes("zero", software.zero, {0, 3}, "ZeRO stage of jobs that give no `parallel.zero`");
  section.takes("sequence", software.sequence,
                "whether jobs with tensor parallelism that give no `parallel.sequence` have sequence parallelism");
  software.fused_norm = read_precisions(section, "fused_norm",
                                        "convolutional networks: precisions in which batch norm, the sum with a "
                                        "shortcut and ReLU are one kernel. Example: `[fp16]`");
  software.winograd = read_precisions(section, "winograd",
                                      "convolutional networks: precisions in which 3x3 convolutions with stride 1 use "
                                      "Winograd's algorithm. Example: `[fp32]`");
  software.channels_first = read_precisions(
      section, "channels_first",
      "convolutional networks: precisions in which tensors are channels-first (NCHW); tensor-core kernels, of all "
      "precisions but fp32, take channels-last tensors, so that inputs and outputs are copied. Example: `[fp16]`");
  const std::vector<std::string> kinds = {"scores", "operators"};
  section.takes("selective", software.selective, kinds,
                "what `recompute: selective` recomputes; scores: the scores of plain attention, operators: all "
                "operators but attention and every second GEMM");
  software.gradients = read_gradients(section, software.gradients);
  section.takes("accumulation", software.accumulation,
                "memory traffic of gradient accumulation, per parameter and micro-batch");
  section.takes(
      "reduction", software.reduction,
      "memory traffic of preparing a gradient for its exchange (casts, copies, divisions), beside computation");
  section.takes("optimizer", software.optimizer, "memory traffic of an optimizer step, per parameter");
  read_overlap(section, software);
  section.takes("scatter_gather", software.scatter_gather,
                "whether each tensor-parallel rank sends its share of the activations to the next pipeline stage, "
                "where they are gathered");
  section.takes(
      "reshard_pipeline", software.reshard_pipeline,
      "with ZeRO 3 and a pipeline: whether parameters are gathered for every pass and gradients reduced after "
      "it; otherwise once a step, as torchtitan does");
  section.takes(
      "recompute_all", software.recompute_all,
      "whether recomputation repeats a layer to its end; compilers of whole programs leave out its last GEMM, "
      "which the backward pass does not need");
  section.defaulted_section("footprint", "what a job takes of a device's memory beside what it needs by its arithmetic",
                            [&](Section& s) { read_footprint(s, software.footprint); });
  section.takes("step", software.step, "time of a step beside what devices do: input, logging, launches");
  read_host(section, software.host);
  section.defaulted_section("fp8", "recipe of jobs in fp8 or int8 that name no `workload.recipe`",
                            [&](Section& s) { read_casts(s, software.fp8); });
  section.defaulted_section("rates", "rates of kernels in training",
                            [&](Section& s) { read_rates(s, software.rates); });
  software.fitted = read_fitted(section, software.rates, false);
  read_rates_of(section, software);
  section.sources({"measured"});
  return software;
}

Precision read_gradients(Section& section, Precision fallback, std::string_view documented) {
  constexpr std::array<Precision, 4> kKinds = {Precision::kFp32, Precision::kBf16, Precision::kFp16, Precision::kFp64};
  std::vector<std::string> names;
  for (const Precision kind : kKinds) names.emplace_back(name_of(kind));
  const auto at = static_cast<std::size_t>(std::ranges::find(kKinds, fallback) - kKinds.begin());
  return kKinds[Choice("gradients", "precision in which gradients are accumulated and exchanged", names)
                    .optional(section, at, documented)];
}

}  // namespace orrery::workload
