// Puts the actions of a layer's pass together: operators gather in one Compute until something is communicated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload/training/layers/layer_program.h"

namespace orrery {

// Where weight gradients are computed: with the gradients of the inputs; apart from them, beside the collective of an
// input gradient that was just added; or apart, so that a schedule can put them off.
enum class WeightGradients : std::uint8_t { kInline, kBeside, kApart };

class ActionList {
 public:
  // What follows is computed under this name, apart from what came before.
  void compute(std::string name);
  void add(const Operator& op);
  void add(const std::vector<Operator>& operators);
  // Weight gradients whose parameters are complete with them.
  void weight_gradient(const std::string& name, const std::vector<Operator>& operators, ParameterCount finishes,
                       WeightGradients place);
  // None of a group of one, nor of no bytes.
  void collective(std::string name, GroupFamily family, std::int64_t group_size, CollectiveKind kind, Bytes bytes);
  void ring(RingExchange exchange);

  std::vector<Action> take() &&;

 private:
  void close();

  std::vector<Action> actions_;
  Compute open_;
};

}  // namespace orrery
