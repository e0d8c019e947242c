#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layer_test.py: every #include between layers is allowed by the table of docs/architecture.md, scripts/house finds no
cycle of files, rooms or folders of rooms and no crowded room, names are in the namespace of their layer, files say their
licence, paths that documents and comments name are there."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from orrery_program import SOURCE, Checks

HOUSE_SCRIPT = SOURCE / "scripts" / "house"


def load_house():
    """scripts/house as a module."""
    loader = importlib.machinery.SourceFileLoader("house", str(HOUSE_SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("house", loader))
    loader.exec_module(module)
    return module


def allowed_edges():
    """{folder: the folders it may use, itself and what those may use included}, from the table of the document."""
    text = (SOURCE / "docs" / "architecture.md").read_text()
    direct = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and re.fullmatch(r"`\w+/?`", cells[0]):
            direct[cells[0].strip("`/")] = re.findall(r"`(\w+)/?`", cells[2])
    allowed = {}
    for folder in direct:
        reached, new = set(), [folder]
        while new:
            at = new.pop()
            if at not in reached:
                reached.add(at)
                new += direct[at]
        allowed[folder] = reached
    return allowed


def sources_of(header):
    """Where a header comes from: itself, or what the build makes it of."""
    return [header, header + ".in", header.replace(".pb.h", ".proto")]


def house_of(folder, files):
    """What scripts/house says of a tree of these {path: text}."""
    for path, text in (files | {"scripts/house": HOUSE_SCRIPT.read_text()}).items():
        file = pathlib.Path(folder) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return subprocess.run([sys.executable, str(pathlib.Path(folder) / "scripts" / "house")], capture_output=True, text=True)


# Paths that stand for others, or that only other programs have.
EXAMPLES = {"configs/FOLDER", "configs/x.yaml", "traces/dp8/rank", "core/b/b.h", "core/c.h", "workload/Workload.cc",
            "study/fit/y.h", "study/check/b/z.h"}


def check_paths(checks):
    """Files and folders of the repository that Markdown names in backticks, and comments anywhere, are there."""
    listed = subprocess.run(["git", "ls-files"], cwd=SOURCE, capture_output=True, text=True, check=False).stdout.split()
    if not listed:
        return print("SKIPPED: paths in documents (no repository)")
    there = set(listed) | {str(parent) for path in listed for parent in Path(path).parents}
    tops = tuple(f"{path}/" for path in there if "/" not in path and path != ".")
    path_in = r".*?\b((?:%s)[\w./-]+)" % "|".join(map(re.escape, tops))
    in_comment = {kind: re.compile(mark + path_in) for kind, mark in ((".h", "//"), (".cpp", "//"), (".py", "#"))}
    found = 0
    for file in listed:
        kind = Path(file).suffix
        if kind not in (".md", ".h", ".cpp", ".py") or file == "CHANGELOG.md" or not (SOURCE / file).is_file():
            continue
        for number, line in enumerate((SOURCE / file).read_text(errors="replace").splitlines(), 1):
            for named in re.findall(r"`([\w./-]+)`", line) if kind == ".md" else in_comment[kind].findall(line):
                path = named.rstrip("./")
                if not path.startswith(tops) or path in EXAMPLES:
                    continue
                beside = os.path.normpath(Path(file).parent / path)
                known = {path, beside} & there or any(name.startswith(path) for name in there)
                found += 1
                checks.check(bool(known), f"{file}:{number} names {path}, which is not there")
    checks.check(found > 100, "paths are found", found)


def main():
    checks = Checks()
    check_paths(checks)
    allowed = allowed_edges()
    house = load_house()
    with_code = {path.parts[len(SOURCE.parts)] for path in SOURCE.glob("*/**/*.cpp")} - {"bench", "tests", "build"}
    checks.check(set(allowed) == with_code == set(house.LAYERS), "docs/architecture.md names the folders with code",
                 f"{sorted(allowed)}\n{sorted(with_code)}\n{house.LAYERS}")
    files = house.code_files(house.LAYERS)
    graph = {file: house.INCLUDE.findall(text) for file, text in files.items()}
    checks.check(sum(map(len, graph.values())) > 100, "includes are found")
    for file, included in graph.items():
        for other in included:
            folder = file.split("/")[0]
            checks.check(any((SOURCE / source).is_file() for source in sources_of(other)),
                         f"{file} includes {other}, which is not in the source tree")
            checks.check(other.split("/")[0] in allowed[folder],
                         f"{file} includes {other}, but {folder} may use only {sorted(allowed[folder])}")
    for file, text in files.items():
        own = "orrery" if file.startswith("core/") else "orrery::" + file.split("/")[0]
        named = house.NAMESPACE.findall(text)
        checks.check(not named or any((name + "::").startswith(own + "::") for name in named),
                     f"{file}: its names are in {named}, not in {own}")
    for file, text in (files | house.code_files(["tests", "bench"])).items():
        checks.check(text.startswith("// SPDX-License-Identifier: MIT\n"), f"{file} begins with its licence")
    outcome = subprocess.run([sys.executable, str(HOUSE_SCRIPT)], capture_output=True, text=True)
    checks.check(outcome.returncode == 0, "scripts/house finds the house in order", outcome.stdout[-400:] + outcome.stderr)
    checks.check(house.function_lengths("int a() {\n  if (x) {\n  }\n}\nstruct B {\n int c() { return '{'; }\n};\n") == [4, 1],
                 "lengths of functions are counted")
    files = {f"{layer}/x.cpp": "int x() { return 1; }\n" for layer in house.LAYERS}
    with tempfile.TemporaryDirectory() as folder:
        checks.check(house_of(folder, files).returncode == 0, "a small house is in order")
        crowd = house_of(folder, {f"core/{i}.h": "" for i in range(31)})
        checks.check(crowd.returncode == 1 and "31 files: core" in crowd.stdout, "a crowded room is found", crowd.stdout)
    with tempfile.TemporaryDirectory() as folder:
        ring = house_of(folder, files | {"core/a.h": '#include "core/b/b.h"\n', "core/b/b.h": '#include "core/c.h"\n',
                                         "core/c.h": ""})
        checks.check(ring.returncode == 1 and "files none, rooms core -> core/b -> core" in ring.stdout,
                     "a cycle of rooms is found", ring.stdout + ring.stderr)
    with tempfile.TemporaryDirectory() as folder:
        # The rooms study/fit, study/check/a and study/check/b include one another in a line; the folders in a circle.
        circle = house_of(folder, files | {"study/check/a/x.h": '#include "study/fit/y.h"\n',
                                           "study/fit/y.h": '#include "study/check/b/z.h"\n', "study/check/b/z.h": ""})
        checks.check(circle.returncode == 1 and "rooms none, second level study/check -> study/fit -> study/check" in
                     circle.stdout, "a cycle of folders that hold rooms is found", circle.stdout + circle.stderr)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
