#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pictures_test.py PROGRAM [--update]: the pictures of docs/pictures are what their commands draw, which the documents
name. --update draws them."""
import shlex
import sys
from pathlib import Path

from orrery_program import SOURCE, Checks, Program, scratch_folder

PICTURES = SOURCE / "docs" / "pictures"
DOCUMENT = SOURCE / "docs" / "collectives.md"
SIZES = "-b 1K -e 1G -f 4"
TORUS = "{device: a100-sxm-80gb, dims: [{name: x, topology: torus, sizes: [4, 4, 4], bandwidth: 50 GB/s, latency: 1 us}]}"
COMMANDS = {
    "all-reduce-node.svg": f"collective --cluster dgx-a100 --nodes 1 --op all_reduce --library fixed --algo each {SIZES}",
    "all-reduce-16-nodes.svg": f"collective --cluster dgx-a100 --nodes 16 --op all_reduce --library fixed --algo each {SIZES}",
    "all-reduce-torus.svg": f"collective --cluster '{TORUS}' --op all_reduce --algo each {SIZES}",
}


def main():
    program, checks = Program(sys.argv[1]), Checks()
    update = "--update" in sys.argv[2:]
    document = DOCUMENT.read_text()
    with scratch_folder() as folder:
        for name, command in COMMANDS.items():
            outcome = program.run([*shlex.split(command), "--plot", name], folder, seconds=120)
            if not checks.check(outcome.code == 0 and not outcome.broken, f"{name} is drawn", outcome.stderr):
                continue
            drawn = (Path(folder) / name).read_bytes()
            if update:
                PICTURES.mkdir(exist_ok=True)
                (PICTURES / name).write_bytes(drawn)
            checks.check((PICTURES / name).is_file() and (PICTURES / name).read_bytes() == drawn,
                         f"docs/pictures/{name} is what the command draws", command)
            checks.check(f"pictures/{name}" in document and command in document, f"docs/collectives.md has {name}", command)
            checks.check(drawn.count(b'class="curve') >= 6 and b'class="bound"' in drawn, f"{name} has curves and a bound")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
