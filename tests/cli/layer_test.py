#!/usr/bin/env python3
"""layer_test.py: every #include between folders is allowed by the table of docs/architecture.md, and no file includes
itself through others."""
import re
import sys

from orrery_program import SOURCE, Checks

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


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


def includes(folders):
    """{file: the files it includes}, of this source tree, by their paths in it."""
    found = {}
    for folder in folders:
        for path in sorted((SOURCE / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                found[str(path.relative_to(SOURCE))] = INCLUDE.findall(path.read_text())
    return found


def sources_of(header):
    """Where a header comes from: itself, or what the build makes it of."""
    return [header, header + ".in", header.replace(".pb.h", ".proto")]


def cycle_in(graph):
    """The files of a cycle, the first again at the end; empty if there is none."""
    state = {}

    def visit(file, path):
        state[file] = "open"
        for other in graph.get(file, []):
            if state.get(other) == "open":
                return path[path.index(other):] + [other]
            if other in graph and other not in state and (cycle := visit(other, path + [other])):
                return cycle
        state[file] = "done"
        return []

    for file in graph:
        if file not in state and (cycle := visit(file, [file])):
            return cycle
    return []


def main():
    checks = Checks()
    allowed = allowed_edges()
    with_code = sorted({path.parts[len(SOURCE.parts)] for path in SOURCE.glob("*/*.cpp")} - {"bench", "tests"})
    checks.check(sorted(allowed) == with_code, "docs/architecture.md names the folders with code",
                 f"{sorted(allowed)}\n{with_code}")
    graph = includes(allowed)
    checks.check(sum(map(len, graph.values())) > 100, "includes are found")
    for file, included in graph.items():
        for other in included:
            folder = file.split("/")[0]
            checks.check(any((SOURCE / source).is_file() for source in sources_of(other)),
                         f"{file} includes {other}, which is not in the source tree")
            checks.check(other.split("/")[0] in allowed[folder],
                         f"{file} includes {other}, but {folder} may use only {sorted(allowed[folder])}")
    cycle = cycle_in(graph)
    checks.check(not cycle, "files include one another in a circle", " -> ".join(cycle))
    checks.check(cycle_in({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"], "a cycle would be found")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
