"""Certificates of several labels: what is claimed, what it rests on, and that verify sees it all."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse
from tests.certificates.conftest import verify

from pbgnet.bounds import (
    betting_grid,
    clopper_pearson_bound,
    seeger_bound,
    split_delta,
    vote_losses,
    vote_quantile,
)
from pbgnet.certificates import (
    Certificate,
    PriorRecord,
    SplitRecord,
    certify_by_disagreement,
    certify_network,
    load_model,
    save_model,
)
from pbgnet.certificates.network.evaluation import evaluate
from pbgnet.certificates.routes import Foresight, Measured, make_claim
from pbgnet.certificates.routes.vote import VoteSettings
from pbgnet.exceptions import OptionError, ShapeError
from pbgnet.networks import AggregatedNetwork, LabelCode

N, N_PRIOR, NAMES = 300, 100, ("red", "round", "rare")
ROUTES = ("held-out", "seeger", "mixture", "vote", "auto")


@pytest.fixture(scope="module")
def table():
    """Three labels of four numbers, the last one seldom; some of them turned at random."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(N, 4)), rng.normal(size=(3, 4))
    Y = (X @ weights.T + 0.3 * rng.normal(size=(N, 3)) > np.array([0.0, 0.0, 2.5])).astype(int)
    return X, Y, 3.0 * weights


def certified(table, certificate="held-out", **options):
    X, Y, weights = table
    network = AggregatedNetwork([torch.tensor(weights)], [torch.tensor(0.97 * weights)], intercept=False)
    return certify_network(
        network,
        X,
        Y,
        classes=NAMES,
        prior=PriorRecord("given"),
        prior_rows=np.arange(N_PRIOR),
        certified_rows=np.arange(N_PRIOR, N),
        split=SplitRecord("given"),
        certificate=certificate,
        **options,
    )


@pytest.fixture(scope="module")
def models(table):
    return {name: certified(table, name) for name in ROUTES} | {"per_label": certified(table, per_label=True)}


@pytest.mark.parametrize("name", [*ROUTES, "per_label"])
def test_every_certificate_is_verified_saved_and_loaded(table, models, tmp_path, name):
    X, Y, _ = table
    model = models[name]
    report = verify(save_model(model, tmp_path / "model"), X, sparse.csr_matrix(Y))
    assert report.ok, str(report)
    again = load_model(tmp_path / "model")
    assert again.certificate == model.certificate
    assert again.classes == NAMES
    answers = again.predict(X)
    assert answers.shape == (N, 3)
    assert (answers == (again.decision_function(X) > 0)).all()
    assert (again.predict_proba(X) == (1 + again.decision_function(X)) / 2).all()
    statement = model.certificate.statement
    assert "any wrong label" in statement
    assert "the Hamming loss (the share of wrong labels)" in statement


def test_held_out_counts_rows_and_labels(table, models):
    X, Y, _ = table
    certificate = models["per_label"].certificate
    wrong = models["per_label"].predict(X)[N_PRIOR:] != Y[N_PRIOR:]
    assert certificate.inputs.n_errors == wrong.any(axis=1).sum() > 0
    share = split_delta(certificate.delta, 5)  # rows, the Hamming loss, and three labels
    assert {claim.delta for claim in certificate.claims} == {share}
    assert [union.count for union in certificate.choices.unions] == [5]
    assert certificate.error_rate.value == clopper_pearson_bound(wrong.any(axis=1).sum(), N - N_PRIOR, share)
    assert [claim.label for claim in certificate.per_label] == [repr(name) for name in NAMES]
    for claim, column in zip(certificate.per_label, wrong.T, strict=True):
        assert claim.value == clopper_pearson_bound(column.sum(), N - N_PRIOR, share)
    hamming = certificate.hamming_loss
    assert hamming.evidence.empirical_risk == pytest.approx(wrong.mean())
    assert wrong.mean() < hamming.value < certificate.error_rate.value
    assert hamming.route == "betting"
    assert models["held-out"].certificate.hamming_loss.value < hamming.value  # which shares with fewer
    assert certificate.linear_loss is certificate.expected_loss is None
    assert certificate.of_labels


