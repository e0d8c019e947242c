# SPDX-License-Identifier: MIT
"""Broken tables and measurements of kernels."""
import json

from error_row import Row

TITLE = "Timed kernels"

GOOD = "dtype,m,n,k,layout,latency_us\nbf16,4096,4096,4096,TN,230\n"
MEASUREMENT = {"schema": "orrery.measurement/1", "device": {"name": "NVIDIA H100 80GB HBM3", "memory_bytes": 85017493504},
               "kernels": [{"kind": "product", "m": 4096, "n": 4096, "k": 4096, "seconds": 0.00023}]}


def table(what, text, *message, cluster="dgx-h100"):
    return Row(what, 2, list(message), ["calibrate", "kernels.csv", "--cluster", cluster], {"kernels.csv": text})


def row(what, columns, cells, *message):
    return table(what, f"{columns}\n{cells}\n", *message)


def measurement(what, changes, *message, cut=None):
    text = json.dumps({**MEASUREMENT, **changes}, indent=1)
    return Row(what, 2, list(message), ["calibrate", "measurement.json", "--cluster", "dgx-h100"],
               {"measurement.json": text[:cut] + "\n"})


def kernel(what, changes, *message):
    entry = {**MEASUREMENT["kernels"][0], **changes}
    return measurement(what, {"kernels": [{key: value for key, value in entry.items() if value is not None}]}, *message)


ROWS = [
    table("A table of kernels without rows", "dtype,m,n,k,latency_us\n", "kernels.csv:1: error: no rows under the names"),
    table("A table of kernels that was cut off", GOOD + "bf16,409", "kernels.csv:3:1: error: 2 cells; expected 6",
          "the file ends within this line"),
    row("A product without a side", "m,n,k,latency_us", "0,2,3,4", "m '0' is not a whole number from 1 to"),
    row("A kernel that takes no time", "m,n,k,latency_us", "1,2,3,0", "kernels.csv:2:7: error: latency_us '0' is not a number"),
    row("A time with a unit in its cell", "m,n,k,latency_us", "1,2,3,5 us", "no unit behind them"),
    row("A kernel that takes hours", "m,n,k,seconds", "1,2,3,5000", "is not the time of a kernel", "at most an hour"),
    row("A product larger than any", "m,n,k,latency_us", "67108864,67108864,67108864,4", "a kernel of 6.04e+23 FLOPs"),
    row("An unknown format of operands", "m,n,k,dtype,latency_us", "1,2,3,bf17,4", "dtype 'bf17' is no format of numbers"),
    row("An unknown layout of operands", "m,n,k,layout,latency_us", "1,2,3,TT,4", "layout 'TT' is no layout", "tn, nn, nt"),
    row("A backward product", "m,n,k,stage,latency_us", "1,2,3,bwd,4", "stage 'bwd' is no stage of a product"),
    row("A slip in a column of kernels", "m,n,k,acumulates,latency_us", "1,2,3,True,4", "unknown column 'acumulates'"),
    row("Heads that cannot be shared", "seq,heads,kv_heads,head_dim,latency_us", "4096,32,5,128,9",
        "kv_heads '5' is not a divisor of the 32 heads"),
    row("A flag that is none", "m,n,k,accumulate,latency_us", "1,2,3,maybe,4", "is neither true nor false"),
    row("A share of a peak that the device has not", "m,n,k,dtype,share_of_peak", "1,2,3,nvfp4,0.5",
        "a share of the peak is no time", "add a column latency_us"),
    measurement("A measurement of another version", {"schema": "orrery.measurement/2"},
                "schema 'orrery.measurement/2'; expected 'orrery.measurement/1'"),
    measurement("A measurement that was cut off", {}, "the file ends within a value", cut=-40),
    measurement("A measurement of nothing", {"kernels": []}, "neither kernels nor collectives were timed"),
    measurement("A measurement of another device", {"device": {"name": "NVIDIA A100-SXM4-80GB"}},
                "measured on NVIDIA A100-SXM4-80GB; the cluster has h100-sxm"),
    measurement("Memory that is no number", {"device": {"name": "NVIDIA H100", "memory_bytes": "much"}},
                "memory_bytes 'much' is not a whole number"),
    measurement("Kernels that are no list", {"kernels": {"m": 5}}, "kernels are a map; expected a list"),
    measurement("A kernel that is no object", {"kernels": [7]}, "a kernel is a plain value; expected an object"),
    measurement("A collective without ranks", {"collectives": [{"op": "all_reduce", "bytes": 8, "seconds": 1}]},
                "a collective without 'ranks'"),
    measurement("A collective of no bytes", {"collectives": [{"op": "all_reduce", "bytes": 0, "ranks": 8, "seconds": 1}]},
                "bytes '0' is no number from 1 on"),
    measurement("A collective without a name", {"collectives": [{"bytes": 8, "ranks": 8, "seconds": 1}]},
                "a collective without 'op'"),
    kernel("An unknown kind of kernels", {"kind": "convolution"}, "kind 'convolution' is no kind of kernels"),
    kernel("A measured product without a side", {"k": None}, "a kernel without 'k'"),
    kernel("A measured kernel without a time", {"seconds": None}, "the kernel has no time"),
    Row("A row that does not say what was timed", 2, ["the row does not say what was timed"],
        ["calibrate", "kernels.json", "--cluster", "dgx-h100"], {"kernels.json": '[{"x": 5, "seconds": 1}]\n'}),
    Row("A measurement without its schema", 2, ["no member \"schema\""],
        ["calibrate", "kernels.json", "--cluster", "dgx-h100"],
        {"kernels.json": '{"kernels": [], "made by": "orrery.measurement/1"}\n'}),
]
