#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""outputs_test.py PROGRAM: whatever the program writes is there whole or not at all. One folder has one writer; nothing
that is read is written over; a full disk, a kill or a signal leave what was there; links and permissions stay.

The faults are real ones: signals to the running program, limits of file sizes, folders that another process holds.
"""
import fcntl
import json
import os
import pty
import random
import re
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

from orrery_program import PATIENCE, SMALL_JOB, SOURCE, Checks, Program, files_of, scratch_folder, unbroken, write_files

TRACES = "cluster: dgx-a100\nworkload: {chakra: {prefix: t/rank, groups: t/groups.json}}\n"
LAYERS = SOURCE / "docs" / "examples" / "layers.txt"
# Thousands of plans, each of which takes a moment.
LARGE_JOB = """
cluster: dgx-a100
nodes: 96
workload:
  model: gpt3-175b
  parallel: {tensor: 8, pipeline: 8, data: 12, zero: 1}
  batch: {global: 1536, micro: 1}
  recompute: full
"""
SWEEP = "experiment: job.yaml\nvary: [{key: workload.batch.micro, values: [1, 2]}]\n"
# Ways of writing files, and the files of the source that may have them.
WRITING = re.compile(r"\b(ofstream|fstream\b(?!>)|fopen|freopen|creat|mkstemp|mkostemp|tmpfile|copy_file|O_WRONLY|O_RDWR|O_CREAT|"
                     r"O_TMPFILE|resize_file|truncate|create_hard_link|create_symlink|gzopen)\s*[(<|&,; ]|\brename\s*\(|"
                     r"sqlite3_open(?!\(\":memory:\")")
WRITERS = {"core/files/output_file.cpp",  # the door
           "core/files/folder_lock.cpp",  # files that are locked are empty
           "study/validate/traces/traces.cpp"}  # /dev/null as the errors of tar


def litter(folder):
    return [str(path) for path in Path(folder).rglob("*.partial")]


def check_one_door(checks):
    """No file of the source writes but by the door."""
    found = {}
    for layer in ("core", "workload", "collectives", "network", "system", "report", "experiment", "study", "astra", "cli"):
        for path in sorted((SOURCE / layer).rglob("*.*")):
            if path.suffix not in (".cpp", ".h"):
                continue
            code = re.sub(r"//.*", "", path.read_text())
            if hits := WRITING.findall(code):
                found[str(path.relative_to(SOURCE))] = hits
    checks.check(set(found) <= WRITERS, "files are written by core/files/output_file.h alone",
                 {name: hits for name, hits in found.items() if name not in WRITERS})
    checks.check("core/files/output_file.cpp" in found, "the walk sees who writes", found)
    for text in ("std::ofstream out(path);", "FILE* f = fopen(p, \"w\");", "std::rename(a, b)", "open(p, O_WRONLY | O_TRUNC)",
                 "fs::copy_file(a, b, code)", "sqlite3_open(path, &db)"):
        checks.check(WRITING.search(text), f"the walk would see {text}")


def check_one_writer(program, checks, folder):
    """A folder that another program holds, as another orrery does while it writes there."""
    commands = [["run", "job.yaml", "--out", "held"], ["workload", "import", str(LAYERS), "--ranks", "8", "-o", "held"],
                ["workload", "generate", "job.yaml", "-o", "held"], ["collective", "--op", "all_reduce", "--cluster", "dgx-a100", "--out", "held"],
                ["explain", "job.yaml", "--out", "held"], ["search", "job.yaml", "--out", "held"],
                ["sweep", "sweep.yaml", "--out", "held"], ["validate", "nccl", "--plot", "held"],
                ["compare", "job.yaml", "--vs", "nodes=4", "--out", "held"]]
    held = Path(folder, "held")
    held.mkdir()
    descriptor = os.open(held, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    for command in commands:
        done = program.run(command, folder)
        checks.check(done.code == 2 and "held: error: another orrery writes to this folder" in done.stderr,
                     f"{' '.join(command[:2])} stays out of a folder that another one writes to", f"{done.code} {done.stderr}")
    checks.check(not list(held.iterdir()), "and writes nothing there", list(held.iterdir()))
    os.close(descriptor)
    done = program.run(commands[0], folder)
    checks.check(done.code == 0, "once it is let go, it is free", done.stderr)


def check_inputs_stay(program, checks, folder):
    """Outputs over what is read, be it named on the command line, in the file or found beside it."""
    program.run(["workload", "generate", "job.yaml", "-o", "t"], folder)
    write_files(folder, {"traces.yaml": TRACES})
    before = files_of(Path(folder, "t"))
    checks.check(len(before) == 17, "16 ranks and their groups", sorted(before))
    for options in (["--timeline", "t/rank.0.et"], ["--timeline", "t/groups.json"], ["--json", "t/rank.3.et"],
                    ["--html", "t/rank.3.et"], ["--json", "traces.yaml"], ["--timeline", "traces.yaml"],
                    ["--timeline", "link"]):
        Path(folder, "link").unlink(missing_ok=True)
        Path(folder, "link").symlink_to("t/rank.1.et")
        done = program.run(["run", "traces.yaml", "--set", "nodes=2", *options], folder)
        checks.check(done.code == 2 and done.stderr.count("error:") == 1
                     and f"{options[1]}: error: is read and would be written over" in done.stderr and not done.stdout,
                     f"run {' '.join(options)} is refused before it runs", f"{done.code}\n{done.stdout}{done.stderr}")
        checks.check(files_of(Path(folder, "t")) == before, f"{options} leaves the traces as they were")
    done = program.run(["compare", "traces.yaml", "--set", "nodes=2", "--vs", "network.model=alpha-beta", "--json", "t/rank.0.et"],
                       folder)
    checks.check(done.code == 2 and "is read and would be written over" in done.stderr, "compare", done.stderr)
    checks.check(files_of(Path(folder, "t")) == before, "compare leaves the traces as they were")
    checks.check((Path(folder, "traces.yaml")).read_text() == TRACES, "and the experiment")


def check_kinds(program, checks, folder):
    """What a path may be besides a file."""
    target, link = Path(folder, "target.json"), Path(folder, "link.json")
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("target.json")
    run = ["run", "job.yaml", "--deterministic", "--json"]
    plain = program.run([*run, "-"], folder).stdout
    checks.check(program.run([*run, "link.json"], folder).code == 0 and link.is_symlink() and target.read_text() == plain,
                 "a link is followed and stays")
    checks.check(stat.S_IMODE(target.stat().st_mode) == 0o640, "permissions stay", oct(target.stat().st_mode))
    Path(folder, "new-link.json").symlink_to("new-target.json")
    program.run([*run, "new-link.json"], folder)
    checks.check(Path(folder, "new-target.json").read_text() == plain, "a link to nothing yet makes its file")
    os.umask(0o027)
    program.run([*run, "masked.json"], folder)
    os.umask(0o022)
    checks.check(stat.S_IMODE(Path(folder, "masked.json").stat().st_mode) == 0o640, "a new file obeys the umask")
    for path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        done = program.run([*run, path], folder)
        checks.check(done.code == 0 and done.stdout.startswith(plain), f"{path} is standard output", done.stdout[:200] + done.stderr)
    with open(Path(folder, "both.txt"), "w") as both:
        program.run([*run, "/dev/stdout"], folder, stdout=both)
    checks.check(Path(folder, "both.txt").read_text().startswith(plain) and len(Path(folder, "both.txt").read_text()) > len(plain),
                 "standard output into a file has both, one behind the other")
    checks.check(program.run([*run, "/dev/null"], folder).code == 0 and stat.S_ISCHR(os.stat("/dev/null").st_mode),
                 "/dev/null stays what it is")
    full = program.run([*run, "/dev/full"], folder)
    checks.check(full.code == 2 and "/dev/full: error: cannot be written: No space left on device" in full.stderr, "/dev/full",
                 full.stderr)
    pipe = Path(folder, "pipe")
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    done = program.run([*run, "pipe"], folder)
    reader.join(timeout=30)
    checks.check(done.code == 0 and got == [plain] and stat.S_ISFIFO(pipe.stat().st_mode), "a pipe is written to", done.stderr)
    checks.check(not litter(folder), "nothing else is left", litter(folder))


def outputs_of(folder):
    """Command lines with the files that they replace."""
    return [(["run", "job.yaml", "--json", "x.json"], ["x.json"]),
            (["run", "job.yaml", "--html", "x.html"], ["x.html"]),
            (["run", "job.yaml", "--timeline", "x.json.gz"], ["x.json.gz"]),
            (["run", "job.yaml", "--out", "o"], ["o/result.json", "o/operations.csv", "o/memory.csv", "o/summary.txt"]),
            (["search", "job.yaml", "--budget", "1", "--write", "best.yaml"], ["best.yaml"]),
            (["collective", "--op", "all_reduce", "--cluster", "dgx-a100", "--svg", "c.svg"], ["c.svg"]),
            (["calibrate", "log.json", "--cluster", "dgx-a100", "--out", "c.yaml"], ["c.yaml"]),
            (["workload", "generate", "job.yaml", "-o", "t2"], ["t2/rank.0.et", "t2/groups.json"]),
            (["sweep", "sweep.yaml", "--out", "s", "--fresh"], ["s/points.csv", "s/result.json"])]


def check_full_disk(program, checks, folder):
    """No file may grow beyond 100 bytes: the write fails in its midst."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    for command, files in outputs_of(folder):
        first = program.run(command, folder, seconds=60)
        if not checks.check(first.code == 0, f"{' '.join(command)} works", first.stderr):
            continue
        before = {file: Path(folder, file).read_bytes() for file in files}
        done = subprocess.run([program.path, *command], cwd=folder, capture_output=True, preexec_fn=limit, timeout=120,
                              stdin=subprocess.DEVNULL)
        checks.check(done.returncode == 2 and b"File too large" in done.stderr, f"{' '.join(command)} says that the disk is full",
                     done.stderr.decode())
        after = {file: Path(folder, file).read_bytes() for file in files if Path(folder, file).exists()}
        checks.check(after == before, f"{' '.join(command)} leaves the files of before", [f for f in files if after.get(f) != before[f]])
        checks.check(not litter(folder), f"{' '.join(command)} leaves nothing else", litter(folder))


