#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""replay_test.py REPLAY_FUZZ: every fuzzer over its seeds, the kept inputs of corpus/ and mutations of both, and whether each reader of
files has a fuzzer: README.md names the files of the code that read, and the fuzzers of what they read."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
LAYERS = ("core", "workload", "collectives", "network", "system", "report", "experiment", "study", "astra", "cli")
READS = re.compile(r"\b(?:read_file|read_text|beginning_of_file|ending_of_file)\(|\bfiles(?:\(\))?\.(?:load|peek)\(")
MOST_BYTES = 1 << 20  # of the corpus in all
MUTATIONS = 40


def readers():
    """Files of the code that ask core/files or core/config for what is in a file."""
    found = set()
    for layer in LAYERS:
        for path in (SOURCE / layer).rglob("*.cpp"):
            name = str(path.relative_to(SOURCE))
            lines = (line for line in path.read_text().splitlines() if not line.lstrip().startswith("//"))
            if not name.startswith("core/files/") and any(READS.search(line) for line in lines):
                found.add(name)
    return found


def problems():
    """What README.md lacks or has too much."""
    text = (HERE / "README.md").read_text()
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ") and "`fuzz_" in line]
    named = set(re.findall(r"`(\w+/[\w/]+\.cpp)`", text))
    in_table = {name for row in rows for name in re.findall(r"`(fuzz_\w+)`", row[3])}
    built = set(re.findall(r"orrery_fuzzer\(\w+/(fuzz_\w+) ", (HERE / "CMakeLists.txt").read_text()))
    kept = {path.name for path in (HERE / "corpus").iterdir()}
    size = sum(path.stat().st_size for path in (HERE / "corpus").rglob("*") if path.is_file())
    yield from (f"{name} reads files, and README.md names no fuzzer of what it reads" for name in sorted(readers() - named))
    yield from (f"README.md names {name}, which is not there" for name in sorted(named) if not (SOURCE / name).exists())
    yield from (f"{name} is built, but not in the table of README.md" for name in sorted(built - in_table))
    yield from (f"{name} is in the table of README.md, but not built" for name in sorted(in_table - built))
    yield from (f"corpus/{name} is of no fuzzer" for name in sorted(kept - built))
    if size > MOST_BYTES:
        yield f"the corpus has {size} bytes, more than {MOST_BYTES}"


def main():
    found = list(problems())
    for problem in found:
        print(problem)
    with tempfile.TemporaryDirectory() as folder:
        seeds = os.path.join(folder, "seeds")
        subprocess.run([sys.executable, str(HERE / "make_seeds.py"), seeds], check=True)
        run = subprocess.run([os.path.abspath(sys.argv[1]), "--mutate", str(MUTATIONS), seeds, str(HERE / "corpus")], cwd=folder, capture_output=True,
                             env={**os.environ, "ASAN_OPTIONS": "abort_on_error=1", "TMPDIR": folder})
        if run.returncode != 0:
            print(f"replay_fuzz ended with {run.returncode} on:", *run.stdout.decode(errors="replace").splitlines()[-1:], sep="\n")
            print(run.stderr.decode(errors="replace")[-8000:])
            for crash in sorted(pathlib.Path(folder).glob("crash-*")):
                print(f"{crash.name}: {crash.read_bytes().hex()}")
            return 1
        print(f"{len(run.stdout.splitlines())} inputs and {MUTATIONS} mutations of each")
    return 1 if found else 0


sys.exit(main())
