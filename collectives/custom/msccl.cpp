// SPDX-License-Identifier: MIT
#include "collectives/custom/msccl.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "collectives/oracle/meaning.h"
#include "core/files/xml.h"
#include "core/suggest.h"

namespace orrery::collectives {
namespace {

using enum CollectiveKind;
using Kind = Action::Kind;

constexpr std::int64_t kMostGpus = 65536;
constexpr std::int64_t kMostChunks = std::int64_t{1} << 20;    // of a buffer
constexpr std::uint64_t kMostPlaces = std::uint64_t{1} << 21;  // of all GPUs: some hundred megabytes

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 8> kCollectives = {{
    {"allreduce", kAllReduce},
    {"allgather", kAllGather},
    {"reducescatter", kReduceScatter},
    {"alltoall", kAllToAll},
    {"broadcast", kBroadcast},
    {"reduce", kReduce},
    {"gather", kGather},
    {"scatter", kScatter},
}};

// Action of a step by its type.
struct StepType {
  std::string_view name;
  bool receives = false;
  bool sends = false;
  bool reduces = false;
  bool stores = false;  // in dst
  bool reads = false;   // src
};
constexpr std::array kStepTypes = {
    StepType{.name = "cpy", .stores = true, .reads = true},
    StepType{.name = "nop"},
    StepType{.name = "r", .receives = true, .stores = true},
    StepType{.name = "rcs", .receives = true, .sends = true, .stores = true},
    StepType{.name = "re", .reduces = true, .stores = true, .reads = true},
    StepType{.name = "rrc", .receives = true, .reduces = true, .stores = true, .reads = true},
    StepType{.name = "rrcs", .receives = true, .sends = true, .reduces = true, .stores = true, .reads = true},
    StepType{.name = "rrs", .receives = true, .sends = true, .reduces = true, .reads = true},
    StepType{.name = "s", .sends = true, .reads = true},
};

CollectiveKind read_kind(const XmlDocument& document) {
  const std::string given = document.text(document.root(), "coll");
  std::string word;
  for (const char c : given)
    if (c != '_' && c != '-') word += c;
  const auto found = std::ranges::find(kCollectives, word, &decltype(kCollectives)::value_type::first);
  if (found != kCollectives.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, kind] : kCollectives) names.emplace_back(name);
  document.refuse(document.root(), fmt::format("unknown collective coll=\"{}\"", printable(given, 40)),
                  suggestion(word, names));
}

class Reader {
 public:
  explicit Reader(const XmlDocument& document) : document_(document) {}

  WrittenCollective read() {
    const pugi::xml_node root = document_.root();
    if (std::string_view(root.name()) != "algo")
      document_.refuse(root, fmt::format("the document is a <{}>, not an <algo>", XmlDocument::name_of(root)),
                       "an algorithm file is MSCCL's XML");
    written_.kind = read_kind(document_);
    written_.ranks = document_.count(root, "ngpus", 1, kMostGpus);
    written_.files = {document_.file()};
    written_.actions.resize(written_.ranks);
    read_buffers(root);
    read_gpus(root);
    return std::move(written_);
  }

 private:
  struct Block {
    pugi::xml_node node;
    std::uint32_t id = 0;
    std::int64_t send = -1;  // peers
    std::int64_t receive = -1;
    std::int64_t channel = -1;           // checked where a step sends or receives
    std::vector<std::uint32_t> first{};  // action of each step
    std::vector<std::uint32_t> last{};
  };
  using Connections = std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t>;  // block by peer and channel
  struct Gpu {
    pugi::xml_node node;
    std::uint32_t id = 0;
    std::uint32_t scratch = 0;
    std::map<std::uint32_t, Block> blocks{};
    Connections sends{}, receives{};
  };
  // Sizes of the buffers: as the collective has them, or as the file says where that is more.
  void read_buffers(const pugi::xml_node& root) {
    Buffers buffers;
    const std::uint32_t chunks = document_.count(root, "nchunksperloop", 1, kMostChunks);
    const bool is_shared = written_.kind != kAllReduce && written_.kind != kReduce && written_.kind != kBroadcast;
    if (is_shared && chunks % written_.ranks != 0)
      document_.refuse(
          root, fmt::format("nchunksperloop=\"{}\" does not divide among the {} GPUs, as the buffer of {} has to",
                            chunks, written_.ranks, document_.text(root, "coll")));
    buffers.share = is_shared ? chunks / written_.ranks : 1;
    buffers.in_place = document_.number(root, "inplace", 0, 1, 0) == 1;
    const bool gathers = written_.kind == kAllGather || written_.kind == kGather;
    const bool scatters = written_.kind == kReduceScatter || written_.kind == kScatter;
    buffers.input = gathers ? buffers.share : chunks;
    buffers.output = scatters ? buffers.share : chunks;
    written_.whole = gathers ? buffers.share : chunks;
    for (const pugi::xml_node& gpu : root.children("gpu")) {
      const std::uint32_t input = document_.count(gpu, "i_chunks", 0, kMostChunks, 0);
      const std::uint32_t output = document_.count(gpu, "o_chunks", 0, kMostChunks, 0);
      if (!buffers.in_place) {
        buffers.input = std::max(buffers.input, input);
        buffers.output = std::max(buffers.output, output);
      }
      buffers.scratch = std::max(buffers.scratch, document_.count(gpu, "s_chunks", 0, kMostChunks, 0));
    }
    written_.chunks = std::uint64_t{chunks} * (written_.kind == kAllToAll ? written_.ranks : 1);
    written_.buffers = buffers;
  }

