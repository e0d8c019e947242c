# SPDX-License-Identifier: MIT
"""Broken files of other tools that say what a machine is, or what NCCL takes on it."""
from error_row import Row

TITLE = "Machines of other tools"


def slot(bus, device_class, inside, more='link_speed="32.0 GT/s PCIe" link_width="16"'):
    return f'<pci busid="0000:{bus:02x}:00.0" class="{device_class}" {more}>\n{inside}\n</pci>\n'


def dump(gpus=2, sm=90, links='<nvlink target="0000:03:00.0" count="18" tclass="0x068000"/>'):
    """NCCL's topology: GPUs on NVSwitches, and a NIC."""
    inside = "".join(slot(0x20 + i, "0x030200", f'<gpu dev="{i}" sm="{sm}" rank="{i}">\n{links}\n</gpu>') for i in range(gpus))
    nic = slot(0xA0, "0x020700", '<nic>\n<net name="mlx5_0" dev="0" speed="400000"/>\n</nic>')
    return f'<system version="1">\n<cpu numaid="0">\n{inside}{nic}</cpu>\n</system>\n'


def graphs(channels=1, number=0):
    return (f'<graphs version="1">\n<graph id="{number}" pattern="4" nchannels="{channels}" speedintra="30" speedinter="20">\n'
            '<channel>\n<gpu dev="0"/>\n</channel>\n</graph>\n</graphs>\n')


def rocm(kind="XGMI", rows=2):
    return ("==== Link Type between two GPUs ====\n       GPU0  GPU1\n"
            + "".join(f"GPU{i}  {'  '.join('0' if i == j else kind for j in range(2))}\n" for i in range(rows)))


SIMAI = ("5 1 2 1 4 H100\n2 3 4 \n0 2 2880Gbps 0.000025ms 0\n1 3 2880Gbps 0.000025ms 0\n0 4 400Gbps 0.0005ms 0\n"
         "1 4 400Gbps 0.0005ms 0\n")
TUNER = "allreduce,0,1073741824,ring,ll,-1,-1,-1\n"


def machine(what, files, *message, options=()):
    return Row(what, 2, list(message), ["cluster", "import", *files, *options], files)


def simai(what, old, new, *message):
    assert old in SIMAI
    return machine(what, {"topo": SIMAI.replace(old, new, 1)}, *message)


def tuner(what, rows, *message, options=()):
    return Row(what, 2, list(message),
               ["collective", "--cluster", "dgx-h100", "--op", "all_reduce", "-b", "1M", "--set", "collectives.tuner=tuner.csv",
                *options], {"tuner.csv": rows})


NODES = [
    machine("An empty file as a machine", {"system.xml": "\n"}, "system.xml: error: the file is empty"),
    machine("A topology of NCCL that is cut short", {"system.xml": dump()[:300]}, "system.xml:", "error: invalid XML",
            "NCCL_TOPO_DUMP_FILE"),
    machine("A topology of NCCL without GPUs", {"system.xml": dump(gpus=0)}, "system.xml:1: error: no <gpu> in the file",
            "NCCL_TOPO_DUMP_FILE=FILE"),
    machine("A topology of NCCL of slots in one another", {"system.xml": '<system version="1">\n<cpu numaid="0">\n' + "<pci>" * 200 +
                                                           "</pci>" * 200 + "</cpu>\n</system>\n"},
            "system.xml:3: error: more than 32 PCIe slots in one another"),
    machine("A topology of NCCL in a newer format", {"system.xml": dump().replace('version="1"', 'version="9"')},
            "system.xml:1: error: version 9 of a topology; 1 (NCCL) and 2 (RCCL) are known"),
    machine("GPUs of NCCL's topology that nobody knows", {"system.xml": dump(sm=77)}, "system.xml:4: error: unknown GPU",
            "sm 77", "--device h100-sxm"),
    machine("GPUs of NCCL's topology of a device that has no such links",
            {"system.xml": dump(sm=89)}, "system.xml:4: error: no kind of link is known that joins two l40s"),
    machine("A number of NVLinks that is none", {"system.xml": dump().replace('count="18"', 'count="many"')},
            'error: count="many" of <nvlink>: expected a whole number from 1 to 64'),
    machine("An import with a device that is not there", {"system.xml": dump()}, "no 'h100-smx' among the shipped devices",
            "did you mean 'h100-sxm'?", options=["--device", "h100-smx"]),
    machine("Topologies of nodes of different sizes", {"a.xml": dump(2), "b.xml": dump(3)},
            "a.xml: error: a node of 2 GPUs, and node 2 has 3", "import each kind for itself"),
    machine("Topologies of nodes that are joined differently",
            {"a.xml": dump(2), "b.xml": dump(2, links="")},
            "a.xml: error: its node and those of the other files are not joined alike", "import each kind for itself"),
    machine("Another document than a topology", {"x.xml": "<algo/>\n"},
            "x.xml:1: error: the document is a <algo>, and no <system> or <graphs>"),
    machine("Graphs of NCCL without its topology", {"graphs.xml": graphs()}, "graphs.xml: error: graphs are what NCCL decided",
            "orrery cluster import TOPOLOGY.xml graphs.xml"),
    machine("Graphs of NCCL with channels missing", {"system.xml": dump(), "graphs.xml": graphs(channels=2)},
            'graphs.xml:2: error: nchannels="2" and 1 <channel>'),
    machine("Graphs of NCCL of an unknown algorithm", {"system.xml": dump(), "graphs.xml": graphs(number=8)},
            'graphs.xml:2: error: id="8" of <graph>'),
    machine("A topology of rocm-smi without its GPUs' name", {"topo.txt": rocm()},
            "topo.txt:1:1: error: the output does not say what the GPUs are", "--device mi300x"),
    machine("A topology of rocm-smi of GPUs without xGMI", {"topo.txt": rocm()},
            "topo.txt:1:1: error: no links of xGMI are known of 'h100-sxm'", options=["--device", "h100-sxm"]),
    machine("A topology of rocm-smi that is cut short", {"topo.txt": rocm(rows=1)},
            "topo.txt:3:1: error: the table ends before the row of GPU1", options=["--device", "mi300x"]),
    machine("A topology of rocm-smi with an unknown link", {"topo.txt": rocm(kind="NVLINK")},
            "topo.txt:3:1: error: unknown link type 'NVLINK'; XGMI and PCIE are known", options=["--device", "mi300x"]),
    machine("A topology matrix whose GPUs nobody names", {"m.txt": "\tGPU0\tGPU1\nGPU0\tX\tNV18\nGPU1\tNV18\tX\n"},
            "m.txt: error: a matrix does not say what the GPUs are", "--device h100-sxm"),
    machine("A workload beside a topology", {"system.xml": dump(), "job.txt": "remember the milk\n"},
            "job.txt: error: several files are topologies and graphs of NCCL"),
]

