#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""measure_test.py PROGRAM: scripts/measure on a GPU whose rates are known (fake_torch.py) times them, skips what an
older PyTorch lacks and says so, keeps to its budget, writes what there is when it is interrupted; and `calibrate` finds
the rates again in what it wrote."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import types
from pathlib import Path

import fake_torch
from orrery_program import SOURCE, Checks, Program, scratch_folder


def measure(torch, folder, *arguments, environment=None):
    """Exit code, document, standard output and error of scripts/measure with this `torch`; None: not installed."""
    loader = importlib.machinery.SourceFileLoader("measure", str(SOURCE / "scripts" / "measure"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    if torch is not None:
        module.time = types.SimpleNamespace(perf_counter=torch.clock.now)
    sys.modules["torch"] = torch
    path = Path(folder) / "measured.json"
    path.unlink(missing_ok=True)
    out, err = io.StringIO(), io.StringIO()
    before = dict(os.environ)
    os.environ.update(environment or {})
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = module.main(["--out", str(path), *arguments])
    finally:
        os.environ.clear()
        os.environ.update(before)
        del sys.modules["torch"]
    return code, json.loads(path.read_text()) if path.exists() else None, out.getvalue(), err.getvalue()


def near(value, wanted, share=0.02):
    return abs(value / wanted - 1) < share


def check_whole(checks, folder):
    torch = fake_torch.FakeTorch()
    code, document, out, _ = measure(torch, folder)
    checks.check(code == 0 and document["schema"] == "orrery.measurement/1", "it ends well", out)
    checks.check(document["device"]["name"] == "NVIDIA H100 80GB HBM3", "the device's name")
    checks.check(document["software"]["nccl"] == "2.27.3", "the version of NCCL")
    checks.check(not document["skipped"], "nothing is skipped", str(document["skipped"]))
    kernels = document["kernels"]
    checks.check({kernel["kind"] for kernel in kernels} == {"product", "attention", "grouped", "memory"},
                 "all kinds are timed")
    checks.check({kernel["precision"] for kernel in kernels if kernel["kind"] == "product"} ==
                 {"bf16", "fp8", "fp16", "tf32", "fp32"}, "all formats are timed")
    for kernel in kernels:
        if kernel["kind"] == "product" and not kernel.get("beside_copy"):
            wanted = fake_torch.product_seconds(
                kernel["precision"], kernel["stage"], (kernel["m"], kernel["n"], kernel["k"]),
                4 if kernel.get("accumulates") or kernel["precision"] in ("fp32", "tf32") else 2,
                kernel.get("accumulates", False))
            checks.check(near(kernel["seconds"], wanted), "a product takes its time", f"{kernel}, not {wanted}")
        if kernel["kind"] == "attention":
            shape = kernel["batch"], kernel["heads"], kernel["sequence"], kernel["head_size"]
            wanted = fake_torch.attention_seconds(shape, kernel["causal"], kernel["stage"] == "backward")
            checks.check(near(kernel["seconds"], wanted), "attention takes its time", f"{kernel}, not {wanted}")
    launch = {entry["graph"]: entry["seconds"] for entry in document["host"]}
    checks.check(near(launch[False], fake_torch.HOST_LAUNCH), "a launch of the host", str(launch))
    checks.check(near(launch[True], fake_torch.GRAPH_KERNEL, 0.1), "a kernel of a graph", str(launch))
    alone = {(k["m"], k["n"], k["k"]): k["seconds"] for k in kernels
             if k["kind"] == "product" and (k["precision"], k["stage"]) == ("bf16", "forward") and "copy" not in k}
    beside = [k["seconds"] / alone[k["m"], k["n"], k["k"]] for k in kernels if k.get("beside_copy")]
    checks.check(len(beside) == 4 and all(near(ratio, fake_torch.BESIDE_COPY, 0.05) for ratio in beside),
                 "products beside copies", str(beside))
    checks.check(torch.clock.host < 180, "it takes three minutes at most", f"{torch.clock.host:.0f} s")
    return document


def check_older(checks, folder):
    lacks = ("_scaled_mm", "_grouped_mm", "addmm")
    code, document, out, _ = measure(fake_torch.FakeTorch(lacks), folder)
    reasons = " ".join(f"{entry['what']}: {entry['reason']}" for entry in document["skipped"])
    checks.check(code == 0, "an older PyTorch is timed", out)
    for words in ("has no torch._scaled_mm", "a loop of 8 products", "without adding up: addmm() got an unexpected"):
        checks.check(words in reasons, f"it says '{words}'", reasons)
    checks.check("skipped: grouped products" in out, "and prints it", out)
    checks.check(not any(kernel.get("accumulates") for kernel in document["kernels"]), "no sums are claimed")


def check_limits(checks, folder):
    code, document, _, _ = measure(fake_torch.FakeTorch(), folder, "--only", "products", "--budget", "2")
    checks.check(code == 0 and 0 < len(document["kernels"]) < 60, "a short budget times little",
                 str(len(document["kernels"])))
    checks.check(any("--budget" in entry["reason"] for entry in document["skipped"]), "and says that time was over",
                 str(document["skipped"]))
    torch = fake_torch.FakeTorch()
    code, document, _, _ = measure(torch, folder, "--quick")
    checks.check(code == 0 and torch.clock.host < 40, "--quick is quick", f"{torch.clock.host:.0f} s")
    torch = fake_torch.FakeTorch()
    torch.clock.interrupt_after = 5000
    code, document, _, _ = measure(torch, folder)
    checks.check(code == 130 and document["kernels"], "an interrupted one keeps what it has")
    checks.check(document["note"].startswith("interrupted"), "and says so", str(document.get("note")))


def check_without(checks, folder):
    code, document, _, err = measure(None, folder)
    checks.check(code == 2 and document is None and "PyTorch is not installed" in err, "without PyTorch", err)
    code, document, _, err = measure(fake_torch.FakeTorch(gpu=False), folder)
    checks.check(code == 2 and "neither TPUs nor CPUs" in err and "docs/calibrate-kernels.md" in err,
                 "without a GPU", err)


def check_collectives(checks, folder):
    ranks = {"WORLD_SIZE": "8", "RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "8"}
    code, document, out, _ = measure(fake_torch.FakeTorch(), folder, environment=ranks)
    checks.check(code == 0 and "66 collectives" in out, "collectives of a node", out)
    for entry in document["collectives"]:
        wanted = 20e-6 + entry["bytes"] / 300e9
        checks.check(entry["ranks"] == 8 and entry["nodes"] == 1 and near(entry["seconds"], wanted, 0.05),
                     "a collective takes its time", f"{entry}, not {wanted}")
    code, _, _, err = measure(fake_torch.FakeTorch(), folder, "--only", "memory", environment=ranks)
    checks.check(code == 2 and "--only is of kernels" in err, "kernels under torchrun", err)


def check_calibration(program, checks, folder, document):
    (Path(folder) / "measurement.json").write_text(json.dumps(document, indent=1))
    done = program.run(["calibrate", "measurement.json", "--cluster", "dgx-h100", "--json", "-"], folder)
    if not checks.check(done.code == 0 and not done.broken, "calibrate reads it", done.stdout + done.stderr):
        return
    result = json.loads(done.stdout)
    fitted = {constant["constant"].rsplit(".", 1)[-1]: constant for constant in result["fitted"]}
    for key, value in fake_torch.TRUTH.items():
        checks.check(key in fitted and near(fitted[key]["after_value"], value, 0.03), f"calibrate finds {key}",
                     f"{fitted.get(key)}, not {value}; left: {result['unfitted']}")
    errors = sorted(abs(row["after_s"] / row["measured_s"] - 1) for row in result["rows"])
    checks.check(errors[len(errors) // 2] < 0.01, "and predicts the kernels", str(errors[len(errors) // 2]))


def main():
    program, checks = Program(sys.argv[1]), Checks()
    with scratch_folder() as folder:
        document = check_whole(checks, folder)
        check_older(checks, folder)
        check_limits(checks, folder)
        check_without(checks, folder)
        check_collectives(checks, folder)
        check_calibration(program, checks, folder, document)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
