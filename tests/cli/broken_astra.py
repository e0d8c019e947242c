# SPDX-License-Identifier: MIT
"""Inputs of ASTRA-sim with which it hangs, crashes, or ends without a word before all ranks have finished. Each row names
what is wrong; the base is a sound run of an all-reduce of 1 MB on a ring of 8."""
import json

from error_row import Row, make_traces

TITLE = "ASTRA-sim's files"

RANKS = 8
METADATA, MEM_LOAD, INVALID = 1, 2, 0
ALL_GATHER, REDUCE, BARRIER = 2, 1, 9
SYSTEM = {"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1,
          "preferred-dataset-splits": 4, "all-reduce-implementation": ["ring"], "all-gather-implementation": ["ring"],
          "reduce-scatter-implementation": ["ring"], "all-to-all-implementation": ["ring"],
          "collective-optimization": "localBWAware", "local-mem-bw": 1600}
NETWORK = "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
MEMORY = {"memory-type": "NO_MEMORY_EXPANSION"}


def flags(system="system.json", network="network.yml", memory="memory.json", workload="job", more=()):
    return ["astra-sim", f"--workload-configuration={workload}", f"--system-configuration={system}",
            f"--network-configuration={network}", f"--remote-memory-configuration={memory}", *more]


def system(without=(), **keys):
    """The system's JSON; `splits_` stands for a key with hyphens."""
    named = {key.replace("_", "-"): value for key, value in keys.items()}
    return json.dumps({key: value for key, value in {**SYSTEM, **named}.items() if key not in without}, indent=2)


def network(**keys):
    values = {"topology": "[ Ring ]", "npus_count": "[ 8 ]", "bandwidth": "[ 50.0 ]", "latency": "[ 500.0 ]", **keys}
    return "".join(f"{key}: {value}\n" for key, value in values.items() if value is not None)


def trace(*nodes):
    """Of (kind, parents, attributes); `micros` is the duration."""
    made = make_traces.Trace()
    for kind, after, attributes in nodes:
        made.node(kind, f"n{len(made.nodes)}", list(after), **{"is_cpu_op": False, **attributes})
    return made.bytes()


def collective(kind=make_traces.ALL_REDUCE, size=1 << 20, after=(), **attributes):
    return (make_traces.COLL, after, {"comm_type": kind, "comm_size": size, **attributes})


def work(micros=5, after=(), **attributes):
    return (make_traces.COMP, after, {"micros": micros, **attributes})


def send(to, size=4096, tag=1, after=()):
    return (make_traces.SEND, after, {"comm_dst": to, "comm_size": size, "comm_tag": tag})


def receive(source, size=4096, tag=1, after=()):
    return (make_traces.RECV, after, {"comm_src": source, "comm_size": size, "comm_tag": tag})


def traces(*nodes, ranks=RANKS, **others):
    """The same nodes on all ranks; `rank0=[...]` on one of them."""
    files = {f"job.{rank}.et": trace(*nodes) for rank in range(ranks)}
    for name, own in others.items():
        files[f"job.{name.removeprefix('rank')}.et"] = own if isinstance(own, bytes) else trace(*own)
    return files


def base():
    return {"system.json": system(), "network.yml": network(), "memory.json": json.dumps(MEMORY), **traces(collective())}


