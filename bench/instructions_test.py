#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""instructions_test.py BUILD: scripts/instructions speaks of a count that has grown or fallen by more than 3 %, of no other, and counts
the same in another environment."""
import csv
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
WORKLOAD = "smallest run"
problems = []


def expect(what, condition, shown):
    if not condition:
        problems.append(f"{what}:\n{shown}")


class Script:
    def __init__(self, build, folder):
        self.build, self.counts = build, pathlib.Path(folder) / "counts.csv"
        with open(SOURCE / "bench" / "instructions" / "counts.csv", newline="", encoding="utf-8") as file:
            self.rows = list(csv.DictReader(file))

    def write(self, factor):
        """The counts of the repository, this one times a factor."""
        rows = [{**row, "instructions": round(int(row["instructions"]) * (factor if row["workload"] == WORKLOAD else 1))} for row in self.rows]
        with open(self.counts, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    def count_of(self):
        with open(self.counts, newline="", encoding="utf-8") as file:
            return next(int(row["instructions"]) for row in csv.DictReader(file) if row["workload"] == WORKLOAD)

    def run(self, *arguments, **environment):
        done = subprocess.run([SOURCE / "scripts" / "instructions", "--build", self.build, "--counts", self.counts, "--jobs", "1", *arguments],
                              capture_output=True, text=True, check=False, env={**os.environ, **environment})
        return done.returncode, done.stdout + done.stderr


def main(build):
    with tempfile.TemporaryDirectory() as folder:
        script = Script(build, folder)
        script.write(1)
        code, told = script.run("--update", WORKLOAD)
        if "nothing is compared" in told:
            expect("an update by another compiler", code == 2, told)
            print(*problems or [told.strip()], sep="\n")
            return 1 if problems else 0
        expect("an update", code == 0, told)
        first = script.count_of()
        expect("a count", first > 1_000_000, told)
        code, told = script.run("--update", WORKLOAD, LONG="x" * 10_000, HOME="/nonexistent", LC_ALL="C.UTF-8", TERM="xterm")
        second = script.count_of()
        expect("the same count in another environment", code == 0 and abs(second / first - 1) < 1e-3, f"{first}, then {second}\n{told}")
        script.rows = [{**row, "instructions": first} if row["workload"] == WORKLOAD else row for row in script.rows]
        for factor, mark, code_wanted in [(1, None, 0), (1 / 1.02, None, 0), (0.96, "MORE", 1), (1 / 0.96, "fewer", 0)]:
            script.write(factor)
            code, told = script.run(WORKLOAD)
            line = next((line for line in told.splitlines() if line.startswith(WORKLOAD)), "")
            marked = [word for word in ("MORE", "fewer") if line.endswith(word)]
            expect(f"{factor:.3f} of the count in the file", code == code_wanted and marked == ([mark] if mark else []), told)
            expect(f"{factor:.3f}: a line that says so", ("--update" in told) == bool(mark), told)
        for name in ("orrery", "orrery-study"):
            shutil.copy("/bin/true", pathlib.Path(folder) / name)
        for more, code_wanted in [([], 0), (["--update"], 2)]:
            code, told = script.run("--build", folder, *more)
            expect(f"programs of another compiler {more}", code == code_wanted and told.endswith(": nothing is compared\n"), told)
        code, told = script.run("no such workload")
        expect("an unknown workload", code == 1 and "hint: one of smallest run, " in told and "Traceback" not in told, told)
    print(*problems or ["scripts/instructions says what it should"], sep="\n")
    return 1 if problems else 0


sys.exit(main(sys.argv[1]))
