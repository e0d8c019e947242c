// SPDX-License-Identifier: MIT
// Pictures of answers (report/plot/picture.h) as files: --svg, --vega and --width.
#pragma once

#include <string>

#include "cli/session.h"
#include "report/plot/picture.h"

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
// Reads the text of --width, which must not be empty; InputError where it is no width.
report::PictureLook look_of_width(const std::string& width);

// Before the work: InputError where a file cannot be written, is one of `outputs`, or the width is none.
void check_pictures(const PictureOptions& options, const Outputs& outputs);

void write_pictures(const PictureOptions& options, const report::Picture& picture);

// Adds a picture to those of the page, if there is one.
void add_to_page(Answer& answer, const report::Picture& picture);

}  // namespace orrery::cli
