#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""notebook_test.py PROGRAM: docs/examples/notebook.py reads every output with pandas, and shows what is there."""
import os
import subprocess
import sys

from orrery_program import PATIENCE, SOURCE, Checks, scratch_folder


def python_with_pandas():
    """An interpreter that has it; None if there is none."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import pandas"], capture_output=True).returncode == 0:
            return python
    return None


def main():
    checks = Checks()
    python = python_with_pandas()
    if python is None:
        print("SKIPPED: pandas is not installed (python3-pandas)")
        return 0
    with scratch_folder() as folder:
        done = subprocess.run([python, "-W", "error", str(SOURCE / "docs" / "examples" / "notebook.py")],
                              capture_output=True, text=True, timeout=300 * PATIENCE,
                              env={**os.environ, "ORRERY": os.path.abspath(sys.argv[1]), "TMPDIR": folder})
    checks.check(done.returncode == 0, "the example ends", done.stdout + done.stderr)
    tables = done.stdout.strip().split("\n\n")
    checks.check(len(tables) == 9, "every cell shows a table", done.stdout)
    for heading in ("compute_s", "mean_utilisation", "collective", "hgx-a800", "best_s", "memory_GiB", "0.99", "goodput",
                    "busbw_GBps"):
        checks.check(any(heading in table for table in tables), f"a table has {heading}", done.stdout)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
