#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""documented_commands_test.py PROGRAM [--update] [DOCUMENT...]: every command of README.md and docs/*.md, or of these
documents, runs and ends as written, and every link of these and of the folders' README.md leads to a file, and to a
heading where it names one.

Commands are the lines of fenced `sh` blocks that call `orrery` or `build/release/orrery`; others (scripts/..., git, cd)
are skipped. They run in a copy of the source tree's data, one after the other per file, so that a command may use what an
earlier one wrote. A line ends with exit code 0, or as a comment at its end says: `# exit 3`. If the block is followed by a
`text` block, that is what the block's commands print, standard output and then standard error, exactly.
A block without a language can't stand there, for nothing would compare it; nor does a command take the columns of a CSV
by their numbers, which change. The picture and the table of accuracy in README.md are made from that output (readme_parts.py),
and so are numbers in the prose that say what they come from (document_numbers.py). docs/accuracy.md is what the commands that
validate write with `--page` (accuracy_page.py).
--update writes what they print now.
"""
import re
import shlex
import shutil
import sys
from pathlib import Path

from accuracy_page import FOLDER, WROTE, AccuracyPage, check_sample_of_pages
from document_numbers import FENCE, backward_comparisons, check_numbers, numbers_in
from orrery_program import SOURCE, Checks, Program, scratch_folder
from readme_parts import check_readme_parts

COMMENT = re.compile(r"\s+#\s*(.*)$")
SECONDS_OF_MANY = 600  # many runs, on a machine that does other things, too
LINK = re.compile(r"\]\(([^()\s#]*)(?:#([^()\s]*))?\)")
PROGRESS = re.compile(r"^(\d+ of \d+ .*\b(left|so far)|.*, \d+ (s|min|h) so far)\n", re.M)  # of work of a minute and more
EXIT = re.compile(r"exit (?:code )?(\d+)")
COMMANDS = ("sh", "bash", "console")
NUMBERED_COLUMN = re.compile(r"\bawk\b.*\$[1-9].*\.csv\b|\bcut\b[^|;&]*-f *\d[^|;&]*\.csv\b")


def commands_of(block):
    """(command line, exit code) of the lines that call orrery; a backslash at the end continues a line."""
    found = []
    for line in block.replace("\\\n", " ").splitlines():
        text = COMMENT.sub("", line).strip().removeprefix("$ ")
        code = EXIT.search(COMMENT.search(line).group(1)) if COMMENT.search(line) else None
        if re.match(r"(build/release/)?orrery\b", text):
            found.append((text, int(code.group(1)) if code else 0))
    return found


def blocks_of(text):
    """(commands, the text block of what they print or None) of every sh block."""
    fences = list(FENCE.finditer(text))
    for i, fence in enumerate(fences):
        if fence.group(2) not in COMMANDS:
            continue
        follows = follower(text, fences, i)
        yield commands_of(fence.group(3)), follows if follows and follows.group(2) == "text" else None


def follower(text, fences, place):
    """The block that stands behind a block with nothing between them, or None."""
    if place + 1 == len(fences) or text[fences[place].end():fences[place + 1].start()].strip():
        return None
    return fences[place + 1]


def slips_in(text):
    """(line, what is wrong) of blocks that would drift from what the program prints without a word."""
    fences = list(FENCE.finditer(text))
    for i, fence in enumerate(fences):
        line = text.count("\n", 0, fence.start()) + 1
        follows = follower(text, fences, i)
        if fence.group(2) in COMMANDS and commands_of(fence.group(3)) and follows and not follows.group(2):
            yield line, "the block behind it has no language: `text` is what the commands print"
        for command in fence.group(3).replace("\\\n", " ").splitlines() if fence.group(2) in COMMANDS else []:
            if NUMBERED_COLUMN.search(command):
                yield line, "a column of a CSV is taken by its number; its name is in the first line"


def text_of(fence):
    return re.sub(f"^{fence.group(1)}", "", fence.group(3), flags=re.M)


def run_line(program, line, folder):
    """Runs a command line; `| ...` and redirections go through the shell."""
    words = shlex.split(line)
    if any(c in line for c in "|><;&"):
        script = re.sub(r"(^|[|;&]\s*)(build/release/)?orrery\b", lambda m: m.group(1) + shlex.quote(program.path),
                        line)
        return Program("/bin/sh").run(["-c", script], folder, seconds=SECONDS_OF_MANY)
    if words[1:2] in (["sweep"], ["validate"]):
        return program.run(words[1:], folder, seconds=SECONDS_OF_MANY)
    return program.run(words[1:], folder)


def put(text, printed):
    """The document with what is printed, by text block."""
    for fence, said in reversed(printed):
        said = re.sub(r"^(?=.)", fence.group(1), said.rstrip() + "\n", flags=re.M)
        text = text[:fence.start(3)] + said + text[fence.end(3):]
    return text


def anchors_of(text):
    """What links call the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(path, checks):
    text = FENCE.sub("", path.read_text())
    for target, anchor in LINK.findall(text):
        if re.match(r"\w+:", target):
            continue
        where = f"{path.relative_to(SOURCE)}: link to {target}#{anchor}"
        found = (path.parent / target).resolve() if target else path
        if checks.check(found.exists(), f"{where}: no such file") and anchor:
            checks.check(anchor in anchors_of(found.read_text()), f"{where}: no such heading")


