"""Which backend runs where, and what happens where the fast one cannot be used."""

import ast
import importlib
import os
import shutil
import subprocess
import sys
import types
import warnings
from pathlib import Path

import pytest
import torch

import pbgnet
from pbgnet.aggregation import expected_sign
from pbgnet.exceptions import OptionError, PBGNetWarning, SlowKernelWarning, UnknownNameError
from pbgnet.kernels import (
    BACKENDS,
    backend_for,
    dispatch,
    find_kernel,
    fourier_torch,
    threads,
    use_backend,
)
from pbgnet.kernels.sampled import monte_carlo_torch

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """A process that has not chosen any backend yet."""
    monkeypatch.delenv(dispatch.ENVIRONMENT_VARIABLE, raising=False)
    forget()
    yield
    forget()


def forget():
    dispatch._chosen.cache_clear()
    importlib.import_module("pbgnet.kernels.dispatch")._load.cache_clear()


@pytest.fixture
def without_numba(monkeypatch):
    """An installation without Numba."""
    for name in list(sys.modules):
        if name.split(".")[0] == "numba" or (name.startswith("pbgnet.kernels.") and "numba" in name):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba", None)


@pytest.fixture
def layer():
    generator = torch.Generator().manual_seed(0)
    return torch.rand(5, 4, generator=generator), torch.randn(3, 4, generator=generator)


def make_gpu(monkeypatch, capability, triton_kernel):
    """A GPU as far as its probe looks; `triton_kernel` is called where a kernel would run."""
    one = torch.ones(1, 1, 1)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Tesla T4")
    monkeypatch.setattr(torch, "ones", lambda *shape, device: one)
    monkeypatch.setattr(dispatch, "_load", triton_kernel)
    monkeypatch.setattr(triton_kernel, "cache_clear", lambda: None, raising=False)


def working(operation, backend):
    return types.SimpleNamespace(penalty=lambda weights, anchors, factors: torch.zeros(1))


def test_each_device_has_its_own_backend():
    assert backend_for(CPU) == "numba"
    assert find_kernel("fourier", CPU).__name__ == "pbgnet.kernels.fourier_numba"
    assert find_kernel("step", CPU).__name__ == "pbgnet.kernels.step_numba"


def test_an_operation_without_an_implementation_of_its_own_is_done_by_pytorch():
    assert find_kernel("monte_carlo", CPU) is monte_carlo_torch


def test_every_operation_has_a_reference():
    for modules in dispatch.KERNELS.values():
        assert "torch" in modules
        assert set(modules) <= set(BACKENDS)


@pytest.mark.parametrize(
    ("operation", "backend"), [(name, other) for name, found in dispatch.KERNELS.items() for other in found]
)
def test_every_backend_has_what_other_rooms_ask_for(operation, backend):
    """Read from the source, for Triton's can be imported in few places."""
    package = Path(pbgnet.__file__).parent
    askers = [path for path in package.rglob("*.py") if package / "kernels" not in path.parents]
    askers.append(package / "kernels" / "digests" / "__init__.py")  # which asks for others
    outside = "".join(path.read_text() for path in askers)
    reference, found = (
        {
            getattr(part, "asname", None) or part.name
            for node in ast.parse(
                package.parent.joinpath(*module.split(".")).with_suffix(".py").read_text()
            ).body
            for part in (node.names if isinstance(node, ast.ImportFrom) else [node])
            if isinstance(node, ast.FunctionDef | ast.ImportFrom)
        }
        for module in (dispatch.KERNELS[operation]["torch"], dispatch.KERNELS[operation][backend])
    )
    asked = {name for name in reference if not name.startswith("_") and f".{name}(" in outside}
    assert asked
    assert asked <= found


def test_a_backend_is_used_inside_the_with_statement_only():
    with use_backend("torch"):
        assert backend_for(CPU) == backend_for(GPU) == "torch"
        assert find_kernel("fourier", CPU) is fourier_torch
    assert backend_for(CPU) == "numba"


