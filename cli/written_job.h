// Writes a job as traces and says how to replay it.
#pragma once

#include <span>
#include <string>

#include "workload/job.h"

namespace orrery::cli {

// `<folder>/rank.<r>.et` and `<folder>/groups.json`, none of which may be one of `inputs`; prints what was written.
void write_and_tell(const Job& job, const std::string& folder, std::span<const std::string> inputs);

}  // namespace orrery::cli
