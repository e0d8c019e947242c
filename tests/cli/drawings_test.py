#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""drawings_test.py PROGRAM: what the drawings of a page show is what its data says, to the pixel: lanes of the timeline
are filled by the share of the time, passes stand where they ran, and bubbles are what is left. Keys, the mouse and
fingers read and move them, and every picture can be saved as a file that stands alone."""
import csv
import io
import json
import re
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import chromium
from orrery_program import SMALL_JOB, STUDIES, Checks, Program, scratch_folder, write_files
from page_test import data_of
from pages import PAGES, write_log

LANE, LEAST = 12, 0.02  # pixels of a lane; the least share that is drawn, as timeline.js has them
ALPHA = """(row) => { const canvas = page.timeline.rows[row].canvas, pen = canvas.getContext("2d");
  return page.timeline.rows[row].row.tracks.map((track, i) => {
    const {data} = pen.getImageData(0, 24 + 14 * i, canvas.width, 12), sums = new Array(canvas.width).fill(0);
    for (let k = 3, at = 0; k < data.length; k += 4, ++at) sums[at % canvas.width] += data[k] / 255 / 12;
    return sums; }); }"""
PASSES = {
    "1f1b.html": "workload.schedule.kind=1f1b",
    "interleaved.html": "workload.schedule={kind: 1f1b-interleaved, virtual_stages: 2}",
    "zero-bubble.html": "workload.schedule.kind=zero-bubble",
    "dualpipe.html": "workload.schedule.kind=dualpipe",
}


def slices_of(numbers):
    """(start, end, busy) of each, in ticks."""
    at, slices = 0, []
    for gap, length, _, more, aside in zip(*[iter(numbers)] * 5):
        slices.append((at + gap, at + gap + length, length - aside if more else length, more))
        at += gap + length
    return slices


def shares_of(slices, width, begin, end):
    """Share of each pixel's time that is busy; none where the edge of a wide box, which has a line, is near."""
    shares, near = [0.0] * width, set()
    scale = width / (end - begin)
    for start, stop, busy, more in slices:
        left, right = (start - begin) * scale, (stop - begin) * scale
        if right <= 0 or left >= width or right <= left:
            continue
        for pixel in range(max(0, int(left)), min(width, int(right) + 1)):
            shares[pixel] += busy / (stop - start) * max(0, min(right, pixel + 1) - max(left, pixel))
        if right - left > 5 and not more:
            near.update(int(edge) + i for edge in (left, right) for i in (-1, 0, 1))
    return [None if pixel in near else share for pixel, share in enumerate(shares)]


def check_lanes(checks, page, data, what):
    """The part of a lane that has colour is the share of the time, in every pixel column that is seen."""
    width, (begin, end) = page.value("page.timeline.width"), page.value("page.timeline.x.domain()")
    compared, worst, between = 0, (0, ""), 0
    for row in range(3):
        drawn = page.value(f"({ALPHA})({row})")
        for track, filled in zip(data["timeline"]["ranks"][row]["tracks"], drawn):
            shares = shares_of(slices_of(track["slices"]), int(width), begin, end)
            for pixel, (share, found) in enumerate(zip(shares, filled)):
                if share is None:
                    continue
                wanted = min(1, max(LEAST, share)) if share > 1e-6 else 0
                compared += 1
                between += 0.05 < wanted < 0.95
                worst = max(worst, (abs(found - wanted), f"{track['name']}, pixel {pixel}: {found:.3f}, not {wanted:.3f}"))
    checks.check(compared > 1000 and between > 100, f"{what}: lanes have shares", f"{compared}, {between} of them between")
    checks.check(worst[0] < 0.02, f"{what}: lanes are filled by the share of the time", worst[1])


def spans_of(numbers):
    at, spans = 0, []
    for later, length, kind, micro, chunk, iteration, _ in zip(*[iter(numbers)] * 7):
        at += later
        spans.append((at, at + length, kind, micro, chunk, iteration))
    return spans


def union(intervals):
    length, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached:
            length, reached = length + end - start, end
        elif end > reached:
            length, reached = length + end - reached, end
    return length


