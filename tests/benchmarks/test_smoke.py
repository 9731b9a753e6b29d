"""The benchmarks run, their tables hold numbers, and their opponent is what it claims to be."""

import math
import re

import numpy as np
import pytest
import torch
from benchmarks.__main__ import main
from benchmarks.footprint import python, run_measured
from benchmarks.predicting import predicting
from benchmarks.results import replace_section
from benchmarks.scale_steps import timed_steps
from benchmarks.tables import Table
from benchmarks.timing import Arm, Effort, Sample, side_by_side
from benchmarks.workloads import make_layer

from benchmarks import cpu, gpu, monte_carlo, scale, time_to_bound
from pbgnet.aggregation import Fourier

QUICK = Effort(n_rounds=2, quick=True)


def numbers(table: Table) -> list[float]:
    """All numbers of a table, those inside texts such as ratios included."""
    cells = [cell for row in table.rows for cell in row if cell is not None]
    plain = [float(cell) for cell in cells if not isinstance(cell, str)]
    ratios = [cell for cell in cells if isinstance(cell, str) and re.fullmatch(r"[\d.]+ \(.* to .*\)", cell)]
    return plain + [float(part) for ratio in ratios for part in re.findall(r"[\d.]+", ratio)]


@pytest.mark.parametrize("name", ["tanh", "sampled", "wide", "kernels", "binned", "replicas"])
def test_cpu_tables_hold_finite_positive_numbers(name):
    table = cpu.TABLES[name](QUICK)
    assert len(table.rows) >= 2
    assert all(math.isfinite(number) and number > 0 for number in numbers(table))
    assert len(numbers(table)) >= 2 * len(table.rows)


@pytest.mark.parametrize(
    "name",
    ["steps", "binned-layers", "sampled-steps", "joined-samples", "batches-together", "limits", "profile"],
)
def test_gpu_tables_can_be_made_on_a_cpu(name):
    table = gpu.TABLES[name](QUICK)
    assert len(table.rows) >= 2
    assert all(math.isfinite(number) and number >= 0 for number in numbers(table))


def test_all_ways_to_answer_are_measured():
    pytest.importorskip("onnxruntime")
    table = predicting(QUICK)
    assert len(table.rows) == 1
    assert all(math.isfinite(number) and number > 0 for number in numbers(table))
    assert len(numbers(table)) == len(table.columns) - 1


def test_reading_a_csv_is_measured_beside_pandas():
    table = scale.TABLES["csv"](QUICK)
    assert table.column("what") == ["pandas.read_csv", "read and prepared"]
    assert all(number > 0 for number in numbers(table))


def test_steps_on_many_rows_are_timed():
    found = timed_steps(5000, 3, 4, 2048, "cpu", n_evaluations=1)
    assert set(found) == {"epoch", "evaluation"}
    assert all(seconds > 0 for seconds in found.values())


def test_memory_of_a_command_is_that_of_all_its_processes():
    child = "import numpy, time; a = numpy.ones(2**24); time.sleep(0.5)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    found = run_measured(python("-c", parent), n_threads=1)
    assert 2**27 < found.own <= found.resident < 2**30
    with pytest.raises(RuntimeError, match="exit code 3"):
        run_measured(python("-c", "raise SystemExit(3)"), n_threads=1)


def test_time_to_a_bound_is_that_of_a_process(tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 5))
    np.savez(tmp_path / "rows.npz", x=x, y=np.where(x[:, 0] > 0, 7, 1))
    outcome = time_to_bound.run_once(tmp_path / "rows.npz", 1, small=True)
    assert 0 < outcome.bound < 1
    assert 0 < outcome.starting < outcome.seconds


def test_writing_replaces_one_section_only(tmp_path, capsys):
    path = tmp_path / "RESULTS.md"
    replace_section("gpu", "the GPU's figures\n", path)
    replace_section("cpu", "old figures\n", path)
    assert main(["cpu", "--quick", "--only", "kernels", "--write", str(path)]) == 0
    text, printed = path.read_text(), capsys.readouterr().out
    assert "old figures" not in text
    assert "the GPU's figures" in text
    assert text.count("## CPU\n") == text.count("## GPU\n") == 1
    assert "PyTorch / compiled" in text
    assert "PyTorch / compiled" in printed
    assert list(tmp_path.iterdir()) == [path]
    before = text[text.index("<!-- begin cpu") :]
    replace_section("gpu", "others\n", path)
    cpu_section = before[: before.index("<!-- end cpu")]
    assert cpu_section in path.read_text()


def test_a_table_that_fails_does_not_stop_the_others(monkeypatch, capsys):
    def broken(effort):
        raise RuntimeError("no luck")

    monkeypatch.setitem(cpu.TABLES, "tanh", broken)
    assert main(["cpu", "--quick", "--only", "tanh", "kernels"]) == 1
    printed = capsys.readouterr().out
    assert "Failed: RuntimeError: no luck" in printed
    assert "PyTorch / compiled" in printed


def test_arms_take_turns():
    calls = []
    arms = {name: Arm(lambda name=name: calls.append(name), 2) for name in "ab"}
    found = side_by_side(arms, Effort(n_rounds=3), n_warm_up=1)
    assert "".join(calls) == "ab" + "ab" * 3
    assert all(len(sample.seconds) == 3 for sample in found.values())


def test_ratios_are_taken_turn_by_turn():
    ratio = Sample((2.0, 20.0, 6.0)).over(Sample((1.0, 10.0, 1.0)))
    assert (ratio.median, ratio.low, ratio.high) == (2.0, 2.0, 4.0)


def test_the_opponent_estimates_layer_and_gradients():
    mean, weight, grad = (t.double() for t in make_layer(3, 5, 2))
    exact, pull_back = Fourier().with_pullback(mean, weight)
    wanted = [exact, *pull_back(grad)]
    generator = torch.Generator().manual_seed(0)
    estimates = [[], [], []]
    for _ in range(400):
        value, drawn = monte_carlo.forward(mean, weight, 50, generator)
        found = (value, *monte_carlo.backward(grad, mean, weight, 50, drawn))
        for kept, tensor in zip(estimates, found, strict=True):
            kept.append(tensor)
    for kept, target in zip(estimates, wanted, strict=True):
        sample = torch.stack(kept)
        error = sample.std(dim=0) / math.sqrt(len(sample))
        gap = (sample.mean(dim=0) - target).abs()
        if target.shape == mean.shape:  # a certain sign, the constant 1, has no estimate of its own gradient
            gap, error = gap[..., :-1], error[..., :-1]
        assert bool((gap <= 5 * error + 1e-12).all())
        assert float(error.max()) < 0.05


def test_the_opponent_agrees_with_the_packages_own_on_the_same_signs():
    from pbgnet.kernels.sampled import monte_carlo_torch

    mean, weight, grad = make_layer(4, 6, 3, n_replicas=2)
    value, drawn = monte_carlo.forward(mean, weight, 20, torch.Generator().manual_seed(0))
    gradients = monte_carlo.backward(grad, mean, weight, 20, drawn)
    others = monte_carlo_torch.backward(grad, mean, weight, 20, (drawn.signs > 0,))
    torch.testing.assert_close(gradients[0][..., :-1], others[0][..., :-1], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(gradients[1], others[1])
    assert value.shape == (2, 4, 3)
