// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "report/screen/screen.h"
#include "report/table.h"

using namespace orrery::report;

namespace {

// Columns "name" (4 wide), "time" (7), "ratio" (5), "why" (11), each two apart: 2 + 4 + 2 + 7 + 2 + 5 + 2 + 11 = 35.
std::vector<ScreenColumn> columns() {
  return {{"name", false, Interest::kName, {"a", "b"}},
          {"time", true, Interest::kAnswer, {"1.234 s", "5.678 s"}},
          {"ratio", true, Interest::kUsual, {"1.000", "4.601"}},
          {"why", false, Interest::kDetail, {"compute 9 %", "links 88 %"}}};
}

// The lines below the heading of a table as one, for a sentence that a narrow screen breaks.
std::string joined(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n    ", at)) != std::string::npos;) text.replace(at, 5, " ");
  return text;
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0, at = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; at = end + 1, end = text.find('\n', at))
    most = std::max(most, end - at);
  return most;
}

}  // namespace

TEST_CASE("a table that fits is as wide as its cells") {
  CHECK(on_screen(columns(), 35) ==
        "  name     time  ratio  why\n"
        "  a     1.234 s  1.000  compute 9 %\n"
        "  b     5.678 s  4.601  links 88 %\n");
  CHECK(on_screen(columns(), 80) == on_screen(columns(), 35));
}

TEST_CASE("columns leave by interest, and a line says which") {
  // Without "why" 35 - 13 = 22 columns are left.
  CHECK(on_screen(columns(), 34) ==
        "  name     time  ratio\n"
        "  a     1.234 s  1.000\n"
        "  b     5.678 s  4.601\n"
        "  left out at 34 columns: why;\n"
        "    --format csv has it, as has a\n"
        "    wider terminal\n");
  // 22 - 7 = 15 without "ratio", which is worth more than "why" and less than "time".
  const std::string narrow = on_screen(columns(), 21);
  CHECK(narrow.starts_with("  name     time\n  a     1.234 s\n"));
  CHECK(joined(narrow).find("ratio, why;") != std::string::npos);
}

TEST_CASE("among columns of the same interest the last leaves first, and those of one name are counted") {
  std::vector<ScreenColumn> all = {{"n", false, Interest::kName, {"a"}}};
  for (const char* heading : {"x", "ratio", "ratio"}) all.push_back({heading, true, Interest::kUsual, {"123456"}});
  // 2 + 1 + 3 * (2 + 6) = 27 columns; 19 without the last, 11 without the last two.
  CHECK(on_screen(all, 26).starts_with("  n       x   ratio\n"));
  const std::string narrow = on_screen(all, 18);
  CHECK(narrow.starts_with("  n       x\n"));
  CHECK(joined(narrow).find("ratio (2)") != std::string::npos);
}

TEST_CASE("headings go on several lines before a column leaves") {
  const std::vector<ScreenColumn> all = {{"", false, Interest::kName, {"a"}},
                                         {"dgx-h100: time", true, Interest::kUsual, {"1.000 s"}},
                                         {"ratio", true, Interest::kUsual, {"0.500"}}};
  // 2 + 1 + 2 + 14 + 2 + 5 = 26 columns. In 25 the heading has 13, which "dgx-h100: time" does not fit in.
  CHECK(on_screen(all, 25) ==
        "         dgx-h100:\n"
        "              time  ratio\n"
        "  a        1.000 s  0.500\n");
}

TEST_CASE("headings that programs read stay on one line") {
  const std::vector<ScreenColumn> all = {{"size", true, Interest::kName, {"8"}},
                                         {"time (us)", true, Interest::kAnswer, {"12.50"}},
                                         {"busbw (GB/s)", true, Interest::kUsual, {"0.50"}}};
  // 2 + 4 + 2 + 9 + 2 + 12 = 31 columns.
  CHECK(on_screen(all, 30, Headings::kOneLine).starts_with("  size  time (us)\n     8      12.50\n"));
}

TEST_CASE("remarks go on several lines before a column leaves") {
  const std::vector<ScreenColumn> all = {
      {"name", false, Interest::kName, {"a"}},
      {"about", false, Interest::kRemark, {"eight devices of a node, and links among them"}}};
  // 2 + 4 + 2 = 8 columns before the remark, which so has 32 of 40.
  CHECK(on_screen(all, 40) ==
        "  name  about\n"
        "  a     eight devices of a node, and\n"
        "        links among them\n");
}

TEST_CASE("the name of a row stays, and is broken where nothing else helps") {
  const std::vector<ScreenColumn> all = {
      {"job", false, Interest::kName, {"configs/studies/gpt3-175b-1024-of-many-nodes.yaml"}},
      {"time", true, Interest::kAnswer, {"1.000 s"}}};
  const std::string text = on_screen(all, 40);
  CHECK(widest(text) <= 40);
  CHECK(text.find("1.000 s") != std::string::npos);
  CHECK(text.find("configs/studies/") != std::string::npos);
}

