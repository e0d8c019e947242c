# SPDX-License-Identifier: MIT
"""A `torch` without a GPU: kernels that only let a simulated clock go on, as long as docs/compute.md says that they
take with the constants below. As much of PyTorch as scripts/measure uses."""
import contextlib
import math
import types

# What a calibration to the times has to find.
TRUTH = {"gemm": 0.62, "fp8": 0.85, "fp32": 0.7, "tf32": 0.55, "memory": 0.82, "gemm_launch": 7e-6, "launch": 2.5e-6,
         "input_gradient": 0.93, "weight_gradient": 0.88, "flash_forward": 0.5, "flash_backward": 0.38}
HOST_LAUNCH, GRAPH_KERNEL, BESIDE_COPY = 5e-6, 1.2e-6, 1.2
# h100-sxm
PEAKS = {"bf16": 989e12, "fp16": 989e12, "tf32": 494.5e12, "fp32": 67e12, "fp8": 1979e12}
BANDWIDTH, MULTIPROCESSORS, MEMORY = 3350e9, 132, 80e9
TILES = [(256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64)]
SIZES = {"bf16": 2, "fp16": 2, "tf32": 4, "fp32": 4, "fp8": 1, "uint8": 1, "int32": 4, "fp64": 8}


def waves_of(tiles):
    waves = tiles / MULTIPROCESSORS
    full = math.floor(waves)
    rest = waves - full
    return 1 if waves <= 1 else full + (max(0.82, rest) if rest > 0 else 0)


def product_seconds(precision, stage, sides, result=2, accumulates=False, groups=1):
    """docs/compute.md, matrix products."""
    m, n, k = sides
    bandwidth = BANDWIDTH * TRUTH["memory"]
    share = TRUTH.get(precision, TRUTH["gemm"]) * (TRUTH["gemm"] if precision == "fp8" else 1)
    rate = PEAKS[precision] * share * TRUTH.get(stage, 1)
    traffic = groups * (SIZES[precision] * (m * k + k * n) + result * (2 if accumulates else 1) * m * n)
    loading, best = traffic / bandwidth, math.inf
    prologue = 240 / SIZES[precision]
    for tile_m, tile_n in TILES:
        tiles = math.ceil(m / tile_m) * math.ceil(n / tile_n) * groups
        loss = 1 + 10.5 * (1 / tile_m + 1 / tile_n - 1 / 256 - 1 / 128)
        slices = 1
        while slices == 1 or tiles * slices <= 4 * MULTIPROCESSORS:
            computing = 2 * waves_of(tiles * slices) * (k / slices + prologue) * tile_m * tile_n * loss * \
                MULTIPROCESSORS / rate
            sums = slices * groups * m * n * 8 / bandwidth + TRUTH["launch"] if slices > 1 else 0
            joined = (max(computing, loading) + 0.54 * min(computing, loading) if groups > 1
                      else (computing ** 4 + loading ** 4) ** 0.25)
            best = min(best, joined + sums)
            slices += 1
    adding = 0.35 * m * n * result * 2 / bandwidth if accumulates else 0
    return TRUTH["gemm_launch"] + best + adding


def attention_seconds(shape, causal, backward):
    batch, heads, tokens, head = shape
    rate = PEAKS["bf16"] * TRUTH["flash_backward" if backward else "flash_forward"]
    pair = head * (10 if backward else 4)
    work = batch * heads * tokens * tokens * pair * (0.5 if causal else 1)
    longest = 128 * tokens * pair * MULTIPROCESSORS / rate
    moved = 2 * batch * heads * tokens * head * (8 if backward else 4)
    return TRUTH["gemm_launch"] + max(work / rate, longest, moved / (BANDWIDTH * TRUTH["memory"]))


def memory_seconds(size):
    return TRUTH["launch"] + size / (BANDWIDTH * TRUTH["memory"])


