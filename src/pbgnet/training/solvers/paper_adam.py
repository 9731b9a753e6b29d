"""The paper's optimisation: Adam on mini-batches, rates halved on plateaus, early stopping, best epoch."""

from torch import Tensor

from pbgnet.training.solvers.callbacks import BestEpoch, EarlyStopping, PlateauHalving
from pbgnet.training.solvers.journal import Journal
from pbgnet.training.solvers.loop import fit
from pbgnet.training.solvers.problem import Course, Pick, Problem, Solver


def descend(problem: Problem, course: Course, journal: Journal, phase: str) -> dict[str, Pick]:
    """Train as in the paper's appendix; return what each rule of the problem picks."""
    first, *others = (BestEpoch(rule, restore=rule == problem.rules[0]) for rule in problem.rules)
    schedule = [PlateauHalving(course.plateau_patience), EarlyStopping(course.stopping_patience)]
    fit(problem, course, journal, phase, callbacks=[*schedule, *others, first])
    return {best.monitor: Pick(best.epoch, best.weights) for best in (first, *others)}


def _solve(problem: Problem, course: Course, journal: Journal, phase: str) -> Tensor:
    return descend(problem, course, journal, phase)[problem.rules[0]].epoch


ADAM = Solver("adam", _solve)
