# SPDX-License-Identifier: MIT
"""Broken traces and groups files, and sound ones that do not fit together."""
import gzip
import json

from error_row import ABSENT, JOB, Row, make_traces, small_trace

TITLE = "Traces"

COMP, SEND, RECV, COLL = make_traces.COMP, make_traces.SEND, make_traces.RECV, make_traces.COLL
ALL_REDUCE, ALL_GATHER = make_traces.ALL_REDUCE, make_traces.ALL_GATHER
ON_NODES = "cluster: dgx-h100\nworkload: {chakra: {prefix: rank}}\n"
GROUPS = JOB.replace("{prefix: rank}", "{prefix: rank, groups: groups.json}")
MINUS_ONE = 2**64 - 1  # as protobuf writes it


def trace_of(*nodes):
    """A trace of (type, dependencies, attributes), each node with a microsecond of its own where it computes."""
    trace = make_traces.Trace()
    for kind, after, attributes in nodes:
        trace.node(kind, f"n{len(trace.nodes)}", after, micros=1 if kind == COMP else 0, is_cpu_op=False, **attributes)
    return trace.bytes()


def bytes_after(metadata, *messages):
    return b"".join(make_traces.varint(len(m)) + m for m in (metadata, *messages))


def call(**attributes):
    return (COLL, [], {"comm_type": ALL_REDUCE, "comm_size": 1 << 20, "pg_name": "", **attributes})


def without(node, name):
    return (node[0], node[1], {key: value for key, value in node[2].items() if key != name})


def send(**attributes):
    return (SEND, [], {"comm_size": 1000, "comm_dst": 1, "comm_tag": 0, **attributes})


def receive(**attributes):
    return (RECV, [], {"comm_size": 1000, "comm_src": 0, "comm_tag": 0, **attributes})


def file(what, content, *message, name="rank.0.et"):
    """Rank 0's file is broken."""
    return Row(what, 2, [f"{name}: error: ", *message], files={name: content})


def node(what, broken, *message):
    """Rank 0 has one broken node."""
    return Row(what, 2, ["rank.0.et: error: ", "node 0 \"n0\"", *message], files={"rank.0.et": trace_of(broken)})


def groups(what, content, *message):
    return Row(what, 2, ["groups.json", *message], files={"job.yaml": GROUPS, "groups.json": content})


def disagree(what, first, second, *message, job=JOB, code=3, **files):
    """The files of two ranks, each right by itself."""
    return Row(what, code, list(message), files={"job.yaml": job, "rank.0.et": first, "rank.1.et": second, **files})


def numbered(number, kind=COMP, after=()):
    return make_traces.number_field(1, number) + make_traces.bytes_field(2, b"n") + make_traces.number_field(3,
            kind) + \
        (make_traces.bytes_field(5, bytes(after)) if after else b"") + make_traces.number_field(7, 1)


def declaring(groups, *nodes):
    """A trace that declares process groups as PyTorch does, and has further nodes."""
    trace = make_traces.Trace()
    values = make_traces.bytes_field(1, groups.encode())
    trace.nodes.append(make_traces.bytes_field(2, b"## process_group:init ##") + make_traces.number_field(3, 1) +
                       make_traces.bytes_field(8, values))
    for kind, after, attributes in nodes:
        trace.node(kind, f"n{len(trace.nodes)}", after, is_cpu_op=False, **attributes)
    return trace.bytes()


METADATA = make_traces.bytes_field(1, b"0.0.4")
# A node of schema 0.0.1: id, name, type, a parent each in a field of its own, and simulation fields from 12 on.
OLD = b"\x08\x00\x12\x01x\x18\x03\x20\x00\x60\x05"

