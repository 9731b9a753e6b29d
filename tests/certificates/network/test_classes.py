"""Certificates of networks with several outputs: more than two classes by a code."""

import ast
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy import stats
from tests.certificates.conftest import verify

from pbgnet.certificates import (
    CertifiedModel,
    PriorRecord,
    VerificationReport,
    certify,
    certify_network,
    load_model,
    save_model,
)
from pbgnet.certificates.format import class_events
from pbgnet.certificates.network import Answers, Situation, certifiable, evaluate
from pbgnet.certificates.network.strategy import propose
from pbgnet.certificates.routes import Foresight, make_claim
from pbgnet.exceptions import DomainError, LabelError, OptionError, ShapeError
from pbgnet.networks import AggregatedNetwork, Code, make_code

ROUTES = ["seeger", "mixture", "vote", "held-out", "auto"]


def draw_network(
    code: Code, rng: np.random.Generator, n_features: int = 4, hidden: int = 6
) -> AggregatedNetwork:
    """A network whose prior is near by, with firm outputs."""
    first = torch.tensor(3 * rng.normal(size=(hidden, n_features + 1)))
    last = torch.tensor(4 * rng.normal(size=(code.n_outputs, hidden + 1)))
    return AggregatedNetwork([first, last], [first, last - 0.1])


def make_rows(
    network: AggregatedNetwork, code: Code, rng: np.random.Generator, n: int = 240, noise: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 4))
    answers = code.decode(network(torch.tensor(X)).detach().numpy())
    other = rng.integers(0, code.n_classes, n)
    return X, np.where(rng.random(n) < noise, other, answers)


def failed(report: VerificationReport) -> list[str]:
    return [step.name for step in report.steps if not step.ok]


def certified(c: int = 4, seed: int = 0, **options: object) -> tuple[CertifiedModel, np.ndarray, np.ndarray]:
    code, rng = make_code("auto", c), np.random.default_rng(seed)
    network = draw_network(code, rng)
    X, places = make_rows(network, code, rng, n=150 + 50 * c)
    y = np.array([f"kind {k}" for k in places])
    model = certify_network(
        network,
        X,
        y,
        classes=tuple(f"kind {k}" for k in range(c)),
        prior=PriorRecord("given"),
        prior_rows=range(100),
        certified_rows=range(100, len(X)),
        **options,
    )
    return model, X, y


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_is_verified_and_survives_saving(route: str, tmp_path) -> None:
    model, X, y = certified(certificate=route)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert verify(loaded, X, y).ok
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    shares = loaded.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert model.decision_function(X).shape == (len(X), 4)
    np.testing.assert_array_equal(loaded.classes_[shares.argmax(axis=1)], loaded.predict(X))


def test_a_prior_that_is_kept_is_certified_through_many_more_voters() -> None:
    """It is settled beforehand that nothing diverges, so that a thousand voters cost no more than one."""
    code, rng = make_code("auto", 4), np.random.default_rng(0)
    drawn = draw_network(code, rng)
    kept = AggregatedNetwork([4 * w.detach() for w in drawn.weights])
    X, places = make_rows(kept, code, rng, n=600, noise=0.02)
    options = {"classes": (0, 1, 2, 3), "prior": PriorRecord("given"), "certificate": "vote"}
    rows = {"prior_rows": range(200), "certified_rows": range(200, 600)}
    model = certify_network(kept, X, places, keep_prior=True, **options, **rows)
    moved = AggregatedNetwork(list(kept.weights), [w + 0.01 for w in kept.prior_weights])
    with pytest.raises(OptionError, match="weights differ"):
        certify_network(moved, X, places, keep_prior=True, **options, **rows)
    # A training that led nowhere: that nothing diverges is then known from the certified rows alone.
    other = certify_network(kept, X, places, **options, **rows)
    claims = [one.certificate.error_rate for one in (model, other)]
    assert claims[0].settings.n_networks > 10 * claims[1].settings.n_networks
    assert claims[0].value < claims[1].value
    told = [
        any("keep the prior as the posterior" in line for line in one.certificate.assumptions)
        for one in (model, other)
    ]
    assert told == [True, False]
    assert verify(model, X, places).ok
    assert verify(other, X, places).ok
    choices = model.certificate.choices
    for changed in (
        replace(choices, keeps_prior=None),
        replace(choices, certificate="auto", keeps_prior=None),
    ):
        forged = replace(model.certificate, choices=changed)
        assert "settings" in failed(verify(replace(model, certificate=forged), X, places))
    told = replace(other.certificate, choices=replace(other.certificate.choices, keeps_prior=True))
    assert "settings" in failed(verify(replace(other, certificate=told), X, places))
    with pytest.raises(DomainError, match="keeps_prior"):
        replace(choices, certificate="auto")


