// SPDX-License-Identifier: MIT
// The file of shipped configurations as the build parses them, from hostile bytes: a tree or none, and nothing is read
// beyond the file. Digests are made right first, or nothing else would be looked at.
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/assert.h"
#include "core/config/parsed_files.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"

namespace orrery::fuzz {
namespace {

constexpr std::size_t kEntry = 5 * sizeof(std::uint64_t);  // name, text, tree, end, digest
constexpr std::string_view kName = "a.yaml", kText = "a: 1\n";

std::string heading_of_files() {
  const std::string whole = pack_documents(std::vector<ParsedDocument>{});
  return whole.substr(0, whole.size() - sizeof(std::uint64_t));
}

std::uint64_t number_at(const std::string& bytes, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// Makes the digests of all entries right whose documents are in the file.
void mend_digests(std::string& bytes, std::size_t index) {
  if (bytes.size() < index) return;
  const std::uint64_t count = number_at(bytes, index - sizeof(std::uint64_t));
  for (std::size_t at = index; at - index < count * kEntry && at + kEntry <= bytes.size(); at += kEntry) {
    const std::uint64_t begin = number_at(bytes, at), end = number_at(bytes, at + 3 * sizeof(std::uint64_t));
    if (begin > end || end > bytes.size()) continue;
    const std::uint64_t digest = digest_of_document(std::string_view(bytes).substr(begin, end - begin));
    std::memcpy(bytes.data() + at + 4 * sizeof(std::uint64_t), &digest, sizeof digest);
  }
}

// False where documents are digested in another way than here, and this fuzzer looks at digests alone.
bool digests_are_as_written() {
  const ParsedDocument document{std::string(kName), std::string(kText), {}};
  const std::string written = pack_documents(std::vector{document});
  std::string mended = written;
  mend_digests(mended, heading_of_files().size() + sizeof(std::uint64_t));
  return mended == written;
}

// A document whose tree has these bytes.
std::string file_with_tree(std::string_view tree) {
  const std::string heading = heading_of_files();
  const std::uint64_t count = 1, name = heading.size() + sizeof count + kEntry, text = name + kName.size();
  const std::uint64_t at = text + kText.size(), end = at + tree.size(), digest = 0;
  std::string bytes = heading;
  for (const std::uint64_t number : {count, name, text, at, end, digest})
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  return bytes.append(kName).append(kText).append(tree);
}

}  // namespace
}  // namespace orrery::fuzz

// The first byte says what the others are: the tree of a sound document, or all behind the heading.
ORRERY_FUZZER(fuzz_parsed_files, input) {
  using namespace orrery;
  using namespace orrery::fuzz;
  static const FuzzedFolder folder;
  static const bool is_right = digests_are_as_written();
  ORRERY_ASSERT(is_right);
  if (input.empty()) return;
  const bool is_tree = byte_of(input, 0) % 2 == 0;
  input.remove_prefix(1);
  const std::string heading = heading_of_files();
  std::string bytes = is_tree ? file_with_tree(input) : heading + std::string(input);
  mend_digests(bytes, heading.size() + sizeof(std::uint64_t));
  const ParsedFiles files(folder.write("fuzzed.parsed", bytes));
  for (const std::string_view name : {std::string_view("a.yaml"), std::string_view("b.yaml"), std::string_view()})
    for (const std::string_view text : {std::string_view("a: 1\n"), std::string_view()}) files.find(name, text, "x");
}
