"""Full-batch L-BFGS for many independent problems.

The exact aggregate makes the objective deterministic, so a quasi-Newton method can finish what Adam began.
The line search only accepts finite values that decrease enough.

Each problem proceeds at its own pace: an evaluation ends the iteration of those whose trial point is accepted
and shortens the step of the others. All decisions about a problem are made in tensors, so nothing waits for a
GPU, and one evaluation with all its consequences can be a CUDA graph.

References
----------
Nocedal and Wright (2006), "Numerical Optimization", Algorithms 3.1 and 7.4. Chen, Wang and Zhou (2014),
"Large-scale L-BFGS using MapReduce": the two loops on inner products instead of vectors.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pbgnet.autograd import full_precision
from pbgnet.training.steps import is_out_of_memory, record_graph, wait_for

Evaluate = Callable[[Tensor], tuple[Tensor, ...]]
"""Maps points (R, D) to values (R,), float64, gradients (R, D) in their type, and further numbers (R,)."""

SUFFICIENT_DECREASE = 1e-4
SHORTEST_CUT, LONGEST_CUT = 0.1, 0.5
MAX_TRIALS = 20
MEMORY = 12
# A problem is done after this many iterations in a row that gain less than the tolerance.
PATIENCE = 3
# Evaluations of a CUDA graph between two checks of the problems' state.
TRIALS_PER_LOOK = 8


def minimise_lbfgs(
    evaluate: Evaluate,
    x: Tensor,
    *,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    on_iteration: Callable[..., None] = lambda iteration, x, value, *notes: None,
    capturable: bool = False,
    keeping: "Keeping | None" = None,
) -> Tensor:
    """Minimise R independent functions from x (R, D) by L-BFGS with a backtracking line search.

    It returns the best points; their values are never above the initial ones. A problem ends after three
    iterations in a row with a relative decrease below the tolerance. `on_iteration` is called with the
    largest iteration of any problem (from 1), the current points, their values and further numbers; on a GPU
    not for every iteration. `capturable` says that `evaluate` never waits for a GPU, so that a CUDA graph can
    contain it. `keeping` is told the state of the search, and may restore an earlier one.
    """
    search = Search(evaluate, x, max_iterations, tolerance)
    keeping = keeping or Keeping()
    keeping.begin(search)
    advance, n_trials = search.advance, 1
    if capturable and x.is_cuda:
        advance, n_trials = _recorded(search), TRIALS_PER_LOOK
    seen, busy = search.look()
    while busy:
        for _ in range(n_trials):
            keeping.advance(search, advance)
        furthest, busy = search.look()
        if furthest > seen or not busy:  # the last to end need not be the furthest
            on_iteration(furthest, search.x.clone(), search.value.clone(), *(n.clone() for n in search.notes))
        seen = furthest
        keeping.pass_by(search)
    keeping.finish(search)
    return search.x


class Keeping:
    """Saves the state of a search, given by its `state`; this one saves nothing."""

    def begin(self, search: "Search") -> None:
        """Act on a search that has not begun."""

    def advance(self, search: "Search", advance: Callable[[], object]) -> None:
        """Let a search evaluate once more."""
        advance()

    def pass_by(self, search: "Search") -> None:
        """Act between two evaluations."""

    def finish(self, search: "Search") -> None:
        """Act on a search that has ended."""


def _recorded(search: "Search") -> Callable[[], Any]:
    """Return what replays an evaluation; if memory is too small for a graph, what runs it."""

    def warm_up() -> None:
        for _ in range(2):
            search.advance()

    try:
        return record_graph(search.advance, search.x.device, warm_up=warm_up).replay
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return search.advance


class Search:
    """All problems, in fixed tensors: the current point of each, and what was found there."""

    def __init__(self, evaluate: Evaluate, x: Tensor, max_iterations: int, tolerance: float) -> None:
        self._evaluate = evaluate
        self._max_iterations, self._tolerance = max_iterations, tolerance
        self.x = x.clone()
        value, gradient, *notes = (found.clone() for found in evaluate(self.x))
        self.value, self.gradient, self.notes = value, gradient, notes
        self._curvature = _Curvature(x)
        self._direction, self._slope = self._curvature.descent(gradient)
        self._step = torch.ones_like(value)
        self._trial = self.x + self._direction
        self._n_trials = torch.zeros_like(value, dtype=torch.int64)
        self._idle = torch.zeros_like(self._n_trials)
        self.n_iterations = torch.zeros_like(self._n_trials)

    def state(self) -> list[Tensor]:
        """Return all tensors that an evaluation changes; copying values into them restores a state."""
        own = [value for value in vars(self).values() if isinstance(value, Tensor)]
        return [*own, *self.notes, *self._curvature.state()]

    def active(self) -> Tensor:
        """Which problems are not done yet."""
        return (self._idle < PATIENCE) & (self.n_iterations < self._max_iterations)

    def look(self) -> tuple[int, bool]:
        """Return the largest iteration of any problem, and whether any is not done yet."""
        wait_for(self.n_iterations)
        return int(self.n_iterations.max()), bool(self.active().any())

    @torch.no_grad()
    def advance(self) -> None:
        """Evaluate the trial points, and choose the next ones."""
        value, gradient, *notes = self._evaluate(self._trial)
        active = self.active()
        finite = torch.isfinite(value) & torch.isfinite(gradient).all(dim=1)
        enough = value <= self.value + SUFFICIENT_DECREASE * self._step * self._slope
        accepted = active & finite & enough
        self._n_trials += active
        ended = accepted | (active & (self._n_trials >= MAX_TRIALS))
        gain = torch.where(accepted, (self.value - value) / self.value.abs().clamp_min(1e-12), 0.0)
        # If no step was found, the curvature misleads: forget it and start again from the gradient.
        self._curvature.forget(ended & (gain <= 0))
        self._curvature.remember(accepted, self._trial - self.x, gradient - self.gradient)
        # The parabola through value, slope and trial value has its minimum here.
        rise = self._slope * self._step
        parabola = -rise / (2 * (value - self.value - rise))
        cut = torch.where(finite, parabola, SHORTEST_CUT).nan_to_num(LONGEST_CUT)
        shorter = self._step * cut.clamp(SHORTEST_CUT, LONGEST_CUT)
        self._idle.copy_(
            torch.where(ended, torch.where(gain > self._tolerance, 0, self._idle + 1), self._idle)
        )
        self.n_iterations += ended
        self._n_trials.masked_fill_(ended, 0)
        self._step.copy_(torch.where(ended, 1.0, shorter))
        _move(accepted, (self.x, self._trial), (self.value, value), (self.gradient, gradient))
        _move(accepted, *zip(self.notes, notes, strict=True))
        direction, slope = self._curvature.descent(self.gradient)
        _move(ended, (self._direction, direction), (self._slope, slope))
        step = torch.where(self.active(), self._step, 0.0)[:, None].to(self.x.dtype)
        self._trial.copy_(self.x + step * self._direction)


def _move(which: Tensor, *pairs: tuple[Tensor, Tensor]) -> None:
    """Copy each second tensor into the first, for some problems."""
    for old, new in pairs:
        old.copy_(torch.where(which.view(-1, *[1] * (old.ndim - 1)), new, old))


class _Curvature:
    """The last steps of every problem, the changes of its gradient, and their inner products.

    Pairs are stored in slots that are used in turn; age 0 is the latest. A pair with inverse 0 has no effect.
    """

    def __init__(self, x: Tensor) -> None:
        n_problems, n_dimensions = x.shape
        # Steps in the first half, changes in the second.
        self._pairs = x.new_zeros(n_problems, 2 * MEMORY, n_dimensions)
        self._products = x.new_zeros(n_problems, 2 * MEMORY, 2 * MEMORY, dtype=torch.float64)
        self._inverses = x.new_zeros(n_problems, MEMORY, dtype=torch.float64)
        self._latest = torch.zeros(n_problems, dtype=torch.int64, device=x.device)
        self._problems = torch.arange(n_problems, device=x.device)
        self._ages = torch.arange(MEMORY, device=x.device)

    def state(self) -> list[Tensor]:
        """Return all tensors that remembering changes."""
        return [self._pairs, self._products, self._inverses, self._latest]

    def forget(self, which: Tensor) -> None:
        """Empty the memory of some problems."""
        self._inverses.masked_fill_(which[:, None], 0.0)

    def remember(self, which: Tensor, step: Tensor, change: Tensor) -> None:
        """Add a pair to the memory of some problems; without positive curvature it has no effect."""
        self._latest.copy_((self._latest + which) % MEMORY)
        problems, slot = self._problems, self._latest
        for place, vector in ((slot, step), (slot + MEMORY, change)):
            self._pairs[problems, place] = torch.where(which[:, None], vector, self._pairs[problems, place])
        columns = torch.stack([slot, slot + MEMORY], dim=1)
        latest = self._pairs[problems[:, None], columns]
        with full_precision(step.device):
            products = torch.bmm(self._pairs, latest.transpose(1, 2)).double()
        self._products[problems[:, None], :, columns] = products.transpose(1, 2)
        self._products[problems[:, None], columns] = products.transpose(1, 2)
        curvature = self._products[problems, slot, slot + MEMORY]
        lengths = (
            self._products[problems, slot, slot] * self._products[problems, slot + MEMORY, slot + MEMORY]
        )
        usable = curvature > 1e-10 * lengths.sqrt()
        inverse = torch.where(usable, 1 / torch.where(usable, curvature, 1.0), 0.0)
        self._inverses[problems, slot] = torch.where(which, inverse, self._inverses[problems, slot])

    def descent(self, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Return a direction for each problem and the slope along it, which is negative."""
        direction = self._two_loops(gradient)
        slope = (gradient * direction).sum(dim=1, dtype=torch.float64)
        usable = (self._inverses > 0).any(dim=1) & (slope < 0) & torch.isfinite(slope)
        # Without curvature: along the negative gradient, by a length of at most 1.
        plain = -gradient / gradient.norm(dim=1, keepdim=True).clamp_min(1.0)
        direction = torch.where(usable[:, None], direction, plain)
        return direction, torch.where(usable, slope, (gradient * plain).sum(dim=1, dtype=torch.float64))

    def _two_loops(self, gradient: Tensor) -> Tensor:
        """Multiply with the inverse Hessian that the pairs describe.

        The vectors of Algorithm 7.4 are combinations of gradient, steps s_i and changes y_i:
        `q = g - sum alpha_i y_i` and `r = gamma q + sum (alpha_i - beta_i) s_i`. Their inner products with
        s_i and y_i are all it needs.
        """
        with full_precision(gradient.device):
            by_gradient = torch.bmm(self._pairs, gradient[..., None])[..., 0].double()
        slots = (self._latest[:, None] - self._ages) % MEMORY
        inverse = self._inverses.gather(1, slots)
        order = torch.cat([slots, slots + MEMORY], dim=1)
        sg, yg = by_gradient.gather(1, order).split(MEMORY, dim=1)
        products = self._products[self._problems[:, None, None], order[:, :, None], order[:, None, :]]
        sy, yy = products[:, :MEMORY, MEMORY:], products[:, MEMORY:, MEMORY:]
        alpha = torch.zeros_like(sg)
        for i in range(MEMORY):  # starting with the latest
            alpha[:, i] = inverse[:, i] * (sg[:, i] - (sy[:, i] * alpha).sum(dim=1))
        gamma = torch.ones_like(sg[:, 0])
        for i in reversed(range(MEMORY)):  # the latest usable pair decides
            gamma = torch.where(inverse[:, i] > 0, sy[:, i, i] / yy[:, i, i], gamma)
        yq = yg - (yy * alpha[:, None]).sum(dim=2)
        added = torch.zeros_like(alpha)  # alpha - beta
        for i in reversed(range(MEMORY)):
            yr = gamma * yq[:, i] + (sy[:, :, i] * added).sum(dim=1)
            added[:, i] = alpha[:, i] - inverse[:, i] * yr
        factors = torch.zeros_like(by_gradient).scatter(
            1, order, torch.cat([added, -gamma[:, None] * alpha], dim=1)
        )
        with full_precision(gradient.device):
            combined = torch.bmm(factors[:, None].to(gradient.dtype), self._pairs)[:, 0]
        return -(gamma[:, None].to(gradient.dtype) * gradient + combined)
