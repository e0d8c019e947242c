// SPDX-License-Identifier: MIT
// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace orrery {

// Threads that the caller may have at a time, at least one: the machine's, or fewer where it is bound to some of them,
// as tasks of Slurm are and what taskset starts.
unsigned hardware_threads();

// Called by one thread at a time. What it throws is as if the piece before it had thrown it.
using WorkProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Calls work(0) to work(count - 1), each once, in any order, on at most `threads` threads, of which the caller's is
// one. When pieces throw the others still run, and then the exception of the lowest number comes out, whatever the
// number of threads.
void in_parallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work,
                 const WorkProgress& progress = {});

}  // namespace orrery
