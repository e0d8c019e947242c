// What the program's exit status says.
#pragma once

namespace orrery::cli {

inline constexpr int kDone = 0;
inline constexpr int kBadInput = 2;
inline constexpr int kStuck = 3;        // the simulated job cannot finish
inline constexpr int kCheckFailed = 4;  // a check that was asked for

}  // namespace orrery::cli
