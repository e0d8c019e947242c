// SPDX-License-Identifier: MIT
#include "study/validate/compute/table.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"
#include "system/devices/operator_model.h"
#include "core/files/read_file.h"

namespace orrery::study {
namespace {

constexpr std::int64_t kLargestSide = 1 << 26;  // of a product: its bytes fit 64 bits

// Constant of a device's `compute`.
struct ComputeConstant {
  std::string_view name;
  std::string (*text)(const system::ComputeSpec&);
};
constexpr std::array<ComputeConstant, 7> kConstants = {{
    {"gemm", [](const system::ComputeSpec& c) { return to_text(c.gemm); }},
    {"fp8", [](const system::ComputeSpec& c) { return to_text(c.fp8); }},
    {"gemm_launch", [](const system::ComputeSpec& c) { return rounded(c.gemm_launch); }},
    {"memory", [](const system::ComputeSpec& c) { return to_text(c.memory); }},
    {"launch", [](const system::ComputeSpec& c) { return rounded(c.launch); }},
    {"flash_forward", [](const system::ComputeSpec& c) { return to_text(c.flash_forward); }},
    {"flash_backward", [](const system::ComputeSpec& c) { return to_text(c.flash_backward); }},
}};

// The device and the software.
void read_machine_of(Section& section, ComputeTable& table) {
  section.required_section(
      "device", "the device that was measured", [&](Section& device) { table.device = system::read_device(device); },
      "devices");
  section.section(
      "software", "whose kernels; without it those of a micro-benchmark",
      [&](Section& software) { table.software = workload::read_software(software); }, "software");
}

void read_origin(Section& section, ComputeTable& table) {
  table.name = section.required<std::string>("table", "its name, which no other table has");
  table.where = section.where("table");
  table.source = section.required<std::string>("source", "where it was published");
  table.measured = section.required<std::string>("measured", "the machine, in the words of the source");
  table.gpu = section.maybe<std::string>("gpu", "the device as CSV files call it, in their column gpu").value_or("");
}

void read_precision(Section& section, ComputeTable& table) {
  section.needs("precision", table.precision, precision_names(), "of operands");
  if (section.has("precision") && section.has("device") && !table.device.peak(table.precision))
    section.error("precision", fmt::format("device '{}' has no peak for {}", printable(table.device.name),
                                           name_of(table.precision)));
}

void read_fitted(Section& section, ComputeTable& table) {
  std::vector<std::string> names;
  for (const ComputeConstant& constant : kConstants) names.emplace_back(constant.name);
  table.fitted = section.words("fitted", "constants of the device's `compute` that were fitted to this table");
  for (const std::string& word : table.fitted)
    if (std::ranges::find(names, word) == names.end())
      section.error("fitted", fmt::format("a device has no constant '{}'", printable(word, 40)),
                    suggestion(word, names));
}

void read_layers(Section& section, ComputeTable& table) {
  const auto file = section.maybe<std::string>(
      "layers", "operators of layers: a CSV file, relative to this one, with the columns of layers-a100.csv");
  if (!file) return;
  table.layers_file = path_from(section.where("layers").file, *file).string();
  Diagnostics& diagnostics = section.context().diagnostics();
  try {
    table.layers = read_layer_csv(read_text(table.layers_file), table.layers_file, diagnostics);
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) diagnostics.error(problem.where, problem.message, problem.hint);
  }
  for (const LayerSample& sample : table.layers)
    if (!sample.gpu.empty() && sample.gpu != table.gpu)
      diagnostics.error(sample.gpu_at, fmt::format("gpu '{}' in a table of '{}'", printable(sample.gpu, 40),
                                                   printable(table.gpu, 40)));
}

// "[m, n, k, TFLOP/s]"; nothing after an error.
std::optional<MeasuredProduct> read_product(const ConfigValue& item, Precision precision, Diagnostics& diagnostics) {
  const auto is_scalar = [](const ConfigValue& part) { return part.kind == ConfigValue::Kind::kScalar; };
  if (item.kind != ConfigValue::Kind::kList || item.items.size() != 4 || !std::ranges::all_of(item.items, is_scalar)) {
    diagnostics.error(item.where, "a product is four numbers: [m, n, k, TFLOP/s]");
    return std::nullopt;
  }
  const std::size_t errors = diagnostics.error_count();
  std::array<std::int64_t, 3> sides{};
  auto part = item.items.begin();
  for (std::int64_t& side : sides) {
    const ConfigValue& value = *part++;
    side = parse_whole_number(value.scalar).value_or(0);
    if (side < 1 || side > kLargestSide)
      diagnostics.error(value.where, fmt::format("invalid side of a matrix '{}'", printable(value.scalar, 40)),
                        fmt::format("a whole number from 1 to {}", kLargestSide));
  }
  const Parsed<FlopRate> rate = parse_quantity<FlopRate>(part->scalar + " TFLOP/s");
  if (!rate.value)
    diagnostics.error(part->where, fmt::format("invalid rate '{}'; expected TFLOP/s", printable(part->scalar, 40)),
                      "a number above 0, without a unit");
  if (errors < diagnostics.error_count()) return std::nullopt;
  return MeasuredProduct{item.where, workload::Gemm{sides[0], sides[1], sides[2], 1, precision},
                         static_cast<double>(rate.value->count())};
}

void read_products(Section& section, ComputeTable& table) {
  const ConfigValue* products =
      section.raw("products", "list of [m, n, k, TFLOP/s]", "optional", "matrix products, m x k times k x n");
  if (products == nullptr) {
    if (!section.has("layers") && !section.has("kernels"))
      section.error("", "a table has neither layers nor products nor kernels",
                    "add 'layers: FILE.csv', 'products: [...]' or 'kernels: [FILE.csv]'");
    return;
  }
  if (products->kind != ConfigValue::Kind::kList || products->items.empty())
    return section.error("products", "'products' must be a list of [m, n, k, TFLOP/s]");
  for (const ConfigValue& item : products->items)
    if (const auto product = read_product(item, table.precision, section.context().diagnostics()))
      table.products.push_back(*product);
}

void read_kernels(Section& section, ComputeTable& table) {
  table.kernels = system::read_kernel_files(
      section, "kernels", "times of kernels: CSV files, relative to this one, with the columns of gemm-h100.csv");
  Architecture others = table.device.architecture;
  section.takes("others", others, architecture_names(),
                "architecture whose constants of the software predict the kernels with `--cross`", "the device's");
  if (section.has("others")) table.others = others;
}

// A table of its own for `device` and `software`, without rows.
ComputeTable table_of(const ComputeQuestion& question, const ConfigFiles& files) {
  ConfigValue root{ConfigValue::Kind::kMap, {"--device"}, {}, {}, {}};
  const std::pair<std::string, const std::string&> given[] = {{"device", question.device},
                                                              {"software", question.software}};
  for (const auto& [key, value] : given) {
    const Location option{"--" + key};
    if (!value.empty()) root.entries.push_back({key, option, {ConfigValue::Kind::kScalar, option, value, {}, {}}});
  }
  ComputeTable table;
  Diagnostics diagnostics;
  ConfigContext context(files, diagnostics);
  read_config(root, context, [&](Section& section) { read_machine_of(section, table); });
  diagnostics.throw_if_errors();
  return table;
}

ComputeTable* table_for(std::vector<ComputeTable>& tables, const std::string& gpu) {
  const auto found = std::ranges::find(tables, gpu, &ComputeTable::gpu);
  return found == tables.end() ? nullptr : &*found;
}

// Shipped tables that rows can belong to, without their own rows.
std::vector<ComputeTable> without_rows(std::span<const ComputeTable> shipped, const std::string& file) {
  std::vector<ComputeTable> tables;
  for (const ComputeTable& table : shipped) {
    if (table.gpu.empty()) continue;
    tables.push_back(table);
    tables.back().name = fmt::format("{}: {}", std::filesystem::path(file).filename().string(), table.gpu);
    tables.back().layers.clear();
    tables.back().products.clear();
    tables.back().layers_file = file;
  }
  return tables;
}

std::vector<ComputeTable> by_gpu(std::vector<LayerSample> samples, std::vector<ComputeTable> tables,
                                 const std::string& file) {
  std::vector<std::string> names;
  for (const ComputeTable& table : tables) names.push_back(table.gpu);
  Diagnostics diagnostics;
  std::vector<std::string> unknown;
  for (LayerSample& sample : samples) {
    if (ComputeTable* table = table_for(tables, sample.gpu)) {
      table->layers.push_back(std::move(sample));
    } else if (sample.gpu_at.file.empty()) {
      throw InputError({file}, "no column 'gpu' says what was measured", "name the device: --device a100-sxm-80gb");
    } else if (std::ranges::find(unknown, sample.gpu) == unknown.end()) {
      unknown.push_back(sample.gpu);
      diagnostics.error(sample.gpu_at, fmt::format("gpu '{}' is not known", printable(sample.gpu, 40)),
                        suggestion(sample.gpu, names) + "; or name the device of all rows: --device");
    }
  }
  diagnostics.throw_if_errors();
  std::erase_if(tables, [](const ComputeTable& table) { return table.layers.empty(); });
  return tables;
}

}  // namespace

