# SPDX-License-Identifier: MIT
"""Calls of collectives: what each member has done of them (docs/rules.md, Chunks; docs/collectives.md).

A call is cut into chunks, and each chunk goes through the phases of the plan. A rank has a queue for each dimension
(of a ring both ways: for each way round). Of the chunks in it so many run at a time as `active_chunks` says, and any
for which a message of a peer has come."""
from algorithms import part


class Member:
    """Progress of one member in one phase of one chunk: which of its sends it has started and ended, and which of
    the messages to it have come."""

    def __init__(self, place, schedule):
        self.place, self.schedule = place, schedule
        self.sends = schedule.sends[place]
        self.started = 0
        self.sent = set()
        self.arrived = set()
        self.expected = schedule.expected(place)
        self.came = None  # when the member came to the phase: it is in the queue
        self.is_active = False

    def is_through(self):
        return len(self.sent) == len(self.sends) and len(self.arrived) == self.expected

    def startable(self):
        """True if the next send may start."""
        ahead = self.started - self.schedule.window
        return (self.started < len(self.sends) and (ahead < 0 or ahead in self.sent)
                and all(message in self.arrived for message in self.sends[self.started].after))


class AggregateMember(Member):
    """A member of a phase that runs as one whole: it is through when all are."""

    def __init__(self, place, schedule):
        super().__init__(place, schedule)
        self.is_done = False

    def is_through(self):
        return self.is_done

    def startable(self):
        return False


class Call:
    """One call of a communicator: its chunks, all of the same phases, and where each device that has entered is."""
    member = Member

    def __init__(self, simulation, place, plan, chunks=1, active_chunks=1, queue="fifo"):
        self.simulation, self.place, self.plan = simulation, place, plan
        self.active_chunks, self.queue = active_chunks, queue
        self.entered = set()  # devices
        self.on_end = {}  # device: called when it is through
        self.members = {}  # device: {(chunk, phase): Member}
        self.line = {}  # (phase, device)
        for number, phase in enumerate(plan.phases):
            for line in phase.lines:
                for place, device in enumerate(line):
                    self.line[number, device] = line
                    for chunk in range(chunks):
                        self.members.setdefault(device, {})[chunk, number] = self.member(place, phase.schedule)

    def waits_for_members(self):
        return len(self.entered) < len(self.plan.group)

    def enter(self, device, on_end):
        self.entered.add(device)
        self.on_end[device] = on_end
        self.go_on(device)

    def go_on(self, device):
        """Takes chunks out of the queues of a device and starts all sends that may start; ends the call for it if
        nothing is left."""
        if device not in self.on_end:
            return
        members = self.members.get(device, {})
        while self.advance(members):
            pass
        for (chunk, number), member in members.items():
            if member.is_active:
                self.start(chunk, number, device, member)
        if all(member.is_active and member.is_through() for member in members.values()):
            self.on_end.pop(device)()

    def advance(self, members):
        """Puts chunks into queues and takes them out; says whether any was taken, which may let others come."""
        for (chunk, number), member in members.items():
            if member.came is None and self.has_come(members, chunk, self.plan.phases[number]):
                member.came = self.simulation.clock.now
        return any([self.take(queue, members) for queue in sorted({phase.queue for phase in self.plan.phases})])

    def has_come(self, members, chunk, phase):
        """True if a member is through with the phases before one; those that it has no part in are behind it."""
        return all(self.is_behind(members, chunk, before) for before in phase.after)

    def is_behind(self, members, chunk, number):
        member = members.get((chunk, number))
        if member is None:
            return self.has_come(members, chunk, self.plan.phases[number])
        return member.is_active and member.is_through()

    def take(self, queue, members):
        """Activates what is next in a queue; says whether anything was."""
        here = [(member.came if self.queue == "fifo" else -member.came, chunk, number, member)
                for (chunk, number), member in members.items()
                if self.plan.phases[number].queue == queue and member.came is not None
                and not (member.is_active and member.is_through())]
        running = before = sum(member.is_active for *_, member in here)
        for *_, member in sorted(here, key=lambda entry: entry[:3]):
            if not member.is_active and (running < self.active_chunks or member.arrived):
                member.is_active = True
                running += 1
        return running > before

    def relieve(self, device):
        """Activates the first of each queue that waits; says whether there was one."""
        members, relieved = self.members.get(device, {}), False
        for queue in sorted({phase.queue for phase in self.plan.phases}):
            waiting = [(member.came if self.queue == "fifo" else -member.came, chunk, number, member)
                       for (chunk, number), member in members.items()
                       if self.plan.phases[number].queue == queue and member.came is not None and not member.is_active]
            if waiting:
                min(waiting, key=lambda entry: entry[:3])[-1].is_active = relieved = True
        return relieved

    def start(self, chunk, number, device, member):
        """Starts what a member of a phase may start."""
        while member.startable():
            self.send(chunk, number, device, member)

    def send(self, chunk, number, device, member):
        index = member.started
        member.started += 1
        send = member.sends[index]
        target = self.line[number, device][send.to]
        receiver = self.members[target][chunk, number]

        def on_sent(now):
            member.sent.add(index)
            self.simulation.touched.append((self, device))

        def on_arrived(now):
            receiver.arrived.add((member.place, index))
            self.simulation.touched.append((self, target))

        place = (1, *self.place, chunk, number, index)
        self.simulation.transfer(device, target, send.size, place, on_sent, on_arrived)


