#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""terminal_test.py PROGRAM: colours where a terminal is and nobody minds, nowhere else; --watch draws a sweep as its
points come, its own or those of other programs."""
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from orrery_program import PATIENCE, SMALL_JOB, Terminal, run_parts, write_files

BOLD, RED, GREEN, YELLOW, DIM = ("\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m")
DRAWN_AGAIN = re.compile(r"\x1b\[(\d+)A\r\x1b\[J")
SWEEP = """
experiment: job.yaml
vary:
  - {key: workload.batch.micro, values: [1, 2, 4]}
  - {key: workload.recompute, values: [none, full]}
"""


def plain(text):
    return re.sub(r"\x1b\[\d*[mAJ]", "", text)


def check_colours(program, checks, folder):
    write_files(folder, {"job.yaml": SMALL_JOB, "wrong.yaml": SMALL_JOB.replace("model:", "modle:")})
    run = [program.path, "run", "job.yaml"]
    text = Terminal().run(run, folder)[1]
    checks.check(text.startswith(BOLD + "iteration time "), "the answer is bold on a terminal", repr(text[:80]))
    piped = program.run(["run", "job.yaml"], folder).stdout
    checks.check(plain(text) == piped, "and the same but for that elsewhere", plain(text))
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}, {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}):
        text = Terminal(variables=variables).run(run, folder)[1]
        checks.check(text == piped, f"no colours with {variables}", repr(text[:80]))
    outcome = subprocess.run(run, cwd=folder, capture_output=True, text=True, env={**os.environ, "CLICOLOR_FORCE": "1"})
    checks.check(outcome.stdout.startswith(BOLD), "CLICOLOR_FORCE colours what is no terminal", outcome.stdout[:80])
    text = Terminal(variables={"NO_COLOR": ""}).run([*run, "--out", "out"], folder)[1]
    checks.check(BOLD in text and "\x1b" not in (Path(folder) / "out" / "summary.txt").read_text(),
                 "files have no colours")
    text = Terminal().run([*run, "--json", "-"], folder)[1]
    checks.check("\x1b" not in text, "JSON has no colours", repr(text[:80]))
    text = Terminal().run([program.path, "run", "wrong.yaml"], folder, errors=None)[1]
    checks.check(f"{RED}error\x1b[0m: " in text and f"{DIM}  hint: " in text, "errors are red, hints dim", repr(text))
    job = SMALL_JOB.replace("nodes: 2", "nodes: 4")
    write_files(folder, {"larger.yaml": job})
    text = Terminal().run([program.path, "run", "larger.yaml"], folder, errors=None)[1]
    if "warning: " in plain(text):
        checks.check(f"{YELLOW}warning\x1b[0m: " in text, "warnings are yellow", repr(text))
    text = Terminal().run([program.path, "compare", "job.yaml", "--vs", "workload.batch.micro=2"], folder)[1]
    words = re.findall(r"\x1b\[3[12]m(slower|faster)\x1b\[0m", text)
    checks.check(words, "slower and faster have their colours in a comparison", repr(text))


def check_watch(program, checks, folder):
    write_files(folder, {"job.yaml": SMALL_JOB, "sweep.yaml": SWEEP})
    usual = program.run(["sweep", "sweep.yaml"], folder)
    watch = [program.path, "sweep", "sweep.yaml", "--watch"]
    code, text = Terminal(lines=40, variables={"NO_COLOR": "1"}).run(watch, folder)
    checks.check(code == usual.code and text.endswith(usual.stdout), "--watch ends with the answer", text)
    drawn = DRAWN_AGAIN.findall(text)
    checks.check(drawn and all(int(lines) < 40 for lines in drawn), "and draws before", repr(text[:400]))
    outcome = program.run(["sweep", "sweep.yaml", "--watch"], folder)
    checks.check(outcome.code == 2 and "standard output is none" in outcome.stderr and "hint: " in outcome.stderr,
                 "without a terminal it is refused with a hint", outcome.stderr)
    outcome = program.run(["sweep", "sweep.yaml", "--watch", "--shard", "1/2", "--out", "x"], folder)
    checks.check(outcome.code == 2 and "--watch" in outcome.stderr, "a shard has nothing to draw", outcome.stderr)


def check_following(program, checks, folder):
    """Another program that simulates in two parts, and one that watches its folder."""
    write_files(folder, {"job.yaml": SMALL_JOB, "sweep.yaml": SWEEP})
    usual = program.run(["sweep", "sweep.yaml"], folder)
    follow = [program.path, "sweep", "sweep.yaml", "--out", "shared", "--merge", "--watch"]
    outcome = Terminal().run(follow, folder, errors=None)
    checks.check(outcome[0] == 2 and "no results of shards" in outcome[1], "there is nothing to watch yet", outcome[1])
    first = program.run(["sweep", "sweep.yaml", "--out", "shared", "--shard", "1/2"], folder)
    checks.check(first.code == 0, "the first part is simulated", first.stderr)
    process, own = Terminal(lines=40, variables={"NO_COLOR": "1"}).start(follow, folder, subprocess.DEVNULL)
    time.sleep(1.5 * PATIENCE)
    checks.check(process.poll() is None, "it waits for the second")
    second = program.run(["sweep", "sweep.yaml", "--out", "shared", "--shard", "2/2"], folder)
    text = Terminal.read(own)
    checks.check(process.wait(timeout=20 * PATIENCE) == usual.code and text.endswith(usual.stdout),
                 "it ends with the answer", text + second.stderr)
    frames = DRAWN_AGAIN.split(text)
    checks.check(any("..." in frame for frame in frames), "points without an answer are dots until then", repr(text))
    left = {path.name for path in (Path(folder) / "shared").iterdir()}
    checks.check(left == {"points"}, "it writes nothing to the folder", left)


if __name__ == "__main__":
    sys.exit(run_parts(check_colours, check_watch, check_following, apart=True))
