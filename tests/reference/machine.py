# SPDX-License-Identifier: MIT
"""A machine: dimensions of devices, the links in them, and the way that a message takes (docs/clusters.md).

Devices are numbered with the first dimension varying fastest. A dimension joins, for each choice of the other
coordinates, one line of devices by links of its own: a ring, a switch, or a link between any two. A message goes
along the dimensions one after the other, the first one first, by way of the devices in between."""
from dataclasses import dataclass, field


@dataclass
class Dimension:
    """One dimension: `bandwidth` in bytes per second and `latency` in picoseconds of one link (of a switch: of a
    port, and from device to device), and the share of the bandwidth that messages get, in percent."""
    topology: str
    size: int
    bandwidth: int
    latency: int
    efficiency: int = 100

    def yaml(self):
        """All but the size."""
        return (f"topology: {self.topology}, bandwidth: {self.bandwidth} B/s, latency: {self.latency} ps, "
                f"efficiency: {self.efficiency} %")


@dataclass
class Link:
    """A directed link. `rate` in whole bytes per second: what is left of the bandwidth, rounded down; `latency` in
    ps."""
    rate: int
    latency: int


@dataclass
class Machine:
    """Devices along dimensions, with all links; `links` are numbered, and `between` finds those of one line."""
    dimensions: list
    links: list = field(default_factory=list)
    between: dict = field(default_factory=dict)

    def __post_init__(self):
        for index in range(len(self.dimensions)):
            for line in self.lines(index):
                self.add_line(index, self.dimensions[index], line)

    def yaml(self):
        """The value of `cluster`."""
        dims = ", ".join(f"{{size: {dimension.size}, {dimension.yaml()}}}" for dimension in self.dimensions)
        return f"{{device: a100-sxm-80gb, dims: [{dims}]}}"

    @property
    def devices(self):
        count = 1
        for dimension in self.dimensions:
            count *= dimension.size
        return count

    def coordinates(self, device):
        """Place of a device along each dimension."""
        places = []
        for dimension in self.dimensions:
            places.append(device % dimension.size)
            device //= dimension.size
        return tuple(places)

    def device(self, coordinates):
        number = 0
        for dimension, place in zip(reversed(self.dimensions), reversed(coordinates)):
            number = number * dimension.size + place
        return number

    def lines(self, index):
        """All lines of devices along one dimension, each in the order of their places."""
        for first in range(self.devices):
            places = list(self.coordinates(first))
            if places[index] == 0:
                size = self.dimensions[index].size
                yield [self.device(places[:index] + [place] + places[index + 1:]) for place in range(size)]

    def add_line(self, index, dimension, line):
        rate = dimension.bandwidth * dimension.efficiency // 100
        size = len(line)
        if dimension.topology == "switch":
            # Half of the latency is that of the way up, the rest that of the way down.
            up = dimension.latency // 2
            for device in line:
                self.add(("up", index, device), rate, up)
                self.add(("down", index, device), rate, dimension.latency - up)
        elif dimension.topology == "ring":
            for place, device in enumerate(line):
                ahead = line[(place + 1) % size]
                # Between two devices there is one link each way, not two.
                for pair in ((device, ahead), (ahead, device)):
                    if (index, *pair) not in self.between:
                        self.add((index, *pair), rate, dimension.latency)
        else:
            for source in line:
                for target in line:
                    if source != target:
                        self.add((index, source, target), rate, dimension.latency)

    def add(self, key, rate, latency):
        self.between[key] = len(self.links)
        self.links.append(Link(rate, latency))

    def route(self, source, target):
        """Numbers of the links from one device to another, in the order in which a message crosses them."""
        links = []
        at = list(self.coordinates(source))
        for index, place in enumerate(self.coordinates(target)):
            if at[index] != place:
                links += self.route_along(index, tuple(at), place)
                at[index] = place
        return links

    def route_along(self, index, at, place):
        """Links from the place `at` to another one on the same line."""
        dimension = self.dimensions[index]

        def on_line(where):
            return self.device(at[:index] + (where,) + at[index + 1:])

        if dimension.topology == "switch":
            return [self.between["up", index, on_line(at[index])], self.between["down", index, on_line(place)]]
        if dimension.topology == "fully-connected":
            return [self.between[index, on_line(at[index]), on_line(place)]]
        # On a ring the shortest way, and ahead where both are as long.
        ahead = (place - at[index]) % dimension.size
        step = 1 if 2 * ahead <= dimension.size else -1
        links = []
        here = at[index]
        while here != place:
            following = (here + step) % dimension.size
            links.append(self.between[index, on_line(here), on_line(following)])
            here = following
        return links


@dataclass
class Cluster(Machine):
    """Nodes whose NICs one switch joins: the first dimension is within a node, the second is the switch, of which
    `bandwidth` is that of a NIC. A node has `nics`, each of which serves as many devices side by side, over a link of
    `host_bandwidth` and `host_latency`. A message between nodes goes from its sender's NIC to its receiver's."""
    nics: int = 1
    host_bandwidth: int = 0
    host_latency: int = 0

    def __post_init__(self):
        node, between = self.dimensions
        for line in self.lines(0):
            self.add_line(0, node, line)
        for device in range(self.devices):
            for way in ("to nic", "from nic"):
                self.add((way, device), self.host_bandwidth, self.host_latency)
        for number in range(between.size):
            for nic in range(self.nics):
                self.add(("nic up", number, nic), between.bandwidth, between.latency // 2)
                self.add(("nic down", number, nic), between.bandwidth, between.latency - between.latency // 2)

    def yaml(self):
        node, between = self.dimensions
        nics = (f"{{count: {self.nics}, bandwidth: {between.bandwidth} B/s, host_bandwidth: {self.host_bandwidth} B/s, "
                f"host_latency: {self.host_latency} ps}}")
        return (f"{{node: {{device: a100-sxm-80gb, devices: {node.size}, fabric: {{{node.yaml()}}}, nics: {nics}}}, "
                f"nodes: {between.size}, scale_out: {{topology: switch, latency: {between.latency} ps}}}}")

    def nic(self, place):
        """The NIC of a device at a place in its node."""
        return place * self.nics // self.dimensions[0].size

    def route(self, source, target):
        (place, node), (other, other_node) = self.coordinates(source), self.coordinates(target)
        if node == other_node:
            return super().route(source, target)
        keys = [("to nic", source), ("nic up", node, self.nic(place)), ("nic down", other_node, self.nic(other)),
                ("from nic", target)]
        return [self.between[key] for key in keys]
