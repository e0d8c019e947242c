// Writes a job as traces and says how to replay it.
#pragma once

#include <string>

#include "workload/graph/job.h"

namespace orrery::cli {

// `<folder>/rank.<r>.et` and `<folder>/groups.json`, none of which may have been read; prints what was written.
void write_and_tell(const Job& job, const std::string& folder);

}  // namespace orrery::cli
