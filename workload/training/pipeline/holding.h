// SPDX-License-Identifier: MIT
// Memory that comes and goes in the course of an iteration, worked out run by run instead of pass by pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/units.h"
#include "workload/training/pipeline/phases.h"

namespace orrery::workload {

// Bytes beside those held before: the most while something goes on, and what is left behind it.
struct Holding {
  Bytes most;
  Bytes left;

  // Books bytes that are taken, and those of them that are given back.
  void book(Bytes taken, Bytes given) {
    most = std::max(most, left + taken);
    left += taken - given;
  }
  void add(const Holding& next) {
    most = std::max(most, left + next.most);
    left += next.left;
  }
  // The same so many times, at least once: what is left adds up evenly, so that the first or the last has the most.
  Holding repeated(std::int64_t times) const { return {most + std::max(Bytes(0), left * (times - 1)), left * times}; }
};

// Returns what the passes of a stage hold together; `of_run(steps)`: the passes of one run, once.
template <typename OfRun>
Holding holding_of(std::span<const PassPhase> phases, const OfRun& of_run) {
  Holding all;
  for (const PassPhase& phase : phases) {
    Holding once;
    for (const PassRun& run : phase.runs) once.add(of_run(run.steps()).repeated(run.times()));
    all.add(once.repeated(phase.times));
  }
  return all;
}

}  // namespace orrery::workload
