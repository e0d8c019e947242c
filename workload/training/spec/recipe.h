// SPDX-License-Identifier: MIT
// Recipe of training in low precision: operands of which products are cast, to which format, and what that moves, keeps
// and saves. Read from configs/recipes; that of fp8 may be a software's own.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/config/config.h"
#include "core/precision.h"
#include "core/units.h"
#include "workload/training/spec/operators.h"

namespace orrery::workload {

// Scales are of a whole tensor or of blocks of it, from earlier steps or from what is cast: recipes differ in how often
// they read it.
struct Recipe {
  std::string name;                        // empty: a software's own
  Precision precision = Precision::kFp8;   // one of products only
  Bytes operand{0};                        // memory traffic of casting one value both ways, without its scales
  Bytes normalised{0};                     // of one that comes from a norm, whose kernel may cast it
  std::int64_t block = 0;                  // values that share a scale; 0: scales are too few to count
  Bytes scale{0};                          // size of a scale
  bool gathers = false;                    // tensor-parallel all-gathers move what is cast
  bool parameters = false;                 // replicas gather parameters as they are cast (ZeRO)
  Bytes copies{0};                         // of a weight, that stay beside it where parameters are not kept cast
  bool saved = false;                      // inputs of products are kept as they are cast
  std::int64_t first = 0;                  // layers that stay in bf16, at the start of the model
  std::int64_t last = 0;                   // and at its end
  std::array<bool, 5> products_in_bf16{};  // by Product
  std::array<bool, 3> stages_in_bf16{};    // by ProductStage

  // True if `product` takes operands that are cast in this stage.
  bool casts(Product product, ProductStage stage) const {
    return !products_in_bf16[static_cast<std::size_t>(product)] &&
           (product == Product::kOther || !stages_in_bf16[static_cast<std::size_t>(stage)]);
  }
  // True if layer `number` of a model of `layers` computes in bf16.
  bool leaves_out(std::int64_t number, std::int64_t layers) const {
    return number < first || (number < layers && number >= layers - last);
  }
  // Size of values as they are cast, with their scales; of scales alone; and of cast values with their scales. Rounded
  // up.
  Bytes size_of_values(std::int64_t values) const;
  Bytes scales(std::int64_t values) const;
  Bytes with_scales(Bytes cast) const;
  // Memory traffic of casting values for products in `orientations`: 2, or 1 where only one kind of product takes them.
  Bytes traffic(std::int64_t values, bool normalised_values, std::int64_t orientations) const;

  bool operator==(const Recipe&) const = default;
};

// Reads the keys of casts, which a software's section `fp8` has, too.
void read_casts(Section& section, Recipe& recipe);
// Reads a file of configs/recipes, or the same inline.
Recipe read_recipe(Section& section);
// Recipe of a job that names a precision alone, a file of configs/recipes; empty: none, or that of its software.
std::string_view default_recipe(std::string_view precision);

}  // namespace orrery::workload
