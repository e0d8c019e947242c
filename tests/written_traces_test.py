#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the traces that Orrery writes with an independent decoder, and compares every field with what was meant.

    written_traces_test.py WRITE_EXAMPLE_JOBS SHARED_FOLDER

WRITE_EXAMPLE_JOBS is the test program that writes jobs and says what they hold; SHARED_FOLDER holds tools/dump_et.py.
Exit status 77 (skipped) where that is missing.
"""
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
TYPES = {"free": "COMP", "host compute": "COMP", "compute": "COMP", "memory load": "MEM_LOAD",
         "memory store": "MEM_STORE", "collective": "COMM_COLL", "send": "COMM_SEND", "receive": "COMM_RECV"}
# What ASTRA-sim's feeder reads, in the types of its own generators.
KINDS = {"is_cpu_op": {"bool"}, "num_ops": {"int64"}, "tensor_size": {"uint64"}, "comm_type": {"int64"},
         "comm_size": {"int64"}, "comm_src": {"int32"}, "comm_dst": {"int32"}, "comm_tag": {"int32", "int64"},
         "comm_priority": {"uint32"}, "pg_name": {"string"}, "pg_desc": {"string"}, "stream": {"int64"},
         "root": {"int64"}, "duration_picos": {"int64"}}


def wanted(node, rank):
    """The attributes that a node must have, but for roots and descriptions."""
    kind = node["kind"]
    attributes = {"is_cpu_op": kind in ("free", "host compute")}
    if node["stream"]:
        attributes["stream"] = node["stream"]
    if kind == "compute" and (node["flops"] or node["bytes"]):
        attributes |= {"num_ops": node["flops"], "tensor_size": node["bytes"]}
    if kind.startswith("memory"):
        attributes["tensor_size"] = node["bytes"]
    if kind in ("collective", "send", "receive"):
        attributes["comm_size"] = node["bytes"]
        if node["priority"]:
            attributes["comm_priority"] = node["priority"]
    if kind == "collective" and node["group"]:
        attributes["pg_name"] = str(node["group"])
    if kind in ("send", "receive"):
        ends = [rank, node["peer"]] if kind == "send" else [node["peer"], rank]
        attributes |= {"comm_src": ends[0], "comm_dst": ends[1], "comm_tag": node["tag"]}
    return attributes


def differences(node, rank, found):
    attributes = found["attr"]
    pairs = [("id", node["id"], found["id"]), ("name", node["name"], found["name"]),
             ("type", TYPES[node["kind"]], found["type"]), ("ctrl_deps", [], found["ctrl_deps"]),
             ("data_deps", sorted(node["after"]), sorted(found["data_deps"]))]
    pairs += [(name, value, attributes.get(name)) for name, value in wanted(node, rank).items()]
    if node["kind"] == "collective":
        pairs.append(("collective", node["collective"].upper(), found["coll"]))
    exact = attributes.get("duration_picos", found["dur_us"] * 10**6)
    pairs.append(("duration", node.get("picos", 0), exact))
    pairs.append(("whole microseconds", True, abs(found["dur_us"] * 10**6 - exact) <= 10**6))
    pairs.append(("zero only where there is none", "picos" in node, found["dur_us"] > 0))
    pairs += [("type of " + name, True, kind in KINDS.get(name, ())) for name, kind in found["atype"].items()]
    return ["%s is %r, expected %r" % (what, b, a) for what, a, b in pairs if a != b]


def main():
    writer, shared = sys.argv[1], sys.argv[2]
    decoder = os.path.join(shared, "tools", "dump_et.py")
    if not os.path.isfile(decoder):
        print("SKIPPED: no " + decoder)
        sys.exit(SKIPPED)
    problems = []
    nodes = 0
    with tempfile.TemporaryDirectory() as folder:
        meant = subprocess.run([writer, folder], capture_output=True, text=True, check=True).stdout
        for job in map(json.loads, meant.splitlines()):
            dumped = subprocess.run([sys.executable, decoder, job["file"]], capture_output=True, text=True, check=True)
            head, *found = map(json.loads, dumped.stdout.splitlines())
            if head["framing_error"] or head["bad_messages"] or not head["has_metadata"]:
                problems.append("%s: %r" % (job["file"], head))
            if len(found) != len(job["nodes"]):
                problems.append("%s: %d nodes, expected %d" % (job["file"], len(found), len(job["nodes"])))
            for node, other in zip(job["nodes"], found):
                nodes += 1
                problems += ["%s, node %s: %s" % (job["file"], node["id"], text)
                             for text in differences(node, job["rank"], other)]
    print("\n".join(problems[:50]))
    print("%d nodes, %d differences" % (nodes, len(problems)))
    sys.exit(1 if problems or nodes == 0 else 0)


main()
