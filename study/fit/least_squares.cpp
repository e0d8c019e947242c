// SPDX-License-Identifier: MIT
#include "study/fit/least_squares.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include "core/assert.h"
#include "core/error.h"

namespace orrery::study {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Step of a numerical derivative, in logarithms or scales: wide enough for a model that counts whole picoseconds.
constexpr double kDerivativeStep = 1e-3;
// A constant has no effect if its derivatives are smaller than this share of the largest: derivatives are not better.
constexpr double kNoEffect = 1e-6;
// A combination of constants is not determined if its effect is this share of theirs one by one: the error of
// derivatives, with a margin.
constexpr double kUndetermined = 1e-4;
// The part of a constant in such a combination (a vector of length 1) from which on it is not determined itself.
constexpr double kInvolved = 0.05;
constexpr double kStrongCorrelation = 0.98;
// Derivatives say nothing about what is farther away.
constexpr double kLargestMove = 2;
constexpr double kLeastDamping = 1e-12, kFirstDamping = 1e-3, kMostDamping = 1e10;
// Below this an iteration is the last one: far below any error of a measurement.
constexpr double kSmallMove = 1e-9;
// Steps at which a constant that has no effect here may have one: times and over 2, 4 and 8 (or as many scales as their
// logarithms).
constexpr std::array<double, 6> kFarSteps = {-0.7, 0.7, -1.4, 1.4, -2.1, 2.1};
constexpr double kFarGain = 1e-6;
constexpr int kMostIterations = 200;

// Eigen counts with a sign.
Index index(std::size_t i) { return static_cast<Index>(i); }
std::size_t place(Index i) { return static_cast<std::size_t>(i); }

// A vector of coordinates (logarithms or multiples of scales), what the model answers, and how bad that is.
struct FitPoint {
  VectorXd at;
  VectorXd residuals;
  double cost = 0;
};

// A problem, which outlives it, as a landscape that a fit walks down: coordinates that are 0 at the start, the cost at
// each point, and derivatives.
class FitLandscape {
 public:
  explicit FitLandscape(const FitProblem& problem) : problem_(problem), least_(size()), most_(size()) {
    for (Index j = 0; j < size(); ++j) {
      least_(j) = coordinate(j, constant(j).least);
      most_(j) = coordinate(j, constant(j).most);
    }
  }

  Index size() const { return index(problem_.constants.size()); }
  const FittedConstant& constant(Index j) const { return problem_.constants[place(j)]; }
  double small_gain() const { return problem_.small_gain; }
  const VectorXd& least() const { return least_; }
  const VectorXd& most() const { return most_; }

  // Value of constant `j` at a coordinate.
  double value(Index j, double at) const {
    const FittedConstant& c = constant(j);
    return std::clamp(c.start == 0 ? at * c.scale : c.start * std::exp(at), c.least, c.most);
  }

  // Coordinates of values, one for each constant, within the bounds.
  VectorXd coordinates(std::span<const double> values) const {
    VectorXd at(size());
    for (Index j = 0; j < size(); ++j) at(j) = std::clamp(coordinate(j, values[place(j)]), least_(j), most_(j));
    return at;
  }

  // Nothing if the model has no answer there.
  std::optional<FitPoint> point(VectorXd at) const {
    std::vector<double> values(problem_.constants.size());
    for (Index j = 0; j < size(); ++j) values[place(j)] = value(j, at(j));
    FitPoint point{std::move(at), VectorXd::Zero(index(problem_.residual_count)), 0};
    problem_.residuals(values, {point.residuals.data(), problem_.residual_count});
    if (!point.residuals.allFinite()) return std::nullopt;
    point.cost = cost(point);
    if (!std::isfinite(point.cost)) return std::nullopt;
    return point;
  }

