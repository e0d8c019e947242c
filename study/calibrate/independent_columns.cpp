#include "study/calibrate/independent_columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery {
namespace {

constexpr double kZero = 1e-9;
// The least part of a column, in lengths of its own, that counts as one of what it is combined of.
constexpr double kPart = 0.01;

using Column = std::vector<double>;

double product(const Column& a, const Column& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
double length(const Column& a) { return std::sqrt(product(a, a)); }

void add(Column& to, const Column& from, double factor) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

// Gram-Schmidt, which remembers what each direction is combined of.
class Basis {
 public:
  // Takes out of `column` what the directions have of it; returns the parts by kept column.
  Column reduce(Column& column) const {
    Column parts(directions_.size(), 0.0);
    for (int pass = 0; pass < 2; ++pass)  // the second takes away what rounding left
      for (std::size_t i = 0; i < directions_.size(); ++i) {
        const double along = product(column, directions_[i]);
        add(column, directions_[i], -along);
        for (std::size_t k = 0; k <= i; ++k) parts[k] += along * parts_[i][k];
      }
    return parts;
  }

  // `rest` and `parts` as reduce() leaves them.
  void extend(Column rest, Column parts) {
    const double norm = length(rest);
    for (double& x : rest) x /= norm;
    for (double& x : parts) x /= -norm;
    parts.push_back(1 / norm);
    directions_.push_back(std::move(rest));
    parts_.push_back(std::move(parts));
  }

 private:
  std::vector<Column> directions_;
  std::vector<Column> parts_;  // of each direction, by kept column
};

}  // namespace

ColumnChoice independent_columns(std::span<const std::vector<double>> columns, double share) {
  double longest = 0;
  for (const Column& column : columns) longest = std::max(longest, length(column));
  ColumnChoice choice;
  Basis basis;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const double own = length(columns[j]);
    if (own <= kZero * longest) {
      choice.left.push_back({j, {}});
      continue;
    }
    Column rest = columns[j];
    Column parts = basis.reduce(rest);
    if (length(rest) > share * own) {
      basis.extend(std::move(rest), std::move(parts));
      choice.kept.push_back(j);
      continue;
    }
    DependentColumn dependent{j, {}};
    for (std::size_t k = 0; k < parts.size(); ++k)
      if (std::abs(parts[k]) * length(columns[choice.kept[k]]) > kPart * own)
        dependent.on.push_back(choice.kept[k]);
    choice.left.push_back(std::move(dependent));
  }
  return choice;
}

}  // namespace orrery
