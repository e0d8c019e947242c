# SPDX-License-Identifier: MIT
"""The program under test, as the scripts of this folder run it: in a folder of its own, with a limit on its time, and
with the promises that hold for every command line checked on every run."""
import fcntl
import importlib.machinery
import importlib.util
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
STUDIES = SOURCE / "configs" / "studies"
# On 16 devices, of two pipeline stages.
SMALL_JOB = """
cluster: dgx-a100
nodes: 2
workload:
  model: gpt3-6.7b
  parallel: {tensor: 4, pipeline: 2, data: 2}
  batch: {global: 16, micro: 1}
"""
# How many times as long as usual programs may take: sanitized ones do.
PATIENCE = float(os.environ.get("ORRERY_TEST_PATIENCE", "1"))
SECONDS = 20  # the longest a command of these tests may take; all of them take far less than one
PROMISED = (0, 2, 3, 4, 5)  # exit codes
CRASHES = re.compile(r"internal error|Sanitizer|runtime error:|assertion|terminate called|Traceback|core dumped", re.I)


def load_make_traces():
    """scripts/make_traces as a module: its Chakra encoder is the only one in Python here."""
    loader = importlib.machinery.SourceFileLoader("make_traces", str(SOURCE / "scripts" / "make_traces"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Outcome:
    """What a command printed and how it ended. `broken` lists the promises it broke, whatever was expected of it."""

    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr
        self.broken = []
        if code not in PROMISED:
            self.broken.append(f"exit code {code}")
        if CRASHES.search(stdout + stderr):
            self.broken.append("it crashed")
        if code != 0 and not (stdout + stderr).strip():
            self.broken.append("it failed without a word")
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", stdout + stderr):
            self.broken.append("it printed control characters")


class Program:
    def __init__(self, path):
        self.path = str(Path(path).resolve())

    def run(self, arguments, folder, stdout=subprocess.PIPE, environment=None, seconds=SECONDS):
        """Runs `orrery arguments...` in `folder`, for at most so many seconds."""
        try:
            done = subprocess.run([self.path, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout,
                                  stderr=subprocess.PIPE, timeout=seconds * PATIENCE,
                                  env={**os.environ, **(environment or {})})
        except subprocess.TimeoutExpired:
            outcome = Outcome(0, "", "")
            outcome.broken.append(f"it ran for more than {seconds} seconds")
            return outcome
        return Outcome(done.returncode, (done.stdout or b"").decode(errors="replace"),
                       done.stderr.decode(errors="replace"))


def unbroken(text):
    """The text without ends of lines: sentences are broken to fit the screen."""
    return re.sub(r"\s+", " ", text)


class Terminal:
    """Runs commands with a pseudo terminal as standard output, of so many columns and lines; standard error is a pipe,
    or the terminal, too."""

    def __init__(self, columns=80, lines=24, variables=None):
        self.size = struct.pack("HHHH", lines, columns, 0, 0)
        self.variables = {"TERM": "xterm", **(variables or {})}

    def start(self, words, folder, errors=subprocess.PIPE):
        """(process, file descriptor of the other end)."""
        own, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, self.size)
        environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "CLICOLOR_FORCE")}
        process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=other,
                                   stderr=other if errors is None else errors,
                                   env={**environment, **self.variables})
        os.close(other)
        return process, own

    @staticmethod
    def read(own):
        """All that comes until the program ends."""
        text = b""
        while True:
            try:
                part = os.read(own, 1 << 16)
            except OSError:  # the other end is closed
                part = b""
            if not part:
                os.close(own)
                return text.decode(errors="replace").replace("\r\n", "\n")
            text += part

    def run(self, words, folder, errors=subprocess.DEVNULL):
        """(exit code, what came to the terminal)."""
        process, own = self.start(words, folder, errors)
        text = self.read(own)
        return process.wait(timeout=SECONDS * PATIENCE), text


class Checks:
    """Counts failures and prints them; `exit_code` is that of the test."""

    def __init__(self):
        self.done = self.failed = 0

    def check(self, holds, what, details=""):
        self.done += 1
        if holds:
            return True
        self.failed += 1
        print(f"FAILED: {what}")
        for line in str(details).splitlines():
            print(f"    {line}")
        return False

    def exit_code(self):
        print(f"{self.done} checks, {self.failed} failed")
        return 1 if self.failed or not self.done else 0


def run_parts(*parts, files=None, apart=False):
    """The main function of a test of the program that the command line names: its parts are called with the program,
    the checks and a folder that holds `files`, or, `apart`, each with a folder of its own. Returns the exit code."""
    program, checks = Program(sys.argv[1]), Checks()
    for together in [[part] for part in parts] if apart else [parts]:
        with scratch_folder() as name:
            folder = Path(name)
            write_files(folder, files or {})
            for part in together:
                part(program, checks, folder)
    return checks.exit_code()


def write_files(folder, files):
    """Writes {relative path: text or bytes} below `folder`; None makes a folder."""
    for name, content in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        elif isinstance(content, str):
            path.write_bytes(content.encode())
        else:
            path.write_bytes(content)


def studies():
    """The shipped studies that are one experiment each."""
    return [path for path in sorted((SOURCE / "configs" / "studies").glob("*.yaml")) if path not in sweeps()]


def sweeps():
    """The shipped studies that are sweeps."""
    return [path for path in sorted((SOURCE / "configs" / "studies").glob("*.yaml")) if "\nvary:" in path.read_text()]


def files_of(folder):
    """{name: bytes} of the files of a folder, without those of its folders."""
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir()) if path.is_file()}


def scratch_folder():
    return tempfile.TemporaryDirectory(prefix="orrery-")