def check_passes(checks, page, pipeline, what):
    """Bubbles are what the drawn boxes leave, to the picosecond; boxes have their colours, and pairs half the height."""
    checks.check(abs(pipeline["tick_s"] - 1e-12) < 1e-18, f"{what}: passes are exact to the picosecond")
    window = union(pipeline["windows"])
    checks.check(window == pipeline["window"], f"{what}: the window is that of the passes", (window, pipeline["window"]))
    for number, rank in enumerate(pipeline["ranks"]):
        spans = spans_of(rank["spans"])
        busy = union([span[:2] for span in spans])
        checks.check((rank["busy"], rank["bubble"]) == (busy, window - busy), f"{what}, stage {number}: its bubble",
                     (rank["busy"], busy, rank["bubble"], window - busy))
        halves = page.value(f"page.passes[0].rows[{number}].row.spans.map(span => span.half)")
        wanted = [any(other is not span and other[0] < span[1] and span[0] < other[1] for other in spans)
                  for span in spans]
        checks.check(halves == wanted, f"{what}, stage {number}: pairs stand side by side", (sum(halves), sum(wanted)))
        gaps = page.value(f"page.passes[0].rows[{number}].row.gaps")
        whole = union([*map(tuple, gaps), *(span[:2] for span in spans)])
        checks.check(sum(end - start for start, end in gaps) == rank["bubble"] and whole == window,
                     f"{what}, stage {number}: what is drawn as bubble is all of it", gaps)
        shown = page.value(f"page.passes[0].rows[{number}].element.textContent")
        checks.check(f"{100 * (window - busy) / window:.1f} %" in shown.replace("\xa0", " "), f"{what}: its share is shown", shown)


def check_pass_colours(checks, page, what):
    """Near the corner of every box that is wide enough, its colour; between boxes, the paler one of bubbles."""
    off = page.value("""page.passes[0].rows.flatMap(({row, canvas}) => {
      const view = page.passes[0], pen = canvas.getContext("2d"), wrong = [];
      for (const span of row.spans) {
        const [y, tall] = view.placeOf(row, span), left = view.x(span.start), right = view.x(span.end);
        if (right - left < 8) continue;
        const {data} = pen.getImageData(Math.ceil(left) + 1, Math.round(y) + 1, Math.floor(right - left) - 3, Math.floor(tall) - 2);
        const wanted = d3.rgb(view.colourOf(span));
        let alike = 0;
        for (let i = 0; i < data.length; i += 4)
          alike += Math.abs(data[i] - wanted.r) + Math.abs(data[i + 1] - wanted.g) + Math.abs(data[i + 2] - wanted.b) < 9;
        if (alike < data.length / 4 / 3) wrong.push(`${view.tellOf(row, span)}: ${alike} of ${data.length / 4}`);
      }
      return wrong; })""")
    checks.check(not off, f"{what}: boxes have the colours of their passes", off[:3])