  // d residual / d coordinate; one-sided where a bound is near or one side has no answer. InputError if neither has.
  MatrixXd derivatives(const FitPoint& here) const {
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

  // Square roots of the weights that make a sum of squares change as the loss does (iterative reweighting).
  VectorXd weights(const FitPoint& here) const {
    if (problem_.loss_scale == 0) return VectorXd::Ones(here.residuals.size());
    return (1 + (here.residuals.array() / problem_.loss_scale).square()).pow(-0.25).matrix();
  }

  // Variance of a residual's error, but for `left` degrees of freedom in place of all rows, in units in which the
  // inverse of the weighted normal equations is the covariance of the fit. That of least squares is the mean square. A
  // loss that lets go of what is far off makes of each residual r a pull p(r), which changes as p'(r): the variance is
  // that of the pulls over the square of the mean change (Huber, Robust Statistics, 1981, section 7.6).
  double error_variance(const FitPoint& here, Index left) const {
    const Eigen::ArrayXd weight = weights(here).array().square();
    const double pulls = (weight * here.residuals.array()).square().sum();
    const double change = problem_.loss_scale == 0 ? 1 : weight.cube().mean();  // (1 + (r / s)^2)^(-3/2)
    return weight.mean() * pulls / (static_cast<double>(left) * change * change);
  }

  // Point with `step` added to the coordinate, as far as the bounds let it.
  std::optional<FitPoint> beside(const FitPoint& here, Index j, double step) const {
    VectorXd at = here.at;
    at(j) = std::clamp(at(j) + step, least_(j), most_(j));
    return point(std::move(at));
  }

 private:
  double coordinate(Index j, double value) const {
    const FittedConstant& c = constant(j);
    return c.start == 0 ? value / c.scale : std::log(value / c.start);
  }

  // Twice the loss: soft-L1 is 2 s^2 (sqrt(1 + (r / s)^2) - 1), written so that small r lose no digits.
  double cost(const FitPoint& point) const {
    double sum = 0;
    for (const double r : point.residuals) {
      const double ratio = problem_.loss_scale == 0 ? 0 : r / problem_.loss_scale;
      sum += 2 * r * r / (std::sqrt(1 + ratio * ratio) + 1);
    }
    for (Index j = 0; j < size(); ++j)
      if (const double prior = constant(j).prior; prior > 0) sum += point.at(j) * point.at(j) / (prior * prior);
    return sum;
  }

  const FitProblem& problem_;
  VectorXd least_, most_;
};

// The weighted derivatives of the residuals: as they are, each column divided by its length, and that length; a column
// without effect is 0.
struct Slopes {
  explicit Slopes(MatrixXd weighted) : columns(std::move(weighted)), lengths(columns.colwise().norm()) {
    const double largest = lengths.size() == 0 ? 0 : lengths.maxCoeff();
    for (Index j = 0; j < lengths.size(); ++j) {
      if (has_effect(j, largest)) continue;
      lengths(j) = 0;
      columns.col(j).setZero();
    }
  }

  bool has_effect(Index j, double largest) const { return lengths(j) > kNoEffect * largest; }
  MatrixXd normalised() const {
    MatrixXd result = columns;
    for (Index j = 0; j < result.cols(); ++j)
      if (lengths(j) > 0) result.col(j) /= lengths(j);
    return result;
  }

  MatrixXd columns;
  VectorXd lengths;
};

// Singular values and right vectors of a matrix whose columns have length 1 or 0, from its normal equations: good to
// the root of a double's precision, far below kUndetermined, in a tenth of the time of a decomposition of the matrix.
struct Decomposition {
  explicit Decomposition(const MatrixXd& matrix) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(matrix.transpose() * matrix);
    values = solver.eigenvalues().cwiseMax(0).cwiseSqrt();
    vectors = solver.eigenvectors();
  }

  VectorXd values;
  MatrixXd vectors;  // by column
};

// The linear problem at a point, decomposed: steps for any damping.
class LinearProblem {
 public:
  LinearProblem(const FitLandscape& landscape, const FitPoint& here, const Slopes& slopes, const VectorXd& weights) {
    const Index rows = here.residuals.size(), size = landscape.size();
    MatrixXd matrix = MatrixXd::Zero(rows + size, size);
    VectorXd residuals = VectorXd::Zero(rows + size);
    matrix.topRows(rows) = slopes.columns;
    residuals.head(rows) = weights.cwiseProduct(here.residuals);
    for (Index j = 0; j < size; ++j) {
      const double prior = landscape.constant(j).prior;
      if (prior == 0 || slopes.lengths(j) == 0) continue;
      matrix(rows + j, j) = 1 / prior;
      residuals(rows + j) = here.at(j) / prior;
    }
    const VectorXd uphill = matrix.transpose() * residuals;
    for (Index j = 0; j < size; ++j) {
      const bool outward =
          (here.at(j) <= landscape.least()(j) && uphill(j) > 0) || (here.at(j) >= landscape.most()(j) && uphill(j) < 0);
      if (outward) matrix.col(j).setZero();
    }
    const Slopes scaled(std::move(matrix));
    lengths_ = scaled.lengths;
    const MatrixXd normalised = scaled.normalised();
    Decomposition decomposition(normalised);
    along_ = decomposition.vectors.transpose() * (normalised.transpose() * residuals);
    values_ = std::move(decomposition.values);
    vectors_ = std::move(decomposition.vectors);
  }

  VectorXd step(double damping) const {
    VectorXd part = VectorXd::Zero(values_.size());
    for (Index i = 0; i < values_.size(); ++i)
      if (values_(i) > kUndetermined) part(i) = -along_(i) / (values_(i) * values_(i) + damping);
    VectorXd step = vectors_ * part;
    for (Index j = 0; j < step.size(); ++j) step(j) = lengths_(j) > 0 ? step(j) / lengths_(j) : 0;
    const double farthest = step.size() == 0 ? 0 : step.cwiseAbs().maxCoeff();
    return farthest > kLargestMove ? VectorXd(step * (kLargestMove / farthest)) : step;
  }

