# SPDX-License-Identifier: MIT
"""Collective algorithms of one's own that are wrong."""
import json

import algorithm_files
from error_row import Row

TITLE = "Algorithm files"

CLUSTER = ["--cluster", "dgx-a100", "--gpus-per-node", "4"]
RING = algorithm_files.ring(4)
LINES = RING.split("\n")


def run(what, files, *message, name="own.xml", options=(), op="all_reduce"):
    return Row(what, 2, list(message),
               ["collective", *CLUSTER, "--op", op, "-b", "1M", "--algorithm", name, *options], files)


def ring(what, line, old, new, *message):
    """The ring of 4, with this changed in one line (from 1)."""
    assert old in LINES[line - 1], LINES[line - 1]
    text = "\n".join(LINES[:line - 1] + [LINES[line - 1].replace(old, new)] + LINES[line:])
    return run(what, {"own.xml": text}, *message)


def graphs(what, change, *message, options=(), op="all_reduce"):
    """The ring of 4 as traces, with rank 1 changed."""
    nodes = algorithm_files.ring_graphs(4, 1000)
    change(nodes[1])
    files = {f"own.{rank}.json": "".join(json.dumps(node) + "\n" for node in of_rank) for rank, of_rank in enumerate(nodes)}
    return run(what, files, *message, name="own", options=options, op=op)


def without_last(nodes):
    del nodes[-2:]


def as_collective(nodes):
    nodes.append(algorithm_files.node(99, "COMM_COLL_NODE", "sum", comm_type=0, comm_size=1000))


def receive_first(nodes):
    nodes[0]["data_deps"] = ["11"]


def empty(nodes):
    del nodes[1:]
    nodes[0] = algorithm_files.node(0, "COMP_NODE", "idle")


