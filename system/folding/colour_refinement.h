// SPDX-License-Identifier: MIT
// The coarsest equitable partition of a labelled graph, by colour refinement: vertices of one class have the same own
// colour and, for every label and class, the same number of neighbours of that class over edges of that label.
//
// The graph may grow between refinements; the partition then only gets finer, and only what a change reaches is looked
// at again: the members of a split class that nothing changed for keep its number, so that their neighbours need not be
// compared anew. What neighbours a vertex has is summed up in two hashes of 64 bits each; labels and own colours are
// numbers of the caller. is_equitable(), for tests, compares neighbours in full.
//
// After Paige and Tarjan, "Three partition refinement algorithms", SIAM J. Comput. 16 (1987), and Berkholz, Bonsma and
// Grohe, "Tight lower and upper bounds for the complexity of canonical colour refinement", ESA 2013.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace orrery::system {

class ColourRefinement {
 public:
  using Vertex = std::uint32_t;
  using Colour = std::uint32_t;

  // A vertex that is told apart by `own`.
  Vertex add_vertex(std::uint64_t own);
  // Each end sees the other under a label.
  void add_edge(Vertex a, Vertex b, std::uint64_t label_of_b_at_a, std::uint64_t label_of_a_at_b);
  // The same label at both ends.
  void add_edge(Vertex a, Vertex b, std::uint64_t label) { add_edge(a, b, label, label); }

  void refine();

  // Whether a class came to be, or lost members, since forget_changes().
  bool has_changed(Colour colour) const { return classes_[colour].changed_in == epoch_; }
  // The class that it was part of then; nothing for a class of new vertices.
  std::optional<Colour> before(Colour colour) const;
  // Whether any class of before has come apart.
  bool has_split() const { return split_in_ == epoch_; }
  void forget_changes() { ++epoch_; }

  // As of the last refine(): classes are numbered in the order in which they came to be.
  Colour colour(Vertex vertex) const { return colours_[vertex]; }
  std::uint32_t class_size(Colour colour) const { return classes_[colour].size; }
  std::uint32_t class_count() const { return static_cast<std::uint32_t>(classes_.size()); }
  std::uint32_t vertex_count() const { return static_cast<std::uint32_t>(colours_.size()); }

  // Whether the partition is what it claims to be, neighbour by neighbour.
  bool is_equitable() const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // A sum over the neighbours of a vertex, in two independent hashes.
  struct Signature {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    void add(Colour colour, std::uint64_t label);
    void remove(Colour colour, std::uint64_t label);
    auto operator<=>(const Signature&) const = default;
  };
  struct HalfEdge {
    Vertex to = 0;
    std::uint32_t next = kNone;  // of the same vertex
    std::uint64_t label = 0;     // under which the vertex sees `to`
    std::uint64_t label_there = 0;
  };
  struct Class {
    std::uint32_t size = 0;
    std::uint32_t changed_in = 0;  // epoch
    std::uint32_t created_in = 0;  // epoch, before which its members were part of:
    Colour part_of = kNone;
    Signature signature;  // of its members, as of the last round
  };
  struct Move {
    Vertex vertex;
    Colour from;
  };

  void mark_dirty(Vertex vertex);
  void place_new_vertices();
  void split_classes();
  void split(std::vector<Vertex>::iterator begin, std::vector<Vertex>::iterator end);
  void move(Vertex vertex, Colour to);
  void tell_neighbours();

  std::vector<std::uint64_t> own_;
  std::vector<Colour> colours_;
  std::vector<Signature> signatures_;
  std::vector<std::uint32_t> first_edge_;
  std::vector<HalfEdge> edges_;
  std::vector<Class> classes_;
  std::unordered_map<std::uint64_t, Colour> class_of_new_;  // by own colour: the vertices not yet compared
  std::vector<bool> is_dirty_;
  std::vector<Vertex> dirty_;
  std::vector<Vertex> new_vertices_;
  std::vector<Move> moves_;
  std::uint32_t epoch_ = 1;
  std::uint32_t split_in_ = 0;  // the last epoch in which a class of before came apart
};

}  // namespace orrery::system
