# SPDX-License-Identifier: MIT
"""Mutants that no test can notice, with the reason, from equivalent.txt: blocks of three parts, set apart by blank lines.

    PATH: ORIGINAL -> MUTATED
    in: THE LINE OF THE FILE
    why: the reason, on as many lines as it takes"""
import pathlib
import re

FILE = pathlib.Path(__file__).resolve().parent / "equivalent.txt"
BLOCK = re.compile(r"(?P<path>\S+?): (?P<mutant>.+ ->.*)\nin: (?P<line>.+)\nwhy: (?P<why>.+)", re.S)


def read(file=FILE):
    """[{"path", "mutant", "line", "why"}]"""
    blocks = [block.strip() for block in re.split(r"\n\s*\n", file.read_text()) if block.strip() and not block.startswith("#")]
    matched = [BLOCK.fullmatch(block) for block in blocks]
    if None in matched:
        raise ValueError(f"{file}: not three parts: {blocks[matched.index(None)]}")
    return [match.groupdict() for match in matched]


def reason(explained, mutant, line):
    """Why this mutant is the program itself; empty where nothing says so. `line` is that of the file, without its indentation."""
    wanted = (mutant.path, mutant.short().strip(), line)
    return next((block["why"] for block in explained if (block["path"], block["mutant"].strip(), block["line"]) == wanted), "")
