#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""install_test.py PROGRAM: what is installed beside the program holds the whole command line, and runs from anywhere."""
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from orrery_program import SOURCE, Checks, Program, scratch_folder, write_files

SHELLS = ("bash", "zsh", "fish")
VERSION = re.search(r"^project\(orrery VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)


def listed(program, folder, command=()):
    """{command: its long options}, of the command and all below it, as their --help prints them."""
    text = program.run([*command, "--help"], folder).stdout
    found = {command: re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M)}
    below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
    for name in re.findall(r"^  (\w\S*)", below.group(1), re.M) if below else []:
        found.update(listed(program, folder, (*command, name)))
    return found


def check_version(program, checks, folder):
    text = program.run(["--version"], folder).stdout
    commit = r" \(commit [0-9a-f]{12}(-dirty)?\)" if (SOURCE / ".git").exists() and shutil.which("git") else ""
    checks.check(re.fullmatch(rf"orrery {re.escape(VERSION)}{commit}\n", text), "--version names version and commit", text)
    checks.check(f"\n## {VERSION}\n" in (SOURCE / "CHANGELOG.md").read_text(), "CHANGELOG.md has this version")
    checks.check(f"\nversion: {VERSION}\n" in (SOURCE / "CITATION.cff").read_text(), "CITATION.cff has this version")


def check_written(program, checks, folder):
    commands = listed(program, folder)
    checks.check(len(commands) > 12 and ("workload", "import") in commands, "commands are found", commands.keys())
    checks.check(sum(map(len, commands.values())) > 60, "options are found", commands)
    page = program.run(["man"], folder).stdout.replace("\\-", "-")
    for command, options in commands.items():
        if command:
            section = page.partition(f"\n.SS orrery {' '.join(command)}\n")[2].partition("\n.S")[0]
        else:
            section = page.partition("\n.SH OPTIONS\n")[2].partition("\n.S")[0]
        absent = [option for option in options if f"\\fB{option}\\fR" not in section]
        checks.check(section and not absent, f"the man page has {command} with all options", f"{absent}\n{section}")


def completed(bash, folder, *words):
    """What bash offers for the last of the words."""
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _orrery; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, bash, *words], cwd=folder, capture_output=True, text=True, timeout=20)
    return done.stdout.split() + ([done.stderr] if done.stderr else [])


def check_completions(program, checks, folder):
    texts = {}
    for shell in SHELLS:
        outcome = program.run(["completion", shell], folder)
        checks.check(outcome.code == 0 and not outcome.broken, f"the completion for {shell} is printed", outcome.stderr)
        texts[shell] = outcome.stdout
        path = Path(folder) / shell
        path.write_text(outcome.stdout)
        if shutil.which(shell):
            done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, timeout=20)
            checks.check(done.returncode == 0, f"{shell} reads its completion", done.stderr)
    script = str(Path(folder) / "bash")
    for command, options in listed(program, folder).items():
        place = " ".join(("orrery", *command))
        offered = completed(script, folder, "orrery", *command, "--")
        checks.check(set(options) == set(offered), f"bash completes the options of '{place}'", f"{offered}\n{options}")
        zsh = texts["zsh"].partition(f"\n    ('{place}')\n")[2].partition(" ;;\n")[0]
        fish = [line for line in texts["fish"].splitlines() if f"test (__orrery_place) = '{place}'\"" in line]
        for option in options:
            checks.check(re.search(rf"[)*]{option}[=\[]", zsh), f"zsh completes {option} of '{place}'", zsh)
            checks.check(any(f" -l {option[2:]} " in line for line in fish), f"fish completes {option} of '{place}'")
        if command:
            before, name = command[:-1], command[-1]
            checks.check(name in completed(script, folder, "orrery", *before, name[:2]), f"bash completes '{place}'")
            line = f"test (__orrery_place) = '{' '.join(('orrery', *before))}'\" -a {name} "
            checks.check(line in texts["fish"], f"fish completes '{place}'")
    for words in (["--dependencies", "d"], ["--dependencies", "=", "d"]):
        offered = completed(script, folder, "orrery", "-v", "workload", "inspect", *words)
        checks.check(offered == ["data"], "bash completes the values of an option", f"{words}: {offered}")
    offered = completed(script, folder, "orrery", "list", "dev")
    checks.check(offered == ["devices"], "bash completes what can be listed", offered)


def check_installed(program, checks, folder):
    prefix = Path(folder) / "a prefix"
    done = subprocess.run(["cmake", "--install", str(Path(program.path).parent), "--prefix", str(prefix)],
                          capture_output=True, text=True, timeout=60)
    checks.check(done.returncode == 0, "it installs", done.stdout[-500:] + done.stderr)
    for name in ("bin/orrery", "bin/orrery-study", "share/orrery/experiment.schema.json", "share/orrery/result.schema.json", "share/man/man1/orrery.1", "share/doc/orrery/LICENSE", "share/doc/orrery/docs/config.md",
                 "share/bash-completion/completions/orrery", "share/zsh/site-functions/_orrery",
                 "share/fish/vendor_completions.d/orrery.fish"):
        path = prefix / name
        checks.check(path.is_file() and path.stat().st_size > 500, f"{name} is installed")
    moved = Path(folder) / "moved"
    prefix.rename(moved)
    installed = Program(moved / "bin" / "orrery")
    study = moved / "share" / "orrery" / "configs" / "studies" / "replay-a100.yaml"
    outcomes = [each.run(["run", str(study), "--json", "-", "--deterministic"], folder) for each in (installed, program)]
    # They name the study by where each finds it.
    answers = [{key: value for key, value in json.loads(outcome.stdout or "{}").items() if key != "provenance"}
               for outcome in outcomes]
    checks.check(outcomes[0].code == 0 and answers[0] == answers[1] and len(answers[0]) > 5,
                 "the installed program runs an installed study from elsewhere", outcomes[0].stderr)
    device = (SOURCE / "configs" / "devices" / "a100-sxm-80gb.yaml").read_text()
    write_files(folder, {"own/devices/only-one.yaml": device})
    names = installed.run(["list", "devices"], folder, environment={"ORRERY_CONFIGS": "own"}).stdout
    checks.check("only-one" in names and "h100-sxm" not in names, "ORRERY_CONFIGS names other configurations", names)
    (moved / "share").rename(moved / "gone")
    outcome = installed.run(["list", "devices"], folder)
    checks.check(outcome.code == 2 and "finds no configurations" in outcome.stderr and "ORRERY_CONFIGS" in outcome.stderr,
                 "without configurations there is one clear error", outcome.stderr)


def main():
    program = Program(sys.argv[1])
    checks = Checks()
    for part in (check_version, check_written, check_completions, check_installed):
        with scratch_folder() as folder:
            part(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