def test_with_statements_nest():
    with use_backend("torch"):
        with use_backend("numba"):
            assert backend_for(CPU) == "numba"
            with use_backend("torch"):
                assert backend_for(CPU) == "torch"
            assert backend_for(CPU) == "numba"
        assert backend_for(CPU) == "torch"
    assert backend_for(CPU) == "numba"


@pytest.mark.parametrize(("name", "device"), [("triton", CPU), ("numba", GPU)])
def test_a_backend_that_cannot_run_on_the_device_is_refused(monkeypatch, name, device):
    with use_backend(name), pytest.raises(OptionError, match=f"{name}.*cannot run on a {device.type} device"):
        backend_for(device)
    monkeypatch.setenv("PBGNET_KERNELS", name)
    with pytest.raises(OptionError, match="use 'torch'"):
        backend_for(device)


def test_the_backend_is_restored_after_an_exception():
    with pytest.raises(ZeroDivisionError), use_backend("torch"), use_backend("triton"):
        raise ZeroDivisionError
    assert backend_for(CPU) == "numba"


def test_the_backward_pass_stays_with_the_backend_of_the_forward_pass(layer):
    mean, weight = layer
    weight.requires_grad_()
    with use_backend("torch"):
        plain = expected_sign(mean, weight).sum()
        (expected,) = torch.autograd.grad(expected_sign(mean, weight).sum(), weight)
    (got,) = torch.autograd.grad(plain, weight)
    assert torch.equal(got, expected)


@pytest.mark.parametrize("name", ["nubma", "", None, 3])
def test_an_unknown_backend_is_refused_with_the_list_of_those_there_are(name):
    with pytest.raises(UnknownNameError, match="choose one of numba, torch, triton"), use_backend(name):
        pass
    assert backend_for(CPU) == "numba"


@pytest.mark.parametrize("name", ["torch", "numba"])
def test_the_environment_variable_is_obeyed(name, monkeypatch):
    monkeypatch.setenv("PBGNET_KERNELS", name)
    assert backend_for(CPU) == name


def test_with_statements_go_above_the_environment_variable(monkeypatch):
    monkeypatch.setenv("PBGNET_KERNELS", "torch")
    with use_backend("numba"):
        assert backend_for(CPU) == "numba"
    assert backend_for(CPU) == "torch"


def test_a_wrong_environment_variable_is_a_clear_error(monkeypatch, layer):
    monkeypatch.setenv("PBGNET_KERNELS", "tirton")
    message = r"PBGNET_KERNELS 'tirton'; choose one of numba, torch, triton\. Did you mean 'triton'"
    for _ in range(2):
        with pytest.raises(UnknownNameError, match=message):
            expected_sign(*layer)


def test_an_empty_environment_variable_counts_as_none(monkeypatch):
    monkeypatch.setenv("PBGNET_KERNELS", "")
    assert backend_for(CPU) == "numba"


def test_choosing_pytorch_by_the_environment_variable_silences_the_warning(monkeypatch, without_numba, layer):
    monkeypatch.setenv("PBGNET_KERNELS", "torch")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        expected_sign(*layer)
    assert not caught


def test_without_numba_pytorch_steps_in_and_says_so_once(without_numba, layer):
    with use_backend("torch"):
        expected = expected_sign(*layer)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert torch.equal(expected_sign(*layer), expected)
    assert [warning.category for warning in caught] == [SlowKernelWarning]
    message = str(caught[0].message)
    assert "Numba cannot be used" in message
    assert "pip install numba" in message
    assert "PBGNET_KERNELS=torch" in message
    assert issubclass(SlowKernelWarning, PBGNetWarning)


def test_the_fallback_agrees_with_the_compiled_kernels(layer, request):
    compiled = expected_sign(*layer)
    request.getfixturevalue("without_numba")
    forget()
    with pytest.warns(SlowKernelWarning):
        plain = expected_sign(*layer)
    assert not torch.equal(plain, torch.zeros_like(plain))
    torch.testing.assert_close(plain, compiled, rtol=0, atol=2e-6)