  void read_gpus(const pugi::xml_node& root) {
    std::map<std::uint32_t, Gpu> gpus;
    for (const pugi::xml_node& node : root.children("gpu")) {
      Gpu gpu{.node = node,
              .id = document_.count(node, "id", 0, std::int64_t{written_.ranks} - 1),
              .scratch = document_.count(node, "s_chunks", 0, kMostChunks, 0)};
      if (gpus.contains(gpu.id)) document_.refuse(node, fmt::format("gpu {} is there twice", gpu.id));
      read_blocks(gpu);
      gpus.emplace(gpu.id, std::move(gpu));
    }
    for (std::uint32_t rank = 0; rank < written_.ranks; ++rank)
      if (!gpus.contains(rank))
        document_.refuse(root, fmt::format("ngpus=\"{}\", and there is no gpu {}", written_.ranks, rank),
                         "write one <gpu> for each of them, numbered from 0");
    require_few_places(root);
    for (auto& [id, gpu] : gpus) read_steps(gpu);
    written_.buffers->scratch += registers_;
    require_few_places(root);
  }

  void require_few_places(const pugi::xml_node& root) const {
    const std::uint64_t places = std::uint64_t{written_.buffers->places()} * written_.ranks;
    const std::uint64_t pieces = written_.chunks;
    if (std::max(places, pieces) > kMostPlaces)
      document_.refuse(root, fmt::format("the buffers of all GPUs have {} chunks; at most {} can be checked",
                                         std::max(places, pieces), kMostPlaces));
  }

  void read_blocks(Gpu& gpu) {
    for (const pugi::xml_node& node : gpu.node.children("tb")) {
      const Block block{.node = node,
                        .id = document_.count(node, "id", 0, kMostChunks),
                        .send = peer(node, "send"),
                        .receive = peer(node, "recv"),
                        .channel = document_.number(node, "chan", INT32_MIN, INT32_MAX, 0)};
      if (block.send == gpu.id || block.receive == gpu.id)
        document_.refuse(node, fmt::format("tb {} of gpu {} has its own GPU as a peer", block.id, gpu.id),
                         "a copy within the GPU is a step of type cpy");
      if (!gpu.blocks.emplace(block.id, block).second)
        document_.refuse(node, fmt::format("tb {} of gpu {} is there twice", block.id, gpu.id));
    }
  }

  std::int64_t peer(const pugi::xml_node& node, const char* key) const {
    const std::int64_t number = document_.number(node, key, INT32_MIN, INT32_MAX, -1);
    if (number < -1 || number >= std::int64_t{written_.ranks})
      document_.refuse(node,
                       fmt::format("{}=\"{}\": there is no such GPU; the peers are 0 to {}, or -1 for none", key,
                                   number, written_.ranks - 1),
                       fmt::format("<algo> says ngpus=\"{}\"", written_.ranks));
    return number;
  }

