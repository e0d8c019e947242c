# SPDX-License-Identifier: MIT
"""docs/accuracy.md and its pictures against what the `validate` commands of the other documents compute: each of them is
run with `--page`, too, which costs nothing, and writes the section of the page that is of its kind. What the page and those
documents both print is the same without a run, too."""
import re
from collections import Counter

from orrery_program import SOURCE

PAGE = SOURCE / "docs" / "accuracy.md"
FOLDER = "accuracy-page"  # in the folder that commands run in
KINDS = re.compile(r"(\borrery validate (nccl|training|experts))\b")
UNPRINTED = ["compute"]  # kinds whose errors no document prints by a command
# A line of the tables of collectives: cluster, operation and number of sizes.
SCORED = r"^\| `\w[^|]*\|[^|]*\|[^|]*\| ([^|]*) \| (\w+)[^|]* \|[^|]*\|[^|]*\| (\d+) \|[^|]*\| yes \|$"
WROTE = re.compile(rf"^wrote {FOLDER}/.*\n", re.M)


def sections_of(page):
    """(what stands above the sections, {heading: section}) of a page."""
    head, *sections = re.split(r"(?m)^(?=## )", page)
    return head.rstrip(), {section.partition("\n")[0]: section.rstrip() for section in sections}


def put_sections(page, written):
    """The page with these sections in place of those of the same headings; new ones at its end."""
    head, sections = sections_of(page)
    return "\n\n".join([head, *{**sections, **written}.values()]) + "\n"


class AccuracyPage:
    """Collects the sections that commands wrote."""

    def __init__(self):
        self.sections, self.pictures, self.heads = {}, {}, set()

    def asked(self, line):
        """The command line, with the page if it validates a kind."""
        return KINDS.sub(rf"\1 --page {FOLDER}/\2.md", line, count=1)

    def take(self, folder):
        """Takes what commands in this folder wrote."""
        for path in sorted((folder / FOLDER).glob("*.md")):
            head, sections = sections_of(path.read_text())
            self.heads.add(head)
            self.sections.update(sections)
        for path in sorted((folder / FOLDER / "pictures").glob("*.svg")):
            self.pictures[path.name] = path.read_text()

    def compute(self, program, folder, checks):
        """Runs the kinds that no document has a command for."""
        for kind in UNPRINTED:
            (folder / FOLDER).mkdir()
            outcome = program.run(["validate", kind, "--page", f"{FOLDER}/{kind}.md"], folder, seconds=600)
            checks.check(outcome.code == 0, f"validate {kind} --page", outcome.stderr)
        self.take(folder)

    def check(self, checks, is_complete, is_update):
        """Holds the page against them; `is_complete`: all kinds were computed."""
        if is_update and self.sections:
            PAGE.write_text(put_sections(PAGE.read_text(), self.sections))
            for name, picture in self.pictures.items():
                (PAGE.parent / "pictures" / name).write_text(picture)
        check_documents(checks)
        head, sections = sections_of(PAGE.read_text())
        for wrong in self.heads - {head}:
            checks.check(False, "docs/accuracy.md: begins with something else", wrong)
        for heading, section in self.sections.items():
            written = set(sections.get(heading, "").splitlines())
            fresh = "\n".join(line for line in section.splitlines() if line not in written)
            checks.check(sections.get(heading) == section,
                         f"docs/accuracy.md: '{heading}' is not what is computed (--update writes it)", fresh)
        for name, picture in self.pictures.items():
            path = PAGE.parent / "pictures" / name
            checks.check(path.exists() and path.read_text() == picture,
                         f"docs/pictures/{name} is not what is computed (--update writes it)")
        if is_complete:
            checks.check(list(sections) and set(sections) == set(self.sections),
                         "docs/accuracy.md: a section that is not computed", set(sections) ^ set(self.sections))


def families_of(page, heading):
    """(name, rows, median, 90 %, worst, bias) of the families of a section, as text without percent signs."""
    _, sections = sections_of(page)
    (section,) = (text for title, text in sections.items() if title.startswith(f"## {heading}:"))
    return [tuple(cell.strip(" %") for cell in line.strip("|").split("|"))
            for line in section.splitlines() if re.match(r"\|.*%", line) and not line.startswith("| family")]


def check_documents(checks):
    """Holds what the page says against the documents and data that the tests compare with other runs."""
    page = PAGE.read_text()
    training = (PAGE.parent / "training.md").read_text()
    totals = re.search(r"^all families \((\d+), of (\d+) rows\): [^;]*?\n? *median of their medians ([\d.]+) %$", training, re.M)
    rows = re.findall(r"^  \S.*? {2,}(\d+) +[\d.]+ +([\d.]+) +([\d.]+) +([-+][\d.]+) +([-+][\d.]+)$", training, re.M)
    families = families_of(page, "Training")
    runs = sum(int(family[1]) for family in families)
    checks.check((str(len(families)), str(runs)) == totals.groups()[:2],
                 "docs/accuracy.md has the families and runs of training.md", (len(families), runs, totals.groups()))
    checks.check(f"Median of the medians of {totals[1]} families: {totals[3]} %." in page,
                 "docs/accuracy.md has the median of training.md", totals.groups())
    printed = Counter(rows)
    others = [family for family in families if not printed[family[1:]]]
    checks.check(not others, "docs/accuracy.md has the errors of training.md", others)
    found, listed = Counter(), Counter()
    for name, count, *_ in families_of(page, "Collectives"):
        found[name] += int(count)
    for cluster, operation, count in re.findall(SCORED, (PAGE.parent / "validation.md").read_text(), re.M):
        listed[f"{operation}, {cluster.strip('`')}"] += int(count)
    checks.check(found == listed, "docs/accuracy.md has the scored tables of validation.md, by operation and cluster",
                 set(found.items()) ^ set(listed.items()))


def check_sample_of_pages(checks):
    page = "# A\n\nwhat\n\n## B\n\n1\n\n## C\n\n2\n"
    checks.check(put_sections(page, {}) == page, "a page without new sections stays as it is", put_sections(page, {}))
    new = put_sections(page, {"## B": "## B\n\n3", "## D": "## D\n\n4"})
    checks.check(new == "# A\n\nwhat\n\n## B\n\n3\n\n## C\n\n2\n\n## D\n\n4\n", "sections are put in their places", new)
    asked = AccuracyPage().asked("build/release/orrery validate nccl --cross | grep all")
    checks.check(asked == f"build/release/orrery validate nccl --page {FOLDER}/nccl.md --cross | grep all",
                 "a command that validates writes its part of the page", asked)
    checks.check(WROTE.sub("", f"a\nwrote {FOLDER}/nccl.md (1 KB)\nb\n") == "a\nb\n", "which isn't shown")
