#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""determinism_test.py PROGRAM [--long] [OTHER_PROGRAM...]: the same input gives the same bytes, of all that is printed
and written. Other threads, processors, addresses, contents of fresh memory, languages, time zones, homes and folders
change nothing, and nor does another build of the same sources (scripts/determinism makes them). With --long each of them
changes by itself, else several at once.
"""
import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from broken_astra import base as astra_sim_files
from broken_astra import flags as astra_sim_flags
from orrery_program import PATIENCE, SMALL_JOB, SOURCE, Checks, scratch_folder, write_files

SECONDS = 120
NOISE = "perturb={jitter: {sigma: 1 %}}"
SWEEP = "experiment: job.yaml\nvary: [{key: workload.batch.micro, values: [1, 2]}, {key: cluster, values: [dgx-a100, hgx-a800]}]\n"
KERNELS = "m,n,k,time_us\n4096,4096,4096,600\n8192,8192,8192,4600\n8192,8192,4096,2300\n"
LAYERS = SOURCE / "docs" / "examples" / "layers.txt"
SCRIPT = SOURCE / "docs" / "examples" / "launch_scripts" / "llama3_8b_fp8.sh"
TABLE = SOURCE / "configs" / "validation" / "training" / "bert-2020.yaml"
TOPOLOGY = SOURCE / "docs" / "examples" / "machines" / "hgx-h100.xml"
INPUTS = {"job.yaml": SMALL_JOB, "sweep.yaml": SWEEP, "kernels.csv": KERNELS, "layers.txt": LAYERS.read_text(),
          "launch.sh": SCRIPT.read_text(), "table.yaml": TABLE.read_text(), "hgx.xml": TOPOLOGY.read_text(), **astra_sim_files()}
# Every way of an answer out of the program, in an order in which one writes what another reads. JOBS stands for the
# number of threads.
COMMANDS = """
run job.yaml --deterministic --json run.json --html run.html --timeline run.trace.json.gz --schedule-svg run.svg --out run --ranks all
run job.yaml --deterministic --no-fold --json unfolded.json --details --critical-path
run job.yaml --set NOISE --seeds 4 --jobs JOBS --out seeds
compare job.yaml --vs nodes=4 --json compare.json --html compare.html --svg compare.svg --vega compare.vega --out compare
sweep sweep.yaml --jobs JOBS --json sweep.json --html sweep.html --svg sweep.svg --vega sweep.vega --out sweep
search job.yaml --fix tensor=4 --fix micro=1 --jobs JOBS --json search.json --html search.html --write best.yaml --out search
explain job.yaml --jobs JOBS --json explain.json --html explain.html --out explain
goodput job.yaml --mtbf MTBF --restart 600s --checkpoint-time 30s --jobs JOBS --json goodput.json --svg goodput.svg --out goodput
collective --cluster dgx-a100 --op all_reduce -b 8 -e 1G --json log.json --html collective.html --svg collective.svg
calibrate log.json kernels.csv --cluster dgx-a100 --out cluster.yaml --software-out software.yaml --json calibrate.json
workload generate job.yaml -o traces
workload inspect traces/rank --groups traces/groups.json --json inspect.json
workload lint traces/rank --groups traces/groups.json --json lint.json
validate --training-table table.yaml --jobs JOBS --json validate.json --html validate.html
workload import layers.txt --ranks 8 -o layers
workload import launch.sh --cluster dgx-h200 --nodes 4 --out imported.yaml --details
check job.yaml sweep.yaml traces/rank.0.et --json check.json
model show llama3-8b --parallel tensor=8,data=2 --json model.json
cluster show cluster.yaml --dot
cluster import hgx.xml
list models --json models.json
man --out man
""".strip().splitlines()
VALUES = {"NOISE": NOISE, "MTBF": "50000 h"}
ADDR_NO_RANDOMIZE = 0x0040000  # of <sys/personality.h>


def commands(jobs):
    lines = [[VALUES.get(word, word) for word in line.replace("JOBS", str(jobs)).split()] for line in COMMANDS]
    return lines + [astra_sim_flags(more=["--json", "astra.json", "--timeline", "astra.trace.json"])]


def fixed_addresses():
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)


def one_processor():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def german(folder):
    """Variables of a language whose numbers have commas, or None where it cannot be made."""
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(Path(folder, "de_DE.UTF-8"))],
                          capture_output=True) if shutil.which("localedef") else None
    if made is None or not Path(folder, "de_DE.UTF-8", "LC_NUMERIC").is_file():
        return None
    variables = {"LOCPATH": folder, "LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"}
    printed = subprocess.run(["printf", "%.1f", "1,5"], env={**os.environ, **variables}, capture_output=True, text=True).stdout
    return variables if printed == "1,5" else None


class Difference:
    """A way in which one run may differ from another."""

    def __init__(self, name, jobs=2, variables=None, before=None, folder="a", program=None):
        self.name, self.jobs, self.variables, self.before = name, jobs, variables or {}, before
        self.folder, self.program = folder, program


def differences(languages, others, each_alone):
    elsewhere = {"TZ": "Asia/Kathmandu", "HOME": "/nowhere", "USER": "nobody", "TMPDIR": "/nowhere", "PWD": "/"}
    # Whatever is read before it is written has other values, and the stack begins elsewhere.
    memory = {"MALLOC_PERTURB_": "165", "PADDING": "x" * 3001}
    language = german(languages)
    if not language:
        print("SKIPPED: no localedef or no sources of locales (package locales), and so no language with decimal commas")
    far = "another folder, which has a longer name/b"
    if each_alone:
        yield Difference("nothing")
        yield Difference("one thread", jobs=1)
        yield Difference("seven threads on one processor", jobs=7, before=one_processor)
        yield Difference("fixed addresses", before=fixed_addresses)
        yield Difference("other contents of fresh memory", variables=memory)
        yield Difference("another place and time", variables=elsewhere, folder=far)
        if language:
            yield Difference("a language with decimal commas", variables=language)
    else:
        yield Difference("one thread, fixed addresses, a language with decimal commas", jobs=1, before=fixed_addresses,
                         variables=language)
        yield Difference("seven threads on one processor, other contents of fresh memory, another place and time", jobs=7,
                         before=one_processor, variables={**memory, **elsewhere}, folder=far)
    for other in others:
        yield Difference(f"the program {other}", program=other)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def answers(program, difference, top):
    """{what: digest} of all that the commands print and write."""
    folder = Path(top, difference.folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_files(folder, INPUTS)
    found = {}
    for number, words in enumerate(commands(difference.jobs)):
        done = subprocess.run([difference.program or program, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS * PATIENCE, preexec_fn=difference.before, env={**os.environ, **difference.variables})
        name = f"{number}: {' '.join(words[:2])}"
        found[f"exit code of {name}"] = done.returncode
        found[f"standard output of {name}"] = done.stdout
        found[f"standard error of {name}"] = done.stderr
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = digest(path)
    return found


def offered(program, folder, command=()):
    """All commands that --help names, with those of their own."""
    text = subprocess.run([program, *command, "--help"], cwd=folder, capture_output=True, text=True, check=True).stdout
    below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
    if not below:
        yield " ".join(command)
        return
    for name in re.findall(r"^  (\w\S*)", below.group(1), re.M):
        yield from offered(program, folder, (*command, name))


def main():
    program, checks = str(Path(sys.argv[1]).resolve()), Checks()
    others = [str(Path(other).resolve()) for other in sys.argv[2:] if other != "--long"]
    with scratch_folder() as top, scratch_folder() as languages:
        tried = {" ".join(words[:count]) for words in commands(1) for count in (1, 2)}
        untried = set(offered(program, top)) - tried
        checks.check(not untried, "all commands of --help are compared", untried)
        first = answers(program, Difference("first"), top)
        failed = {name: code for name, code in first.items() if name.startswith("exit code") and code != 0}
        checks.check(not failed, "all commands succeed", f"{failed}\n" + "\n".join(
            first[name.replace("exit code", "standard error")].decode() for name in failed))
        checks.check(len(first) > 100, "many files are compared", sorted(first))
        for difference in differences(languages, others, "--long" in sys.argv):
            found = answers(program, difference, top)
            unequal = sorted(name for name in first.keys() | found.keys() if first.get(name) != found.get(name))
            checks.check(not unequal, f"the same bytes with: {difference.name}", "\n".join(
                f"{name}\n{first.get(name)!s:.400}\n{found.get(name)!s:.400}" for name in unequal[:8]))
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
