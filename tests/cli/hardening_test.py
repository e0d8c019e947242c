#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hardening_test.py PROGRAM: the programs that are built, and installed, defend themselves: random addresses, tables of
functions that nobody can write to, no stack that can be executed, checks of the stack and of the C library's copies,
and that they have no means for what no input may make them do. Builds without optimisation do not check copies. `readelf` of binutils tells."""
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from orrery_program import Checks, scratch_folder

NAMES = ("orrery", "orrery-study")
LAYERS = ("core", "workload", "collectives", "network", "system", "report", "experiment", "study", "astra", "cli")
# Functions that reach the network, a shell or code from elsewhere; and those that start another program, which few do.
FOREIGN = re.compile(r"\b(socket|socketpair|connect|bind|listen|accept4?|send|sendto|sendmsg|recv|recvfrom|recvmsg|getaddrinfo|"
                     r"gethostby\w+|system|popen|wordexp|dlopen|dlmopen)@")
STARTING = re.compile(r"\b(fork|_Fork|vfork|clone|exec[lv]\w*|fexecve|posix_spawnp?)@")
STARTERS = {"orrery": {"_Fork", "execl",  # rm of a folder that a signal cuts off
                       "execv"}}  # orrery-study
STARTERS["orrery-study"] = STARTERS["orrery"] | {"posix_spawnp"}  # tar, Slurm's commands


def read(path, *options):
    return subprocess.run(["readelf", "--wide", *options, str(path)], capture_output=True, text=True, check=True,
                          env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def missing(path, is_optimised):
    """The properties that a program lacks."""
    header, segments = read(path, "--file-header"), read(path, "--program-headers")
    dynamic, symbols = read(path, "--dynamic"), read(path, "--dyn-syms")
    stack = re.search(r"GNU_STACK.*", segments)
    found = {"random addresses (PIE)": "DYN (Position-Independent Executable file)" in header and "Flags:" in dynamic
                                       and re.search(r"\(FLAGS_1\).*\bPIE\b", dynamic),
             "relocations that are read only (RELRO)": "GNU_RELRO" in segments,
             "relocations before the start (BIND_NOW)": re.search(r"\(FLAGS(_1)?\).*\b(BIND_NOW|NOW)\b", dynamic),
             "a stack that is no code": stack and " RWE " not in stack.group(0),
             "no segment that is written and executed": not re.search(r"LOAD.* RWE ", segments),
             "checks of the stack": "__stack_chk_fail" in symbols,
             "checks of copies (_FORTIFY_SOURCE)": not is_optimised or re.search(r" __(mem|str)\w*_chk\b", symbols),
             "no search for libraries elsewhere": not re.search(r"\((RPATH|RUNPATH)\)", dynamic)}
    return [name for name, holds in found.items() if not holds]


def check_units(checks, build, is_optimised):
    """Each unit of the programs' own is compiled with the checks: libraries that are linked in have theirs, which the programs show as well."""
    wanted = ["-fstack-protector-strong", "-fPIE", *(["-D_FORTIFY_SOURCE=3"] if is_optimised else [])]
    units = json.loads((build / "compile_commands.json").read_text())
    own = [unit for unit in units if re.search(r" -o (?:%s)/CMakeFiles/(?!orrery_parse_configs)" % "|".join(LAYERS), unit["command"])]
    checks.check(len(own) > 2 * len(LAYERS), "the units of the layers are known", len(own))
    without = [f"{unit['file']}: {word}" for unit in own for word in wanted if word not in unit["command"].split()]
    checks.check(not without, "each unit is compiled with the checks", "\n".join(without[:5]))


def check_imports(checks, path):
    """No function for what no input may have the program do."""
    imported = "\n".join(line for line in read(path, "--dyn-syms").splitlines() if " UND " in line)
    checks.check("__libc_start_main@" in imported, f"the imports of {path} are seen", imported[:500])
    checks.check(not FOREIGN.search(imported), f"{path} reaches neither networks nor shells", FOREIGN.findall(imported))
    started = set(STARTING.findall(imported))
    checks.check(started <= STARTERS[path.name], f"{path} starts only what SECURITY.md says", started)


def check_judge(checks, folder):
    """A program without any of it would be found."""
    source = Path(folder, "soft.c")
    source.write_text("#include <string.h>\nint main(int n, char** v) { char a[9]; strcpy(a, v[n - 1]); return a[0]; }\n")
    made = subprocess.run(["cc", "-O0", "-fno-stack-protector", "-no-pie", "-Wl,-z,norelro,-z,lazy,-z,execstack,-rpath,/tmp",
                           str(source), "-o", str(Path(folder, "soft"))], capture_output=True, text=True)
    if made.returncode != 0:
        print("SKIPPED: no C compiler, and so no program without defences was judged")
        return
    checks.check(len(missing(Path(folder, "soft"), True)) == 7, "a program without defences is found",
                 missing(Path(folder, "soft"), True))


def main():
    checks = Checks()
    if not shutil.which("readelf"):
        print("SKIPPED: readelf is not installed, and so the programs' defences were not looked at")
        return 0
    build = Path(sys.argv[1]).resolve().parent
    cache = (build / "CMakeCache.txt").read_text()
    is_optimised = (re.search(r"^CMAKE_BUILD_TYPE:\w+=(Release|RelWithDebInfo)$", cache, re.M)
                    and not re.search(r"^ORRERY_SANITIZE:\w+=\S", cache, re.M))
    with scratch_folder() as folder:
        subprocess.run(["cmake", "--install", str(build), "--prefix", folder], check=True, capture_output=True)
        for path in (*(build / name for name in NAMES), *(Path(folder, "bin", name) for name in NAMES)):
            checks.check(not missing(path, is_optimised), f"{path} has all defences", "\n".join(missing(path, is_optimised)))
        check_units(checks, build, is_optimised)
        for name in NAMES:
            check_imports(checks, build / name)
        check_judge(checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
