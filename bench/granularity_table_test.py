#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""granularity_table_test.py PROGRAM [--update]: docs/granularity.md has the second table of `PROGRAM granularity`."""
import re
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "granularity.md"
BLOCK = re.compile(r"(?<=^```text\n)(.*?)(?=^```$)", re.M | re.S)


def main():
    printed = subprocess.run([sys.argv[1], "granularity"], capture_output=True, text=True, check=True).stdout
    start = printed.find("phase - step over step")
    if start < 0:
        print("no second table:\n" + printed)
        return 1
    table = printed[start:].rstrip() + "\n"
    text = DOCUMENT.read_text()
    if "--update" in sys.argv[2:]:
        DOCUMENT.write_text(BLOCK.sub(lambda _: table, text, count=1))
        return 0
    shown = BLOCK.search(text)
    if shown and shown.group(1) == table:
        return 0
    print(f"{DOCUMENT.name} shows another table (--update writes it):\n{table}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
