#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""screenshots_test.py PROGRAM [--update] [--keep FOLDER]: every kind of page, on a telephone and on a screen, light and
dark, looks as its reference in tests/cli/screenshots does. References are the parts of a page (a heading, a chart, a
table), one below the other, an eighth as large; a part has as many rows and shapes as there, may be a little higher or
lower, and differ by what other fonts make of it, not by more. The browser says besides whether texts can be read,
stand apart, and fit, and whether tables show all of their rows. --update writes the references anew, --keep the whole screenshots."""
import base64
import json
import shutil
import sys
from pathlib import Path

import chromium
from orrery_program import SMALL_JOB, SOURCE, STUDIES, Checks, Program, scratch_folder, write_files
from pages import PAGES, write_log

LOOKS = (Path(__file__).parent / "looks.js").read_text()
REFERENCES = Path(__file__).parent / "screenshots"
WIDTHS = (420, 1400)
# The most that means of squares of 32 by 32 pixels may be off, of 255. The same fonts: up to 4, others: up to 9 in
# drawings and 35 in texts. Another colour of curves: from 18 on; of bars, a missing card, the wrong theme: from 48 on.
MOST_OFF = {True: 14, False: 40}  # by whether the part is drawn
TALLER = 0.1  # share of its height, or a line of text, by which a part may be higher or lower
LINE = 24     # pixels
LARGEST = 600_000  # bytes, of all references
# Fonts that Debian's fontconfig brings, so that texts take the same room on other machines.
FONTS = """const sheet = new CSSStyleSheet();
sheet.replaceSync('* { font-family: "DejaVu Sans", "Liberation Sans" !important }');
document.adoptedStyleSheets = [sheet];"""

RUNS = {
    "run-1f1b.html": ["run", STUDIES / "pipeline-4-stages.yaml"],
    "run-dualpipe.html": ["run", STUDIES / "pipeline-4-stages.yaml", "--set", "workload.schedule.kind=dualpipe"],
    "run-two-jobs.html": ["run", STUDIES / "two-jobs.yaml"],
}


def picture_url(data, kind):
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def look(browser, checks, path, width, dark):
    """Opens a page and asks how it looks. Its parts, and a screenshot."""
    what = f"{path.stem}, {width} pixels, {'dark' if dark else 'light'}"
    browser.open(path.as_uri(), dark, width)
    browser.value(LOOKS + ";page.ready")
    browser.resize(width, browser.value("document.documentElement.scrollHeight"))  # so that all of it is in sight
    browser.value("new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))")
    for asked in ("width", "texts", "contrast", "tables"):
        complaints = browser.value(f"looks.{asked}()")
        checks.check(not complaints, f"{what}: {asked}", "; ".join(complaints[:4]))
    checks.check(not browser.problems, f"{what}: no error", browser.problems)
    return what, browser.value("looks.parts()"), browser.picture()


def compare(comparer, checks, what, parts, picture, name, reference):
    heights = reference["heights"]
    if not checks.check(len(parts) == len(heights), f"{what}: it has as many parts", f"{len(parts)}, not {len(heights)}"):
        return
    for part, height, holds in zip(parts, heights, reference["holds"]):
        checks.check(part["holds"] == holds, f"{what}: {part['name']} has all its rows and shapes",
                     f"{part['holds']}, not {holds}")
        room = max(LINE, TALLER * 8 * height)
        checks.check(abs(part["height"] - 8 * height) <= room, f"{what}: {part['name']} is as high",
                     f"{part['height']} pixels, not {8 * height}")
    old = (REFERENCES / f"{name}.webp").read_bytes()
    off = comparer.value(f"differences({json.dumps(picture_url(picture, 'png'))}, {json.dumps(parts)}, "
                         f"{json.dumps(picture_url(old, 'webp'))}, {json.dumps(heights)})")
    if not checks.check(off is not None, f"{what}: it is as wide"):
        return
    for part, most in zip(parts, off):
        checks.check(most <= MOST_OFF[part["isDrawn"]], f"{what}: {part['name']} looks the same", f"off by {most:.0f}")


def update(comparer, parts, picture, name):
    code = comparer.value(f"referenceOf({json.dumps(picture_url(picture, 'png'))}, {json.dumps(parts)})")
    (REFERENCES / f"{name}.webp").write_bytes(base64.b64decode(code))
    heights = [max(1, int(part["height"] / 8 + 0.5)) for part in parts]
    return {"heights": heights, "holds": [part["holds"] for part in parts]}


def copied(study, folder):
    """Its name in the folder: titles name files, and should be the same wherever the sources are."""
    shutil.copy(study, folder)
    return study.name


def write_pages(program, checks, folder):
    write_files(folder, {"job.yaml": SMALL_JOB})
    write_log(program, folder)
    others = {name: command for name, (command, *_) in PAGES.items()}
    for name, command in {**RUNS, **others}.items():
        command = [copied(part, folder) if isinstance(part, Path) else part for part in command]
        outcome = program.run([*command, "--html", name], folder, seconds=60)
        if checks.check(outcome.code == 0 and not outcome.broken, f"{name} is written", outcome.stderr):
            yield Path(folder) / name


def main():
    checks, program, options = Checks(), Program(sys.argv[1]), sys.argv[2:]
    keep = Path(options[options.index("--keep") + 1]) if "--keep" in options else None
    if chromium.program() is None:
        print("SKIPPED: chromium is not installed, so no page was looked at")
        return 0
    index = REFERENCES / "parts.json"
    known = json.loads(index.read_text()) if index.is_file() else {}
    found = {}
    for folder in (REFERENCES, keep):
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
    with scratch_folder() as folder, chromium.Browser() as browser, chromium.Browser() as comparer:
        browser.ask("Page.addScriptToEvaluateOnNewDocument", source=FONTS)
        comparer.value(LOOKS + ";1")
        for path in write_pages(program, checks, folder):
            for width in WIDTHS:
                for dark in (False, True):
                    name = f"{path.stem}-{width}-{'dark' if dark else 'light'}"
                    what, parts, picture = look(browser, checks, path, width, dark)
                    if keep:
                        (keep / f"{name}.png").write_bytes(picture)
                    if "--update" in options:
                        found[name] = update(comparer, parts, picture, name)
                    elif checks.check(name in known, f"{what}: there is a reference"):
                        compare(comparer, checks, what, parts, picture, name, known[name])
    if "--update" in options:
        lines = [f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found)]
        index.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    size = sum(file.stat().st_size for file in REFERENCES.iterdir())
    checks.check(size <= LARGEST, "references are small", f"{size} bytes")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