 private:
  VectorXd lengths_, values_, along_;
  MatrixXd vectors_;
};

Slopes slopes_at(const FitLandscape& landscape, const FitPoint& here) {
  return Slopes(landscape.weights(here).asDiagonal() * landscape.derivatives(here));
}

// A better point, with more and more damping until there is one.
std::optional<FitPoint> improve(const FitLandscape& landscape, const FitPoint& here, double& damping) {
  const LinearProblem problem(landscape, here, slopes_at(landscape, here), landscape.weights(here));
  for (; damping <= kMostDamping; damping *= 10) {
    VectorXd at = (here.at + problem.step(damping)).cwiseMax(landscape.least()).cwiseMin(landscape.most());
    if (at == here.at) return std::nullopt;
    std::optional<FitPoint> there = landscape.point(std::move(at));
    if (!there || there->cost >= here.cost) continue;
    damping = std::max(damping / 10, kLeastDamping);
    return there;
  }
  return std::nullopt;
}

// Goes downhill until there is no better point near by.
void descend(const FitLandscape& landscape, FitPoint& here, int& iterations) {
  double damping = kFirstDamping;
  while (iterations < kMostIterations) {
    ++iterations;
    std::optional<FitPoint> better = improve(landscape, here, damping);
    if (!better) return;
    const bool last = (better->at - here.at).cwiseAbs().maxCoeff() < kSmallMove ||
                      here.cost - better->cost <= landscape.small_gain() * here.cost;
    here = std::move(*better);
    if (last) return;
  }
}

// A constant without effect may belong to an algorithm that is never the fastest because this constant is wrong: tries
// other values of it, farther and farther away. True at the first point that is better.
bool uncover(const FitLandscape& landscape, const Slopes& slopes, FitPoint& here) {
  for (Index j = 0; j < landscape.size(); ++j) {
    if (slopes.lengths(j) > 0) continue;
    for (const double step : kFarSteps) {
      std::optional<FitPoint> there = landscape.beside(here, j, step);
      if (!there || there->cost >= (1 - kFarGain) * here.cost) continue;
      here = std::move(*there);
      return true;
    }
  }
  return false;
}

// Moves constants that lost their effect on the way back to their start, unless that is worse. The slopes where that
// ends.
Slopes put_back(const FitLandscape& landscape, FitPoint& here) {
  Slopes slopes = slopes_at(landscape, here);
  bool moved = false;
  for (Index j = 0; j < landscape.size(); ++j) {
    if (slopes.lengths(j) > 0 || here.at(j) == 0) continue;
    VectorXd at = here.at;
    at(j) = 0;
    std::optional<FitPoint> there = landscape.point(std::move(at));
    if (!there || there->cost > here.cost) continue;
    here = std::move(*there);
    moved = true;
  }
  return moved ? slopes_at(landscape, here) : slopes;
}

// Goes downhill as long as it gets better; the slopes there.
Slopes settle(const FitLandscape& landscape, FitPoint& here, int& iterations) {
  for (;;) {
    descend(landscape, here, iterations);
    const double cost = here.cost;
    Slopes slopes = put_back(landscape, here);
    if (iterations >= kMostIterations) return slopes;
    if (here.cost >= cost && !uncover(landscape, slopes, here)) return slopes;
  }
}

// Inverts the normal equations of the data: which constants they determine, how well, and which only together.
void judge(const FitLandscape& landscape, const FitPoint& here, const Slopes& slopes, FitResult& result) {
  const auto& [values, vectors] = Decomposition(slopes.normalised());
  const Index size = landscape.size();
  const Index rank = (values.array() > kUndetermined).count();
  const Index left = here.residuals.size() - rank;
  MatrixXd covariance = MatrixXd::Zero(size, size);
  for (Index j = 0; j < size; ++j) result.determined[place(j)] = slopes.lengths(j) > 0;
  for (Index i = 0; i < values.size(); ++i) {
    const double effect = std::max(values(i), kUndetermined);
    covariance += vectors.col(i) * vectors.col(i).transpose() / (effect * effect);
    if (values(i) > kUndetermined) continue;
    for (Index j = 0; j < size; ++j)
      if (std::abs(vectors(j, i)) > kInvolved) result.determined[place(j)] = false;
  }
  for (Index j = 0; j < size; ++j) {
    if (result.determined[place(j)] && left > 0)
      result.spread[place(j)] = std::sqrt(covariance(j, j) * landscape.error_variance(here, left)) / slopes.lengths(j);
    for (Index k = j + 1; k < size; ++k) {
      if (slopes.lengths(j) == 0 || slopes.lengths(k) == 0) continue;
      if (std::abs(covariance(j, k)) > kStrongCorrelation * std::sqrt(covariance(j, j) * covariance(k, k)))
        result.correlated.emplace_back(place(j), place(k));
    }
  }
}

double rms(const FitPoint& point) {
  return std::sqrt(point.residuals.squaredNorm() / static_cast<double>(point.residuals.size()));
}

void check(const FitProblem& problem) {
  ORRERY_ASSERT(problem.residuals && problem.loss_scale >= 0);
  ORRERY_ASSERT(problem.from.empty() || problem.from.size() == problem.constants.size());
  for (const FittedConstant& c : problem.constants) {
    ORRERY_ASSERT(std::isfinite(c.start) && c.start >= 0 && c.least <= c.start && c.start <= c.most);
    ORRERY_ASSERT(c.prior >= 0 && (c.start > 0 ? c.scale == 0 && c.least >= 0 : c.scale > 0));
  }
  if (problem.residual_count == 0) throw InputError({}, "there are no measurements to fit constants to");
}

FitPoint point_at(const FitLandscape& landscape, VectorXd at) {
  if (std::optional<FitPoint> point = landscape.point(std::move(at))) return std::move(*point);
  throw InputError({}, "the model has no answer with the constants that a fit starts from");
}

}  // namespace

