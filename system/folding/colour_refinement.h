// SPDX-License-Identifier: MIT
// The coarsest equitable partition of a labelled graph, by colour refinement: vertices of one class have the same own
// colour and, for every label and class, the same number of neighbours of that class over edges of that label.
//
// The graph may grow between refinements; the partition then only gets finer, and only what a change reaches is looked
// at again: the members of a split class that nothing changed for keep its number, so that their neighbours need not be
// compared anew. What neighbours a vertex has is summed up in two hashes of 64 bits each; labels and own colours are
// numbers of the caller. is_equitable(), for tests, compares neighbours in full.
//
// The members of a class lie side by side, those that may have changed first, so that a class is taken apart without
// looking at the others. The half-edges of a vertex lie side by side too, in one block for each refine() that brought
// it edges.
//
// A vertex may stand for many that are known to be alike, as many as it weighs: its edges then say how often each end
// sees the other.
//
// After Paige and Tarjan, "Three partition refinement algorithms", SIAM J. Comput. 16 (1987), and Berkholz, Bonsma and
// Grohe, "Tight lower and upper bounds for the complexity of canonical colour refinement", ESA 2013.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/hash.h"

namespace orrery::system {

class ColourRefinement {
 public:
  using Vertex = std::uint32_t;
  using Colour = std::uint32_t;

  // A vertex that is told apart by `own`.
  Vertex add_vertex(std::uint64_t own, std::uint32_t weight = 1);
  // Each end sees the other under a label, so many times.
  struct End {
    std::uint64_t label;
    std::uint32_t times;

    bool operator==(const End&) const = default;
  };
  void add_edge(Vertex a, Vertex b, End b_at_a, End a_at_b);
  void add_edge(Vertex a, Vertex b, std::uint64_t label_of_b_at_a, std::uint64_t label_of_a_at_b) {
    add_edge(a, b, End{label_of_b_at_a, 1}, End{label_of_a_at_b, 1});
  }
  // The same label at both ends.
  void add_edge(Vertex a, Vertex b, std::uint64_t label) { add_edge(a, b, label, label); }

  void refine();

  // The classes that came to be, or lost members, since forget_changes().
  std::span<const Colour> changed() const { return changed_; }
  bool has_changed(Colour colour) const { return classes_[colour].changed_in == epoch_; }
  // The class that it was part of then; nothing for a class of new vertices.
  std::optional<Colour> before(Colour colour) const;
  void forget_changes();

  // Class of a vertex after the last refine(); classes are numbered in the order of their creation.
  Colour colour(Vertex vertex) const { return colours_[vertex]; }
  // In no order.
  std::span<const Vertex> members(Colour colour) const {
    return std::span(members_).subspan(classes_[colour].begin, classes_[colour].size);
  }
  // Total weight of the members of a class.
  std::uint32_t class_size(Colour colour) const { return classes_[colour].weight; }
  std::uint32_t weight(Vertex vertex) const { return vertex < weights_.size() ? weights_[vertex] : 1; }
  std::uint32_t class_count() const { return static_cast<std::uint32_t>(classes_.size()); }
  std::uint32_t vertex_count() const { return static_cast<std::uint32_t>(signatures_.size()); }
  // Once for each edge: the neighbour, and how often the vertex sees it.
  template <class Visit>
  void for_each_neighbour(Vertex vertex, const Visit& visit) const {
    for_each_half(vertex, [&](const Half& half) { visit(half.to, labels_[half.label_there ^ 1].times); });
  }

  // Checks, neighbour by neighbour, that the partition is equitable.
  bool is_equitable() const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // A label, hashed for each part of a signature.
  struct Label {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::uint32_t times = 1;
  };
  // A sum over the neighbours of a vertex, in two independent hashes.
  struct Signature {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    void add(Colour colour, const Label& label) {
      low += label.times * mixed(label.low + colour);
      high += label.times * mixed(label.high ^ (std::uint64_t{colour} << 20));
    }
    void remove(Colour colour, const Label& label) {
      low -= label.times * mixed(label.low + colour);
      high -= label.times * mixed(label.high ^ (std::uint64_t{colour} << 20));
    }
    bool operator==(const Signature&) const = default;
  };
  struct SignatureHash {
    std::size_t operator()(const Signature& signature) const { return signature.low; }
  };
  // Labels are interned in pairs, side by side: of each end at the other. One half sees by the first, the other by the
  // second.
  struct LabelPair {
    End at_a;
    End at_b;

