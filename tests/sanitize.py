#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/test --sanitize [PART]: the test suites under sanitizers, in parts of at most 80 minutes on two cores.

Parts asan-1, asan-2, ... have all suites that ctest knows between them, under AddressSanitizer and UndefinedBehaviorSanitizer (preset `asan`); tsan has sweeps, searches and what else works on several threads, under ThreadSanitizer (preset `tsan`); valgrind has the
command line (preset `release`). PART is the name of one; `next` the one whose turn it is by the number of GitHub's run, elsewhere of commits;
`list` prints all, with their suites. Without it all run, one after the other. Each says its minutes. Nothing is suppressed."""
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = SOURCE / "build"
# Seconds that suites take on one core in a release build, where it is more than a moment. A suite that is not here counts as FEW.
SECONDS = {
    "study": 440, "cli_fold": 146, "cli_contract": 125, "cli_documented_commands": 120, "cli_screenshots": 120, "cli_astra_sim": 105,
    "system": 103, "cli_error_table": 100, "cli_outputs": 98, "cli_page": 83, "cli_drawings": 80, "cli_culprit": 74, "cli_width": 62,
    "cli_cases": 60, "cli_slurm": 60, "cli_resume": 53, "compare_with_dump_et": 45, "cli_time_laws": 39, "experiment_training": 38,
    "cli_launchers": 1, "fuzz_replay": 30, "collectives_slow": 27, "network": 25, "cli_explain": 21, "laws": 40, "written_traces": 38,
    "workload_files": 30, "cli_kills": 28, "reference": 27, "workload_graph": 25, "cli_critical_path": 22, "cli_memory": 20}
FEW = 12
MOST_SECONDS = 1700  # of a part; sanitized programs take some five times as long, and two cores share them
SLOWER = 5
MOST_MINUTES = 80  # of a part on two cores, its build included
HANGS = 3 * MOST_MINUTES * 60  # seconds after which a program is taken to hang
# Programs of Catch2 whose cases are dealt to several parts.
SHARDS = {"study": 3}
# Cases by the files that they are in, and suites of the command line.
TSAN_CASES = {"study": ["sweep_test", "search_test", "shared_values_test", "launch_test", "measured_test"],
              "experiment": ["job_cache_test"], "core": ["engine_test", "config_test", "files_test", "in_parallel_test"]}
TSAN_SUITES = ["cli_sweep", "cli_resume", "cli_studies", "cli_goodput"]
VALGRIND_SUITES = ["cli_cases", "cli_readers", "cli_algorithms", "cli_several_jobs", "cli_relative", "cli_sweep", "cli_goodput",
                   "cli_compare", "cli_text_workloads", "cli_models", "cli_profiles"]
VALGRIND = ["valgrind", "--quiet", "--error-exitcode=99", "--trace-children=yes", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite"]


def how_it_ended(code):
    """Words for how a program ended, by subprocess's return code: a signal that killed it is a negative number, or 128 more if a shell says it."""
    killed = -code if code < 0 else code - 128
    if killed not in set(signal.Signals):
        return f"exit code {code}"
    return f"killed by {signal.Signals(killed).name}" + (", as for want of memory" if killed == signal.SIGKILL else "")


def run(command, **more):
    """True if it ends well; says what ended how otherwise."""
    words = [str(word) for word in command]
    try:
        code = subprocess.run(words, cwd=SOURCE, timeout=HANGS, **more).returncode
    except subprocess.TimeoutExpired:
        print(f"sanitized: {' '.join(words)}: has not ended after {HANGS / 3600:.0f} hours", flush=True)
        return False
    if code != 0:
        print(f"sanitized: {' '.join(words)}: {how_it_ended(code)}", flush=True)
    return code == 0


def configure(preset):
    if not run(["cmake", "--preset", preset], stdout=subprocess.DEVNULL):
        sys.exit(f"scripts/test: cmake --preset {preset} failed")


