#include "study/validate/compute/question.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/suggest.h"
#include "workload/chakra/file.h"

namespace orrery {
namespace {

// A table of its own for `device` and `software`, without rows.
ComputeTable table_of(const ComputeQuestion& question, const ConfigFiles& files) {
  const auto scalar = [](std::string_view option, const std::string& value) {
    return ConfigValue{ConfigValue::Kind::kScalar, {std::string(option)}, value, {}, {}};
  };
  ConfigValue root{ConfigValue::Kind::kMap, {"--device"}, {}, {}, {}};
  root.entries.push_back({"device", {"--device"}, scalar("--device", question.device)});
  if (!question.software.empty())
    root.entries.push_back({"software", {"--software"}, scalar("--software", question.software)});
  ComputeTable table;
  Diagnostics diagnostics;
  ConfigContext context(files, diagnostics);
  read_config(root, context, [&](Section& section) { read_compute_machine(section, table); });
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

std::vector<ComputeTable> compute_tables_of(const ComputeQuestion& question, std::span<const ComputeTable> shipped,
                                            const ConfigFiles& files) {
  Diagnostics diagnostics;
  std::vector<LayerSample> samples = read_layer_csv(read_file(question.file), question.file, diagnostics);
  diagnostics.throw_if_errors();
  if (question.device.empty()) return by_gpu(std::move(samples), without_rows(shipped, question.file), question.file);
  ComputeTable table = table_of(question, files);
  table.name = std::filesystem::path(question.file).filename().string();
  table.source = question.file;
  table.layers_file = question.file;
  table.layers = std::move(samples);
  return {std::move(table)};
}

}  // namespace orrery
