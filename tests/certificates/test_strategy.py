"""Routes to a certificate: what is claimed, what it costs, what is deployed, and what verify notices."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from pbgnet.bounds import clopper_pearson_bound, split_delta, vote_bound, vote_quantile
from pbgnet.certificates import PriorRecord, certify_network, load_model, save_model, verify
from pbgnet.certificates.arguments import with_value
from pbgnet.certificates.evaluation import Answers, answer
from pbgnet.certificates.sampling import draw_risk
from pbgnet.certificates.strategy import FIXED_GRID, plan_settings
from pbgnet.certificates.terms import Terms
from pbgnet.certificates.words import round_up
from pbgnet.exceptions import LabelError, OptionError, UncertifiedError, UnknownNameError
from pbgnet.networks import AggregatedNetwork, initial_weights

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


def failed(report):
    return {step.name for step in report.failures}


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
        scale = 0.0 if kind == "zero" else 1.0
        model, x, y = make(
            prior_scale=scale, shift=4.0, certificate="auto", prior=PriorRecord(kind), prior_rows=rows
        )
        certificate = model.certificate
        assert certificate.choices.candidates == ("seeger", "mixture")
        assert certificate.choices.on_prior_rows == ()
        assert certificate.linear_loss.delta == certificate.error_rate.delta == split_delta(0.05, 2)
        values = {
            mode: make(
                prior_scale=scale, shift=4.0, certificate=mode, prior=PriorRecord(kind), prior_rows=rows
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
    assert f"in the vote, {T}, of which {k} may be right" in " ".join(model.certificate.assumptions)


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


def test_settings_not_chosen_on_the_prior_rows_are_told():
    model, x, y = make(shift=0.5, certificate="vote")
    claim = model.certificate.error_rate
    settings = dataclasses.replace(claim.settings, c=tuple(c * 1.1 for c in claim.settings.c))
    other = forged(model, claims=(with_value(dataclasses.replace(claim, settings=settings)),))
    report = verify(other, x, y)
    assert report.ok
    assert "settings" in [step.name for step in report.trusted]
    free, x, y = make(shift=0.5, certificate="mixture", prior=PriorRecord("given"), prior_rows=[])
    loss, rate = free.certificate.claims
    settings = dataclasses.replace(loss.settings, c=(0.5,))
    claims = [with_value(dataclasses.replace(c, settings=settings)) for c in (loss, rate)]
    assert "settings" in failed(verify(forged(free, claims=tuple(claims)), x, y))


def test_looking_without_paying_is_caught():
    model, x, y = make(shift=-7.9, certificate="auto")
    claim = with_value(dataclasses.replace(model.certificate.error_rate, delta=0.05))
    unpaid = dataclasses.replace(model.certificate.choices, unions=())
    assert failed(verify(forged(model, claims=(claim,)), x, y)) == {"delta"}
    assert failed(verify(forged(model, claims=(claim,), choices=unpaid), x, y)) == {"choices"}
    both, x, y = make(shift=-7.9, certificate="held-out", class_conditional=True)
    claims = [with_value(dataclasses.replace(c, delta=0.05)) for c in both.certificate.claims]
    free = dataclasses.replace(both.certificate.choices, unions=())
    assert failed(verify(forged(both, claims=tuple(claims), choices=free), x, y)) == {"choices"}


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
    assert positive.evaluation().n_errors == 1
    assert answers.evaluation().n_errors == 1, "0 is a vote for the first class"
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
