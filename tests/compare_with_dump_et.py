#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the Chakra decoder with an independent one, field by field, over every trace there is.

    compare_with_dump_et.py DUMP_CHAKRA SHARED_FOLDER

DUMP_CHAKRA is the test program that prints a trace as JSON lines; SHARED_FOLDER holds tools/dump_et.py and data/. Every
line of both must be equal as JSON, floats exactly. Exit status 77 (skipped) where the folder or zstd is missing.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
BATCH = 32


def skip(reason):
    print("SKIPPED: " + reason)
    sys.exit(SKIPPED)


def unpack_archives(folder, into):
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            if not name.endswith((".tar.zst", ".tar.gz", ".tgz")):
                continue
            target = os.path.join(into, os.path.relpath(os.path.join(root, name), folder))
            os.makedirs(target)
            subprocess.run(["tar", "-C", target, "-xf", os.path.join(root, name)], check=True)


def trace_files(*folders):
    files = []
    for folder in folders:
        for root, _, names in os.walk(folder):
            files += [os.path.join(root, name) for name in names if name.endswith((".et", ".et.gz"))]
    return sorted(files)


def lines_of(command):
    """Standard output split by file: every file starts with a line that has the key "file"."""
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    by_file = {}
    current = None
    for line in done.stdout.splitlines():
        record = json.loads(line)
        if "framing_error" in record:
            current = by_file.setdefault(record["file"], [])
        current.append(record)
    return by_file, done.stderr


def differences(ours, theirs):
    if ours is None:
        # Ours throws where the other decoder counts what it could not read.
        head = theirs[0] if theirs else None
        broken = head is None or head["framing_error"] or head["bad_messages"] or len(theirs) == 1
        return [] if broken else ["only ours refuses it"]
    if theirs is None:
        return ["only theirs refuses it"]
    found = []
    if len(ours) != len(theirs):
        found.append("%d nodes, expected %d" % (len(ours) - 1, len(theirs) - 1))
    for i, (mine, other) in enumerate(zip(ours, theirs)):
        for key in sorted(set(mine) | set(other)):
            # repr tells 1 from 1.0 and true, and compares NaN with NaN.
            if repr(mine.get(key, "absent")) != repr(other.get(key, "absent")):
                if key == "attr" or key == "metadata" or key == "atype":
                    if sorted(map(repr, mine[key].items())) == sorted(map(repr, other[key].items())):
                        continue
                found.append("line %d, %s: %.200r, expected %.200r" % (i + 1, key, mine.get(key), other.get(key)))
    return found


def compare(dump_chakra, dump_et, batch):
    ours, complaints = lines_of([dump_chakra] + batch)
    theirs, _ = lines_of([sys.executable, dump_et] + batch)
    problems = []
    nodes = 0
    for path in batch:
        found = differences(ours.get(path), theirs.get(path))
        nodes += max(len(ours.get(path) or []) - 1, 0)
        problems += ["%s: %s" % (path, text) for text in found[:5]]
    if problems and complaints:
        problems.append(complaints.strip())
    return nodes, problems


def main():
    dump_chakra, shared = sys.argv[1], sys.argv[2]
    dump_et = os.path.join(shared, "tools", "dump_et.py")
    traces = os.path.join(shared, "data", "traces")
    if not os.path.isfile(dump_et) or not os.path.isdir(traces):
        skip("no " + dump_et + " or no " + traces)
    if not shutil.which("zstd") or not shutil.which("tar"):
        skip("zstd and tar are needed to unpack the traces")

    with tempfile.TemporaryDirectory() as folder:
        unpack_archives(traces, folder)
        files = trace_files(folder, traces, os.path.join(shared, "data", "astra-sim"))
        batches = [files[i:i + BATCH] for i in range(0, len(files), BATCH)]
        nodes = 0
        problems = []
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for count, found in pool.map(lambda batch: compare(dump_chakra, dump_et, batch), batches):
                nodes += count
                problems += found
    print("\n".join(problems[:50]))
    print("%d files, %d nodes, %d differences" % (len(files), nodes, len(problems)))
    sys.exit(1 if problems or nodes == 0 else 0)


main()
