#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nccl_tables_test.py PROGRAM [--update]: docs/nccl.md has the tables of `PROGRAM nccl`, each behind its name."""
import re
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "nccl.md"
PRINTED = re.compile(r"^== (.*)\n((?:(?!== ).*\n)*)", re.M)


def block_of(name):
    """What stands in the text block behind the mark of a table."""
    return re.compile(rf"(?<=<!-- orrery_bench nccl: {re.escape(name)} -->\n```text\n)(.*?)(?=^```$)", re.M | re.S)


def main():
    printed = subprocess.run([sys.argv[1], "nccl"], capture_output=True, text=True, check=True).stdout
    tables = {name: table.rstrip() + "\n" for name, table in PRINTED.findall(printed)}
    text = DOCUMENT.read_text()
    marks = re.findall(r"<!-- orrery_bench nccl: (.*) -->", text)
    if not tables or sorted(marks) != sorted(tables):
        print(f"{DOCUMENT.name} has the tables {marks}, printed are {sorted(tables)}")
        return 1
    if "--update" in sys.argv[2:]:
        for name, table in tables.items():
            text = block_of(name).sub(lambda _, table=table: table, text, count=1)
        DOCUMENT.write_text(text)
        return 0
    wrong = [name for name, table in tables.items() if [table] != block_of(name).findall(text)]
    for name in wrong:
        print(f"{DOCUMENT.name} shows another table '{name}' (--update writes it):\n{tables[name]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
