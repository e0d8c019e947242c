#include "study/validate/compute/table.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"
#include "system/devices/operator_model.h"
#include "workload/chakra/file.h"

namespace orrery {
namespace {

constexpr std::string_view kFolder = "validation/compute";
constexpr std::int64_t kLargestSide = 1 << 26;  // of a product: its bytes fit 64 bits

constexpr std::array<std::string_view, 7> kConstants = {"gemm",   "fp8",           "gemm_launch",   "memory",
                                                        "launch", "flash_forward", "flash_backward"};

void read_origin(Section& section, ComputeTable& table) {
  table.name = section.required<std::string>("table", "its name, which no other table has");
  table.where = section.where("table");
  table.source = section.required<std::string>("source", "where it was published");
  table.measured = section.required<std::string>("measured", "the machine, in the words of the source");
  table.gpu = section.maybe<std::string>("gpu", "the device as CSV files call it, in their column gpu").value_or("");
}

void read_precision(Section& section, ComputeTable& table) {
  const std::vector<std::string> names = precision_names();
  table.precision = kAllPrecisions[section.required_choice("precision", names, "of operands")];
  if (section.has("precision") && section.has("device") && !table.device.peak(table.precision))
    section.error("precision", fmt::format("device '{}' has no peak for {}", printable(table.device.name),
                                           name_of(table.precision)));
}

void read_fitted(Section& section, ComputeTable& table) {
  const std::vector<std::string> names(kConstants.begin(), kConstants.end());
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
  const std::filesystem::path folder = std::filesystem::path(section.where("layers").file).parent_path();
  table.layers_file = (folder / *file).string();
  Diagnostics& diagnostics = section.context().diagnostics();
  try {
    table.layers = read_layer_csv(read_file(table.layers_file), table.layers_file, diagnostics);
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
      diagnostics.error(value.where, fmt::format("'{}' is no side of a matrix", printable(value.scalar, 40)),
                        fmt::format("a whole number from 1 to {}", kLargestSide));
  }
  const Parsed<FlopRate> rate = parse_quantity<FlopRate>(part->scalar + " TFLOP/s");
  if (!rate.value)
    diagnostics.error(part->where, fmt::format("'{}' is no rate in TFLOP/s", printable(part->scalar, 40)),
                      "a number above 0, without a unit");
  if (errors < diagnostics.error_count()) return std::nullopt;
  return MeasuredProduct{item.where, Gemm{sides[0], sides[1], sides[2], 1, precision},
                         static_cast<double>(rate.value->count())};
}

void read_products(Section& section, ComputeTable& table) {
  const ConfigValue* products =
      section.raw("products", "list of [m, n, k, TFLOP/s]", "optional", "matrix products, m x k times k x n");
  if (products == nullptr) {
    if (!section.has("layers"))
      section.error("", "a table has neither layers nor products", "add 'layers: FILE.csv' or 'products: [...]'");
    return;
  }
  if (products->kind != ConfigValue::Kind::kList || products->items.empty())
    return section.error("products", "'products' is no list of [m, n, k, TFLOP/s]");
  for (const ConfigValue& item : products->items)
    if (const auto product = read_product(item, table.precision, section.context().diagnostics()))
      table.products.push_back(*product);
}

void read_table(Section& section, ComputeTable& table) {
  read_origin(section, table);
  read_compute_machine(section, table);
  read_precision(section, table);
  read_fitted(section, table);
  read_layers(section, table);
  read_products(section, table);
}

}  // namespace

void read_compute_machine(Section& section, ComputeTable& table) {
  section.required_section(
      "device", "the device that was measured", [&](Section& device) { table.device = read_device(device); },
      "devices");
  section.section(
      "software", "whose kernels; without it those of a micro-benchmark",
      [&](Section& software) { table.software = read_software(software); }, "software");
}

SoftwareRates ComputeTable::rates() const {
  return software ? software->rates_on(device.architecture) : micro_benchmark_rates(device);
}

std::optional<std::string> compute_constant_text(const ComputeSpec& compute, std::string_view name) {
  if (name == "gemm") return to_text(compute.gemm);
  if (name == "fp8") return to_text(compute.fp8);
  if (name == "gemm_launch") return rounded(compute.gemm_launch);
  if (name == "memory") return to_text(compute.memory);
  if (name == "launch") return rounded(compute.launch);
  if (name == "flash_forward") return to_text(compute.flash_forward);
  if (name == "flash_backward") return to_text(compute.flash_backward);
  return std::nullopt;
}

bool is_compute_table(const std::string& file, const ConfigFiles& files) {
  const ConfigValue root = files.peek(file);
  return root.find("table") != nullptr && (root.find("layers") != nullptr || root.find("products") != nullptr);
}

ComputeTable load_compute_table(const std::string& file, const std::vector<std::string>& settings,
                                const ConfigFiles& files, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  ConfigValue root = files.load(file, {}, diagnostics);
  for (const std::string& setting : settings) apply_setting(root, setting, files, diagnostics);
  ComputeTable table;
  if (diagnostics.error_count() > errors) return table;
  ConfigContext context(files, diagnostics);
  read_config(root, context, [&](Section& section) { read_table(section, table); });
  return table;
}

std::vector<ComputeTable> list_compute_tables(const ConfigFiles& files) {
  Diagnostics diagnostics;
  std::vector<ComputeTable> tables;
  for (const std::string& name : files.names(kFolder))
    tables.push_back(
        load_compute_table((files.shipped() / kFolder / (name + ".yaml")).string(), {}, files, diagnostics));
  diagnostics.throw_if_errors();
  std::ranges::stable_sort(tables, {}, &ComputeTable::name);
  return tables;
}

}  // namespace orrery
