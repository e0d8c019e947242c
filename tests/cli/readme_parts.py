# SPDX-License-Identifier: MIT
"""What README.md shows of figures that the documents print behind a command: the picture of the step on A100 and A800,
from the output of `compare` in README.md, and the accuracy table, from the output of `validate` in docs/. So both are
as true as that output, which documented_commands_test.py compares."""
import re
from collections import Counter
from html import escape

from orrery_program import SOURCE

README = SOURCE / "README.md"
PICTURE = SOURCE / "docs" / "a100-a800.svg"
TABLE = re.compile(r"(<!-- accuracy -->\n).*?(<!-- end -->)", re.S)
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
ROW = re.compile(r"^    (\w.*?) {2,}([\d.]+) (\w+) {2,}([\d.]+) (\w+) {2,}[\d.]+$", re.M)
NAMES = re.compile(r"^  mean over ranks +(\S+) +(\S+) +ratio$", re.M)

WIDTH, LEFT, TOP, BAR, GAP, LINE = 900, 80, 28, 44, 22, 20
COLOURS = ["#4c78a8", "#e45756", "#b0b0b0", "#f2b134", "#72b7b2", "#dddddd", "#8c6bb1", "#54a24b"]


def comparison(text):
    """(names of both experiments, [(part, seconds of the first, seconds of the second)]) of what `compare` printed."""
    parts = [(name, float(a) * UNITS[a_unit], float(b) * UNITS[b_unit])
             for name, a, a_unit, b, b_unit in ROW.findall(text)]
    return NAMES.search(text).groups(), parts


def label(x, y, text, anchor="start", fill="#222"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'


def picture(text):
    """Two stacked bars, a part of the iteration each, and a legend with both times."""
    names, parts = comparison(text)
    scale = (WIDTH - LEFT - 90) / max(sum(part[run] for part in parts) for run in (1, 2))
    title = "GPT-3 175B on 128 GPUs, one training step: mean over ranks, seconds (below: A100, A800)"
    drawn = [label(LEFT, 16, title)]
    for run, name in enumerate(names):
        x, y = LEFT, TOP + run * (BAR + GAP)
        drawn.append(label(LEFT - 8, y + BAR / 2 + 5, name.rsplit("-", 1)[-1].upper(), "end"))
        for colour, part in zip(COLOURS, parts):
            width = part[1 + run] * scale
            drawn.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>')
            if width > 40:
                drawn.append(label(x + width / 2, y + BAR / 2 + 5, f"{part[1 + run]:.2f}", "middle", "#fff"))
            x += width
        total = sum(part[1 + run] for part in parts)
        drawn.append(label(x + 8, y + BAR / 2 + 5, f"{total:.2f} s"))
    for i, (colour, (name, first, second)) in enumerate(zip(COLOURS, parts)):
        x, y = LEFT + i % 2 * 400, TOP + 2 * (BAR + GAP) + 12 + i // 2 * LINE
        drawn.append(f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{colour}"/>')
        drawn.append(label(x + 18, y, f"{name}: {first:.2f}, {second:.2f}"))
    height = TOP + 2 * (BAR + GAP) + (len(parts) + 1) // 2 * LINE + 12
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            'font-family="sans-serif" font-size="14">\n<rect width="100%" height="100%" fill="#fff"/>\n'
            + "\n".join(drawn) + "\n</svg>\n")


def figures(page, pattern):
    """The groups of the pattern in a page of docs/, where sentences of answers, which are broken to fit the screen, are a
    line each: what goes on is indented by two, which no row of a table below a sentence is without a blank line before."""
    text = (SOURCE / "docs" / page).read_text()
    whole = re.sub(r"(?m)(?<=[,;:.a-z%0-9])\n  (?=[a-z0-9>])(?!.*\S {2,}\S)", " ", text)
    return re.search(pattern, whole, re.M).groups()


def collectives(start):
    """(tables, median, median from 256 MiB on) of a line of `validate nccl`, which begins like this."""
    return figures("validation.md", start + r" \((\d+)\): median of their medians ([\d.]+) %.*>= 256M: ([\d.]+)$")


def operations():
    """What the scored tables of collectives are of, by the lists of docs/validation.md, and what none of them is of."""
    page = (SOURCE / "docs" / "validation.md").read_text()
    scored = Counter(re.findall(r"^\| `[\w.]+` \| [^|]* \| [^|]* \| [^|]* \| (\w+)[^|]* \|.*\| yes \|$", page, re.M))
    known = figures("validation.md", r"^\| `op` \| (.*?) \| required")[0].replace("\\|", " ").split()
    there = ", ".join(f"{count} {operation}" for operation, count in scored.most_common())
    *missing, last = (operation for operation in known if operation not in scored)
    return (f"\nThe {scored.total()} tables of collectives: {there}. The errors for\n"
            f"{', '.join(missing)} and {last} are not known: no scored table measures them.\n")


def accuracy_table():
    families, rows, mean, median = figures(
        "training.md", r"^all families \((\d+), of (\d+) rows\): mean of their means ([\d.]+) %, "
                       r"median of their medians ([\d.]+) %$")
    products = {device: figures("compute.md", rf"^  layers-{device} +all products +(\d+) +([\d.]+)")
                for device in ("a100", "a40", "h100")}
    number_of_products = sum(int(count) for count, _ in products.values())
    by_device = ", ".join(f"{device.upper()} {error} %" for device, (_, error) in products.items())
    left_out = figures("training.md", r"^one family left out, all families \(\d+\): mean of their means ([\d.]+) %, "
                                      r"median of their medians ([\d.]+) %")
    runs = f"{rows} published runs in {families} families"
    lines = [("a training iteration, its family left out", runs, f"{left_out[1]} % (mean {left_out[0]} %)", "training"),
             ("the same, fitted to some of them", runs, f"{median} % (mean {mean} %)", "training")]
    for what, start in (("an NCCL collective, its system left out", "^one system left out"),
                        ("the same, fitted to some of them", "^all tables"),
                        ("of these, launch known", "^whose source says who launched the kernels")):
        tables, median, of_large = collectives(start)
        lines.append((what, f"{tables} tables of nccl-tests", f"{median} % (from 256 MiB: {of_large} %)", "validation"))
    lines.append(("a matrix product", f"{number_of_products} products of vLLM layers", by_device, "compute"))
    head = "| predicted time of | held against | error | page |\n|---|---|---|---|\n"
    return head + "".join(f"| {what} | {against} | {error} | [{page}](docs/{page}.md) |\n"
                          for what, against, error, page in lines) + operations()


def check_readme_parts(checks, is_update):
    text = README.read_text()
    drawn = picture(text)
    new = TABLE.sub(lambda table: table.group(1) + accuracy_table() + table.group(2), text)
    if is_update:
        PICTURE.write_text(drawn)
        README.write_text(new)
    checks.check(len(comparison(text)[1]) > 3, "README.md has the output of compare", text)
    checks.check(is_update or PICTURE.exists() and PICTURE.read_text() == drawn,
                 f"{PICTURE.relative_to(SOURCE)} is not drawn from the output in README.md (--update draws it)")
    checks.check(is_update or new == text, "README.md: accuracy is not what docs/ print (--update writes it)")
