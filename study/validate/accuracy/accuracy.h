// SPDX-License-Identifier: MIT
// Predicted against measured times, family by family: what all kinds of validation come to, as one page with a picture
// for each kind.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/validate/collectives/validate.h"
#include "study/validate/compute/validation.h"
#include "study/validate/experts/validation.h"
#include "study/validate/training/validation.h"

namespace orrery::study {

struct ComparedTime {
  double measured = 0;  // seconds, above 0
  double predicted = 0;

  double error() const { return predicted / measured - 1; }  // signed
};

// What has been measured in one place, or is of one kind.
struct AccuracyFamily {
  std::string name;
  std::vector<ComparedTime> times;  // at least one
};

struct AccuracySection {
  std::string name;  // of its picture: "training"
  std::string title;
  std::string unit;  // what a family counts: "runs"
  std::vector<AccuracyFamily> families;
};

// Of what counts: scored tables, and operators of enough tokens.
AccuracySection accuracy_of(const TrainingValidation& validation);
AccuracySection accuracy_of(const Validation& validation);
AccuracySection accuracy_of(const ComputeValidation& validation);
AccuracySection accuracy_of(const ExpertValidation& validation);

// "accuracy-training.svg".
std::string picture_name(const AccuracySection& section);
// The text of an SVG file: a small plot for each family of predicted / measured over the measured time.
std::string accuracy_picture(const AccuracySection& section);
// Markdown: a table and the picture of each section, which stands in `pictures` as seen from the page.
std::string accuracy_page(std::span<const AccuracySection> sections, const std::string& pictures);

}  // namespace orrery::study
