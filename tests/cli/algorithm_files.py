# SPDX-License-Identifier: MIT
"""Collective algorithms as files: MSCCL XML and Chakra traces in JSON, for tests. As a program it prints one:
algorithm_files.py chain|ring|two-rings|all-pairs RANKS"""
import json
import pathlib
import sys


def document(name, coll, ranks, chunks, gpus, in_place=1, scratch=0, channels=1):
    """gpus: by GPU, a list of thread blocks (send, recv, chan, steps); a step is a dict of attributes."""
    lines = [f'<algo name="{name}" proto="Simple" nchannels="{channels}" nchunksperloop="{chunks}" ngpus="{ranks}" '
             f'coll="{coll}" inplace="{in_place}">']
    for gpu, blocks in enumerate(gpus):
        lines.append(f'  <gpu id="{gpu}" i_chunks="{chunks}" o_chunks="{chunks}" s_chunks="{scratch}">')
        for number, (send, recv, chan, steps) in enumerate(blocks):
            lines.append(f'    <tb id="{number}" send="{send}" recv="{recv}" chan="{chan}">')
            for s, step in enumerate(steps):
                full = {"s": s, **step}
                for key, default in (("depid", -1), ("deps", -1), ("hasdep", 0)):
                    full.setdefault(key, default)
                lines.append("      <step " + " ".join(f'{key}="{value}"' for key, value in full.items()) + "/>")
            lines.append("    </tb>")
        lines.append("  </gpu>")
    lines.append("</algo>")
    return "\n".join(lines) + "\n"


def step(kind, source, target, count=1, **more):
    """source and target: (buffer, offset)."""
    return {"type": kind, "srcbuf": source[0], "srcoff": source[1], "dstbuf": target[0], "dstoff": target[1],
            "cnt": count, **more}


def ring_steps(ranks, gpu, direction=1, first=0):
    """An all-reduce by a ring, in place: a reduce-scatter, then an all-gather, of chunks `first` .. `first` + ranks - 1."""
    def at(distance):
        return ("i", first + (gpu - direction * distance) % ranks)

    steps = [step("s", at(1), at(1))]
    for i in range(2, ranks):
        steps.append(step("rrcs", at(i), at(i)))
    steps.append(step("rrcs", at(ranks), at(ranks)))
    for i in range(1, ranks - 1):
        steps.append(step("rcs", at(i), at(i)))
    steps.append(step("r", at(ranks - 1), at(ranks - 1)))
    return steps


def ring(ranks):
    gpus = [[((gpu + 1) % ranks, (gpu - 1) % ranks, 0, ring_steps(ranks, gpu))] for gpu in range(ranks)]
    return document("ring", "allreduce", ranks, ranks, gpus)


def two_rings(ranks):
    """Two rings, one each way round, each with half of the chunks."""
    gpus = [[((gpu + 1) % ranks, (gpu - 1) % ranks, 0, ring_steps(ranks, gpu)),
             ((gpu - 1) % ranks, (gpu + 1) % ranks, 1, ring_steps(ranks, gpu, -1, ranks))] for gpu in range(ranks)]
    return document("two-rings", "allreduce", ranks, 2 * ranks, gpus, channels=2)


def all_pairs(ranks):
    """Every GPU sums up one chunk and returns it to all: two messages between every two GPUs, all at once."""
    gpus = []
    for gpu in range(ranks):
        others = [(gpu + distance) % ranks for distance in range(1, ranks)]
        blocks = []
        for number, other in enumerate(others):
            steps = [step("s", ("i", other), ("s", gpu)), step("r", ("i", gpu), ("s", other), hasdep=1)]
            if number == 0:
                steps += [step("nop", ("i", -1), ("i", -1), depid=block, deps=1) for block in range(1, len(others))]
                steps += [step("re", ("s", peer), ("i", gpu)) for peer in others[:-1]]
                steps.append(step("re", ("s", others[-1]), ("i", gpu), hasdep=1))
                summed = len(steps) - 1
                steps.append(step("s", ("i", gpu), ("i", gpu)))
            else:
                steps.append(step("s", ("i", gpu), ("i", gpu), depid=0, deps=summed))
            steps.append(step("r", ("i", other), ("i", other)))
            blocks.append((other, other, 0, steps))
        gpus.append(blocks)
    return document("all-pairs", "allreduce", ranks, ranks, gpus, scratch=ranks)


def chain(ranks, chunks=4):
    """All chunks go down to GPU 0, which has the sum, and up again: one thread block for each way, no two GPUs alike."""
    gpus = []
    for gpu in range(ranks):
        at = [("i", chunk) for chunk in range(chunks)]
        up, down = (gpu + 1 if gpu + 1 < ranks else -1), gpu - 1
        if gpu == ranks - 1:
            blocks = [(down, -1, 0, [step("s", place, place) for place in at]),
                      (-1, down, 1, [step("r", place, place) for place in at])]
        elif gpu > 0:
            blocks = [(down, up, 0, [step("rrcs", place, place) for place in at]),
                      (up, down, 1, [step("rcs", place, place) for place in at])]
        else:
            blocks = [(-1, up, 0, [step("rrc", place, place, hasdep=1) for place in at]),
                      (up, -1, 1, [step("s", place, place, depid=0, deps=chunk) for chunk, place in enumerate(at)])]
        gpus.append(blocks)
    return document("chain", "allreduce", ranks, chunks, gpus, channels=2)


def all_gather_ring(ranks, parts=1):
    """Out of place; `parts` chunks of every rank in each message."""
    gpus = []
    for gpu in range(ranks):
        own = ("o", gpu * parts)
        steps = [step("cpy", ("i", 0), own, parts), step("s", own, own, parts)]
        for distance in range(1, ranks):
            place = ("o", (gpu - distance) % ranks * parts)
            steps.append(step("rcs" if distance < ranks - 1 else "r", place, place, parts))
        gpus.append([((gpu + 1) % ranks, (gpu - 1) % ranks, 0, steps)])
    return document("gather-ring", "allgather", ranks, ranks * parts, gpus, in_place=0)


def node(identifier, kind, name, after=(), **attributes):
    return {"id": identifier, "name": name, "type": kind, "data_deps": [str(other) for other in after],
            "attr": [{"name": key, "int64_val": str(value)} for key, value in attributes.items()]}


def ring_graphs(ranks, message):
    """By rank: the nodes of an all-reduce by a ring, with messages of so many bytes."""
    graphs = []
    for rank in range(ranks):
        nodes, last = [], []
        for i in range(2 * (ranks - 1)):
            nodes.append(node(2 * i, "COMM_SEND_NODE", f"send{i}", last, comm_size=message, comm_dst=(rank + 1) % ranks,
                              comm_tag=0))
            nodes.append(node(2 * i + 1, "COMM_RECV_NODE", f"recv{i}", [], comm_size=message,
                              comm_src=(rank - 1) % ranks, comm_tag=0))
            last = [2 * i, 2 * i + 1]
        graphs.append(nodes)
    return graphs


def write_graphs(prefix, graphs):
    for rank, nodes in enumerate(graphs):
        pathlib.Path(f"{prefix}.{rank}.json").write_text("".join(json.dumps(each) + "\n" for each in nodes))
    return str(prefix)


ALGORITHMS = {"chain": chain, "ring": ring, "two-rings": two_rings, "all-pairs": all_pairs}

if __name__ == "__main__":
    sys.stdout.write(ALGORITHMS[sys.argv[1]](int(sys.argv[2])))