  // Take a connection for the block that has a step on it; two blocks of a GPU cannot share one.
  void claim(const Gpu& gpu, const Block& block, std::string_view what, std::int64_t peer, Connections& owners) const {
    if (block.channel < 0 || block.channel > kMostChunks)
      document_.refuse(block.node,
                       fmt::format("tb {} of gpu {} has steps that {} gpu {} on chan=\"{}\"", block.id, gpu.id, what,
                                   peer, block.channel),
                       "channels are numbered from 0; only a block that neither sends nor receives has chan=\"-1\"");
    const auto [owner, is_first] = owners.try_emplace({peer, block.channel}, block.id);
    if (owner->second != block.id)
      document_.refuse(block.node,
                       fmt::format("tb {} and tb {} of gpu {} both {} gpu {} on channel {}", owner->second, block.id,
                                   gpu.id, what, peer, block.channel),
                       "a channel between two GPUs is one thread block's: give one of them another `chan`");
  }

  void read_steps(Gpu& gpu) {
    registers_of_gpu_ = 0;
    for (auto& [id, block] : gpu.blocks) {
      std::uint32_t expected = 0;
      for (const pugi::xml_node& node : block.node.children("step")) {
        if (document_.number(node, "s", 0, INT32_MAX, expected) != expected)
          document_.refuse(node,
                           fmt::format("step s=\"{}\" of gpu {}, tb {} stands where step {} is expected",
                                       printable(node.attribute("s").value(), 40), gpu.id, id, expected),
                           "the steps of a thread block are numbered 0, 1, 2, ... in their order");
        ++expected;
        read_step(gpu, block, node);
      }
    }
    registers_ = std::max(registers_, registers_of_gpu_);
    for (auto& [id, block] : gpu.blocks) connect(gpu, block);
  }

  static const StepType& type_named(std::string_view name) {
    return *std::ranges::find(kStepTypes, name, &StepType::name);
  }

  const StepType& type_of(const pugi::xml_node& node) const {
    const std::string type = document_.text(node, "type");
    const auto found = std::ranges::find(kStepTypes, type, &StepType::name);
    if (found != kStepTypes.end()) return *found;
    std::vector<std::string> names;
    for (const StepType& known : kStepTypes) names.emplace_back(known.name);
    document_.refuse(node, fmt::format("unknown step type \"{}\"", printable(type, 40)),
                     fmt::format("known: {}", fmt::join(names, ", ")));
  }

  std::uint32_t place(const Gpu& gpu, const pugi::xml_node& node, const char* buffer_key, const char* offset_key,
                      std::uint32_t count) const {
    const std::string buffer = document_.text(node, buffer_key);
    const Buffers& buffers = *written_.buffers;
    if (buffer != "i" && buffer != "o" && buffer != "s")
      document_.refuse(node, fmt::format("{}=\"{}\": expected i, o or s", buffer_key, printable(buffer, 40)),
                       "i is the input buffer, o the output, s scratch");
    const std::uint32_t size = buffer == "i" ? buffers.input : buffer == "o" ? buffers.output : gpu.scratch;
    const std::int64_t offset = document_.number(node, offset_key, 0, kMostChunks);
    if (offset + count > size)
      document_.refuse(node,
                       fmt::format("{}[{}..{}] of gpu {} is outside the buffer, which has {} chunks", buffer, offset,
                                   offset + count - 1, gpu.id, size),
                       "i_chunks, o_chunks and s_chunks of <gpu> say how many there are");
    const Buffers::Kind kind = buffer == "i"   ? Buffers::Kind::kInput
                               : buffer == "o" ? Buffers::Kind::kOutput
                                               : Buffers::Kind::kScratch;
    return static_cast<std::uint32_t>(
        place_in(buffers, written_.kind, gpu.id, kind, static_cast<std::uint32_t>(offset)));
  }

