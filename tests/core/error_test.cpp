// SPDX-License-Identifier: MIT
#include "core/error.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/suggest.h"

using namespace orrery;

TEST_CASE("a problem is one line with its place, and a hint below") {
  CHECK(to_string(Problem{Severity::kError, {"a.yaml", 3, 7}, "what", "how"}) ==
        "a.yaml:3:7: error: what\n  hint: how");
  CHECK(to_string(Problem{Severity::kWarning, {"a.et"}, "what", ""}) == "a.et: warning: what");
  CHECK(to_string(Problem{Severity::kError, {}, "what", ""}) == "error: what");
}

TEST_CASE("text from an input cannot reach the terminal as control characters") {
  CHECK(printable("a\x1b[31m\n\xff") == "a\\x1B[31m\\x0A\\xFF");
  CHECK(printable("gr\xC3\xBC\xC3\x9F") == "gr\xC3\xBC\xC3\x9F");
  CHECK(printable("\xED\xA0\x80") == "\\xED\\xA0\\x80");  // a UTF-16 surrogate is not UTF-8
  CHECK(printable("abcdef", 3) == "abc...");
  CHECK(printable("") == "");
}

TEST_CASE("lines keep their ends and tabs, and lose all other control characters") {
  CHECK(printable_lines("a\tb\nc\n") == "a\tb\nc\n");
  CHECK(printable_lines("a\x1b[31m\r\x7f\n") == "a\\x1B[31m\\x0D\\x7F\n");
  CHECK(printable_lines("gr\xC3\xBC\xC3\x9F \xC2\x9B \x9B") == "gr\xC3\xBC\xC3\x9F \\xC2\\x9B \\x9B");
  CHECK(printable_lines("{\"a\x7f\": \"\xC2\x9B\"}\n", TextKind::kJson) == "{\"a\\u007F\": \"\\u009B\"}\n");
  // The last that is one, and what comes behind it: a space that does not break.
  CHECK(printable("\xC2\x9F\xC2\xA0") == "\\xC2\\x9F\xC2\xA0");
}

TEST_CASE("what turns the direction of text round, or is not seen, is escaped by its number") {
  CHECK(printable("a\xE2\x80\xAE"
                  "b\xE2\x81\xA6") == "a\\u202Eb\\u2066");                     // right-to-left override, isolate
  CHECK(printable_lines("\xEF\xBB\xBF\xE2\x80\x8B\n") == "\\uFEFF\\u200B\n");  // byte order mark, zero width
  CHECK(printable_lines("\xE2\x80\xAE", TextKind::kJson) == "\\u202E");
  CHECK(printable_lines("\xF3\xA0\x81\x81", TextKind::kJson) == "\\uDB40\\uDC41");  // U+E0041, a tag, in UTF-16
  CHECK(printable("\xD9\x85\xD8\xB1 \xE6\x97\xA5 \xF0\x9F\x98\x80") ==
        "\xD9\x85\xD8\xB1 \xE6\x97\xA5 \xF0\x9F\x98\x80");  // Arabic, Chinese, a face
}

TEST_CASE("an input error shows the first problems and counts the rest") {
  Diagnostics diagnostics;
  for (int i = 0; i < 25; ++i) diagnostics.error({"f", i + 1, 1}, "bad");
  diagnostics.warning({"f"}, "odd");
  try {
    diagnostics.throw_if_errors();
    FAIL("must throw");
  } catch (const InputError& error) {
    const std::string text = error.what();
    CHECK(text.find("f:20:1") != std::string::npos);
    CHECK(text.find("f:21:1") == std::string::npos);
    CHECK(text.find("... and 5 more") != std::string::npos);
    CHECK(text.find("odd") == std::string::npos);
  }
}

TEST_CASE("the same advice is printed once, with the last problem shown, and every problem keeps it") {
  std::vector<Problem> problems;
  for (int i = 1; i <= 25; ++i)
    problems.push_back({Severity::kError, {"f", i, 1}, "bad", i % 2 == 0 ? "even" : "do this"});
  const InputError error(problems);
  const std::string text = error.what();
  CHECK(text.find("f:19:1: error: bad\n  hint: do this\nf:20:1: error: bad\n  hint: even\n... and 5 more") !=
        std::string::npos);
  CHECK(text.find("hint: do this") == text.rfind("hint: do this"));
  CHECK(error.problems().front().hint == "do this");
}

TEST_CASE("problems without a place get one, the others keep theirs") {
  const InputError error(
      {{Severity::kError, {}, "no place", "a hint"}, {Severity::kError, {"b.yaml", 2, 3}, "has", ""}});
  CHECK(std::string(located(error, "a.yaml").what()) ==
        "a.yaml: error: no place\n  hint: a hint\nb.yaml:2:3: error: has");
}

TEST_CASE("only a near name is suggested") {
  const std::vector<std::string> names = {"ring", "direct", "halving-doubling"};
  CHECK(nearest_name("rign", names) == "ring");
  CHECK(nearest_name("HALVING-DOUBLIN", names) == "halving-doubling");
  CHECK(nearest_name("rnig", std::vector<std::string>{"run", "ring"}) == "ring");
  CHECK(nearest_name("rnu", std::vector<std::string>{"sum", "run"}) == "run");  // of three letters one may be wrong
  CHECK(nearest_name("tree", names) == "");
  CHECK(nearest_name("on", std::vector<std::string>{"auto", "off"}) == "");
  CHECK(suggestion("tree", names) == "known: ring, direct, halving-doubling");
  CHECK(suggestion("x", {}) == "");
}

