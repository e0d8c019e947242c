// SPDX-License-Identifier: MIT
#include "cli/study/drawings.h"

#include "core/config/quantity_text.h"
#include "core/error.h"
#include "report/plot/picture.h"

namespace orrery::cli {

report::PictureLook look_of_width(const std::string& width) {
  const Parsed<report::PictureLook> look = report::picture_look(width);
  if (!look.value) throw InputError({"--width"}, look.problem, look.hint);
  return *look.value;
}

void write_pictures(const PictureOptions& options, const report::Picture& picture) {
  const report::PictureLook look = options.width.empty() ? report::PictureLook() : look_of_width(options.width);
  if (!options.svg.empty()) write_file(options.svg, report::picture_svg(picture, look));
  if (!options.vega.empty()) write_file(options.vega, json_text(report::picture_vega(picture)));
}

void add_to_page(Answer& answer, const report::Picture& picture) {
  if (answer.page && !picture.is_empty()) answer.page->data["pictures"].push_back(report::picture_for_page(picture));
}

}  // namespace orrery::cli