def check_document(program, path, checks, is_update, accuracy):
    with scratch_folder() as folder:
        for name in ("configs", "traces", "docs"):
            shutil.copytree(SOURCE / name, Path(folder) / name)  # not a link: a command may write there
        (Path(folder) / FOLDER).mkdir()
        commands = 0
        changed = []
        text = path.read_text()
        for lines, shown in blocks_of(text):
            printed = ""
            for line, code in lines:
                commands += 1
                outcome = run_line(program, accuracy.asked(line), folder)
                said = WROTE.sub("", outcome.stdout + outcome.stderr)
                printed += PROGRESS.sub("", said)
                where = f"{path.relative_to(SOURCE)}: {line}"
                for broken in outcome.broken:
                    checks.check(False, f"{where}: {broken}", said)
                checks.check(outcome.code == code, f"{where}: exit code {code} is written, {outcome.code} came", said)
            if not lines or shown is None or printed.rstrip() == text_of(shown).rstrip():
                continue
            changed.append((shown, printed))
            checks.check(is_update, f"{path.relative_to(SOURCE)}: {lines[0][0]} prints something else", printed)
        if is_update and changed:
            path.write_text(put(text, changed))
        accuracy.take(Path(folder))
        return commands


def check_slips(path, checks):
    where, text = path.relative_to(SOURCE), path.read_text()
    for line, wrong in (*slips_in(text), *backward_comparisons(text)):
        checks.check(False, f"{where}:{line}: {wrong}")


def check_sample_of_numbers(checks):
    table = "```text\n  plan  time   ratio  a: MFU  ratio\n  t8    2.5 s  1.164  40 %    0.5\nin 20 ms\n```\n"
    for expected, prose in (("16", 'costs 16 %<!-- = cell("t8", "ratio") - 1 -->'),
                            ("0.50", '0.51<!-- = cell("t8", "ratio", 2) -->, which is wrong'),
                            ("2,480.0", '1,000.0 ms<!-- = cell("t8", "time") - find("in (.*)$") -->'),
                            ("+20", 'by +3 %<!-- = cell("t8", "a: MFU") / 2 -->'),
                            (None, '1<!-- = cell("t9", "time") -->')):
        (_, right, problem), = numbers_in(table + prose, None)
        checks.check(right == expected and (expected is None) == bool(problem), f"{prose}: {expected}", f"{right} {problem}")
    checks.check(not list(numbers_in("```text\n1<!-- = 2 -->\n```\n", None)), "blocks are left as they are")
    tall = "```text\n          dgx-h100:  dgx-\n  plan        time  h800\n  t8         2.5 s  3 s\n```\n5 s<!-- = cell(\"t8\", \"dgx-h100: time\") + 2.5 -->"
    checks.check([right for _, right, _ in numbers_in(tall, None)] == ["5"], "headings may have several lines")


def check_sample_of_slips(checks):
    def block(language, content):
        return f"```{language}\n{content}\n```\n"
    command = block("sh", "orrery list keys")
    named = block("sh", "orrery sweep s.yaml --out s && awk -F, '{c[$i] = i; print $c[\"job\"]}' s/points.csv")
    numbered = block("sh", "orrery sweep s.yaml --out s && awk -F, '{print $4}' s/points.csv")
    for text, slips in ((command + "\n" + block("text", "x"), 0), (command + "\n" + block("", "x"), 1),
                        (command + "\nOr:\n\n" + block("", "x"), 0), (named, 0), (numbered, 1),
                        (block("sh", "orrery sweep s.yaml && cut -d, -f3 points.csv"), 1)):
        found = list(slips_in(text))
        checks.check(len(found) == slips, f"{slips} slips in\n{text}", found)
    for prose, slips in (("it takes -24 %<!-- = x --> longer", 1), ("-2 % more tokens", 1), ("is -3\nms faster", 1),
                         ("-1.5 times as long, **-7 %** slower", 1), ("it takes 24 % longer", 0), ("10-20 % more", 0),
                         ("costs -24 % of it; more", 0), (block("text", "-2 % less"), 0)):
        found = list(backward_comparisons(prose))
        checks.check(len(found) == slips, f"{slips} comparisons the wrong way round in: {prose}", found)


def main():
    program = Program(sys.argv[1])
    checks = Checks()
    sample = "```sh\nscripts/build\norrery fly  # exit 2\norrery list \\\n  keys\n```\n\n```text\nx\n```\n"
    (lines, shown), = blocks_of(sample)
    checks.check(lines == [("orrery fly", 2), ("orrery list    keys", 0)] and text_of(shown) == "x\n",
                 "blocks are read as the convention says", lines)
    checks.check(put(sample, [(shown, "y\n")]) == sample.replace("x\n", "y\n"), "what is printed is put in its block")
    check_sample_of_numbers(checks)
    check_sample_of_slips(checks)
    check_sample_of_pages(checks)
    is_update = "--update" in sys.argv[2:]
    wanted = [Path(name).resolve() for name in sys.argv[2:] if name != "--update"]
    documents = wanted or [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]
    accuracy = AccuracyPage()
    commands = sum(check_document(program, path, checks, is_update, accuracy) for path in documents)
    if not wanted:
        with scratch_folder() as folder:
            accuracy.compute(program, Path(folder), checks)
    accuracy.check(checks, not wanted, is_update)
    numbers = sum(check_numbers(path, path.relative_to(SOURCE), checks, is_update) for path in documents)
    for path in (*documents, *sorted(SOURCE.glob("*/README.md"))):
        check_links(path, checks)
    for path in documents:
        check_slips(path, checks)
    check_readme_parts(checks, is_update)
    print(f"{commands} commands and {numbers} numbers in the prose of {len(documents)} documents")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
