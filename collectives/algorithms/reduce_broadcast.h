// SPDX-License-Identifier: MIT
// An all-reduce made of two programs with one root: a reduce to it, then a broadcast from it. A rank's sends and its
// receive slots of the broadcast follow those of the reduce.
//
// The algorithm is a struct C with
//   reduce(), broadcast()            the programs, of the same split
//   root_needs(layout, index)        receives of the reduce that the root's index-th send of the broadcast passes on
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/program.h"

namespace orrery::collectives::reduce_broadcast {

template <class C>
std::uint32_t sends(const Layout& layout, std::uint32_t rank) {
  return C::reduce().sends(layout, rank) + C::broadcast().sends(layout, rank);
}

template <class C>
std::uint32_t receives(const Layout& layout, std::uint32_t rank) {
  return C::reduce().receives(layout, rank) + C::broadcast().receives(layout, rank);
}

template <class C>
Step step(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const std::uint32_t before = C::reduce().sends(layout, rank);
  if (index < before) return C::reduce().step(layout, rank, index);
  Step step = C::broadcast().step(layout, rank, index - before);
  step.slot += C::reduce().receives(layout, step.to);
  const std::uint32_t received = C::reduce().receives(layout, rank);
  step.needs = rank == layout.root ? C::root_needs(layout, index)
                                   : SlotRange{step.needs.begin + received, step.needs.end + received};
  if (step.after_send) *step.after_send += before;
  return step;
}

template <class C>
std::vector<PieceId> pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const std::uint32_t before = C::reduce().sends(layout, rank);
  return index < before ? C::reduce().pieces(layout, rank, index) : C::broadcast().pieces(layout, rank, index - before);
}

template <class C>
constexpr Program program(Split split, std::string_view cost) {
  return {CollectiveKind::kAllReduce, split, sends<C>, receives<C>, step<C>, pieces<C>, cost};
}

}  // namespace orrery::collectives::reduce_broadcast