FILES = [
    Row("No traces", 2, ["nowhere.0.et: error: no trace of rank 0, nor of any other rank"],
        files={"job.yaml": JOB.replace("rank", "nowhere")}),
    Row("A folder in place of a prefix", 2,
        ["traces.0.et: error: no trace of rank 0", "hint: prefixes in this folder: traces/rank"],
        files={"job.yaml": JOB.replace("rank", "traces"), "traces/rank.0.et": small_trace()}),
    Row("A prefix in a folder that is not there", 2, ["nowhere/rank.0.et: error: no trace of rank 0",
                                                      "hint: there is no folder nowhere"],
        files={"job.yaml": JOB.replace("rank", "nowhere/rank")}),
    Row("A trace in place of an experiment", 2,
        ["rank.0.et: error: this is a Chakra trace of one rank, not an experiment",
         "workload: {chakra: {prefix: rank}}", "`orrery workload inspect rank`"], ["run", "rank.0.et"]),
    Row("The prefix of another folder's traces", 2, ["no trace of rank 0", "rank"],
        files={"job.yaml": JOB.replace("rank", "ran")}),
    Row("No trace of rank 1 of 3", 2, ["rank.1.et: error: no trace of rank 1: found ranks 0 and 2"],
        files={"rank.1.et": ABSENT, "rank.2.et": small_trace()}),
    Row("A rank beyond all numbers", 2, ["rank.2.et: error: no trace of rank 2: found ranks 0-1 and 4294967295"],
        files={"rank.4294967296.et": trace_of(call())}),
    Row("The last rank's trace is not there", 2,
        ["rank.0.et: error: the trace is of a world of 3: there is no trace of rank 2: rank has those of ranks 0-1"],
        files={f"rank.{rank}.et": make_traces.every_collective(3)[rank].bytes(3) for rank in range(2)}),
    Row("A process group of a rank that is not there", 2,
        ["rank.0.et: error: process group \"0\" is of a world of 3: there is no trace of rank 2: rank has those of ranks 0-1"],
        files={"rank.0.et": declaring('[{"pg_name": "0", "ranks": [], "group_size": 3}]')}),
    Row("Ranks that count from 1", 2, ["rank.0.et: error: no trace of rank 0"],
        files={"rank.0.et": ABSENT, "rank.2.et": small_trace()}),
    Row("A prefix with control characters", 2, ["r\\x1B[31m\\x0Ak.0.et: error: no trace of rank 0"],
        files={"job.yaml": JOB.replace("prefix: rank", "prefix: \"r\\x1b[31m\\nk\"")}),
    Row("Two traces of a rank", 2, ["rank 0 has two traces: rank.0.et and rank.0.json"], files={"rank.0.json": "{}"}),
    Row("A folder called rank.0.et", 2, ["rank.0.et"], files={"rank.0.et": None}),
    file("An empty trace", b"", "the file is empty", "Chakra"),
    file("A trace without nodes", bytes_after(METADATA), "there is no node in this trace"),
    file("A trace cut in a node", small_trace()[:-9], "frame 2", "byte"),
    file("A trace cut in the length of a node", small_trace() + b"\x80", "the file ends inside the length of a frame"),
    file("A trace with zeros at the end", small_trace() + b"\0" * 64, "zero bytes"),
    file("Text in place of a trace", b"remember the milk\n" * 9, "frame 0 at byte 0", "this is a text file"),
    file("Random bytes in place of a trace", bytes(i * i * 37 % 251 for i in range(999)),
         "not a node message of schema 0.0.4", "is this a Chakra .et file?"),
    file("Gzip data that is cut", gzip.compress(small_trace(), mtime=0)[:-20],
         "is truncated: the gzip data ends before its end mark"),
    file("Gzip data with a wrong byte", gzip.compress(small_trace(), mtime=0)[:-8] + b"\0" * 8,
         "has corrupt gzip data"),
    file("Gzip data of no trace", gzip.compress(b"remember the milk\n" * 9, mtime=0), "frame 0 at byte 0",
         "this is a text file"),
    file("A trace of schema 0.0.1", bytes_after(OLD, OLD), "Chakra schema 0.0.1",
         "schema 0.0.4 (2023-10) or newer is needed"),
    file("A node type that does not exist", bytes_after(METADATA, numbered(0, 8)), "unknown node type", "type 8"),
    Row("JSON that is no trace", 2, ["rank.0.json:1:1: error: this JSON object gives nothing of a node",
                                     "expected {\"id\": ..., \"name\": ..., ...}"],
        files={"rank.0.et": ABSENT, "rank.0.json": "{\"milk\": 3}"}),
    Row("A PyTorch execution trace", 2, ["rank.0.json: error: this is a PyTorch execution trace (schema \"1.0.1\")",
                                         "orrery workload import"],
        files={"rank.0.et": ABSENT, "rank.0.json": json.dumps({"schema": "1.0.1", "pid": 7, "nodes": [
            {"name": "aten::mm", "id": 5, "rf_id": 3, "parent": 4, "op_schema": "", "inputs": [[1, 2]], "outputs": []}]})}),
    Row("JSON that is cut", 2, ["rank.0.json:1:", "the file was cut"],
        files={"rank.0.et": ABSENT, "rank.0.json": "{\"nodes\": [{\"id\": 1,"}),
    Row("JSON with an unknown node type", 2, ["rank.0.json:1:", "\"type\" of this node is \"MILK\""],
        files={"rank.0.et": ABSENT, "rank.0.json": json.dumps({"version": "0.0.4"}) + json.dumps({"id": 1, "name": "n",
                "type": "MILK"})}),
]

