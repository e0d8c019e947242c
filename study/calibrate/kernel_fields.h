// SPDX-License-Identifier: MIT
// Facts that a file says of one kernel, by the names of its columns or members, whatever program wrote it; and the
// timing that it comes to.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "study/calibrate/kernel_file.h"
#include "study/calibrate/kernel_timing.h"

namespace orrery::study {

// The name under which a field is known here: "m" of "M", "seq" of "isl". Empty for a name that nobody reads.
std::string_view field_name(std::string_view written);
// All names, with those that stand for them.
std::vector<std::string> known_field_names();

// The columns that make rows kernels of some kind, for messages: "m, n, k of a product; ...".
std::string kinds_of_fields();
// True if rows with these fields are kernels of some kind; a field "kind" may say which.
bool tell_a_kind(std::span<const std::string_view> fields);
// True for a field that is a time, or that makes one together with others.
bool is_time_field(std::string_view field);

class KernelFields {
 public:
  explicit KernelFields(Location where) : where_(std::move(where)) {}

  struct Field {
    std::string written;  // the name as the file has it
    std::string text;
    Location where;
  };

  // Fields that nobody reads and empty ones are left out. Of two that mean the same the first counts.
  void set(std::string_view written, std::string_view text, const Location& where);
  const Field* find(std::string_view field) const;
  const Location& where() const { return where_; }  // of the row

 private:
  Location where_;
  std::map<std::string_view, Field> fields_;
};

// Nothing after an error. `peak` as read_kernel_file() has it.
std::optional<KernelTiming> timing_of(const KernelFields& fields, const PeakOf& peak, Diagnostics& diagnostics);

}  // namespace orrery::study
