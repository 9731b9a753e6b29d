"""L-BFGS for many problems: it finds minima, keeps problems apart, and never leaves finite values."""

import itertools

import pytest
import torch
from scipy import optimize

from pbgnet.training.solvers.lbfgs import MEMORY, _Curvature, minimise_lbfgs


def rosenbrock(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = x[:, 0], x[:, 1]
    value = (1 - a) ** 2 + 100 * (b - a**2) ** 2
    gradient = torch.stack([-2 * (1 - a) - 400 * a * (b - a**2), 200 * (b - a**2)], dim=1)
    return value, gradient


STARTS = torch.tensor([[-1.2, 1.0], [3.0, -2.0], [0.0, 0.0]], dtype=torch.float64)


def test_finds_the_minimum_of_a_curved_valley():
    found = minimise_lbfgs(rosenbrock, STARTS, max_iterations=300, tolerance=1e-14)
    torch.testing.assert_close(found, torch.ones_like(found), rtol=0, atol=1e-5)


def test_problems_side_by_side_take_the_path_they_take_alone():
    together = minimise_lbfgs(rosenbrock, STARTS, max_iterations=12)
    for r in range(len(STARTS)):
        alone = minimise_lbfgs(rosenbrock, STARTS[r : r + 1], max_iterations=12)
        torch.testing.assert_close(together[r : r + 1], alone)


def two_loops(gradient, pairs):
    """Algorithm 7.4 on vectors, as the book has it; pairs from the oldest to the latest."""
    q, alphas = gradient.clone(), []
    for s, y in reversed(pairs):
        alphas.append((s @ q) / (s @ y))
        q -= alphas[-1] * y
    s, y = pairs[-1]
    r = (s @ y) / (y @ y) * q
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        r += (alpha - (y @ r) / (s @ y)) * s
    return -r


@pytest.mark.parametrize("count", [1, 5, MEMORY, MEMORY + 7])
def test_directions_are_those_of_the_book(count):
    generator = torch.Generator().manual_seed(count)
    root = torch.randn(20, 20, generator=generator, dtype=torch.float64)
    hessian = root @ root.T + torch.eye(20)
    steps = torch.randn(count, 2, 20, generator=generator, dtype=torch.float64)
    gradient = torch.randn(2, 20, generator=generator, dtype=torch.float64)
    curvature = _Curvature(gradient)
    for step in steps:
        curvature.remember(torch.tensor([True, True]), step, step @ hessian)
        curvature.remember(torch.tensor([False, False]), gradient, gradient)  # nobody has taken that step
    direction, slope = curvature.descent(gradient)
    for r in range(2):
        pairs = [(s[r], s[r] @ hessian) for s in steps[-MEMORY:]]
        torch.testing.assert_close(direction[r], two_loops(gradient[r], pairs), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(slope, (gradient * direction).sum(dim=1))


def test_further_numbers_are_those_of_the_points_reached():
    def check(iteration, x, value, total):
        torch.testing.assert_close(total, x.sum(dim=1))
        torch.testing.assert_close(value, rosenbrock(x)[0])

    minimise_lbfgs(lambda x: (*rosenbrock(x), x.sum(dim=1)), STARTS, max_iterations=40, on_iteration=check)


def test_no_problem_waits_for_another():
    def count(starts):
        trials = []

        def evaluate(x):
            trials.append(1)
            return rosenbrock(x)

        minimise_lbfgs(evaluate, starts, max_iterations=40)
        return len(trials)

    alone = [count(STARTS[r : r + 1]) for r in range(len(STARTS))]
    assert len(set(alone)) == len(alone)
    assert count(STARTS) == max(alone)


def test_a_recorded_search_goes_the_same_way(device):
    starts = STARTS.to(device)
    plain, recorded = (
        minimise_lbfgs(rosenbrock, starts, max_iterations=60, capturable=capturable)
        for capturable in (False, True)
    )
    torch.testing.assert_close(recorded, plain, rtol=0, atol=1e-9)
    torch.testing.assert_close(plain.cpu(), minimise_lbfgs(rosenbrock, STARTS, max_iterations=60))


def test_needs_about_as_many_evaluations_as_scipy():
    scale = torch.logspace(0, 3, 20, dtype=torch.float64)
    mine, theirs = [], []

    def evaluate(x):
        value = 0.5 * (scale * x**2).sum(dim=1)
        mine.append(value.item())
        return value, scale * x

    def evaluate_numpy(x):
        value, gradient = 0.5 * float(scale.numpy() @ x**2), scale.numpy() * x
        theirs.append(value)
        return value, gradient

    minimise_lbfgs(evaluate, torch.ones(1, 20, dtype=torch.float64), tolerance=1e-14, max_iterations=500)
    options = {"maxcor": 12, "ftol": 0, "gtol": 0, "maxiter": 500}
    optimize.minimize(evaluate_numpy, torch.ones(20).numpy(), jac=True, method="L-BFGS-B", options=options)
    needed, reference = (sum(value > 1e-8 for value in values) for values in (mine, theirs))
    assert min(mine) < 1e-8
    assert needed < 1.5 * reference


def test_line_search_stays_where_values_are_finite():
    # Beyond x = 1 the function is undefined, and the minimum lies close to that edge.
    visited = []

    def evaluate(x):
        value = torch.where(x[:, 0] < 1, -x[:, 0] - 0.01 * torch.log1p(-x[:, 0]), torch.nan)
        gradient = torch.where(x < 1, -1 + 0.01 / (1 - x), torch.nan)
        return value, gradient

    def on_iteration(iteration, x, value):
        visited.append(value.item())
        assert torch.isfinite(x).all()

    found = minimise_lbfgs(
        evaluate, torch.tensor([[-5.0]], dtype=torch.float64), tolerance=1e-12, on_iteration=on_iteration
    )
    assert abs(found.item() - 0.99) < 1e-4
    assert all(later <= earlier for earlier, later in itertools.pairwise(visited))


def test_a_start_that_cannot_improve_is_returned_as_it_is():
    x = torch.tensor([[2.0, -1.0]], dtype=torch.float64)
    found = minimise_lbfgs(lambda p: (torch.full((1,), torch.nan, dtype=p.dtype), torch.ones_like(p)), x)
    assert torch.equal(found, x)


def test_stops_early_when_nothing_is_gained():
    iterations = []
    minimise_lbfgs(
        rosenbrock,
        torch.ones(1, 2, dtype=torch.float64),
        on_iteration=lambda iteration, x, value: iterations.append(iteration),
    )
    assert len(iterations) == 3


def test_a_misleading_curvature_is_forgotten():
    # The gradient is wrong for a while, so that its pairs point uphill; the search must recover.
    calls = []

    def evaluate(x):
        calls.append(1)
        value = (x**2).sum(dim=1)
        noise = 3.0 * torch.sin(40 * x) if len(calls) < 12 else 0.0
        return value, 2 * x + noise

    start = torch.tensor([[3.0, -2.0, 1.5]], dtype=torch.float64)
    found = minimise_lbfgs(evaluate, start, max_iterations=100, tolerance=1e-12)
    assert found.abs().max() < 1e-4


def test_points_without_a_finite_gradient_are_not_accepted():
    # The value looks fine everywhere and falls without end, but beyond 1 the gradient is undefined.
    def evaluate(x):
        return -x[:, 0], torch.where(x < 1, -1.0, torch.nan).to(x)

    found = minimise_lbfgs(evaluate, torch.zeros(1, 1, dtype=torch.float64), max_iterations=50)
    assert found.item() < 1
