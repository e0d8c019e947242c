// SPDX-License-Identifier: MIT
#include "experiment/launchers/argument_table.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/suggest.h"

namespace orrery::experiment {
namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Products of two are numbers of 64 bits.
constexpr std::int64_t kMostNumber = std::int64_t{1} << 31;

bool is_true(std::string_view text) { return text == "true" || text == "True" || text == "1"; }
bool is_false(std::string_view text) { return text == "false" || text == "False" || text == "0"; }

// A whole number, with underscores between digits as Python has them.
std::optional<std::int64_t> whole_number(std::string_view text) {
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits), [](char c) { return c != '_'; });
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (problem != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::optional<double> real_number(std::string_view text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Name that --define takes in place of what is not known.
std::string definable(const std::string& unresolved) {
  const bool is_name =
      std::ranges::all_of(unresolved, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return is_name ? unresolved : "NAME";
}

}  // namespace

ArgumentIndex::ArgumentIndex(const LauncherTable& table) {
  for (const ArgumentRow& row : table.rows) {
    rows_.emplace(row.name, &row);
    for (const std::string_view alias : words_of(row.aliases)) rows_.emplace(alias, &row);
  }
  for (const UnusedArguments& group : table.unused)
    for (const std::string_view name : words_of(group.names)) {
      if (name.ends_with('*'))
        prefixes_.emplace_back(name.substr(0, name.size() - 1), &group);
      else
        unused_.emplace(name, &group);
    }
}

const ArgumentRow* ArgumentIndex::row(std::string_view canonical) const {
  const auto found = rows_.find(canonical);
  return found == rows_.end() ? nullptr : found->second;
}

const UnusedArguments* ArgumentIndex::unused(std::string_view canonical) const {
  if (const auto found = unused_.find(canonical); found != unused_.end()) return found->second;
  const auto prefix = std::ranges::find_if(prefixes_, [&](const auto& p) { return canonical.starts_with(p.first); });
  return prefix == prefixes_.end() ? nullptr : prefix->second;
}

std::string ArgumentIndex::hint(std::string_view canonical) const {
  std::vector<std::string> names;
  for (const auto& [name, row] : rows_) names.push_back(name);
  for (const auto& [name, group] : unused_) names.push_back(name);
  const std::string near = nearest_name(canonical, names);
  return near.empty() ? std::string() : fmt::format("did you mean '{}'?", near);
}

LaunchReading::LaunchReading(const LauncherTable& table, const ArgumentIndex& index, const LaunchFiles& files,
                             std::vector<ReadArgument>& arguments, Diagnostics& diagnostics)
    : table_(&table), files_(&files), arguments_(&arguments), diagnostics_(&diagnostics) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    ReadArgument& read = arguments[i];
    const std::string canonical = table.canonical(read.argument.name);
    const ArgumentRow* row = index.row(canonical);
    if (row == nullptr) {
      const UnusedArguments* unused = index.unused(canonical);
      read.fate = unused == nullptr ? ArgumentFate::kUnknown : unused->fate;
      read.reason = unused == nullptr ? index.hint(canonical) : std::string(unused->reason);
      continue;
    }
    if (!table.unset_word.empty() && read.argument.values == std::vector<std::string>{std::string(table.unset_word)}) {
      read.fate = ArgumentFate::kIgnored;
      read.reason = fmt::format("{}: other options decide", table.unset_word);
      unset_.emplace(row->name);
      continue;
    }
    read.fate = ArgumentFate::kUsed;
    if (row->shape == ArgumentShape::kSwitch && !read.argument.unresolved.empty()) {
      diagnostics.warning(read.argument.where,
                          fmt::format("what '{}' stands for is not known: arguments in it are left out",
                                      printable(fmt::format("{}", fmt::join(read.argument.values, " ")), 60)),
                          fmt::format("--define {}='--argument ...'", definable(read.argument.unresolved)));
      read.argument.values.clear();
    } else if (row->shape != ArgumentShape::kAny && !read.argument.unresolved.empty())
      diagnostics.error(
          read.argument.where,
          fmt::format("'{}' is '{}', and the script does not give '{}'", printable(read.argument.name, 60),
                      printable(fmt::format("{}", fmt::join(read.argument.values, " ")), 60),
                      printable(read.argument.unresolved, 60)),
          fmt::format("--define {}=VALUE", definable(read.argument.unresolved)));
    else
      check_shape(*row, read);
    const auto [before, is_new] = last_.emplace(row->name, i);
    if (is_new) continue;
    ReadArgument& first = arguments[before->second];
    if (table.refuses_other_names && first.argument.name != read.argument.name)
      diagnostics.error(read.argument.where,
                        fmt::format("'{}' and '{}' ({}) are one argument by the names of two versions",
                                    printable(read.argument.name, 60), printable(first.argument.name, 60),
                                    to_string(first.argument.where)),
                        "leave one of them out");
    else if (first.argument.values != read.argument.values)
      diagnostics.warning(read.argument.where,
                          fmt::format("'{}' is given twice, before at {}; the last one holds",
                                      printable(read.argument.name, 60), to_string(first.argument.where)));
    first.fate = ArgumentFate::kIgnored;
    first.reason = "given again behind it";
    before->second = i;
  }
}

