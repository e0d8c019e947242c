#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hint_commands_test.py PROGRAM: a hint that is a command works as it is printed, once the names in capitals are filled in.

The commands of all hints in tests/cli/errors.md are run with the files of their rows: those files are wrong or too short
for an answer, but no command may lack an option. Those for sound files end with an answer."""
import gzip
import io
import re
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path

import broken_algorithms
import broken_astra
import broken_calibration
import broken_commands
import broken_configs
import broken_imports
import broken_jobs
import broken_kernels
import broken_machines
import broken_traces
from error_row import files_of
from orrery_program import PATIENCE, SMALL_JOB, SOURCE, run_parts, scratch_folder, write_files

TABLES = (broken_commands, broken_configs, broken_jobs, broken_traces, broken_imports, broken_machines, broken_algorithms, broken_astra,
          broken_kernels, broken_calibration)
EXAMPLES = SOURCE / "docs" / "examples"
TOPOLOGY = EXAMPLES / "machines" / "hgx-h100.xml"
# A command in backticks, or from its name to the first word that belongs to the sentence around it.
QUOTED = re.compile(r"`(orrery [^`]*)`")
BARE = re.compile(r"(?:^|[:;,] )(orrery [^`;,]*)")
GROUPS = ("workload", "cluster", "model", "list")
ARGUMENT = re.compile(r"^(-.*|>|[A-Z.]+|.*[./='].*)$")
LACKS = re.compile(r"is required|Run with --help|does not say|no cluster is named|is not known|cannot be read|there is no such file")
LARGE = """\
cluster: dgx-a100
nodes: 1
workload:
  model: gpt3-175b
  parallel: {data: 8}
  batch: {global: 64, micro: 1}
"""
SWEEP = "experiment: large.yaml\nvary: [{key: workload.batch.micro, values: [1]}]\n"
TITAN = "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nlocal_batch_size = 8\n"


def bare_command(text):
    """The words up to those of the sentence; a word behind an option is its value."""
    words = text.split()
    count = 3 if words[1] in GROUPS else 2
    while count < len(words) and (ARGUMENT.match(words[count]) or (words[count - 1].startswith("--") and len(words) > count)):
        count += 1
    return " ".join(words[:count])


def commands_in(said):
    """Commands with arguments in what was said."""
    hints = re.findall(r"^ +hint: (.*)$", said, re.M)
    found = [command for hint in hints for command in QUOTED.findall(hint)]
    found += [bare_command(text) for hint in hints for text in BARE.findall(QUOTED.sub("", hint))]
    # One that ends with a bare option names a kind of file, which it writes.
    return [command for command in found if len(command.split()) > (3 if command.split()[1] in GROUPS else 2) and not re.search(r" -\S+$", command)]


def filled(command):
    """The command with the names in capitals filled in."""
    for before, name in (("--cluster ", "dgx-h100"), ("cluster=", "dgx-h100"), ("--model ", "llama3-8b"), ("--device ", "h100-sxm")):
        command = command.replace(before + "NAME", before + name)
    command = command.replace("--nodes N", "--nodes 16")  # of 8 GPUs
    for word, value in (("OPERATION", "all_reduce"), ("N", "8"), ("DIR", "answer"), ("TOPOLOGY.xml", str(TOPOLOGY)), ("PROFILE...", "profile.json"),
                        ("PROFILE.json", "profile.json"), ("SWEEP.yaml", "filled.yaml"), ("EXPERIMENT", "large.yaml"), ("FILE", "train.sh"),
                        ("KEY=VALUE", "fold=off")):
        command = re.sub(rf"(?<![\w./-]){re.escape(word)}(?![\w.])", lambda _, value=value: value, command)
    return command


def run_hint(program, command, folder):
    fillings = {"profile.json": broken_imports.PROFILE, "large.yaml": LARGE, "train.sh": broken_configs.LAUNCH, "filled.yaml": SWEEP,
                "result.json": LARGE}
    write_files(folder, {name: content for name, content in fillings.items() if not (Path(folder) / name).exists()})
    line = re.sub(r"^orrery ", shlex.quote(str(program.path)) + " ", filled(command))
    return subprocess.run(["/bin/sh", "-c", line], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=60 * PATIENCE)


def check_rows(program, checks, _):
    """No command of a hint in the table of errors lacks anything."""
    rows = {row.what: row for table in TABLES for row in table.ROWS}
    document = (SOURCE / "tests" / "cli" / "errors.md").read_text()
    number = 0
    for entry in re.finditer(r"^([^\n]+): exit \d\n\n```text\n(.*?)```$", document, re.M | re.S):
        commands = commands_in(entry[2])
        row = rows.get(entry[1]) or next((rows[what] for what in rows if entry[1].startswith(what + " (`")), None)
        if not commands or row is None or "orrery search" in entry[2] or "orrery list" in "".join(commands):
            continue
        for command in commands:
            number += 1
            with scratch_folder() as folder:
                write_files(folder, files_of(row))
                outcome = run_hint(program, command, folder)
            said = outcome.stdout + outcome.stderr
            checks.check(not LACKS.search(outcome.stderr), f"{row.what}: `{command}` lacks something", said)
    checks.check(number > 20, f"{number} commands are hints")


def packed(name, content):
    """A gzipped archive of one file."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return gzip.compress(memory.getvalue(), mtime=0)