def test_an_installation_of_numba_that_is_broken_stops_nobody(monkeypatch, layer):
    importing = importlib.import_module

    def broken(name, *arguments):
        if name.endswith("_numba"):
            raise SystemError("initialization of _internal failed.\nmore")
        return importing(name, *arguments)

    monkeypatch.setattr(dispatch.importlib, "import_module", broken)
    with pytest.warns(SlowKernelWarning, match=r"\(SystemError: initialization of _internal failed\)"):
        expected_sign(*layer)


def test_a_device_nobody_wrote_kernels_for_runs_on_pytorch():
    with pytest.warns(SlowKernelWarning, match="no kernels for meta devices"):
        assert backend_for(torch.device("meta")) == "torch"


def test_a_gpu_runs_triton(monkeypatch):
    make_gpu(monkeypatch, (8, 0), working)
    assert backend_for(GPU) == "triton"


def test_an_old_gpu_is_named(monkeypatch):
    make_gpu(monkeypatch, (7, 5), working)
    with pytest.warns(SlowKernelWarning, match=r"Tesla T4 has compute capability 7\.5, Triton needs 8\.0"):
        assert backend_for(GPU) == "torch"
    assert backend_for(GPU) == "torch"


def test_triton_that_cannot_be_imported_is_replaced(monkeypatch):
    def missing(operation, backend):
        raise ModuleNotFoundError("No module named 'triton'")

    make_gpu(monkeypatch, (9, 0), missing)
    with pytest.warns(SlowKernelWarning, match="No module named 'triton'.*package triton"):
        assert backend_for(GPU) == "torch"


@pytest.mark.parametrize(
    ("version", "backend"), [("3.2.0", "torch"), ("3.3.1", "triton"), ("4.0.0+git1", "triton")]
)
def test_an_old_triton_is_named(monkeypatch, version, backend):
    make_gpu(monkeypatch, (9, 0), working)
    monkeypatch.setitem(sys.modules, "triton", types.SimpleNamespace(__version__=version))
    if backend == "torch":
        with pytest.warns(SlowKernelWarning, match=r"Triton 3\.2\.0 is too old; version 3\.3"):
            assert backend_for(GPU) == backend
    else:
        assert backend_for(GPU) == backend


def test_triton_that_cannot_compile_is_replaced(monkeypatch):
    def compile_nothing(weights, anchors, factors):
        raise RuntimeError("Failed to find C compiler. Please specify via CC environment variable.")

    make_gpu(
        monkeypatch,
        (9, 0),
        lambda operation, backend: types.SimpleNamespace(penalty=compile_nothing),
    )
    with pytest.warns(SlowKernelWarning, match="Failed to find C compiler"):
        assert backend_for(GPU) == "torch"


def test_the_probe_of_a_gpu_runs_a_kernel(monkeypatch):
    ran = []

    def load(operation, backend):
        return types.SimpleNamespace(penalty=lambda *arguments: ran.append((operation, backend)))

    make_gpu(monkeypatch, (9, 0), load)
    assert backend_for(GPU) == "triton"
    assert ran == [("step", "triton")]


def test_machine_code_that_cannot_be_kept_is_compiled_anew(monkeypatch):
    numba = pytest.importorskip("numba")
    compiler = importlib.import_module("pbgnet.kernels.numba_compiler")
    njit = numba.njit

    def nowhere_to_keep_it(*arguments, **options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*arguments, **options)

    monkeypatch.setattr(numba, "njit", nowhere_to_keep_it)
    assert compiler.compiled(lambda x: x + 1)(2.0) == 3.0


@pytest.mark.parametrize(("n_threads", "operations"), [(1, 1e9), (2, 1e9), (3, 1e9), (7, 1e9), (4, 10.0)])
@pytest.mark.parametrize("n_blocks", [0, 1, 2, 5, 17])
def test_shared_work_is_done_once_each(n_threads, operations, n_blocks):
    before = torch.get_num_threads()
    done = []
    try:
        torch.set_num_threads(n_threads)
        threads.share(lambda first, last: done.extend(range(first, last)), n_blocks, operations)
    finally:
        torch.set_num_threads(before)
    assert sorted(done) == list(range(n_blocks))