void LaunchReading::check_shape(const ArgumentRow& row, const ReadArgument& read) {
  const LauncherArgument& argument = read.argument;
  const auto refuse = [&](std::string_view expected) {
    const std::string found =
        argument.values.empty()
            ? "no value"
            : fmt::format("'{}'", printable(fmt::format("{}", fmt::join(argument.values, " ")), 60));
    diagnostics_->error(argument.where,
                        fmt::format("'{}' has {}; {} is expected", printable(argument.name, 60), found, expected),
                        fmt::format("{} of {}", row.name, table_->title));
  };
  const std::size_t count = argument.values.size();
  switch (row.shape) {
    case ArgumentShape::kAny:
      return;
    case ArgumentShape::kSwitch:
      if (count > 1 || (count == 1 && !is_true(argument.values[0]) && !is_false(argument.values[0])))
        refuse("no value, or true or false,");
      return;
    case ArgumentShape::kNumber:
      if (count != 1 || !whole_number(argument.values[0]))
        refuse("one whole number");
      else if (const std::int64_t number = *whole_number(argument.values[0]);
               number < -kMostNumber || number > kMostNumber)
        refuse(fmt::format("a number up to {}", kMostNumber));
      return;
    case ArgumentShape::kReal:
      if (count != 1 || !real_number(argument.values[0])) refuse("one number");
      return;
    case ArgumentShape::kText:
      if (count != 1 || argument.values[0].empty()) refuse("one word");
      return;
    case ArgumentShape::kList:
      if (count == 0) refuse("a list of words");
      return;
  }
}

const ReadArgument* LaunchReading::find(std::string_view name) const {
  const auto found = last_.find(name);
  return found == last_.end() ? nullptr : &(*arguments_)[found->second];
}

bool LaunchReading::is_on(std::string_view name) const {
  const ReadArgument* read = find(name);
  return read != nullptr && (read->argument.values.empty() || is_true(read->argument.values.front()));
}

std::optional<std::int64_t> LaunchReading::number(std::string_view name) const {
  const ReadArgument* read = find(name);
  if (read == nullptr || read->argument.values.empty()) return std::nullopt;
  return whole_number(read->argument.values.front());
}

std::int64_t LaunchReading::number_or(std::string_view name, std::int64_t fallback) const {
  return number(name).value_or(fallback);
}

double LaunchReading::real_or(std::string_view name, double fallback) const {
  const ReadArgument* read = find(name);
  if (read == nullptr || read->argument.values.empty()) return fallback;
  return real_number(read->argument.values.front()).value_or(fallback);
}

std::string LaunchReading::text_or(std::string_view name, std::string_view fallback) const {
  const ReadArgument* read = find(name);
  if (read == nullptr || read->argument.values.empty()) return std::string(fallback);
  return read->argument.values.front();
}

std::vector<std::string> LaunchReading::list(std::string_view name) const {
  const ReadArgument* read = find(name);
  return read == nullptr ? std::vector<std::string>{} : read->argument.values;
}

