"""L-BFGS on the exact objective of a problem, over all rows."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch
from torch import Tensor

from pbgnet.kernels import one_thread
from pbgnet.training.solvers.checkpoints import Phase, State, begin_phase, copy_all
from pbgnet.training.solvers.journal import History, Journal
from pbgnet.training.solvers.lbfgs import Keeping, Search, minimise_lbfgs
from pbgnet.training.solvers.problem import Problem
from pbgnet.training.steps import capturable, loss_and_gradients


def polish(problem: Problem, max_iterations: int, journal: Journal, phase: str) -> None:
    """Minimise the exact objective over all rows with L-BFGS, from the current weights.

    If interrupted, it leaves the best weights so far.
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

    # The vectors of the search are small. The rows are shared inside, with the same result for any number of
    # threads.
    with journal.interruptible(), nullcontext() if best[0].is_cuda else one_thread():
        best[0] = minimise_lbfgs(
            evaluate,
            best[0],
            max_iterations=max_iterations,
            on_iteration=record,
            capturable=capturable(problem.network, problem.data),
            keeping=_Keeping(begin_phase(phase, problem, max_iterations), journal.history),
        )
    _write(weights, best[0])


class _Keeping(Keeping):
    """Saves the state of a search and its records, and resumes from what an earlier one has saved."""

    def __init__(self, phase: Phase, history: History) -> None:
        self._phase, self._history = phase, history
        self._n_records = len(history.records)

    def begin(self, search: Search) -> None:
        """Bring a search to a saved state."""
        found = self._phase.found
        if found is not None:
            copy_all(search.state(), found["search"])
            self._history.records.extend(found["records"])

    def advance(self, search: Search, advance: Callable[[], object]) -> None:
        """Evaluate; if a worker is lost meanwhile, the search has not changed."""
        with self._phase.kept_if_lost(lambda: self._reached(search)):
            advance()

    def pass_by(self, search: Search) -> None:
        """Save the state of the search, if it is time to."""
        self._phase.pass_by(lambda: self._reached(search))

    def finish(self, search: Search) -> None:
        """Save the result of the search."""
        self._phase.finish(lambda: self._reached(search))

    def _reached(self, search: Search) -> State:
        return {"search": search.state(), "records": self._history.records[self._n_records :]}


def _read(tensors: Sequence[Tensor]) -> Tensor:
    """All matrices of each replica as one vector, shape (R, D)."""
    return torch.cat([t.detach().flatten(1) for t in tensors], dim=1)


@torch.no_grad()
def _write(weights: Sequence[Tensor], x: Tensor) -> None:
    sizes = [w[0].numel() for w in weights]
    for weight, part in zip(weights, x.split(sizes, dim=1), strict=True):
        weight.copy_(part.reshape(weight.shape))
