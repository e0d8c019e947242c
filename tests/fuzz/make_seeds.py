#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_seeds.py FOLDER: writes a small seed corpus for each fuzzer, FOLDER/fuzz_chakra/... and so on.

Everything here is made up; no trace of anybody else is copied.
"""
import gzip
import json
import os
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import algorithm_files  # noqa: E402
import file_seeds  # noqa: E402


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def frame(message):
    return varint(len(message)) + message


VALUES = [varint(f << 3 | w) + v for f, w, v in (
    (3, 1, struct.pack("<d", 0.5)), (5, 5, struct.pack("<f", 2.0)), (7, 0, varint(7)), (9, 0, varint(2**64 - 1)),
    (11, 0, varint(9)), (13, 0, varint(2**63)), (15, 0, varint(3)), (17, 0, varint(4)), (19, 5, b"\1\0\0\0"),
    (21, 1, b"\2" + b"\0" * 7), (23, 5, b"\xff" * 4), (25, 1, b"\xff" * 8), (27, 0, b"\1"), (29, 2, b"\2tp"),
    (31, 2, b"\2\xff\0"), (8, 2, b"\4\x0a\2\1\2"), (28, 2, b"\4\x0a\2\1\0"), (30, 2, b"\5\x0a\1a\x0a\0"))]

METADATA = data(1, b"0.0.4") + data(2, data(1, b"schema") + data(29, b"1.0.2-chakra.0.0.4"))


DEPENDENCIES = data(4, varint(1)) + data(5, varint(2) + varint(300))


def attribute(name, value):
    return data(10, data(1, name) + value)


def node(identifier, kind, *attributes):
    head = number(1, identifier) + data(2, b"aten::mm") + number(3, kind)
    inputs = data(8, data(1, b"[1]") + data(2, b"[[2]]"))
    return head + DEPENDENCIES + number(6, 10) + number(7, 20) + inputs + b"".join(attributes)


def binary_seeds():
    everything = node(3, 7, *(attribute(b"a%d" % i, value) for i, value in enumerate(VALUES)))
    collective = node(4, 7, attribute(b"comm_type", number(9, 0)), attribute(b"comm_size", number(9, 1 << 20)),
                      attribute(b"pg_name", data(29, b"0")))
    old_1 = number(1, 0) + data(2, b"x") + number(3, 3) + number(4, 0) + number(12, 5)
    old_3 = number(1, 0) + data(2, b"x") + number(3, 3) + data(11, data(1, b"op") + number(2, 3) + data(7, b"mm"))
    return [frame(METADATA) + frame(everything) + frame(collective), frame(collective), b"\0" + frame(collective),
            frame(METADATA) + frame(number(1, 5) + data(11, b"?") + number(4, 1)), frame(old_1), frame(old_3),
            frame(METADATA) + frame(collective) + b"\0" * 64]


def alike_seeds():
    """The size of the first trace in two bytes, then two traces of the same rank under other names."""
    def trace(group, peer, tag):
        coll = [node(i, 7, attribute(b"comm_type", number(9, 0)), attribute(b"comm_size", number(9, 64)),
                     attribute(b"is_cpu_op", number(27, 0)), attribute(b"pg_name", data(29, group))) for i in (1, 2, 300)]
        sends = [node(i, kind, attribute(b"comm_size", number(9, 8)), attribute(end, number(7, peer)),
                      attribute(b"comm_tag", number(7, tag))) for i, kind, end in ((4, 5, b"comm_dst"), (5, 6, b"comm_src"))]
        root = node(6, 7, attribute(b"comm_type", number(9, 5)), attribute(b"comm_size", number(9, 64)),
                    attribute(b"root", number(9, peer)), attribute(b"pg_desc", data(29, group)))
        # Dependencies on nodes that are not there are errors, and such a trace is no model.
        return frame(METADATA) + b"".join(frame(message.replace(DEPENDENCIES, b"")) for message in coll + sends + [root])
    pairs = [(trace(b"1", 2, 3), trace(b"22", 5, 3)), (trace(b"1", 2, 3), trace(b"group", 300, 70000)),
             (trace(b"1", 2, 3), trace(b"1", 2, 3))]
    return [struct.pack(">H", len(a)) + a + b for a, b in pairs]


def json_seeds():
    attributes = [{"name": "comm_size", "int64Val": "1024"}, {"name": "is_cpu_op", "boolVal": False},
                  {"name": "x", "bytesVal": "/w=="}, {"name": "y", "doubleVal": "NaN"},
                  {"name": "z", "floatList": {"values": [1, 0.5]}}]
    one = {"id": "1", "name": "mm", "type": "COMM_COLL_NODE", "dataDeps": ["2"], "durationMicros": "5",
           "inputs": {"values": "[]"}, "attr": attributes}
    flat = {"Id": 1, "Name": "n", "NodeType": 7, "ctrlDeps": [], "data_deps": [2], "runtime": 3,
            "is_cpu_op": False, "comm_type": "ALL_REDUCE", "comm_size": "8", "pg_name": "1",
            "involved_dim": [True, False]}
    return [text.encode() for text in (
        json.dumps({"version": "0.0.4"}) + json.dumps(one, indent=2) + json.dumps(one), json.dumps(one),
        json.dumps({"workload_graph": [flat], "ngpus": 8}), json.dumps([flat]), json.dumps({"nodes": [flat, flat]}))]


def gzip_seeds():
    traces = [gzip.compress(seed, mtime=0) for seed in binary_seeds()]
    return traces + [traces[0] + traces[1], traces[0] + b"\0" * 8, traces[0][:-4],
                     gzip.compress(b"\0" * 100000, mtime=0)]


DEVICE = "{name: x, peak: {bf16: 312 TFLOP/s, fp32: 19.5 TFLOPS}, memory: {capacity: 80 GB, bandwidth: 2039 GB/s}}"
DIMENSIONS = f"""cluster:
  device: {DEVICE}
  dims:
    - {{topology: switch, size: 4, bandwidth: 300 GB/s, latency: 700 ns, name: inner}}
    - {{topology: ring, size: 2, bandwidth: 200 Gb/s, latency: 2 us}}
