# SPDX-License-Identifier: MIT
"""The clock, and what ranks do (docs/rules.md, Rounds, Static matching, Order, Messages).

An instant is processed in rounds: all that ends now is delivered first, then all ranks decide; what takes no time
ends in the next round. When no round is left, the network shares its links anew."""
import heapq

from algorithms import part
from calls import AggregateCall, Call
from jobs import WITH_ROOT
from network import MODELS, Message
from phases import Plan


class Clock:
    """Time in picoseconds, and what is to be called when."""

    def __init__(self):
        self.now = 0
        self.queue = []
        self.count = 0

    def after(self, delay, action):
        self.count += 1
        event = (self.now + delay, self.count, action)
        heapq.heappush(self.queue, event)
        return event

    def cancel(self, event):
        """An event that has not come will not."""
        self.queue.remove(event)
        heapq.heapify(self.queue)

    def is_due(self):
        return bool(self.queue) and self.queue[0][0] == self.now

    def due(self):
        """Takes all that is due now out of the queue."""
        actions = []
        while self.is_due():
            actions.append(heapq.heappop(self.queue)[2])
        return actions


class Rank:
    """The operations of one rank: which wait for what, and which are under way on which stream."""

    def __init__(self, number, program):
        self.number, self.program = number, program
        self.waits_for = [len(set(operation.after)) for operation in program]
        self.followers = [[] for _ in program]
        for node, operation in enumerate(program):
            for before in set(operation.after):
                self.followers[before].append(node)
        self.ready = {node for node, count in enumerate(self.waits_for) if count == 0}
        self.busy = {}  # stream: nodes that are under way on it
        self.start = [None] * len(program)
        self.end = [None] * len(program)
        self.in_order = {}  # nodes of each stream that runs in canonical order, which is that of the ids here
        for node, operation in enumerate(program):
            if operation.kind == "compute" and operation.stream:
                self.in_order.setdefault(("compute", operation.stream), []).append(node)

    def stream(self, node):
        """The stream of a node, which runs one operation at a time; None for receives, which are posted when
        ready."""
        operation = self.program[node]
        if operation.kind == "receive":
            return None
        if operation.kind == "send":
            return ("send", operation.peer)
        if operation.kind == "host":
            return ("host",)
        if operation.group:
            return ("calls", operation.group)
        return ("compute", operation.stream)

    def next_nodes(self, may_join):
        """Nodes that start now: of each stream that is free, the ready one with the smallest id. `may_join(node)`
        says whether a call starts beside those that are under way."""
        taken = set()
        for node in sorted(self.ready):
            stream = self.stream(node)
            order = self.in_order.get(stream)
            if stream is None:
                yield node
            elif stream[0] == "calls" and (stream in self.busy or stream in taken):
                if may_join(node):
                    yield node
            elif stream in taken or (order is not None and order[0] != node):
                continue
            elif stream not in self.busy:
                taken.add(stream)
                yield node

    def started(self, node, now):
        self.ready.remove(node)
        self.start[node] = now
        stream = self.stream(node)
        if stream is not None:
            self.busy.setdefault(stream, set()).add(node)
        if stream in self.in_order:
            self.in_order[stream].pop(0)

    def ended(self, node, now):
        self.end[node] = now
        stream = self.stream(node)
        if stream is not None:
            self.busy[stream].remove(node)
            if not self.busy[stream]:
                del self.busy[stream]
        for follower in self.followers[node]:
            self.waits_for[follower] -= 1
            if self.waits_for[follower] == 0:
                self.ready.add(follower)


