#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""readers_test.py PROGRAM: whatever a file is, reading it works or is one error that says why: JSON and YAML that nest
without end, marks of the byte order, pipes, what may not be read, results that were edited, names and controls in texts."""
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from orrery_program import SMALL_JOB, SOURCE, Checks, Program, scratch_folder, write_files

DEEP = 100_000
ASTRA = SOURCE / "docs" / "examples" / "astra-sim"
GOAL = "num_ranks 2\nrank 0 {\nl1: send 4096b to 1 tag 7\n}\nrank 1 {\nl1: recv 4096b from 0 tag 7\n}\n"
# Ways into the program for a file, and whether they are told of a JSON or YAML file.
READING = re.compile(r"\b(ifstream|fopen|gzopen|O_RDONLY)\b|\bmmap\(|json::parse\(|Json::parse\(|sax_parse\(|json::accept\(|Json::accept\(")
READERS = {"core/files/read_file.cpp",  # the door
           "core/files/json.h", "core/files/json.cpp",  # that of JSON
           "core/files/folder_lock.cpp", "core/files/output_file.cpp",  # open folders
           "workload/chakra/json_text.cpp",  # one value after the other of a text whose depth is known
           "study/launch/process.cpp"}  # /dev/null for other programs


def check_one_door(checks):
    found = {}
    for layer in ("core", "workload", "collectives", "network", "system", "report", "experiment", "study", "astra", "cli"):
        for path in sorted((SOURCE / layer).rglob("*.*")):
            if path.suffix in (".cpp", ".h") and (hits := READING.findall(re.sub(r"//.*", "", path.read_text()))):
                found[str(path.relative_to(SOURCE))] = hits
    checks.check(set(found) <= READERS, "files are read by core/files alone",
                 {name: hits for name, hits in found.items() if name not in READERS})
    checks.check("core/files/json.h" in found, "the walk sees who reads", found)


def one_error(checks, done, expected, what):
    checks.check(done.code == 2 and not done.broken and done.stderr.count("error:") == 1 and expected in done.stderr, what,
                 f"{done.code} {done.broken}\n{done.stderr[-600:]}")


def check_depth(program, checks, folder):
    """One limit for all that is JSON, and one for YAML."""
    deep = "[" * DEEP + "]" * DEEP
    objects = '{"a":' * DEEP + "1" + "}" * DEEP
    profile = '{"schemaVersion": 1, "traceEvents": [{"ph": "X", "args": %s}]}' % deep
    trace = '{"schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": [{"id": 1, "name": "x", "inputs": {"values": [%s]}}]}' % deep
    write_files(folder, {"deep.json": deep, "objects.json": objects, "profile.json": profile, "trace.json": trace,
                         "w/rank.0.json": '{"nodes": [{"id": 1, "attr": %s}]}' % deep, "w/rank.1.et": "", "deep.yaml": "a: " + deep,
                         "memory.json": objects, "groups.json": objects})
    for name in ("profile", "trace"):
        Path(folder, f"{name}.json.gz").write_bytes(gzip.compress(Path(folder, f"{name}.json").read_bytes()))
    limit = "nested deeper than 256 levels"
    one_error(checks, program.run(["workload", "import", "profile.json.gz", "-o", "o"], folder), limit, "a profile that nests")
    both = program.run(["workload", "import", "profile.json", "trace.json", "-o", "o"], folder)
    checks.check(both.code == 2 and both.stderr.count(limit) == 2, "an execution trace that nests", both.stderr)
    one_error(checks, program.run(["workload", "inspect", "w/rank.0.json"], folder), "nested deeper than", "a trace that nests")
    one_error(checks, program.run(["workload", "inspect", str(SOURCE / "traces/all-reduce-8/rank"), "--groups", "groups.json"], folder),
              "nested deeper than", "groups that nest")
    one_error(checks, program.run(["astra-sim", "--workload-configuration", str(SOURCE / "traces/all-reduce-8/rank"),
                                   "--system-configuration", str(ASTRA / "system.json"), "--network-configuration",
                                   str(ASTRA / "network.yml"), "--remote-memory-configuration", "memory.json"], folder),
              limit, "a memory of ASTRA-sim's that nests")
    for file in ("deep.yaml", "deep.json", "objects.json"):
        done = program.run(["run", file], folder)
        checks.check(done.code == 2 and not done.broken and "nested deeper than" in done.stderr, f"run {file}", done.stderr[-300:])
        done = program.run(["cluster", "show", file], folder)
        checks.check(done.code == 2 and not done.broken, f"cluster show {file}", done.stderr[-300:])


def check_marks(program, checks, folder):
    """Editors of Windows put a mark of the byte order before UTF-8."""
    mark = b"\xef\xbb\xbf"
    layers = (SOURCE / "docs/examples/layers.txt").read_bytes()
    write_files(folder, {"marked.goal": mark + GOAL.encode(), "marked.txt": mark + layers, "job.yaml": mark + SMALL_JOB.encode(),
                         "wide.goal": GOAL.encode("utf-16")})
    for command in (["workload", "import", "marked.goal", "-o", "g"], ["workload", "import", "marked.goal", "--format", "goal", "-o", "g"],
                    ["workload", "import", "marked.txt", "--ranks", "8", "-o", "l"], ["check", "job.yaml"]):
        done = program.run(command, folder)
        checks.check(done.code == 0, f"{' '.join(command)} takes the mark", done.stderr)
    one_error(checks, program.run(["workload", "import", "wide.goal", "--format", "goal", "-o", "g"], folder),
              "is a text in UTF-16, expected UTF-8", "UTF-16 is told")
    events = [{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 5, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}]
    text = json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events})
    write_files(folder, {"plain.json": text, "marked.json": mark + text.encode(), "marked.json.gz": gzip.compress(mark + text.encode())})
    plain = program.run(["workload", "import", "plain.json", "-o", "plain"], folder)
    for name in ("marked.json", "marked.json.gz"):
        done = program.run(["workload", "import", name, "-o", "plain"], folder)
        checks.check((done.code, done.stdout) == (plain.code, plain.stdout), f"{name} is what plain.json is", done.stderr + plain.stderr)


def check_pipes(program, checks, folder):
    """<(...) of a shell, and a pipe with a name."""
    write_files(folder, {"job.yaml": SMALL_JOB, "cluster.yaml": (SOURCE / "configs/clusters/dgx-a100.yaml").read_text()})
    plain = program.run(["run", "job.yaml", "--print", "iteration_time_s"], folder).stdout
    for command in ("run <(cat job.yaml) --print iteration_time_s", "run <(sed s/nodes:.2/nodes:\\ 2/ job.yaml) --print iteration_time_s",
                    "run - --print iteration_time_s < job.yaml"):
        done = subprocess.run(["bash", "-c", f"'{program.path}' {command}"], cwd=folder, capture_output=True, text=True, timeout=60)
        checks.check(done.returncode == 0 and done.stdout == plain and plain, command, done.stdout + done.stderr)
    for command in ("workload import <(cat %s) --ranks 8 -o l" % (SOURCE / "docs/examples/layers.txt"), "check <(cat job.yaml)",
                    "calibrate <('%s' collective --op all_reduce --json - --cluster dgx-a100 -b 8 -e 1G) --cluster dgx-a100 --op all_reduce --out -" %
                    program.path):
        done = subprocess.run(["bash", "-c", f"'{program.path}' {command}"], cwd=folder, capture_output=True, text=True, timeout=60)
        checks.check(done.returncode == 0, command, done.stdout[-300:] + done.stderr)
    one_error(checks, program.run(["run", "/dev/zero"], folder), "neither a regular file nor a pipe", "a device")


def check_permissions(program, checks, folder):
    """What may not be looked at is not said to be missing."""
    if os.geteuid() != 0:
        write_files(folder, {"closed/job.yaml": SMALL_JOB, "closed/rank.0.et": ""})
        Path(folder, "closed").chmod(0)
        as_user = []
    else:
        write_files(folder, {"closed/job.yaml": SMALL_JOB, "closed/rank.0.et": ""})
        Path(folder, "closed").chmod(0o700)
        Path(folder).chmod(0o755)
        as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        probe = subprocess.run([*as_user, program.path, "--version"], capture_output=True, check=False)
        if probe.returncode != 0:
            print("SKIPPED: files without permission (the program cannot be run as another user)")
            return
    for command in (["run", "closed/job.yaml"], ["workload", "inspect", "closed/rank"], ["cluster", "show", "closed/c.yaml"],
                    ["model", "show", "closed/m.yaml"], ["calibrate", "closed/log", "--cluster", "dgx-a100", "--out", "-"],
                    ["workload", "import", "closed/job.yaml", "--out", "x"]):
        done = subprocess.run([*as_user, program.path, *command], cwd=folder, capture_output=True, text=True, timeout=60)
        checks.check(done.returncode == 2 and "ermission denied" in done.stderr and "no such file" not in done.stderr.lower(),
                     f"{' '.join(command)} tells permissions", done.stderr)
    Path(folder, "closed").chmod(0o700)


def check_results(program, checks, folder):
    """A result that was damaged or edited is blamed itself, at its line."""
    write_files(folder, {"job.yaml": SMALL_JOB})
    program.run(["run", "job.yaml", "--json", "r.json", "--deterministic"], folder)
    text = Path(folder, "r.json").read_text()
    lines = text.splitlines()

    def edited(old, new, name="edited.json"):
        checks.check(old in text, f"{old} is in the result")
        Path(folder, name).write_text(text.replace(old, new, 1))
        return program.run(["run", name], folder), 1 + text[:text.index(old)].count("\n")

    done, line = edited('"tensor": 4', '"tensor": "four"')
    checks.check(done.code == 2 and f"edited.json:{line}:" in done.stderr and "job.yaml" not in done.stderr,
                 "an edited value stands in the result", done.stderr)
    done, line = edited('"commit"', '"comit"')
    checks.check(done.code == 2 and "'provenance.commit' is missing in this result of a run" in done.stderr and "edited.json:" in
                 done.stderr and "json.exception" not in done.stderr, "a key that is gone", done.stderr)
    done, line = edited('"set": []', '"set": 3')
    checks.check(done.code == 2 and f"edited.json:{line}:" in done.stderr and "'provenance.set' of this result" in done.stderr,
                 "a value of another kind", done.stderr)
    done, _ = edited('"experiment":', '"experiment": {"cluster": "dgx-h100"}, "experiment":')
    checks.check(done.code == 2 and "edited.json: error: 'experiment' is given twice in this result of a run" in done.stderr,
                 "a second experiment", done.stderr)
    os.mkfifo(Path(folder, "pipe"))
    done, _ = edited('"inputs": [', '"inputs": [{"path": "pipe", "kind": "data", "sha256": "%s"}, ' % (64 * "0"))
    checks.check(done.code == 2 and "the run read 'pipe', which is not to be found" in done.stderr, "a pipe among the data is not waited for",
                 done.stderr)
    Path(folder, "cut.json").write_text(text[:len(text) // 2])
    done = program.run(["run", "cut.json"], folder)
    cut = text[:len(text) // 2].count("\n") + 1
    checks.check(done.code == 2 and f"cut.json:{cut}:" in done.stderr and "is damaged: not JSON" in done.stderr
                 and "json.exception" not in done.stderr, "a result that was cut", done.stderr)
    again = program.run(["run", "r.json", "--json", "-", "--deterministic"], folder)
    checks.check(json.loads(again.stdout)["iteration_time_s"] == json.loads(text)["iteration_time_s"], "the whole one runs again",
                 again.stderr)
    checks.check(len(lines) > 100, "the result has lines")


def check_names(program, checks, folder):
    """A path that begins like a factor is a path; controls of direction reach no terminal."""
    write_files(folder, {"x7b.yaml": (SOURCE / "configs/models/llama3-8b.yaml").read_text(), "job.yaml": SMALL_JOB})
    for command in (["model", "show", "x7b.yaml"], ["run", "job.yaml", "--set", "workload.model=x7b.yaml", "--allow-oom"]):
        done = program.run(command, folder)
        checks.check(done.code == 0, " ".join(command), done.stderr)
    override = "\u202e"
    write_files(folder, {f"a{override}b.yaml": SMALL_JOB.replace("nodes: 2", f"nodes: {override}2")})
    done = program.run(["run", f"a{override}b.yaml"], folder)
    checks.check(done.code == 2 and override not in done.stdout + done.stderr and "\\u202E" in done.stderr, "in an error", done.stderr)
    write_files(folder, {"m.yaml": (SOURCE / "configs/models/llama3-8b.yaml").read_text().replace("llama3-8b", f'"x{override}y"')})
    done = program.run(["model", "show", "m.yaml"], folder)
    checks.check(done.code == 0 and override not in done.stdout, "in an answer", done.stdout)
    done = program.run(["model", "show", "m.yaml", "--json", "-"], folder)
    checks.check(done.code == 0 and override not in done.stdout and json.loads(done.stdout)["layers"] == 32,
                 "in a document, which says the same", done.stdout[:200])


def main():
    program, checks = Program(sys.argv[1]), Checks()
    check_one_door(checks)
    for check in (check_depth, check_marks, check_pipes, check_permissions, check_results, check_names):
        with scratch_folder() as folder:
            check(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
