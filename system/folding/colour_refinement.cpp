// SPDX-License-Identifier: MIT
#include "system/folding/colour_refinement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/assert.h"

namespace orrery::system {
namespace {

// Number of edges that wait for their blocks at a time, so that these take little beside those that have them.
constexpr std::size_t kMostNewEdges = 1u << 18;

// There may be many vertices: with doubling, half of what they take would stand empty.
template <class Item>
void append(std::vector<Item>& items, const Item& item) {
  if (items.size() == items.capacity()) items.reserve(items.size() + items.size() / 4 + 64);
  items.push_back(item);
}

}  // namespace

std::uint32_t ColourRefinement::Blocks::take(std::uint32_t length) {
  if (length > left_) {
    const std::uint32_t pages = (length + kPage - 1) >> kPageBits;
    ORRERY_ASSERT(pages_.size() + pages <= (kNone >> kPageBits));
    Half* const first = owned_.emplace_back(std::make_unique_for_overwrite<Half[]>(std::size_t{pages} * kPage)).get();
    for (std::uint32_t page = 0; page < pages; ++page) pages_.push_back(first + std::size_t{page} * kPage);
    left_ = pages * kPage;
  }
  const auto index = static_cast<std::uint32_t>((pages_.size() << kPageBits) - left_);
  left_ -= length;
  return index;
}

ColourRefinement::Vertex ColourRefinement::add_vertex(std::uint64_t own, std::uint32_t weight) {
  const Vertex vertex = vertex_count();
  ORRERY_ASSERT(vertex != kNone);
  new_own_.push_back(own);
  if (weight != 1) {
    weights_.resize(vertex, 1);
    weights_.push_back(weight);
  }
  append(colours_, kNone);
  append(signatures_, {});
  append(first_block_, kNone);
  append(next_half_, 0U);
  return vertex;
}

void ColourRefinement::add_edge(Vertex a, Vertex b, End b_at_a, End a_at_b) {
  new_edges_.push_back({a, b, label_pair(b_at_a, a_at_b)});
  if (new_edges_.size() >= kMostNewEdges) attach_new_edges();
}

// Edges that are added one after the other have few labels.
std::uint32_t ColourRefinement::label_pair(End at_a, End at_b) {
  const LabelPair pair{at_a, at_b};
  auto& recent = recent_labels_[(at_a.label + 3 * at_b.label) % recent_labels_.size()];
  if (recent.second != 0 && recent.first == pair) return recent.second - 1;
  const auto [known, is_new] = label_pairs_.try_emplace(pair, static_cast<std::uint32_t>(labels_.size()));
  if (is_new)
    for (const End& end : {at_a, at_b})
      labels_.push_back({mixed(end.label), mixed(end.label ^ 0x5851f42d4c957f2d), end.times});
  recent = {pair, known->second + 1};
  return known->second;
}

// First how many each vertex gets, then its block, then the edges.
void ColourRefinement::attach_new_edges() {
  std::vector<Vertex> touched;
  const auto count = [&](Vertex vertex) {
    if (next_half_[vertex]++ == 0) touched.push_back(vertex);
  };
  for (const NewEdge& edge : new_edges_) {
    count(edge.a);
    count(edge.b);
  }
  for (const Vertex vertex : touched) {
    const std::uint32_t halves = next_half_[vertex];
    const std::uint32_t block = blocks_.take(halves + 1);
    *blocks_.at(block) = {first_block_[vertex], halves};
    first_block_[vertex] = block;
    next_half_[vertex] = block + 1;
  }
  const auto attach = [&](Vertex vertex, Vertex to, std::uint32_t label_of_to, std::uint32_t label_there) {
    *blocks_.at(next_half_[vertex]++) = {to, label_there};
    if (colours_[to] != kNone) signatures_[vertex].add(colours_[to], labels_[label_of_to]);
    if (colours_[vertex] != kNone) mark_dirty(vertex);
  };
  for (const NewEdge& edge : new_edges_) {
    attach(edge.a, edge.b, edge.label, edge.label + 1);
    attach(edge.b, edge.a, edge.label + 1, edge.label);
  }
  for (const Vertex vertex : touched) next_half_[vertex] = 0;
  new_edges_.clear();
}

void ColourRefinement::refine() {
  attach_new_edges();
  place_new_vertices();
  tell_neighbours();
  while (!dirty_classes_.empty()) {
    split_classes();
    tell_neighbours();
  }
}

void ColourRefinement::forget_changes() {
  ++epoch_;
  changed_.clear();
}

// At first new vertices are told apart by their own colour only, and from all that were there before.
void ColourRefinement::place_new_vertices() {
  const auto first = static_cast<Vertex>(vertex_count() - new_own_.size());
  const Colour first_class = class_count();
  std::unordered_map<std::uint64_t, Colour> class_of;
  for (Vertex vertex = first; vertex < vertex_count(); ++vertex) {
    const std::uint64_t own = new_own_[vertex - first];
    if (vertex > first && own == new_own_[vertex - first - 1]) {
      colours_[vertex] = colours_[vertex - 1];
    } else {
      const auto [place, is_first] = class_of.try_emplace(own, class_count());
      colours_[vertex] = place->second;
      if (is_first) classes_.push_back({0, 0, 0, 0, 0, epoch_, kNone, {}});
    }
    ++classes_[colours_[vertex]].size;
    classes_[colours_[vertex]].weight += weight(vertex);
  }
  std::uint32_t begin = first;
  for (Colour colour = first_class; colour < class_count(); ++colour) {
    classes_[colour].begin = begin;
    begin += classes_[colour].size;
    note_change(colour);
    moves_.push_back({colour, kNone});
    dirty_classes_.push_back(colour);
  }
  for (std::vector<std::uint32_t>* const column : {&members_, &position_}) {
    column->reserve(colours_.capacity());
    column->resize(vertex_count());
  }
  for (Vertex vertex = first; vertex < vertex_count(); ++vertex) {
    Class& of = classes_[colours_[vertex]];
    put(vertex, of.begin + of.dirty++);
  }
  new_own_.clear();
}

void ColourRefinement::put(Vertex vertex, std::uint32_t position) {
  members_[position] = vertex;
  position_[vertex] = position;
}

void ColourRefinement::mark_dirty(Vertex vertex) {
  Class& of = classes_[colours_[vertex]];
  const std::uint32_t position = position_[vertex], dirty_end = of.begin + of.dirty;
  if (position < dirty_end) return;
  if (of.dirty++ == 0) dirty_classes_.push_back(colours_[vertex]);
  put(members_[dirty_end], position);
  put(vertex, dirty_end);
}

void ColourRefinement::tell_neighbours() {
  for (const Move& move : moves_) {
    const std::span<const Vertex> moved = members(move.to);
    told_.assign(moved.begin(), moved.end());  // in whose class places change
    for (const Vertex vertex : told_)
      for_each_half(vertex, [&](const Half& half) {
        const Label& label = labels_[half.label_there];
        if (move.from != kNone) signatures_[half.to].remove(move.from, label);
        signatures_[half.to].add(move.to, label);
        mark_dirty(half.to);
      });
  }
  moves_.clear();
}

void ColourRefinement::split_classes() {
  const std::vector<Colour> round = std::exchange(dirty_classes_, {});
  for (const Colour colour : round) split(colour);
}

// Vertices that were not touched keep the number of the class; if there are none, the largest part keeps it.
void ColourRefinement::split(Colour colour) {
  const Class of = classes_[colour];
  classes_[colour].dirty = 0;
  const std::uint32_t largest = find_parts(std::span(members_).subspan(of.begin, of.dirty));
  const Signature keeps = of.dirty == of.size ? parts_[largest].signature : of.signature;
  classes_[colour].signature = keeps;
  if (parts_.size() > 1) {  // side by side, those that stay last
    told_.assign(members_.begin() + of.begin, members_.begin() + of.begin + of.dirty);
    std::vector<std::uint32_t> next;
    std::uint32_t begin = of.begin;
    for (const Part& part : parts_) {
      next.push_back(begin);
      if (part.signature != keeps) begin += part.count;
    }
    for (std::uint32_t part = 0; part < parts_.size(); ++part)
      if (parts_[part].signature == keeps) next[part] = begin;
    for (std::uint32_t i = 0; i < told_.size(); ++i) put(told_[i], next[part_of_[i]]++);
  }
  for (const Part& part : parts_)
    if (part.signature != keeps) take_out(colour, part.count, part.signature);
}

// Groups vertices by signature, in parts_ and by vertex in part_of_ (unless there is one part only). Returns the
// largest part.
std::uint32_t ColourRefinement::find_parts(std::span<const Vertex> vertices) {
  const auto size = static_cast<std::uint32_t>(vertices.size());
  parts_.assign(1, {signatures_[vertices.front()], size});
  const auto is_other = [&](Vertex vertex) { return signatures_[vertex] != parts_.front().signature; };
  if (std::ranges::none_of(vertices, is_other)) return 0;
  parts_.front().count = 0;
  part_of_.resize(size);
  std::unordered_map<Signature, std::uint32_t, SignatureHash> number{{parts_.front().signature, 0}};
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const Signature& signature = signatures_[vertices[i]];
    if (signature != parts_[last].signature) {
      const auto [known, is_new] = number.try_emplace(signature, static_cast<std::uint32_t>(parts_.size()));
      if (is_new) parts_.push_back({signature, 0});
      last = known->second;
    }
    ++parts_[last].count;
    part_of_[i] = last;
  }
  return static_cast<std::uint32_t>(std::ranges::max_element(parts_, {}, &Part::count) - parts_.begin());
}

