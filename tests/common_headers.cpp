// SPDX-License-Identifier: MIT
// The headers that the test programs share are precompiled for this file (tests/CMakeLists.txt). It is empty.
