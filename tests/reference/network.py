# SPDX-License-Identifier: MIT
"""Times of messages: the three network models (docs/rules.md, Integers, Messages, Fairness; docs/clusters.md).

All arithmetic is of whole numbers. A network calls `sent(now)` of a message when its last byte has left its sender,
and `arrived(now)` the latencies of its links later."""
import heapq

from machine import Link

PICOSECONDS = 10**12  # of a second


def rounded_up(numerator, denominator):
    return -(-numerator // denominator)


class Message:
    """So many bytes along a route; `on_sent` and `on_arrived` are called with the time. `place` orders messages that
    come to a link at one instant: the devices that it goes from and to, then its place in the sender's program."""

    def __init__(self, size, route, place, on_sent, on_arrived, weight=1):
        self.weight = weight
        self.size, self.route, self.place = size, route, place
        self.on_sent, self.on_arrived = on_sent, on_arrived
        self.left = size * PICOSECONDS  # bytes times picoseconds a second
        self.rate = 0


class Network:
    """The part that all models share: links, and the clock that calls back."""

    def __init__(self, clock, machine):
        self.clock, self.machine = clock, machine
        self.links = [Link(link.rate, link.latency) for link in machine.links]

    def latency(self, route):
        return sum(self.links[link].latency for link in route)

    def leave(self, message):
        """The last byte of a message leaves its sender now."""
        message.on_sent(self.clock.now)
        self.clock.after(self.latency(message.route), message.on_arrived)

    def start_whole(self, loads, place, latency, on_end):
        """Starts {link: (bytes, weight)} as one whole; `on_end` is called a latency after all links are through."""
        if not any(size for size, _ in loads.values()):
            self.clock.after(latency, on_end)
            return
        waiting = set(loads)

        def on_sent(link):
            waiting.remove(link)
            if not waiting:
                self.clock.after(latency, on_end)

        for link, (size, weight) in loads.items():
            self.start(Message(size, [link], place, lambda now, link=link: on_sent(link), lambda now: None, weight))

    def next_end(self):
        """Time at which the next message leaves, or None; only of a model that shares links."""
        return None

    def deliver(self):
        """Lets all messages leave whose time has come."""

    def share(self):
        """Shares the links anew at the end of an instant."""


class AlphaBeta(Network):
    """Nothing is shared: a message takes what its narrowest link takes, and the latencies of all."""

    def start(self, message):
        took = 0
        if message.size and message.route:
            took = rounded_up(message.size * PICOSECONDS, min(self.links[link].rate for link in message.route))
        self.clock.after(took, lambda now: self.leave(message))


class Fifo(Network):
    """Store and forward: a link carries one whole message at a time, in the order in which they come to it; of those
    that come at one instant the first by place."""

    def __init__(self, clock, machine):
        super().__init__(clock, machine)
        self.queues = [[] for _ in self.links]  # of each link: (number of the instant, place, hop, message)
        self.instant = 0
        self.busy = [False] * len(self.links)

    def start(self, message):
        if message.route:
            self.come(message, 0)
        else:
            self.clock.after(0, lambda now: self.leave(message))

    def come(self, message, hop):
        heapq.heappush(self.queues[message.route[hop]], (self.instant, message.place, hop, message))

    def share(self):
        """At the end of an instant each idle link takes the next message. What takes no time ends in an instant of
        its own."""
        self.instant += 1
        for link, queue in enumerate(self.queues):
            if queue and not self.busy[link]:
                self.take(link)

    def take(self, link):
        _, _, hop, message = heapq.heappop(self.queues[link])
        self.busy[link] = True
        took = rounded_up(message.size * PICOSECONDS, self.links[link].rate)
        self.clock.after(took, lambda now: self.crossed(link, hop, message))

    def crossed(self, link, hop, message):
        """The last byte of a message has entered a link, which takes the next one at the end of the instant."""
        self.busy[link] = False
        if hop == 0:
            message.on_sent(self.clock.now)
        if hop + 1 < len(message.route):
            self.clock.after(self.links[link].latency, lambda now: self.come(message, hop + 1))
        else:
            self.clock.after(self.links[link].latency, message.on_arrived)


class Flow(Network):
    """Messages under way share all links of their routes max-min fairly; the shares are worked out anew at the end of
    each instant at which a message came or went."""

    def __init__(self, clock, machine):
        super().__init__(clock, machine)
        self.under_way = []
        self.updated = 0
        self.changed = False

    def start(self, message):
        if message.size == 0 or not message.route:
            self.clock.after(0, lambda now: self.leave(message))
            return
        self.under_way.append(message)
        self.changed = True

    def change(self, kind, percent):
        """Gives all links of a dimension and way so much of their rate from now on."""
        self.progress()
        self.changed = True
        for (way, dimension, *_), link in self.machine.between.items():
            if (dimension, way) == kind:
                self.links[link].rate = self.machine.links[link].rate * percent // 100

    def next_end(self):
        ends = [self.updated + rounded_up(message.left, message.rate) for message in self.under_way if message.rate]
        return min(ends, default=None)

    def progress(self):
        """Brings what is left of all messages up to date."""
        passed = self.clock.now - self.updated
        for message in self.under_way:
            message.left -= message.rate * passed
        self.updated = self.clock.now

    def deliver(self):
        self.progress()
        done = [message for message in self.under_way if message.left <= 0]
        self.under_way = [message for message in self.under_way if message.left > 0]
        self.changed |= bool(done)
        for message in done:
            self.leave(message)

    def share(self):
        """Max-min fair shares in whole bytes per second: the links that give each of their messages least are filled
        first. Every message over such a link gets that, times its weight, and leaves so much less to others on the
        other links of its route."""
        if not self.changed:
            return
        self.changed = False
        self.progress()
        left = {}
        open_on = {}
        for message in self.under_way:
            for link in message.route:
                left[link] = self.links[link].rate
                open_on[link] = open_on.get(link, 0) + message.weight
        waiting = list(self.under_way)
        while waiting:
            share = min(left[link] // count for link, count in open_on.items() if count)
            full = {link for link, count in open_on.items() if count and left[link] // count == share}
            filled = [message for message in waiting if any(link in full for link in message.route)]
            for message in filled:
                message.rate = share * message.weight
                for link in message.route:
                    left[link] -= message.rate
                    open_on[link] -= message.weight
            waiting = [message for message in waiting if not any(link in full for link in message.route)]


MODELS = {"alpha-beta": AlphaBeta, "flow": Flow, "fifo": Fifo}
