// Work of independent parts on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace orrery {

// Calls `work` with every number below `count`, on `threads` threads (at least one; the caller's is one of them). Lower
// numbers start first. Once a call has thrown no other is started, and what it threw is thrown.
void in_parallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

}  // namespace orrery