def test_the_linear_loss_is_the_hamming_loss_of_a_drawn_network(table, models):
    X, Y, _ = table
    model = models["seeger"]
    output, signs = model.output(X)[N_PRIOR:], 2 * Y[N_PRIOR:] - 1
    drawn = np.mean((1 - signs * output) / 2)  # a drawn network has label j wrong with this chance
    certificate = model.certificate
    assert certificate.network.empirical_risk == pytest.approx(drawn)
    bound = seeger_bound(drawn, certificate.network.divergence, N - N_PRIOR, 0.05, constant="maurer")
    assert certificate.linear_loss.value == pytest.approx(bound)
    assert certificate.hamming_loss.value == pytest.approx(2 * bound)  # no factor for the number of labels
    assert certificate.error_rate.value == pytest.approx(min(1.0, 6 * bound))
    assert certificate.choices.unions == ()  # all of it follows from one event


def test_the_vote_draws_a_label_and_networks_for_it(table, models):
    X, Y, _ = table
    model = models["vote"]
    certificate, settings = model.certificate, model.certificate.hamming_loss.settings
    margins = (2 * Y[N_PRIOR:] - 1) * model.output(X)[N_PRIOR:]
    losses = vote_losses(np.clip(margins, -1, 1), settings.n_networks, settings.n_right)
    assert settings.n_networks > 1
    assert certificate.hamming_loss.evidence.empirical_risk == pytest.approx(losses.mean())
    assert certificate.hamming_loss.evidence.n == N - N_PRIOR  # rows, not labels
    assert certificate.hamming_loss.value < models["seeger"].certificate.hamming_loss.value
    assert certificate.error_rate.value == pytest.approx(min(1.0, 3 * certificate.hamming_loss.value))


@pytest.mark.parametrize(("n_networks", "n_right"), [(1, 0), (5, 3), (9, 4)])
def test_no_row_escapes_the_factor_of_the_labels(n_networks, n_right):
    """Row by row: a wrong row has a mean loss of q / L at least, and one wrong label near 0 attains it."""
    rng, q = np.random.default_rng(n_networks), vote_quantile(n_networks, n_right)
    for L in (2, 3, 7):
        margins = np.vstack([rng.uniform(-1, 1, (500, L)), np.eye(L) - 1e-9, 1 - np.eye(L)])
        losses = vote_losses(np.clip(margins, -1, 1), n_networks, n_right)
        wrong = margins <= 0
        assert (wrong <= losses / q + 1e-12).all()
        assert (wrong.any(axis=1) <= L * losses.mean(axis=1) / q + 1e-12).all()
        tight = L * losses[-L:].mean(axis=1) / q  # one label is a tie, all others are sure
        assert np.abs(tight - 1).max() < 1e-12


def test_evidence_with_fewer_labels_is_refused():
    """The claim on rows with any wrong label rests on their number: stating fewer fails the evidence."""
    measured = Measured(
        np.zeros(50, dtype=bool), np.full(50, 0.1), margins=np.full((50, 4), 0.8), divergence=0.5, n_labels=4
    )
    settings = VoteSettings(constant="maurer", n_networks=3, n_right=1)
    of_rows = make_claim("vote", "vote", measured, settings, delta=0.05)
    of_labels = make_claim(
        "vote", "vote", replace(measured, n_labels=1), settings, delta=0.05, quantity="hamming loss"
    )
    assert of_rows.value == pytest.approx(min(1.0, 4 * of_labels.value))
    assert (of_rows.evidence.n_labels, of_labels.evidence.n_labels) == (4, 1)


def test_bets_are_planned_by_votes_for_the_hamming_loss():
    margins = np.array([[0.5, -0.5], [0.1, 0.2], [-0.9, -0.1]])
    foresight = Foresight(100, 0.05, margins)
    assert foresight.losses == pytest.approx([0.5, 0.425, 0.75])
    assert replace(foresight, of_votes=True).losses == pytest.approx([0.5, 0.0, 1.0])


