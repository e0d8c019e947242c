// SPDX-License-Identifier: MIT
#include "study/calibrate/independent_columns.h"

#include <algorithm>
#include <cmath>

#include <Eigen/QR>

namespace orrery::study {
namespace {

constexpr double kZero = 1e-9;
// The least part of a column, in lengths of its own, that counts as one of what it is combined of.
constexpr double kPart = 0.01;

}  // namespace

ColumnChoice independent_columns(std::span<const std::vector<double>> columns, double share) {
  using Column = Eigen::VectorXd;
  std::vector<Column> all;
  double longest = 0;
  for (const std::vector<double>& column : columns) {
    all.push_back(Column::Map(column.data(), static_cast<Eigen::Index>(column.size())));
    longest = std::max(longest, all.back().norm());
  }
  ColumnChoice choice;
  Eigen::MatrixXd kept(all.empty() ? 0 : all.front().size(), 0);
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
    for (Eigen::Index k = 0; k < parts.size(); ++k)
      if (std::abs(parts(k)) * kept.col(k).norm() > kPart * own)
        dependent.on.push_back(choice.kept[static_cast<std::size_t>(k)]);
    choice.left.push_back(std::move(dependent));
  }
  return choice;
}

}  // namespace orrery::study
