// A published table and Orrery's answer to it as a picture: bus bandwidth by message size, and below it the error.
#pragma once

#include <string>

#include "study/validate/collectives/validate.h"

namespace orrery {

// "h100_p5_2n_allreduce.svg". InputError where the name of the table cannot be that of a file.
std::string plot_file_name(const ValidationTable& table);

// The text of an SVG file: the same table, the same bytes. The table has rows.
std::string validation_plot(const ValidatedTable& table);

}  // namespace orrery
