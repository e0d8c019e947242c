#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""install_test.py PROGRAM: what is installed beside the program holds the whole command line, and runs from anywhere."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from orrery_program import Program, SOURCE, run_parts, write_files

SHELLS = ("bash", "zsh", "fish")
VERSION = re.search(r"^project\(orrery VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)


def listed(program, folder, command=()):
    """{command: its long options}, of the command and all below it, as their --help prints them."""
    text = program.run([*command, "--help"], folder).stdout
    names = re.findall(r"^  (?:-\w,)?(--[\w-]+(?:,--[\w-]+)*)", text, re.M)
    found = {command: [name for several in names for name in several.split(",")]}
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
    pages = {(): program.run(["man"], folder).stdout.replace("\\-", "-")}
    for command, options in commands.items():
        if len(command) == 1:
            pages[command] = program.run(["man", *command], folder).stdout.replace("\\-", "-")
        page = pages[command[:1]]
        if len(command) > 1:
            section = page.partition(f"\n.SS orrery {' '.join(command)}\n")[2].partition("\n.S")[0]
        else:
            section = page.partition("\n.SH OPTIONS\n")[2].partition("\n.S")[0]
        absent = [option for option in options if f"\\fB{option}\\fR" not in section]
        checks.check(not absent and (section or len(command) == 1), f"a man page has {command} with all options",
                     f"{absent}\n{section}")
    for command in commands:
        if len(command) == 1:
            checks.check(f"\\fBorrery-{command[0]}\\fR(1)" in pages[()], f"orrery(1) names the page of {command}")
    outcome = program.run(["man", "rnu"], folder)
    checks.check(outcome.code == 2 and "'run'" in outcome.stderr, "an unknown page is told, with the likely one", outcome.stderr)


def check_pages(program, checks, folder):
    """Groff and mandoc read the pages without a warning."""
    outcome = program.run(["man", "--out", "man1"], folder)
    pages = sorted((Path(folder) / "man1").glob("*.1"))
    checks.check(outcome.code == 0 and len(pages) > 12 and not outcome.stdout, "all pages are written", outcome.stderr)
    for page in pages:
        text = page.read_text()
        for heading in ("NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"):
            checks.check(f"\n.SH {heading}\n" in text, f"{page.name} has {heading}")
        checks.check(page.name == "orrery.1" or "\n.SH EXAMPLES\n" in text or "\nExamples:" in text, f"{page.name} has examples")
        for name in ("NO_COLOR", "COLUMNS", "ORRERY_CONFIGS"):
            checks.check(name in text.replace("\\", ""), f"{page.name} has {name}")
        for tool in (["groff", "-man", "-Tutf8", "-ww", "-z"], ["mandoc", "-T", "lint", "-W", "warning"]):
            if shutil.which(tool[0]):
                done = subprocess.run([*tool, str(page)], capture_output=True, text=True, timeout=20)
                checks.check(not (done.stderr + done.stdout).strip(), f"{tool[0]} reads {page.name} without a warning",
                             done.stderr + done.stdout)
    for tool in ("groff", "mandoc"):
        if not shutil.which(tool):
            print(f"SKIPPED: {tool} is not installed, and so has not read the man pages")


def completed(bash, folder, *words):
    """What bash offers for the last of the words."""
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _orrery; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, bash, *words], cwd=folder, capture_output=True, text=True, timeout=20)
    return done.stdout.split() + ([done.stderr] if done.stderr else [])


def check_names_of_files(program, checks, folder, script):
    """Names of the reader's own files are offered whole and quoted, and nothing in them is executed."""
    own = Path(folder) / "own"
    shutil.copytree(SOURCE / "configs", own)
    for name in ("$(touch executed)", "`touch executed`", "two words"):
        (own / "models" / f"{name}.yaml").write_text("")
    test = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _orrery; printf "%s\\n" "${COMPREPLY[@]}"; '
            'eval "typed=(${COMPREPLY[*]})"; printf "%s\\n" "${typed[@]}"')
    for words in (["model", "show", ""], ["run", "--set", "workload.model", "=", ""]):
        done = subprocess.run(["bash", "-c", test, script, program.path, *words], cwd=folder, capture_output=True,
                              text=True, timeout=20, env={**os.environ, "ORRERY_CONFIGS": str(own)})
        lines = done.stdout.splitlines()
        checks.check("two\\ words" in lines and "two words" in lines, f"bash quotes names of files for {words}",
                     done.stdout[:500] + done.stderr)
        checks.check("$(touch executed)" in lines and not (Path(folder) / "executed").exists(),
                     f"nothing in names of files is executed for {words}", done.stdout[:500])


