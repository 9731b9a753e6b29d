"""Routes to a certificate: what is claimed, what it costs, what is deployed, and what verify notices."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from pbgnet.bounds import clopper_pearson_bound, split_delta, vote_bound, vote_quantile
from pbgnet.certificates import PriorRecord, certify_network, load_model, save_model, verify
from pbgnet.certificates.arguments import argument_of, with_value
from pbgnet.certificates.evaluation import Answers, answer
from pbgnet.certificates.sampling import draw_risk
from pbgnet.certificates.strategy import FIXED_GRID, plan_settings
from pbgnet.certificates.subject import NetworkSubject
from pbgnet.certificates.terms import Terms
from pbgnet.certificates.words import round_up
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    LabelError,
    OptionError,
    ShapeError,
    UncertifiedError,
    UnknownNameError,
)
from pbgnet.networks import AggregatedNetwork, initial_weights

from .conftest import failed

N = 600


def make(prior_scale=8.0, shift=0.0, hidden=(), **options):
    """A model whose prior reads the first feature, and whose posterior departs from it by `shift`."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2))
    y = np.where(x[:, 0] + 0.2 * rng.normal(size=N) > 0, "yes", "no")
    if hidden:
        prior = initial_weights(2, hidden, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        prior[0][:, 0] += prior_scale
        prior[-1] += 2.0
    else:
        prior = [torch.tensor([[prior_scale, 0.0, 0.0]], dtype=torch.float64)]
    weights = [weight.clone() for weight in prior]
    weights[0][:, 0] += shift
    options = {
        "classes": ("no", "yes"),
        "prior": PriorRecord("pretrained", n_rows=N // 2),
        "prior_rows": range(N // 2),
        "certified_rows": range(N // 2, N),
        **options,
    }
    return certify_network(AggregatedNetwork(weights, prior), x, y, **options), x, y


def forged(model, **changes):
    return dataclasses.replace(model, certificate=dataclasses.replace(model.certificate, **changes))


def test_each_mode_claims_its_route():
    def routes(certificate):
        model, *_ = make(shift=0.5, certificate=certificate)
        return [(claim.route, claim.delta) for claim in model.certificate.claims]

    assert routes("seeger") == [("seeger", 0.05), ("doubled", 0.05)]
    assert routes("mixture") == [("catoni-mixture", 0.05), ("doubled", 0.05)]
    assert routes("vote") == [("vote", 0.05)]
    assert routes("held-out") == [("clopper-pearson", 0.05)]
    assert [delta for _, delta in routes("auto")] == [split_delta(0.05, 2)]


@pytest.mark.parametrize("confidence", [0.8, 0.85, 0.9, 0.95, 0.99])
def test_bounds_are_rounded_up_in_print(confidence):
    certificate = make(shift=0.5, certificate="seeger", confidence=confidence)[0].certificate
    loss, rate = (round_up(claim.value) for claim in certificate.claims)
    assert certificate.statement.endswith(
        f"is at most {loss}, so the error rate of its vote is at most {rate}."
    )


def test_auto_deploys_what_has_the_smaller_bound():
    # A good prior and a posterior that strays: the count wins, and the prior is what answers.
    stray, x, y = make(shift=-7.9, certificate="auto")
    certificate = stray.certificate
    assert certificate.error_rate.predictor == "prior's vote"
    assert all(map(torch.equal, stray.network.weights, stray.network.prior_weights))
    assert certificate.fingerprints.prior == certificate.fingerprints.posterior
    assert certificate.inputs.divergence == 0.0
    prior, *_ = make(shift=0.0)
    np.testing.assert_array_equal(stray.decision_function(x), prior.decision_function(x))
    n_errors = int(np.sum(prior.predict(x)[N // 2 :] != y[N // 2 :]))
    assert certificate.error_rate.value == clopper_pearson_bound(n_errors, N // 2, split_delta(0.05, 2))
    assert "the prior's vote, which is what is deployed," in certificate.statement
    assert "not kept" in certificate.predictors[0]
    assert {claim.predictor for claim in certificate.alternatives} == {
        "discarded aggregate",
        "discarded vote",
        "prior's aggregate",
    }
    report = verify(stray, x, y)
    assert report.ok
    assert "alternatives" in [step.name for step in report.trusted]
    # A prior that votes at random, but is not far from a good posterior: the vote wins.
    bad, *_ = make(prior_scale=-0.5, shift=4.0, certificate="auto")
    assert bad.certificate.error_rate.route == "vote"
    assert bad.certificate.error_rate.predictor == "vote"
    assert float(bad.network.weights[0].detach()[0, 0]) == 3.5


def test_auto_without_a_learned_prior_compares_the_two_bounds_on_the_loss():
    for kind, rows in (("given", []), ("zero", range(100))):
        rest = range(len(rows), N)
        scale = 0.0 if kind == "zero" else 1.0
        model, x, y = make(
            prior_scale=scale,
            shift=4.0,
            certificate="auto",
            prior=PriorRecord(kind),
            prior_rows=rows,
            certified_rows=rest,
        )
        certificate = model.certificate
        assert certificate.choices.candidates == ("seeger", "mixture")
        assert certificate.choices.on_prior_rows == ()
        assert certificate.linear_loss.delta == certificate.error_rate.delta == split_delta(0.05, 2)
        values = {
            mode: make(
                prior_scale=scale,
                shift=4.0,
                certificate=mode,
                prior=PriorRecord(kind),
                prior_rows=rows,
                certified_rows=rest,
            )[0].certificate.error_rate.value
            for mode in ("seeger", "mixture")
        }
        assert certificate.error_rate.value >= min(values.values())
        assert certificate.linear_loss.route == (
            "seeger" if values["seeger"] < values["mixture"] else "catoni-mixture"
        )
        assert verify(model, x, y).ok


def test_the_vote_is_bounded_by_its_own_loss():
    model, x, y = make(shift=0.5, hidden=(3,), certificate="vote")
    claim = model.certificate.error_rate
    T, k = claim.settings.n_networks, claim.settings.n_right
    margins = np.where(y == "yes", 1, -1)[N // 2 :] * model.decision_function(x[N // 2 :])
    wrong = np.stack([np.random.default_rng(s).random((T, N // 2)) > (1 + margins) / 2 for s in range(300)])
    sampled = np.mean(np.sum(~wrong, axis=1) <= k)
    assert claim.evidence.empirical_risk == pytest.approx(sampled, abs=0.01)
    plain = vote_bound(
        claim.evidence.empirical_risk, claim.evidence.divergence, N // 2, 0.05, T, k, claim.settings.c
    )
    assert plain <= claim.value <= plain * (1 + 1e-5)
    assert claim.value >= claim.evidence.empirical_risk / vote_quantile(T, k)
    told = f"in the vote, {T}, and that it is a loss if at most {k} are right"
    assert told in " ".join(model.certificate.assumptions)


def test_the_plan_knows_nothing_of_the_certified_rows():
    model, x, y = make(shift=0.5, certificate="vote")
    apart = answer(
        AggregatedNetwork(model.network.prior_weights),
        x[: N // 2],
        torch.tensor(np.where(y == "yes", 1, -1)[: N // 2]),
    )
    plan = plan_settings(apart, N // 2, 0.05)
    assert plan.vote == model.certificate.error_rate.settings
    assert plan.learned
    fixed = plan_settings(None, N // 2, 0.05)
    assert fixed.loss.c == fixed.vote.c == FIXED_GRID
    assert not fixed.learned


def resettled(model, x, y, **changes):
    """Change the settings of the vote, and everything that follows from them."""
    claim = model.certificate.error_rate
    argument = dataclasses.replace(
        argument_of(claim), settings=dataclasses.replace(claim.settings, **changes)
    )
    return forged(model, claims=(argument.claim(NetworkSubject(model, x, y).situation, claim.delta),))


def test_settings_not_chosen_on_the_prior_rows_are_caught():
    model, x, y = make(shift=0.5, hidden=(3,), certificate="vote")
    c, T = model.certificate.error_rate.settings.c, model.certificate.error_rate.settings.n_networks
    nudged = resettled(model, x, y, c=tuple(value * (1 + 1e-9) for value in c))
    assert verify(nudged, x, y).ok, "margins differ in the last digits on other machines"
    assert failed(verify(resettled(model, x, y, c=tuple(1.1 * value for value in c)), x, y)) == {"settings"}
    assert failed(verify(resettled(model, x, y, n_networks=T + 1), x, y)) == {"settings"}
    assert failed(verify(resettled(model, x, y, c=None, constant="maurer"), x, y)) >= {"settings"}
    free, x, y = make(
        shift=0.5, certificate="mixture", prior=PriorRecord("given"), prior_rows=[], certified_rows=range(N)
    )
    loss, rate = free.certificate.claims
    settings = dataclasses.replace(loss.settings, c=(0.5,))
    claims = [with_value(dataclasses.replace(c, settings=settings)) for c in (loss, rate)]
    assert "settings" in failed(verify(forged(free, claims=tuple(claims)), x, y))


def test_margins_that_chose_the_settings_are_stored_and_used_again(tmp_path):
    margins = np.linspace(-0.2, 0.9, 40)
    model, x, y = make(shift=0.5, hidden=(3,), certificate="vote", prior_margins=margins)
    plain, *_ = make(shift=0.5, hidden=(3,), certificate="vote")
    assert model.certificate.error_rate.settings != plain.certificate.error_rate.settings
    assert plain.prior_margins is None
    folder = save_model(model, tmp_path / "model")
    np.testing.assert_array_equal(load_model(folder).prior_margins, margins)
    report = verify(folder, x, y)
    assert report.ok, str(report)
    assert "settings" in [step.name for step in report.trusted]
    assert "settings" in [step.name for step in verify(plain, x, y).recomputed]
    for other in (None, margins[::2] ** 3, -margins):
        assert failed(verify(dataclasses.replace(model, prior_margins=other), x, y)) == {"settings"}
    text = ("the network itself, which is perfect on them",)
    told = dataclasses.replace(model.certificate.choices, on_prior_rows=text)
    assert failed(verify(forged(model, choices=told), x, y)) == {"settings"}


def test_margins_that_cannot_be_are_refused(tmp_path):
    for margins, error, message in (
        ([0.5, np.nan], DomainError, "NaN or infinity"),
        ([[0.5]], ShapeError, "one list of margins"),
        (np.full(N // 2 + 1, 0.5), ShapeError, "301 prior_margins, but only 300 prior rows"),
    ):
        with pytest.raises(error, match=message):
            make(shift=0.5, prior_margins=margins)
    # A prior that saw no row chose nothing by them.
    free, *_ = make(
        prior_scale=0.0,
        prior=PriorRecord("zero"),
        prior_rows=[],
        certified_rows=range(N),
        prior_margins=[0.5],
    )
    assert free.prior_margins is None
    folder = save_model(make(shift=0.5, prior_margins=[0.5, 0.1])[0], tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, "prior_margins": tensors["prior_margins"].float()}, folder / "model.safetensors")
    with pytest.raises(DamagedFileError, match="prior_margins must be one list of float64"):
        load_model(folder)


def test_the_list_of_alternatives_is_the_expected_one():
    model, x, y = make(shift=0.5, certificate="vote")
    given = model.certificate.alternatives
    fake = dataclasses.replace(given[0], predictor="discarded aggregate")
    for others in ((), given[1:], given[::-1], (*given, given[0]), (fake, *given[1:])):
        report = verify(forged(model, alternatives=others), x, y)
        assert failed(report) == {"alternatives"}
    kept, x, y = make(shift=0.5, certificate="held-out")
    undiscarded = tuple(
        dataclasses.replace(claim, predictor=claim.predictor.removeprefix("discarded "))
        for claim in kept.certificate.alternatives
    )
    assert failed(verify(forged(kept, alternatives=undiscarded), x, y)) == {"alternatives"}


def with_count(model, n_errors):
    """State another count of errors of the prior's vote, and everything that follows from it."""
    n = model.certificate.inputs.n
    claim = model.certificate.error_rate
    counted = dataclasses.replace(claim.evidence, n_errors=n_errors, empirical_risk=n_errors / n)
    inputs = dataclasses.replace(
        model.certificate.inputs, n_errors=n_errors, empirical_error_rate=n_errors / n
    )
    return forged(model, claims=(with_value(dataclasses.replace(claim, evidence=counted)),), inputs=inputs)


def test_a_network_of_ties_cannot_hide_its_errors():
    # Its vote is a good one, but all outputs are within the numerical error of 0.
    model, x, y = make(prior_scale=1e-17, certificate="held-out")
    assert model.certificate.inputs.n_errors == N // 2
    assert verify(model, x, y).ok
    for n_errors, caught in ((0, True), (N // 2 - 4, True), (N // 2 - 3, False)):
        report = verify(with_count(model, n_errors), x, y)
        assert failed(report) == ({"error rate", "evidence"} if caught else set())
        if not caught:
            assert {"error rate", "evidence"} <= {step.name for step in report.trusted}
    clear, x, y = make(certificate="held-out")
    assert failed(verify(with_count(clear, clear.certificate.inputs.n_errors - 1), x, y)) == {
        "error rate",
        "evidence",
    }


def test_a_network_whose_outputs_nobody_can_compute_fails():
    model, x, y = make(shift=0.5, hidden=(3,), certificate="held-out")
    first, last = (weight.detach() for weight in model.network.weights)
    absurd = AggregatedNetwork([1e12 * first, last])
    report = verify(dataclasses.replace(model, network=absurd), x, y)
    step = next(step for step in report.failures if step.name == "numerical error")
    assert step.expected == "outputs to within 1e-06"


def test_looking_without_paying_is_caught():
    model, x, y = make(shift=-7.9, certificate="auto")
    claim = with_value(dataclasses.replace(model.certificate.error_rate, delta=0.05))
    unpaid = dataclasses.replace(model.certificate.choices, unions=())
    assert failed(verify(forged(model, claims=(claim,)), x, y)) == {"delta"}
    # The settings of the routes not taken were chosen for the smaller share.
    assert failed(verify(forged(model, claims=(claim,), choices=unpaid), x, y)) == {"choices", "settings"}
    both, x, y = make(shift=-7.9, certificate="held-out", class_conditional=True)
    claims = [with_value(dataclasses.replace(c, delta=0.05)) for c in both.certificate.claims]
    free = dataclasses.replace(both.certificate.choices, unions=())
    assert "choices" in failed(verify(forged(both, claims=tuple(claims), choices=free), x, y))


def test_claiming_more_than_was_paid_for_is_caught():
    model, x, y = make(shift=0.5, certificate="vote", class_conditional=True)
    seeger, *_ = make(shift=0.5, certificate="seeger")
    overall, first, second = model.certificate.claims
    loss = with_value(dataclasses.replace(seeger.certificate.linear_loss, delta=overall.delta))
    for claims in (
        (loss, overall, first, second),  # another event at the same delta
        (overall, first),  # one class only, which would be valid and is not what was asked for
        (overall, first, second, second),
        (overall, second, first),
    ):
        assert "choices" in failed(verify(forged(model, claims=claims), x, y))
    assert verify(forged(model, claims=(overall, first, second)), x, y).ok
    doubled, x, y = make(shift=0.5, certificate="mixture")
    loss, rate = doubled.certificate.claims
    wide = with_value(dataclasses.replace(rate, settings=dataclasses.replace(rate.settings, c=(0.5, 1.0))))
    assert "choices" in failed(verify(forged(doubled, claims=(loss, wide)), x, y))


def test_an_alternative_at_another_confidence_is_caught():
    model, x, y = make(shift=0.5, certificate="vote")
    first, *others = model.certificate.alternatives
    cheaper = with_value(dataclasses.replace(first, delta=0.5))
    assert cheaper.value < first.value
    assert failed(verify(forged(model, alternatives=(cheaper, *others)), x, y)) == {"alternatives"}


def test_a_count_of_the_posterior_cannot_be_passed_off():
    model, x, y = make(shift=3.0, certificate="held-out")
    kept, *_ = make(shift=3.0, certificate="vote")
    # The weights of a posterior under a certificate of its prior.
    swapped = dataclasses.replace(model, network=kept.network)
    prints = dataclasses.replace(
        model.certificate.fingerprints, posterior=kept.certificate.fingerprints.posterior
    )
    swapped = forged(swapped, fingerprints=prints)
    assert {"deployed predictor"} <= failed(verify(swapped, x, y))


def test_class_conditional_bounds_of_a_network():
    model, x, y = make(shift=0.5, certificate="held-out", class_conditional=True)
    certificate = model.certificate
    share = split_delta(0.05, 3)
    assert [claim.given_class for claim in certificate.class_conditional] == ["'no'", "'yes'"]
    for claim in certificate.class_conditional:
        rows = np.flatnonzero(y == claim.given_class.strip("'"))
        rows = rows[rows >= N // 2]
        wrong = int(np.sum(model.predict(x[rows]) != y[rows]))
        assert (claim.evidence.n, claim.evidence.n_errors) == (rows.size, wrong)
        assert claim.value == clopper_pearson_bound(wrong, rows.size, share)
    assert sum(claim.evidence.n for claim in certificate.class_conditional) == N // 2
    seeger, *_ = make(shift=0.5, certificate="seeger", class_conditional=True)
    risks = [
        claim.evidence.empirical_risk * claim.evidence.n for claim in seeger.certificate.class_conditional
    ]
    assert sum(risks) == pytest.approx(seeger.certificate.inputs.empirical_risk * N / 2)
    lie = [dataclasses.replace(c, given_class="'yes'") if c.given_class else c for c in certificate.claims]
    assert "evidence" in failed(verify(forged(model, claims=tuple(lie)), x, y))


def test_a_class_with_one_certified_row_is_refused():
    _, _, y = make()
    rows = np.r_[np.flatnonzero(y == "no")[-50:], np.flatnonzero(y == "yes")[-1:]]
    with pytest.raises(LabelError, match=r"Class 'yes' has 1 certified rows.*at least 2 of each class"):
        make(class_conditional=True, certified_rows=rows, prior_rows=range(100), prior=PriorRecord("given"))


def test_unknown_routes_are_named():
    with pytest.raises(UnknownNameError, match=r"Unknown certificate 'voting'.*Did you mean 'vote'"):
        make(certificate="voting")


class TestSampledRisk:
    OPTIONS = {"aggregation": "monte_carlo", "n_samples": 20, "seed": 3}  # noqa: RUF012

    @pytest.mark.parametrize("certificate", ["seeger", "mixture"])
    def test_it_pays_for_the_draws_and_says_so(self, certificate, tmp_path):
        exact, x, y = make(shift=0.5, hidden=(3,), certificate=certificate)
        model, x, y = make(shift=0.5, hidden=(3,), certificate=certificate, **self.OPTIONS)
        certificate = model.certificate
        share = split_delta(0.05, 2)
        for claim in certificate.claims:
            assert claim.delta == claim.evidence.sampling_delta == share
            assert claim.evidence.n_draws == 20 * N // 2
        assert certificate.aggregation.method == "monte_carlo"
        assert (certificate.aggregation.n_samples, certificate.aggregation.seed) == (20, 3)
        assert "the draws of the sampled risk" in " ".join(certificate.assumptions)
        head = (
            "With confidence 95 %, over the draw of the 300 certified rows and of the 20 sign vectors per row"
        )
        assert certificate.statement.startswith(f"{head}, the expected linear loss")
        assert any(
            "The seed of the sign vectors, 3, was fixed beforehand" in s for s in certificate.assumptions
        )
        assert certificate.linear_loss.value > exact.certificate.linear_loss.value
        sampled = certificate.linear_loss.evidence.empirical_risk
        assert sampled != certificate.inputs.empirical_risk == pytest.approx(sampled, abs=0.01)
        folder = save_model(model, tmp_path / "model")
        assert verify(folder, x, y).ok
        file = folder / "certificate.json"
        content = json.loads(file.read_text())
        for key, value in (("seed", 4), ("n_samples", 21), ("method", "fourier")):
            changed = {**content, "aggregation": {**content["aggregation"], key: value}}
            file.write_text(json.dumps(changed))
            assert {"evidence", "choices"} & failed(verify(folder, x, y))

    def test_draws_that_pay_less_are_caught(self):
        model, x, y = make(shift=0.5, hidden=(3,), **self.OPTIONS)
        claims = [
            with_value(dataclasses.replace(c, evidence=dataclasses.replace(c.evidence, sampling_delta=0.9)))
            for c in model.certificate.claims
        ]
        assert claims[0].value < model.certificate.linear_loss.value
        assert failed(verify(forged(model, claims=tuple(claims)), x, y)) == {"evidence"}

    def test_the_estimate_is_unbiased(self):
        model, x, y = make(shift=0.5, hidden=(3,))
        signs = torch.tensor(np.where(y == "yes", 1.0, -1.0))
        draws = [
            draw_risk(model.network, x, signs, Terms(aggregation="monte_carlo", n_samples=50, seed=seed)).risk
            for seed in range(12)
        ]
        exact = answer(model.network, x, signs).evaluation().risk
        assert abs(np.mean(draws) - exact) < 5 * np.std(draws) / np.sqrt(len(draws)) + 1e-6
        assert np.std(draws) < 0.01

    def test_what_cannot_be_sampled_is_refused(self):
        with pytest.raises(UncertifiedError, match=r"one hidden layer only: with more than one.*biased"):
            make(hidden=(3, 2), **self.OPTIONS)
        with pytest.raises(UncertifiedError, match="nothing to draw"):
            make(**self.OPTIONS)
        for certificate in ("vote", "auto", "held-out"):
            with pytest.raises(OptionError, match="use aggregation='fourier'"):
                make(hidden=(3,), certificate=certificate, **self.OPTIONS)
        with pytest.raises(OptionError, match="needs a seed"):
            make(hidden=(3,), aggregation="monte_carlo", n_samples=3)
        with pytest.raises(OptionError, match="belong to aggregation='monte_carlo'"):
            make(hidden=(3,), seed=3)
        with pytest.raises(UnknownNameError, match="aggregation of a certificate"):
            make(hidden=(3,), aggregation="enumeration")


def test_answers_of_one_class_keep_their_errors():
    answers = Answers(np.array([0.5, -0.5, 0.0]), np.array([1.0, 1.0, -1.0]), 1e-9, 2.0)
    positive = answers.of_class(1.0)
    assert (positive.n, positive.error, positive.divergence) == (2, 1e-9, 2.0)
    assert positive.evaluation().n_errors == positive.evaluation().n_wrong == 1
    assert answers.evaluation().n_wrong == 1, "0 is a vote for the first class"
    assert answers.evaluation().n_errors == 2, "which another computer may not find"
    risk, error = answers.vote_risk(1, 0)
    assert risk == pytest.approx(answers.linear_risk()[0])
    assert error >= 0.5e-9


@pytest.mark.parametrize("certificate", ["seeger", "mixture", "vote", "held-out", "auto"])
@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("class_conditional", [True, False])
def test_every_route_is_verified_also_from_a_folder(tmp_path, certificate, learned, class_conditional):
    rows = {"prior": PriorRecord("given"), "prior_rows": [], "certified_rows": range(N)}
    model, x, y = make(
        shift=0.5,
        hidden=(3,),
        certificate=certificate,
        class_conditional=class_conditional,
        **({} if learned else rows),
    )
    folder = save_model(model, tmp_path / "model")
    report = verify(folder, x, y)
    assert report.ok, str(report)
    again = load_model(folder)
    assert again.certificate == model.certificate
    assert again.certificate.to_json() == (folder / "certificate.json").read_text()
    shares = model.certificate.choices.n_shares
    assert shares == (2 if certificate == "auto" else 1) * (3 if class_conditional else 1)
    assert {claim.delta for claim in model.certificate.claims} == {split_delta(0.05, shares)}