class Simulation:
    """A job from its start to its end; `ranks[r].start` and `.end` are the times of its operations."""

    def __init__(self, job):
        self.job = job
        self.clock = Clock()
        self.network = MODELS[job.model](self.clock, job.machine)
        self.ranks = [Rank(number, program) for number, program in enumerate(job.programs)]
        self.calls = {}  # (group, k): Call
        self.touched = []  # (call, device) of which something has changed in this round
        self.number_of_call = [self.numbers(rank, lambda op: op.group) for rank in self.ranks]
        self.number_of_send = [self.numbers(rank, lambda op: ("send", op.peer, op.tag) if op.kind == "send" else None)
                               for rank in self.ranks]
        self.number_of_receive = [
            self.numbers(rank, lambda op: ("receive", op.peer, op.tag) if op.kind == "receive" else None)
            for rank in self.ranks]
        self.arrivals = {}  # (source, target, tag, k): time
        self.posted = {}  # the same: (rank, node)

    @staticmethod
    def numbers(rank, key):
        """For each node that has a key: how many nodes before it have the same."""
        counts, numbers = {}, {}
        for node, operation in enumerate(rank.program):
            if key(operation):
                numbers[node] = counts[key(operation)] = counts.get(key(operation), -1) + 1
        return numbers

    def run(self):
        for start in self.job.late.values():
            self.clock.after(start, lambda now: None)
        # A change of links that nothing uses any more is nothing that happens.
        changes = sorted((time, links, percent) for links, of_links in self.job.changes.items() for time, percent in of_links)
        self.rounds()
        while True:
            self.network.share()
            times = [time for time in (self.network.next_end(), self.clock.queue[0][0] if self.clock.queue else None)
                     if time is not None]
            if not times:
                if not self.join_first_calls() and not self.relieve():
                    return self
                self.rounds()
                continue
            self.clock.now = min([*times, *(time for time, _, _ in changes[:1])])
            self.network.deliver()
            while changes and changes[0][0] == self.clock.now:
                _, links, percent = changes.pop(0)
                self.network.change(links, percent)
            self.rounds()

    def rounds(self):
        """Delivers all that is due now and lets ranks decide, until nothing is left at this instant."""
        while True:
            for action in self.clock.due():
                action(self.clock.now)
            self.decide()
            if not self.clock.is_due():
                break

    def decide(self):
        """All calls go on that something has happened to, then each rank starts what it can."""
        touched, self.touched = self.touched, []
        for call, device in dict.fromkeys(touched):
            call.go_on(device)
        decisions = [(rank, node) for rank in self.ranks if self.clock.now >= self.job.late.get(rank.number, 0)
                     for node in rank.next_nodes(lambda node, rank=rank: self.may_join(rank, node))]
        for rank, node in decisions:
            rank.started(node, self.clock.now)
            self.start(rank, node)

    def may_join(self, rank, node):
        """A rank whose calls on a communicator all wait for members joins another one that a peer has entered."""
        group = rank.program[node].group
        call = self.calls.get((group, self.number_of_call[rank.number][node]))
        under_way = [self.calls[group, self.number_of_call[rank.number][other]]
                     for other in rank.busy.get(("calls", group), ())]
        return call is not None and bool(call.entered) and all(other.waits_for_members() for other in under_way)

    def join_first_calls(self):
        """Where nothing happens any more, the members of each communicator join the first of its calls that each of
        them either waits in or could begin. Says whether there was one."""
        joining = []
        for group, ranks in self.job.groups.items():
            nodes = [{number: node for node, number in self.number_of_call[rank].items()
                      if self.ranks[rank].program[node].group == group} for rank in ranks]
            for number in sorted(nodes[0]):
                members = [(self.ranks[rank], of_rank[number]) for rank, of_rank in zip(ranks, nodes)]
                waiting = [(rank, node) for rank, node in members if node in rank.ready]
                if waiting and all(node in rank.ready or (rank.start[node] is not None and rank.end[node] is None)
                                   for rank, node in members):
                    joining += waiting
                    break
        for rank, node in joining:
            rank.started(node, self.clock.now)
            self.start(rank, node)
        return bool(joining)

    def relieve(self):
        """Where nothing happens any more either, each queue takes in the first that waits. Says whether any did."""
        relieved = [(call, device) for call in self.calls.values() for device in call.on_end if call.relieve(device)]
        self.touched += relieved
        return bool(relieved)

    def start(self, rank, node):
        operation = rank.program[node]
        if operation.kind in ("compute", "host"):
            self.clock.after(self.job.duration(rank.number, operation), lambda now: rank.ended(node, now))
        elif operation.kind == "send":
            self.start_send(rank, node, operation)
        elif operation.kind == "receive":
            key = (operation.peer, rank.number, operation.tag, self.number_of_receive[rank.number][node])
            if key in self.arrivals:
                self.clock.after(0, lambda now: rank.ended(node, now))
            else:
                self.posted[key] = (rank, node)
        else:
            call = self.call(operation, self.number_of_call[rank.number][node])
            call.enter(self.job.devices[rank.number], lambda: self.call_ended(rank, node))
            self.clock.after(0, lambda now: None)  # peers see it in the next round

    def call_ended(self, rank, node):
        """Has the rank learn in the next round that its call is done."""
        self.clock.after(0, lambda now: rank.ended(node, now))

    def start_send(self, rank, node, operation):
        key = (rank.number, operation.peer, operation.tag, self.number_of_send[rank.number][node])

        def on_arrived(now):
            self.arrivals[key] = now
            if key in self.posted:
                receiver, receive = self.posted.pop(key)
                receiver.ended(receive, now)

        devices = self.job.devices
        self.transfer(devices[rank.number], devices[operation.peer], operation.size,
                      (0, node), lambda now: rank.ended(node, now), on_arrived)

    def transfer(self, source, target, size, place, on_sent, on_arrived):
        """`place`: of the message in the program of the sender."""
        route = self.route(source, target)
        self.network.start(Message(size, route, (source, target, *place), on_sent, on_arrived))

    def route(self, source, target):
        return self.job.machine.route(source, target)

    def touched_later(self, call, device):
        """Something has happened to a call that the device knows of in the next round."""
        self.clock.after(0, lambda now: self.touched.append((call, device)))

    def call(self, operation, number):
        key = (operation.group, number)
        if key not in self.calls:
            group = [self.job.devices[rank] for rank in self.job.groups[operation.group]]
            root = self.job.devices[operation.root] if operation.kind in WITH_ROOT else None
            place = (list(self.job.groups).index(operation.group), number)
            collectives = self.job.collectives
            chunks = max(1, min(collectives.chunks, operation.size))  # none without a byte
            plan = Plan(self.job.machine, group, operation.kind, part(operation.size, chunks), root,
                        collectives.algorithm)
            kind = AggregateCall if self.job.granularity == "phase" else Call
            self.calls[key] = kind(self, place, plan, chunks, collectives.active_chunks, collectives.queue)
        return self.calls[key]
