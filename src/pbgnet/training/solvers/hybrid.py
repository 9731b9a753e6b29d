"""Adam to choose a basin, then L-BFGS to find its minimum: possible because the aggregate is exact."""

import torch
from torch import Tensor

from pbgnet.training.solvers.callbacks import LinearDecay
from pbgnet.training.solvers.journal import Journal
from pbgnet.training.solvers.loop import fit
from pbgnet.training.solvers.polishing import polish
from pbgnet.training.solvers.problem import Course, Problem, Solver
from pbgnet.training.steps import objective_value


def solve_hybrid(problem: Problem, course: Course, journal: Journal, phase: str) -> Tensor:
    """Adam with a falling rate, in which the divergence counts little at first, then L-BFGS over all rows.

    If Adam has diverged, at a rate that is too high, L-BFGS begins at the initial weights.
    """
    weights = [w.detach() for w in problem.network.weights]
    start = [w.clone() for w in weights]
    first = objective_value(problem.network, problem.data, problem.objective)
    ramp_epochs = course.max_epochs / 2

    def ramp(epoch: float) -> float:
        """Grow geometrically from the first weight to 1."""
        weight: float = course.ramp_start ** max(0.0, 1 - epoch / ramp_epochs)
        return weight

    fit(problem, course, journal, phase, callbacks=[LinearDecay(course.max_epochs)], ramp=ramp)
    last = objective_value(problem.network, problem.data, problem.objective)
    better = (last < first)[:, None, None]
    for weight, old in zip(weights, start, strict=True):
        weight.copy_(torch.where(better, weight, old))
    polish(problem, course.max_iterations, journal, f"{phase}, polish")
    return torch.full_like(problem.learning_rate, course.max_epochs)


# Adam only needs to find a good basin: few epochs of large batches.
HYBRID = Solver("hybrid", solve_hybrid, Course(batch_size=256, max_epochs=8), exact=True)