  // One step is up to three actions: src is copied to where the sum is made, a message comes in, another goes out.
  // A step of no chunks neither sends nor receives: it only waits, whatever its type.
  void read_step(Gpu& gpu, Block& block, const pugi::xml_node& node) {
    const StepType& named = type_of(node);
    const bool is_nop = named.name == "nop";
    const std::int64_t chunks = document_.number(node, "cnt", is_nop ? INT32_MIN : 0, kMostChunks, 1);
    const StepType& type = chunks > 0 ? named : type_named("nop");
    Action action;
    action.line = document_.line_of(node);
    action.name = fmt::format("gpu {}, tb {}, step {} ({})", gpu.id, block.id, block.first.size(), named.name);
    action.count = static_cast<std::uint32_t>(std::max(chunks, std::int64_t{1}));
    action.channel = static_cast<std::uint64_t>(std::max(block.channel, std::int64_t{0}));
    std::vector<Action>& actions = written_.actions[gpu.id];
    block.first.push_back(static_cast<std::uint32_t>(actions.size()));
    const auto add = [&](Kind kind, std::uint32_t from, std::uint32_t to, Combine combine, std::int64_t peer) {
      if (actions.size() > block.first.back()) action.after = {static_cast<std::uint32_t>(actions.size() - 1)};
      action.kind = kind;
      action.from = from;
      action.to = to;
      action.combine = combine;
      action.peer = peer < 0 ? 0 : static_cast<std::uint32_t>(peer);
      actions.push_back(action);
    };
    if (type.sends && block.send < 0) refuse_peer(gpu, block, node, type, "send");
    if (type.receives && block.receive < 0) refuse_peer(gpu, block, node, type, "recv");
    if (type.sends) claim(gpu, block, "send to", block.send, gpu.sends);
    if (type.receives) claim(gpu, block, "receive from", block.receive, gpu.receives);
    std::uint32_t source = type.reads ? place(gpu, node, "srcbuf", "srcoff", action.count) : Action::kNowhere;
    std::uint32_t result = type.stores ? place(gpu, node, "dstbuf", "dstoff", action.count) : source;
    const Combine combine = type.reduces ? Combine::kReduce : Combine::kCopy;
    if (type.receives) {
      if (type.reduces && !type.stores) result = take_registers(action.count);
      if (type.reduces && source != result) add(Kind::kLocal, source, result, Combine::kCopy, -1);
      add(Kind::kReceive, Action::kNowhere, result, combine, block.receive);
    } else if (!type.sends) {
      add(Kind::kLocal, source, result, combine, -1);
    }
    if (type.sends) add(Kind::kSend, result, Action::kNowhere, Combine::kCopy, block.send);
    block.last.push_back(static_cast<std::uint32_t>(actions.size() - 1));
  }

  [[noreturn]] void refuse_peer(const Gpu& gpu, const Block& block, const pugi::xml_node& node, const StepType& type,
                                std::string_view key) const {
    document_.refuse(
        node,
        fmt::format("a step of type {} in tb {} of gpu {}, which has {}=\"-1\"", type.name, block.id, gpu.id, key),
        fmt::format("name the peer: <tb {}=\"...\">", key));
  }

  std::uint32_t take_registers(std::uint32_t count) {
    const std::uint32_t first = written_.buffers->places() + registers_of_gpu_;
    registers_of_gpu_ += count;
    if (registers_of_gpu_ > kMostPlaces) document_.refuse(document_.root(), "too many steps of type rrs to check");
    return first;
  }

  // Predecessors of steps: the step before, and the one that the step names.
  void connect(const Gpu& gpu, const Block& block) {
    std::uint32_t step = 0;
    std::vector<Action>& actions = written_.actions[gpu.id];
    for (const pugi::xml_node& node : block.node.children("step")) {
      std::vector<std::uint32_t>& after = actions[block.first[step]].after;
      if (step > 0) after.push_back(block.last[step - 1]);
      const std::int64_t other = document_.number(node, "depid", -1, kMostChunks, -1);
      if (other >= 0) {
        const auto found = gpu.blocks.find(static_cast<std::uint32_t>(other));
        if (found == gpu.blocks.end())
          document_.refuse(node, fmt::format("depid=\"{}\": gpu {} has no such thread block", other, gpu.id));
        const auto steps = std::ssize(found->second.last);
        const std::int64_t which = document_.number(node, "deps", INT32_MIN, INT32_MAX);
        if (which >= steps)
          document_.refuse(node, fmt::format("deps=\"{}\": tb {} of gpu {} has {} steps", which, other, gpu.id, steps),
                           "they are numbered from 0");
        if (which >= 0) after.push_back(found->second.last[static_cast<std::size_t>(which)]);
      }
      ++step;
    }
  }

  const XmlDocument& document_;
  WrittenCollective written_;
  std::uint32_t registers_ = 0;  // of any GPU, for sums that are sent and not stored
  std::uint32_t registers_of_gpu_ = 0;
};

}  // namespace

MscclAlgorithm read_msccl(const std::string& file, std::string_view text) {
  const XmlDocument document(
      file, text, "an algorithm file is MSCCL's XML, or a set of Chakra traces that --algorithm names by their prefix");
  document.refuse_second_root("algorithm");
  WrittenCollective written = Reader(document).read();
  return {document.root().attribute("name").value(), std::move(written)};
}

}  // namespace orrery::collectives
