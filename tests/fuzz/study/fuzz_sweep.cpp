// SPDX-License-Identifier: MIT
// Sweeps from hostile text: axes whose points are experiments or not, or an error. No point is simulated, and no other
// file is read.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/assert.h"
#include "experiment/experiment.h"
#include "study/sweep/file.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"
#include "tests/fuzz/small_config.h"

namespace orrery::fuzz {
namespace {

constexpr std::size_t kMostPoints = 8;  // that are read

void read_point(const study::Sweep& sweep, std::size_t point, const ConfigFiles& files) {
  Diagnostics diagnostics;
  ConfigValue root = study::configuration_of(sweep, point, files, diagnostics);
  if (!fits_a_fuzzer(root)) return;
  check_refusals([&] {
    if (!diagnostics.has_errors()) experiment::read_experiment(sweep.file, std::move(root), files, diagnostics);
  });
  check_problems(diagnostics.problems());
}

}  // namespace
}  // namespace orrery::fuzz

ORRERY_FUZZER(fuzz_sweep, text) {
  using namespace orrery;
  using namespace orrery::fuzz;
  static const FuzzedFolder folder;
  const std::string file = folder.write("sweep.yaml", text);
  const ConfigFiles files("shipped-configurations-that-are-not-there");
  Diagnostics ignored;
  if (!fits_a_fuzzer(parse_config(text, file, ignored))) return;
  check_refusals([&] {
    const study::Sweep sweep = study::load_sweep(file, {}, files);
    ORRERY_ASSERT(!sweep.axes.empty() && sweep.point_count() <= study::kMostPoints);
    for (const study::SweepAxis& axis : sweep.axes) ORRERY_ASSERT(!axis.name.empty() && !axis.choices.empty());
    const std::size_t count = sweep.point_count();
    for (std::size_t point = 0; point < std::min(count, kMostPoints); ++point) {
      const std::vector<std::size_t> choices = sweep.choices_of(point);
      for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis)
        ORRERY_ASSERT(choices[axis] < sweep.axes[axis].choices.size());
      read_point(sweep, point, files);
    }
  });
}
