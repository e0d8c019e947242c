// SPDX-License-Identifier: MIT
#include "workload/training/pipeline/layout.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery::workload {
namespace {

constexpr std::size_t kMostParts = std::size_t{1} << 20;

// A letter of a pattern as it stands in the pattern that is written out.
struct Part {
  char letter = 't';
  std::size_t position = 0;  // in the text, from 1
};

// Writes a pattern out.
class LayoutReader {
 public:
  explicit LayoutReader(std::string_view text) : text_(text) {}

  std::optional<LayoutProblem> read() {
    while (at_ < text_.size() && !problem_) read_item();
    if (!problem_ && opened_) fail(*opened_, "this parenthesis is not closed", "for example (tt|)*4");
    return problem_;
  }
  const std::vector<Part>& parts() const { return parts_; }

 private:
  void read_item() {
    const char c = text_[at_];
    if (c == ',' || c == ' ') {
      ++at_;
    } else if (c == '(') {
      if (opened_) return fail(at_, "a parenthesis within another", "write the inner one out");
      opened_ = at_++;
      group_ = parts_.size();
    } else if (c == ')') {
      if (!opened_) return fail(at_, "no parenthesis is open here", "for example (tt|)*4");
      opened_.reset();
      ++at_;
      repeat(group_);
    } else if (std::string_view("EtmL|").find(c) != std::string_view::npos) {
      parts_.push_back({c, ++at_});
      repeat(parts_.size() - 1);
    } else {
      fail(at_, fmt::format("{} is no part of a layout", printable(std::string_view(&text_[at_], 1))),
           "E: embedding, t: layer, m: multi-token prediction, L: loss, |: next stage, *n: n times");
    }
  }

  // Repeats what was written from `first` on, if a number of times follows.
  void repeat(std::size_t first) {
    if (at_ >= text_.size() || text_[at_] != '*') return;
    const std::size_t star = at_++;
    std::size_t times = 0;
    const std::size_t digits = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      times = std::min(kMostParts, times * 10 + static_cast<std::size_t>(text_[at_] - '0'));
    if (at_ == digits || times == 0) return fail(star, "no number of times behind '*'", "for example t*3");
    const std::size_t count = parts_.size() - first;
    if (parts_.size() + count * (times - 1) > kMostParts)
      return fail(star, "more parts than any pipeline has", fmt::format("at most {} in all", kMostParts));
    parts_.reserve(parts_.size() + count * (times - 1));
    for (std::size_t i = 0; i < count * (times - 1); ++i) parts_.push_back(parts_[first + i]);
  }

  void fail(std::size_t at, std::string message, std::string hint) {
    problem_ = {at + 1, std::move(message), std::move(hint)};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Part> parts_;
  std::optional<std::size_t> opened_;  // where the open parenthesis stands
  std::size_t group_ = 0;              // its first part
  std::optional<LayoutProblem> problem_;
};

// Counts the parts, each where it may stand: the embedding is the first of all, the loss the last, and modules of
// multi-token prediction stand before it on its stage.
class LayoutCounter {
 public:
  LayoutCounter(const std::vector<Part>& parts, Layout& layout) : parts_(parts), layout_(layout) {}

  std::optional<LayoutProblem> count() {
    layout_ = {{0}, 0};
    for (const Part& part : parts_)
      if (auto problem = take(part)) return problem;
    return std::nullopt;
  }
  bool has_loss() const { return has_loss_; }

 private:
  std::optional<LayoutProblem> take(const Part& part) {
    const auto fail = [&](std::string message, std::string hint) {
      return LayoutProblem{part.position, std::move(message), std::move(hint)};
    };
    const bool is_first = !has_begun_;
    has_begun_ = true;
    if (is_first != (part.letter == 'E'))
      return is_first ? fail("the embedding does not come first", "begin with E")
                      : fail("the embedding stands on the first stage, before its layers", "one E, at the start");
    if (has_loss_) return fail("the loss is not the last", "end with L");
    if (part.letter == '|') {
      if (layout_.predictions > 0)
        return fail("modules of multi-token prediction stand on another stage than the loss",
                    "m before L on the last stage: they are computed with the head");
      layout_.layers.push_back(0);
    }
    if (part.letter == 't' && layout_.predictions > 0)
      return fail("a layer behind a module of multi-token prediction", "m behind the last t");
    if (part.letter == 't') ++layout_.layers.back();
    if (part.letter == 'm') ++layout_.predictions;
    has_loss_ = part.letter == 'L';
    return std::nullopt;
  }

  const std::vector<Part>& parts_;
  Layout& layout_;
  bool has_begun_ = false;
  bool has_loss_ = false;
};

}  // namespace

std::vector<std::int64_t> layers_by_rule(const LayerRule& rule, std::int64_t layers, std::int64_t stages,
                                         std::int64_t chunks) {
  const std::int64_t parts = stages * chunks;
  const std::int64_t given = (rule.first ? 1 : 0) + (rule.last ? 1 : 0);
  const std::int64_t counted = layers + (rule.embedding ? 1 : 0) + (rule.loss ? 1 : 0);
  const std::int64_t rest = counted - rule.first.value_or(0) - rule.last.value_or(0);
  const std::int64_t others = (stages - given) * chunks;
  const bool divides = others > 0 ? rest % others == 0 : rest == 0 && others == 0;
  if (rest < 0 || !divides || rule.first.value_or(0) % chunks != 0 || rule.last.value_or(0) % chunks != 0) return {};
  std::vector<std::int64_t> result(static_cast<std::size_t>(parts), others > 0 ? rest / others : 0);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    if (rule.first) result[static_cast<std::size_t>(chunk * stages)] = *rule.first / chunks;
    if (rule.last) result[static_cast<std::size_t>(chunk * stages + stages - 1)] = *rule.last / chunks;
  }
  if (rule.embedding) --result.front();
  if (rule.loss) --result.back();
  if (std::ranges::min(result) < 0) return {};
  return result;
}

bool looks_like_layout(std::string_view text) {
  return text.find_first_of("|*") != std::string_view::npos || text.starts_with('E');
}

std::optional<LayoutProblem> parse_layout(std::string_view text, Layout& layout) {
  LayoutReader reader(text);
  if (auto problem = reader.read()) return problem;
  LayoutCounter counter(reader.parts(), layout);
  if (auto problem = counter.count()) return problem;
  if (!counter.has_loss()) return LayoutProblem{text.size() + 1, "the layout ends without a loss", "end with L"};
  return std::nullopt;
}

}  // namespace orrery::workload