def test_bets_are_those_for_the_wrong_labels_of_prior_rows(table, models):
    X, Y, _ = table
    model = models["held-out"]
    wrong = (model.predict(X)[:N_PRIOR] != Y[:N_PRIOR]).mean(axis=1)
    claim = model.certificate.hamming_loss
    assert claim.settings.bets == pytest.approx(betting_grid(wrong, N - N_PRIOR, claim.delta))


def test_drawn_networks_have_that_share_of_labels_wrong(table):
    """Networks drawn from the posterior, looked at in all labels: their mean is the risk."""
    X, Y, weights = table
    rng = np.random.default_rng(5)
    drawn = weights + rng.normal(size=(2000, 3, 4))
    wrong = np.mean((np.einsum("nd,tld->tnl", X, drawn) > 0) != Y)
    answers = evaluate(AggregatedNetwork([torch.tensor(weights)], intercept=False), X, Y, LabelCode(3))
    assert wrong == pytest.approx(answers.risk, abs=0.005)


def test_hidden_layers_are_summed_as_by_enumeration(table):
    X, Y, _ = table
    generator = torch.Generator().manual_seed(6)
    network = AggregatedNetwork.initialise(4, (5,), n_outputs=3, generator=generator, dtype=torch.float64)
    exact = AggregatedNetwork(list(network.weights), aggregation="enumeration")
    answers = evaluate(network, X, Y, LabelCode(3))
    with torch.no_grad():
        expected = exact(torch.tensor(X)).numpy()
    assert np.abs(answers.output - expected).max() < 1e-9
    margins = (2 * Y - 1) * expected
    assert answers.risk == pytest.approx(np.mean((1 - margins) / 2))
    assert (answers.wrong_labels == (margins <= 0)).all()


def edited(model, change):
    """The same model with other numbers in its certificate, sealed anew."""
    content = json.loads(model.certificate.to_json())
    change(content)
    forged = Certificate.from_dict(content)
    return replace(model, certificate=replace(forged, written=None))


def lower_value(quantity):
    def change(content):
        for claim in content["claims"]:
            if claim["quantity"] == quantity:
                claim["value"] *= 0.9

    return change


def drop_label(content):
    content["claims"] = [claim for claim in content["claims"] if claim["label"] != "'rare'"]
    content["choices"]["unions"][0]["count"] = 4


def fewer_errors(content):
    content["claims"][-1]["evidence"]["n_errors"] -= 1


def fewer_labels(content):
    for claim in content["claims"]:
        claim["evidence"]["n_labels"] = 1


def no_hamming_loss(content):
    content["claims"] = [claim for claim in content["claims"] if claim["quantity"] != "hamming loss"]


def smaller_hamming_loss(content):
    claim = next(claim for claim in content["claims"] if claim["quantity"] == "hamming loss")
    claim["evidence"]["empirical_risk"] -= 0.005


@pytest.mark.parametrize(
    ("name", "change", "step"),
    [
        ("held-out", lower_value("hamming loss"), "bound"),
        ("seeger", lower_value("hamming loss"), "bound"),
        ("per_label", lower_value("error rate"), "bound"),
        ("per_label", drop_label, "choices"),
        ("per_label", fewer_errors, "evidence"),
        ("held-out", smaller_hamming_loss, "evidence"),
        ("held-out", no_hamming_loss, "choices"),
        ("seeger", no_hamming_loss, "choices"),
        ("vote", fewer_labels, "evidence"),
        ("seeger", fewer_labels, "evidence"),
    ],
)
def test_verify_sees_what_was_edited(table, models, name, change, step):
    X, Y, _ = table
    report = verify(edited(models[name], change), X, Y)
    assert step in [failed.name for failed in report.failures]


def test_verify_sees_another_label(table, models):
    X, Y, _ = table
    turned = Y.copy()
    turned[N_PRIOR, 1] = 1 - turned[N_PRIOR, 1]
    failed = {step.name for step in verify(models["per_label"], X, turned).failures}
    assert {"data: labels", "empirical risk", "evidence"} <= failed
    assert not verify(models["per_label"], X, Y[:, :2]).ok
    assert not verify(models["per_label"], X, Y[:, 0]).ok