def check_values(program, checks, folder):
    """TAB offers values: names of what is shipped, keys, values that a key names, and files where those are
    meant."""
    script = Path(folder) / "bash"
    script.write_text(program.run(["completion", "bash"], folder).stdout)
    (Path(folder) / "dgx-own.yaml").write_text("")
    for words, expected in ((["collective", "--cluster", "dgx-1"], ["dgx-1p", "dgx-1v"]),
                            (["collective", "--cluster=dgx-1"], ["dgx-1p", "dgx-1v"]),
                            (["collective", "--cluster", "=", "dgx-1"], ["dgx-1p", "dgx-1v"]),
                            (["cluster", "show", "dgx-1"], ["dgx-1p", "dgx-1v"]),
                            (["model", "show", "bert"], ["bert-large"]),
                            (["collective", "--algo", "bidir"], ["bidirectional-ring"]),
                            (["collective", "--algo", "ring,bidir"], ["ring,bidirectional-ring"]),
                            (["run", "--print", "mfu_"], ["mfu_all_devices"]),
                            (["sweep", "--sort", "-iteration_time_"], ["-iteration_time_s"]),
                            (["sweep", "--show", "exp"], ["exposed"]),
                            (["run", "--launcher-flags", "mega"], ["megatron", "megatron-bridge"]),
                            (["search", "--fix", "tens"], ["tensor="]),
                            (["run", "job.yaml", "--set", "workload.par"], ["workload.parallel."]),
                            (["run", "--set", "workload.parallel.tens"], ["workload.parallel.tensor="]),
                            (["run", "--set=workload.parallel.tens"], ["workload.parallel.tensor="]),
                            (["run", "--set", "cluster.dims.1.topology", "=", "sw"], ["switch"]),
                            (["run", "--set", "workload.model", "=", "bert"], ["bert-large"]),
                            (["run", "--set", "workload.recompute", "="], ["full", "none", "selective"]),
                            (["run", "--set", "no.such.key"], []),
                            (["run", "--set", "workload.batch.micro", "="], [])):
        offered = completed(str(script), folder, program.path, *words)
        checks.check(sorted(offered) == expected, f"bash completes {words}", f"{offered}\n{expected}")
    for words, files in ((["run", ""], True), (["run", "--out", ""], True), (["collective", "--cluster", "dgx-o"], True),
                         (["run", "--nodes", ""], False), (["list", ""], False), (["run", "--set", "x"], False)):
        done = subprocess.run(["bash", "-c", 'compopt() { echo "$*"; }; source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _orrery',
                               str(script), program.path, *words], cwd=folder, capture_output=True, text=True, timeout=20)
        checks.check(("-o default" in done.stdout) == files, f"bash offers files for {words}: {files}", done.stdout)
    check_names_of_files(program, checks, folder, str(script))
    check_shell_values(program, checks, folder, "fish", fish_completed)
    check_shell_values(program, checks, folder, "zsh", zsh_completed)


def check_shell_values(program, checks, folder, shell, complete):
    if not shutil.which(shell):
        print(f"SKIPPED: {shell} is not installed, and so has not completed values")
        return
    script = Path(folder) / f"orrery.{shell}"
    script.write_text(program.run(["completion", shell], folder).stdout)
    for line, expected in (("orrery collective --cluster dgx-1", {"dgx-1p", "dgx-1v"}),
                           ("orrery cluster show dgx-1", {"dgx-1p", "dgx-1v"}),
                           ("orrery run --set workload.par", {"workload.parallel."}),
                           ("orrery run --set workload.recompute=n", {"workload.recompute=none"})):
        offered = complete(program, script, folder, line)
        checks.check(expected <= offered and len(offered) < 5, f"{shell} completes '{line}'", offered)


def with_program(program):
    return {**os.environ, "PATH": f"{Path(program.path).parent}:{os.environ['PATH']}"}


def fish_completed(program, script, folder, line):
    done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], cwd=folder,
                          capture_output=True, text=True, timeout=20, env={**with_program(program), "HOME": folder})
    return {offer.split("\t")[0] for offer in done.stdout.splitlines()}


def zsh_completed(program, script, folder, line):
    """The words that compadd is called with, in a pseudo terminal of zsh's own."""
    test = f"""
zmodload zsh/zpty
zpty shell zsh -f -i
send() {{ zpty -w shell "$1" }}
send "PS1= ; autoload -Uz compinit && compinit -u -d {folder}/dump"
send "source {script}; compdef _orrery orrery"
send "compadd() {{ local -a hits; builtin compadd -O hits \"\$@\"; print -l -- \$hits >> {folder}/hits; }}"
send "zle -C offers complete-word offers_of; offers_of() {{ _main_complete; compstate[insert]=; }}; bindkey '^T' offers"
sleep 1
zpty -n -w shell "{line}"$'\\C-t'
sleep 2
zpty -d shell
"""
    hits = Path(folder) / "hits"
    hits.unlink(missing_ok=True)
    subprocess.run(["zsh", "-f", "-c", test], cwd=folder, capture_output=True, text=True, timeout=60,
                   env={**with_program(program), "HOME": folder, "TERM": "dumb"})
    return {offer for offer in hits.read_text().splitlines() if offer} if hits.exists() else set()


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
    for name in ("bin/orrery", "bin/orrery-study", "share/orrery/experiment.schema.json", "share/orrery/result.schema.json", "share/man/man1/orrery.1", "share/man/man1/orrery-run.1", "share/man/man1/orrery-sweep.1", "share/doc/orrery/LICENSE", "share/doc/orrery/docs/config.md",
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


if __name__ == "__main__":
    sys.exit(run_parts(check_version, check_written, check_pages, check_values, check_completions, check_installed,
                       apart=True))
