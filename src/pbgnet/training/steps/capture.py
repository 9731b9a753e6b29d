"""GPU work that is recorded once and replayed: a CUDA graph needs one launch for all its kernels."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

_one_capture_at_a_time = threading.Lock()


def record_graph(
    run: Callable[[], None],
    device: torch.device,
    *,
    warm_up: Callable[[], None] = lambda: None,
    generators: Sequence[torch.Generator] = (),
    pool: Any = None,
) -> torch.cuda.CUDAGraph:
    """Record what a function launches, which must never wait for the device; nothing is run.

    Everything that `run` reads and changes must be in tensors that stay where they are; `generators` are its
    sources of randomness. `warm_up` runs beforehand on the stream of the recording, so that kernels are
    compiled and libraries loaded there. Graphs that run one after the other may share the memory of a `pool`.
    """
    here = torch.cuda.current_stream(device)
    # The default stream cannot be captured. Any other belongs to the caller and is used: new ones come from a
    # small pool, and the next one may be that of another thread.
    stream = torch.cuda.Stream(device) if here == torch.cuda.default_stream(device) else here
    stream.wait_stream(here)
    with torch.cuda.stream(stream):
        warm_up()
    here.wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    for generator in generators:
        graph.register_generator_state(generator)
    with _one_capture_at_a_time, torch.cuda.stream(stream):
        # `torch.cuda.graph` would wait for the work of all other threads.
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        try:
            run()
        finally:
            graph.capture_end()
    return graph
