// SPDX-License-Identifier: MIT
// Figures of results side by side (report/figures.h), and the memory of their fullest ranks by use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/figures.h"
#include "report/result.h"

namespace orrery::study {

// True if two numbers differ by no more than a billionth of the second, which no text shows.
bool is_same(double one, double other);

using Results = std::span<const report::Result* const>;

// A figure that comparisons show and at least one of the results has.
struct ComparedFigure {
  const report::Figure* figure = nullptr;
  std::vector<std::optional<report::FigureValue>> values{};  // by result
  std::vector<std::optional<double>> numbers{};              // likewise
};
// Lists them in the order of report::figures(), without the time.
std::vector<ComparedFigure> compared_figures(Results results);

// True where `one` has the unit of `other` and is to it, in every result, as in the first: one of them tells both.
bool tells_the_same(const ComparedFigure& one, const ComparedFigure& other);

// Bytes of the fullest ranks for one use: of workload::MemoryUse, or "libraries".
struct MemoryDifference {
  std::string what;
  std::int64_t first = 0, second = 0;

  std::int64_t difference() const { return second - first; }
};
// Every use that one of them has, what differs most first; the sum is in use. Empty where one does not train.
std::vector<MemoryDifference> differing_memory(const report::Result& first, const report::Result& second);

// Memory of the fullest rank against its device's. kTight: with libraries and what the allocator cannot use it is above
// what the driver has, so that the job may run out of it; kOver: by its arithmetic alone. kFits also of what does not
// train.
enum class MemoryFit : std::uint8_t { kFits, kTight, kOver };
MemoryFit memory_fit(const report::Result& result);

// Tells in a few words what a job does: "trains a model", "replays traces", "calls one collective".
std::string work_of(const report::Result& result);

// True if the model of a training job has tokens, and no samples.
bool has_tokens(const report::Result& result);
// Tokens, or samples, of an iteration of all ranks; 0 of a job without any.
double tokens_of(const report::Result& result);

}  // namespace orrery::study
