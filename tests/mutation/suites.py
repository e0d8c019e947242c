# SPDX-License-Identifier: MIT
"""The test suites that ctest knows in a build folder: which mutants their cases reach, and which cases a mutant fails."""
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

# Suites that test no code of the layers, that need other programs than the build's, or that tell of the files of the tree.
LEFT_OUT = re.compile(r"cli_(documented_commands|screenshots|page|drawings|pictures|notebook|slurm|install|hardening|layer|measure|kills)|"
                      r"bench_.*|sanitize_parts|mutation|compare_with_dump_et|written_traces")
MEMORY = 8 << 30
WRITTEN = 1 << 30


class Suite:
    """One test of ctest. A program of Catch2 has many cases; another suite is its one case, which has no name."""

    def __init__(self, described):
        properties = {item["name"]: item["value"] for item in described["properties"]}
        self.name = described["name"]
        self.command = described["command"]
        self.folder = properties["WORKING_DIRECTORY"]
        self.environment = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
        self.has_cases = len(self.command) == 1
        self.alone = threading.Lock()  # tests write to files of the build folder

    def cases(self):
        if not self.has_cases:
            return [""]
        listed = subprocess.run([*self.command, "--list-test-names-only", "~[.]"], stdout=subprocess.PIPE, check=False).stdout.decode()
        return [line for line in listed.splitlines() if line.strip()]

    def version(self):
        """A digest of the programs and scripts that the command names, and of what the scripts import."""
        digest = hashlib.sha256()
        for word in self.command:
            path = pathlib.Path(word)
            beside = sorted(path.parent.glob("*.py")) if path.suffix == ".py" else [path] if path.is_file() else []
            for file in beside:
                digest.update(file.read_bytes())
        return digest.hexdigest()

    def run(self, cases, seconds, **variables):
        """Seconds of the clock and the exit code, None if it took more than `seconds` of a processor or ten times that."""
        limits = ["prlimit", f"--cpu={int(seconds) + 1}:{int(seconds) + 2}", f"--as={MEMORY}", f"--fsize={WRITTEN}", "--core=0", "--"]
        with self.alone, tempfile.TemporaryDirectory() as scratch, tempfile.NamedTemporaryFile("w", suffix=".txt") as chosen:
            chosen.writelines('"' + re.sub(r'(["\\,])', r"\\\1", case) + '"\n' for case in cases)
            chosen.flush()
            more = ["--abort", "--input-file", chosen.name] if self.has_cases else []
            environment = {**os.environ, **self.environment, **variables, "TMPDIR": scratch}
            started = time.monotonic()
            process = subprocess.Popen([*limits, *self.command, *more], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                code = process.wait(10 * seconds)
            except subprocess.TimeoutExpired:
                code = -signal.SIGXCPU
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            return time.monotonic() - started, None if code == -signal.SIGXCPU else code


def suites_of(build):
    """Those whose programs are built."""
    shown = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], stdout=subprocess.PIPE, check=True).stdout
    tests = [test for test in json.loads(shown)["tests"] if "command" in test and not LEFT_OUT.fullmatch(test["name"])]
    return [Suite(test) for test in tests if all(pathlib.Path(word).exists() for word in test["command"] if word.startswith(str(build)))]


def reach(suite, known, patience):
    """{"version": ..., "cases": {case: {"seconds", "mutants" that it reaches}}}: `known` if the suite's programs are the same. Cases that
    fail without a mutant or take longer than `patience` seconds are left out, with a word."""
    version = suite.version()
    if known and known["version"] == version:
        return known
    cases = {}
    for case in suite.cases():
        with tempfile.TemporaryDirectory() as folder:
            listed = pathlib.Path(folder) / "reached"
            seconds, code = suite.run([case], patience, ORRERY_MUTANT="-1", ORRERY_MUTANTS_REACHED=str(listed))
            if code != 0:
                print(f"{suite.name} {case!r} is left out: {'too long' if code is None else f'it ends with {code}'}", flush=True)
                continue
            mutants = sorted({int(line) for line in listed.read_text().split()}) if listed.exists() else []
            cases[case] = {"seconds": round(seconds, 3), "mutants": mutants}
    return {"version": version, "cases": cases}


def chosen_cases(reached, mutant, patience, layer):
    """[(suite, cases, seconds)] of what reaches a mutant, in `patience` seconds at most: first the suites of its layer, which bear its name,
    then the quickest."""
    chosen = []
    for suite, known in reached.items():
        mine = sorted((facts["seconds"], case) for case, facts in known["cases"].items() if mutant in facts["mutants"])
        if mine:
            chosen.append((suite, mine))
    plan, left = [], patience
    for suite, mine in sorted(chosen, key=lambda item: (not item[0].startswith(layer), sum(seconds for seconds, _ in item[1]))):
        taken, spent = [], 0.0
        for seconds, case in mine:
            if seconds <= left:
                taken.append(case)
                spent += seconds
                left -= seconds
        if taken:
            plan.append((suite, taken, spent))
    return plan