class AggregateCall(Call):
    """A call of which each phase of each line is one whole (docs/granularity.md): it starts when all members have
    come, and ends for all at once, the latencies of the longest chain of messages after the bytes of all are through
    their links."""
    member = AggregateMember

    def start(self, chunk, number, device, member):
        line = self.line[number, device]
        members = [self.members[other][chunk, number] for other in line]
        for other, peer in zip(line, members):
            if not peer.arrived:  # peers know in the next round that one has come
                peer.arrived.add(device)
                self.simulation.touched_later(self, other)
        if member.started or not all(peer.is_active for peer in members):
            return

        def on_end(now):
            for other, peer in zip(line, members):
                peer.is_done = True
                self.simulation.touched.append((self, other))

        for peer in members:
            peer.started = 1
        schedule = self.plan.phases[number].schedule
        route = self.simulation.route
        latency = longest_chain(schedule, lambda i, j: self.simulation.network.latency(route(line[i], line[j])))
        behind = self.simulation.job.machine.devices  # all messages that leave the first of the line
        place = (line[0], behind, 1, *self.place, chunk, number)
        loads = loads_of(schedule, lambda i, j: route(line[i], line[j]))
        self.simulation.network.start_whole(loads, place, latency, on_end)


def loads_of(schedule, route):
    """{link: (bytes of all messages over it, weight)}. The weight is how many members it takes to fill the link: its
    bytes over those that the member which sends most sends in all, rounded up."""
    loads = {}
    for i, sends in enumerate(schedule.sends):
        for send in sends:
            for link in route(i, send.to):
                loads[link] = loads.get(link, 0) + send.size
    most = max(1, *(sum(send.size for send in sends) for sends in schedule.sends))
    return {link: (size, max(1, part(size, most))) for link, size in loads.items()}


def longest_chain(schedule, latency):
    """Latencies of the longest chain of messages that wait for one another."""
    sends = schedule.sends
    start = [[0] * len(of_member) for of_member in sends]
    changed, longest = True, 0
    while changed:
        changed = False
        for i, of_member in enumerate(sends):
            for k, send in enumerate(of_member):
                earliest = [start[j][m] + latency(j, i) for j, m in send.after] + start[i][:k][-1:]
                if max(earliest, default=0) > start[i][k]:
                    start[i][k] = max(earliest)
                    changed = True
                longest = max(longest, start[i][k] + latency(i, send.to))
    return longest