def build(preset, *targets):
    if not run(["cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else [])], stdout=sys.stderr):
        sys.exit(f"scripts/test: the build of preset {preset} failed")


def known_suites():
    """Suites that ctest knows in the tree of preset `asan`, which is configured: {name: the command's words}."""
    shown = subprocess.run(["ctest", "--preset", "asan", "--show-only=json-v1"], cwd=SOURCE, stdout=subprocess.PIPE, check=True).stdout
    return {test["name"]: test.get("command", []) for test in json.loads(shown)["tests"]}


def asan_parts(suites):
    """Lists of (suite, shard, shards), the longest first, each to the list that has least."""
    pieces = sorted(((SECONDS.get(name, FEW) / SHARDS.get(name, 1), name, shard, SHARDS.get(name, 1))
                     for name in suites for shard in range(SHARDS.get(name, 1))), key=lambda piece: (-piece[0], piece[1:]))
    for count in range(1, len(pieces) + 1):
        parts = [[] for _ in range(count)]
        loads = [0.0] * count
        for seconds, *piece in pieces:
            least = loads.index(min(loads))
            loads[least] += seconds
            parts[least].append(tuple(piece))
        if max(loads) <= MOST_SECONDS or count == len(pieces):
            return parts, loads
    return [], []


def cases_of(program, *chosen):
    """Names of the cases of a program of Catch2."""
    listed = subprocess.run([program, "--list-test-names-only", *chosen], stdout=subprocess.PIPE, check=False).stdout.decode()
    return [line for line in listed.splitlines() if line.strip()]


def run_shard(name, shard, shards):
    """Every so manieth case of a program of Catch2."""
    program = BUILD / "asan" / "tests" / name / f"test_{name}"
    cases = cases_of(program, "~[.]")
    chosen = cases[shard::shards]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines('"' + re.sub(r'(["\\,])', r"\\\1", case) + '"\n' for case in chosen)
        file.flush()
        if sorted(cases_of(program, "--input-file", file.name)) != sorted(chosen):
            sys.exit(f"scripts/test: {program} does not take its cases by their names")
        with tempfile.TemporaryFile() as said:
            good = run([program, "--input-file", file.name], stdout=said, stderr=subprocess.STDOUT)
            said.seek(0)
            print(f"{name}, {len(chosen)} of {len(cases)} cases\n{said.read().decode(errors='replace')}", flush=True)
    return good


def run_asan(part):
    configure("asan")
    build("asan")
    cores = os.cpu_count() or 1
    whole = [name for name, _, shards in part if shards == 1]
    good = run(["ctest", "--preset", "asan", "--parallel", cores, "--tests-regex", f"^({'|'.join(whole)})$"]) if whole else True
    with concurrent.futures.ThreadPoolExecutor(max_workers=cores) as pool:
        return all(list(pool.map(lambda piece: run_shard(*piece), [piece for piece in part if piece[2] > 1]))) and good


def run_tsan(_):
    configure("tsan")
    build("tsan", "orrery", "orrery-study", *(f"test_{name}" for name in TSAN_CASES))
    # Its shadow memory has no place where the kernel moves programs about too much.
    fixed = ["setarch", os.uname().machine, "-R"]
    if subprocess.run([*fixed, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        fixed = []
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1 second_deadlock_stack=1"}
    good = [run([*fixed, BUILD / "tsan" / "tests" / name / f"test_{name}", "--filenames-as-tags", "--warn", "NoTests", f"[#{file}]"],
                env=environment) for name, files in TSAN_CASES.items() for file in files]
    return run([*fixed, "ctest", "--preset", "tsan", "--tests-regex", f"^({'|'.join(TSAN_SUITES)})$"], env=environment) and all(good)


def run_valgrind(_):
    configure("release")
    build("release", "orrery", "orrery-study")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "orrery"
        program.write_text("#!/bin/sh\nexec " + " ".join(VALGRIND) + f' -- "{BUILD}/release/orrery" "$@"\n')
        program.chmod(0o755)
        for suite in VALGRIND_SUITES:
            print(f"{suite} under valgrind", flush=True)
            test = SOURCE / "tests" / "cli" / (suite.removeprefix("cli_") + "_test.py")
            good &= run([sys.executable, test, program], env={**os.environ, "ORRERY_TEST_PATIENCE": "100", "PYTHONDONTWRITEBYTECODE": "1"})
    return good


def all_parts():
    """[(name, what it has, minutes that it may take or None, how to run it)]."""
    configure("asan")
    found = []
    parts, loads = asan_parts(known_suites())
    for number, (part, load) in enumerate(zip(parts, loads), 1):
        names = [name if shards == 1 else f"{name} ({shard + 1} of {shards})" for name, shard, shards in part]
        found.append((f"asan-{number}", ", ".join(names), load * SLOWER / 2 / 60, lambda part=part: run_asan(part)))
    found.append(("tsan", ", ".join([*(f"parts of {name}" for name in TSAN_CASES), *TSAN_SUITES]), None, lambda: run_tsan(None)))
    found.append(("valgrind", ", ".join(VALGRIND_SUITES), None, lambda: run_valgrind(None)))
    return found


def chosen(parts, wanted):
    if wanted == "next":
        counted = os.environ.get("GITHUB_RUN_NUMBER") or subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=SOURCE,
                                                                        stdout=subprocess.PIPE, check=True).stdout
        return [parts[int(counted) % len(parts)]]
    named = [part for part in parts if wanted in ("", part[0])]
    if not named:
        sys.exit(f"scripts/test: '{wanted}' is no part\n  hint: one of {', '.join(part[0] for part in parts)}, next or list")
    return named


def main(wanted=""):
    parts = all_parts()
    if wanted == "list":
        for name, what, minutes, _ in parts:
            print(f"{name}: {what}" + (f" (about {minutes:.0f} min)" if minutes else ""))
        return 0
    failed = []
    for name, what, _, go in chosen(parts, wanted):
        print(f"part {name} of {len(parts)}: {what}", flush=True)
        began = time.monotonic()
        good = go()
        minutes = (time.monotonic() - began) / 60
        print(f"part {name}: {minutes:.0f} min on {os.cpu_count()} cores, its build included", flush=True)
        if minutes > MOST_MINUTES:
            print(f"sanitized: part {name} is to take {MOST_MINUTES} min on two cores\n  hint: SECONDS of tests/sanitize.py says what suites take", flush=True)
        if not good:
            failed.append(name)
    print("sanitized: " + (f"failed in {', '.join(failed)}" if failed else "nothing found"), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