// The first members of a class become one of their own.
void ColourRefinement::take_out(Colour colour, std::uint32_t count, const Signature& signature) {
  const Colour to = class_count();
  const std::uint32_t begin = classes_[colour].begin;
  classes_[colour].begin += count;
  classes_[colour].size -= count;
  classes_.push_back({begin, count, 0, 0, 0, epoch_, before(colour).value_or(kNone), signature});
  note_change(colour);
  note_change(to);
  for (const Vertex vertex : members(to)) {
    colours_[vertex] = to;
    classes_[to].weight += weight(vertex);
  }
  classes_[colour].weight -= classes_[to].weight;
  moves_.push_back({to, colour});
}

void ColourRefinement::note_change(Colour colour) {
  if (classes_[colour].changed_in == epoch_) return;
  classes_[colour].changed_in = epoch_;
  changed_.push_back(colour);
}

std::optional<ColourRefinement::Colour> ColourRefinement::before(Colour colour) const {
  const Class& of = classes_[colour];
  if (of.created_in != epoch_) return colour;
  return of.part_of == kNone ? std::nullopt : std::optional(of.part_of);
}

bool ColourRefinement::is_equitable() const {
  using Neighbours = std::map<std::pair<std::uint64_t, Colour>, std::uint64_t>;  // by label and class: how many
  for (Colour colour = 0; colour < class_count(); ++colour) {
    std::optional<Neighbours> of_class;
    for (const Vertex vertex : members(colour)) {
      Neighbours neighbours;
      for_each_half(vertex, [&](const Half& half) {
        const Label& label = labels_[half.label_there ^ 1];
        neighbours[{label.low, colours_[half.to]}] += label.times;
      });
      if (colours_[vertex] != colour || (of_class && neighbours != *of_class)) return false;
      of_class = std::move(neighbours);
    }
  }
  return true;
}

}  // namespace orrery::system
