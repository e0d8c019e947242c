#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""options_test.py PROGRAM: what holds of all commands alike - -v, -q, -h anywhere, - for standard input, --json and --out,
failures as JSON, exit codes, names suggested, help with examples that run."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from error_row import JOB, make_traces, small_trace
import broken_astra
from orrery_program import PATIENCE, SOURCE, Checks, Program, scratch_folder, write_files

TRAINING = """\
cluster: dgx-a100
nodes: 1
workload:
  model: gpt3-6.7b
  parallel: {tensor: 8}
  batch: {global: 64, micro: 1}
"""
LARGE = TRAINING.replace("tensor: 8", "data: 8").replace("gpt3-6.7b", "gpt3-175b")  # 175 billion parameters on one GPU
SWEEP = """\
title: micro-batches
experiment: job.yaml
vary:
  - {key: workload.batch.micro, values: [1, 2]}
"""
OPERATORS = "gpu,n_head,n_kv_head,hidden,ffn_hidden,gated_mlp,num_tokens,tp,add_us\n" \
            "a100,8,2,1024,4096,True,256,4,12.5\n"
MICRO = ("MICRO\n1\n"
         "compute -1 1000000 NONE 0 1000000 NONE 0 1000000 ALLREDUCE 1048576 5000\n")


def alone():
    """A trace that takes part in no collective."""
    trace = make_traces.Trace()
    trace.node(make_traces.COMP, "work", [], micros=5, is_cpu_op=False)
    return trace.bytes()


def files():
    """Of every kind that examples of --help name."""
    traces = {f"traces/rank.{rank}.et": small_trace() for rank in range(2)}
    return {"job.yaml": TRAINING, "a100.yaml": TRAINING, "h100.yaml": TRAINING.replace("a100", "h100"),
            "large.yaml": LARGE, "sweep.yaml": SWEEP, "traces/groups.json": '{"all": [0, 1]}', **traces,
            "rank.0.et": small_trace(), "rank.1.et": small_trace(), "replay.yaml": JOB,
            "stuck.yaml": JOB.replace("prefix: rank", "prefix: stuck"), "stuck.0.et": small_trace(),
            "stuck.1.et": alone(), "mine.csv": OPERATORS, "resnet.txt": MICRO,
            "my-device.yaml": (SOURCE / "configs" / "devices" / "a40.yaml").read_text(),
            "all-pairs-8.xml": (SOURCE / "docs" / "examples" / "all-pairs-8.xml").read_text(),
            "system.xml": (SOURCE / "docs" / "examples" / "machines" / "hgx-h100.xml").read_text(),
            "graphs.xml": (SOURCE / "docs" / "examples" / "machines" / "hgx-h100-graphs.xml").read_text(),
            "showtopo.txt": (SOURCE / "docs" / "examples" / "machines" / "mi300x-showtopo.txt").read_text(),
            "launch.sh": (SOURCE / "docs" / "examples" / "launch_scripts" / "llama3_8b_fp8.sh").read_text(),
            **{f"ar.{rank}.et": small_trace() for rank in range(2)}, "s.json": broken_astra.system(),
            "n.yml": broken_astra.network(npus_count="[ 2 ]"), "network.yml": broken_astra.network(),
            "m": json.dumps(broken_astra.MEMORY),
            "my-cluster.yaml": (SOURCE / "configs" / "clusters" / "dgx-a100.yaml").read_text()}


