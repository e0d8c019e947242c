// SPDX-License-Identifier: MIT
// Sources as BibTeX. What files call a source is a text such as "NVIDIA/nccl, src/graph/topo.h" or "arXiv 2205.05198":
// a repository becomes its address, the number of a preprint its fields.
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/evidence/evidence.h"

namespace orrery::report {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// "2205.05198" of "arXiv 2205.05198, table 4".
std::optional<std::string> preprint_in(std::string_view text) {
  for (std::size_t at = text.find("arXiv"); at != std::string_view::npos; at = text.find("arXiv", at + 1)) {
    std::size_t from = at + 5;
    while (from < text.size() && (text[from] == ' ' || text[from] == ':')) ++from;
    std::size_t to = from;
    while (to < text.size() && (is_digit(text[to]) || text[to] == '.')) ++to;
    while (to > from && text[to - 1] == '.') --to;
    const std::string_view number = text.substr(from, to - from);
    if (number.size() >= 9 && number.find('.') == 4) return std::string(number);
  }
  return std::nullopt;
}

// "https://github.com/NVIDIA/nccl" of "NVIDIA/nccl, src/graph/topo.h", or the address that stands there.
std::optional<std::string> address_in(std::string_view text) {
  if (const std::size_t at = text.find("http"); at != std::string_view::npos) {
    const std::string_view rest = text.substr(at);
    return std::string(rest.substr(0, rest.find_first_of(" ,;)")));
  }
  const std::string_view first = text.substr(0, text.find_first_of(" ,;@:"));
  const std::size_t slash = first.find('/');
  const auto is_name = [](std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
      return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
    });
  };
  if (slash == std::string_view::npos || first.starts_with("configs/")) return std::nullopt;
  const std::string_view owner = first.substr(0, slash), repository = first.substr(slash + 1);
  const bool is_site = owner.find('.') != std::string_view::npos;  // "glennklockwood.com/garden/processors/A100"
  if (is_name(owner) && is_site) return fmt::format("https://{}", first);
  if (!is_name(owner) || !is_name(repository)) return std::nullopt;
  return fmt::format("https://github.com/{}", first);
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : printable(text, 2000)) {
    if (c == '\\')
      safe += "\\textbackslash{}";
    else if (c == '~')
      safe += "\\textasciitilde{}";
    else if (c == '^')
      safe += "\\textasciicircum{}";
    else if (std::string_view("{}%&$#_").find(c) != std::string_view::npos)
      (safe += '\\') += c;
    else
      safe += c;
  }
  return safe;
}

// "nvidia-nccl-src-graph" of "NVIDIA/nccl, src/graph/topo.h and topo.cc".
std::string key_of(std::string_view text) {
  constexpr std::size_t kWords = 4;
  if (const auto preprint = preprint_in(text)) return "arxiv-" + *preprint;
  std::string key;
  std::size_t words = 0;
  for (const char c : text) {
    if (is_letter(c) || is_digit(c)) {
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!key.empty() && key.back() != '-') {
      if (++words == kWords) break;
      key += '-';
    }
  }
  while (key.ends_with('-')) key.pop_back();
  return key.empty() ? "source" : key;
}

// A source, and the figures that are from there.
struct Citation {
  std::string title;
  bool is_of_file = false;  // the title: a file names it, not the comment beside a figure
  std::size_t figures = 0;
  std::set<std::string> files;
};

// Sources by what tells them apart: a preprint by its number, whatever else is said of it.
std::map<std::string, Citation> citations_of(const Evidence& evidence) {
  std::map<std::string, Citation> citations;
  const auto cite = [&](const std::string& text, bool is_of_file, const EvidenceFigure& figure) {
    const auto preprint = preprint_in(text);
    Citation& citation = citations[preprint ? "arXiv " + *preprint : text];
    const bool is_better = std::pair(!is_of_file, text) < std::pair(!citation.is_of_file, citation.title);
    if (citation.figures == 0 || is_better) {
      citation.title = text;
      citation.is_of_file = is_of_file;
    }
    ++citation.figures;
    citation.files.insert(figure.where.file);
  };
  for (const EvidenceFigure& figure : evidence.figures) {
    if (figure.is_default) continue;
    for (const std::string& text : figure.citations)
      if (text != "assumed") cite(text, true, figure);
    const bool is_said = figure.source == fmt::format("{}", fmt::join(figure.citations, "; "));  // of the file
    if (!is_said && (preprint_in(figure.source) || figure.source.find("http") != std::string::npos))
      cite(figure.source, false, figure);
  }
  return citations;
}

}  // namespace

std::string sources_bibtex(const Evidence& evidence) {
  std::string text;
  std::set<std::string> keys;
  for (const auto& [name, citation] : citations_of(evidence)) {
    const std::string& source = citation.title;
    std::string key = key_of(source);
    for (std::size_t number = 2; !keys.insert(key).second; ++number) key = fmt::format("{}-{}", key_of(source), number);
    text += fmt::format("{}@misc{{{},\n  title = {{{}}},\n", text.empty() ? "" : "\n", key, escaped(source));
    if (const auto preprint = preprint_in(source))
      text += fmt::format("  eprint = {{{}}},\n  archiveprefix = {{arXiv}},\n", *preprint);
    if (const auto address = address_in(source)) text += fmt::format("  url = {{{}}},\n", *address);
    std::string files;
    for (const std::string& file : citation.files) files += (files.empty() ? "" : ", ") + file;
    text += fmt::format("  note = {{{} of {}}},\n}}\n", citation.figures == 1 ? "a figure" : "figures", escaped(files));
  }
  return text;
}

}  // namespace orrery::report