workload: {{chakra: {{prefix: rank, groups: groups.json, dependencies: data, compute: roofline}}, precision: fp32}}
collectives:
  library: fixed
  algorithms: {{all_reduce: [ring, halving-doubling], all_to_all: [direct, direct4]}}
  chunks: 4
  queue: lifo
  active_chunks: 2
network: {{model: alpha-beta, granularity: step}}
memory: {{remote: {{bandwidth: 10 GB/s, latency: 1 us, shared: node}}}}
placement: strided
"""
NCCL = f"""cluster:
  node: {{device: {DEVICE}, devices: 4, interconnect: nvlink, multicast: true,
         fabric: {{topology: switch, bandwidth: 300 GB/s, latency: 700 ns}}}}
  scale_out: {{topology: switch, latency: 1 us, network: infiniband, in_network_reduction: true}}
workload: {{chakra: {{prefix: rank}}}}
collectives: {{library: nccl, version: 2.18.3+cuda12.2, launch: torch, algo: [NVLSTree, ring], proto: [LL128, simple]}}
network: {{granularity: phase}}
"""
NODES = f"""cluster:
  node: {{device: {DEVICE}, devices: 4, fabric: {{topology: switch, bandwidth: 300 GB/s, latency: 700 ns}},
         nics: {{count: 2, bandwidth: 25 GB/s, host_bandwidth: 24 GB/s, host_latency: 500 ns}}}}
  nodes: 2
  scale_out: {{topology: switch, latency: 1 us}}
nodes: 3
workload: {{chakra: {{prefix: &p rank}}}}
placement: random(7)
name: *p
"""


TREE = f"""cluster:
  device: {DEVICE}
  dims:
    - {{topology: fat-tree, size: 8, bandwidth: 25 GB/s, latency: 1 us, leaf_ports: 2, pod_leaves: 2, oversubscription: 1.5,
       uplinks: 3, core_oversubscription: 2, core_uplinks: 1, trunk_latency: 300 ns}}
    - {{topology: dragonfly, size: 4, bandwidth: 25 GB/s, latency: 1 us, router_ports: 1, group_routers: 2, local_bandwidth:
       9 GB/s, global_bandwidth: 5 GB/s, local_latency: 1 ns, global_latency: 2 ns, global_links: 2}}
