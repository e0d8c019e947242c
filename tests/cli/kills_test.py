#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kills_test.py PROGRAM [--long]: nothing is lost and nothing is half there, whatever command writes it.

Each command (writers.py) is killed where it is about to begin, bring to the disk, rename or remove a file: strace sends
the signal. What was there before is then there as it was, or what is new is, whole; a folder is not taken for complete
unless all of it is; nothing that is read has changed; and the same command ends as if nothing had happened. Two at
once leave the answer of one of them. An output over an input is refused. With --long it does so at every such moment of
every command, else at one or two."""
import collections
import fnmatch
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from orrery_program import PATIENCE, Checks, Program, scratch_folder
from writers import UNTRIED, copy_of, files_below, inputs, without_effort, writers

SECONDS = 120
# Calls at which what is on the disk changes. Of those that open, only what is opened to be written counts.
CALLS = ("rename", "unlink", "fsync", "mkdir", "write")
OLD = b"what was here before\n"


def partial(files):
    return [path for path in files if path.endswith(".partial")]


class Case:
    """A writer in a folder of its own: `in` is what it reads and where it runs, `out` where it writes."""

    def __init__(self, program, writer, master, top):
        self.program, self.writer, self.top = program, writer, Path(top)
        copy_of(master, self.top / "in")
        self.before = files_below(self.top / "in")
        self.command = [program.path, *writer.command("../out/"), "-q"]
        self.new = {}
        self.points = set()

    def run(self, *options):
        """With options, those of strace, under it: LeakSanitizer cannot look at a program that is traced."""
        traced = ["strace", "-f", "-qq", *options] if options else []
        unleaked = {"ASAN_OPTIONS": "detect_leaks=0"} if options else {}
        return subprocess.run([*traced, *self.command], cwd=self.top / "in", stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS * PATIENCE, env={**os.environ, **unleaked})

    def learn(self):
        """Has it write into nothing: what is new from then on."""
        self.clear()
        done = self.run()
        everything = files_below(self.top / "out")
        self.points = {path for path in everything if "/points/" in path}
        self.new = {path: data for path, data in everything.items() if path not in self.points}
        return done

    def together(self):
        """Files that belong together, the one first without which nobody takes the others for complete."""
        folders = [path for path in self.writer.paths() if path.endswith("/")]
        return [path for pattern in self.writer.together for folder in folders for path in self.new
                if fnmatch.fnmatch(path, folder + pattern) and (pattern == "*") <= (path != folder + self.writer.together[0])]

    def clear(self):
        shutil.rmtree(self.top / "out", ignore_errors=True)
        (self.top / "out").mkdir()

    def age(self):
        """Puts old files in place of the new ones."""
        self.clear()
        for path in self.new:
            file = self.top / "out" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(OLD)

    def is_new(self, path, data):
        if data == self.new.get(path):
            return True
        try:
            return path in self.new and without_effort(path, data) == without_effort(path, self.new[path])
        except ValueError:
            return False

    def is_on_the_way(self, path, data):
        """A table of points has those that are done: it grows as points end."""
        lines, all_lines = data.splitlines(), self.new.get(path, b"").splitlines()
        return path.endswith("/points.csv") and data.endswith(b"\n") and lines[:1] == all_lines[:1] and set(lines) <= set(all_lines)

    def moments(self):
        """{call: how often the thread makes it that makes it most}; of what the program writes to its own streams, too."""
        trace = self.top / "trace"
        done = self.run("-o", str(trace), "-e", f"trace={','.join(CALLS)}")
        made = collections.Counter(re.findall(r"^(\d+) +(\w+)\(", trace.read_text(errors="replace"), re.M))
        if done.returncode != 0:
            return {}
        return {call: max(count for (_, other), count in made.items() if other == call) for call in CALLS if call in {call for _, call in made}}

    def kill(self, call, number):
        """Kills it where the first of its threads makes the call the so manieth time. False if none came so far: which thread makes
        a call may differ from run to run."""
        return self.run("-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={number}").returncode == -signal.SIGKILL


def check_left(checks, case, what):
    """A folder after a kill."""
    left = files_below(case.top / "out")
    for path, data in left.items():
        if path in partial(left) or "/points/" in path:
            continue
        checks.check(data == OLD or case.is_new(path, data) or case.is_on_the_way(path, data),
                     f"{what}: {path} is the old or the new one", data[:200])
    together = case.together()
    lost = [path for path in case.new if path not in left and path not in together]
    checks.check(not lost, f"{what}: nothing is lost", lost)
    if together and together[0] in left:
        is_old = left[together[0]] == OLD
        checks.check(all(path in left and (left[path] == OLD) == is_old for path in together),
                     f"{what}: where {together[0]} is, all that belongs to it is there",
                     [(path, left.get(path, b"absent")[:30]) for path in together])
    checks.check(files_below(case.top / "in") == case.before, f"{what}: all that is read is as it was")


def check_again(checks, case, what):
    """The same command once more: all is there, and in folders nothing else."""
    done = case.run()
    left = files_below(case.top / "out")
    wrong = [path for path in case.new if path not in left or not case.is_new(path, left[path])]
    checks.check(done.returncode == 0 and not wrong, f"{what}: the same command then ends as ever", f"{wrong} {done.stderr.decode()}")
    strange = [path for path in left if path not in case.new and path not in case.points
               and not (path in partial(left) and "/" not in path)]
    checks.check(not strange, f"{what}: and leaves nothing else in its folder", strange)


def check_kills(program, checks, master, each):
    """How many there were."""
    if not shutil.which("strace"):
        print("SKIPPED: strace is not installed, and so nothing was killed at a chosen moment")
        return 0
    kills, chosen = 0, random.Random(7)
    for writer in writers():
        with scratch_folder() as top:
            case = Case(program, writer, master, top)
            done = case.learn()
            if not checks.check(done.returncode == 0 and case.new, f"{writer.name} works", done.stderr.decode()):
                continue
            case.age()
            counts = case.moments()
            if not checks.check(sum(counts.values()) >= len(writer.writes), f"strace sees what {writer.name} writes", counts):
                continue
            moments = [(call, number) for call, count in counts.items() for number in range(1, count + 1)]
            chosen.shuffle(moments)
            of_writer = 0
            for call, number in moments:
                what = f"{writer.name} killed at {call} {number} of {counts[call]}"
                case.age()
                of_writer += case.kill(call, number)
                check_left(checks, case, what)
                check_again(checks, case, what)
                if of_writer and not each:
                    break
            checks.check(of_writer, f"{writer.name} is killed at one of {len(moments)} moments", counts)
            kills += of_writer
    return kills


def check_two_writers(program, checks, master, other, each):
    """Two of each command at once, whose inputs differ."""
    chosen = writers() if each else random.Random(11).sample(writers(), 5)
    for writer in chosen:
        with scratch_folder() as top:
            first, second = Case(program, writer, master, Path(top, "a")), Case(program, writer, other, Path(top, "b"))
            for case in (first, second):
                case.learn()
                case.clear()
            # Both write to the folder of the first.
            (second.top / "out").rmdir()
            (second.top / "out").symlink_to(first.top / "out")
            running = [subprocess.Popen(case.command, cwd=case.top / "in", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE) for case in (first, second)]
            ends = [(process.communicate(timeout=SECONDS * PATIENCE)[1].decode(), process.returncode) for process in running]
            refused = [said for said, code in ends if code == 2 and "another orrery writes to this folder" in said]
            checks.check(sum(code == 0 for _, code in ends) + len(refused) == 2 and len(refused) < 2,
                         f"two of {writer.name}: one or both end well", ends)
            # The second finds its inputs from there in another place than from its own folder.
            left = {path: data.replace(b"../../b/in/", b"../in/") for path, data in files_below(first.top / "out").items()}
            # The one that is refused says so in the document that it was to write.
            strange = {path: data[:100] for path, data in left.items() if "/points/" not in path
                       and not first.is_new(path, data) and not second.is_new(path, data)
                       and not (refused and path == "x.json" and b"another orrery writes to this folder" in data)}
            checks.check(not strange and left.keys() >= first.new.keys() & second.new.keys(),
                         f"two of {writer.name}: each file is that of one of them", strange)
            inside = [path for path in left if "/" in path and "/points/" not in path]
            checks.check(any(all(case.is_new(path, left[path]) for path in inside) for case in (first, second)),
                         f"two of {writer.name}: a folder is that of one of them", inside)


def pairs():
    """(writer, option, input) of each output over each input."""
    for writer in writers():
        for option, name in writer.writes.items():
            if not name.endswith("/"):
                for path in writer.reads:
                    yield writer, option, path


def check_outputs_over_inputs(program, checks, master, each):
    all_pairs = list(pairs())
    checks.check(len(all_pairs) >= 40, "there are many pairs", len(all_pairs))
    chosen = all_pairs if each else random.Random(13).sample(all_pairs, 40)
    with scratch_folder() as top:
        folder = copy_of(master, Path(top, "in"))
        before = files_below(folder)
        for writer, option, path in chosen:
            name, equals, _ = writer.writes[option].rpartition("=")
            words = [*writer.words, option, f"{name}{equals}{path}"]
            if writer.words[0] == "workload" and option == "--json" and writer.words[1] in ("generate", "import"):
                words += ["--out", "elsewhere"]
            done = program.run(words, folder, seconds=SECONDS)
            after = files_below(folder)
            checks.check(done.code == 2 and f"{path}: error: " in done.stderr and "is read and would be written over" in done.stderr,
                         f"{writer.name} {option} {path} is refused", f"{done.code} {done.stderr}")
            checks.check(all(after.get(name) == data for name, data in before.items()),
                         f"{writer.name} {option} {path} leaves what it reads",
                         [name for name, data in before.items() if after.get(name) != data])
    return len(chosen)


def writing_options(program, folder, command=()):
    """(command, option) of all options that take a file or folder to write, as --help says."""
    text = program.run([*command, "--help"], folder).stdout
    below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
    if below:
        for name in re.findall(r"^  (\w\S*)", below.group(1), re.M):
            yield from writing_options(program, folder, (*command, name))
        return
    joined = re.sub(r"\n {20,}", "  ", text)
    for option, says in re.findall(r"^  (?:-\w,)?(--[\w-]+)(?:,--[\w-]+)* (?:FILE|DIR|PATH|NAME)\b(.*)$", joined, re.M):
        if re.search(r"\b[Ww]rite\b|\b[Dd]raw\b|NAME=FILE|Folder of rank", says):
            yield " ".join(command), option


def check_table(program, checks, folder):
    """The table has every option that writes."""
    tried = {(writer.name, option) for writer in writers() for option in writer.writes}
    tried = {(name if name.split()[0] in ("workload", "model", "cluster") else name.split()[0], option) for name, option in tried}
    tried |= {(command, "--out") for command, option in tried if option == "-o"}
    offered = set(writing_options(program, folder))
    checks.check(len(offered) > 50, "--help names what writes", offered)
    checks.check(offered - tried <= UNTRIED, "writers.py has every option that writes", sorted(offered - tried - UNTRIED))


def main():
    program, checks, each = Program(sys.argv[1]), Checks(), "--long" in sys.argv
    with scratch_folder() as folder, scratch_folder() as other:
        inputs(program, folder)
        inputs(program, other, batch=32)
        check_table(program, checks, folder)
        refused = check_outputs_over_inputs(program, checks, folder, each)
        check_two_writers(program, checks, folder, other, each)
        kills = check_kills(program, checks, folder, each)
    print(f"{kills} kills, {refused} outputs over inputs")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
