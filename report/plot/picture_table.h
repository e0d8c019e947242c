// SPDX-License-Identifier: MIT
// The values of a picture: a row for each spot.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/plot/picture.h"

namespace orrery::report {

struct PictureTable {
  std::vector<std::string> columns;
  std::vector<nlohmann::ordered_json> rows;  // objects with all columns; null where there is nothing
  std::vector<double> places;                // of each row its place on the horizontal axis
};

PictureTable picture_table(const Picture& picture);

}  // namespace orrery::report
