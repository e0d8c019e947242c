// SPDX-License-Identifier: MIT
// Other formats that a file which is no Chakra trace may have, so that the error can say what to do.
#pragma once

#include <string_view>

namespace orrery::workload {

// A hint such as "this is a tar archive: unpack it first"; "" when the bytes look like nothing known. The bytes are
// those after gzip, if the file was gzipped.
std::string_view foreign_format_hint(std::string_view bytes, bool was_gzipped);

// True if a well-formed JSON document of objects starts here: '{' and then a key, or '[' and then an object. No binary
// trace does; a lone '{' may be the length of its first frame.
bool starts_like_json(std::string_view bytes);

}  // namespace orrery::workload
