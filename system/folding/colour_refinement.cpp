// SPDX-License-Identifier: MIT
#include "system/folding/colour_refinement.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/assert.h"
#include "core/hash.h"

namespace orrery::system {
namespace {

constexpr std::uint64_t low_hash(std::uint32_t colour, std::uint64_t label) { return mixed(mixed(label) + colour); }
constexpr std::uint64_t high_hash(std::uint32_t colour, std::uint64_t label) {
  return mixed(mixed(label ^ 0x5851f42d4c957f2d) ^ (std::uint64_t{colour} << 20));
}

}  // namespace

void ColourRefinement::Signature::add(Colour colour, std::uint64_t label) {
  low += low_hash(colour, label);
  high += high_hash(colour, label);
}

void ColourRefinement::Signature::remove(Colour colour, std::uint64_t label) {
  low -= low_hash(colour, label);
  high -= high_hash(colour, label);
}

ColourRefinement::Vertex ColourRefinement::add_vertex(std::uint64_t own) {
  const Vertex vertex = vertex_count();
  ORRERY_ASSERT(vertex != kNone);
  own_.push_back(own);
  colours_.push_back(kNone);
  signatures_.emplace_back();
  first_edge_.push_back(kNone);
  is_dirty_.push_back(false);
  new_vertices_.push_back(vertex);
  return vertex;
}

void ColourRefinement::add_edge(Vertex a, Vertex b, std::uint64_t label_of_b_at_a, std::uint64_t label_of_a_at_b) {
  const auto attach = [&](Vertex vertex, Vertex to, std::uint64_t label, std::uint64_t label_there) {
    const auto index = static_cast<std::uint32_t>(edges_.size());
    ORRERY_ASSERT(index != kNone);
    edges_.push_back({to, first_edge_[vertex], label, label_there});
    first_edge_[vertex] = index;
    if (colours_[to] != kNone) signatures_[vertex].add(colours_[to], label);
    if (colours_[vertex] != kNone) mark_dirty(vertex);
  };
  attach(a, b, label_of_b_at_a, label_of_a_at_b);
  attach(b, a, label_of_a_at_b, label_of_b_at_a);
}

void ColourRefinement::refine() {
  place_new_vertices();
  tell_neighbours();
  while (!dirty_.empty()) {
    split_classes();
    tell_neighbours();
  }
}

// At first new vertices are told apart by their own colour only, and from all that were there before.
void ColourRefinement::place_new_vertices() {
  class_of_new_.clear();
  for (const Vertex vertex : new_vertices_) {
    const auto [place, is_first] = class_of_new_.try_emplace(own_[vertex], class_count());
    if (is_first) classes_.push_back({0, epoch_, epoch_, kNone, {}});
    ++classes_[place->second].size;
    colours_[vertex] = place->second;
    moves_.push_back({vertex, kNone});
    mark_dirty(vertex);
  }
  new_vertices_.clear();
}

void ColourRefinement::mark_dirty(Vertex vertex) {
  if (is_dirty_[vertex]) return;
  is_dirty_[vertex] = true;
  dirty_.push_back(vertex);
}

void ColourRefinement::tell_neighbours() {
  for (const Move& move : moves_)
    for (std::uint32_t edge = first_edge_[move.vertex]; edge != kNone; edge = edges_[edge].next) {
      const HalfEdge& half = edges_[edge];
      Signature& signature = signatures_[half.to];
      if (move.from != kNone) signature.remove(move.from, half.label_there);
      signature.add(colours_[move.vertex], half.label_there);
      if (colours_[half.to] != kNone) mark_dirty(half.to);
    }
  moves_.clear();
}

void ColourRefinement::split_classes() {
  std::ranges::sort(dirty_, [&](Vertex a, Vertex b) {
    return std::tie(colours_[a], signatures_[a], a) < std::tie(colours_[b], signatures_[b], b);
  });
  std::vector<Vertex> round;
  round.swap(dirty_);
  for (const Vertex vertex : round) is_dirty_[vertex] = false;
  for (auto begin = round.begin(); begin != round.end();) {
    const Colour colour = colours_[*begin];
    const auto end = std::find_if(begin, round.end(), [&](Vertex v) { return colours_[v] != colour; });
    split(begin, end);
    begin = end;
  }
}

// [begin, end) are the members of one class that may have changed, in the order of their signatures. Those that were
// not touched keep the number of the class; if there are none, the largest part does.
void ColourRefinement::split(std::vector<Vertex>::iterator begin, std::vector<Vertex>::iterator end) {
  const Colour colour = colours_[*begin];
  const auto part_end = [&](std::vector<Vertex>::iterator first) {
    return std::find_if(first, end, [&](Vertex v) { return signatures_[v] != signatures_[*first]; });
  };
  Signature keeps = classes_[colour].signature;
  if (classes_[colour].size == static_cast<std::uint32_t>(end - begin)) {
    std::ptrdiff_t largest = 0;
    for (auto part = begin; part != end; part = part_end(part)) {
      if (part_end(part) - part <= largest) continue;
      largest = part_end(part) - part;
      keeps = signatures_[*part];
    }
  }
  classes_[colour].signature = keeps;
  for (auto part = begin; part != end;) {
    const auto next = part_end(part);
    if (signatures_[*part] != keeps) {
      const Colour to = class_count();
      if (classes_[colour].created_in != epoch_) split_in_ = epoch_;
      classes_.push_back({0, epoch_, epoch_, before(colour).value_or(kNone), signatures_[*part]});
      for (auto vertex = part; vertex != next; ++vertex) move(*vertex, to);
    }
    part = next;
  }
}

void ColourRefinement::move(Vertex vertex, Colour to) {
  moves_.push_back({vertex, colours_[vertex]});
  classes_[colours_[vertex]].changed_in = epoch_;
  --classes_[colours_[vertex]].size;
  ++classes_[to].size;
  colours_[vertex] = to;
}

std::optional<ColourRefinement::Colour> ColourRefinement::before(Colour colour) const {
  const Class& of = classes_[colour];
  if (of.created_in != epoch_) return colour;
  return of.part_of == kNone ? std::nullopt : std::optional(of.part_of);
}

bool ColourRefinement::is_equitable() const {
  using Neighbours = std::vector<std::pair<std::uint64_t, Colour>>;
  std::vector<Neighbours> of_class(class_count());
  std::vector<Vertex> first(class_count(), kNone);
  Neighbours neighbours;
  for (Vertex vertex = 0; vertex < vertex_count(); ++vertex) {
    neighbours.clear();
    for (std::uint32_t edge = first_edge_[vertex]; edge != kNone; edge = edges_[edge].next)
      neighbours.emplace_back(edges_[edge].label, colours_[edges_[edge].to]);
    std::ranges::sort(neighbours);
    const Colour colour = colours_[vertex];
    if (first[colour] == kNone) {
      first[colour] = vertex;
      of_class[colour] = neighbours;
    } else if (own_[vertex] != own_[first[colour]] || neighbours != of_class[colour]) {
      return false;
    }
  }
  return true;
}

}  // namespace orrery::system
