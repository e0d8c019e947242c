// SPDX-License-Identifier: MIT
// Pictures of answers (report/plot/picture.h): as files, which options of cli/pictures.h name, and on pages.
#pragma once

#include <string>

#include "cli/output.h"
#include "cli/pictures.h"
#include "report/plot/picture.h"

namespace orrery::cli {

// Reads the text of --width, which must not be empty; InputError where it is no width.
report::PictureLook look_of_width(const std::string& width);

void write_pictures(const PictureOptions& options, const report::Picture& picture);

// Adds a picture to those of the page, if there is one.
void add_to_page(Answer& answer, const report::Picture& picture);

}  // namespace orrery::cli
