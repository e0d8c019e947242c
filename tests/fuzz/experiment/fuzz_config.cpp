// SPDX-License-Identifier: MIT
// A whole experiment from hostile text: parsed, changed by a setting, read. Nothing but problems may come out, each at
// a place that the text has. No file is touched: the folder of shipped configurations is not there, and inputs that
// name other files are passed over.
//
// The first line is a setting (a.b=v), the rest is the file.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/assert.h"
#include "core/config/config.h"
#include "core/config/tree.h"
#include "core/error.h"
#include "experiment/experiment.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"
#include "tests/fuzz/small_config.h"

namespace orrery::fuzz {
namespace {

using experiment::Experiment;

// Routes between the first few devices lead there, link by link.
void check_routes(const network::Fabric& fabric) {
  const std::uint32_t devices = std::min(fabric.device_count(), 12U);
  std::vector<LinkId> route;
  for (std::uint32_t from = 0; from < devices; ++from) {
    for (std::uint32_t to = 0; to < devices; ++to) {
      fabric.route(DeviceId(from), DeviceId(to), route);
      network::VertexId at{from};
      for (const LinkId link : route) {
        ORRERY_ASSERT(fabric.ends(link).from == at);
        at = fabric.ends(link).to;
      }
      ORRERY_ASSERT(at == network::VertexId(to));
    }
  }
}

void read_whole(ConfigValue root, const ConfigFiles& files, Diagnostics& diagnostics) {
  try {
    const Experiment experiment = experiment::read_experiment("fuzz.yaml", std::move(root), files, diagnostics);
    ORRERY_ASSERT(!diagnostics.has_errors());
    const std::uint32_t devices = experiment.fabric.device_count();
    ORRERY_ASSERT(devices >= 1);
    check_routes(experiment.fabric);
    experiment::place_ranks(experiment.placement, devices, experiment.fabric);
    ORRERY_ASSERT(!to_json(experiment.resolved).dump().empty());
  } catch (const InputError& error) {
    ORRERY_ASSERT(!error.problems().empty());
  }
}

}  // namespace
}  // namespace orrery::fuzz

ORRERY_FUZZER(fuzz_config, input) {
  using namespace orrery;
  using namespace orrery::fuzz;
  const std::size_t line_end = std::min(input.find('\n'), input.size());
  const std::string setting(input.substr(0, line_end));
  const std::string_view text = input.substr(std::min(line_end + 1, input.size()));
  const ConfigFiles files("shipped-configurations-that-are-not-there");

  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "fuzz.yaml", diagnostics);
  check_problems(diagnostics.problems(), "fuzz.yaml", text);
  if (!fits_a_fuzzer(root)) return;
  if (!setting.empty()) {
    Diagnostics of_setting;
    ConfigValue changed = root;
    apply_setting(changed, setting, files, of_setting);
    check_problems(of_setting.problems());
    if (!of_setting.has_errors() && fits_a_fuzzer(changed)) root = std::move(changed);
  }
  if (!diagnostics.has_errors()) read_whole(std::move(root), files, diagnostics);
  check_problems(diagnostics.problems(), "fuzz.yaml", text);
}
