// SPDX-License-Identifier: MIT
// Fits named constants of a model to measurements: Levenberg-Marquardt over the logarithms of the constants, with
// priors, bounds, and a loss that outliers cannot dominate. The model need not be smooth: it may be the minimum over
// algorithms. Whatever the data do not determine is named, and left where it was as far as the data let it. Also which
// of several effects tell something that those before them do not.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace orrery::study {

// A positive constant is fitted in log(value / start), one that starts at 0 in value / scale.
struct FittedConstant {
  std::string name;
  double start = 0;  // not negative
  double least = 0;  // least <= start <= most
  double most = std::numeric_limits<double>::infinity();
  double prior = 0;  // standard deviation of log(value / start), or of value / scale, before any data; 0: no prior
  double scale = 0;  // of a constant that starts at 0, and only of it: a change that may matter; positive
};

struct FitProblem {
  std::vector<FittedConstant> constants;
  // Writes all residuals of these values, say log(predicted / measured), in units of the error to be expected of a
  // measurement if there are priors: a prior weighs as much as a measurement. Same values, same residuals. Numbers that
  // are not finite mean that there is no answer for these values.
  std::function<void(std::span<const double> values, std::span<double> residuals)> residuals;
  std::size_t residual_count = 0;
  // Residuals much smaller count by their squares, much larger ones by their size (soft-L1); 0: all by their squares.
  double loss_scale = 0;
  double small_gain = 1e-12;  // the fit ends with a step that gains no more than this part of the cost
  // Start of the search by constant, within the bounds; it finds the nearest minimum. Empty: at the starts.
  std::vector<double> from{};
};

struct FitResult {
  std::vector<double> values;  // in the order of the constants, as all lists here
  // Standard error from the data alone, relative to the value (to the scale of a constant that started at 0); infinite
  // if the data do not determine it, or if no more residuals than constants are there to tell an error from.
  std::vector<double> spread;
  // False for a constant that changes no residual, which stays at its start unless that made the fit worse, and for
  // one of several of which the data determine a combination only (a product, as a rule): of these only the
  // combination is fitted.
  std::vector<bool> determined;
  std::vector<bool> at_bound;
  std::vector<std::pair<std::size_t, std::size_t>> correlated;  // whose errors correlate beyond +-0.98; first < second
  double rms_before = 0;  // of the residuals as they are; with soft-L1 it may grow where outliers are let go
  double rms_after = 0;
  double cost = 0;  // what the fit has made small: the loss of the residuals, and the priors
  int iterations = 0;
};

// Never worse than where it begins. Finds a local minimum; a constant that changes nothing there (of an algorithm that
// is never the fastest) is also tried at 1/8 to 8 times its value, by itself. Calls the residuals twice per constant
// and iteration, and once or more per step. InputError without residuals, when the starting values have no answer, or
// when values beside an accepted one have none.
FitResult fit_constants(const FitProblem& problem);

// Standard errors of the first `free` coordinates, whose columns are the derivatives of the residuals and which the
// residuals determine, where each residual has the error `error`, and the other coordinates, which a fit holds, are
// known to `held` only: the square roots of the diagonal of the inverse of all columns' normal equations.
std::vector<double> marginal_errors(std::span<const std::vector<double>> columns, std::size_t free, double error,
                                    double held);

struct DependentColumn {
  std::size_t column = 0;
  std::vector<std::size_t> on;  // the kept ones that it is a combination of; empty: all zeros
};

struct ColumnChoice {
  std::vector<std::size_t> kept;
  std::vector<DependentColumn> left;
};

// Columns of one length, the preferred first. A column is left out if what it adds to the kept ones before it is not
// longer than `share` of itself; it counts as zeros up to 1e-9 of the longest.
ColumnChoice independent_columns(std::span<const std::vector<double>> columns, double share);

}  // namespace orrery::study
