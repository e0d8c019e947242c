#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""width_test.py PROGRAM: no answer has a line that is wider than the screen: 80 columns where standard output is no
terminal, else those of the terminal; what a table leaves out for that, it says.

A line may be wider only if it is a single word, as the path of a file, a message, which programs read, or a section of an
experiment, which is to be copied."""
import re
import shlex
import shutil
import sys
from pathlib import Path

from command_lines import TABLES, command_lines
from orrery_program import SECONDS, SOURCE, Checks, Program, Terminal, scratch_folder

LEFT_OUT = re.compile(r"left out at (\d+) columns: ")
LONGEST = 90  # a sweep of a hundred points on a machine that does other things, in seconds


MESSAGE = re.compile(r"^\S.*: (error|warning|ok)\b|^  hint: |^ *workload: \{")


def too_wide(text, columns):
    return [line for line in text.splitlines()
            if len(line) > columns and " " in line.strip() and not MESSAGE.search(line)]


def make_folder(folder):
    for name in ("configs", "traces", "docs"):
        shutil.copytree(SOURCE / name, Path(folder) / name)


def check_files(program, checks, folder):
    """Where no terminal is, whatever the variables say."""
    widest = {}
    for words in command_lines():
        outcome = program.run(words, folder, environment={"COLUMNS": "200"}, seconds=max(SECONDS, LONGEST))
        name = shlex.join(words)
        wide = too_wide(outcome.stdout, 80)
        checks.check(not wide, f"{name}: no line is wider than 80 columns", "\n".join(wide[:8]))
        checks.check(all(found == "80" for found in LEFT_OUT.findall(outcome.stdout)), f"{name}: it is laid out for 80")
        widest[name] = max(map(len, outcome.stdout.splitlines()), default=0)
    checks.check(len(widest) > 100 and sum(width > 60 for width in widest.values()) > 60, "there are tables", widest)


def check_terminals(program, checks, folder):
    left_out = {40: 0, 132: 0}
    for line in TABLES:
        for columns in left_out:
            code, text = Terminal(columns, variables={"NO_COLOR": "1"}).run([program.path, *shlex.split(line)], folder)
            wide = too_wide(text, columns)
            checks.check(code == 0 and not wide, f"{line}: no line is wider than {columns} columns of a terminal",
                         f"exit code {code}\n" + "\n".join(wide[:8]))
            left_out[columns] += len(LEFT_OUT.findall(text))
    checks.check(left_out[40] > left_out[132], "a wider terminal has more columns", left_out)


def check_columns(program, checks, folder):
    """COLUMNS goes before what a terminal says of itself, and --out keeps the same bytes for all."""
    words = [program.path, "list", "clusters"]
    wide = Terminal(80, variables={"COLUMNS": "200"}).run(words, folder)[1]
    checks.check(max(map(len, wide.splitlines())) > 120, "COLUMNS says how wide a terminal is", wide)
    for wrong in ("", "0", "x", "80x"):
        text = Terminal(100, variables={"COLUMNS": wrong}).run(words, folder)[1]
        checks.check(80 < max(map(len, text.splitlines())) <= 100, f"COLUMNS={wrong} is passed over", text)
    sweep = ["sweep", "configs/studies/smoke-sweep.yaml", "--out"]
    program.run([*sweep, "plain"], folder, seconds=LONGEST)
    Terminal(200).run([program.path, *sweep, "wide"], folder)
    texts = [(Path(folder) / name / "table.txt").read_bytes() for name in ("plain", "wide")]
    checks.check(texts[0] == texts[1] and b"\x1b" not in texts[1], "files do not depend on the terminal", texts[1])
    csv = program.run(["sweep", "configs/studies/smoke-sweep.yaml", "--format", "csv"], folder, seconds=LONGEST).stdout
    missing = re.search(r"left out at 80 columns: ([\s\S]*?);", texts[0].decode())
    names = [re.sub(r"\s*\(\d+\)$", "", name.strip()) for name in missing.group(1).split(",")] if missing else []
    checks.check(names and all(name in csv for name in names), "--format csv has the columns that are left out", csv)


def main():
    program = Program(sys.argv[1])
    checks = Checks()
    with scratch_folder() as folder:
        make_folder(folder)
        for part in (check_files, check_terminals, check_columns):
            part(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
