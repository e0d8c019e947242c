#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""model_shapes_test.py PROGRAM: models of 2024 to 2026 have the number of parameters that is published, within 0.1 %, or are
refused by the name of the part that is missing."""
import json
import sys

from model_shapes import BESIDE, COMMON, REFUSED, SHAPES
from orrery_program import run_parts

TOLERANCE = 1e-3


def digits_left_out(number):
    """Half of the last digit of a number as a card has it: 0.5e9 of 316e9."""
    text = f"{number:.0f}"
    return 10 ** (len(text) - len(text.rstrip("0"))) / 2 if isinstance(number, float) else 0


def check_shapes(program, checks, folder):
    for name, (config, parameters) in SHAPES.items():
        (folder / "config.json").write_text(json.dumps(config, indent=1))
        done = program.run(["model", "show", "config.json", "--json", "-"], folder)
        if not checks.check(done.code == 0 and not done.broken, f"{name}: is understood", done.stderr):
            continue
        checks.check("unknown architecture" not in done.stderr or name == "Grok-2", f"{name}: is known", done.stderr)
        found = json.loads(done.stdout)["parameters"]
        far = abs(found - parameters)
        checks.check(far <= max(TOLERANCE * parameters, digits_left_out(parameters)), f"{name}: its parameters",
                     f"{found}, published {parameters}: {found / parameters - 1:+.2e}")


def check_other_names(program, checks, folder):
    """A shape is what its keys say, whatever its name."""
    for name in ("Llama 3.1 8B", "Qwen3 235B-A22B", "DeepSeek-V3", "Mixtral 8x7B", "Granite 4.0 H Tiny", "GLM-4.6"):
        counts = []
        for model_type in (SHAPES[name][0]["model_type"], "a_new_name"):
            config = {**SHAPES[name][0], "model_type": model_type}
            (folder / "config.json").write_text(json.dumps(config))
            done = program.run(["model", "show", "config.json", "--json", "-"], folder)
            counts.append(json.loads(done.stdout)["parameters"] if done.code == 0 else done.stderr)
        # Norms of queries and keys of Qwen3 are in its name alone.
        checks.check(counts[0] == counts[1] or abs(counts[0] / counts[1] - 1) < 1e-6, f"{name} by another name", counts)


def check_whole_files(program, checks, folder):
    """Keys that change nothing, change nothing."""
    for name, beside in BESIDE.items():
        counts = []
        for config in (SHAPES[name][0], {**COMMON, **SHAPES[name][0], **beside}):
            (folder / "config.json").write_text(json.dumps(config, indent=1))
            done = program.run(["model", "show", "config.json", "--json", "-"], folder)
            counts.append(json.loads(done.stdout)["parameters"] if done.code == 0 else done.stderr)
        checks.check(counts[0] == counts[1], f"{name}: all keys of its file", counts)


def check_refused(program, checks, folder):
    for name, (config, message) in REFUSED.items():
        (folder / "config.json").write_text(json.dumps(config, indent=1))
        done = program.run(["model", "show", "config.json"], folder)
        checks.check(done.code == 2 and not done.broken and message in done.stderr, f"{name}: {message}",
                     done.stderr or done.stdout)
        key = message.split("'")[1]
        line = json.dumps(config, indent=1).split("\n").index(next(
            text for text in json.dumps(config, indent=1).split("\n") if f'"{key}"' in text)) + 1
        checks.check(f"config.json:{line}:" in done.stderr, f"{name}: names the line {line}", done.stderr)


if __name__ == "__main__":
    sys.exit(run_parts(check_shapes, check_other_names, check_whole_files, check_refused))
