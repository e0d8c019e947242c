// SPDX-License-Identifier: MIT
#include "cli/pictures.h"

#include <fmt/format.h>

#include "cli/extras.h"

namespace orrery::cli {

void add_pictures(CLI::App& command, PictureOptions& options, const std::string& what, const std::string& other_name) {
  CLI::Option* svg = command.add_option("--svg" + other_name, options.svg, fmt::format("Draw {} as an SVG file", what));
  svg->type_name("FILE");
  command.add_option("--vega", options.vega, "Write the same as a specification of Vega-Lite, with its data")
      ->type_name("FILE");
  add_width(command, options.width, svg, "800px");
}

void add_width(CLI::App& command, std::string& width, CLI::Option* of, const std::string& shown_default) {
  command
      .add_option("--width", width,
                  fmt::format("Width of the SVG: column, 2-column, 3.3in, 84mm for a paper; 800px for a screen "
                              "(default: {})",
                              shown_default))
      ->type_name("WIDTH")
      ->needs(of);
}

void check_pictures(const PictureOptions& options, const Outputs& outputs) {
  if (!options.width.empty()) extras().look_of_width(options.width);
  for (const auto& [name, file] : {OutputOption{"--svg", options.svg}, OutputOption{"--vega", options.vega}}) {
    check_file(name, file);
    refuse_same_file({"--json", outputs.json}, {name, file});
    refuse_same_file({"--html", outputs.html}, {name, file});
    if (!outputs.out.empty())
      for (const char* own : {"/result.json", "/summary.txt"})
        refuse_same_file({name, file}, {"--out", outputs.out + own});
  }
  refuse_same_file({"--svg", options.svg}, {"--vega", options.vega});
}

}  // namespace orrery::cli