ROWS = [
    run("An algorithm file that is not there", {}, "own.xml: error: cannot be opened"),
    run("An algorithm that is no XML", {"own.xml": "remember the milk\n"}, "own.xml:2: error: invalid XML"),
    run("Two algorithms in a file", {"own.xml": RING + RING}, f"own.xml:{len(LINES)}: error: a second algorithm <algo> after the first"),
    run("An algorithm file cut short", {"own.xml": RING[:300]}, "own.xml:4: error: invalid XML"),
    run("An XML of something else", {"own.xml": "<svg/>"}, "own.xml:1: error: the document is a <svg>, not an <algo>"),
    run("An algorithm for more ranks than take part", {"own.xml": algorithm_files.ring(8)},
        "error: 'ring' is an algorithm of 8 ranks, and 4 take part here"),
    run("An algorithm of another collective", {"own.xml": algorithm_files.all_gather_ring(4)},
        "own.xml: error: an algorithm of all_gather, where one of all_reduce is needed"),
    run("An algorithm file beside `--algo`", {"own.xml": RING}, "--algo", options=["--algo", "ring"]),
    run("An algorithm for single messages", {"own.xml": RING}, "--algorithm", op="sendrecv"),
    run("An algorithm file for NCCL", {"own.xml": RING}, "'algorithms' means nothing with 'library: nccl'",
        options=["--library", "nccl"]),
    ring("An algorithm of an unknown collective", 1, 'coll="allreduce"', 'coll="allreduse"', "own.xml:1: error: ",
         "did you mean 'allreduce'?"),
    ring("An algorithm that lacks a GPU", 1, 'ngpus="4"', 'ngpus="5"', 'own.xml:1: error: ngpus="5", and there is no gpu 4'),
    ring("An algorithm with a GPU too many", 1, 'ngpus="4"', 'ngpus="3"', "own.xml:3: error: "),
    run("An algorithm that needs a chunk more than can be checked, for a sum on its way",
        {"own.xml": RING.replace('nchunksperloop="4"', 'nchunksperloop="524288"').replace("rrcs", "rrs", 1)},
        "own.xml:1: error: the buffers of all GPUs have 2097156 chunks; at most 2097152 can be checked"),
    ring("A peer that is not there", 3, 'send="1"', 'send="9"', 'own.xml:3: error: send="9"', "0 to 3"),
    ring("A GPU as its own peer", 3, 'send="1"', 'send="0"', "own.xml:3: error: tb 0 of gpu 0 has its own GPU as a peer"),
    ring("A send without a peer", 3, 'send="1"', 'send="-1"', "own.xml:4: error: a step of type s"),
    run("Two thread blocks that send to one GPU on one channel",
        {"own.xml": RING.replace("    </tb>", '    </tb>\n    <tb id="1" send="1" recv="-1" chan="0"><step s="0" type="s" srcbuf="i" srcoff="0"/></tb>', 1)},
        "own.xml:12: error: tb 0 and tb 1 of gpu 0 both send to gpu 1 on channel 0"),
    ring("A send on no channel", 3, 'chan="0"', 'chan="-1"', 'own.xml:3: error: tb 0 of gpu 0 has steps that send to gpu 1 on chan="-1"'),
    ring("A number that is none", 4, 'cnt="1"', 'cnt="1.5"', 'own.xml:4: error: cnt="1.5" of <step>: expected a whole number'),
    ring("An unknown type of step", 5, "rrcs", "rrx", 'own.xml:5: error: unknown step type "rrx"'),
    ring("A step out of its order", 5, 's="1"', 's="7"', 'own.xml:5: error: step s="7"', "step 1 is expected"),
    ring("A chunk outside the buffer", 4, 'srcoff="3"', 'srcoff="4"', "own.xml:4: error: i[4..4] of gpu 0 is outside"),
    ring("A dependency on a thread block that is not there", 5, 'depid="-1"', 'depid="3"', 'own.xml:5: error: depid="3"'),
    ring("A dependency on a step that is not there", 5, 'depid="-1" deps="-1"', 'depid="0" deps="55"',
         'own.xml:5: error: deps="55"'),
    ring("A step that waits for a later one", 4, 'depid="-1" deps="-1"', 'depid="0" deps="1"',
         "own.xml:4: error: deadlock: "),
    ring("A receive that nobody sends to", 4, 'type="s"', 'type="nop"', "no send meets this receive"),
    ring("A message of two chunks where one is expected", 4, 'srcoff="3" dstbuf="i" dstoff="3" cnt="1"',
         'srcoff="2" dstbuf="i" dstoff="2" cnt="2"', "own.xml:4: error: ", "sends 2 chunks", "receives 1 chunk"),
    ring("An all-reduce that overwrites in place of adding", 5, "rrcs", "rcs",
         "own.xml: error: wrong all_reduce: chunk 2 of rank 0 (in i[2]) ends without the contribution of rank 0"),
    ring("An all-reduce that adds one chunk to another", 7, 'srcoff="0" dstbuf="i" dstoff="0"',
         'srcoff="1" dstbuf="i" dstoff="1"', "adds chunk", "to chunk"),
    ring("An all-reduce that sends what is not written", 4, 'srcbuf="i" srcoff="3"', 'srcbuf="s" srcoff="0"',
         "own.xml:4: error: s[0..0] of gpu 0 is outside the buffer"),
    graphs("Traces of which a rank sends and receives too little", without_last, "own.0.json: error: rank 0, node 10",
           "no receive meets this send: with tag 0"),
    graphs("Traces with a collective in them", as_collective, "is a collective itself"),
    graphs("Traces whose ranks wait for one another", receive_first, "own.0.json: error: deadlock: rank 0"),
    run("A size of MSCCL's XML", {"own.xml": RING}, "'algorithm_size' means nothing without Chakra graphs", options=["--algorithm-size", "1M"]),
    Row("The size of no algorithm file", 2, ["--algorithm-size requires --algorithm"],
        ["collective", *CLUSTER, "--op", "all_reduce", "-b", "1M", "--algorithm-size", "1M"]),
    Row("The size of no algorithm file, as a setting", 2, ["'algorithm_size' means nothing without Chakra graphs"],
        ["collective", *CLUSTER, "--op", "all_reduce", "-b", "1M", "--library", "fixed", "--set", "collectives.algorithm_size=1 MB"]),
    graphs("Traces of messages larger than their size", lambda nodes: None, "more than the buffers of all ranks together",
           options=["--algorithm-size", "100"]),
]