def run_with_input(program, arguments, folder, content):
    """Standard input through a pipe."""
    done = subprocess.run([program.path, *arguments], cwd=folder, input=content.encode() if isinstance(content, str) else content,
                          capture_output=True, timeout=60 * PATIENCE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def check_general_options(program, checks, folder):
    for line in ("-v run replay.yaml", "run -v replay.yaml", "run replay.yaml -v", "run replay.yaml --verbose"):
        outcome = program.run(line.split(), folder)
        checks.check(outcome.code == 0 and "events" in outcome.stderr, f"`{line}` logs progress", outcome.stderr)
    for line in ("run replay.yaml", "-q run replay.yaml --out quiet", "run replay.yaml --out quiet -q",
                 "run replay.yaml --quiet --out quiet"):
        outcome = program.run(line.split(), folder)
        checks.check(outcome.code == 0 and not outcome.stderr, f"`{line}` logs nothing", outcome.stderr)
    outcome = program.run(["run", "large.yaml", "-q"], folder)
    checks.check(outcome.code == 5 and "needs" in outcome.stderr, "-q leaves errors", outcome.stderr)
    own = program.run(["run", "-h"], folder).stdout
    for line in ("run job.yaml -h", "-v run job.yaml --nodes 2 --help", "run --json - -h", "-q run -h"):
        outcome = program.run(line.split(), folder)
        checks.check(outcome.code == 0 and outcome.stdout == own, f"`{line}` prints the help of run", outcome.stdout)
    for line, hint in (("rnu job.yaml", "'run'"), ("rnu --help", "'run'"), ("workload inspct rank", "'inspect'"),
                       ("workload inspct --help", "'inspect'"), ("work", "'workload'"), ("run job.yaml --jsn -", "'--json'"),
                       ("calib -h", "'calibrate'")):
        outcome = program.run(line.split(), folder)
        checks.check(outcome.code == 2 and "error: unknown" in outcome.stderr and f"did you mean {hint}?" in outcome.stderr
                     and not outcome.stdout, f"`{line}` suggests {hint}", outcome.stderr)


def check_nodes(program, checks, folder):
    for command in (["run", "job.yaml"], ["sweep", "sweep.yaml"], ["compare", "a100.yaml", "h100.yaml"]):
        wide = [str(word) for word in (*command, "--set", "workload.parallel={tensor: 8, data: 2}", "--json", "-")]
        named, as_key = (program.run([*wide, *nodes], folder).stdout for nodes in (["--nodes", "2"], ["--set", "nodes=2"]))
        same = [re.sub(r'"(wall_s|peak_rss_bytes)": .*', "", text) for text in (named, as_key)]
        checks.check(same[0] == same[1] and same[0], f"--nodes of {command[0]} sets nodes", same[0][:400])
        checks.check(program.run(wide, folder).code == 2, f"{command[0]}: 16 ranks do not fit one node")
    document = json.loads(program.run(["run", "job.yaml", "--nodes", "4", "--json", "-"], folder).stdout)
    checks.check(document["experiment"]["nodes"] == 4, "run --nodes 4 has 4 nodes", document["experiment"])
    wide = ["--set", "workload.parallel={tensor: 8, data: 2}"]
    for command in (["check", "job.yaml"], ["workload", "generate", "job.yaml", "-o", "wide"]):
        codes = [program.run([*command, *wide, *nodes], folder).code for nodes in ([], ["--nodes", "2"])]
        checks.check(codes == [2, 0], f"--nodes of {command} sets nodes", codes)


def check_suggestions(program, checks, folder):
    for arguments, hint in (
            (["run", "job.yaml", "--set", "workload.model=llama3"], "did you mean one of llama3-8b, llama3-70b, llama3-405b, llama3-debug?"),
            (["model", "show", "llama3"], "did you mean one of llama3-8b, llama3-70b, llama3-405b, llama3-debug?"),
            (["cluster", "show", "h100"], "dgx-h100"),
            (["run", "job.yaml", "--set", "cluster.node.device=h100"], "did you mean one of h100-pcie, h100-sxm, h100-sxm-96gb?"),
            (["run", "job.yaml", "--set", "workload.batch.mic=2"], "did you mean 'micro'?"),
            (["cluster", "show", "dgx-a800"], "did you mean one of a800-pcie, hgx-a800?"),
            (["model", "show", "meta-llama/Meta-Llama-3-70B"], "did you mean 'llama3-70b'?"),
            (["run", "job.yaml", "--set", "workload.model=meta-llama/Meta-Llama-3-70B"], "did you mean 'llama3-70b'?"),
            (["list", "model"], "did you mean 'models'?"), (["list", "top"], "did you mean 'topologies'?")):
        outcome = program.run(arguments, folder)
        checks.check(outcome.code == 2 and hint in outcome.stderr, f"`{' '.join(arguments)}`: {hint}", outcome.stderr)


# What a result says of the files that it comes from.
PROVENANCE = re.compile(r'^  "provenance": \{.*?^  \},?\n', re.M | re.S)


def check_standard_input(program, checks, folder):
    """A file through a pipe gives what the file gives; a path in it starts from the working directory."""
    files_of = {"job.yaml": ["run", "{}", "--json", "-", "--deterministic"], "replay.yaml": ["run", "{}"],
                "sweep.yaml": ["sweep", "{}"], "resnet.txt": ["workload", "import", "{}", "--ranks", "2", "-o", "imported"],
                "a100.yaml": ["workload", "generate", "{}", "-o", "generated"],
                "mine.csv": ["validate", "--compute-table", "{}"]}
    for file, command in files_of.items():
        named = program.run([word.format(file) for word in command], folder)
        code, text, said = run_with_input(program, [word.format("-") for word in command], folder,
                                          (Path(folder) / file).read_bytes())
        stem = Path(file).stem
        text, named.stdout = (PROVENANCE.sub("", each) for each in (text, named.stdout))
        same = " ".join(text.split()) == " ".join(named.stdout.replace(file, "stdin").replace(f" {stem} ", " stdin ").split())
        checks.check(code == 0 and named.code == 0 and same, f"`{' '.join(command)}` reads {file} from standard input",
                     f"{code}\n{said}\n{text}\n{named.stdout}\n{named.stderr}")
    for file, kind in (("job.yaml", "experiment"), ("sweep.yaml", "sweep"), ("my-device.yaml", "device"), ("rank.0.et", "trace")):
        code, text, said = run_with_input(program, ["check", "-"], folder, (Path(folder) / file).read_bytes())
        checks.check(code == 0 and text.startswith(f"/dev/stdin: ok ({kind})"), f"`check -` takes {file} for a {kind}", text + said)
    code, text, said = run_with_input(program, ["compare", "job.yaml", "-"], folder, TRAINING.replace("a100", "h100"))
    checks.check(code == 0 and "stdin" in text, "compare reads one of its files from standard input", said)
    code, text, said = run_with_input(program, ["compare", "-", "-"], folder, TRAINING)
    checks.check(code == 2 and "standard input is named twice" in said, "standard input is one file at most", said)
    code, text, said = run_with_input(program, ["run", "-"], folder, TRAINING + "flavour: 3\n")
    checks.check(code == 2 and "/dev/stdin:7:1: error: unknown key 'flavour'" in said, "an error names the line", said)
    code, text, said = run_with_input(program, ["check", "-"], folder, "cluster: [\n")
    checks.check(code == 2 and "/dev/stdin:" in text and "YAML" in text, "broken YAML is no trace", text + said)
    log = program.run(["collective", "--cluster", "dgx-a100", "--op", "all_reduce", "-b", "8", "-e", "8G", "--json", "-"], folder)
    code, text, said = run_with_input(program, ["calibrate", "-", "--cluster", "dgx-a100", "--launch", "mpi", "--version",
                                                "2.30", "--out", "again.yaml", "--json", "-"], folder, log.stdout)
    document = json.loads(text) if code == 0 else {}
    checks.check(document.get("schema") == "orrery.calibration/2" and len(document["rows"]) == 31 and document["unfitted"],
                 "calibrate reads a log from standard input", said)
    with open(Path(folder) / "job.yaml") as stdin:
        done = subprocess.run([program.path, "run", "-", "--json", "job.yaml"], cwd=folder, stdin=stdin, capture_output=True)
    checks.check(done.returncode == 2 and b"written over" in done.stderr and (Path(folder) / "job.yaml").read_text() == TRAINING,
                 "standard input is not written over", done.stderr)


ANSWERS = {  # command: the schema of its document
    "run job.yaml": "orrery.result/1", "compare a100.yaml h100.yaml": "orrery.comparison/1",
    "sweep sweep.yaml": "orrery.sweep/1", "search job.yaml": "orrery.search/1", "check job.yaml": "orrery.check/1", "list models": "orrery.list/1",
    "run job.yaml --set perturb.jitter.sigma=2% --seeds 2": "orrery.seeds/1",
    "goodput job.yaml --mtbf 9999h --restart 1min --checkpoint-time 5s": "orrery.goodput/1",
    "model show dlrm": "orrery.model/1", "cluster show dgx-a100": "orrery.cluster/1",
    "collective --cluster dgx-a100 --op all_gather -b 1M": "orrery.collective/1",
    "collective --cluster dgx-a100 --op all_gather -b 1M --algo direct --steps": "orrery.steps/1",
    "workload inspect rank": "orrery.workload/1", "workload lint rank": "orrery.lint/1",
    "validate --compute-table mine.csv": "orrery.validation/1"}


def check_outputs(program, checks, folder):
    for line, schema in ANSWERS.items():
        command = line.split()
        printed = program.run([*command, "--json", "-"], folder)
        document = json.loads(printed.stdout) if printed.code == 0 else {}
        checks.check(document.get("schema") == schema, f"`{line} --json -` prints {schema}", printed.stdout[:300] + printed.stderr)
        outcome = program.run([*command, "--json", "answer.json", "--out", f"out/{schema}"], folder)
        written = {str(path.relative_to(folder)): path.stat().st_size for path in
                   (Path(folder) / "answer.json", *(Path(folder) / "out" / schema).iterdir()) if path.is_file()}
        said = dict(re.findall(r"^wrote (\S+) \((.*)\)$", outcome.stderr, re.M))
        points = {path for path in written if re.search(r"result-\d+.json$", path)}
        checks.check(set(said) == set(written) - points, f"`{line}` says what it wrote", f"{outcome.stderr}\n{written}")
        checks.check(all(said[path] == size_text(written[path]) for path in said), f"`{line}` says its size", outcome.stderr)
        kept = (Path(folder) / f"out/{schema}/result.json").read_text()
        checks.check(json.loads(kept).get("schema") == schema and (Path(folder) / "answer.json").read_text() == kept,
                     f"`{line}`: --json and --out hold the same document")
        text = Path(folder) / "out" / schema / ("table.txt" if command[0] == "sweep" else "summary.txt")
        checks.check(text.read_text() == outcome.stdout and outcome.stdout, f"`{line}`: the folder holds what is printed")
    for line in ("workload generate job.yaml --out made", "workload import resnet.txt --ranks 2 -o made2"):
        outcome = program.run([*line.split(), "--json", "-"], folder)
        made = json.loads(outcome.stdout)
        traces = list((Path(folder) / Path(made["prefix"]).parent).glob("*"))
        checks.check(made["schema"] == "orrery.traces/1" and len(traces) == made["ranks"] + 1
                     and sum(path.stat().st_size for path in traces) == made["bytes"] and "wrote made" in outcome.stderr,
                     f"`{line}` tells what it wrote", outcome.stdout + outcome.stderr)


def size_text(size):
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def check_failures(program, checks, folder):
    """{"error": ...} on standard output or in the file, the exit code and the text on standard error as without --json."""
    write_files(folder, {"bad.yaml": TRAINING.replace("nodes: 1", "nods: 1")})
    for line, code, found in (
            ("run bad.yaml", 2, {"file": "bad.yaml", "line": 2, "column": 1, "hint": "did you mean 'nodes'?"}),
            ("run large.yaml", 5, {"file": "large.yaml", "line": 4, "rank": 0}),
            ("run stuck.yaml", 3, {}), ("run absent.yaml", 2, {}), ("run", 2, {"message": "experiment is required"}),
            ("run job.yaml --fly", 2, {"message": "unknown option '--fly'"}), ("fly", 2, {"message": "unknown command 'fly'"}),
            ("compare job.yaml large.yaml", 5, {"file": "large.yaml"}), ("compare job.yaml stuck.yaml", 3, {}),
            # What can be refused is refused before the first simulation, which would find out that nothing goes on.
            ("compare stuck.yaml large.yaml", 5, {"file": "large.yaml"}),
            ("compare stuck.yaml bad.yaml", 2, {"file": "bad.yaml"}),
            ("model show llama", 2, {}), ("cluster show h100", 2, {}), ("list planets", 2, {}),
            ("workload generate large.yaml -o no", 5, {}), ("workload inspect nowhere", 2, {}),
            ("collective --cluster dgx-a100 --op fly", 2, {"file": "--op"}),
            ("check large.yaml", 5, {"file": "large.yaml", "line": 4}), ("check stuck.yaml", 3, {}),
            ("workload lint stuck", 3, {}), ("check bad.yaml large.yaml", 2, {"file": "bad.yaml"}),
            ("sweep sweep.yaml --set workload.model=gpt3-175b --set workload.parallel.tensor=1", 5, {"file": "sweep.yaml"}),
            ("validate --compute-table job.yaml", 2, {})):
        plain, told = (program.run([*line.split(), *json_], folder) for json_ in ([], ["--json", "-"]))
        checks.check(plain.code == told.code == code, f"`{line}`: exit {code}", f"{plain.code} {told.code}\n{told.stderr}")
        checks.check(plain.stderr == told.stderr, f"`{line}`: --json changes nothing of standard error", told.stderr)
        try:
            document = json.loads(told.stdout)
        except ValueError:
            checks.check(False, f"`{line}`: a document is printed", told.stdout)
            continue
        error = document.get("error", {})
        checks.check(error.get("exit_code") == code and error.get("message")
                     and found.items() <= error.items(), f"`{line}`: what the error says", json.dumps(document)[:600])
        checks.check(line.split()[0] in ("check", "workload") and "lint" in line or "check" in line
                     or document["schema"] == "orrery.error/1", f"`{line}`: the schema", document)
    program.run(["run", "bad.yaml", "--json", "error.json"], folder)
    written = json.loads((Path(folder) / "error.json").read_text())
    checks.check(written["error"]["line"] == 2, "a failure goes into the file of --json", written)
    precious = TRAINING + "# precious\n"
    write_files(folder, {"precious.yaml": precious})
    program.run(["run", "bad.yaml", "--json", "precious.yaml"], folder)
    program.run(["run", "precious.yaml", "--fly", "--json", "precious.yaml"], folder)
    checks.check((Path(folder) / "precious.yaml").read_text() == precious, "a failure replaces no file but Orrery's own")


def check_memory(program, checks, folder):
    for line, code in (("run large.yaml", 5), ("check large.yaml", 5), ("workload generate large.yaml -o big", 5),
                       ("sweep sweep.yaml --set workload.model=gpt3-175b --set workload.parallel.tensor=1", 5)):
        outcome = program.run(line.split(), folder)
        checks.check(outcome.code == code and "of memory" in outcome.stderr + outcome.stdout, f"`{line}`: exit {code}",
                     f"{outcome.code}\n{outcome.stderr}")
    outcome = program.run(["run", "large.yaml", "--allow-oom"], folder)
    checks.check(outcome.code == 0, "--allow-oom simulates it", outcome.stderr)


def check_models(program, checks, folder):
    shown = {item["name"]: item for item in json.loads(program.run(["list", "models", "--json", "-"], folder).stdout)["items"]}
    checks.check(shown["llama3-8b"]["parameters"] == 8030261248 and shown["llama3-8b"]["layers"] == 32
                 and shown["llama3-8b"]["hidden"] == 4096, "list models has numbers", shown["llama3-8b"])
    for name, item in shown.items():
        model = json.loads(program.run(["model", "show", name, "--json", "-"], folder).stdout)
        checks.check(sum(model["parts"].values()) == model["parameters"] == item["parameters"],
                     f"model show {name}: the parts make up the model", model)
        checks.check(model["active_parameters"] <= model["parameters"] or name == "dlrm", f"model show {name}: active", model)
        for memory in model["memory"]:
            state = 8 if memory["precision"] == "fp32" else 12
            checks.check(memory["optimizer_bytes"] == state * model["parameters"], f"model show {name}: Adam's state", memory)
    mixtral = json.loads(program.run(["model", "show", "mixtral-8x7b", "--json", "-"], folder).stdout)
    # Two of eight experts: 46.7 - 6/8 of 45.1 billion.
    checks.check(abs(mixtral["active_parameters"] / 12.88e9 - 1) < 0.01, "experts of a token are active", mixtral)
    llama = json.loads(program.run(["model", "show", "llama3-8b", "--json", "-"], folder).stdout)
    # 6 FLOPs a weight without the table that is only looked up, 12 * layers * hidden * sequence of attention.
    by_hand = 6 * (8030261248 - 128256 * 4096 - 65 * 4096) + 12 * 32 * 4096 * 8192
    checks.check(llama["flops_per_token"] == by_hand, "FLOPs per token", f"{llama['flops_per_token']} {by_hand}")
    text = program.run(["model", "show", "llama3-8b"], folder).stdout
    for said in ("8.03 B parameters", "attention", "bf16", "per token"):
        checks.check(said in text, f"model show prints {said}", text)
    write_files(folder, {"own.yaml": (SOURCE / "configs" / "models" / "llama3-8b.yaml").read_text()})
    checks.check(program.run(["model", "show", "own.yaml"], folder).code == 0, "model show takes a file")
    devices = json.loads(program.run(["list", "devices", "--json", "-"], folder).stdout)["items"]
    a100 = next(item for item in devices if item["name"] == "a100-sxm-80gb")
    checks.check((a100["memory_bytes"], a100["peak_flops"], a100["memory_bandwidth"]) == (80 * 10**9, 312 * 10**12, 2039 * 10**9),
                 "list devices has numbers", a100)
    clusters = json.loads(program.run(["list", "clusters", "--json", "-"], folder).stdout)["items"]
    nvl72 = next(item for item in clusters if item["name"] == "gb200-nvl72")
    checks.check((nvl72["devices_per_node"], nvl72["network"], nvl72["device"]) == (72, "infiniband", "gb200"),
                 "list clusters has numbers", nvl72)
    studies = json.loads(program.run(["list", "studies", "--json", "-"], folder).stdout)["items"]
    checks.check({item["kind"] for item in studies} == {"experiment", "sweep"} and all(item["about"] for item in studies),
                 "list studies has kinds and titles", studies)


def commands_below(program, folder, command=()):
    """{command: its --help}, of those without commands below."""
    text = program.run([*command, "--help"], folder).stdout
    below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
    if not below:
        return {command: text}
    found = {}
    for name in re.findall(r"^  (\w\S*)", below.group(1), re.M):
        found.update(commands_below(program, folder, (*command, name)))
    return found


def check_help(program, checks, folder):
    """Every command shows examples, which run, and says everything on one line."""
    log = program.run(["collective", "--cluster", "dgx-a100", "--nodes", "2", "--op", "all_reduce", "-b", "8", "-e", "1G",
                       "--json", "-"], folder).stdout
    write_files(folder, {"all_reduce.log": log, "times.csv": "size_bytes,oop_time_us,ip_time_us\n" + "".join(
        f"{1 << k},{20 + (1 << k) / 2e5:.2f},N/A\n" for k in range(3, 30))})
    write_files(folder, {"kernels.csv": "m,n,k,time_us\n4096,4096,4096,600\n8192,8192,8192,4600\n8192,8192,4096,2300\n"})
    tools = Path(folder) / "tools"
    for name in ("jq", "dot"):
        write_files(folder, {f"tools/{name}": "#!/bin/sh\nexec cat > /dev/null\n"})
        (tools / name).chmod(0o755)
    (tools / "orrery").symlink_to(program.path)
    helps = commands_below(program, folder)
    checks.check(len(helps) >= 14 and ("model", "show") in helps, "commands are found", helps.keys())
    for command, text in helps.items():
        examples = re.findall(r"^  (orrery .*)$", text.partition("\nExamples:\n")[2], re.M)
        checks.check(examples and all(line.startswith(" ".join(("orrery", *command))) for line in examples),
                     f"{command}: --help has examples", text)
        wide = [line for line in text.splitlines() if len(line) > 140 and " Excludes: " not in line]
        checks.check(not wide, f"{command}: --help says everything on one line", "\n".join(wide))
        for line in examples:
            if "validate" in line and "--compute-table" not in line or "rank0.json" in line:
                continue  # minutes of work, and profiles, which jobs_test.py has
            done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=folder, capture_output=True, text=True,
                                  timeout=120 * PATIENCE,
                                  env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
            checks.check(done.returncode == 0, f"`{line}` runs", done.stdout[-300:] + done.stderr)
    checks.check(".SH NOTES" in program.run(["man"], folder).stdout and "5 the job does not fit" in program.run(["man"], folder).stdout,
                 "the man page has all exit codes")


def main():
    program = Program(sys.argv[1])
    checks = Checks()
    for part in (check_general_options, check_nodes, check_suggestions, check_standard_input, check_outputs, check_failures,
                 check_memory, check_models, check_help):
        with scratch_folder() as folder:
            write_files(folder, files())
            part(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
