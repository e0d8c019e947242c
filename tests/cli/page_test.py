#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_test.py PROGRAM: `run --html` writes one page that needs nothing else, is the same again, stays small, and takes
names as names. In Chromium, where that is installed: it draws everything without an error, in light and dark, and its
timeline goes where keys say. What drawings show is tested by drawings_test.py, what pages look like by
screenshots_test.py."""
import json
import re
import sys
from pathlib import Path

import chromium
from orrery_program import SMALL_JOB, STUDIES, Checks, Program, scratch_folder, write_files
from pages import PAGES, write_log

LARGEST = 3_000_000  # bytes
HOSTILE = "job</script><script>window.broken=1</script><b>\"'&é漢.yaml"  # a file three folders down
SHOWN = "page.timeline.x.domain()"


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def write_page(program, checks, folder, job, name, *arguments):
    """The page's text; none if there is none."""
    outcome = program.run(["run", job, "--html", name, *arguments], folder)
    if not checks.check(outcome.code == 0 and not outcome.broken, f"{name} is written", outcome.stderr):
        return None
    return (Path(folder) / name).read_text()


def json_of(program, folder, job):
    program.run(["run", job, "--critical-path", "--json", "page.json"], folder)
    return json.loads((Path(folder) / "page.json").read_text())


def check_text(checks, name, text):
    checks.check(len(text.encode()) < LARGEST, f"{name} is small", f"{len(text.encode())} bytes")
    markup = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.S)
    checks.check(not re.search(r"\b(src|href)\s*=|@import|https?:", markup), f"{name} refers to nothing outside of it")
    checks.check("default-src 'none'" in markup, f"{name} forbids browsers to load anything")
    checks.check("{{" not in re.sub(r"<script\b.*?</script>", "", text, flags=re.S), f"{name} has all its parts")


def check_data(checks, data, document):
    page = data["document"]
    checks.check(page["iteration_time_s"] == document["iteration_time_s"] and page["links"] == document["links"]
                 and page["breakdown"] == document["breakdown"]
                 and page["critical_path"] == document["critical_path"]
                 and page["critical_links"] == document["critical_links"] != [], "the page holds what --json does")
    checks.check(abs(sum(part["seconds"] for part in page["critical_path"]) - page["iteration_time_s"]) < 1e-9,
                 "its critical path sums to the iteration time")
    checks.check(abs(sum(part["seconds"] for part in data["parts"]) - page["iteration_time_s"]) < 1e-9,
                 "its parts sum to the iteration time")
    peak = max(max(rank["bytes"]) for rank in data["memory"])
    # A stage's need counts its peak of activations; what was held at any one time may be less, not more.
    checks.check(0.5 * page["memory"]["peak_bytes"] < peak <= page["memory"]["peak_bytes"],
                 "memory over time reaches what the fullest rank needs", f"{peak}, {page['memory']['peak_bytes']}")
    timeline = data["timeline"]
    for rank in timeline["ranks"]:
        for track in rank["tracks"]:
            slices = track["slices"]
            ends = sum(slices[0::5]) + sum(slices[1::5])
            if not checks.check(min(slices) >= -1 and min(slices[0::5]) >= 0
                                and ends * timeline["tick_s"] <= timeline["end_s"] * (1 + 1e-9) + timeline["tick_s"],
                                f"slices of rank {rank['rank']} follow one another within the time", track["name"]):
                return


def check_in_browser(checks, page, path, dark):
    what = f"{path.name}, {'dark' if dark else 'light'}"
    page.open(path.as_uri(), dark)
    checks.check(page.value("page.ready"), f"{what}: it is drawn", page.problems)
    headings = page.value("[...document.querySelectorAll('h2')].map(one => one.textContent)")
    checks.check(headings == ["Where the time goes", "Pipeline", "Timeline", "Critical path", "Links", "Kernels",
                              "Memory over time", "Configuration"], f"{what}: its parts are there", headings)
    checks.check(page.value("document.querySelectorAll('svg[role=img]:not([aria-label])').length") == 0
                 and page.value("document.querySelectorAll('details table').length") >= 4,
                 f"{what}: charts have names and tables")
    checks.check(page.value("window.broken === undefined && !document.querySelector('main b')"),
                 f"{what}: names are text, not markup")
    checks.check(page.value("document.documentElement.scrollWidth <= innerWidth"), f"{what}: it fits the width")
    dots = page.value("[...document.querySelectorAll('canvas')].filter(one => one.getContext('2d')"
                      ".getImageData(0, 0, one.width, one.height).data.some(v => v)).length")
    checks.check(dots > 0, f"{what}: the timeline shows something")
    check_keys(checks, page, what)
    checks.check(not page.problems, f"{what}: no error, and nothing asked for", page.problems)
    print(f"{what}: drawn in {page.seconds:.2f} s")