NODES = [
    file("Two nodes with the same id", bytes_after(METADATA, numbered(3), numbered(3)), "two nodes with the same id",
         "node 3 \"n\""),
    file("A dependency on a node that is not there", bytes_after(METADATA, numbered(0, after=[7])),
         "dependency on an id that no node of the file has", "node 0 \"n\" on 7 (data)",
         "hint: nodes are missing: the file was cut, or they were removed from it"),
    file("A node that depends on itself", bytes_after(METADATA, numbered(1, after=[1])),
         "dependency of a node on itself", "node 1 \"n\""),
    file("Dependencies that form a cycle", bytes_after(METADATA, numbered(1, after=[2]), numbered(2, after=[1])),
         "the dependencies form a cycle", "(2 of 2 nodes are unreachable because of cycles)",
         "there is no cycle without the dependency of node 1"),
    file("Control dependencies that close a cycle", bytes_after(METADATA, numbered(1, after=[2]),
                                                                numbered(2) + make_traces.bytes_field(4, b"\x01")),
         "the dependencies form a cycle", "dependencies: data"),
    node("A collective without a size", without(call(), "comm_size"), "collective without comm_size",
         "re-export the trace"),
    node("A collective of negative size", call(comm_size=MINUS_ONE), "negative comm_size", "-1"),
    node("A collective without a kind", without(call(), "comm_type"), "collective without comm_type"),
    node("A collective of an unknown kind", call(comm_type=77), "collective with an unknown comm_type", "77",
         "0 (ALL_REDUCE) to 9 (BARRIER)"),
    node("A text where a number belongs", call(comm_size="big"), "comm_size", "string"),
    node("A send without its destination", without(send(), "comm_dst"), "send without comm_dst"),
    node("A receive without its source", without(receive(), "comm_src"), "receive without comm_src"),
    node("A send without its size", without(send(), "comm_size"), "send without comm_size"),
    node("A send to the rank itself", send(comm_dst=0), "comm_dst is the rank itself", "rank 0"),
    node("A send to a rank that is not there", send(comm_dst=9), "comm_dst out of range; there are 2 ranks", "9"),
    node("A send to a negative rank", send(comm_dst=MINUS_ONE), "comm_dst", "-1"),
    node("A communicator that is not defined", call(pg_name="tensor"), "communicator \"tensor\" is not defined"),
    node("A root that is no member", call(comm_type=make_traces.BROADCAST, root=5), "root", "5"),
]

