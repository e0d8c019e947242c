// SPDX-License-Identifier: MIT
// Pictures of answers (report/plot/picture.h) as files: --svg, --vega and --width.
#pragma once

#include <string>

#include "cli/session.h"

namespace orrery::cli {

struct PictureOptions {
  std::string svg{};
  std::string vega{};
  std::string width{};

  bool wanted() const { return !svg.empty() || !vega.empty(); }
};

// `what` as "the curves". `other_name`: an older name of --svg, as ",--plot".
void add_pictures(CLI::App& command, PictureOptions& options, const std::string& what,
                  const std::string& other_name = {});

// Adds --width of the picture that the option `of` writes.
void add_width(CLI::App& command, std::string& width, CLI::Option* of, const std::string& shown_default);

// Before the work: InputError where a file cannot be written, is one of `outputs`, or the width is none.
void check_pictures(const PictureOptions& options, const Outputs& outputs);

}  // namespace orrery::cli