std::string LaunchReading::word_or(std::string_view name, std::string_view fallback, std::string_view words) {
  const std::string text = text_or(name, fallback);
  const std::vector<std::string_view> known = words_of(words);
  if (std::ranges::find(known, text) != known.end()) return text;
  error_at(name, fmt::format("'{}' is '{}'; one of {} is expected", name, printable(text, 60), fmt::join(known, ", ")));
  return std::string(fallback);
}

Location LaunchReading::where(std::string_view name) const {
  const ReadArgument* read = find(name);
  return read == nullptr ? files_->where : read->argument.where;
}

void LaunchReading::set(std::string_view key, std::string value) {
  const auto given_at = row_ == nullptr ? last_.end() : last_.find(owner_);
  const bool is_default = given_at == last_.end();
  Set set{value, is_default ? files_->where : (*arguments_)[given_at->second].argument.where, is_default};
  if (!is_default) (*arguments_)[given_at->second].settings.emplace_back(key, std::move(value));
  const auto before =
      std::ranges::find(settings_, key, [](const auto& setting) -> const std::string& { return setting.first; });
  if (before == settings_.end())
    settings_.emplace_back(key, std::move(set));
  else
    before->second = std::move(set);
}

void LaunchReading::owned_by(std::initializer_list<std::string_view> names) {
  if (given(row_->name)) return;
  const auto* const found = std::ranges::find_if(names, [&](std::string_view name) { return given(name); });
  if (found != names.end()) owner_ = *found;
}

void LaunchReading::set_number(std::string_view key) {
  if (const std::optional<std::int64_t> value = number(row_->name)) set(key, *value);
}

void LaunchReading::needs_number(std::string_view key) {
  if (given(row_->name)) return set_number(key);
  missing(key, fmt::format("'{}' is not among the arguments of {}", row_->name, table_->title),
          key.starts_with("workload.model.")
              ? fmt::format("give it, or --set {}=N, or all of a model: --model NAME", key)
              : fmt::format("give it, or --set {}=N", key));
}

void LaunchReading::missing(std::string_view key, std::string message, std::string hint) {
  Problem problem;
  problem.where = where(row_->name);
  problem.message = std::move(message);
  problem.hint = std::move(hint);
  missing_.push_back({std::string(key), std::move(problem)});
}

void LaunchReading::error(std::string message, std::string hint) {
  error_at(row_->name, std::move(message), std::move(hint));
}

void LaunchReading::error_at(std::string_view name, std::string message, std::string hint) {
  diagnostics_->error(where(name), std::move(message), std::move(hint));
}

void LaunchReading::warning(std::string message, std::string hint) {
  diagnostics_->warning(row_ == nullptr ? files_->where : where(row_->name), std::move(message), std::move(hint));
}

void LaunchReading::warning_at(std::string_view name, std::string message, std::string hint) {
  diagnostics_->warning(where(name), std::move(message), std::move(hint));
}

void LaunchReading::leave_out(std::string reason) {
  const auto found = last_.find(owner_);
  if (found == last_.end()) return;
  (*arguments_)[found->second].fate = ArgumentFate::kNotSimulated;
  (*arguments_)[found->second].reason = std::move(reason);
}

void LaunchReading::read_rows() {
  if (table_->check != nullptr) table_->check(*this);
  if (diagnostics_->has_errors()) return;
  for (const ArgumentRow& row : table_->rows) {
    row_ = &row;
    owner_ = row.name;
    if (row.read != nullptr) row.read(*this);
  }
  row_ = nullptr;
}

LaunchKeys read_arguments(const LauncherTable& table, const LaunchFiles& files,
                          std::optional<Architecture> architecture, std::vector<ReadArgument>& arguments,
                          Diagnostics& diagnostics) {
  arguments.clear();
  for (const LauncherArgument& argument : files.arguments) arguments.push_back({argument, {}, {}, {}});
  const ArgumentIndex index(table);
  LaunchReading reading(table, index, files, arguments, diagnostics);
  reading.set_architecture(architecture);
  if (!diagnostics.has_errors()) reading.read_rows();
  return {reading.settings(), reading.all_missing(), reading.software()};
}

}  // namespace orrery::experiment