def check_answers(program, checks, folder):
    """Hints for sound files are commands that end with an answer."""
    log = program.run(["collective", "--cluster", "dgx-a100", "--op", "all_reduce", "-b", "8", "-e", "8G"], folder).stdout
    example = lambda name: (EXAMPLES / name).read_text()
    cases = {"my job.sh": example("launch_scripts/gpt3_175b.sh"), "zero3.json": example("zero3.json"), "titan.toml": example("llama3_70b.toml"),
             "model.toml": TITAN, "layers.txt": example("layers.txt"), "all-pairs.xml": example("all-pairs-8.xml"), "topology.xml": TOPOLOGY.read_text(), "nccl.txt": log, "tables/a b.yaml": SWEEP.replace("large", "../large")}
    for name, content in cases.items():
        with scratch_folder() as inner:
            write_files(inner, {name: content, "large.yaml": SMALL_JOB})
            refused = program.run(["run", name], inner)
            commands = commands_in(refused.stderr)
            if not checks.check(refused.code == 2 and commands, f"{name} is refused with a command", refused.stderr):
                continue
            outcome = run_hint(program, commands[0], inner)
            checks.check(outcome.returncode == 0, f"{name}: `{commands[0]}` gives an answer", outcome.stdout + outcome.stderr)
    with scratch_folder() as inner:
        write_files(inner, {"p.tar.gz": packed("p.json", broken_imports.PROFILE.encode()), "a.md": "# A log\n\n    algbw busbw\n"})
        refused = program.run(["run", "p.tar.gz"], inner)
        checks.check("tar -xzf p.tar.gz" in refused.stderr, "a packed archive is unpacked by tar", refused.stderr)
        refused = program.run(["run", "a.md"], inner)
        checks.check("this is a text for people" in refused.stderr, "a text for people that quotes a log is no log", refused.stderr)


def check_search(program, checks, folder):
    """The search that a job is told of that does not fit is of what the command line says."""
    write_files(folder, {"my dir/a b.yaml": LARGE})
    for options, words in ((["--nodes", "2"], ["--nodes", "2"]), (["--set", "cluster=dgx-h100"], ["--set", "cluster=dgx-h100"]),
                           (["--set", "workload.model={like: gpt3-175b}"], ["--set", "workload.model={like: gpt3-175b}"]), ([], [])):
        refused = program.run(["run", "my dir/a b.yaml", *options], folder)
        commands = [command for command in commands_in(refused.stderr) if command.startswith("orrery search")]
        expected = ["orrery", "search", "my dir/a b.yaml", *words]
        checks.check(refused.code == 5 and len(commands) == 1 and shlex.split(commands[0]) == expected, f"a search for {options}", refused.stderr)
    refused = subprocess.run([program.path, "run", "-"], cwd=folder, input=LARGE, capture_output=True, text=True, timeout=60 * PATIENCE)
    checks.check(refused.returncode == 5 and "orrery search" not in refused.stderr, "no search of standard input", refused.stderr)


if __name__ == "__main__":
    sys.exit(run_parts(check_rows, check_answers, check_search, apart=True))