def is_whole(path):
    """Whether a file that is written at its end in a known way has that end."""
    data = path.read_bytes()
    if path.suffix == ".json":
        return bool(json.loads(data))
    ends = {".html": b"</html>\n", ".svg": b"</svg>\n"}
    return data.endswith(ends.get(path.suffix, b""))


def check_signals(program, checks, folder):
    """Each signal at random moments, and as soon as a file is begun."""
    moments = random.Random(38)
    for command, files in outputs_of(folder):
        began = time.monotonic()
        program.run(command, folder, seconds=60)
        whole = time.monotonic() - began
        before = {file: Path(folder, file).read_bytes() for file in files}
        for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            running = subprocess.Popen([program.path, *command, "-q"], cwd=folder, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            limit = time.monotonic() + moments.uniform(0.2, 1.2) * whole
            while running.poll() is None and time.monotonic() < limit and not litter(folder):
                pass
            running.send_signal(number)
            said = running.communicate(timeout=60)[1].decode()
            told = command[0] in ("search", "sweep") and number in (signal.SIGINT, signal.SIGTERM)
            checks.check(running.returncode in ((0, 128 + number, -number) if told else (0, -number)),
                         f"{command[0]} ends by signal {number}", f"{running.returncode} {said}")
            for file in files:
                path = Path(folder, file)
                if not path.exists():
                    checks.check(len(files) > 1, f"{file} is there after signal {number}")
                    continue
                checks.check(path.read_bytes() == before[file] or is_whole(path),
                             f"{file} is that of before or whole after signal {number}")
            if number == signal.SIGKILL:
                for path in litter(folder):
                    Path(path).unlink()
            checks.check(not litter(folder), f"{command[0]} leaves nothing else after signal {number}", litter(folder))


def uncoloured(said):
    """What a terminal got, without the sequences that set colours."""
    return re.sub(rb"\x1b\[[\d;]*m", b"", said)


def check_stopped_search(program, checks, folder):
    """The best so far is told and written as soon as somebody asks the search to end."""
    write_files(folder, {"large.yaml": LARGE_JOB})
    for number in (signal.SIGINT, signal.SIGTERM):
        screen, terminal = pty.openpty()
        running = subprocess.Popen([program.path, "search", "large.yaml", "--json", "best.json", "--write", "best.yaml"], cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal)
        os.close(terminal)
        said = b""
        while b"plans [" not in said.replace(b"chunks of plans [", b""):
            said += os.read(screen, 65536)
        checks.check(b" at most " in said or b" left" not in said, "the time left is a bound", said)
        running.send_signal(number)
        table = running.communicate(timeout=60 * PATIENCE)[0].decode()
        while chunk := read_screen(screen):
            said += chunk
        os.close(screen)
        checks.check(running.returncode == 128 + number, "a stopped search says by its exit code that it was", running.returncode)
        checks.check("; stopped early; " in unbroken(table) and "the best, for `orrery run`" in table, "the best so far is told", table)
        checks.check(b"error: interrupted; what is told is the best so far" in uncoloured(said), "and that it is no more than that", said)
        found = json.loads(Path(folder, "best.json").read_text())
        checks.check(found["stopped"] and found["simulated"] >= 1 and found["next_bound_s"] > 0, "results say so", found["simulated"])
        best = program.run(["run", "best.yaml", "--json", "-"], folder, seconds=60)
        checks.check(json.loads(best.stdout)["iteration_time_s"] == found["best"][0]["iteration_time_s"], "the best so far runs")


def read_screen(screen):
    """What the other end of a terminal still holds; nothing where it is closed."""
    try:
        return os.read(screen, 65536)
    except OSError:
        return b""


def check_ignored(program, checks, folder):
    """Below nohup a hangup does nothing."""
    running = subprocess.Popen([program.path, "run", "job.yaml", "--json", "-"], cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    running.send_signal(signal.SIGHUP)
    said, _ = running.communicate(timeout=60)
    checks.check(running.returncode == 0 and json.loads(said)["schema"] == "orrery.result/1", "an ignored signal stays ignored")


def main():
    program, checks = Program(sys.argv[1]), Checks()
    check_one_door(checks)
    with scratch_folder() as folder:
        write_files(folder, {"job.yaml": SMALL_JOB, "sweep.yaml": SWEEP})
        program.run(["collective", "--op", "all_reduce", "--cluster", "dgx-a100", "-b", "8", "-e", "1G", "--json", "log.json"], folder)
        for check in (check_one_writer, check_inputs_stay, check_kinds, check_full_disk, check_signals, check_stopped_search, check_ignored):
            check(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
