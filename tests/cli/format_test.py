#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""format_test.py PROGRAM: --format csv, markdown and latex of the commands that print tables: the cells are those of the
text, and each format is one that its readers take."""
import csv
import io
import re
import sys

from orrery_program import SMALL_JOB, SOURCE, Checks, Program, scratch_folder, write_files

# Marks that tables have for LaTeX itself: the package that they need, and the minus of a negative number.
OWN_MARKS = re.compile(r"(?<=\}) % \\usepackage\{booktabs\}$|\$-\$(?=\d)")
SWEEP = """title: two batches & more_or_less
experiment: job.yaml
vary: [{key: workload.batch.global, values: [16, 32]}]
"""
COMMANDS = [
    ["run", "job.yaml"],
    ["compare", "job.yaml", "--vs", "cluster=hgx-a800"],
    ["sweep", "sweep.yaml"],
    ["collective", "--cluster", "dgx-a100", "--op", "all_reduce", "-b", "1M", "-e", "4M"],
    ["explain", "job.yaml"],
    ["search", "job.yaml", "--best", "2", "--fix", "tensor=4"],
    ["list", "models"],
    ["cluster", "show", "dgx-a100"],
    ["model", "show", "llama2-7b"],
    ["goodput", "job.yaml", "--mtbf", "50000 h", "--restart", "10 min", "--checkpoint-time", "30 s"],
    ["validate", "compute"],
]


def tables_of_csv(text):
    """Tables between comments and empty lines, as lists of rows."""
    blocks = re.split(r"\n(?:#[^\n]*\n|\n)+", "\n" + "\n".join(line for line in text.split("\n")) + "\n\n")
    return [[row for row in csv.reader(io.StringIO(block)) if row] for block in blocks if block.strip() and not block.lstrip().startswith("#")]


def numbers(text):
    return sorted(re.findall(r"\d+\.\d+", text))


def main():
    program, checks = Program(sys.argv[1]), Checks()
    with scratch_folder() as folder:
        write_files(folder, {"job.yaml": SMALL_JOB, "sweep.yaml": SWEEP})
        for command in COMMANDS:
            name = " ".join(command)
            plain = program.run([*command, "-q"], folder, seconds=120)
            formats = {form: program.run([*command, "-q", "--format", form], folder, seconds=120)
                       for form in ("text", "csv", "markdown", "latex")}
            checks.check(all(outcome.code == 0 for outcome in formats.values()), f"{name}: every format", plain.stderr)
            checks.check(formats["text"].stdout == plain.stdout, f"{name}: text is the default")
            tables = tables_of_csv(formats["csv"].stdout)
            checks.check(len(tables) > 0 and all(len({len(row) for row in table}) == 1 for table in tables),
                         f"{name}: rows of CSV are as long as their headings", formats["csv"].stdout[:2000])
            rows = [line for line in formats["markdown"].stdout.splitlines() if line.startswith("|")]
            widths = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
            checks.check(len(rows) >= 3 and any(re.fullmatch(r"\|(-+:?\|)+", row) for row in rows) and
                         sum(len(table) + 1 for table in tables) == len(rows) and len(widths) <= len(tables),
                         f"{name}: Markdown has the same rows", formats["markdown"].stdout[:2000])
            latex = formats["latex"].stdout
            begun, ended = latex.count("\\begin{tabular}"), latex.count("\\end{tabular}")
            bare = [line for line in latex.splitlines() if not line.startswith("%") and re.search(r"(?<!\\)[%$#_]", OWN_MARKS.sub("", line))]
            checks.check(begun == ended == len(tables) and not bare, f"{name}: LaTeX", bare[:3] or latex[:1000])
            for form in ("csv", "markdown", "latex"):
                checks.check("\x1e" not in formats[form].stdout and "\\x1e" not in formats[form].stdout, f"{name}: {form} has no marks")
        for wrong in (["run", "job.yaml", "--format", "csv", "--print", "mfu"], ["list", "schema", "--format", "latex"],
                      ["run", "job.yaml", "--format", "cvs"], ["run", "job.yaml", "--format", "csv", "--json", "-"]):
            outcome = program.run(wrong, folder)
            checks.check(outcome.code == 2 and "--format: error: " in outcome.stderr, f"{wrong} is refused", outcome.stderr)
        # An answer of sentences alone.
        for command in (["check", str(SOURCE / "configs" / "studies" / "replay-a100.yaml")], ["workload", "lint", str(SOURCE / "traces" / "all-reduce-8" / "rank")]):
            for form, mark in (("csv", "# "), ("latex", "% ")):
                outcome = program.run([*command, "--format", form], folder)
                checks.check(outcome.code == 0 and f"--format: warning: this answer has no table: all of it is comments of {form}\n" in outcome.stderr
                             and all(line.startswith(mark) for line in outcome.stdout.splitlines() if line),
                             f"{command} --format {form} says that it has no table", outcome.stdout + outcome.stderr)
        units = program.run(["sweep", "sweep.yaml", "--format", "csv", "-q"], folder).stdout
        checks.check("time (s),MFU (%)" in units and re.search(r"\n16,0\.\d+,\d+\.\d,", units),
                     "the unit of a column is in its heading, milliseconds and seconds are one", units)
        sides = program.run(["collective", "--cluster", "dgx-a100", "--cluster", "dgx-h100", "--op", "all_reduce", "-b", "1M", "-e",
                             "1M", "--format", "csv", "-q"], folder).stdout
        heading = next(csv.reader([line for line in sides.splitlines() if "busbw" in line]))
        checks.check("" not in heading and len(set(heading)) == len(heading), "headings of CSV differ", heading)
        write_files(folder, {"jobs.yaml": "cluster: dgx-a100\njobs:\n  - {name: 5 s, workload: {collective: all_reduce, size: 1 MiB, ranks: 4}}\n"
                                          "  - {name: 1 h, workload: {collective: all_reduce, size: 1 MiB, ranks: 4}}\n"})
        jobs = program.run(["run", "jobs.yaml", "--format", "csv", "-q"], folder).stdout
        checks.check("\n5 s," in jobs and "\n1 h," in jobs, "a name that looks like a quantity stays", jobs)
        program.run(["sweep", "sweep.yaml", "--format", "markdown", "-q", "--out", "out"], folder)
        checks.check("| ---" in (folder_text := open(f"{folder}/out/table.txt").read()) or "|---" in folder_text,
                     "the folder gets the same format", folder_text)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
