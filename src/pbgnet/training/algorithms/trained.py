"""The result of a training: all trained networks, with every epoch that a rule would pick."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pbgnet.networks import AggregatedNetwork, TanhNetwork
from pbgnet.training.algorithms.ensemble_recipe import EnsembleChoice
from pbgnet.training.algorithms.prior_course import PriorChoice
from pbgnet.training.solvers import Journal, Pick, Problem
from pbgnet.training.steps import FIRST_TEMPERATURE, TrainingData, empirical_loss


@dataclass(frozen=True)
class FitResult:
    """A trained network and how it was trained.

    Attributes
    ----------
    network : AggregatedNetwork or TanhNetwork
        One network in float64 on the CPU, its prior included.
    history : list of dict
        One record per epoch or iteration.
    prior_kind : {"random", "pretrained", "zero", "none"}
    interrupted : bool
        Whether a keyboard interrupt ended the training early.
    prior_choice : PriorChoice or EnsembleChoice, optional
        What was chosen among the prior rows, if the prior was trained thoroughly.
    keeps_prior : bool
        Whether it was decided beforehand that the prior is the posterior. A training that happens to end at
        the prior does not count.
    """

    network: AggregatedNetwork | TanhNetwork
    history: list[dict[str, float | int | str]]
    prior_kind: str = "none"
    interrupted: bool = False
    prior_choice: PriorChoice | EnsembleChoice | None = None
    keeps_prior: bool = False

    @property
    def temperature(self) -> float:
        """The factor of the scores of classes before a softmax; chosen on prior rows if there are any."""
        chosen = None if self.prior_choice is None else self.prior_choice.temperature
        return FIRST_TEMPERATURE if chosen is None else chosen


@dataclass(frozen=True)
class Trained:
    """R networks trained side by side."""

    network: AggregatedNetwork | TanhNetwork  # at the pick of the first rule
    problem: Problem  # what was minimised last, and on which rows
    picks: dict[str, Pick]  # by the rule that picks the epoch: "validation", "bound" or "objective"
    prior_kind: str  # "random", "pretrained" or "none"
    prior: Sequence[Tensor] = ()  # exactly what was drawn or trained, shapes (R, m, d) or (1, m, d)
    held: TrainingData | None = None  # the validation rows
    prior_choice: PriorChoice | None = None
    keeps_prior: bool = False  # decided beforehand

    @torch.no_grad()
    def at(self, rule: str) -> AggregatedNetwork | TanhNetwork:
        """Return the networks with the weights that a rule picks; all rules share one object."""
        for weight, picked in zip(self.network.weights, self.picks[rule].weights, strict=True):
            weight.copy_(picked)
        return self.network

    def measured(self) -> dict[str, Tensor]:
        """Return what was measured after each epoch, for the current weights and all rows of the problem."""
        record = {"loss": empirical_loss(self.network, self.problem.data)}
        everybody = torch.arange(len(self.problem.seeds), device=self.problem.seeds.device)
        return record | self.problem.measure(self.network, record, everybody)

    def result(self, replica: int, journal: Journal) -> FitResult:
        """Extract one replica, in float64, with its exact prior."""
        weights = [w.detach()[replica].double().cpu() for w in self.network.weights]
        prior = [u[replica if len(u) > 1 else 0].double().cpu() for u in self.prior]
        network = self._network(weights, prior)
        history = journal.history.of_replica(replica)
        return FitResult(
            network, history, self.prior_kind, journal.interrupted, self.prior_choice, self.keeps_prior
        )

    def _network(self, weights: list[Tensor], prior: list[Tensor]) -> AggregatedNetwork | TanhNetwork:
        if isinstance(self.network, TanhNetwork):
            return TanhNetwork(weights)
        return AggregatedNetwork(weights, prior, patches=self.network.architecture.patches)
