# SPDX-License-Identifier: MIT
"""Numbers in the prose of documents that come from the output of commands.

A comment behind a number says what it is: `costs 16 %<!-- = cell("t8 p1 d8", "ratio") - 1 --> of the time`. The comment
doesn't show; the number is computed from the `text` blocks of the document, which documented_commands_test.py compares
with what the commands print, and rounded to the decimals and the unit that are written. In an expression,

    cell(ROW, COLUMN, nth)   is the cell of a printed table in the line that begins with ROW, under the heading COLUMN;
                             nth counts headings of that name from 1 (1 where it is left out)
    find(PATTERN, nth)       is what the group of a regular expression holds, the nth time that it is found
    lines(HEADING)           is how many lines the files of code have that the document names below the heading, each once
    page(NAME)               is another document of docs/, which has the same: page("training.md").find("...")

The first two look through the block above the number, then through those further above, then through those below, and take the first
that has it. Values are in seconds, bytes, bytes per second, and shares of one in place of percents.
"""
import re

FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```\s*$", re.M | re.S)
NUMBER = re.compile(r"(?P<sign>[-+]?)(?P<digits>\d[\d,]*(?:\.\d+)?)(?: ?(?P<unit>%|[A-Za-z][\w/]*))?"
                    r"(?P<mark>\*{0,2}<!-- = (?P<expression>.*?) -->)", re.S)
VALUE = re.compile(r"([-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?: ?(%|[A-Za-z][\w/]*))?")
UNITS = {"%": 0.01, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "min": 60, "h": 3600, "days": 86400,
         **{f"{prefix}B": 1000.0**i for i, prefix in enumerate(["", "k", "M", "G", "T"])},
         **{f"{prefix}iB": 1024.0**i for i, prefix in enumerate(["K", "M", "G", "T"], 1)}}
UNITS.update({f"{name}/s": factor for name, factor in UNITS.items() if name.endswith("B")})


MARK = re.compile(r"<!--.*?-->", re.S)
BACKWARDS = re.compile(r"(?<![\w.%)])[-\u2212]\d(?:[\d,.]*\d)?(?:\s(?:%|[A-Za-z][\w/]*))?\*{0,2}\s+"
                       r"(longer|shorter|less|more|fewer|faster|slower|higher|lower)\b")


class NotFound(Exception):
    """An expression names what no block has."""


def value_of(text):
    """The number that a text begins with, in basic units."""
    found = VALUE.match(text.strip())
    if not found:
        raise NotFound(f"'{text}' is no number")
    return float(found[1].replace(",", "")) * UNITS.get(found[2], 1)


def cells_of(line):
    return [cell for cell in re.split(r" {2,}", line.strip()) if cell]


def headings_of(lines, last):
    """The headings of a table whose last line of headings this is: words of the lines above it belong to the heading
    below or above which they stand."""
    places = [(match.start(), match.end(), match.group()) for match in re.finditer(r"\S+(?: \S+)*", lines[last])]
    for line in reversed(lines[:last]):
        if not line.startswith(" ") or not line.strip():
            break
        for match in re.finditer(r"\S+(?: \S+)*", line):
            below = [i for i, (start, end, _) in enumerate(places) if start < match.end() and match.start() < end]
            if len(below) != 1:
                return [text for _, _, text in places]
            start, end, text = places[below[0]]
            joint = "" if match.group().endswith(("-", "/", "_")) else " "
            places[below[0]] = (min(start, match.start()), max(end, match.end()), match.group() + joint + text)
    return [text for _, _, text in places]


class Outputs:
    """The text blocks of a document in the order in which a number at `position` looks through them."""

    def __init__(self, text, position, folder):
        self.text = text
        blocks = [(fence.start(), fence[3]) for fence in FENCE.finditer(text) if fence[2] == "text"]
        above = [block for start, block in blocks if start < position]
        self.blocks = above[::-1] + [block for start, block in blocks if start >= position]
        self.folder = folder

    def page(self, name):
        return Outputs((self.folder / name).read_text(), 0, self.folder)

    def find(self, pattern, nth=1):
        for block in self.blocks:
            found = re.findall(pattern, block, re.M)
            if len(found) >= nth:
                return value_of(found[nth - 1])
        raise NotFound(f"no block has {pattern!r} {nth} times")

    def cell(self, row, column, nth=1):
        for block in self.blocks:
            heading = []
            lines = block.splitlines()
            for number, line in enumerate(lines):
                cells = cells_of(line)
                is_row = re.match(rf" *{re.escape(row)}(?: |$)", line)
                if is_row and heading.count(column) >= nth and len(cells) == len(heading):
                    place = [i for i, name in enumerate(heading) if name == column][nth - 1]
                    return value_of(cells[place])
                if column in headings_of(lines, number):
                    heading = headings_of(lines, number)
        raise NotFound(f"no table has a line {row!r} and {nth} columns {column!r}")

    def lines(self, heading):
        _, found, below = self.text.partition(f"\n## {heading}\n")
        files = set(re.findall(r"`([\w/]+\.(?:h|cpp))`", below.partition("\n## ")[0]))
        if not found or not files:
            raise NotFound(f"no files are named below '## {heading}'")
        return sum((self.folder.parent / file).read_text().count("\n") for file in files)


def number_as_written(match, value):
    """The value with the decimals, the unit, the sign and the commas of the number that is written."""
    decimals = len(match["digits"].partition(".")[2])
    value /= UNITS.get(match["unit"], 1)
    # '-' and nothing before a number may be a dash or a range; only '+' asks for a sign
    text = f"{value:{'+' if match['sign'] == '+' else ''}{',' if ',' in match['digits'] or abs(value) >= 10000 else ''}.{decimals}f}"
    return text.replace("-0", "0", 1) if re.fullmatch(r"-0(\.0*)?", text) else text


def numbers_in(text, folder):
    """(match, what it should be, or None, what is wrong) of every number with an expression outside of blocks."""
    fenced = [(fence.start(), fence.end()) for fence in FENCE.finditer(text)]
    for match in NUMBER.finditer(text):
        if any(start <= match.start() < end for start, end in fenced):
            continue
        outputs = Outputs(text, match.start(), folder)
        names = {"cell": outputs.cell, "find": outputs.find, "lines": outputs.lines, "page": outputs.page,
                 "abs": abs, "min": min, "max": max, "sum": sum}
        try:
            yield match, number_as_written(match, eval(match["expression"], {"__builtins__": {}}, names)), ""
        except Exception as problem:  # whatever is wrong in an expression is told with its place
            yield match, None, f"{type(problem).__name__}: {problem}"


def backward_comparisons(text):
    """(line, what is wrong) of negative numbers that are compared with a word: -24 % longer is 24 % shorter."""
    def lines_alone(match):
        return "\n" * match.group().count("\n")
    prose = MARK.sub(lines_alone, FENCE.sub(lines_alone, text))
    for match in BACKWARDS.finditer(prose):
        yield prose.count("\n", 0, match.start()) + 1, f"'{' '.join(match.group().split())}' is the wrong way round"


def check_numbers(path, where, checks, is_update):
    """Checks the numbers of a document, or writes them; returns how many there are."""
    text = path.read_text()
    found = list(numbers_in(text, path.parent if path.parent.name == "docs" else path.parent / "docs"))
    marks = len(re.findall(r"<!-- = ", FENCE.sub("", text)))
    checks.check(marks == len(found), f"{where}: {marks} expressions, {len(found)} of them behind a number")
    for match, right, problem in reversed(found):
        written = match["sign"] + match["digits"]
        line = text.count("\n", 0, match.start()) + 1
        if right is None:
            checks.check(False, f"{where}:{line}: {match['expression']}: {problem}")
        elif written != right:
            checks.check(is_update, f"{where}:{line}: {written} is written, {match['expression']} is {right}")
            text = text[:match.start()] + right + text[match.end("digits"):]
    if is_update and text != path.read_text():
        path.write_text(text)
    return len(found)
