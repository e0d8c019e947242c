// SPDX-License-Identifier: MIT
#include "cli/sources.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiment/evidence/figures.h"
#include "report/evidence/sources_text.h"

namespace orrery::cli {
namespace {

constexpr std::array<std::string_view, 3> kSourceFormats = {"list", "bibtex", "json"};

}  // namespace

void add_sources(CLI::App& command, std::string& format) {
  CLI::Option* sources =
      command
          .add_option("--sources", format,
                      "Print the figures that the time rests on, and their sources: list (default), bibtex or json")
          ->type_name("FORM")
          ->expected(0, 1)
          ->default_str("list");
  for (const char* other : {"--details", "--critical-path", "--schedule", "--print", "--launcher-flags"})
    sources->excludes(command.get_option(other));
}

// The figures that the time rests on, and where they are from.
std::string sources_of(const std::string& format, report::Result& result, const ConfigFiles& files) {
  experiment::explain_defaults(result.evidence, files);
  if (format == "bibtex") return report::sources_bibtex(result.evidence);
  if (format == "json") return json_text(report::to_json(result.evidence, true));
  return report::sources_text(result.evidence);
}

void check_sources(const std::string& format, const Outputs& outputs) {
  if (format.empty()) return;
  if (std::ranges::find(kSourceFormats, format) == kSourceFormats.end())
    throw InputError({"--sources"}, fmt::format("unknown form '{}' of sources", printable(format, 60)),
                     "list, bibtex or json");
  if (format != "list") refuse_table_format("--sources " + format);
  if (outputs.json == "-")
    throw InputError({"--sources"}, "prints figures, and --json - the whole document", "leave one of them out");
}

}  // namespace orrery::cli