CROSSED_GROUPS = {"groups.json": "{\"a\": [0, 1], \"b\": [0, 1]}"}
CALL_A = call(pg_name="a")[2]
CALLS_A = trace_of(call(pg_name="a"))
GROUP_FILES = [
    Row("A groups file that is not there", 2, ["groups.json: error: cannot be opened: No such file or directory"],
        files={"job.yaml": GROUPS}),
    groups("A folder in place of the groups file", None, "is a directory, expected a file"),
    groups("A groups file that is no JSON", "a: [0, 1]\n", "groups.json:1:1: error: not JSON"),
    groups("A groups file that is empty", "", "groups.json:1:1: error: not JSON"),
    groups("A groups file of a number with a quote behind", "2\"", "groups.json:1:1: error: the groups are 2"),
    groups("A groups file that is a list", "[[0, 1]]", "groups.json:1:1: error: the groups are",
           "expected {\"name\": [global ranks], ...}"),
    groups("A group that is a number", "{\"a\": 3}", "groups.json:1:7: error: group \"a\" is", "not a list of ranks"),
    groups("A group with a name in place of a rank", "{\"a\": [0, \"one\"]}", "groups.json:1:11: error: group \"a\":",
           "is not a rank"),
    groups("A group with a rank that is not there", "{\"a\": [0, 2]}",
           "groups.json:1:11: error: group \"a\": there is no trace of rank 2: rank has those of ranks 0-1",
           "the trace of rank 2 is missing, or the group lists one rank too many"),
    groups("A groups file of another job", json.dumps({str(g): [g, g + 4] for g in range(4)}),
           "groups.json:1:11: error: the groups are of ranks 0-7, rank has the traces of ranks 0-1",
           "hint: the file is that of another job, or traces are missing"),
    groups("A group with a rank twice", "{\"a\": [0, 0]}", "groups.json:1:11: error: group \"a\" has rank 0 twice"),
    groups("A group given twice", "{\"a\": [0],\n \"a\": [1]}", "groups.json:2:2: error: group \"a\" is given twice"),
    groups("A group without ranks", "{\"a\": []}", "groups.json:1:8: error: group \"a\" has no ranks"),
    Row("A misspelt communicator", 2, ["rank.0.et: error: communicator \"tensr\" is not defined",
                                       "did you mean \"tensor\"?"],
        files={"job.yaml": GROUPS, "groups.json": "{\"tensor\": [0, 1]}",
               "rank.0.et": trace_of(call(pg_name="tensr"))}),
    Row("A call by a rank that is no member", 2,
        ["rank.1.et: error: collective on communicator \"a\" by a rank that is not a member",
         "node 0 \"n0\" on rank 1", "hint: groups.json:2 lists rank 0 for it: add rank 1"],
        files={"job.yaml": GROUPS, "groups.json": "{\n\"a\": [0]}", "rank.0.et": CALLS_A, "rank.1.et": CALLS_A}),
    Row("A call by a rank that is no member, by the comm_group.json beside the traces", 2,
        ["rank.1.et: error: collective on communicator \"a\" by a rank that is not a member",
         "hint: comm_group.json:1 lists rank 0 for it: add rank 1"],
        files={"comm_group.json": "{\"a\": [0]}", "rank.0.et": CALLS_A, "rank.1.et": CALLS_A}),
    Row("A call by a rank that is no member of a process group", 2,
        ["rank.0.et: error: collective on communicator \"7\" by a rank that is not a member",
         "hint: the process groups of the traces list rank 1 for it; to say otherwise, workload.chakra.groups: FILE"],
        files={"rank.0.et": declaring('[{"pg_name": "7", "ranks": [1]}]', call(pg_name="7"))}),
    Row("A communicator with another number", 2, ["rank.0.et: error: communicator \"1\" is not defined",
                                                  "hint: known communicators in groups.json: \"10\"\n"],
        files={"job.yaml": GROUPS, "groups.json": "{\"10\": [0, 1]}", "rank.0.et": trace_of(call(pg_name="1"))}),
    Row("`workload lint` of a communicator without groups", 2,
        ["rank.0.et: error: communicator \"a\" is not defined", "hint: no groups file is given; name one: --groups FILE"],
        ["workload", "lint", "rank"], {"rank.0.et": CALLS_A, "rank.1.et": CALLS_A}, answers=True),
    Row("`workload lint` of a rank that is no member, by the comm_group.json beside the traces", 2,
        ["hint: comm_group.json:1 lists rank 0 for it: add rank 1"], ["workload", "lint", "rank"],
        {"comm_group.json": "{\"a\": [0]}", "rank.0.et": CALLS_A, "rank.1.et": CALLS_A}, answers=True),
]



