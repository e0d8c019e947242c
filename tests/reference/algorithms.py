# SPDX-License-Identifier: MIT
"""Collective algorithms as messages (docs/collectives.md): what each member of a line of n sends, to whom, after
what.

A schedule gives each member its sends in order. A send starts when the messages in `after` have arrived, all sends
before it have started, and fewer than `window` sends of the member are under way: most algorithms have one. A member
is through when all that it sends has left it, and all that is sent to it has arrived. Adding up takes no time.

Sizes are bytes of the whole buffer, in an all_gather and a gather of a member's own part; parts are rounded up."""
from dataclasses import dataclass, field

SCATTERING = ("all_reduce", "reduce_scatter", "all_gather", "barrier")
ALL = SCATTERING + ("reduce", "gather", "scatter", "broadcast", "all_to_all")


@dataclass
class Send:
    """A message to the member `to`; `after`: (member, number of its send) of messages that must have arrived
    before."""
    to: int
    size: int
    after: list = field(default_factory=list)


@dataclass
class Schedule:
    """`sends[i]`: what member i sends, in this order, at most `window` at a time."""
    sends: list
    window: int = 1

    def expected(self, member):
        """Number of messages that come to a member."""
        return sum(send.to == member for sends in self.sends for send in sends)


def part(size, count):
    return -(-size // count)


def from_root(n, root, place):
    """The member at a place when counted from the root."""
    return (root + place) % n


# --- Ring: neighbour to neighbour -----------------------------------------------------------------------------------

def around(n, sizes, way=1):
    """Each member sends messages of these sizes to the next one, each but the first when one from behind has come."""
    return Schedule([[Send((i + way) % n, size, [((i - way) % n, k - 1)] if k else []) for k, size in enumerate(sizes)]
                     for i in range(n)])


def chain(n, order, parts):
    """The parts go from the first member of `order` to the last, each forwarded as soon as it has come."""
    sends = [[] for _ in range(n)]
    for behind, member, ahead in zip([None] + order, order, order[1:]):
        sends[member] = [Send(ahead, size, [] if behind is None else [(behind, k)]) for k, size in enumerate(parts)]
    return Schedule(sends)


def ring(operation, n, size, root=0, way=1):
    """One ring, from each member to the next (`way` 1) or to the one before (-1)."""
    share = part(size, n)
    order = [from_root(n, root, way * place) for place in range(n)]
    if operation == "all_reduce":
        return around(n, [share] * (2 * (n - 1)), way)
    if operation == "reduce_scatter":
        return around(n, [share] * (n - 1), way)
    if operation == "all_gather":
        return around(n, [size] * (n - 1), way)
    if operation == "barrier":
        return around(n, [0] * (n - 1), way)
    if operation == "all_to_all":
        return around(n, [share * (n - k) for k in range(1, n)], way)
    if operation == "broadcast":
        return chain(n, order, [share] * n)
    if operation == "reduce":
        return chain(n, order[1:] + [root], [share] * n)
    sends = [[] for _ in range(n)]
    if operation == "gather":
        # A member sends its own part first, then what comes from behind; the root is the last.
        for place in range(1, n):
            behind = [[]] + [[(order[place - 1], k)] for k in range(place - 1)]
            sends[order[place]] = [Send(from_root(n, order[place], way), size, after) for after in behind]
    elif operation == "scatter":
        # The part of the farthest member first; what comes last is a member's own.
        for place in range(n - 1):
            behind = [[]] if place == 0 else [[(order[place - 1], k)] for k in range(n - 1)]
            count = n - 1 - place
            after = [behind[0] if place == 0 else behind[k] for k in range(count)]
            sends[order[place]] = [Send(order[place + 1], share, needs) for needs in after]
    return Schedule(sends)


# --- Direct: everybody to everybody else ----------------------------------------------------------------------------

WINDOW = 8  # messages that a member has under way in an all_to_all


def direct(operation, n, size, root=0, window=None):
    """Each member to all others, beginning with the next one."""
    share = part(size, n)
    others = [[(i + k) % n for k in range(1, n)] for i in range(n)]
    everything = 2 * n
    if operation == "all_to_all":
        return Schedule([[Send(j, share) for j in others[i]] for i in range(n)], window or WINDOW)
    if operation in ("reduce_scatter", "all_gather", "barrier"):
        amount = {"reduce_scatter": share, "all_gather": size, "barrier": 0}[operation]
        return Schedule([[Send(j, amount) for j in others[i]] for i in range(n)], window or everything)
    if operation == "all_reduce":
        # Each member gets its share from everybody, and sends the sum to everybody.
        sends = []
        for i in range(n):
            gathered = [(j, (i - j) % n - 1) for j in others[i]]
            sends.append([Send(j, share) for j in others[i]] + [Send(j, share, gathered) for j in others[i]])
        return Schedule(sends, window or everything)
    sends = [[] for _ in range(n)]
    if operation in ("broadcast", "scatter"):
        sends[root] = [Send(j, size if operation == "broadcast" else share) for j in others[root]]
    else:  # reduce, gather
        for j in others[root]:
            sends[j] = [Send(root, size)]
    return Schedule(sends, window or everything)


# --- Trees and servers: to a root and back ----------------------------------------------------------------------------

def binomial(operation, n, size, root=0):
    """A binomial tree of places counted from the root: the parent of a place is the one without its lowest bit. Down,
    a member sends to the farthest child first; up, it sends when all below it have sent."""
    if operation == "all_reduce":
        return in_turn(binomial("reduce", n, size, root), binomial("broadcast", n, size, root))
    amount = part(size, n) if operation == "scatter" else size
    member = [from_root(n, root, place) for place in range(n)]
    children = [[place + (1 << k) for k in range(height(n, place)) if place + (1 << k) < n] for place in range(n)]

    def carried(place):
        """Bytes that cross the edge above a place: its own part and those of all below it, or the whole buffer."""
        return amount * min(1 << height(n, place), n - place) if operation in ("gather", "scatter") else amount

    sends = [[] for _ in range(n)]
    for place in range(n):
        parent = place - (place & -place)
        if operation in ("broadcast", "scatter"):
            after = [(member[parent], children[parent][::-1].index(place))] if place else []
            sends[member[place]] = [Send(member[child], carried(child), after) for child in reversed(children[place])]
        elif place:
            below = [(member[child], 0) for child in children[place]]
            sends[member[place]] = [Send(member[parent], carried(place), below)]
    return Schedule(sends)


def height(n, place):
    """Number of children that a place of a binomial tree could have."""
    return (place & -place).bit_length() - 1 if place else (n - 1).bit_length()


def server(operation, n, size, root=0):
    """All send to the root, which sends to all."""
    if operation == "all_reduce":
        return in_turn(direct("reduce", n, size, root), direct("broadcast", n, size, root))
    return direct(operation, n, size, root)


def in_turn(first, second):
    """One schedule after the other: a member begins the second when all of the first that is for it has come."""
    came = [[(i, k) for i, sends in enumerate(first.sends) for k, send in enumerate(sends) if send.to == member]
            for member in range(len(first.sends))]
    shift = [len(sends) for sends in first.sends]
    return Schedule([sends + [Send(send.to, send.size, came[i] + [(j, shift[j] + k) for j, k in send.after])
                              for send in second.sends[i]] for i, sends in enumerate(first.sends)], first.window)


# --- Exchanges with one partner after the other ---------------------------------------------------------------------

def rounds(n, steps):
    """`steps`: (whom member i sends to, bytes); a step begins when what was sent to the member in the last one has
    come."""
    sends = [[] for _ in range(n)]
    for k, (to, size) in enumerate(steps):
        came = {steps[k - 1][0](j): (j, k - 1) for j in range(n)} if k else {}
        for i in range(n):
            sends[i].append(Send(to(i), size, [came[i]] if k else []))
    return Schedule(sends)


def halving(operation, n, size, partners):
    """Halving among 2^k members: a reduce-scatter exchanges a half with the first partner, then a quarter, and so on;
    an all-gather goes the same way back."""
    share = part(size, n)
    down = [(partner, share * (n >> k + 1)) for k, partner in enumerate(partners)]
    if operation == "reduce_scatter":
        return rounds(n, down)
    if operation == "all_reduce":
        return rounds(n, down + down[::-1])
    if operation == "all_gather":
        return rounds(n, [(partner, size * (n >> k + 1)) for k, partner in enumerate(partners)][::-1])
    return rounds(n, [(partner, 0) for partner in partners][::-1])  # barrier


def at_distance(distance):
    return lambda i: i ^ distance


def halving_doubling(operation, n, size, root=0, near_first=False):
    """Halving and doubling among 2^k members. The largest messages go to the nearest partners, or where all are
    equally far to the farthest."""
    near = [at_distance(1 << k) for k in range(n.bit_length() - 1)]
    if operation in SCATTERING:
        return halving(operation, n, size, near if near_first else near[::-1])
    if operation == "all_to_all":
        return rounds(n, [(partner, part(size, n) * (n // 2)) for partner in near])
    return binomial(operation, n, size, root)


def swing(operation, n, size, root=0):
    """Halving and doubling with partners that are near on a ring: 1, -1, 3, -5, ... from even members, the other way
    from odd ones."""
    distances = [sum((-2) ** j for j in range(k + 1)) for k in range(n.bit_length() - 1)]
    return halving(operation, n, size, [lambda i, d=d: (i + d if i % 2 == 0 else i - d) % n for d in distances])


def recursive_doubling(operation, n, size, root=0):
    """Recursive doubling among 2^k members: exchanges of all that a member has with partners 1, 2, 4, ... away."""
    if operation == "all_reduce":
        return rounds(n, [(at_distance(1 << k), size) for k in range(n.bit_length() - 1)])
    return halving_doubling(operation, n, size)


def pairwise(operation, n, size, root=0):
    """An all_to_all with one partner after another: of 2^k members i ^ k, else k ahead."""
    is_power = n & (n - 1) == 0
    return rounds(n, [(at_distance(k) if is_power else lambda i, k=k: (i + k) % n, part(size, n)) for k in range(1, n)])


def bruck(operation, n, size, root=0):
    """Rounds with members 2^k apart, for any number of them."""
    distances = [1 << k for k in range((n - 1).bit_length())]
    if operation == "all_gather":
        return rounds(n, [(lambda i, d=d: (i - d) % n, size * min(d, n - d)) for d in distances])
    return rounds(n, [(lambda i, d=d: (i + d) % n, part(size, n) * sum(bool(j & d) for j in range(1, n)))
                      for d in distances])


def one_by_one(operation, n, size, root=0):
    """An all_reduce in which each member sends its whole buffer to all others, one after the other."""
    return Schedule([[Send((i + k) % n, size) for k in range(1, n)] for i in range(n)])


# name: (schedule, what it can do, whether of 2^k members only)
ALGORITHMS = {
    "ring": (ring, ALL, False),
    "direct": (direct, ALL, False),
    "direct2": (lambda *call: direct(*call, window=2), ALL, False),
    "halving-doubling": (halving_doubling, ALL, True),
    "swing": (swing, SCATTERING, True),
    "recursive-doubling": (recursive_doubling, ("all_reduce", "all_gather", "barrier"), True),
    "binomial-tree": (binomial, ("all_reduce", "reduce", "gather", "scatter", "broadcast"), False),
    "server": (server, ("all_reduce", "reduce", "broadcast"), False),
    "bruck": (bruck, ("all_to_all", "all_gather"), False),
    "pairwise": (pairwise, ("all_to_all",), False),
    "one-by-one": (one_by_one, ("all_reduce",), False),
    "bidirectional-ring": (None, ALL, False),
}
TO_ROOT_AND_BACK = ("server", "binomial-tree")
