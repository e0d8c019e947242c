#include "workload/training/spec/software.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/suggest.h"

namespace orrery {
namespace {

// A factor that makes sense: far from overflow, never zero.
double factor(Section& section, std::string_view key, double fallback, std::string_view meaning) {
  const double value = section.optional<double>(key, fallback, meaning);
  if (std::isfinite(value) && value >= 0.01 && value <= 100) return value;
  section.error(key, fmt::format("{} is no factor", value), "between 0.01 and 100; a share is written 0.9 or 90 %");
  return fallback;
}

void read_rates(Section& section, SoftwareRates& rates) {
  rates.gemm = factor(section, "gemm", rates.gemm,
                      "share of the device's GEMM rate that lasts in training: clock under load, copies of layouts");
  rates.flash_forward = factor(section, "flash_forward", rates.flash_forward,
                               "rate of flash attention as a share of the dense peak, forward");
  rates.flash_backward = factor(section, "flash_backward", rates.flash_backward, "the same, backward");
  section.defaulted_section(
      "traffic", "memory traffic of element-wise kernels, over reading every operand and writing every result once",
      [&](Section& s) {
        for (std::size_t kind = 0; kind < kElementWiseKindCount; ++kind)
          rates.traffic[kind] =
              factor(s, name_of(static_cast<ElementWiseKind>(kind)), rates.traffic[kind], "factor for this kind");
      });
}

void read_rates_of(Section& section, SoftwareSpec& software) {
  section.map("rates_of", "ARCHITECTURE", "rates on devices of an architecture that differs: ampere, hopper, ...",
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
                if (!s.describes() && std::ranges::find(names, entry.key) == names.end())
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
  section.defaulted_section("overlap", "communication beside computation", [&](Section& s) {
    software.overlap_gradients =
        s.optional<bool>("gradients", software.overlap_gradients,
                         "gradients are exchanged while the last micro-batch still goes backward");
    software.bucket = s.optional<Bytes>("bucket", software.bucket, "gradients exchanged together");
    software.overlap_parameters =
        s.optional<bool>("parameters", software.overlap_parameters,
                         "under ZeRO 1 and 2, and with `overlap.gradients`, updated parameters are gathered bucket by "
                         "bucket while the next iteration goes forward");
    const std::vector<std::string> kinds = {"none", "weight-gradient"};
    software.overlap_tensor = static_cast<TensorOverlap>(
        s.optional_choice("tensor", kinds, static_cast<std::size_t>(software.overlap_tensor),
                          "what tensor parallelism hides; weight-gradient: the collectives of input gradients run "
                          "beside the weight gradients of their layer"));
    software.overlap_pipeline =
        s.optional<bool>("pipeline", software.overlap_pipeline, "a stage goes on computing while it sends to the next");
  });
}

}  // namespace

const SoftwareRates& SoftwareSpec::rates_on(Architecture architecture) const {
  const auto found = rates_of.find(architecture);
  return found == rates_of.end() ? rates : found->second;
}

SoftwareSpec read_software(Section& section) {
  SoftwareSpec software;
  software.name = section.required<std::string>("name", "name of the software and its year, as results print it");
  const std::vector<std::string> attentions = {"flash", "plain"};
  software.attention = static_cast<AttentionKind>(
      section.optional_choice("attention", attentions, 0, "kernel of attention; plain keeps the scores in memory"));
  software.dropout = section.optional<bool>("dropout", software.dropout, "dropout in training");
  software.fused_norm = read_precisions(
      section, "fused_norm",
      "convolutional networks: precisions in which batch norm, the sum with a shortcut and ReLU are one "
      "kernel");
  software.winograd = read_precisions(
      section, "winograd",
      "convolutional networks: precisions in which 3x3 convolutions at a stride of 1 run by Winograd's algorithm");
  software.channels_first =
      read_precisions(section, "channels_first",
                      "convolutional networks: precisions in which channels come before pixels; kernels with tensor "
                      "cores, of all but fp32, take them the other way round, and both tensors are copied");
  const std::vector<std::string> kinds = {"scores", "operators"};
  software.selective = static_cast<SelectiveKind>(section.optional_choice(
      "selective", kinds, 0,
      "what `recompute: selective` makes again: the scores of plain attention; or all but attention and every second "
      "product"));
  software.gradients = read_gradients(section, software.gradients);
  software.accumulation = section.optional<Bytes>(
      "accumulation", software.accumulation, "memory traffic per parameter and micro-batch of adding up gradients");
  software.optimizer =
      section.optional<Bytes>("optimizer", software.optimizer, "memory traffic per parameter of an optimizer step");
  read_overlap(section, software);
  software.scatter_gather = section.optional<bool>(
      "scatter_gather", software.scatter_gather,
      "tensor-parallel ranks send a share each of what goes to the next stage, and gather there");
  section.defaulted_section("rates", "how fast kernels run", [&](Section& s) { read_rates(s, software.rates); });
  software.fitted = read_fitted(section, software.rates, false);
  read_rates_of(section, software);
  section.note("source", "where the figures come from");
  section.note("assumed", "figures that were not read in a source");
  return software;
}

Precision read_gradients(Section& section, Precision fallback, std::string_view documented) {
  constexpr std::array<Precision, 3> kKinds = {Precision::kFp32, Precision::kBf16, Precision::kFp16};
  std::vector<std::string> names;
  for (const Precision kind : kKinds) names.emplace_back(name_of(kind));
  const auto at = static_cast<std::size_t>(std::ranges::find(kKinds, fallback) - kKinds.begin());
  return kKinds[section.optional_choice("gradients", names, at,
                                        "precision that gradients are added up and exchanged in", documented)];
}

}  // namespace orrery