def roles(what, content, *message, **files):
    return Row(what, 2, list(message), files={"rank.roles.json": content, "rank.0.et": CALLS_A, "rank.1.et": ABSENT,
                                              "groups.json": "{\"a\": [0], \"b\": [1]}", **files})


ROLE = '{"trace": 0, "groups": ["%s"], "peers": []}'
ROLES = '{"schema": "orrery.roles/1", "ranks": [\n' + ROLE % "a" + ",\n" + ROLE % "b" + "\n]}\n"

SHARED = [
    roles("A file of roles that is no JSON", "rank 0\n", "rank.roles.json:1:1: error: not JSON"),
    roles("A file of roles that is a list", "[]", "rank.roles.json:1:1: error: no file of roles", "hint: expected {\"schema\""),
    roles("A file of roles without its schema", ROLES.replace("orrery.roles/1", "roles"),
          "rank.roles.json:1:1: error: no file of roles"),
    roles("A file of roles without ranks", '{"schema": "orrery.roles/1", "ranks": []}', "error: there are no ranks"),
    roles("A role that is a number", ROLES.replace(ROLE % "b", "1"), "rank.roles.json:3:", "error: rank 1: is not an object"),
    roles("A role without a trace", ROLES.replace('{"trace": 0, "groups": ["b"]', '{"groups": ["b"]'),
          "rank.roles.json:3:1: error: rank 1: 'trace' is not a rank"),
    roles("A role whose trace is that of a later rank", ROLES.replace('0, "groups": ["a"]', '1, "groups": ["a"]'),
          "rank.roles.json:2:1: error: rank 0: 'trace' is a later rank"),
    roles("A role with a number for a group", ROLES.replace('"b"', "7"),
          "rank.roles.json:3:1: error: rank 1: 'groups' is not a list of names"),
    roles("A role with a name for a peer", ROLES.replace('["b"], "peers": []', '["b"], "peers": ["b"]'),
          "rank.roles.json:3:1: error: rank 1: 'peers' is not a list of ranks"),
    roles("A role with a group too many", ROLES.replace('"b"', '"b", "a"'),
          "rank.roles.json: error: rank 1 has 2 groups, and the trace of rank 0, which it shares, has 1"),
    roles("A role with a peer that its trace has not", ROLES.replace('["b"], "peers": []', '["b"], "peers": [0]'),
          "rank.roles.json: error: rank 1 has 1 peer, and the trace of rank 0, which it shares, has 0"),
    roles("A role on a group that is not defined", ROLES.replace('"b"', '"c"'), "rank.0.et: error: communicator \"c\" is not defined"),
    roles("A role on a group of others", ROLES.replace('"b"', '"a"'),
          "rank.0.et: error: collective on communicator \"a\" by a rank that is not a member"),
    roles("A role whose trace is not there", ROLES.replace('0, "groups": ["b"]', '1, "groups": ["b"]'),
          "rank.roles.json: error: rank 1 has the trace of rank 1, and there is no rank.1.et"),
    roles("A trace that no role has", ROLES, "rank.1.et: error: no rank has this trace", **{"rank.1.et": CALLS_A}),
]