workload: {{chakra: {{prefix: rank}}}}
network: {{model: flow, routing: ecmp, ecmp_seed: 3}}
"""
GRAPH = f"""nodes: 2
cluster:
  node:
    device: {DEVICE}
    devices: 2
    nics: {{count: 1, bandwidth: 25 GB/s, of: [0, 0]}}
    links:
      - {{from: gpu0, to: plx, bandwidth: 31.5 GB/s, latency: 250 ns, class: pcie}}
      - {{from: gpu1, to: plx, bandwidth: 31.5 GB/s, latency: 250 ns, count: 2}}
      - {{from: nic0, to: plx, bandwidth: 31.5 GB/s, latency: 250 ns, directed: false}}
  scale_out: {{topology: rail-optimised, latency: 1 us, leaf_ports: 1, trunk_latency: 1 us}}
workload: {{chakra: {{prefix: rank}}}}
network: {{routing: deterministic}}
"""


def config_seeds():
    """A setting on the first line, then an experiment."""
    settings = ["", "nodes=2", "cluster.dims.1.size=8", "network.model=alpha-beta", "placement=[1, 0]", "collectives: x", "cluster=dgx-a100", "network.routing=ecmp"]
    return [f"{setting}\n{text}".encode() for setting in settings for text in (DIMENSIONS, NODES, NCCL, TREE, GRAPH)] + [b"\n{}", b"a=b\n---\na: 'b\n"]


def matrix(names, entries, affinity=None, extra=""):
    """What nvidia-smi topo -m prints: `entries` by pair, "SYS" where there is none."""
    header = "\t" + "\t".join(names) + ("\tCPU Affinity\tNUMA Affinity" if affinity else "")
    lines = [header]
    for a, name in enumerate(names):
        row = ["X" if a == b else entries.get((min(a, b), max(a, b)), "SYS") for b in range(len(names))]
        near = ["\t" + affinity[a] + "\t0"] if affinity and a < len(affinity) else []
        lines.append(name + "\t" + "\t".join(row) + "".join(near))
    return ("\n".join(lines) + "\n" + extra).encode()


LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
"""


