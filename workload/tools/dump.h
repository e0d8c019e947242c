// SPDX-License-Identifier: MIT
// A trace field by field, to compare this decoder with an independent one.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace orrery::workload {

// JSON lines: first one about the file ("file", "schema", "metadata", "has_metadata", "bytes" after gunzip,
// "framing_error" and "bad_messages", which are null and 0 because errors throw), then one per node ("id", "name",
// "type", "ctrl_deps", "data_deps", "start_us", "dur_us", "attr", "atype", and where present "inputs", "outputs",
// "coll", "dup_attr", "unknown_fields"). Floats round-trip; those that are not finite are NaN, Infinity, -Infinity.
void dump_chakra(const std::string& file, std::string_view bytes, std::ostream& out);

}  // namespace orrery::workload