def test_majority_and_labels_never_answered(table):
    X, Y, weights = table
    silent = weights.copy()
    silent[2] = 0.0  # ties: never answered, and always wrong
    model = certified((X, Y, silent))
    certificate = model.certificate
    assert certificate.inputs.never_answered == ("'rare'",)
    assert "A label that certified rows have is never given as an answer" in certificate.shortcomings[-1]
    assert certificate.inputs.n_errors == N - N_PRIOR  # a tie is an error
    more = 2 * Y[:N_PRIOR].sum(axis=0) > N_PRIOR
    told = " and ".join(repr(name) for name, frequent in zip(NAMES, more, strict=True) if frequent)
    assert certificate.majority.answer == (told or "no label")
    assert certificate.majority.n_errors == (Y[N_PRIOR:] != more).any(axis=1).sum()
    assert verify(model, X, Y).ok


def test_constant_labels_and_rows_without_any_are_fine(table):
    X, Y, weights = table
    empty = np.zeros_like(Y)
    model = certified((X, empty, weights))
    assert model.certificate.majority.answer == "no label"
    assert model.certificate.majority.n_errors == 0
    assert verify(model, X, empty).ok


def test_what_is_for_classes_is_refused_for_labels(table):
    X, Y, weights = table
    for options in ({"class_conditional": True}, {"confusion": True}):
        with pytest.raises(OptionError, match="per_label"):
            certified(table, **options)
    with pytest.raises(OptionError, match="held-out"):
        certified(table, "vote", per_label=True)
    with pytest.raises(OptionError, match="do not need a code"):
        certified(table, code="hadamard")
    network = AggregatedNetwork([torch.tensor(weights[:1])], intercept=False)
    with pytest.raises(OptionError, match="For classes, use class_conditional"):
        certify_network(
            network,
            X,
            Y[:, 0],
            classes=(0, 1),
            prior=PriorRecord("given"),
            prior_rows=[],
            certified_rows=np.arange(N),
            certificate="held-out",
            per_label=True,
        )
    with pytest.raises(ShapeError, match="2 labels but 3 names"):
        certified((X, Y[:, :2], weights))
    with pytest.raises(ShapeError, match="outputs"):
        certified((X, Y, weights[:2]))


def test_answers_count_labels(table):
    X, Y, weights = table
    network = AggregatedNetwork([torch.tensor(weights)], intercept=False)
    answers = evaluate(network, X, Y, LabelCode(3))
    wrong = answers.answered != Y
    assert (answers.wrong_labels == wrong).all()
    assert (answers.measured.wrong == wrong.any(axis=1)).all()
    assert (answers.of_label(1).wrong == wrong[:, 1]).all()
    assert answers.counted_labels.losses == pytest.approx(wrong.mean(axis=1))
    assert answers.measured.margins.shape == (N, 3)
    assert answers.distance == 1
    with pytest.raises(ShapeError):
        evaluate(network, X, Y[:, 0], LabelCode(3))


def test_a_sampled_risk_is_that_of_all_labels(table):
    X, Y, _ = table
    generator = torch.Generator().manual_seed(3)
    network = AggregatedNetwork.initialise(4, (3,), n_outputs=3, generator=generator, dtype=torch.float64)
    options = {
        "classes": NAMES,
        "prior": PriorRecord("given"),
        "prior_rows": [],
        "certified_rows": np.arange(N),
        "certificate": "seeger",
    }
    exact = certify_network(network, X, Y, **options)
    drawn = certify_network(network, X, Y, **options, aggregation="monte_carlo", n_samples=20, seed=4)
    assert verify(drawn, X, Y).ok
    risk = drawn.certificate.linear_loss.evidence.empirical_risk
    assert risk == pytest.approx(exact.certificate.network.empirical_risk, abs=0.02)


def test_a_disagreement_is_between_answers_of_one_class(table, models):
    X, *_ = table
    with pytest.raises(OptionError, match="several labels cannot be compared"):
        certify_by_disagreement(models["held-out"], lambda rows: rows[:, 0] > 0, X + 1.0)