def test_a_prior_is_not_kept_where_there_is_another_posterior() -> None:
    model, X, y = certified(certificate="vote")
    choices = replace(model.certificate.choices, keeps_prior=True)
    forged = replace(model, certificate=replace(model.certificate, choices=choices))
    assert "deployed predictor" in failed(verify(forged, X, y))


def test_the_stated_errors_are_those_of_predict() -> None:
    model, X, y = certified(certificate="held-out")
    rows = model.certified_rows
    assert model.certificate.inputs.n_errors == int(np.sum(model.predict(X[rows]) != y[rows]))


def test_the_divergence_counts_the_last_layer_by_its_mean_over_outputs() -> None:
    model, _, _ = certified(certificate="seeger")
    hidden, code = 6, model.inputs.code
    by_hand = 0.1**2 * (hidden + 1) / 2  # each output differs from its prior by 0.1 in every weight
    assert code.n_outputs == 3
    assert model.certificate.network.divergence == pytest.approx(by_hand, rel=1e-9)


def test_bounds_of_the_vote_state_the_distance_of_the_code() -> None:
    model, _, _ = certified(c=5, certificate="vote")
    evidence = model.certificate.error_rate.evidence
    code = model.inputs.code
    assert Fraction(evidence.differing, evidence.of_outputs) == Fraction(
        int(code.nearest.min()), code.n_outputs
    )


def test_a_larger_distance_than_that_of_the_code_is_noticed() -> None:
    model, X, y = certified(certificate="vote")
    claim = model.certificate.error_rate
    better = replace(claim, evidence=replace(claim.evidence, differing=1, of_outputs=1)).recomputed()
    assert better.value < claim.value
    forged = replace(model, certificate=replace(model.certificate, claims=(better,)))
    assert {"evidence"} <= {step.name for step in verify(forged, X, y).steps if not step.ok}


def test_another_code_is_noticed() -> None:
    model, X, y = certified(certificate="held-out")
    turned = Code(model.inputs.code.matrix[::-1])
    forged = replace(model, inputs=replace(model.inputs, code=turned))
    assert "preprocessing" in {step.name for step in verify(forged, X, y).steps if not step.ok}


@pytest.mark.parametrize("c", [2, 3, 5])
def test_a_certified_confusion_matrix_bounds_every_cell_together(c: int) -> None:
    model, X, y = certified(c=c, certificate="held-out", confusion=True)
    certificate = model.certificate
    assert len(certificate.class_conditional) == c
    assert len(certificate.confusion) == (c * (c - 1) if c > 2 else 0)
    n_claims = len(certificate.claims)
    assert n_claims == (1 + c**2 if c > 2 else 3)
    assert certificate.choices.n_shares == n_claims
    rows = model.certified_rows
    answers = model.predict(X[rows])
    for cell in certificate.confusion:
        a, b = ast.literal_eval(cell.given_class), ast.literal_eval(cell.answered)
        count = int(np.sum((y[rows] == a) & (answers == b)))
        n = int(np.sum(y[rows] == a))
        assert (cell.evidence.n_errors, cell.evidence.n) == (count, n)
        exact = stats.beta.ppf(1 - cell.delta, count + 1, n - count) if count < n else 1.0
        assert cell.value == pytest.approx(exact, rel=1e-6)
    assert verify(model, X, y).ok


def test_a_cell_left_out_of_the_confusion_matrix_is_noticed() -> None:
    model, X, y = certified(c=3, certificate="held-out", confusion=True)
    fewer = replace(model.certificate, claims=model.certificate.claims[:-1])
    assert not verify(replace(model, certificate=fewer), X, y).ok


def test_the_confusion_matrix_of_any_classifier() -> None:
    model, X, y = certified(c=3, certificate="held-out")

    def answer(rows: np.ndarray) -> np.ndarray:
        return model.predict(rows)

    predictions = certify(answer, X, y, confusion=True, classes=model.classes)
    assert len(predictions.certificate.confusion) == 6
    assert verify(predictions, X, y, model=answer).ok


def test_cells_are_counted_for_a_vote_that_was_fixed_beforehand_only() -> None:
    with pytest.raises(OptionError, match="held-out"):
        certified(certificate="vote", confusion=True)


