// SPDX-License-Identifier: MIT
// Predicted against measured times, family by family: what all kinds of validation come to, as one page with a picture
// for each kind.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/validate/measured/measured.h"

namespace orrery::study {

// The part of the page that a kind of validation has. Its rows may outlive their tables.
struct AccuracySection {
  std::string name;  // of its picture: "training"
  std::string title;
  std::string unit;                     // what a family counts: "runs"
  std::vector<MeasuredGroup> families;  // measured in one place, or of one kind; rows of each count
};

// "accuracy-training.svg".
std::string picture_name(const AccuracySection& section);
// The text of an SVG file: a small plot for each family of predicted / measured over the measured time.
std::string accuracy_picture(const AccuracySection& section);
// Markdown: a table and the picture of each section, which stands in `pictures` as seen from the page.
std::string accuracy_page(std::span<const AccuracySection> sections, const std::string& pictures);

}  // namespace orrery::study
