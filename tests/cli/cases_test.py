#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cases_test.py PROGRAM [--update]: every case of cases/*.py gives what a calculation by hand gives, and docs/cases.md
says so.

A table of the document stands between `<!-- cases: NAME -->` and `<!-- end of cases -->` and holds the cases of
cases/NAME.py. Commands run in the source tree and write nothing. --update writes the tables.
"""
import importlib
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from case import Answer, Case, EXACT, arguments_of, evaluate, read_answer
from orrery_program import SOURCE, Checks, Program

DOCUMENT = SOURCE / "docs" / "cases.md"
TABLE = re.compile(r"(<!-- cases: (\w+) -->\n).*?(<!-- end of cases -->\n)", re.S)
HEAD = "| question | command | Orrery | by hand | difference |\n|---|---|---|---|---|\n"


class Commands:
    """What commands print, each run once."""

    def __init__(self, program):
        self.program = program
        self.outcomes = {}

    def run_all(self, cases):
        lines = {tuple(arguments_of(case, line)) for case in cases for line in case.command_lines()}
        with ThreadPoolExecutor(2) as threads:
            self.outcomes = dict(zip(lines, threads.map(lambda line: self.program.run(line, SOURCE), lines)))

    def of(self, case):
        return [self.outcomes[tuple(arguments_of(case, line))] for line in case.command_lines()]


def answer_of(case, commands, checks):
    """The case's answer, or None after a failed check."""
    outcomes = commands.of(case)
    for line, outcome in zip(case.command_lines(), outcomes):
        if not checks.check(outcome.code == 0 and not outcome.broken, f"{case.question}: orrery {line}",
                            f"{outcome.broken}\n{outcome.stderr}"):
            return None
    try:
        answer = Answer(case, read_answer(case, [outcome.stdout for outcome in outcomes]), evaluate(case.hand))
    except (ValueError, LookupError, StopIteration, ArithmeticError, SyntaxError) as problem:
        checks.check(False, f"{case.question}: {case.read}", repr(problem))
        return None
    checks.check(case.tolerance == EXACT or case.why, f"{case.question}: a tolerance without a reason")
    checks.check(answer.holds(), f"{case.question}: Orrery {answer.orrery}, by hand {answer.hand}",
                 "\n".join([f"tolerance {case.tolerance} %", *case.command_lines()]))
    return answer


def cell(text):
    return text.replace("|", "\\|")


def number(value, unit):
    return f"{value:.5g} {unit}".strip()


def percent(share):
    return f"{100 * share:+.1f} %" if abs(share) >= 0.0005 else "< 0.05 %"


def row(answer):
    case = answer.case
    commands = "<br>".join(f"`orrery {line}`" for line in case.command_lines())
    difference = "none" if case.tolerance == EXACT else f"{percent(answer.difference())}: {case.why}"
    cells = [case.question, commands, number(answer.orrery, case.unit),
             f"{number(answer.hand, case.unit)} = `{case.hand}`: {case.words}", difference]
    return "| " + " | ".join(map(cell, cells)) + " |\n"


def check_reading(checks):
    """The test can fail: on a wrong number, and on what is no arithmetic."""
    case = Case("sample", "list", "{/a/x/n} * {2~n (.*)$}", "s", "2 * 3", "", EXACT)
    checks.check(read_answer(case, ['{"a": [{"class": "x", "n": 2}]}', "m 1\nn 3\n"]) == 6, "places are read")
    checks.check(Answer(case, 6, 6).holds() and not Answer(case, 6.0001, 6).holds(), "EXACT is exact")
    for wrong in ("print(1)", "a", "1 if 1 else 2"):
        try:
            evaluate(wrong)
            checks.check(False, f"{wrong} is no arithmetic")
        except ValueError:
            checks.check(True, wrong)


def main():
    program, checks = Program(sys.argv[1]), Checks()
    check_reading(checks)
    text = DOCUMENT.read_text()
    names = [name for _, name, _ in TABLE.findall(text)]
    files = sorted(path.stem for path in (Path(__file__).parent / "cases").glob("[a-z]*.py"))
    checks.check(sorted(names) == files, "docs/cases.md has a table for every file of cases", f"{names}\n{files}")
    groups = {name: importlib.import_module(f"cases.{name}").CASES for name in names}
    commands = Commands(program)
    commands.run_all([case for cases in groups.values() for case in cases])
    rows = {name: [row(answer) for case in cases if (answer := answer_of(case, commands, checks))]
            for name, cases in groups.items()}
    new = TABLE.sub(lambda table: table.group(1) + HEAD + "".join(rows[table.group(2)]) + table.group(3), text)
    print(f"{sum(map(len, groups.values()))} cases, {len(commands.outcomes)} commands")
    if "--update" in sys.argv[2:]:
        DOCUMENT.write_text(new)
    else:
        checks.check(new == text, "docs/cases.md is not what the commands give (--update writes it)")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