def check_keys(checks, page, what):
    page.value("page.timeline.frame.focus()")
    whole = page.value(SHOWN)
    page.press("+")
    page.press("+")
    near = page.value(SHOWN)
    checks.check(abs((near[1] - near[0]) * 4 - (whole[1] - whole[0])) < 1, f"{what}: + zooms", f"{whole} {near}")
    page.press("ArrowRight")
    right = page.value(SHOWN)
    checks.check(right[0] > near[0] and abs((right[1] - right[0]) - (near[1] - near[0])) < 1,
                 f"{what}: → moves", right)
    page.press("ArrowLeft")
    checks.check(abs(page.value(SHOWN)[0] - near[0]) < 1, f"{what}: ← moves back", page.value(SHOWN))
    for _ in range(9):
        page.press("ArrowLeft")
    checks.check(abs(page.value(SHOWN)[0]) < 1, f"{what}: it ends at the start", page.value(SHOWN))
    page.press("0")
    checks.check(page.value(SHOWN) == whole, f"{what}: 0 shows all", page.value(SHOWN))
    page.press("-")
    checks.check(page.value(SHOWN) == whole, f"{what}: there is no more than all", page.value(SHOWN))


def digits(seconds):
    """As the page writes them."""
    for unit in (1, 1e3, 1e6, 1e9):
        if seconds * unit >= 1:
            return f"{float(f'{seconds * unit:.4g}'):g}"
    return "0"


def check_others(checks, program, folder, browser):
    """The pages of other commands, each as told by the document of the same command."""
    for name, (command, headings, times) in PAGES.items():
        outcome = program.run([*command, "--html", name, "--json", "-"], folder, seconds=60)
        if not checks.check(outcome.code == 0 and not outcome.broken, f"{name} is written", outcome.stderr):
            continue
        document = json.loads(outcome.stdout)
        text = (Path(folder) / name).read_text()
        check_text(checks, name, text)
        data = data_of(text)["document"]
        held = data["tables"][0]["document"] if name == "collective.html" else data
        checks.check(held == document, f"{name} holds what --json does")
        if browser:
            for dark in (False, True):
                check_other(checks, browser, Path(folder) / name, dark, headings, times(document))


def check_other(checks, page, path, dark, headings, times):
    what = f"{path.name}, {'dark' if dark else 'light'}"
    page.open(path.as_uri(), dark)
    checks.check(page.value("page.ready"), f"{what}: it is drawn", page.problems)
    found = page.value("[...document.querySelectorAll('h2')].map(one => one.textContent)")
    checks.check(found == headings, f"{what}: its parts are there", found)
    shown = page.value("document.querySelector('main').textContent")
    checks.check(all(digits(time) in shown for time in times), f"{what}: it shows the times")
    checks.check(page.value("document.querySelectorAll('svg[role=img]:not([aria-label])').length") == 0
                 and page.value("document.querySelectorAll('svg[role=img] rect, svg[role=img] .mark').length") > 2,
                 f"{what}: charts have names and marks")
    checks.check(not re.search(r"NaN|undefined|Infinity", shown), f"{what}: every number is one")
    checks.check(page.value("[...document.querySelectorAll('svg *')].every(one => "
                            "[...one.attributes].every(of => !/NaN|undefined/.test(of.value)))"),
                 f"{what}: everything has a place")
    check_sorting(checks, page, what)
    checks.check(page.value("document.documentElement.scrollWidth <= innerWidth"), f"{what}: it fits the width")
    checks.check(not page.problems, f"{what}: no error, and nothing asked for", page.problems)


def check_sorting(checks, page, what):
    """A click on the heading of numbers sorts: the largest first, then the smallest."""
    page.value("(window.heads = [...document.querySelectorAll('th button')]).length")
    page.value("heads[heads.length - 1].click()")
    down = page.value("[...document.querySelectorAll('th[aria-sort]')].pop().getAttribute('aria-sort')")
    page.value("heads[heads.length - 1].click()")
    up = page.value("[...document.querySelectorAll('th[aria-sort]')].pop().getAttribute('aria-sort')")
    checks.check((down, up) == ("descending", "ascending"), f"{what}: tables sort", (down, up))


def main():
    checks, program = Checks(), Program(sys.argv[1])
    with scratch_folder() as folder:
        pages = []
        write_files(folder, {"job.yaml": SMALL_JOB, HOSTILE: SMALL_JOB})
        for job, name in ((HOSTILE, "small.html"), (STUDIES / "gpt3-175b-1024.yaml", "large.html")):
            text = write_page(program, checks, folder, job, name)
            if text is None:
                continue
            pages.append(Path(folder) / name)
            check_text(checks, name, text)
            check_data(checks, data_of(text), json_of(program, folder, job))
            checks.check(write_page(program, checks, folder, job, "again.html") == text, f"{name}: the same again")
        outcome = program.run(["run", "job.yaml", "--html", "no/such/page.html"], folder)
        checks.check(outcome.code == 2 and "no/such/page.html" in outcome.stderr and not outcome.stdout,
                     "a page that cannot be written is refused before the run", outcome.stderr)
        write_log(program, folder)
        if chromium.program() is None:
            print("SKIPPED: chromium is not installed, so no page was opened")
            check_others(checks, program, folder, None)
            return checks.exit_code()
        with chromium.Browser() as browser:
            check_others(checks, program, folder, browser)
            for page in pages:
                for dark in (False, True):
                    check_in_browser(checks, browser, page, dark)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