FitResult fit_constants(const FitProblem& problem) {
  check(problem);
  const FitLandscape landscape(problem);
  const FitPoint start = point_at(landscape, VectorXd::Zero(landscape.size()));
  FitPoint here = problem.from.empty() ? start : point_at(landscape, landscape.coordinates(problem.from));
  const std::size_t size = problem.constants.size();
  FitResult result;
  result.values.resize(size);
  result.spread.assign(size, std::numeric_limits<double>::infinity());
  result.determined.resize(size);
  result.at_bound.resize(size);
  result.rms_before = result.rms_after = rms(start);
  result.cost = start.cost;
  if (size == 0) return result;
  judge(landscape, here, settle(landscape, here, result.iterations), result);
  for (Index j = 0; j < landscape.size(); ++j) {
    result.values[place(j)] = landscape.value(j, here.at(j));
    result.at_bound[place(j)] = here.at(j) <= landscape.least()(j) || here.at(j) >= landscape.most()(j);
  }
  result.rms_after = rms(here);
  result.cost = here.cost;
  return result;
}

std::vector<double> marginal_errors(std::span<const std::vector<double>> columns, std::size_t free, double error,
                                    double held) {
  const Index size = index(columns.size());
  MatrixXd slopes(columns.empty() ? 0 : index(columns.front().size()), size);
  for (Index j = 0; j < size; ++j) slopes.col(j) = VectorXd::Map(columns[place(j)].data(), slopes.rows());
  MatrixXd information = slopes.transpose() * slopes / (error * error);
  for (Index j = index(free); j < size; ++j) information(j, j) += 1 / (held * held);
  const MatrixXd covariance = information.ldlt().solve(MatrixXd::Identity(size, size));
  std::vector<double> errors(free);
  for (std::size_t j = 0; j < free; ++j) errors[j] = std::sqrt(std::max(0.0, covariance(index(j), index(j))));
  return errors;
}

ColumnChoice independent_columns(std::span<const std::vector<double>> columns, double share) {
  using Column = VectorXd;
  constexpr double kZero = 1e-9;
  // The least part of a column, in lengths of its own, that counts as one of what it is combined of.
  constexpr double kPart = 0.01;
  std::vector<Column> all;
  double longest = 0;
  for (const std::vector<double>& column : columns) {
    all.push_back(Column::Map(column.data(), index(column.size())));
    longest = std::max(longest, all.back().norm());
  }
  ColumnChoice choice;
  MatrixXd kept(all.empty() ? 0 : all.front().size(), 0);
  for (std::size_t j = 0; j < all.size(); ++j) {
    const double own = all[j].norm();
    if (own <= kZero * longest) {
      choice.left.push_back({j, {}});
      continue;
    }
    const Column parts = kept.cols() == 0 ? Column() : Column(kept.householderQr().solve(all[j]));
    if ((all[j] - kept * parts).norm() > share * own) {
      kept.conservativeResize(Eigen::NoChange, kept.cols() + 1);
      kept.rightCols(1) = all[j];
      choice.kept.push_back(j);
      continue;
    }
    DependentColumn dependent{j, {}};
    for (Index k = 0; k < parts.size(); ++k)
      if (std::abs(parts(k)) * kept.col(k).norm() > kPart * own) dependent.on.push_back(choice.kept[place(k)]);
    choice.left.push_back(std::move(dependent));
  }
  return choice;
}

}  // namespace orrery::study
