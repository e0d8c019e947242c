#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutation_test.py COMPILER [--update]: the mutants of example.cpp are those of example.txt, where the rewritten file, compiled once,
tells which are reached and noticed; equivalent.txt speaks of lines that are there.

Skipped (77) where python3-clang is not installed, but for the last."""
import pathlib
import re
import subprocess
import sys
import tempfile

import equivalents
import finder
import rewriter

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
EXPECTED = HERE / "example.txt"


def stale_equivalents():
    """What equivalent.txt says of lines that the tree does not have."""
    for block in equivalents.read():
        file = SOURCE / block["path"]
        lines = [line.strip() for line in file.read_text().splitlines()] if file.is_file() else []
        original = block["mutant"].split(" -> ")[0].removesuffix("...").split(" ")[0]
        if block["line"] not in lines or original not in block["line"]:
            yield f"equivalent.txt: {block['path']} has no line '{block['line']}' with '{original}'"


def example_mutants():
    """{number: mutant} of example.cpp, main() aside."""
    found = finder.Finder(HERE, lambda path: path == "example.cpp")
    found.parse(HERE / "example.cpp", ["-std=c++20"])
    last = (HERE / "example.cpp").read_text().split("int main")[0].count("\n")
    return dict(enumerate((mutant for mutant in found.mutants() if mutant.line <= last), 1))


def outcomes(compiler, mutants):
    """{number: what becomes of the mutant}, by one program."""
    with tempfile.TemporaryDirectory() as folder:
        source, program, listed = [pathlib.Path(folder) / name for name in ("rewritten.cpp", "rewritten", "reached")]
        source.write_bytes(rewriter.rewritten((HERE / "example.cpp").read_bytes(), mutants))
        subprocess.run([compiler, "-std=c++20", "-w", "-O0", str(source), "-o", str(program)], check=True)
        unchanged = subprocess.run([program], env={"ORRERY_MUTANT": "-1", "ORRERY_MUTANTS_REACHED": str(listed)}, check=False).returncode
        reached = {int(number) for number in listed.read_text().split()}
        if unchanged != 0 or not reached <= mutants.keys():
            sys.exit(f"without a mutant it ends with {unchanged}, and reaches {sorted(reached)}")
        codes = {number: subprocess.run([program], env={"ORRERY_MUTANT": str(number)}, check=False).returncode for number in mutants}
    return {number: "not reached" if number not in reached else f"check {code}" if code else "survived" for number, code in codes.items()}


def main(compiler, *more):
    problems = list(stale_equivalents())
    print(*problems, sep="\n")
    if finder.load_clang() is None:
        print("SKIPPED: python3-clang is not installed, so nothing is known of the mutants of example.cpp")
        return 1 if problems else 77
    mutants = example_mutants()
    found = outcomes(compiler, mutants)
    shown = "".join(f"{mutant.line:2} {mutant.operator:10} {found[number]:11} {mutant.short()}".rstrip() + "\n"
                    for number, mutant in mutants.items())
    if "--update" in more:
        EXPECTED.write_text(shown)
    elif shown != EXPECTED.read_text():
        problems.append("")
        print(f"the mutants of example.cpp are\n{shown}and example.txt says\n{EXPECTED.read_text()}")
    lines = {text.count(b"\n") for text in [(HERE / "example.cpp").read_bytes(),
                                            rewriter.rewritten((HERE / "example.cpp").read_bytes(), mutants)]}
    if len(lines) != 1:
        problems.append("")
        print(f"the rewritten file has other lines: {lines}")
    if not re.search(r"survived", shown):
        problems.append("")
    print(f"{len(mutants)} mutants")
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