TEST_CASE("answers never leave: further tables have them, with those of one block side by side") {
  std::vector<ScreenColumn> all = {{"n", false, Interest::kName, {"a"}}};
  std::size_t block = 0;
  for (const char* whose : {"x", "y", "z"}) {
    ++block;
    all.push_back({whose, true, Interest::kAnswer, {"123456"}, 0, block});
    all.push_back({"more", true, Interest::kAnswer, {"12"}, 1, block});
    all.push_back({"less", true, Interest::kUsual, {"12"}, 2, block});
  }
  // A block takes 2 + 6 + 2 + 4 = 14 columns beside the 3 of the name: two are 31. With "less" three blocks are 63.
  CHECK(on_screen(all, 40) ==
        "  n       x  more       y  more\n"
        "  a  123456    12  123456    12\n"
        "\n"
        "  n       z  more\n"
        "  a  123456    12\n"
        "  left out at 40 columns: less (3);\n"
        "    --format csv has them, as has a\n"
        "    wider terminal\n");
}

TEST_CASE("columns of one group leave together") {
  std::vector<ScreenColumn> all = {{"n", false, Interest::kName, {"a"}}};
  for (const char* heading : {"x", "y"}) {
    all.push_back({heading, true, Interest::kAnswer, {"123456"}});
    all.push_back({"more", true, Interest::kUsual, {"12"}, 1});
  }
  // 3 + 2 * (8 + 6) = 31 columns: one "more" would fit in 30, but it could not be compared.
  CHECK(on_screen(all, 30).starts_with("  n       x       y\n  a  123456  123456\n"));
}

TEST_CASE("no heading is broken inside a unit, and no text between a number and its unit") {
  const std::vector<ScreenColumn> all = {{"", false, Interest::kName, {"a"}},
                                         {"of a device TFLOP/s", true, Interest::kAnswer, {"1.0"}},
                                         {"tokens/s/GPU", true, Interest::kAnswer, {"1.0"}}};
  CHECK(on_screen(all, 30).find("TFLOP/s  tokens/s/GPU\n") != std::string::npos);
  // The last blank within 14 columns stands before "%".
  CHECK(wrapped("takes 13.3 % more", {"", "", 14}) == "takes 13.3 %\nmore\n");
  CHECK(wrapped("that takes 13 % more", {"", "", 14}) == "that takes\n13 % more\n");
  CHECK(wrapped("links of 200 GB/s", {"", "", 14}) == "links of\n200 GB/s\n");
  CHECK(wrapped("of 200 samples", {"", "", 8}) == "of 200\nsamples\n");
}

TEST_CASE("a command is broken between the words of a shell") {
  const auto command = [](std::string_view text, std::size_t width) {
    return wrapped(text, {"", "  ", width, Wrapping::Break::kShell});
  };
  CHECK(command("orrery run job.yaml --set a=b", 16) == "orrery run \\\n  job.yaml \\\n  --set a=b\n");
  CHECK(command("orrery run 'my own job.yaml' -q", 16) == "orrery run \\\n  'my own job.yaml' \\\n  -q\n");
  CHECK(command("run 'it'\\''s a job' -q", 12) == "run \\\n  'it'\\''s a job' \\\n  -q\n");
  CHECK(command("run 'one long word'", 8) == "run \\\n  'one long word'\n");
}

TEST_CASE("wide characters take two columns, marks none") {
  CHECK(width_of("a\u6F22\u5B57") == 5);
  CHECK(width_of("e\u0301") == 1);
  CHECK(width_of("\u00E9\u20AC") == 2);
  const std::vector<ScreenColumn> all = {{"n", false, Interest::kName, {"\u6F22\u5B57", "abcd"}},
                                         {"x", true, Interest::kAnswer, {"1", "2"}}};
  CHECK(on_screen(all, 40) == "  n     x\n  \u6F22\u5B57  1\n  abcd  2\n");
}

TEST_CASE("sentences that are too wide are broken between clauses, and go on two columns further right") {
  const std::size_t before = screen_width();
  set_screen_width(80);
  const std::string sentence =
      "iteration time 24.3 s   (2048 ranks on 2048 devices h800-sxm, flow network, phase, nccl)";
  REQUIRE(sentence.size() == 88);
  // The last comma within 80 columns stands behind "flow network": the one behind "phase" is the 82nd character.
  CHECK(sentences_on_screen(sentence + "\n  short\n") ==
        "iteration time 24.3 s   (2048 ranks on 2048 devices h800-sxm, flow network,\n  phase, nccl)\n  short\n");
  const std::string word(90, 'x'), command = "  orrery run \\\n    '" + word + " y' \\\n    '" + word + " y'\n";
  CHECK(sentences_on_screen(command) == command);
  set_screen_width(before);
}

TEST_CASE("a wide screen has more, and a narrow one has sentences of its width") {
  const std::size_t before = screen_width();
  set_screen_width(132);
  CHECK(screen_width() == 132);
  CHECK(text_width() == 80);
  set_screen_width(20);  // as narrow as none is
  CHECK(screen_width() == 40);
  CHECK(text_width() == 40);
  set_screen_width(before);
}