CLUSTERS = [
    simai("A topology of SimAI of a number of servers that is none", "5 1 2", "5 3 2",
          "topo:1:1: error: 5 nodes less 2 NVSwitches and 1 switches are 2 GPUs, which do not make servers of 3"),
    simai("A topology of SimAI of GPUs that nobody knows", "H100", "G100", "topo:1:1: error: unknown kind of GPU 'G100'"),
    simai("A topology of SimAI that is cut short", "1 4 400Gbps 0.0005ms 0\n", "",
          "topo:5:1: error: 3 links; the first line has 4", "cut short"),
    simai("A link of SimAI to a node that is not there", "1 4 400Gbps", "1 44 400Gbps",
          "topo:6:1: error: '44' is no node; nodes are 0 to 4"),
    simai("A link of SimAI between GPUs", "0 2 2880Gbps", "0 1 2880Gbps", "topo:3:1: error: a link from 0 to 1"),
    simai("A link of SimAI with a bandwidth that is none", "400Gbps", "400", "topo:5:1: error: invalid bandwidth '400'"),
    simai("GPUs of SimAI that are joined differently", "1 4 400Gbps", "1 4 200Gbps",
          "topo:1:1: error: GPU 1 has 200 Gbps of NIC, GPU 0 400"),
]

CHOICES = [
    tuner("A table of a tuner without rows", "# nothing\n", "tuner.csv:1:1: error: no rows in the table of a tuner"),
    tuner("A row of a tuner that is too short", "allreduce,0,1\n", "tuner.csv:1:1: error: 3 cells; a row has 8 to 10"),
    tuner("A row of a tuner of an unknown collective", TUNER.replace("allreduce", "allredoos"),
          "tuner.csv:1:1: error: a tuner has no collective 'allredoos'", "did you mean 'allreduce'?"),
    tuner("A row of a tuner of an unknown algorithm", TUNER.replace("ring", "rings"),
          "error: NCCL has no algorithm 'rings'", "did you mean 'ring'?"),
    tuner("A row of a tuner whose number of channels is out of range", TUNER.replace("ll,-1", "ll,4096"),
          "error: '4096' where a whole number from -1 to 64 is expected"),
    tuner("A row of a tuner whose sizes are the wrong way round", TUNER.replace("0,1073741824", "9,8"),
          "error: sizes from 9 to 8"),
    tuner("A row of a tuner that cannot run", TUNER.replace("ring,ll", "nvlstree,simple"),
          "tuner.csv:1:1: error: NCCL 2.30.0 cannot run all_reduce over 8 ranks on 1 nodes by nvls-tree in simple"),
    Row("A table of a tuner that is not there", 2, ["error: 'nowhere.csv' cannot be opened"],
        ["collective", "--cluster", "dgx-h100", "--op", "all_reduce", "--set", "collectives.tuner=nowhere.csv"]),
    Row("RCCL on NVIDIA's GPUs", 2, ["'rccl' is of AMD's GPUs, and these are NVIDIA's"],
        ["collective", "--cluster", "dgx-h100", "--op", "all_reduce", "--library", "rccl"]),
    *[Row(what, 2, list(message), ["collective", "--cluster", "dgx-h100", "--op", "all_reduce", "--gpus", gpus])
      for what, gpus, message in (
          ("A GPU that the node has not", "0,8", ["placement names device 8 of each node, which has devices 0 to 7"]),
          ("A GPU that is named twice", "1,1", ["placement names device 1 twice"]),
          ("A list of GPUs that ends in a comma", "0,", ["--gpus: error: not a placement"]),
          ("GPUs that are no numbers", "0,a", ["--gpus: error: '0,a' is no list of GPUs", "--gpus 0,1,4,5"]))],
]

ROWS = NODES + CLUSTERS + CHOICES
