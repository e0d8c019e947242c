// A FitProblem as a landscape that a fit walks down: coordinates that are 0 at the start, the cost at each point, and
// derivatives. For study/calibrate/least_squares.cpp; Eigen takes long to compile.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <Eigen/Core>

#include "study/calibrate/least_squares.h"

namespace orrery {

// Eigen counts with a sign.
inline Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }
inline std::size_t place(Eigen::Index i) { return static_cast<std::size_t>(i); }

// A vector of coordinates (logarithms or multiples of scales), what the model answers, and how bad that is.
struct FitPoint {
  Eigen::VectorXd at;
  Eigen::VectorXd residuals;
  double cost = 0;
};

// The problem, which outlives it, in coordinates that are 0 at the start.
class FitLandscape {
 public:
  explicit FitLandscape(const FitProblem& problem);

  Eigen::Index size() const { return index(problem_.constants.size()); }
  const FittedConstant& constant(Eigen::Index j) const { return problem_.constants[place(j)]; }
  const Eigen::VectorXd& least() const { return least_; }
  const Eigen::VectorXd& most() const { return most_; }

  // Of the constant at a coordinate.
  double value(Eigen::Index j, double at) const;

  // Of values, one for each constant, within the bounds.
  Eigen::VectorXd coordinates(std::span<const double> values) const;

  // Nothing if the model has no answer there.
  std::optional<FitPoint> point(Eigen::VectorXd at) const;

  // d residual / d coordinate; one-sided where a bound is near or one side has no answer. InputError if neither has.
  Eigen::MatrixXd derivatives(const FitPoint& here) const;

  // Square roots of the weights that make a sum of squares change as the loss does (iterative reweighting).
  Eigen::VectorXd weights(const FitPoint& here) const;

 private:
  double coordinate(Eigen::Index j, double value) const;
  std::optional<FitPoint> beside(const FitPoint& here, Eigen::Index j, double step) const;
  double cost(const FitPoint& point) const;

  const FitProblem& problem_;
  Eigen::VectorXd least_, most_;
};

}  // namespace orrery
