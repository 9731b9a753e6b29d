"""L-BFGS on the exact objective of a problem, over all rows."""

from collections.abc import Sequence
from contextlib import nullcontext

import torch
from torch import Tensor

from pbgnet.kernels import one_thread
from pbgnet.training.solvers.journal import Journal
from pbgnet.training.solvers.lbfgs import minimise_lbfgs
from pbgnet.training.solvers.problem import Problem
from pbgnet.training.steps import capturable, loss_and_gradients


def polish(problem: Problem, max_iterations: int, journal: Journal, phase: str) -> None:
    """Minimise the exact objective over all rows by L-BFGS, from the present weights.

    Interrupted, it leaves the best weights so far.
    """
    if journal.interrupted:
        return
    objective = problem.objective
    weights = [w.detach() for w in problem.network.weights]
    best = [_read(weights)]

    def evaluate(x: Tensor) -> tuple[Tensor, ...]:
        _write(weights, x)
        loss, gradients = loss_and_gradients(problem.network, problem.data)
        penalty = objective.penalty(weights)
        value, slopes = objective.value_and_slopes(loss, penalty)
        total = []
        for g, w, u, m in zip(gradients, weights, objective.anchors, objective.multiplicities(), strict=True):
            scale, pull = (
                factor[:, None, None].to(w.dtype) for factor in (slopes.by_loss, m * slopes.by_penalty)
            )
            total.append(scale * g + pull * (w - u))
        return value, _read(total), loss, penalty

    def record(iteration: int, x: Tensor, value: Tensor, loss: Tensor, penalty: Tensor) -> None:
        best[0] = x
        journal.record(phase, iteration, max_iterations, objective=value, loss=loss, penalty=penalty)

    # The vectors of the search are small; the rows are shared out inside, whatever the number of threads.
    with journal.interruptible(), nullcontext() if best[0].is_cuda else one_thread():
        best[0] = minimise_lbfgs(
            evaluate,
            best[0],
            max_iterations=max_iterations,
            on_iteration=record,
            capturable=capturable(problem.network, problem.data),
        )
    _write(weights, best[0])


def _read(tensors: Sequence[Tensor]) -> Tensor:
    """All matrices of each replica as one vector, shape (R, D)."""
    return torch.cat([t.detach().flatten(1) for t in tensors], dim=1)


@torch.no_grad()
def _write(weights: Sequence[Tensor], x: Tensor) -> None:
    sizes = [w[0].numel() for w in weights]
    for weight, part in zip(weights, x.split(sizes, dim=1), strict=True):
        weight.copy_(part.reshape(weight.shape))
