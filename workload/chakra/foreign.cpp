// SPDX-License-Identifier: MIT
#include "workload/chakra/foreign.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace orrery::workload {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  std::string_view hint;
};

constexpr std::array kMagics = {
    Magic{"\x28\xB5\x2F\xFD"sv, "this is zstd data: decompress it with `zstd -d` first (only gzip is read directly)"},
    Magic{"\xFD"
          "7zXZ\0"sv,
          "this is xz data: decompress it with `xz -d` first (only gzip is read directly)"},
    Magic{"BZh"sv, "this is bzip2 data: decompress it with `bzip2 -d` first (only gzip is read directly)"},
    Magic{"\x04\x22\x4D\x18"sv, "this is lz4 data: decompress it with `lz4 -d` first (only gzip is read directly)"},
    Magic{"\x1F\x8B"sv, "this was gzipped twice: unpack it once with gunzip"},
    Magic{"PK\x03\x04"sv, "this is a zip archive: unpack it first and name the .et files inside"},
    Magic{"\x7F"
          "ELF"sv,
          "this is an ELF program or library, not a trace"},
    Magic{"%PDF"sv, "this is a PDF document, not a trace"},
    Magic{"\x89PNG"sv, "this is an image, not a trace"},
    Magic{"\x80\x04\x95"sv, "this is a Python pickle, not a trace"},
    Magic{"SQLite format 3"sv, "this is an SQLite database (an Nsight Systems export?), not a Chakra trace"},
    Magic{"version https://git-lfs"sv, "this is a Git LFS pointer: fetch the file itself with `git lfs pull`"},
    Magic{"<!DOCTYPE"sv, "this is a web page: the download did not fetch the file itself"},
    Magic{"<html"sv, "this is a web page: the download did not fetch the file itself"},
};

constexpr std::string_view kSpaces = " \t\r\n";

std::string_view after_spaces(std::string_view bytes) {
  const std::size_t at = bytes.find_first_not_of(kSpaces);
  return at == std::string_view::npos ? std::string_view() : bytes.substr(at);
}

std::string_view without_byte_order_mark(std::string_view bytes) {
  return bytes.starts_with("\xEF\xBB\xBF") ? bytes.substr(3) : bytes;
}

// The text workloads of ASTRA-sim 1.0 start with the parallelisation, alone or with its parameters.
bool is_astra_sim_text(std::string_view bytes) {
  const std::string_view word = bytes.substr(0, bytes.find_first_of(kSpaces));
  if (word.size() == bytes.size()) return false;
  if (word.starts_with("HYBRID_")) return true;
  constexpr std::array kFirstWords = {"MICRO"sv, "DATA"sv, "MODEL"sv, "DISTRIBUTED_INFERENCE"sv};
  return std::ranges::find(kFirstWords, word) != kFirstWords.end();
}

bool is_plain_text(std::string_view bytes) {
  for (const char c : bytes.substr(0, 512)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0x7F || (byte < 0x20 && kSpaces.find(c) == std::string_view::npos)) return false;
  }
  return true;
}

}  // namespace

bool starts_like_json(std::string_view bytes) {
  bytes = after_spaces(without_byte_order_mark(bytes));
  if (bytes.empty() || (bytes[0] != '{' && bytes[0] != '[')) return false;
  const std::string_view next = after_spaces(bytes.substr(1));
  if (next.empty()) return false;
  return bytes[0] == '{' ? next[0] == '"' || next[0] == '}' : next[0] == '{' || next[0] == ']';
}

std::string_view foreign_format_hint(std::string_view bytes, bool was_gzipped) {
  if (bytes.size() > 262 && bytes.substr(257, 5) == "ustar")
    return was_gzipped ? "this is a gzipped tar archive: unpack it with `tar -xzf` and name the .et files inside"sv
                       : "this is a tar archive: unpack it with `tar -xf` and name the .et files inside"sv;
  for (const Magic& magic : kMagics)
    if (bytes.starts_with(magic.bytes)) return magic.hint;
  if (is_astra_sim_text(bytes))
    return "this is an ASTRA-sim 1.0 text workload: convert it with Chakra's text converter (chakra_converter Text)"sv;
  const std::string_view text = after_spaces(without_byte_order_mark(bytes));
  if (text.starts_with('{') || text.starts_with('[')) return "this looks like JSON with a mistake at its start"sv;
  if (is_plain_text(bytes)) return "this is a text file; a trace is a .et file as a Chakra converter writes it"sv;
  return "";
}

}  // namespace orrery::workload