def test_an_error_in_any_thread_is_raised():
    def fail_late(first, last):
        if last == 4:
            raise ZeroDivisionError

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        with pytest.raises(ZeroDivisionError):
            threads.share(fail_late, 4, 1e9)
    finally:
        torch.set_num_threads(before)


FORK_SCRIPT = """
import os, signal, threading
import torch
import pbgnet
from pbgnet.aggregation import expected_sign
from pbgnet.kernels import threads

threads.OPERATIONS_PER_THREAD = 1
torch.set_num_threads(2)
mean, weight = torch.full((3000, 4), 0.5), torch.ones(40, 4)
expected = expected_sign(mean, weight)
assert any(thread.name.startswith("pbgnet-kernel") for thread in threading.enumerate())
child = os.fork()
if child == 0:
    signal.alarm(60)  # a child that waits for the threads of its parent would wait for ever
    right = torch.equal(expected_sign(mean, weight), expected)
    os._exit(0 if right and threads._pool is None else 1)  # one thread: nothing of the parent's is waited for
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_after_threads_were_used_waits_for_none_of_them():
    done = run_script(FORK_SCRIPT)
    assert done.returncode == 0, done.stderr


IMPORT_SCRIPT = """
import sys
import {module}
names = [name for name in sys.modules if name.split(".")[0] in ("numba", "llvmlite", "triton")]
raise SystemExit(", ".join(names[:5]) or 0)
"""


@pytest.mark.parametrize("module", ["pbgnet.kernels", "pbgnet.estimators"])
def test_compilers_are_imported_when_they_are_needed_and_not_before(module):
    done = run_script(IMPORT_SCRIPT.format(module=module))
    assert done.returncode == 0, done.stderr


# PyTorch is imported once; each folder is used by a process of its own, which has imported no kernel yet.
CACHE_SCRIPT = """
import os, sys, warnings
import numba, torch
from pbgnet.exceptions import DamagedCacheWarning

def use(folder):
    numba.config.CACHE_DIR = folder
    from pbgnet.kernels import use_backend
    from pbgnet.kernels.step_numba import penalty

    with warnings.catch_warnings(record=True) as told, use_backend("numba"):
        warnings.simplefilter("always")
        value = penalty([torch.ones(1, 2, 2)], [torch.zeros(1, 2, 2)], [1.0])
    assert value.item() == 2.0, value
    damaged = [str(w.message) for w in told if issubclass(w.category, DamagedCacheWarning)]
    assert len(damaged) == len(told)
    print(len(damaged), *damaged, flush=True)

for folder in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        use(folder)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, folder
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_damaged_cache_is_made_anew_and_told(tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    assert use_caches(whole, whole) == ["0", "0"]
    folders = []
    for ending in ("nbi", "nbc"):
        for damage in (lambda old: b"", lambda old: b"\x80\x04garbage", lambda old: old[:-20]):
            folders.append(tmp_path / f"damaged-{len(folders)}")
            shutil.copytree(whole, folders[-1])
            files = list(folders[-1].rglob(f"*.{ending}"))
            assert files
            for file in files:
                file.write_bytes(damage(file.read_bytes()))
    told = use_caches(*folders, *folders)
    for line in told[: len(folders)]:
        assert not line.startswith("0")
        assert "compiled again" in line
    assert told[len(folders) :] == ["0"] * len(folders), "it was kept"


def use_caches(*folders):
    """Let one process after the other use the machine code in these folders, and return what each says."""
    done = run_script(CACHE_SCRIPT, *map(str, folders))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def run_script(text, *arguments):
    return subprocess.run(
        [sys.executable, "-c", text, *arguments], capture_output=True, text=True, timeout=300, check=False
    )
