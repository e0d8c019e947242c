// SPDX-License-Identifier: MIT
// Predictions of all rows of a log with one set of constants after the other, as a fit asks for them. Rows of the same
// size are predicted once; and of a size that NCCL may do in several ways, only those whose constants have changed.
// Exactly what predicted_seconds() says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/nccl/constants.h"
#include "collectives/nccl/cost.h"
#include "study/calibrate/data.h"

namespace orrery::study {

class NcclPredictor {
 public:
  // Both outlive it.
  NcclPredictor(const CalibrationData& data, std::span<const CalibrationRow> rows);

  // By row. InputError as predicted_seconds().
  std::span<const double> seconds(const collectives::NcclConstants& constants);

 private:
  // What the time of a way depends on besides the size. Of the outlines, which depend on the size in their volume and
  // in what each of them does with small and large ones, two stand for all.
  struct Basis {
    std::array<double, 8> outlines{};
    std::array<double, 5> general{};

    bool operator==(const Basis&) const = default;
  };

  struct Way {
    collectives::NcclCandidate offer;
    // The last two that were asked for: a derivative changes one constant and then another.
    std::array<Basis, 2> basis;
    std::array<std::vector<double>, 2> seconds;  // by point; empty: none yet
    std::size_t latest = 0;
  };

  struct Table {
    const NcclBenchmark* benchmark = nullptr;
    std::vector<Bytes> sizes;  // the distinct ones, ascending
    std::vector<Way> ways;     // none of sendrecv
    std::vector<double> best;  // by size
  };

  void predict(Table& table, const collectives::NcclConstants& constants) const;
  static Basis basis_of(const Table& table, const collectives::NcclCandidate& offer,
                        const collectives::NcclConstants& constants);
  static const std::vector<double>& seconds_of(Way& way, const Table& table,
                                               const collectives::NcclConstants& constants);

  struct Place {
    std::uint32_t table = 0;
    std::uint32_t size = 0;
  };

  std::vector<Table> tables_;
  std::vector<Place> places_;  // by row
  std::vector<double> seconds_;
};

// Of a latency that is 0, in seconds: a change that may matter.
inline constexpr double kLatencyScale = 1e-6;

// Of every algorithm that could run, whichever is the fastest: its relative change for each row, when the constant is
// halved and doubled.
std::vector<double> effect_on_algorithms(const CalibrationData& data, std::span<const CalibrationRow> rows,
                                         const collectives::NcclConstants& constants, std::size_t number);

// Of the fastest: the change of the logarithm of its time for each row, when the constant changes a little.
std::vector<double> effect_on_rows(const CalibrationData& data, std::span<const CalibrationRow> rows,
                                   const collectives::NcclConstants& constants, std::size_t number);

}  // namespace orrery::study