workload::SoftwareRates ComputeTable::rates() const {
  return software ? software->rates_on(device.architecture) : system::micro_benchmark_rates(device);
}

std::optional<std::string> compute_constant_text(const system::ComputeSpec& compute, std::string_view name) {
  const auto found = std::ranges::find(kConstants, name, &ComputeConstant::name);
  if (found == kConstants.end()) return std::nullopt;
  return found->text(compute);
}

void read_table(Section& section, ComputeTable& table) {
  read_origin(section, table);
  read_machine_of(section, table);
  read_precision(section, table);
  read_fitted(section, table);
  read_layers(section, table);
  read_products(section, table);
  read_kernels(section, table);
}

std::vector<ComputeTable> compute_tables_of(const ComputeQuestion& question, std::span<const ComputeTable> shipped,
                                            const ConfigFiles& files) {
  Diagnostics diagnostics;
  const std::string text = read_text(question.file);
  const bool kernels = system::is_kernel_csv(text);
  if (kernels && question.device.empty())
    throw InputError({question.file}, "kernels do not say what device they were measured on",
                     "name it: --device h100-sxm --software inference-2026");
  std::vector<LayerSample> samples;
  if (!kernels) samples = read_layer_csv(text, question.file, diagnostics);
  diagnostics.throw_if_errors();
  if (question.device.empty()) return by_gpu(std::move(samples), without_rows(shipped, question.file), question.file);
  ComputeTable table = table_of(question, files);
  table.name = std::filesystem::path(question.file).filename().string();
  table.source = question.file;
  table.layers_file = question.file;
  table.layers = std::move(samples);
  if (kernels) table.kernels = system::read_kernel_csv(text, question.file, diagnostics);
  diagnostics.throw_if_errors();
  return {std::move(table)};
}

}  // namespace orrery::study
