#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quoting_test.py PROGRAM: names and values with signs that mean something to a shell, YAML, JSON, XML, HTML, CSV, LaTeX or
a terminal come through every writer: what is written is what its reader takes, and says the same names. Files, folders,
models, titles of sweeps and communicators have such names, and every command that writes is run (writers.py)."""
import csv
import gzip
import html.parser
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from error_row import make_traces
from orrery_program import SOURCE, run_parts, write_files
from writers import inputs, writers

SIGNS = "it's \"a\" $HOME `id` <b>&amp; 100 %_ a\\b {c} [d] e#f; é"
CONTROLS = "two\nlines \x1b[31m \t"
INVALID = b"\xff\xfe".decode(errors="surrogateescape")
FOLDERS = (SIGNS, "it's " + CONTROLS, "it's " + INVALID)
# LaTeX's own marks in tables and documents that the program writes.
LATEX_COMMANDS = re.compile(r"\\(?:begin|end)\{\w+\}(?:\{[lr]+\})?|\\(?:top|mid|bottom)rule|\\text(?:backslash|less|greater|bar|"
                            r"asciitilde|asciicircum)\{\}|\$\\times\$|\$-\$|\\\\|\\[&%$#_{}]")


class Scripts(html.parser.HTMLParser):
    """The title of a page, its elements, and the text of its scripts of data."""

    def __init__(self):
        super().__init__()
        self.title, self.data, self.inside, self.elements = "", [], None, []

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.inside = "data" if tag == "script" and ("type", "application/json") in attributes else tag
        if self.inside == "data":
            self.data.append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "title":
            self.title += data
        elif self.inside == "data":
            self.data[-1] += data


def words_of_script(text, folder):
    """The words of each command of a script, as a shell reads it."""
    show = 'show() { for word in "$@"; do printf "%s\\0" "$word"; done; printf "\\n\\0"; }\n'
    script = re.sub(r"^(torchrun|orrery) ", r"show \1 ", text, flags=re.M)
    done = subprocess.run(["sh", "-c", show + script], cwd=folder, capture_output=True, check=False)
    if done.returncode != 0 or done.stderr:
        return [f"no command: {text} {done.stderr}"]
    return done.stdout.decode(errors="surrogateescape").split("\0")


def check_yaml(program, checks, folder, path):
    """An experiment, a cluster or a software, which the program reads again."""
    again = program.run(["check", str(path)], folder)
    checks.check(again.code in (0, 5) and not again.broken, f"{path.name} is read again", again.stdout + again.stderr)


def texts_of(document):
    """All texts of a document of JSON, its keys among them."""
    if isinstance(document, dict):
        return [*document, *(text for value in document.values() for text in texts_of(value))]
    if isinstance(document, list):
        return [text for value in document for text in texts_of(value)]
    return [document] if isinstance(document, str) else []


def changed_of(texts):
    """The first text that has a part of SIGNS, and neither all of it nor, in an expression, its notation, nor is cut with a mark; empty if
    none has."""
    whole = (SIGNS, json.dumps(SIGNS, ensure_ascii=False)[1:-1])
    return next((f"another name: {text}" for text in texts if "`id`" in text and not any(name in text for name in whole)
                 and not (text.endswith("...") and text[:-3] in SIGNS)), "")


def faults_of(path, text):
    """What a reader of the format has against the file, or a name in it that is another one."""
    if path.suffix in (".json", ".jsonl") or path.name.endswith(".trace.json"):
        return changed_of(text for line in (text.splitlines() if path.suffix == ".jsonl" else [text]) for text in texts_of(json.loads(line)))
    if path.suffix == ".svg":
        ElementTree.fromstring(text)
    elif path.suffix == ".html":
        page = Scripts()
        page.feed(text)
        for data in page.data:
            json.loads(data)
        return "" if page.data and "b" not in page.elements else "no data, or an element that nobody wrote"
    elif path.suffix == ".csv":
        rows = [row for row in csv.reader(io.StringIO(text)) if row and not row[0].startswith("#")]
        return changed_of(cell for row in rows for cell in row) if len({len(row) for row in rows}) <= 1 else "rows of several lengths"
    return ""


def check_file(program, checks, folder, path):
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if path.suffix == ".gz":
        path = path.with_suffix("")
    if path.suffix in (".et", ".sqlite"):
        return
    try:
        fault = faults_of(path, raw.decode())
    except (ValueError, ElementTree.ParseError) as error:
        fault = str(error)
    checks.check(not fault, f"{path.name} is what its reader takes", f"{fault}\n{raw[:500]}")
    if path.suffix == ".yaml":
        check_yaml(program, checks, folder, path)
    elif path.suffix == ".sh":
        words = words_of_script(raw.decode(), folder)
        checks.check(words[0] == "torchrun" and len(words) > 10, f"{path.name} is a command", words)


def named(folder, word, names):
    """The word with each file in it in the folder."""
    before, equals, path = word.rpartition("=")
    is_file = any(path == name or name.startswith(path + ".") or path == name.removesuffix("/") for name in names)
    return f"{before}{equals}{folder}/{path}" if is_file else word


def name_things(folder):
    """Gives what the files of the folder describe awkward names."""
    model = folder / "model.yaml"
    text = model.read_text().replace("name: gpt3-6.7b", f"name: {json.dumps(SIGNS)}")
    model.write_text(re.sub("^source: .*$", lambda _: f"source: {json.dumps(f'{SIGNS}, arXiv 2005.14165')}", text, flags=re.M))
    sweep = folder / "sweep.yaml"
    sweep.write_text(f"title: {json.dumps(SIGNS)}\n" + sweep.read_text())
    trace = make_traces.Trace()
    work = trace.node(make_traces.COMP, SIGNS + CONTROLS, [], micros=5, is_cpu_op=False)
    trace.collective(SIGNS, [work], make_traces.ALL_REDUCE, 1 << 20, SIGNS)
    shutil.rmtree(folder / "t")
    write_files(folder / "t", {**{f"rank.{rank}.et": trace.bytes() for rank in range(16)},
                               "groups.json": json.dumps({SIGNS: list(range(16))})})


def check_one_door(_, checks, __):
    """JSON is made into text by dump_json() alone, which no name of a file makes fail."""
    doors = {"core/files/json.cpp", "workload/tools/dump.cpp"}  # the latter in ASCII
    found = {str(path.relative_to(SOURCE)) for layer in ("core", "workload", "report", "experiment", "study", "astra", "cli")
             for path in (SOURCE / layer).rglob("*.*") if path.suffix in (".cpp", ".h") and ".dump(" in path.read_text()}
    checks.check(found == doors, "JSON is made into text in one place", sorted(found ^ doors))


def check_commands(checks, folder, writer, said):
    """Commands in comments and answers are words of a shell, and name the files that they were given."""
    if writer.words[0] == "calibrate":
        first = (folder / SIGNS / "calibrated.yaml").read_text().splitlines()[0]
        words = words_of_script(first.removeprefix("# "), folder)
        checks.check(words[:4] == ["orrery", "calibrate", f"{SIGNS}/log.json", f"{SIGNS}/kernels.csv"],
                     "the comment of a calibrated file is its command", first)
        use = [line.strip() for line in said.replace("\\\n", " ").splitlines() if line.strip().startswith("orrery ")]
        checks.check(any(f"{SIGNS}/calibrated.yaml" in word for line in use for word in words_of_script(line, folder)),
                     "the command that uses a calibrated file names it", said)
    if writer.words[0] == "search":
        _, _, options = said.partition("for `orrery run`:\n")
        words = words_of_script("orrery run job.yaml " + " ".join(options.split("\n\n")[0].replace("\\\n", " ").split("\n")), folder)
        checks.check(any(word.startswith("workload.parallel.") for word in words), "the best plan's settings are words", options)


def check_tables(program, checks, folder):
    """Tables as CSV, Markdown and LaTeX, with names in their cells; sources as BibTeX."""
    inputs(program, folder)
    name_things(folder)
    shutil.copy(folder / "cluster.yaml", folder / f"{SIGNS}.yaml")
    sweep = folder / "sweep.yaml"
    sweep.write_text(sweep.read_text().replace("vary: [", f"vary: [{{key: cluster, values: [{json.dumps(SIGNS + '.yaml')}]}}, "))
    for command in (["sweep", "sweep.yaml"], ["model", "show", "model.yaml"], ["run", "job.yaml", "--details"],
                    ["run", "traces.yaml", "--details"]):
        said = {form: program.run([*command, "-q", "--format", form], folder, seconds=60)
                for form in ("csv", "markdown", "latex")}
        what = " ".join(command)
        if not checks.check(all(outcome.code == 0 and not outcome.broken for outcome in said.values()), what,
                            "\n".join(outcome.stderr for outcome in said.values())):
            continue
        for table in re.split(r"\n\s*\n|^#.*$", said["csv"].stdout, flags=re.M):
            rows = [row for row in csv.reader(io.StringIO(table.strip("\n"))) if row]
            checks.check(len({len(row) for row in rows}) <= 1, f"{what}: CSV", table)
        rows = [line for line in said["markdown"].stdout.splitlines() if line.startswith("|")]
        checks.check(rows and not any(re.search(r"(?<!\\)<", row) for row in rows), f"{what}: Markdown", "\n".join(rows))
        bare = re.search(r"[%$#_{}~^\\]", LATEX_COMMANDS.sub("", re.sub(r"(?<!\\)%.*", "", said["latex"].stdout)))
        checks.check("tabular" in said["latex"].stdout and not bare, f"{what}: LaTeX", f"{bare}\n{said['latex'].stdout}")
    cited = program.run(["run", "job.yaml", "--sources", "bibtex"], folder)
    plain = re.sub(r"\\.", "", cited.stdout)
    checks.check(cited.code == 0 and plain.count("{") == plain.count("}") > 10, "sources as BibTeX", cited.stdout[:500])


def check_writers(program, checks, folder):
    made = folder / "made"
    made.mkdir()
    inputs(program, made)
    name_things(made)
    for name in FOLDERS:
        for writer in writers():
            shutil.rmtree(folder / name, ignore_errors=True)
            shutil.copytree(made, folder / name)
            before = {path for path in (folder / name).rglob("*")}
            words = [writer.words[0], *(named(name, word, writer.reads) for word in writer.words[1:])]
            for option, path in writer.writes.items():
                head, equals, file = path.rpartition("=")
                words += [option, f"{head}{equals}{name}/{file}"]
            outcome = program.run(words, folder, seconds=60)
            command = " ".join(writer.words)
            # The name of a cluster is YAML, as in a file, which has no such signs.
            is_refused = name != SIGNS and {"cluster", "--cluster"} & set(writer.words) and re.search("not a text file|is not UTF-8", outcome.stderr)
            if not checks.check(outcome.code == (2 if is_refused else 0) and not outcome.broken, f"{name!r}: {command}",
                                f"{outcome.code} {outcome.broken}\n{outcome.stderr}"):
                continue
            for path in sorted(set((folder / name).rglob("*")) - before):
                if path.is_file() and path.parent.name != "points":
                    check_file(program, checks, folder, path)
            if name == SIGNS:
                check_commands(checks, folder, writer, outcome.stdout)


if __name__ == "__main__":
    sys.exit(run_parts(check_one_door, check_tables, check_writers, apart=True))
