# SPDX-License-Identifier: MIT
"""The generations of NVLink: bandwidth of a GPU, both ways."""
from case import Case
from cases.interconnects import rate, show

CASES = [
    Case("P100: links of a GPU", show("dgx-1p", 1), "{~^ +nvlink .* ([0-9]+) +20 GB/s} / 8", "", "4",
         "cube mesh of 8: 32 directed links"),
    Case("P100: a link, both ways", show("dgx-1p", 1), "2 * " + rate("nvlink"), "GB/s", "40", "NVLink 1"),
    Case("V100 in a hybrid cube mesh", show("dgx-1v", 1),
         "2 * ({~nvlink .* ([0-9]+) +25 GB/s} * 25 + {~nvlink .* ([0-9]+) +50 GB/s} * 50) / 8", "GB/s", "6 * 50",
         "16 single and 16 double links, one way, on 8 GPUs"),
    Case("V100 on NVSwitches (DGX-2)", show("dgx-2", 1), "2 * " + rate("nvlink.up"), "GB/s", "300", "6 links of 50"),
    Case("A100", show("dgx-a100", 1), "2 * " + rate("nvlink.up"), "GB/s", "12 * 50",
         "6 NVSwitches, which are one switch here"),
    Case("H100", show("dgx-h100", 1), "2 * " + rate("nvlink.up"), "GB/s", "18 * 50",
         "4 NVSwitches, which are one switch here"),
    Case("H100, NVLink network: GPUs of a domain", show("dgx-h100-256"), "{~node: ([0-9]+), fat-tree}", "", "256",
         "32 nodes of 8"),
    Case("what leaves a node, one way", show("dgx-h100-256"), "{~nvlink.leaf-up .* ([0-9.]+) TB/s} * 1000", "GB/s",
         "72 * 25", "72 links"),
    Case("the same for each GPU over what it has in the node", show("dgx-h100-256"),
         "{~nvlink.leaf-up .* ([0-9.]+) TB/s} * 1000 / 8 / " + rate("nvlink.up"), "", "1 / 2", "half"),
    Case("B200", show("dgx-b200", 1), "2 * " + rate("nvlink.up"), "GB/s", "1800", "18 links of 100"),
    Case("GB200", show("gb200-nvl72", 1), "2 * " + rate("nvlink.up"), "GB/s", "1800", "18 links of 100"),
    Case("GB200: GPUs of a domain", show("gb200-nvl72", 1), "{~node: ([0-9]+), switch}", "", "72", "18 trays of 4"),
]
