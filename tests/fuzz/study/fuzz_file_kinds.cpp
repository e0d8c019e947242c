// SPDX-License-Identifier: MIT
// Files of any kind from hostile bytes, under the names that tell kinds: what each command takes them for, or why it
// does not.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/tree.h"
#include "core/error.h"
#include "experiment/experiment.h"
#include "experiment/files/file_kinds.h"
#include "experiment/files/foreign_files.h"
#include "experiment/launchers/launcher.h"
#include "experiment/recorded_run.h"
#include "study/calibrate/machine/evidence.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"
#include "workload/import/format.h"
#include "workload/import/layers/layers.h"

// The first byte says which name the file has.
ORRERY_FUZZER(fuzz_file_kinds, input) {
  using namespace orrery;
  using namespace orrery::fuzz;
  static const FuzzedFolder folder;
  constexpr std::array kNames = {"file.yaml", "file.json", "file.txt", "file.csv", "file.xml", "file.gz",
                                 "file.sh",   "file.toml", "file.log", "file.et",  "file"};
  const std::string_view bytes = input.substr(std::min<std::size_t>(1, input.size()));
  const std::string file = folder.write(kNames[byte_of(input, 0) % kNames.size()], bytes);
  ConfigFiles files("shipped-configurations-that-are-not-there");
  files.set_kinds(experiment::kind_hint);

  check_refusals([&] {
    if (const auto foreign = experiment::foreign_file(file)) ORRERY_ASSERT(!foreign->what.empty());
  });
  check_refusals([&] { experiment::refuse_other_kinds(file, files); });
  check_refusals([&] { experiment::refuse_other_than_sweeps(file, files); });
  check_refusals([&] { ORRERY_ASSERT(study::evidence_of(file, files).path == file); });
  check_refusals([&] {
    Diagnostics diagnostics;
    experiment::load_configuration(file, files, diagnostics);
    check_problems(diagnostics.problems(), file, bytes);
  });
  check_refusals([&] {  // as a part of an experiment
    Diagnostics diagnostics;
    ConfigValue job =
        parse_config(fmt::format("{{cluster: {0}, workload: {{model: {0}}}}}", file), "job.yaml", diagnostics);
    experiment::read_experiment("job.yaml", std::move(job), files, diagnostics);
  });
  const ConfigValue root = files.peek(file);
  experiment::file_kind(root);
  experiment::part_kind(root);
  experiment::measurements_of(file, files);
  experiment::launcher_of(file, files.beginning(file));
  workload::workload_format_of(bytes);
  workload::foreign_workload_hint(bytes);
  workload::is_layers_text(bytes);
}
