#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""error_table_test.py PROGRAM [--update]: broken inputs end with the right exit code and message.

Every row of the tables broken_*.py is run. What the program says is also written down in
tests/cli/errors.md; the test fails when that file is out of date, --update writes it anew.
"""
import json
import sys

import broken_algorithms
import broken_astra
import broken_calibration
import broken_commands
import broken_configs
import broken_imports
import broken_jobs
import broken_kernels
import broken_machines
import broken_traces
from error_row import files_of
from orrery_program import SOURCE, Checks, Program, scratch_folder, write_files

DOCUMENT = SOURCE / "tests" / "cli" / "errors.md"
INTRODUCTION = """\
# Errors

Written by `tests/cli/error_table_test.py PROGRAM --update`, which runs every line below: what is wrong, the exit code,
and what Orrery says about it. Where nothing else is said, the command is `orrery run job.yaml`, with a sound job of two
ranks (`rank.0.et`, `rank.1.et`) but for what is wrong.

Exit codes: 2 wrong input, 3 the files are right, but the ranks disagree or wait for ever, 5 the job does not fit the
devices' memory.
"""


def printable(argument):
    return argument.replace("\033", "\\x1B") or "''"


def check_row(program, row, checks):
    """Runs a row and returns its lines of the document."""
    with scratch_folder() as folder:
        write_files(folder, files_of(row))
        outcome = program.run(row.arguments, folder)
    said = outcome.stdout if row.answers else outcome.stderr
    details = f"orrery {' '.join(row.arguments)}\nexit code {outcome.code}\n{said}"
    for broken in outcome.broken:
        checks.check(False, f"{row.what}: {broken}", details)
    checks.check(outcome.code == row.code, f"{row.what}: exit code {row.code} is expected", details)
    on_one_line = " ".join(said.split())  # reports break their lines after 80 columns
    for text in row.message:
        checks.check(text in said or text in on_one_line, f"{row.what}: no '{text}' in the message", details)
    if "--json" in row.arguments and row.arguments[-1] == "-":
        told = json.loads(outcome.stdout)["error"]
        checks.check(told["exit_code"] == row.code and told["message"] in said, f"{row.what}: the error as JSON", outcome.stdout)
    elif not row.answers:
        checks.check(not outcome.stdout, f"{row.what}: standard output is not empty", outcome.stdout)
    usual = row.arguments == ["run", "job.yaml"]
    shown = "" if usual else f" (`{' '.join(['orrery', *map(printable, row.arguments)])}`)"
    said = said.replace(str(SOURCE) + "/", "").rstrip("\n")
    return f"{row.what}{shown}: exit {row.code}\n\n```text\n{said}\n```\n"


def main():
    program = Program(sys.argv[1])
    checks = Checks()
    text = INTRODUCTION
    rows = 0
    names = set()
    for table in (broken_commands, broken_configs, broken_jobs, broken_traces, broken_imports, broken_machines, broken_algorithms, broken_astra,
                  broken_kernels, broken_calibration):
        text += f"\n## {table.TITLE}\n"
        for row in table.ROWS:
            rows += 1
            checks.check(row.what not in names, f"two rows are called '{row.what}'")
            checks.check(bool(row.message), f"{row.what}: nothing is expected of the message")
            names.add(row.what)
            text += "\n" + check_row(program, row, checks)
    if "--update" in sys.argv[2:]:
        DOCUMENT.write_text(text)
    written = DOCUMENT.read_text() if DOCUMENT.exists() else ""
    checks.check(written == text, "tests/cli/errors.md is out of date; --update writes it anew")
    print(f"{rows} rows")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
