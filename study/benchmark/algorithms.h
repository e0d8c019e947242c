// SPDX-License-Identifier: MIT
// The algorithms of a library side by side: one question for each, and what their tables say together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/config/tree.h"
#include "report/plot/picture.h"
#include "study/benchmark/question.h"
#include "study/benchmark/study.h"

namespace orrery::study {

// In place of a name in CollectiveQuestion::algorithm: every algorithm by itself.
inline constexpr std::string_view kEachAlgorithm = "each";

// The question with each algorithm of the question's library that can answer it, in the order of their names. Throws
// what check_collective() does where the question is wrong without any.
std::vector<CollectiveQuestion> with_each_algorithm(const CollectiveQuestion& question,
                                                    const workload::CallOperation& operation, std::span<const Bytes> sizes,
                                                    const ConfigFiles& files);

// True if some row runs the requested algorithm: NCCL falls back if an algorithm does not know the operation.
bool runs_as_asked(const CollectiveTable& table);

// Times of the algorithms of one machine by size, the fastest, and the least time (least_time()) where there is one.
// `tables` are of one cluster and the same sizes; at least one.
std::string algorithms_text(std::span<const CollectiveTable> tables);

// Time and bus bandwidth over size of every table, named by `names`, and the least time of the first one. At least one
// table, with a row of at least one byte.
report::Picture collective_picture(std::span<const CollectiveTable> tables, std::span<const std::string> names);

}  // namespace orrery::study
