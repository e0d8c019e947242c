#include "study/calibrate/fit_landscape.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Of a derivative, in logarithms or scales: wide enough for a model that counts whole picoseconds.
constexpr double kDerivativeStep = 1e-3;

}  // namespace

FitLandscape::FitLandscape(const FitProblem& problem) : problem_(problem), least_(size()), most_(size()) {
  for (Index j = 0; j < size(); ++j) {
    least_(j) = coordinate(j, constant(j).least);
    most_(j) = coordinate(j, constant(j).most);
  }
}

double FitLandscape::value(Index j, double at) const {
  const FittedConstant& c = constant(j);
  return std::clamp(c.start == 0 ? at * c.scale : c.start * std::exp(at), c.least, c.most);
}

VectorXd FitLandscape::coordinates(std::span<const double> values) const {
  VectorXd at(size());
  for (Index j = 0; j < size(); ++j) at(j) = std::clamp(coordinate(j, values[place(j)]), least_(j), most_(j));
  return at;
}

std::optional<FitPoint> FitLandscape::point(VectorXd at) const {
  std::vector<double> values(problem_.constants.size());
  for (Index j = 0; j < size(); ++j) values[place(j)] = value(j, at(j));
  FitPoint point{std::move(at), VectorXd::Zero(index(problem_.residual_count)), 0};
  problem_.residuals(values, {point.residuals.data(), problem_.residual_count});
  if (!point.residuals.allFinite()) return std::nullopt;
  point.cost = cost(point);
  if (!std::isfinite(point.cost)) return std::nullopt;
  return point;
}

MatrixXd FitLandscape::derivatives(const FitPoint& here) const {
  MatrixXd result = MatrixXd::Zero(here.residuals.size(), size());
  for (Index j = 0; j < size(); ++j) {
    if (least_(j) == most_(j)) continue;
    const std::optional<FitPoint> below = beside(here, j, -kDerivativeStep);
    const std::optional<FitPoint> above = beside(here, j, kDerivativeStep);
    const FitPoint& first = below ? *below : here;
    const FitPoint& second = above ? *above : here;
    if (first.at(j) == second.at(j))
      throw InputError(
          {}, fmt::format("the model has no answer with '{}' beside {:g}", constant(j).name, value(j, here.at(j))));
    result.col(j) = (second.residuals - first.residuals) / (second.at(j) - first.at(j));
  }
  return result;
}

VectorXd FitLandscape::weights(const FitPoint& here) const {
  if (problem_.loss_scale == 0) return VectorXd::Ones(here.residuals.size());
  return (1 + (here.residuals.array() / problem_.loss_scale).square()).pow(-0.25).matrix();
}

double FitLandscape::coordinate(Index j, double value) const {
  const FittedConstant& c = constant(j);
  return c.start == 0 ? value / c.scale : std::log(value / c.start);
}

std::optional<FitPoint> FitLandscape::beside(const FitPoint& here, Index j, double step) const {
  VectorXd at = here.at;
  at(j) = std::clamp(at(j) + step, least_(j), most_(j));
  return point(std::move(at));
}

// Twice the loss: soft-L1 is 2 s^2 (sqrt(1 + (r / s)^2) - 1), written so that small r lose no digits.
double FitLandscape::cost(const FitPoint& point) const {
  double sum = 0;
  for (const double r : point.residuals) {
    const double ratio = problem_.loss_scale == 0 ? 0 : r / problem_.loss_scale;
    sum += 2 * r * r / (std::sqrt(1 + ratio * ratio) + 1);
  }
  for (Index j = 0; j < size(); ++j)
    if (const double prior = constant(j).prior; prior > 0) sum += point.at(j) * point.at(j) / (prior * prior);
  return sum;
}

}  // namespace orrery