class Clock:
    """Host and streams of a GPU; kernels of a graph that is being captured are noted only."""

    def __init__(self):
        self.host, self.streams, self.current, self.captured, self.launches = 0.0, {"main": 0.0}, "main", None, 0
        self.interrupt_after = math.inf

    def now(self):
        self.host += 1e-7
        return self.host

    def launch(self, seconds, host=HOST_LAUNCH):
        self.launches += 1
        if self.launches > self.interrupt_after:
            self.interrupt_after = math.inf
            raise KeyboardInterrupt
        if self.captured is not None:
            self.captured.append(seconds)
            return
        self.host += host
        begin = max(self.host, self.streams[self.current])
        if self.current == "main" and any(end > begin for name, end in self.streams.items() if name != "main"):
            seconds *= BESIDE_COPY
        self.streams[self.current] = begin + seconds

    def synchronize(self):
        self.host = max([self.host, *self.streams.values()])


class Dtype:
    def __init__(self, name):
        self.name = name


class Tensor:
    def __init__(self, torch, shape, dtype, turned=False, device="cuda"):
        self.torch, self.shape, self.dtype, self.turned, self.device = torch, tuple(shape), dtype, turned, device
        if self.size() > MEMORY / 4:
            raise RuntimeError(f"CUDA out of memory. Tried to allocate {self.size()} bytes")

    def size(self):
        return math.prod(self.shape) * SIZES[self.dtype.name]

    def to(self, dtype):
        return Tensor(self.torch, self.shape, dtype, self.turned, self.device)

    def transpose(self, _first, _second):
        return Tensor(self.torch, (*self.shape[:-2], self.shape[-1], self.shape[-2]), self.dtype, not self.turned)

    def t(self):
        return self.transpose(-2, -1)

    def zero_(self):
        self.torch.clock.launch(memory_seconds(self.size()))
        return self

    def add_(self, _value):
        self.torch.clock.launch(GRAPH_KERNEL if self.torch.clock.captured is not None else memory_seconds(self.size()))
        return self

    def copy_(self, other, non_blocking=False):
        del non_blocking
        of_host = "cpu" in (self.device, other.device)
        self.torch.clock.launch(self.size() / 50e9 if of_host else memory_seconds(2 * self.size()))
        return self

    def requires_grad_(self):
        return self

    def pin_memory(self):
        return self

    def item(self):
        return self.torch.value


class Event:
    def __init__(self, clock):
        self.clock, self.at = clock, 0.0

    def record(self):
        self.at = max(self.clock.host, self.clock.streams[self.clock.current])

    def elapsed_time(self, end):
        return (end.at - self.at) * 1e3


class Graph:
    def __init__(self, clock):
        self.clock, self.kernels = clock, []

    def replay(self):
        self.clock.launch(sum(self.kernels))


def distributed_of(torch):
    """A process group in which this is rank 0 of 8."""
    def collective(size):
        torch.clock.launch(20e-6 + size / 300e9)
    of_tensor = lambda tensor, *_, **__: collective(tensor.size())  # noqa: E731
    return types.SimpleNamespace(
        init_process_group=lambda *_, **__: None, get_rank=lambda: 0, get_world_size=lambda: 8,
        destroy_process_group=lambda: None, ReduceOp=types.SimpleNamespace(MAX="max"), isend="isend", irecv="irecv",
        P2POp=lambda kind, tensor, rank: tensor,
        all_reduce=of_tensor, broadcast=of_tensor, all_gather_into_tensor=of_tensor, all_to_all_single=of_tensor,
        reduce_scatter_tensor=lambda part, whole: collective(whole.size()),
        batch_isend_irecv=lambda tensors: collective(tensors[0].size()) or [])