def test_a_class_that_is_not_named_is_refused_and_one_without_rows_is_not() -> None:
    code, rng = make_code("auto", 3), np.random.default_rng(0)
    network = draw_network(code, rng)
    X, places = make_rows(network, code, rng)
    options = {"prior": PriorRecord("given"), "prior_rows": range(100), "certified_rows": range(100, 240)}
    with pytest.raises(LabelError):
        certify_network(network, X, places, classes=(0, 1), **options)
    named = np.where(places == 2, 1, places)
    model = certify_network(network, X, named, classes=(0, 1, 2), certificate="held-out", **options)
    assert verify(model, X, named).ok
    with pytest.raises(ShapeError, match="outputs"):
        certify_network(network, X, places, classes=(0, 1, 2, 3), code="exhaustive", **options)


def test_rows_that_another_computer_might_answer_otherwise_count_as_errors() -> None:
    code = make_code("one-against-rest", 3)
    error = 1e-9
    near = np.array([[0.5, 0.5 - 3 * error, -1.0], [0.9, -0.9, -0.9]])
    answers = Answers(near, np.array([0, 0]), code, error, 0.0)
    assert answers.measured.wrong.tolist() == [True, False]
    assert answers.may_answer(1).tolist() == [True, False]
    assert answers.n_ties == 1


class World:
    """Finitely many rows with known chances: the true risks of a vote are sums over them."""

    def __init__(self, c: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.code = make_code("auto", c)
        self.chances = rng.dirichlet(np.full(60, 2.0))
        X = torch.tensor(rng.normal(size=(60, 4)))
        prior = draw_network(self.code, rng)
        self.places = np.where(
            rng.random(60) < 0.15, rng.integers(0, c, 60), self.code.decode(prior(X).detach().numpy())
        )
        first, last = (w.detach() for w in prior.weights)
        self.answers = []
        for step in [0.0, *rng.normal(size=5)]:
            moved = last + 0.15 * step * torch.tensor(rng.normal(size=tuple(last.shape)))
            network = certifiable(AggregatedNetwork([first, moved], [first, last]))
            self.answers.append(evaluate(network, X.numpy(), self.places, self.code))

    def draw(self, answers: Answers, rows: np.ndarray) -> Answers:
        return replace(answers, output=answers.output[rows], truth=answers.truth[rows])

    def error_rate(self, answers: Answers, place: int | None = None) -> float:
        rows = np.ones(60, dtype=bool) if place is None else self.places == place
        return float(np.sum((self.chances * (answers.leads <= 0))[rows]) / np.sum(self.chances[rows]))


@pytest.mark.statistical
@pytest.mark.parametrize("c", [3, 7])
@pytest.mark.parametrize("route", ["seeger", "vote", "held-out"])
def test_bounds_for_several_classes_hold_as_often_as_they_say(c: int, route: str) -> None:
    world, rng = World(c, seed=c), np.random.default_rng(1)
    broken, n_worlds, delta = 0, 120, 0.3
    margins = world.draw(world.answers[0], rng.choice(60, 80, p=world.chances)).margins
    rate = propose(route, Foresight(70, delta, margins, distance=world.answers[0].distance))[-1]
    for _ in range(n_worlds):
        rows = rng.choice(60, 70, p=world.chances)
        drawn = [world.draw(answers, rows) for answers in world.answers]
        # The posterior with the smallest loss on the very rows that are certified: PAC-Bayes pays for it.
        best = 0 if route == "held-out" else int(np.argmin([-answers.margins.mean() for answers in drawn]))
        claim = make_claim(rate.predictor, rate.route, drawn[best].measured, rate.settings, delta=delta)
        broken += world.error_rate(world.answers[best]) > claim.value
    assert stats.binomtest(broken, n_worlds, delta, alternative="greater").pvalue > 1e-4


@pytest.mark.statistical
def test_cells_of_the_confusion_matrix_hold_together_as_often_as_they_say() -> None:
    world, rng = World(3, seed=5), np.random.default_rng(2)
    answers, names = world.answers[0], ("0", "1", "2")
    truth = {
        (str(a), str(b)): float(
            np.sum(world.chances[(world.places == a) & (answers.answered == b)])
            / np.sum(world.chances[world.places == a])
        )
        for a in range(3)
        for b in range(3)
        if a != b
    }
    broken, n_worlds, delta = 0, 200, 0.4
    for _ in range(n_worlds):
        drawn = world.draw(answers, rng.choice(60, 90, p=world.chances))
        situation = Situation(drawn, drawn, names)
        cells = class_events(names, True, True)[len(names) :]
        share = delta / (1 + len(names) ** 2)
        broken += any(
            truth[cell.given_class, cell.answered]
            > make_claim(
                "prior's vote", "clopper-pearson", situation.measured("prior's vote", event=cell), delta=share
            ).value
            for cell in cells
        )
    assert stats.binomtest(broken, n_worlds, delta, alternative="greater").pvalue > 1e-4