TOGETHER = [
    disagree("Collectives of different kinds", trace_of(call()), trace_of(call(comm_type=ALL_GATHER)), "call 1",
             "all_reduce of 1048576 bytes",
             "all_gather of 1048576 bytes", "rank 0", "rank 1"),
    disagree("Collectives of different sizes", trace_of(call()), trace_of(call(comm_size=999)), "call 1",
             "all_reduce of 1048576 bytes",
             "all_reduce of 999 bytes"),
    disagree("A rank with fewer calls", trace_of(call(), call()), trace_of(call()), "call 2",
             "rank 1 never: only 1 call"),
    disagree("A group with a member too many", CALLS_A, trace_of((COMP, [], {})), "call 1", "rank 1 never: no call",
             "groups.json:1 lists these members; they may be too many", job=GROUPS,
             **{"groups.json": "{\"a\": [0, 1]}"}),
    disagree("A rank that stopped early", trace_of((COMP, [], {}), (COMP, [0], {}), (COLL, [1], CALL_A), (COMP, [2], {})),
             trace_of((COMP, [], {}), (COMP, [0], {})), "call 1",
             "rank 1 never: no call on this communicator; the trace of rank 1 ends after 2 nodes, with node 1 \"n1\", "
             "that of rank 0 after 4", job=GROUPS, **{"groups.json": "{\"a\": [0, 1]}"}),
    disagree("A rank that stopped before it received", trace_of((COMP, [], {}), send()), trace_of((COMP, [], {})),
             "1 send but 0 receives; the first without a receive is node 1 \"n1\" on rank 0; the trace of rank 1 ends "
             "after 1 node, with node 0 \"n0\", that of rank 0 after 2"),
    disagree("A choice of dependencies that a trace has none of, and what comes of it",
             trace_of(call(comm_type=ALL_GATHER), (COLL, [0], call()[2])),
             trace_of((COLL, [1], call()[2]), call(comm_type=ALL_GATHER)),
             "rank.0.et: warning: no node waits for another: the trace has no `ctrl` dependencies, and its `data` "
             "dependencies are ignored: node 1 \"n1\" on 0, node 0 \"n0\" on 1 [ranks 0-1]",
             "hint: choose them: workload.chakra.dependencies: data", "the ranks disagree",
             job=JOB.replace("{prefix: rank}", "{prefix: rank, dependencies: ctrl}")),
    disagree("A rank with no calls", trace_of(call()), trace_of((COMP, [], {})), "call 1", "rank 1 never: no call"),
    disagree("A send without its receive", trace_of(send()), trace_of((COMP, [], {})), "from rank 0 to rank 1, tag 0",
             "1 send but 0 receives",
             "node 0 \"n0\""),
    disagree("A receive without its send", trace_of((COMP, [], {})), trace_of(receive()),
             "from rank 0 to rank 1, tag 0", "0 sends but 1 receive"),
    disagree("A send and its receive with different tags", trace_of(send(comm_tag=4)), trace_of(receive(comm_tag=5)),
             "from rank 0 to rank 1, tag 4", "from rank 0 to rank 1, tag 5"),
    disagree("A send and its receive of different sizes", trace_of(send()), trace_of(receive(comm_size=900)),
             "transfer 1 is sent with 1000 bytes", "received with 900 bytes"),
    disagree("Two ranks that receive before they send",
             trace_of(receive(comm_src=1), (SEND, [0], {"comm_size": 1000, "comm_dst": 1, "comm_tag": 0})),
             trace_of(receive(), (SEND, [0], {"comm_size": 1000, "comm_dst": 0, "comm_tag": 0})),
             "the job is stuck at 0 ps: 2 of 2 ranks can never finish", "rank 0 waits in receive of 1000 B from rank 1",
             "rank 1 waits in receive of 1000 B from rank 0", "they wait for one another in a circle"),
    disagree("Two ranks that send more than NCCL's buffer before they receive",
             trace_of(send(comm_size=64 << 20), (RECV, [0], receive(comm_size=64 << 20, comm_src=1)[2])),
             trace_of(send(comm_size=64 << 20, comm_dst=0), (RECV, [0], receive(comm_size=64 << 20)[2])),
             "2 of 2 ranks can never finish", "rank 0 waits in send of 64.00 MiB to rank 1 (node 0 \"n0\")", "waits no more for",
             "rank 1 waits in send of 64.00 MiB to rank 0", "they wait for one another in a circle",
             "ncclGroupStart", job=ON_NODES),
    Row("`workload lint` of two ranks that send more than NCCL's buffer before they receive", 3,
        ["rank 0 waits in send of 64.00 MiB to rank 1", "rank 1 waits in send of 64.00 MiB to rank 0"],
        ["workload", "lint", "rank"], {
            "rank.0.et": trace_of(send(comm_size=64 << 20), (RECV, [0], receive(comm_size=64 << 20, comm_src=1)[2])),
            "rank.1.et": trace_of(send(comm_size=64 << 20, comm_dst=0), (RECV, [0], receive(comm_size=64 << 20)[2]))},
        answers=True),
    disagree("Two communicators called in opposite order (traces/crossed-groups-2)",
             *(t.bytes() for t in make_traces.crossed_groups()),
             "the job is stuck",
             "call 1 of 'a', all_reduce of 1.000 MiB: rank 0 has come, rank 1 has not",
             "call 1 of 'b', all_reduce of 1.000 MiB: rank 1 has come, rank 0 has not",
             "they wait for one another in a circle", "rank 0 waits in", "rank 1 waits in",
             "rank 0: swap node 0", "hint: no order that the dependencies allow finishes the job", job=GROUPS, **CROSSED_GROUPS),
    *[Row(f"`{' '.join(arguments[:-1])}` of two communicators called in opposite order", 3,
          ["error: the job is stuck: 2 of 2 ranks can never finish",
           "call 1 of 'b', all_reduce of 1.000 MiB: rank 1 has come, rank 0 has not",
           "they wait for one another in a circle"], [*arguments, *options],
          {"job.yaml": GROUPS, **CROSSED_GROUPS,
           **{f"rank.{rank}.et": trace.bytes() for rank, trace in enumerate(make_traces.crossed_groups())}}, answers=True)
      for arguments, options in ((["workload", "lint", "rank"], ["--groups", "groups.json"]), (["check", "job.yaml"], []))],
    Row("`workload lint` of members that bring different sizes to an all-to-all", 0,
        ["rank: warning: 1 of 2 calls on communicator \"world\" are uneven: the members of call 2, all_to_all, bring 999 to "
         "1048576 bytes", "hint: sizes by peer are not in traces: each member's is taken to be cut evenly",
         "the traces are sound"],
        ["workload", "lint", "rank"],
        {f"rank.{rank}.et": trace_of(call(), call(comm_type=make_traces.ALL_TO_ALL, comm_size=size))
         for rank, size in enumerate((1 << 20, 999))}, answers=True),
    Row("`workload lint` of ranks that disagree", 3, ["all_reduce of 999 bytes"], ["workload", "lint", "rank"],
        {"rank.0.et": trace_of(call()), "rank.1.et": trace_of(call(comm_size=999))}, answers=True),
    Row("`workload lint` of a broken trace", 2, ["rank.0.et: error: collective without comm_size"],
        ["workload", "lint", "rank"],
        {"rank.0.et": trace_of(without(call(), "comm_size"))}, answers=True),
    Row("`workload inspect` of a broken trace", 2, ["rank.0.et: error: collective without comm_size"],
        ["workload", "inspect", "rank.0.et"],
        {"rank.0.et": trace_of(without(call(), "comm_size"))}),
    Row("`check` of a broken trace", 2, ["rank.0.et: error: collective without comm_size"],
        ["check", "rank.0.et", "rank.1.et"],
        {"rank.0.et": trace_of(without(call(), "comm_size"))}, answers=True),
]

ROWS = FILES + NODES + GROUP_FILES + SHARED + TOGETHER