def topo_matrix_seeds():
    gpus = [f"GPU{i}" for i in range(8)]
    nics = [f"NIC{i}" for i in range(4)]
    pairs = [(a, b) for a in range(8) for b in range(a + 1, 8)]
    near = {(2 * i + j, 8 + i): "PIX" for i in range(4) for j in range(2)}
    near |= {(2 * i + j, 8 + (i ^ 1)): "NODE" for i in range(4) for j in range(2)} | {(8, 9): "NODE", (10, 11): "NODE"}
    switched = {pair: "NV12" for pair in pairs} | near
    pcie = {(a, b): "PIX" if a // 2 == b // 2 else "PXB" if a // 4 == b // 4 else "SYS" for a, b in pairs}
    direct = {(a, b): "NV1" if b - a == 1 else "NV2" if b - a == 4 else "PHB" if a // 4 == b // 4 else "SYS" for a, b in pairs}
    halves = ["0-15,32-47" if i < 4 else "16-31,48-63" for i in range(8)]
    broken = dict(pcie) | {(0, 2): "SYS"}
    return [matrix(gpus, pcie), matrix(gpus, pcie, halves, LEGEND), matrix(gpus + nics, switched, halves, LEGEND),
            matrix(gpus, direct, halves), matrix(gpus, broken), matrix(["GPU0"], {}), matrix(["GPU0", "mlx5_0"], {(0, 1): "PHB"}),
            matrix(gpus[:2], {(0, 1): "SOC"}), matrix(gpus[:2], {(0, 1): "NV4"}, ["0-7", "0-7"]),
            b"\x1b[4m" + matrix(gpus[:4], pcie, halves) + b"\x1b[0m", matrix(gpus, pcie).replace(b"\t", b"  "),
            matrix(gpus, pcie).replace(b"\n", b"\r\n")]


def quantity_seeds():
    return [text.encode() for text in (
        "300 GB/s", "1.5e3 GiB", "0.7 us", "700ns", "312 TFLOP/s", "2 PFLOP", "85 %", "0.85", "200 Gb/s", "1 b/s", "9223372036854775807 B",
        "0 B", "+3 h", "1e-24 s", "999999999999999999999999 EFLOP", "\u00b5s", ".5 min", "5. KiB", "1e+9 ps", "-1 s")]


def nccl_table(rows, names="size count type redop root", wrong="#wrong", sides=2):
    widths = {"size": 12, "count": 14, "type": 10, "redop": 8, "root": 8}
    left = [(name, widths[name]) for name in names.split()]
    side = [("time", 9), ("algbw", 8), ("busbw", 8), (wrong, 8)]
    units = {"size": "(B)", "count": "(elements)", "time": "(us)", "algbw": "(GB/s)", "busbw": "(GB/s)"}
    columns = left + side * sides
    lines = ["#" + " " * 60 + "out-of-place" + (" " * 23 + "in-place" if sides == 2 else ""),
             "#" + "".join(name.rjust(width) for name, width in columns)[1:],
             "#" + "".join(units.get(name, "").rjust(width) for name, width in columns)[1:]]
    lines += ["".join(field.rjust(width) for field, (_, width) in zip(row, columns)) for row in rows]
    return lines


def nccl_rows(sizes, names="size count type redop root", wrong="0", sides=2):
    rows = []
    for size in sizes:
        left = {"size": str(size), "count": str(size // 4), "type": "float", "redop": "sum", "root": "-1"}
        time = 20 + size / 1e5
        side = ["%.2f" % time, "%.2f" % (size / time / 1e3), "%.2f" % (size / time / 1e3 * 1.75), wrong]
        rows.append([left[name] for name in names.split()] + side * sides)
    return rows


def kernel_file_seeds():
    products = "dtype,batch,m,n,k,layout,accumulate,out_dtype,latency_us\nbf16,1,4096,1536,5120,NT,True,fp32,262.152\n"
    grouped = "groups,m_per_group,n,k,dtype,stage,latency_us\n40,616,3072,5120,fp8,bwd_grad_w,3934.969\n"
    attention = "pass,batch,seq,heads,kv_heads,qk_head_dim,v_head_dim,share_of_peak\nbwd,1,4096,32,8,192,128,0.5\n"
    measured = json.dumps({
        "schema": "orrery.measurement/1", "device": {"name": "Some GPU", "memory_bytes": 1 << 36}, "software": {"torch": "2"},
        "kernels": [{"kind": "product", "m": 64, "n": 32, "k": 16, "seconds": 1e-5, "count": 15},
                    {"kind": "memory", "bytes": 4096, "seconds": 1e-6, "beside_copy": True}],
        "host": [{"kind": "launch", "graph": True, "seconds": 1e-6}],
        "collectives": [{"op": "all_reduce", "bytes": 8, "ranks": 8, "nodes": 1, "seconds": 1e-5}],
        "skipped": [{"what": "fp8", "reason": "none"}]}, indent=1)
    return [text.encode() for text in (products, grouped, attention, measured, "[" + products + "]", "bytes,gb_s\n8,1e3\n")]


def nccl_log_seeds():
    sizes = [0, 8, 1024, 1 << 20, 1 << 26]
    run = ["# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807", "# Collective test starting: all_reduce_perf",
           "# nThread 1 nGpus 8 minBytes 0 maxBytes 67108864 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
           "#", "# Using devices"]
    run += ["#  Rank %2d Group  0 Pid   4711 on    node-a device %2d [0000:0%d:00] Some GPU 80GB" % (i, i, i) for i in range(8)]
    end = ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 61.25", "#", "# Collective test concluded: all_reduce_perf"]
    new = run + ["NCCL version 2.28.7+cuda13.0"] + nccl_table(nccl_rows(sizes)) + end
    old_names = "size count type redop"
    old = nccl_table(nccl_rows(sizes, old_names, "1e-07"), old_names, "error") + end[:2]
    one = nccl_table(nccl_rows(sizes, sides=1), sides=1) + end[:2]
    blank = nccl_table([row[:3] + ["", ""] + row[5:9] + [""] * 4 for row in nccl_rows(sizes)])
    odd = nccl_table([row[:5] + ["1.2e+06", "nan", "inf", "N/A"] + row[9:] for row in nccl_rows(sizes, wrong="3")])
    mixed = [line for row in new for line in (row, "node-a:4711:4712 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P")]
    split = nccl_table([])
    for row in nccl_table(nccl_rows(sizes))[3:]:
        split += [row[:52] + "node-a:4711:4712 [0] NCCL INFO threadThresholds 8/8/64", row[52:]]
    simulated = ["all_reduce on dgx: 8 ranks (1 x 8 some-gpu), alpha-beta network", "",
                 "  size (B)  count (float)  time (us)  algbw (GB/s)  busbw (GB/s)  algorithm         bound by",
                 "   1048576         262144      10.32        101.61        177.81  halving-doubling  nvlink (59 %)"]
    csv = ["size_bytes,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps",
           "1048576,45.1,23.25,43.59,,,", "1073741824,13989.0,76.756,134.32,13990.0,76.75,134.31"]
    document = ['{"schema": "orrery.collective/1", "op": "all_reduce", "ranks": 8, "rows": [{"bytes": 1048576, "time_us": 10.3}]}']
    texts = [new, old, one, blank, odd, new + new, mixed, split, simulated, csv, document,
             [" 0: " + line for line in new], ["[1,0]<stdout>:" + line for line in new],
             ["2024-05-01T12:00:00.5Z \x1b[32m" + line + "\x1b[0m\r" for line in new],
             ["./build/all_reduce_perf -b 8 -e 64M"] + [line.replace("#", " ") for line in new],
             [line.replace("    ", "\t") for line in new]]
    return [("\n".join(lines) + "\n").encode() for lines in texts] + ["\n".join(new[:-6]).encode()[:-9]]


LAYER_KINDS = ("NONE", "ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL")


def layer_table(header, layers, suffixes=("",), extra=()):
    lines = [header, str(layers)]
    for i in range(layers):
        fields = ["embedding_layer" if i % 3 == 1 else "layer%d" % i, "-1"]
        for part in range(3):
            kind = LAYER_KINDS[(i + part) % 5]
            suffix = suffixes[(i + part) % len(suffixes)] if kind != "NONE" else ""
            fields += [str(10 * i + part), kind + suffix, str(64 * i)]
        lines.append("\t".join(fields + [str(i)] + ([extra[i % len(extra)]] if extra else [])))
    return ("\n".join(lines) + "\n").encode()


def astra_text_seeds():
    """Ranks, size of model-parallel groups and iterations in a byte each, then the file."""
    own = ("DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_TRANSFORMER")
    tables = [layer_table(header, 5) for header in (
        "MICRO", "DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_DLRM 2", "HYBRID_DLRM_ENHANCED DLRM_LAST_BOTTOM_LAYER: 1",
        "HYBRID_TRANSFORMER model_parallel_NPU_group: 2", "DISTRIBUTED_INFERENCE",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: 2 checkpoints: 2 0 2 checkpoint_initiates: 2 4 1")]
    tables += [layer_table("HYBRID_CUSTOMIZED", 5, extra=own), layer_table("# a\r\nDATA \r\n", 3).replace(b"\n", b"\r\n"),
               layer_table("DATA", 3).replace(b"3\n", b"1000000000\n", 1)]
    return [bytes([7, 1, i % 3]) + table for i, table in enumerate(tables)]


def simai_seeds():
    """The number of ranks and a choice of options in a byte each, then the file."""
    form = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 "
    suffixes = ("", "_EP", "_DP_EP", "_TP", "_DP")
    tables = [layer_table(form + header, 7, suffixes) for header in (
        "ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0",
        "ep: 2 pp: 3 vpp: 2 ga: 2 all_gpus: 24 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 4096.0",
        "pp: 2 ga: 2 all_gpus: 8 pp_comm 64", "checkpoints: 0 checkpoint_initiates: 0", "all_gpus: 2000000000")]
    return [bytes([7, i % 4]) + table for i, table in enumerate(tables)]


GOAL = """num_ranks 2
// made up
rank 0 {
l1: calc 1500
l2: send 64b to 1 tag 7 cpu 1 nic 0
l2 requires l1
l3: calc 20 cpu 1
l3 irequires l2
}
rank 1 { /* a
comment */
recv 64b from -1 tag -1
}
"""


def goal_seeds():
    return [text.encode() for text in (
        GOAL, GOAL.replace("\n", "\r\n"), GOAL.replace("-1", "0"), GOAL.replace("l3 irequires l2", "l1 requires l2"),
        "num_ranks 1000000000\nrank 0 { }\n", "num_ranks 3 rank 0 { } \nrank 1 { }\nrank 2 { calc 5 }\n")]


def kineto_event(category, name, ts, dur, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": args}


def kineto_seeds():
    notes = {"Collective name": "allreduce", "In msg nelems": 256, "Out msg nelems": 256, "Group size": 1,
             "dtype": "Float", "Process Group Name": "0", "Process Group Description": "default_pg",
             "Process Group Ranks": "[0]"}
    launches = [kineto_event("cuda_runtime", name, 90.0 + i, 0.5, correlation=i + 1) for i, name in enumerate(
        ("cudaLaunchKernel", "cudaStreamWaitEvent", "cudaLaunchKernel", "cudaDeviceSynchronize", "cudaLaunchKernel"))]
    events = launches + [
        kineto_event("kernel", "gemm", 100.001, 10.5, stream=7, correlation=1, device=0),
        kineto_event("cpu_op", "record_param_comms", 90.5, 1.2, **{"Collective name": "allreduce"}),
        kineto_event("kernel", "ncclDevKernel_AllReduce", 111, 20, stream=20, correlation=3, **notes),
        kineto_event("gpu_memcpy", "Memcpy DtoH", 140, 1, stream=7, correlation=5),
        kineto_event("cuda_sync", "Stream Wait Event", 91, 1, stream=20, wait_on_stream=7,
                     wait_on_cuda_event_record_corr_id=2, correlation=2)]
    whole = {"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": events,
             "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1,
                                 "pg_config": [{"pg_name": "0", "ranks": [0]}, {"pg_name": "1", "ranks": "[0, ..., 3]"}]}}
    device = [event for event in events if event["cat"] in ("kernel", "gpu_memcpy")]
    send = kineto_event("kernel", "ncclDevKernel_SendRecv", 1, 2, stream=1,
                        **(notes | {"Collective name": "send", "Dst Rank": 1, "Global rank start": 0, "Global rank stride": 1}))
    world = {"traceEvents": [send], "distributedInfo": {"rank": 0, "world_size": 3}}
    return [json.dumps(seed).encode() for seed in (whole, whole | {"traceEvents": events[:-1]}, device, world, {"traceEvents": []})]


def execution_trace_seeds():
    tensor = [1, 2, 0, 256, 4, "cuda:0"]
    old = {"schema": "1.0.1", "pid": 7, "nodes": [
        {"name": "record_param_comms", "id": 5 + i, "rf_id": i, "inputs": inputs, "input_types": ["Tensor(float)"],
         "outputs": [tensor], "attrs": None}
        for i, inputs in enumerate([[[tensor], 141, 94594, 0, "allreduce", [], []], [141, 0, 0, "wait", [], []],
                                    [tensor, 142, 94594, 0, "all_to_allv", [128, 128], [128, 128]]])]}
    groups = json.dumps([{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1], "group_size": 2}])
    new = {"schema": "1.1.1-chakra.0.0.4", "pid": 7, "nodes": [
        {"id": 2, "name": "## process_group:init ##", "inputs": {"values": [groups]}, "attrs": []},
        {"id": 3, "name": "record_param_comms",
         "inputs": {"values": [tensor, 9, ["0", "default_pg"], 1, "_allgather_base", [], [], 0, 1, 2],
                    "types": ["Tensor(c10::Half)"]},
         "outputs": {"values": [[1, 2, 0, 512, 2, "cuda:0"]]},
         "attrs": [{"name": "rf_id", "value": 3}, {"name": "in_msg_nelems", "value": 256}]}]}
    return [json.dumps(seed).encode() for seed in (old, new, {"schema": "1.0.1", "nodes": []})]


def msccl_seeds():
    return [text.encode() for text in (
        algorithm_files.ring(2), algorithm_files.ring(3), algorithm_files.two_rings(3), algorithm_files.all_pairs(3),
        algorithm_files.all_gather_ring(3, 2))]


def node_dump_seeds():
    """Dumps of NCCL, outputs of rocm-smi, a topology of SimAI, a table of a tuner."""
    gpu = ('<pci busid="0000:%02x:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" '
           'link_width="16"><gpu dev="%d" sm="90" rank="%d" gdr="1">%s</gpu></pci>')
    nic = ('<pci busid="0000:a0:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"><nic>'
           '<net name="mlx5_0" dev="0" speed="400000"/></nic></pci>')
    switch = '<nvlink target="0000:03:00.0" count="18" tclass="0x068000"/>'
    pair = ['<nvlink target="0000:%02x:00.0" count="4" tclass="0x030200"/>' % (0x20 + (i ^ 1)) for i in range(2)]
    dumps = ['<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
             + "".join(gpu % (0x20 + i, i, i, links[i]) for i in range(2)) + nic + "</cpu></system>"
             for links in ([switch, switch], pair)]
    graphs = ('<graphs version="1"><graph id="0" pattern="4" nchannels="1" speedintra="30" speedinter="20" typeintra="NVL" '
              'typeinter="PIX"><channel><net dev="0"/><gpu dev="0"/></channel></graph></graphs>')
    tables = "".join(f"==== {title} ====\n GPU0 GPU1\nGPU0 0 {cell}\nGPU1 {cell} 0\n"
                     for title, cell in (("Weight between two GPUs", "15"), ("Link Type between two GPUs", "XGMI")))
    simai = "5 1 2 1 4 H100\n2 3 4 \n0 2 2880Gbps 0.000025ms 0\n1 3 2880Gbps 0.000025ms 0\n0 4 400Gbps 0.0005ms 0\n1 4 400Gbps 0.0005ms 0\n"
    tuner = "# table\nallreduce,0,65536,tree,ll,2,2,16,-1,0\nallgather,0,1,ring,simple,-1,-1,-1\n"
    return [text.encode() for text in (*dumps, graphs, tables + "GPU[0] : (Topology) Numa Node: 0\n", simai, tuner)]


def launch_file_seeds():
    examples = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "examples")
    seeds = []
    for name in ("llama3_70b.toml", "zero3.json"):
        with open(os.path.join(examples, name), "rb") as file:
            seeds.append(file.read())
    return seeds + [text.encode() for text in (
        '[training]\nbatch_size = 1_000\nseq_len = 0x800\n[experimental]\npipeline_parallel_split_points = ["layers.1"]\n',
        "distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: 4, fsdp_offload_params: true}\nnum_machines: 2\n"
        "mixed_precision: bf16\n",
        '{"per_device_train_batch_size": 2, "fsdp": "hybrid_shard auto_wrap", "bf16": "auto", "optim": "adamw_bnb_8bit"}')]


def launch_script_seeds():
    scripts = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/examples/launch_scripts"
    return [path.read_bytes() for path in sorted(scripts.glob("*.sh"))]


def main():
    corpora = {"fuzz_alike": alike_seeds(), "fuzz_chakra": binary_seeds(), "fuzz_chakra_json": json_seeds(), "fuzz_gzip": gzip_seeds(),
               "fuzz_config": config_seeds(), "fuzz_quantity": quantity_seeds(), "fuzz_topo_matrix": topo_matrix_seeds(),
               "fuzz_kernel_file": kernel_file_seeds(), "fuzz_nccl_log": nccl_log_seeds(), "fuzz_astra_text": astra_text_seeds(), "fuzz_simai": simai_seeds(),
               "fuzz_goal": goal_seeds(), "fuzz_kineto": kineto_seeds(), "fuzz_execution_trace": execution_trace_seeds(),
               "fuzz_msccl": msccl_seeds(), "fuzz_node_dump": node_dump_seeds(),
               "fuzz_launch_script": launch_script_seeds(),
               "fuzz_launch_files": launch_file_seeds()} | file_seeds.corpora(sys.modules[__name__])
    corpora["fuzz_file_kinds"] = file_seeds.file_kind_seeds(corpora)
    for name, seeds in corpora.items():
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        for i, seed in enumerate(seeds):
            with open(os.path.join(folder, "seed%02d" % i), "wb") as file:
                file.write(seed)


if __name__ == "__main__":
    main()