TEST_CASE(
    "a slip is a letter more, less or other, or two that changed places; the longer the word, the more it may have") {
  const auto nearest = [](std::string_view word, const std::string& name) {
    return nearest_name(word, std::array{name});
  };
  CHECK(nearest("abc", "bac") == "bac");
  CHECK(nearest("abc", "yac") == "");        // two slips, though an 'a' moved
  CHECK(nearest("xxxring", "ring") == "");   // letters in front count as well
  CHECK(nearest("rugn", "ring") == "ring");  // two slips are allowed from four letters on
  CHECK(nearest("rxyz", "ring") == "");
  CHECK(nearest("abcdefgh", "abcdexyz") == "");
  CHECK(nearest("abcdefghi", "abcdefxyz") == "abcdefxyz");  // three from nine letters on
  CHECK(nearest("abcdefghi", "abcdewxyz") == "");
  CHECK(nearest("hlvng-dubling", "halving-doubling") == "halving-doubling");
  CHECK(nearest_name("rign", std::vector<std::string>{"", "ring"}) == "ring");
  const std::string longest(64, 'a');
  CHECK(nearest(longest, longest + "b") == longest + "b");
  CHECK(nearest(longest + "b", longest) == "");  // a text, not a name
  CHECK(likely_names(longest, std::array{longest + "b"}) == std::vector{longest + "b"});
  CHECK(likely_names(longest + "b", std::array{longest}).empty());
}

TEST_CASE("names that begin with a word come before those that contain it, and both before slips of the pen") {
  const std::vector<std::string> models = {"gpt3-13b", "llama2-7b", "llama3-405b", "llama3-70b", "llama3-8b"};
  CHECK(likely_names("llama3", models) == std::vector<std::string>{"llama3-8b", "llama3-70b", "llama3-405b"});
  CHECK(suggestion("Llama-3", models) == "did you mean one of llama3-8b, llama3-70b, llama3-405b?");
  const std::vector<std::string> devices = {"dgx-h100", "h100-pcie", "h100-sxm", "h200-sxm"};
  CHECK(likely_names("h100", devices) == std::vector<std::string>{"h100-pcie", "h100-sxm", "dgx-h100"});
  CHECK(suggestion("h20", devices) == "did you mean 'h200-sxm'?");
  CHECK(suggestion("h100-sxm5-80gb", devices) == "did you mean 'h100-sxm'?");  // goes on from a name
  CHECK(suggestion("-", devices) == "known: dgx-h100, h100-pcie, h100-sxm, h200-sxm");
  std::vector<std::string> many;
  for (int i = 0; i < 12; ++i) many.push_back("node" + std::to_string(i));
  CHECK(suggestion("node", many) ==
        "did you mean one of node0, node1, node2, node3, node4, node5, node6, node7, ... (12 in all)?");
}

TEST_CASE("another spelling of a name stands for that name alone") {
  const std::vector<std::string> clusters = {"dgx-a100", "dgx-h100", "dgx-h100-256"};
  for (const char* word : {"DGX-H100", "dgxh100", "dgx_h100", "DGX H100"})
    CHECK(likely_names(word, clusters) == std::vector<std::string>{"dgx-h100"});
  // No name is near: those with a part of it that has digits.
  CHECK(likely_names("A100-80GB", clusters) == std::vector<std::string>{"dgx-a100"});
  CHECK(plain_name("All_Reduce") == "allreduce");
}

TEST_CASE("a part with digits says more of a name than others") {
  const std::vector<std::string> clusters = {"a800-pcie", "dgx-a100", "dgx-h100", "hgx-a800"};
  CHECK(likely_names("dgx-a800", clusters) == std::vector<std::string>{"a800-pcie", "hgx-a800"});
  CHECK(likely_names("dgx-a10", clusters) == std::vector<std::string>{"dgx-a100"});
  CHECK(likely_names("hgx-h100", clusters) == std::vector<std::string>{"dgx-h100"});
  CHECK(likely_names("Meta-Llama-3-70B", std::vector<std::string>{"llama2-70b", "llama3-70b"}) ==
        std::vector<std::string>{"llama3-70b"});
}

TEST_CASE("a name comes before those that go on from it, whatever their letters") {
  CHECK(likely_names("mod", std::array<std::string, 3>{"modell\xC3\xA4", "model", "modell"}) ==
        std::vector<std::string>{"model", "modell", "modell\xC3\xA4"});
}

TEST_CASE("of the names within a word the longest is meant, the first of equal ones, and none of two letters") {
  const std::string word = "their-abcd-or-efgh-of-much-more";
  CHECK(likely_names(word, std::array<std::string, 3>{"abc", "abcd", "efgh"}) == std::vector<std::string>{"abcd"});
  CHECK(likely_names(word, std::array<std::string, 1>{"efg"}) == std::vector<std::string>{"efg"});
  CHECK(likely_names(word, std::array<std::string, 1>{"of"}).empty());
}
