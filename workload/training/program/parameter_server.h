// What a parameter server does: takes gradients from every worker, updates its share of the parameters, and answers.
#pragma once

#include <cstdint>

#include "workload/training/program/stage_program.h"
#include "workload/training/spec/operators.h"
#include "workload/training/spec/training_spec.h"

namespace orrery {

// The program of server `server`; its peer slot w is worker w (PeerKind::kServer with that number).
StageProgram server_program(const TrainingSpec& training, std::int64_t parameters, std::uint32_t server,
                            const OperatorTimes& times);

}  // namespace orrery
