// SPDX-License-Identifier: MIT
#include "report/plot/front.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "report/plot/drawing.h"

namespace orrery::report {
namespace {

constexpr double kFar = 0.5;        // an axis begins at 0 unless all values are above this part of the largest
constexpr double kNear = 1.5;       // a capacity is drawn if it is at most so many times the largest need
constexpr std::size_t kOthers = 7;  // the style of what is not on the front

PictureAxis axis_of(std::string title, std::string field, std::string_view base, const Extent& extent) {
  PictureAxis axis{std::move(title), std::move(field), unit_for(base, extent.most)};
  axis.from_zero = extent.least < kFar * extent.most || extent.least == extent.most;
  return axis;
}

}  // namespace

std::vector<std::size_t> front_of(const std::vector<TimeAndMemory>& variants) {
  std::vector<std::size_t> order(variants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(variants[a].seconds, variants[a].bytes) < std::pair(variants[b].seconds, variants[b].bytes);
  });
  std::vector<std::size_t> front;
  for (const std::size_t one : order)
    if (front.empty() || variants[one].bytes < variants[front.back()].bytes) front.push_back(one);
  return front;
}

Picture front_picture(std::string title, const std::vector<TimeAndMemory>& variants, std::optional<double> capacity) {
  Picture picture;
  picture.title = std::move(title);
  picture.fields = {"set"};
  picture.name_field = "variant";
  const std::vector<std::size_t> front = front_of(variants);
  picture.captions = {
      fmt::format("Memory of the fullest device. {} of {} are on the front: no other is both faster and smaller.",
                  front.size(), variants.size())};
  const auto spot = [&](std::size_t number) {
    const TimeAndMemory& one = variants[number];
    PictureSpot found{one.bytes, one.seconds};
    found.name = one.name;
    found.note = fmt::format("{}: {}, {}", one.name, time_text(one.seconds),
                             value_text({"", "", unit_for("B", one.bytes)}, one.bytes, true));
    return found;
  };
  PicturePanel& panel = picture.panels.emplace_back();
  PictureSeries on{"front", SeriesShape::kLine, 0, 0, {"front"}, {}};
  PictureSeries others{"others", SeriesShape::kMarks, kOthers, 6, {"others"}, {}};
  for (auto number = front.rbegin(); number != front.rend(); ++number) {  // by memory, ascending
    on.spots.push_back(spot(*number));
    on.spots.back().label = variants[*number].name;
  }
  for (std::size_t i = 0; i < variants.size(); ++i)
    if (std::ranges::find(front, i) == front.end()) others.spots.push_back(spot(i));
  Extent time, memory;
  for (const TimeAndMemory& one : variants) time.take(one.seconds), memory.take(one.bytes);
  if (capacity && *capacity <= kNear * memory.most) {
    panel.rules.push_back({*capacity, "memory of the device"});
    memory.take(*capacity);
  }
  panel.x = axis_of("memory of the fullest device", "memory_bytes", "B", memory);
  panel.y = axis_of("iteration time", "iteration_time_s", "s", time);
  panel.series.push_back(std::move(on));
  if (!others.spots.empty()) panel.series.push_back(std::move(others));
  picture.keys = {key_of_series(picture.panels)};
  return picture;
}

}  // namespace orrery::report