    bool operator==(const LabelPair&) const = default;
  };
  struct LabelPairHash {
    std::size_t operator()(const LabelPair& pair) const {
      return mixed(pair.at_a.label + pair.at_a.times) + pair.at_b.label;
    }
  };
  struct NewEdge {
    Vertex a = 0;
    Vertex b = 0;
    std::uint32_t label = 0;  // of b at a; that of a at b is the next
  };
  // The first of a block has where the vertex' block before begins, and how many follow.
  struct Half {
    Vertex to = 0;
    std::uint32_t label_there = 0;  // under which `to` sees the vertex
  };
  // Blocks that stay where they are: an index is a page and a place in it. A block longer than a page has pages of
  // its own, one behind the other.
  class Blocks {
   public:
    std::uint32_t take(std::uint32_t length);
    Half* at(std::uint32_t index) const { return pages_[index >> kPageBits] + (index & (kPage - 1)); }

   private:
    static constexpr std::uint32_t kPageBits = 13;
    static constexpr std::uint32_t kPage = 1u << kPageBits;

    std::vector<std::unique_ptr<Half[]>> owned_;
    std::vector<Half*> pages_;
    std::uint32_t left_ = 0;  // of the last page
  };
  struct Class {
    std::uint32_t begin = 0;  // in members_
    std::uint32_t size = 0;
    std::uint32_t weight = 0;      // of the members together
    std::uint32_t dirty = 0;       // of them, the first
    std::uint32_t changed_in = 0;  // epoch
    std::uint32_t created_in = 0;  // epoch, before which its members were part of:
    Colour part_of = kNone;
    Signature signature;  // of its members, as of the last round
  };
  // A class whose members were of another, or are new.
  struct Move {
    Colour to;
    Colour from;
  };

  template <class Visit>
  void for_each_half(Vertex vertex, const Visit& visit) const {
    for (std::uint32_t block = first_block_[vertex]; block != kNone;) {
      const Half* const head = blocks_.at(block);
      for (const Half *half = head + 1, *end = half + head->label_there; half != end; ++half) visit(*half);
      block = head->to;
    }
  }
  std::uint32_t label_pair(End at_a, End at_b);
  void attach_new_edges();
  void place_new_vertices();
  void mark_dirty(Vertex vertex);
  void put(Vertex vertex, std::uint32_t position);
  void tell_neighbours();
  void split_classes();
  void split(Colour colour);
  std::uint32_t find_parts(std::span<const Vertex> vertices);
  void take_out(Colour colour, std::uint32_t count, const Signature& signature);
  void note_change(Colour colour);

  std::vector<Colour> colours_;
  std::vector<Signature> signatures_;
  std::vector<std::uint32_t> weights_;  // up to the last that is not 1
  std::vector<std::uint32_t> first_block_;
  std::vector<std::uint32_t> next_half_;  // while edges are attached: how many, then where the next goes; else 0
  std::vector<Vertex> members_;           // class by class
  std::vector<std::uint32_t> position_;   // in members_
  std::vector<Class> classes_;
  Blocks blocks_;
  std::vector<Label> labels_;
  std::unordered_map<LabelPair, std::uint32_t, LabelPairHash> label_pairs_;
  std::array<std::pair<LabelPair, std::uint32_t>, 64> recent_labels_{};  // 0: none; that of pair p is p + 1
  std::vector<std::uint64_t> new_own_;                                   // of vertices without a colour
  std::vector<NewEdge> new_edges_;
  std::vector<Colour> dirty_classes_;
  std::vector<Move> moves_;
  std::vector<Colour> changed_;
  std::vector<Vertex> told_;  // scratch
  struct Part {
    Signature signature;
    std::uint32_t count = 0;
  };
  std::vector<Part> parts_;             // scratch
  std::vector<std::uint32_t> part_of_;  // scratch
  std::uint32_t epoch_ = 1;
};

}  // namespace orrery::system