class FakeTorch(types.ModuleType):
    """`lacks`: names of functions that an older PyTorch does not have. `gpu`: whether it finds one."""

    def __init__(self, lacks=(), gpu=True):
        super().__init__("torch")
        self.clock, self.value, self.__version__ = Clock(), 0.0, "2.8.0"
        self.version = types.SimpleNamespace(cuda="12.8" if gpu else None, hip=None)
        for name, dtype in (("bfloat16", "bf16"), ("float16", "fp16"), ("float32", "fp32"), ("float64", "fp64"),
                            ("float8_e4m3fn", "fp8"), ("uint8", "uint8"), ("int32", "int32")):
            setattr(self, name, Dtype(dtype))
        self.backends = types.SimpleNamespace(cuda=types.SimpleNamespace(
            matmul=types.SimpleNamespace(allow_tf32=False)))
        self.cuda = self.cuda_of(gpu)
        self.distributed = distributed_of(self)
        self.nn = types.SimpleNamespace(functional=types.SimpleNamespace(scaled_dot_product_attention=self.attention))
        self.autograd = types.SimpleNamespace(grad=self.grad)
        self.sums = "addmm" not in lacks
        for name in lacks:
            if name != "addmm":
                setattr(self, name, None)
                delattr(self, name)
        self.lacks = lacks

    def cuda_of(self, gpu):
        clock = self.clock
        properties = types.SimpleNamespace(name="NVIDIA H100 80GB HBM3", total_memory=int(MEMORY),
                                           L2_cache_size=50 << 20, multi_processor_count=MULTIPROCESSORS)

        @contextlib.contextmanager
        def on(stream):
            before, clock.current = clock.current, stream
            clock.streams.setdefault(stream, 0.0)
            yield
            clock.current = before

        @contextlib.contextmanager
        def graph(graph):
            clock.captured = graph.kernels
            yield
            clock.captured = None

        return types.SimpleNamespace(
            is_available=lambda: gpu, current_device=lambda: 0, get_device_properties=lambda _: properties,
            set_device=lambda _: None, synchronize=clock.synchronize, empty_cache=lambda: None,
            Event=lambda enable_timing: Event(clock), Stream=lambda: "other", stream=on,
            CUDAGraph=lambda: Graph(clock), graph=graph, nccl=types.SimpleNamespace(version=lambda: (2, 27, 3)))

    def __getattr__(self, name):
        made = {"_scaled_mm": "scaled_mm", "_grouped_mm": "grouped_mm"}
        if name in made and name not in self.__dict__.get("lacks", ()):
            return getattr(self, made[name])
        raise AttributeError(name)

    def empty(self, *shape, dtype, device="cpu"):
        return Tensor(self, shape, dtype, device=device)

    randn = zeros = ones = empty

    def arange(self, first, last, step, dtype, device):
        return Tensor(self, [len(range(first, last, step))], dtype, device=device)

    def tensor(self, values, dtype, device):
        self.value = values[0]
        return Tensor(self, [len(values)], dtype, device=device)

    def add(self, first, second, alpha, out):
        del second, alpha
        self.clock.launch(memory_seconds(3 * first.size()))
        return out

    def precision_of(self, tensor):
        wide = tensor.dtype.name == "fp32" and self.backends.cuda.matmul.allow_tf32
        return "tf32" if wide else tensor.dtype.name

    def mm(self, a, b, out=None):
        stage = "weight_gradient" if a.turned else "forward" if b.turned else "input_gradient"
        (m, k), n = a.shape, b.shape[1]
        precision = self.precision_of(a)
        self.clock.launch(product_seconds(precision, stage, (m, n, k), SIZES[precision]))
        return out

    def addmm(self, whole, a, b, out_dtype=None, out=None):
        if out_dtype is not None and not self.sums:
            raise TypeError("addmm() got an unexpected keyword argument 'out_dtype'")
        (m, k), n = a.shape, b.shape[1]
        stage = "weight_gradient" if a.turned else "input_gradient"
        self.clock.launch(product_seconds("bf16", stage, (m, n, k), SIZES[whole.dtype.name], True))
        return out

    def scaled_mm(self, a, b, out_dtype, scale_a, scale_b):
        del out_dtype, scale_a, scale_b
        self.clock.launch(product_seconds("fp8", "forward", (a.shape[0], b.shape[1], a.shape[1])))

    def grouped_mm(self, a, b, offs):
        groups, k, n = b.shape
        assert offs.shape[0] == groups
        self.clock.launch(product_seconds("bf16", "forward", (a.shape[0] // groups, n, k), groups=groups))

    def attention(self, q, k, v, is_causal, enable_gqa=False):
        assert enable_gqa == (q.shape[1] != k.shape[1]) and k.shape == v.shape
        self.clock.launch(attention_seconds(q.shape, is_causal, False))
        return q.shape, is_causal

    def grad(self, result, operands, gradient, retain_graph):
        assert retain_graph and gradient.shape == operands[0].shape
        self.clock.launch(attention_seconds(*result, True), 3 * HOST_LAUNCH)
