// SPDX-License-Identifier: MIT
// Parts of a page besides its data, which the build takes from the files of this folder and from d3. Each is its
// pieces, one behind the other.
#pragma once

#include <string_view>
#include <vector>

namespace orrery::report::page {

const std::vector<std::string_view>& html();  // with {{style}}, {{scripts}}, {{title}} and {{data}}
const std::vector<std::string_view>& css();
const std::vector<std::string_view>& scripts();  // d3 first

}  // namespace orrery::report::page
