"""Worlds of finitely many rows, in which every risk is a finite sum; a new kind is a function and a line."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """A distribution of rows and labels.

    Attributes
    ----------
    points : ndarray, shape (k, 2)
        The rows there are. A third column that is drawn tells draws apart, and is too small to matter.
    shares : ndarray, shape (k,)
        Their probabilities.
    labels : ndarray, shape (k, K)
        Probabilities of the labels 0 to K - 1 of each.
    n : int
        Number of rows a certificate gets.
    """

    points: Floats
    shares: Floats
    labels: Floats
    n: int

    @property
    def n_classes(self) -> int:
        """Number of labels."""
        return int(self.labels.shape[1])

    def rows(self, places: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """Return draws of the points at some places."""
        return np.column_stack([self.points[places], 1e-12 * (1.0 + rng.random(places.size))])

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
        """Draw rows and their labels."""
        places = rng.choice(self.shares.size, n, p=self.shares)
        drawn = rng.random((n, 1)) > self.labels[places].cumsum(axis=1)[:, :-1]
        return self.rows(places, rng), drawn.sum(axis=1)

    def places(self, rows: Floats) -> NDArray[np.int64]:
        """Return which point each row is."""
        distances = np.abs(np.asarray(rows)[:, None, :2] - self.points).sum(axis=2)
        return np.asarray(distances.argmin(axis=1))

    def groups(self, rows: Floats) -> NDArray[np.int64]:
        """Return the group of each row: its point tells it; the first of three has most points."""
        return self.group_of_point[self.places(rows)]

    @property
    def group_of_point(self) -> NDArray[np.int64]:
        """The group of each point."""
        return np.minimum(np.arange(self.shares.size) % 5 % 4, 2)

    def mean(self, values: Floats, given_class: int | None = None, group: int | None = None) -> float:
        """Return the expectation of a value of each point and label, shape (k, K), also given one of both."""
        joint = self.shares[:, None] * self.labels
        if group is not None:
            joint = joint * (self.group_of_point == group)[:, None]
        if given_class is not None:
            joint = joint[:, [given_class]]
            values = values[:, [given_class]]
        return float((joint * values).sum() / joint.sum())


def coin(rng: np.random.Generator) -> World:
    """One point with one label for the most part: errors are the throws of a coin."""
    p = rng.uniform(0.0, 0.4)
    return World(np.ones((1, 2)), np.ones(1), np.array([[p, 1.0 - p]]), 20)


def few_rows(rng: np.random.Generator) -> World:
    """Two points and five rows, where bounds are closest to what they allow."""
    p = rng.uniform(0.0, 1.0, (2, 1))
    return World(np.array([[1.0, 0.2], [-1.0, 0.4]]), np.full(2, 0.5), np.hstack([p, 1.0 - p]), 5)


def circle(rng: np.random.Generator) -> World:
    """Points on a circle, of shares that differ, with labels by a line and much or little noise."""
    angles = rng.uniform(0.0, 2.0 * np.pi, 12)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    noise = rng.choice([0.0, 0.1, 0.4]) * rng.random(12)
    positive = np.where(points @ rng.normal(size=2) > 0, 1.0 - noise, noise)
    return World(points, rng.dirichlet(np.ones(12)), np.stack([1.0 - positive, positive], axis=1), 40)


def rare_class(rng: np.random.Generator) -> World:
    """A class that one row in eight has, and that is mostly missed."""
    points = rng.normal(size=(6, 2))
    positive = rng.uniform(0.05, 0.2, 6)
    return World(points, rng.dirichlet(np.ones(6)), np.stack([1.0 - positive, positive], axis=1), 60)


def three_classes(rng: np.random.Generator) -> World:
    """Three labels, each the likeliest somewhere."""
    return World(rng.normal(size=(6, 2)), rng.dirichlet(np.ones(6)), rng.dirichlet([0.4, 0.3, 0.3], 6), 40)


def noise(rng: np.random.Generator) -> World:
    """Labels that nothing tells: whoever looks better than chance on some rows is not."""
    return World(rng.normal(size=(40, 2)), np.full(40, 1 / 40), np.full((40, 2), 0.5), 30)


WORLDS: dict[str, Callable[[np.random.Generator], World]] = {
    "coin": coin,
    "few rows": few_rows,
    "circle": circle,
    "rare class": rare_class,
    "noise": noise,
    "three classes": three_classes,
}