def check_reading(checks, page, what):
    page.value("page.passes[0].frame.focus()")
    said = []
    for key in ("n", "n", "ArrowDown", "p", "ArrowUp"):
        page.press(key)
        said.append(page.value("page.passes[0].readout.textContent"))
    told = re.compile(r"stage \d+, [FBW]\d+(, chunk \d+)?: [\d.]+ \w+ from (0|[\d.]+ \w+) to [\d.]+ \w+")
    checks.check(all(told.fullmatch(one) for one in said), f"{what}: keys read boxes", said)
    checks.check(said[0].startswith("stage 0, F0") and said[1].startswith("stage 0, F1") and said[2].startswith("stage 1, F"),
                 f"{what}: keys go from box to box", said)
    place = page.value("""(() => { const view = page.passes[0], {row, canvas} = view.rows[1], span = row.spans[3];
      canvas.scrollIntoView();
      const box = canvas.getBoundingClientRect(), [y, tall] = view.placeOf(row, span);
      return [box.left + view.x((span.start + span.end) / 2), box.top + y + tall / 2, view.tellOf(row, span)]; })()""")
    page.ask("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    checks.check(page.value("page.passes[0].readout.textContent") == place[2], f"{what}: the mouse reads boxes", place[2])


def check_fingers(checks, browser, path):
    """On a telephone a finger moves the drawing to the sides, and the page up and down."""
    browser.open(path.as_uri(), width=420, touch=True)
    browser.value("page.timeline.scaleBy(4)")
    shown = browser.value("page.timeline.x.domain()")
    x, y = browser.value("""(() => { page.timeline.frame.scrollIntoView();
      const box = page.timeline.rows[0].canvas.getBoundingClientRect(); return [box.left + 200, box.top + 40]; })()""")
    browser.drag((x, y), (x - 100, y))
    moved = browser.value("page.timeline.x.domain()")
    pixel = (shown[1] - shown[0]) / browser.value("page.timeline.width")
    checks.check(60 * pixel < moved[0] - shown[0] < 110 * pixel, "a finger moves the timeline", f"{shown} {moved}")
    before = browser.value("scrollY + page.timeline.rowsFrame.scrollTop")
    browser.drag((x, y), (x, y - 100))
    time.sleep(0.2)
    checks.check(browser.value("scrollY + page.timeline.rowsFrame.scrollTop") > before + 20, "a finger moves the page")
    checks.check(browser.value("page.timeline.x.domain()") == moved, "which leaves the timeline where it is")


def wait_for(folder, count):
    """Files that are there as a whole, once there are so many."""
    for _ in range(200):
        files = [path for path in folder.iterdir() if path.suffix != ".crdownload" and path.stat().st_size > 0]
        if len(files) >= count:
            break
        time.sleep(0.02)
    return files


def check_saved(checks, browser, path, folder):
    """Every button saves a file: pictures need nothing of the page, and numbers are a table."""
    browser.open(path.as_uri())
    buttons = browser.value("[...document.querySelectorAll('.save button')].map(one => one.getAttribute('aria-label'))")
    pictures = browser.value("document.querySelectorAll('svg[role=img], .timeline').length")
    checks.check(len([one for one in buttons if "as SVG" in one]) == pictures,
                 f"{path.name}: every picture can be saved", buttons)
    for number, label in enumerate(buttons):
        time.sleep(0.1)  # Chromium takes ten in a second
        target = folder / f"{path.stem}-{number}"
        target.mkdir()
        browser.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(target))
        browser.value(f"document.querySelectorAll('.save button')[{number}].click()")
        files = wait_for(target, 1)
        if not checks.check(len(files) == 1, f"{path.name}: a file is saved", f"{label}: {files}"):
            continue
        text = files[0].read_text()
        if files[0].suffix == ".svg":
            check_picture(checks, text, f"{path.name}, {files[0].name}")
        else:
            rows = list(csv.reader(io.StringIO(text)))
            checks.check(len(rows) > 1 and len({len(row) for row in rows}) == 1 and "NaN" not in text,
                         f"{path.name}, {files[0].name}: a table", f"{len(rows)} rows: {text[:200]}")
    checks.check(not browser.problems, f"{path.name}: no error, and nothing asked for", browser.problems)


def check_picture(checks, text, what):
    root = ElementTree.fromstring(text)
    known = {element.get("id") for element in root.iter()}
    used = set(re.findall(r"url\(#(\w+)\)", text))
    shapes = [element for element in root.iter() if element.tag.split("}")[1] in ("rect", "path", "text", "line")]
    checks.check(used <= known, f"{what}: its patterns are in it", used - known)
    has_styles = "<style>" in text  # drawn by the program, with a style sheet of its own
    checks.check(not re.search(r"var\(|href|NaN" if has_styles else r"var\(|class=|href|NaN", text), f"{what}: it needs no style sheet")
    checks.check(len(shapes) > 3 and (has_styles or all(shape.get("fill") for shape in shapes)), f"{what}: its shapes have colours")


def main():
    checks, program = Checks(), Program(sys.argv[1])
    if chromium.program() is None:
        print("SKIPPED: chromium is not installed, so no drawing was looked at")
        return 0
    with scratch_folder() as folder, chromium.Browser() as browser:
        folder = Path(folder)
        write_files(folder, {"job.yaml": SMALL_JOB})
        write_log(program, folder)
        commands = {name: ["run", STUDIES / "pipeline-4-stages.yaml", "--set", setting] for name, setting in PASSES.items()}
        commands["large.html"] = ["run", STUDIES / "gpt3-175b-1024.yaml"]
        for name, command in {**commands, **{name: command for name, (command, *_) in PAGES.items()}}.items():
            outcome = program.run([*command, "--html", name], folder, seconds=60)
            checks.check(outcome.code == 0 and not outcome.broken, f"{name} is written", outcome.stderr)
        for name in PASSES:
            browser.open((folder / name).as_uri())
            data = data_of((folder / name).read_text())
            check_passes(checks, browser, data["pipelines"][0], name)
            check_pass_colours(checks, browser, name)
            check_reading(checks, browser, name)
        browser.open((folder / "large.html").as_uri())
        data = data_of((folder / "large.html").read_text())
        check_lanes(checks, browser, data, "large.html")
        browser.value("page.timeline.scaleBy(6)")
        check_lanes(checks, browser, data, "large.html, nearer")
        check_fingers(checks, browser, folder / "1f1b.html")
        saved = folder / "saved"
        saved.mkdir()
        for name in ("1f1b.html", *PAGES):
            check_saved(checks, browser, folder / name, saved)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
