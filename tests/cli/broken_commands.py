"""Broken command lines, and settings given on them."""
from error_row import JOB, Row

TITLE = "Command line"


def setting(text, *message, code=2):
    return Row(f"`--set {text}`", code, list(message), ["run", "job.yaml", "--set", text])


ROWS = [
    Row("No command", 2, ["A subcommand is required", "--help"], []),
    Row("An unknown command", 2, ["unknown command or option 'fly'", "--help"], ["fly"]),
    Row("An unknown option", 2, ["--fly", "--help"], ["run", "job.yaml", "--fly"]),
    Row("No experiment", 2, ["experiment is required"], ["run"]),
    Row("An option without its value", 2, ["--json"], ["run", "job.yaml", "--json"]),
    Row("A list of what there is not", 2, ["planets", "algorithms", "devices"], ["list", "planets"]),
    Row("One experiment to compare", 2, ["experiments", "At least 2"], ["compare", "job.yaml"]),
    Row("An unknown kind of dependencies", 2, ["dependencies", "both", "data", "ctrl"],
        ["workload", "lint", "rank", "--dependencies", "none"]),
    Row("A file that is not there", 2, ["cannot read 'nowhere.yaml': there is no such file"], ["run", "nowhere.yaml"]),
    Row("A folder in place of a file", 2, ["cannot read 'folder.yaml': it is a folder"], ["run", "folder.yaml"],
        {"folder.yaml": None}),
    Row("An endless file", 2, ["/dev/zero", "larger than 16 MiB"], ["run", "/dev/zero"]),
    Row("A result that cannot be written", 2,
        ["nowhere/result.json: error: cannot be written: No such file or directory"],
        ["run", "job.yaml", "--json", "nowhere/result.json"]),
    Row("A file in place of the folder for results", 2, ["job.yaml: error: the folder cannot be made",
                                                         "Not a directory"],
        ["run", "job.yaml", "--out", "job.yaml"]),
    Row("The second of two experiments is broken", 2, ["other.yaml:2:1: error: unknown key 'nods'",
                                                       "did you mean 'nodes'?"],
        ["compare", "job.yaml", "other.yaml"],
        {"other.yaml": "cluster: dgx-a100\nnods: 2\nworkload: {chakra: {prefix: rank}}\n"}),
    Row("`check` looks at every file", 2, ["bad.yaml:1:1: error: unknown key 'flavour'", "job.yaml: ok (experiment)"],
        ["check", "bad.yaml", "job.yaml"], {"bad.yaml": "flavour: 3\n" + JOB}, answers=True),
    Row("`check` of what is neither a configuration nor a trace", 2,
        ["notes.txt: error: frame 0 at byte 0", "this is a text file; a trace is a .et file"], ["check", "notes.txt"],
        {"notes.txt": "remember the milk\n"}, answers=True),
    setting("nodes", "--set nodes: error: expected key.path=value", "for example"),
    setting("=3", "--set =3: error: expected key.path=value"),
    setting("nodes=", "--set nodes=: error: no value after '='"),
    setting("nodes=~", "--set nodes=~", "'nodes' has no value"),
    setting("a..b=1", "--set a..b=1: error", "empty"),
    setting("workload.=1", "--set workload.=1: error", "empty"),
    setting("nods=2", "--set nods=2: error: unknown key 'nods'", "did you mean 'nodes'?"),
    setting("cluster.dims.1.size=4", "'1' is not an element of a list of 1", "elements count from 0"),
    setting("cluster.dims.0.size.x=4", "'x' goes into a value that is a plain value"),
    setting("cluster.dims.0.size=[", "--set cluster.dims.0.size=[", "not valid YAML"),
    setting("cluster.dims.0.size=2 GB", "--set cluster.dims.0.size=2 GB: error", "'2 GB' is not a whole number"),
    setting("cluster.device.peak.bf16=9", "--set cluster.device.peak.bf16=9: error", "'9' has no unit", "312 TFLOP/s"),
    setting("cluster.device.peek.bf16=9 TFLOP/s", "unknown key 'peek' in 'cluster.device'", "did you mean 'peak'?"),
    setting("cluster=dgx-a10", "no 'dgx-a10' among the shipped clusters", "did you mean 'dgx-a100'?"),
    setting("workload.chakra.groups=nowhere.json", "nowhere.json: error: cannot be opened"),
]
