#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layer_test.py: every #include between layers is allowed by the table of docs/architecture.md, scripts/house finds no
cycle of files, rooms or folders of rooms and no crowded room, names are in the namespace of their layer, files say their
licence and have nothing that clang 14 does not compile, paths that documents and comments name are there."""
import collections
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from orrery_program import SOURCE, Checks

HOUSE_SCRIPT = SOURCE / "scripts" / "house"
# Algorithms that give a std::ranges::subrange, and views: clang 14 does not compile them with the library of g++ 12.
SUBRANGE = re.compile(r"ranges::(?:unique|remove|remove_if|partition|stable_partition|rotate|search|search_n|find_end|equal_range|subrange)\b"
                      r"|\bviews::")


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


def types_of(text):
    """Types that a file defines in namespaces which have names: a program that has two of one name takes either's functions for both, and no
    compiler or linker says so."""
    text = re.sub(r"//.*", "", text)
    text = re.sub(r'R"(\w*)\((?:.|\n)*?\)\1"', '""', text)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])'", '""', text)
    around, head = [], ""  # of each open brace: the name of its namespace, None for all else
    for token in re.findall(r"[{};]|[^{};]+", text):
        if token == "{":
            words = " ".join(head.split())
            namespace = re.search(r"\bnamespace\s*([\w:]*)$", words)
            named = re.search(r"\b(?:struct|class|union|enum|enum class) (\w+)(?: final)?(?: ?:(?!:)[^()]*)?$", words)
            if named and around and all(around):
                yield "::".join([*around, named.group(1)])
            around.append(namespace.group(1) if namespace else None)
        elif token == "}" and around:
            around.pop()
        head = token if token not in "{};" else ""


def check_types(checks, files):
    places = collections.defaultdict(set)
    for file, text in files.items():
        for name in types_of(text):
            places[name].add(file)
    twice = {name: sorted(found) for name, found in places.items() if len(found) > 1}
    checks.check(len(places) > 1000 and not twice, "each type of a namespace is defined in one file", twice)
    example = "namespace a::b {\nstruct C : D<int> {\n  struct E {};\n};\nnamespace {\nclass F {};\n}\nclass C::G {};\nenum class H { kI };\n}"
    checks.check(list(types_of(example)) == ["a::b::C", "a::b::H"], "types are found", list(types_of(example)))


def main():
    checks = Checks()
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
    check_types(checks, files | house.code_files(["tests", "bench"]))
    for file, text in (files | house.code_files(["tests", "bench"])).items():
        checks.check(text.startswith("// SPDX-License-Identifier: MIT\n"), f"{file} begins with its licence")
        checks.check(not SUBRANGE.search(text), f"{file} has what clang 14 compiles", SUBRANGE.findall(text))
    checks.check(SUBRANGE.search("names.erase(std::ranges::unique(names).begin(), names.end());"), "subranges are found")
    named, missing = house.named_paths()
    checks.check(not missing, "paths that documents and comments name are there", "\n".join(missing))
    checks.check(named > 100 or not (SOURCE / ".git").exists(), "paths are found", named)
    outcome = subprocess.run([sys.executable, str(HOUSE_SCRIPT)], capture_output=True, text=True)
    checks.check(outcome.returncode == 0, "scripts/house finds the house in order", outcome.stdout[-400:] + outcome.stderr)
    checks.check(house.function_lengths("int a() {\n  if (x) {\n  }\n}\nstruct B {\n int c() { return '{'; }\n};\n") == [4, 1],
                 "lengths of functions are counted")
    files = {f"{layer}/x.cpp": "int x() { return 1; }\n" for layer in house.LAYERS}
    with tempfile.TemporaryDirectory() as folder:
        checks.check(house_of(folder, files).returncode == 0, "a small house is in order")
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        text = "`core/x.cpp`, `core/y.cpp`, [x](core/x.cpp), [z](core/zz.cpp), https://x.org/core/a.h\n"
        house_of(folder, {"a.md": text, "core/y.h": "// core/x.cpp\n// network/w.h\n"})
        subprocess.run(["git", "add", "."], cwd=folder, check=True)
        named = house_of(folder, {})
        checks.check(named.returncode == 1 and "Markdown and comments: 6, not there: a.md:1 names core/y.cpp, "
                     "a.md:1 names core/zz.cpp, core/y.h:2 names network/w.h" in named.stdout,
                     "paths that are not there are found", named.stdout[-400:])
        (Path(folder) / "a.md").unlink()
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
