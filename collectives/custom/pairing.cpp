// SPDX-License-Identifier: MIT
#include "collectives/custom/pairing.h"

#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery::collectives {
namespace {

using Kind = Action::Kind;

// Actions of a channel from one rank to another: sends of the first, receives of the second.
struct Channel {
  std::vector<std::uint32_t> sends;
  std::vector<std::uint32_t> receives;
};
using Channels = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, Channel>;

Channels channels_of(const WrittenCollective& written) {
  Channels channels;
  for (std::uint32_t rank = 0; rank < written.ranks; ++rank)
    for (std::uint32_t a = 0; a < written.actions[rank].size(); ++a) {
      const Action& action = written.actions[rank][a];
      if (action.kind == Kind::kSend) channels[{rank, action.peer, action.channel}].sends.push_back(a);
      if (action.kind == Kind::kReceive) channels[{action.peer, rank, action.channel}].receives.push_back(a);
    }
  return channels;
}

void refuse_lone(const WrittenCollective& written, std::uint32_t from, std::uint32_t to, std::uint64_t number,
                 const Channel& channel) {
  const bool is_send = channel.sends.size() > channel.receives.size();
  const std::size_t met = is_send ? channel.receives.size() : channel.sends.size();
  const std::uint32_t rank = is_send ? from : to;
  const std::uint32_t action = (is_send ? channel.sends : channel.receives)[met];
  throw InputError(written.where(rank, action),
                   fmt::format("{}: no {} meets this {}: {} {}, rank {} sends {} to rank {}, which receives {}",
                               written.actions[rank][action].name, is_send ? "receive" : "send",
                               is_send ? "send" : "receive", written.buffers ? "on channel" : "with tag", number, from,
                               channel.sends.size(), to, channel.receives.size()),
                   written.buffers
                       ? "every send needs one receive of its peer on the same channel, and every receive one send"
                       : "every send needs one receive of its peer with the same tag, and every receive one send");
}

void refuse_sizes(const WrittenCollective& written, std::uint32_t from, std::uint32_t send, std::uint32_t to,
                  std::uint32_t receive) {
  const Action& sent = written.actions[from][send];
  const Action& received = written.actions[to][receive];
  if (sent.count == received.count && sent.weight == received.weight) return;
  const auto size = [&](const Action& action) {
    return written.buffers ? counted(action.count, "chunk") : counted(action.weight, "byte");
  };
  throw InputError(written.where(from, send),
                   fmt::format("{} sends {}, and its other end, {} of {}, receives {}", sent.name, size(sent),
                               received.name, written.file_of(to), size(received)),
                   "the k-th send of a channel meets the k-th receive: both say the same size");
}

}  // namespace

Pairing pair_messages(const WrittenCollective& written) {
  Pairing pairing;
  for (const std::vector<Action>& actions : written.actions) {
    pairing.ends.emplace_back(actions.size());
    std::vector<std::uint32_t>& slots = pairing.slots.emplace_back(actions.size());
    std::uint32_t slot = 0;
    for (std::size_t a = 0; a < actions.size(); ++a)
      if (actions[a].kind == Kind::kReceive) slots[a] = slot++;
  }
  for (const auto& [ends, channel] : channels_of(written)) {
    const auto& [from, to, number] = ends;
    if (channel.sends.size() != channel.receives.size()) refuse_lone(written, from, to, number, channel);
    for (std::size_t i = 0; i < channel.sends.size(); ++i) {
      refuse_sizes(written, from, channel.sends[i], to, channel.receives[i]);
      pairing.ends[from][channel.sends[i]] = channel.receives[i];
      pairing.ends[to][channel.receives[i]] = channel.sends[i];
    }
  }
  return pairing;
}

}  // namespace orrery::collectives
