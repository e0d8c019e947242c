// SPDX-License-Identifier: MIT
// Intervals of fitted constants, and how many of their digits are kept.
#pragma once

namespace orrery::study {

// Number of standard errors, estimated from the scatter of so many residuals beyond the constants, that hold the true
// value in 95 % of cases: Student's t, 1.96 for many and 12.7 for one. Infinite below one.
double standard_errors_of_95_percent(double degrees_of_freedom);

// To so many significant digits.
double rounded_to_digits(double value, int digits);

}  // namespace orrery::study
