// SPDX-License-Identifier: MIT
// Files of configs/ as commands that show them read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/config/config.h"
#include "core/config/tree.h"
#include "workload/training/spec/model.h"

namespace orrery::cli {

// A file of a folder of configs/ by its name, or the user's own by its path. InputError with what is wrong with it.
template <class Spec>
Spec read_shipped(const std::string& folder, const std::string& name, const ConfigFiles& files,
                  Spec (*read)(Section&)) {
  Diagnostics diagnostics;
  ConfigValue value{ConfigValue::Kind::kScalar, {}, name, {}, {}};
  files.expand(value, folder, diagnostics);
  diagnostics.throw_if_errors();
  ConfigContext context(files, diagnostics);
  Spec spec;
  read_config(value, context, [&](Section& section) { spec = read(section); });
  diagnostics.throw_if_errors();
  return spec;
}

struct ModelShape {
  std::int64_t layers = 0;
  std::optional<std::int64_t> hidden{};
};

ModelShape shape_of(const workload::ModelSpec& model);

}  // namespace orrery::cli
