"""The size of networks, the length and batches of their training, and the aggregation."""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import ArrayLike

from pbgnet.aggregation import Aggregation, make_aggregation
from pbgnet.exceptions import OptionError
from pbgnet.training import Course, PriorCourse, Solver
from pbgnet.validation import check_readable, positive_int

# The paper's batches for its smaller and its larger data sets, and its epochs.
SMALL_BATCH, LARGE_BATCH, MANY_ROWS = 32, 64, 20_000
MOST_EPOCHS, PRETRAINING_EPOCHS = 150, 20


def hidden_sizes(given: ArrayLike, auto: tuple[int, ...]) -> tuple[int, ...]:
    """Return the given numbers of neurons per hidden layer; "auto" leaves them open."""
    if isinstance(given, str):
        return auto
    check_readable("hidden_layer_sizes", given)
    sizes = np.atleast_1d(np.asarray(given, dtype=object)).tolist()
    return tuple(positive_int("hidden_layer_sizes", size) for size in sizes)


def main_course(solver: Solver, n_rows: int, batch_size: int | None, max_epochs: int | None) -> Course:
    """Return the course of the main training: the solver's own, or the paper's, with the user's settings."""
    course = solver.course or _paper_course(n_rows, MOST_EPOCHS)
    if batch_size is not None:
        course = replace(course, batch_size=batch_size)
    return course if max_epochs is None else replace(course, max_epochs=max_epochs)


def prior_course(
    kind: str, n_rows: int, n_outputs: int, batch_size: int | None, route: str
) -> Course | PriorCourse:
    """Return the course of a prior: "paper", "thorough", or "auto", which is thorough for several outputs.

    If a bound uses drawn networks, depending on its route, a thorough course sharpens several outputs.
    """
    course: Course | PriorCourse = _paper_course(n_rows, PRETRAINING_EPOCHS)
    if kind == "thorough" or (kind == "auto" and n_outputs > 1):
        course = PriorCourse(sharpen=route in ("vote", "seeger", "mixture"))
    return course if batch_size is None else replace(course, batch_size=batch_size)


def training_aggregation(
    method: str, n_samples: int, solver: Solver, objective: str, seed: int, device: str
) -> Aggregation:
    """Make the aggregation of the training; raise an error for combinations that cannot work."""
    if solver.exact and objective == "catoni":
        raise OptionError("objective='catoni' learns C during training, which requires solver='adam'.")
    if method != "monte_carlo":
        return make_aggregation(method)
    if solver.exact:
        raise OptionError(
            f"solver={solver.name!r} needs an exact objective, but aggregation='monte_carlo' "
            "gives a random estimate; use solver='adam' or aggregation='fourier'."
        )
    generator = torch.Generator(device).manual_seed(seed)
    return make_aggregation("monte_carlo", n_samples=n_samples, generator=generator)


def _paper_course(n_rows: int, max_epochs: int) -> Course:
    return Course(SMALL_BATCH if n_rows < MANY_ROWS else LARGE_BATCH, max_epochs)