def ring_schedule(prefix, ranks=RANKS, size=1 << 20):
    """A custom all-reduce of `size` bytes: 2 (n - 1) rounds, in each of which a rank sends an n-th of it to the next one,
    when the part from the previous one has come."""
    files = {}
    for rank in range(ranks):
        nodes = []
        for step in range(2 * (ranks - 1)):
            after = [2 * step - 1] if step else []  # the receive of the round before
            nodes.append(send((rank + 1) % ranks, size // ranks, step, after))
            nodes.append(receive((rank - 1) % ranks, size // ranks, step, after))
        files[f"{prefix}.{rank}.et"] = trace(*nodes)
    return files


def row(what, *message, code=2, arguments=None, **files):
    """`files`: system_, network_, memory_, groups_: contents of these files; traces_: of those files."""
    names = {"system_": "system.json", "network_": "network.yml", "memory_": "memory.json", "groups_": "groups.json"}
    written = base()
    for name, content in files.items():
        if name == "traces_":
            written.update(content)
        else:
            written[names[name]] = content if isinstance(content, str) else json.dumps(content)
    more = ["--comm-group-configuration=groups.json"] if "groups_" in files else []
    return Row(f"ASTRA-sim: {what}", code, list(message), arguments or flags(more=more), written)


def without_metadata(*bodies):
    header = make_traces.bytes_field(1, b"0.0.4")
    return b"".join(make_traces.varint(len(body)) + body for body in (header, *bodies))


def node(number, after=()):
    """Of 5 us of computing."""
    body = make_traces.number_field(1, number) + make_traces.bytes_field(2, b"n") + make_traces.number_field(
        3, make_traces.COMP)
    return body + (make_traces.bytes_field(5, bytes(after)) if after else b"") + make_traces.number_field(7, 5)


def graph(*nodes):
    return {f"job.{rank}.et": without_metadata(*nodes) for rank in range(RANKS)}


CUT = trace(work(), collective(after=[0]), work(after=[1]))[:-9]
ROOFLINE = {"roofline_enabled": 1, "peak_perf": 900}

COMMAND_LINE = [
    row("no arguments", "--workload-configuration is required", arguments=["astra-sim"]),
    row("a mistyped flag", "unknown option '--num-queue-per-dim=4'", "did you mean '--num-queues-per-dim'?",
        arguments=flags(more=["--num-queue-per-dim=4"])),
    row("a flag without its number", "--num-queues-per-dim", "abc", arguments=flags(more=["--num-queues-per-dim=abc"])),
    row("an injection scale that is no number", "--injection-scale: nan is no number from 0 to 1e6",
        arguments=flags(more=["--injection-scale=nan"])),
    row("a rendezvous that is neither true nor false", "unknown value 'perhaps'", "true, false",
        arguments=flags(more=["--rendezvous-protocol=perhaps"])),
    row("a backend that it does not have", "unknown value 'ns3'", arguments=flags(more=["--backend", "ns3"])),
    row("a logging folder in no folder", "'no/such/dir'", arguments=flags(more=["--logging-folder=no/such/dir"])),
    row("a prefix without traces", "nowhere.0.et: error: does not exist", "is a prefix",
        arguments=flags(workload="nowhere")),
    row("fewer traces than NPUs", "job.8.et: error: does not exist: there are 8 traces, but the network has 16 NPUs",
        network_=network(npus_count="[ 16 ]")),
]

SYSTEMS = [
    row("no system file", "nowhere.json: error: cannot be opened", arguments=flags(system="nowhere.json")),
    row("a system file that is cut", "system.json:1: error: is not JSON", system_='{"scheduling-policy": "LIFO",'),
    row("an empty system", "'all-reduce-implementation' is missing", system_="{}"),
    row("a list in place of a system", "system.json: error: holds array", system_="[]"),
    row("no preferred-dataset-splits", "'preferred-dataset-splits' is missing",
        system_=system(without=["preferred-dataset-splits"])),
    row("a misspelt preferred-dataset-splits", "'preferred-dataset-splits' is missing",
        system_=system(without=["preferred-dataset-splits"], prefered_dataset_splits=4)),
    row("0 splits", "'preferred-dataset-splits' is 0, expected 1 to", system_=system(preferred_dataset_splits=0)),
    row("no algorithm for the all-reduce", "'all-reduce-implementation' is missing",
        system_=system(without=["all-reduce-implementation"])),
    row("a text in place of a number", "system.json:3: error: 'endpoint-delay' is \"10\", expected a number",
        system_=system(endpoint_delay="10")),
    row("an endpoint delay of 0", "system.json:3: error: 'endpoint-delay' is 0", system_=system(endpoint_delay=0)),
    row("a number beyond all numbers", "system.json:2: error: 'local-mem-bw' holds a number that is too large",
        system_='{"all-reduce-implementation": ["ring"],\n"local-mem-bw": 1e400}'),
    row("a key given twice", "system.json:3: error: the key 'endpoint-delay' is given twice",
        system_='{"endpoint-delay": 10,\n"all-reduce-implementation": ["ring"],\n"endpoint-delay": 500}'),
    row("reductions without end", "system.json:19: error: 'local-mem-bw': a reduction of 32768 bytes takes 9.83e+19 ns",
        system_=system(local_mem_bw=1e-15)),
    row("a shared bus without end", "'G': a packet on the shared bus of rank 0 takes 3.28e+304 ns",
        system_=system(model_shared_bus=1, G=1e300)),
    row("a shared bus that takes no time", "a packet crosses the shared bus in less than 1 ns at time 0",
        system_=system(model_shared_bus=1), traces_=traces(collective(size=0))),
    row("a computation without end by its operations", "'peak-perf': node 0 of rank 0 takes 4.61e+24 ns",
        system_=system(roofline_enabled=1, peak_perf=1e-9), traces_=traces(work(num_ops=1 << 62, tensor_size=1 << 62))),
    row("a computation without end by its memory", "'local-mem-bw': node 0 of rank 0 takes 4.61e+27 ns",
        system_=system(roofline_enabled=1, peak_perf=900, local_mem_bw=1e-9),
        traces_=traces(work(num_ops=1 << 62, tensor_size=1 << 62))),
    row("a negative endpoint delay", "'endpoint-delay' is -10, expected a number of at least 0",
        system_=system(endpoint_delay=-10)),
    row("a misspelt algorithm", "unknown algorithm 'rinng'", "did you mean 'ring'",
        system_=system(all_reduce_implementation=["rinng"])),
    row("an unknown scheduling policy", "'scheduling-policy' is 'LIFFO'", system_=system(scheduling_policy="LIFFO")),
    row("more algorithms than dimensions", "'all-reduce-implementation' has 2 names, but the network has 1 dimension",
        system_=system(all_reduce_implementation=["ring", "ring"])),
    row("a roofline without peak-perf", "the roofline needs peak-perf, which is missing or 0",
        system_=system(roofline_enabled=1), traces_=traces(work(num_ops=1000, tensor_size=100))),
    row("halvingDoubling on 6 NPUs", "'halvingDoubling' needs a power of two, but 6 ranks take part",
        system_=system(all_reduce_implementation=["halvingDoubling"]), network_=network(npus_count="[ 6 ]")),
    row("doubleBinaryTree on 6 NPUs", "'doubleBinaryTree' needs a power of two, but 6 ranks take part",
        system_=system(all_reduce_implementation=["doubleBinaryTree"]), network_=network(npus_count="[ 6 ]")),
    row("tracked memory that the traces do not say", "'inputs' and 'outputs', which track-local-mem needs",
        system_=system(track_local_mem=1)),
    row("a custom collective from another folder", "elsewhere/custom.0.et: error: does not exist",
        "relative to the working directory",
        system_=system(all_reduce_implementation_custom=["elsewhere/custom"])),
    row("a list of custom collectives of nodes", "custom.yml: error: is a list, expected a map from nodes to prefixes",
        system_=system(per_node_custom_implementation="custom.yml"), traces_={"custom.yml": "[custom]"}),
    row("two schedules for all-reduces of one size of group", "system.json:", "gives the all-reduces of 8 ranks different "
        "schedules (an algorithm, own)", "convert with one of them for all nodes",
        arguments=flags(more=["--convert=made.yaml"]),
        system_=system(per_node_custom_implementation="custom.yml"),
        traces_={"custom.yml": "{1: own}", **traces(collective(), collective(after=[0])), **ring_schedule("own")}),
    row("a schedule for groups of one size, an algorithm for others", "system.json:", "gives some all-reduces a schedule, "
        "and those of 4 ranks run an algorithm", "give all of them a schedule, or none",
        arguments=flags(more=["--convert=made.yaml", "--comm-group-configuration=groups.json"]),
        groups_={"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]},
        system_=system(per_node_custom_implementation="custom.yml"),
        traces_={"custom.yml": "{0: own}", **ring_schedule("own"),
                 **traces(collective(), **{f"rank{rank}": [collective(), collective(after=[0], pg_name=str(rank // 4 + 1))]
                                           for rank in range(RANKS)})}),
    row("a schedule of more ranks than call it", "own.8.et: error: is a part of a custom all-reduce of more ranks than the "
        "8 that call it", "copy the parts of ranks 0 to 7", arguments=flags(more=["--convert=made.yaml"]),
        system_=system(all_reduce_implementation_custom=["own"]),
        traces_=traces(collective()) | ring_schedule("own", 16)),
    row("an experiment that would be compressed", "--convert: error: 'made.yaml.gz' would be compressed, and "
        "configurations are read as they are", "leave out the .gz", arguments=flags(more=["--convert=made.yaml.gz"])),
    row("4 GB over the shared bus", "byte counts have 32 bits",
        system_=system(model_shared_bus=1, preferred_dataset_splits=1),
        traces_=traces(collective(size=4 << 30))),
]

NETWORKS = [
    row("no network file", "nowhere.yml: error: cannot be opened", arguments=flags(network="nowhere.yml")),
    row("a network file that is no YAML", "network.yml:2:11: error: not valid YAML", network_="topology: [ Ring\nnpus_count: ]"),
    row("an empty network file", "is not a network of ASTRA-sim's analytical backends", network_=""),
    row("an unknown topology", "unknown topology 'Torus'", network_=network(topology="[ Torus ]")),
    row("no bandwidth", "the key 'bandwidth' is missing", network_=network(bandwidth=None)),
    row("a bandwidth to be determined", "network.yml:3:14: error: 'bandwidth' holds 'tbd'",
        network_=network(bandwidth="[ tbd ]")),
    row("a latency without end", "network.yml:4:12: error: 'latency': a message of 32768 bytes to rank 1 takes 1e+300 ns",
        network_=network(latency="[ 1e300 ]")),
    row("a latency whose sum has no end", "network.yml:4:12: error: 'latency': a message of 32768 bytes to rank 1 takes 1e+18 ns "
        "and ends after 2^63 ns", network_=network(latency="[ 1e18 ]")),
    row("a bandwidth without end", "network.yml:3:14: error: 'bandwidth': a message of 34359738368 bytes to rank 1 takes 3.2e+19 ns",
        network_=network(bandwidth="[ 1e-9 ]"), traces_=traces(collective(size=1 << 40))),
    row("a bandwidth without end, with congestion", "network.yml:3:14: error: 'bandwidth': a message of ",
        arguments=flags(more=["--backend=congestion_aware"]), network_=network(bandwidth="[ 0.001 ]"),
        traces_=traces(collective(size=1 << 62))),
    row("a network of 1 NPU", "'npus_count' holds '1', expected a whole number of at least 2",
        network_=network(npus_count="[ 1 ]")),
    row("a number in place of a list", "'npus_count' is a plain value, expected a list", network_=network(npus_count="8")),
    row("a list that is too short", "'latency' has 1 value", network_=network(
        topology="[ Ring, Ring ]", npus_count="[ 4, 2 ]", bandwidth="[ 50, 50 ]")),
    row("two dimensions with congestion", "has 2 dimensions, but the congestion-aware backend takes one only",
        arguments=flags(more=["--backend=congestion_aware"]),
        network_=network(topology="[ Ring, Ring ]", npus_count="[ 4, 2 ]", bandwidth="[ 50, 50 ]", latency="[ 1, 1 ]")),
    row("a ring of 2 with congestion", "is a Ring of 2 NPUs", arguments=flags(more=["--backend=congestion_aware"]),
        network_=network(npus_count="[ 2 ]")),
]

MEMORIES = [
    row("no remote-memory file", "nowhere.json: error: cannot be opened", arguments=flags(memory="nowhere.json")),
    row("memory access without remote memory", "memory-type is NO_MEMORY_EXPANSION",
        traces_=traces((MEM_LOAD, [], {"tensor_size": 100}))),
    row("memory access without a memory-type", "there is no memory-type", memory_={},
        traces_=traces((MEM_LOAD, [], {"tensor_size": 100}))),
    row("memory of nodes", "PER_NODE_MEMORY_EXPANSION, on which ASTRA-sim crashes",
        memory_={"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-latency": 1000, "remote-mem-bw": 100,
                 "num-nodes": 2, "num-npus-per-node": 4}, traces_=traces((MEM_LOAD, [], {"tensor_size": 100}))),
    row("a bandwidth of memory beyond all numbers", "memory.json:1: error: 'remote-mem-bw' holds a number that is too large",
        memory_='{"memory-type": "MEMORY_POOL", "remote-mem-bw": 1e999}'),
    row("a memory access without end", "memory.json:1: error: 'remote-mem-bw': an access to 1152921504606846976 bytes takes 1.15e+23 ns",
        memory_={"memory-type": "MEMORY_POOL", "remote-mem-latency": 1000, "remote-mem-bw": 1e-5},
        traces_=traces((MEM_LOAD, [], {"tensor_size": 1 << 60}))),
    row("a memory with almost no bandwidth", "'remote-mem-bw': an access to 10000000 bytes takes inf ns",
        memory_='{"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-latency": 1, "remote-mem-bw": 1e-320}',
        traces_=traces((MEM_LOAD, [], {"tensor_size": 10**7}))),
    row("a memory access that takes no time", "node 0 of rank 0: the memory access takes less than 1 ns at time 0",
        memory_={"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-bw": 100},
        traces_=traces((MEM_LOAD, [], {"tensor_size": 1}))),
    row("remote memory without a bandwidth", "'remote-mem-bw' is missing or zero",
        memory_={"memory-type": "MEMORY_POOL", "remote-mem-latency": 1000}),
]

FILES = [
    row("one trace that is cut", "job.3.et: error: frame", "the file was cut", traces_={"job.3.et": CUT}),
    row("all traces cut", "job.0.et: error: frame", traces_={f"job.{rank}.et": CUT for rank in range(RANKS)}),
    row("empty traces", "job.0.et: error: the file is empty", traces_={f"job.{rank}.et": b"" for rank in range(RANKS)}),
    row("random bytes", "job.0.et: error:", "is this a Chakra .et file?",
        traces_={f"job.{rank}.et": bytes(i * i * 37 % 251 for i in range(999)) for rank in range(RANKS)}),
    row("traces as JSON", "is a trace that ASTRA-sim cannot read",
        traces_={f"job.{rank}.et": b'{"nodes": [{"id": 1, "name": "n", "type": "COMP_NODE"}]}' for rank in range(RANKS)}),
    row("traces without nodes", "there is no node in this trace",
        traces_={f"job.{rank}.et": without_metadata() for rank in range(RANKS)}),
    row("a cycle behind a node", "node 1 \"n\": is on a cycle of dependencies",
        traces_=graph(node(0), node(1, [0, 2]), node(2, [1]))),
    row("nothing but a cycle", "node 0 \"n\": is on a cycle of dependencies", traces_=graph(node(0, [1]), node(1, [0]))),
    row("a node that depends on itself", "node 1 \"n\": depends on itself", traces_=graph(node(0), node(1, [1]))),
    row("a dependency that is not there", "node 1 \"n\": depends on node 99, which is not in the file",
        traces_=graph(node(0), node(1, [99]))),
    row("an id given twice", "node 1 \"n\": the id is given twice", traces_=graph(node(0), node(1), node(1))),
]

WORKLOADS = [
    row("one rank calls another collective", "8 of 8 ranks never finish",
        "Call 1 of all ranks: rank 0 has node 0, all-reduce of 1048576 bytes",
        "but rank 1 has node 0, all-gather of 1048576 bytes", code=3,
        traces_=traces(collective(ALL_GATHER), rank0=[collective()])),
    row("one rank calls another size", "8 of 8 ranks never finish", "all-reduce of 2097152 bytes", code=3,
        traces_=traces(collective(size=2 << 20), rank0=[collective()])),
    row("one rank takes no part", "7 of 8 ranks never finish", code=3, traces_=traces(collective(), rank7=[work()])),
    row("one rank in another order", "8 of 8 ranks never finish", "Call 1 of all ranks", code=3,
        traces_=traces(collective(ALL_GATHER), collective(after=[0]),
                       rank0=[collective(), collective(ALL_GATHER, after=[0])])),
    row("a receive without a sender", "1 of 8 ranks never finish", "receive from rank 1 of 4096 bytes with tag 1", code=3,
        traces_=traces(work(), rank0=[receive(1)])),
    row("a send and a receive of other sizes", "1 of 8 ranks never finish", "receive from rank 0 of 2048 bytes", code=3,
        traces_=traces(work(), rank0=[send(1)], rank1=[receive(0, 2048)])),
    row("a send to itself", "comm_dst is the own rank 0", traces_=traces(work(), rank0=[send(0)])),
    row("a send to a rank that is not there", "comm_dst is 99, but the network has ranks 0 to 7",
        traces_=traces(work(), rank0=[send(99)])),
    row("an all-gather of 0 bytes", "an all-gather of 0 bytes cannot be cut into 4 chunks",
        traces_=traces(collective(ALL_GATHER, 0))),
    row("an all-gather of 1 byte in 4 chunks", "an all-gather of 1 bytes cannot be cut into 4 chunks",
        traces_=traces(collective(ALL_GATHER, 1))),
    row("an all-gather beyond 2^64 bytes", "node 0: an all-gather of 4611686018427387904 bytes from each rank has messages of 2^64",
        system_=system(preferred_dataset_splits=1, all_gather_implementation=["ring"] * 3),
        network_=network(topology="[ Ring, Ring, Ring ]", npus_count="[ 2, 2, 2 ]", bandwidth="[ 50, 50, 50 ]",
                         latency="[ 1, 1, 1 ]"),
        traces_=traces(collective(ALL_GATHER, 1 << 62))),
    row("computing that goes on for ever", "job.0.et: error: 'duration_micros': node 1 of rank 0 takes 9.01e+18 ns",
        traces_=traces(work(1 << 53), work(1 << 53, after=[0]))),
    row("a duration that is too long", "node 0 \"n0\": duration_micros is 9223372036854776, too large",
        traces_=traces(work(9223372036854776))),
    row("a message that takes no time", "job.2.et: error: node 0 of rank 2: a message of 10 bytes to rank 3 takes less than 1 ns "
        "at time 0", network_=network(latency="[ 0 ]"), traces_=traces(work(), rank2=[send(3, 10)], rank3=[receive(2, 10)])),
    row("a message that keeps its link busy for no time", "node 0 of rank 2: a message of 10 bytes to rank 3 keeps its link busy "
        "for less than 1 ns at time 0", "a link sends 53.7 bytes a nanosecond",
        arguments=flags(more=["--backend=congestion_aware"]), traces_=traces(work(), rank2=[send(3, 10)], rank3=[receive(2, 10)])),
    row("a computation that takes no time by the roofline", "node 0 of rank 0: the computation takes less than 1 ns by the roofline",
        system_=system(**ROOFLINE), traces_=traces(work(num_ops=1, tensor_size=1))),
    row("a barrier", "comm_type BARRIER is a collective that ASTRA-sim does not have", traces_=traces(collective(BARRIER))),
    row("a reduce", "comm_type REDUCE is a collective that ASTRA-sim does not have", traces_=traces(collective(REDUCE))),
    row("a collective without its size", "the attribute 'comm_size' is missing",
        traces_=traces((make_traces.COLL, [], {"comm_type": make_traces.ALL_REDUCE}))),
    row("computing without num_ops under the roofline", "the attribute 'num_ops', which is missing",
        system_=system(**ROOFLINE), traces_=traces(work(tensor_size=100))),
    row("computing on no bytes, and something after it", "rank 0 never looks at node 1",
        "Leave such nodes out", code=3, system_=system(**ROOFLINE),
        traces_=traces(work(num_ops=1000, tensor_size=0), collective(after=[0]))),
    row("no operations under the roofline", "num_ops is 0, and the roofline is on", system_=system(**ROOFLINE),
        traces_=traces(work(num_ops=0, tensor_size=100))),
    row("a collective of the host", "is communication with is_cpu_op true",
        traces_=traces(collective(is_cpu_op=True))),
    row("a METADATA node", "is a METADATA node, of which ASTRA-sim aborts",
        traces_=traces((METADATA, [], {}), collective(after=[0]))),
    row("an INVALID node, and something after it", "rank 0 never looks at node 1, all-reduce", code=3,
        traces_=traces((INVALID, [], {}), collective(after=[0]))),
]

GROUPS = [
    row("a group without a file of groups", "pg_name is 5, a communicator group that is not in any file",
        traces_=traces(collective(pg_name="5"))),
    row("a group that has a name", "pg_name is 'tp', expected the number of a communicator group", groups_={"1": [0, 1]},
        traces_=traces(collective(pg_name="tp"))),
    row("no file of groups", "nowhere.json: error: cannot be opened",
        arguments=flags(more=["--comm-group-configuration=nowhere.json"])),
    row("group 0", "groups.json:1: error: '0' is no group id", groups_={"0": [0, 1]}),
    row("a group given twice", "groups.json:2: error: the key '1' is given twice", groups_='{"1": [0, 1],\n"1": [2, 3]}'),
    row("a group given twice, once with zeros", "groups.json:2: error: '1' is group 1, which the file has already",
        groups_='{"01": [0, 1],\n"1": [2, 3]}'),
    row("a group with a rank beyond all numbers", "'1' holds a number that is too large", groups_='{"1": [0, 1e400]}'),
    row("a call by a rank that is no member", "calls group 1, of which rank 4 is no member", groups_={"1": [0, 1, 2, 3]},
        traces_=traces(collective(pg_name="1"))),
    row("a group with a rank that is not there", "'1' names rank 8, but the network has ranks 0 to 7",
        groups_={"1": [0, 8]}),
    row("a file of groups with \"empty\" in its path", "pg_name is 1, a communicator group that is not in any file",
        "a path with \"empty\" in it is not read", traces_=traces(collective(pg_name="1")),
        arguments=flags(more=["--comm-group-configuration=empty_groups.json"])),
]

MISTAKES = [
    row("its network in place of an experiment", "this is ASTRA-sim's network file, not an experiment",
        "orrery astra-sim runs ASTRA-sim's files", arguments=["run", "network.yml"]),
    row("its system in place of an experiment", "this is ASTRA-sim's system file, not an experiment",
        arguments=["run", "system.json"]),
]

ROWS = [*COMMAND_LINE, *SYSTEMS, *NETWORKS, *MEMORIES, *FILES, *WORKLOADS, *GROUPS, *MISTAKES]
