#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""launchers_test.py PROGRAM: jobs as files of launchers and back: `--launcher-flags` of run, search and model show,
`workload import` of what they write, and the runs of what comes of it."""
import json
import sys
from pathlib import Path

from orrery_program import SOURCE, Checks, Program, scratch_folder, write_files

JOB = """\
cluster: dgx-h100
nodes: 1
workload:
  model: {like: llama3-8b, layers: 32, sequence: 4096}
  parallel: {data: 8, zero: 3}
  batch: {global: 32, micro: 2}
  recompute: full
"""
SMALL = """\
cluster: dgx-h100
nodes: 1
workload:
  model: llama3-debug
  parallel: {data: 8, zero: 3}
  batch: {global: 64, micro: 2}
  software: torchtitan-2025
"""


def read_json(outcome):
    return json.loads(outcome.stdout) if outcome.code == 0 else {}


def check_round_trip(program, checks, folder):
    """What run writes, import reads; both experiments take the same time to the picosecond."""
    for launcher, file, software, model in (("torchtitan", "job.toml", "torchtitan-2025", []),
                                            ("deepspeed", "ds.json", "deepspeed-2023", ["--model", "llama3-8b"]),
                                            ("fsdp", "trainer.json", "fsdp-2023", ["--model", "llama3-8b"])):
        write_files(folder, {"job.yaml": JOB})
        software = ["--set", f"workload.software={software}"]
        run = program.run(["run", "job.yaml", *software, "--launcher-flags", f"{launcher}={file}", "--json", "-"], folder)
        document = read_json(run)
        checks.check(run.code == 0, f"run writes arguments of {launcher}", run.stderr)
        text = (folder / file).read_text() if (folder / file).exists() else ""
        checks.check(document.get("launcher", {}).get("text") == text != "", f"{launcher}: the document has the file", text)
        checks.check(document.get("launcher", {}).get("unsaid") == [], f"{launcher}: nothing is left unsaid",
                     document.get("launcher"))
        sequence = [] if launcher == "torchtitan" else ["--set", "workload.model.sequence=4096"]
        imported = program.run(["workload", "import", file, *model, *sequence, "--cluster", "dgx-h100", "--nodes", "1",
                                "-o", "again.yaml"], folder)
        checks.check(imported.code == 0, f"import reads what run wrote for {launcher}", imported.stderr)
        again = read_json(program.run(["run", "again.yaml", "--json", "-"], folder))
        times = again.get("iteration_time_s"), document.get("iteration_time_s")
        checks.check(None not in times and times[0] == times[1], f"{launcher}: the same time", times)


def check_search(program, checks, folder):
    write_files(folder, {"job.yaml": SMALL})
    search = program.run(["search", "job.yaml", "--fix", "tensor=1", "--fix", "context=1", "--fix", "pipeline=1",
                          "--launcher-flags", "torchtitan"], folder)
    checks.check(search.code == 0 and "[parallelism]\n" in search.stdout, "search gives the best plan's arguments",
                 search.stdout + search.stderr)
    checks.check('flavor = "debugmodel"\n' in search.stdout, "of the model", search.stdout)


def check_model(program, checks, folder):
    show = program.run(["model", "show", "llama3-8b", "--parallel", "tensor=2,data=4,sequence=true", "--launcher-flags",
                        "megatron"], folder)
    checks.check(show.code == 0 and "--tensor-model-parallel-size 2" in show.stdout, "model show gives a plan's arguments",
                 show.stdout + show.stderr)


def check_examples(program, checks, folder):
    examples = SOURCE / "docs" / "examples"
    for arguments in (["llama3_70b.toml", "--nodes", "16"], ["zero3.json", "--nodes", "2", "--model", "llama3-8b"]):
        imported = program.run(["workload", "import", str(examples / arguments[0]), *arguments[1:], "--cluster", "dgx-h100",
                                "--details", "--json", "import.json", "-o", "example.yaml"], folder)
        checks.check(imported.code == 0, f"import of {arguments[0]}", imported.stderr)
        document = json.loads((folder / "import.json").read_text()) if imported.code == 0 else {}
        checks.check(document.get("counts", {}).get("unknown") == 0, f"{arguments[0]}: nothing is unknown", document)
        check = program.run(["check", "example.yaml"], folder)
        checks.check(check.code == 0, f"what comes of {arguments[0]} is sound", check.stdout + check.stderr)


def main():
    program, checks = Program(sys.argv[1]), Checks()
    for check in (check_round_trip, check_search, check_model, check_examples):
        with scratch_folder() as folder:
            check(program, checks, Path(folder))
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
