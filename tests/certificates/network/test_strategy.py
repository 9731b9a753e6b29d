"""Routes to a certificate: what is claimed, what it costs, what is deployed, and what verify notices."""

import dataclasses

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.certificates.conftest import N_LEARNED, failed, forged, make_learned, verify

from pbgnet.bounds import FIXED_GRID, clopper_pearson_bound, split_delta, vote_bound, vote_quantile
from pbgnet.certificates import (
    ROUTES,
    Answers,
    Foresight,
    PriorRecord,
    certifiable,
    evaluate,
    load_model,
    round_up,
    save_model,
)
from pbgnet.certificates.routes.vote import VoteSettings
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    LabelError,
    ShapeError,
    UnknownNameError,
)
from pbgnet.networks import TWO_CLASSES, AggregatedNetwork


def test_each_mode_claims_its_route():
    def routes(certificate):
        model, *_ = make_learned(shift=0.5, certificate=certificate)
        return [(claim.route, claim.delta) for claim in model.certificate.claims]

    assert routes("seeger") == [("seeger", 0.05), ("doubled", 0.05)]
    assert routes("mixture") == [("catoni-mixture", 0.05), ("doubled", 0.05)]
    assert routes("vote") == [("vote", 0.05)]
    assert routes("held-out") == [("clopper-pearson", 0.05)]
    assert [delta for _, delta in routes("auto")] == [split_delta(0.05, 2)]


@pytest.mark.parametrize("confidence", [0.8, 0.85, 0.9, 0.95, 0.99])
def test_bounds_are_rounded_up_in_print(confidence):
    certificate = make_learned(shift=0.5, certificate="seeger", confidence=confidence)[0].certificate
    loss, rate = (round_up(claim.value) for claim in certificate.claims)
    assert certificate.statement.endswith(
        f"is at most {loss}, so the error rate of its vote is at most {rate}."
    )


def test_auto_deploys_what_has_the_smaller_bound():
    # A good prior and a posterior that strays: the count wins, and the prior is what answers.
    stray, x, y = make_learned(shift=-7.9, certificate="auto")
    certificate = stray.certificate
    assert certificate.error_rate.predictor == "prior's vote"
    assert all(map(torch.equal, stray.network.weights, stray.network.prior_weights))
    assert certificate.network.prior_weights == certificate.network.posterior_weights
    assert certificate.network.divergence == 0.0
    prior, *_ = make_learned(shift=0.0)
    np.testing.assert_array_equal(stray.decision_function(x), prior.decision_function(x))
    n_errors = int(np.sum(prior.predict(x)[N_LEARNED // 2 :] != y[N_LEARNED // 2 :]))
    assert certificate.error_rate.value == clopper_pearson_bound(
        n_errors, N_LEARNED // 2, split_delta(0.05, 2)
    )
    assert "the deployed classifier (the prior's vote)" in certificate.statement
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
    bad, *_ = make_learned(prior_scale=-0.5, shift=4.0, certificate="auto")
    assert bad.certificate.error_rate.route == "vote"
    assert bad.certificate.error_rate.predictor == "vote"
    assert float(bad.network.weights[0].detach()[0, 0]) == 3.5


def test_where_the_posterior_is_the_prior_nothing_was_discarded():
    """As in an ensemble: all that is said for comparison is recomputed, and none of it taken on trust."""
    model, x, y = make_learned(shift=0.0, certificate="held-out")
    certificate = model.certificate
    assert {claim.predictor for claim in certificate.alternatives} == {
        "aggregate",
        "vote",
        "prior's aggregate",
    }
    assert not certificate.has_discarded
    told = (*certificate.predictors, *(claim.words for claim in certificate.alternatives))
    assert not any("not kept" in text for text in told)
    report = verify(model, x, y)
    assert report.ok
    assert "alternatives" not in [step.name for step in report.trusted]
    vote = next(k for k, claim in enumerate(certificate.alternatives) if claim.route == "vote")
    lower = dataclasses.replace(certificate.alternatives[vote], value=0.01)
    others = (*certificate.alternatives[:vote], lower, *certificate.alternatives[vote + 1 :])
    assert failed(verify(forged(model, alternatives=others), x, y)) == {"alternatives"}
    loss = dataclasses.replace(certificate.alternatives[0].evidence, empirical_risk=0.001)
    better = dataclasses.replace(certificate.alternatives[0], evidence=loss).recomputed()
    others = (better, *certificate.alternatives[1:])
    assert failed(verify(forged(model, alternatives=others), x, y)) == {"alternatives"}


def test_auto_without_a_learned_prior_compares_the_two_bounds_on_the_loss():
    for kind, rows in (("given", []), ("zero", range(100))):
        rest = range(len(rows), N_LEARNED)
        scale = 0.0 if kind == "zero" else 1.0
        model, x, y = make_learned(
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
            mode: make_learned(
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
    model, x, y = make_learned(shift=0.5, hidden=(3,), certificate="vote")
    claim = model.certificate.error_rate
    T, k = claim.settings.n_networks, claim.settings.n_right
    margins = np.where(y == "yes", 1, -1)[N_LEARNED // 2 :] * model.decision_function(x[N_LEARNED // 2 :])
    wrong = np.stack(
        [np.random.default_rng(s).random((T, N_LEARNED // 2)) > (1 + margins) / 2 for s in range(300)]
    )
    sampled = np.mean(np.sum(~wrong, axis=1) <= k)
    assert claim.evidence.empirical_risk == pytest.approx(sampled, abs=0.01)
    plain = vote_bound(
        claim.evidence.empirical_risk, claim.evidence.divergence, N_LEARNED // 2, 0.05, T, k, claim.settings.c
    )
    assert plain <= claim.value <= plain * (1 + 1e-5)
    assert claim.value >= claim.evidence.empirical_risk / vote_quantile(T, k)
    told = f"in the vote, {T}, and the rule that a row is lost if at most {k} of them are right"
    assert told in " ".join(model.certificate.assumptions)


def test_the_plan_knows_nothing_of_the_certified_rows():
    model, x, y = make_learned(shift=0.5, certificate="vote")
    apart = evaluate(
        certifiable(AggregatedNetwork(model.network.prior_weights)),
        x[: N_LEARNED // 2],
        np.where(y == "yes", 1, 0)[: N_LEARNED // 2],
        TWO_CLASSES,
    )
    foresight = Foresight(N_LEARNED // 2, 0.05, apart.margins)
    assert ROUTES["vote"].plan(foresight) == model.certificate.error_rate.settings
    assert foresight.learned
    blind = Foresight(N_LEARNED // 2, 0.05)
    assert ROUTES["catoni-mixture"].plan(blind).c == ROUTES["vote"].plan(blind).c == FIXED_GRID
    assert not blind.learned


def test_margins_that_chose_the_settings_are_stored_and_used_again(tmp_path):
    margins = np.linspace(-0.2, 0.9, 40)
    model, x, y = make_learned(shift=0.5, hidden=(3,), certificate="vote", prior_margins=margins)
    plain, *_ = make_learned(shift=0.5, hidden=(3,), certificate="vote")
    assert model.certificate.error_rate.settings != plain.certificate.error_rate.settings
    assert plain.prior_margins is None
    folder = save_model(model, tmp_path / "model")
    np.testing.assert_array_equal(load_model(folder).prior_margins, margins)
    report = verify(folder, x, y)
    assert report.ok, str(report)
    assert "settings" in [step.name for step in report.trusted]
    assert "settings" in [step.name for step in verify(plain, x, y).recomputed]
    for other in (None, margins[::2] ** 3, -margins):
        report = verify(dataclasses.replace(model, prior_margins=other), x, y)
        assert failed(report) == {"settings", "prior margins"}
    text = ("the network itself, which is perfect on them",)
    told = dataclasses.replace(model.certificate.choices, on_prior_rows=text)
    assert failed(verify(forged(model, choices=told), x, y)) == {"settings"}


def test_margins_that_cannot_be_are_refused(tmp_path):
    for margins, error, message in (
        ([0.5, np.nan], DomainError, "NaN or infinity"),
        ([[0.5]], ShapeError, "one list of margins"),
        (np.full(N_LEARNED // 2 + 1, 0.5), ShapeError, "301 prior_margins, but only 300 prior rows"),
    ):
        with pytest.raises(error, match=message):
            make_learned(shift=0.5, prior_margins=margins)
    # A prior that saw no row chose nothing by them.
    free, *_ = make_learned(
        prior_scale=0.0,
        prior=PriorRecord("zero"),
        prior_rows=[],
        certified_rows=range(N_LEARNED),
        prior_margins=[0.5],
    )
    assert free.prior_margins is None
    folder = save_model(make_learned(shift=0.5, prior_margins=[0.5, 0.1])[0], tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, "prior_margins": tensors["prior_margins"].float()}, folder / "model.safetensors")
    with pytest.raises(DamagedFileError, match="prior_margins must be a one-dimensional list of float64"):
        load_model(folder)
    for wrong in ([1.0 + 1e-9, 0.1], [np.nan, 0.1], []):
        values = torch.tensor(wrong, dtype=torch.float64)
        save_file({**tensors, "prior_margins": values}, folder / "model.safetensors")
        with pytest.raises(DamagedFileError, match=r"prior_margins must be numbers in \[-1, 1\]"):
            load_model(folder)


def test_every_bit_of_the_stored_margins_is_under_the_seal(tmp_path):
    # A bit so small that the same settings are chosen by the margins.
    model, x, y = make_learned(shift=0.5, certificate="vote", prior_margins=[0.0, 0.9, 0.5, 1.0])
    file = save_model(model, tmp_path / "model") / "model.safetensors"
    tensors = load_file(file)
    for k in range(4):
        for bit in (0, 7, 63):
            changed = tensors["prior_margins"].clone()
            changed.view(torch.int64)[k] ^= 1 << bit if bit < 63 else -(2**63)
            if k == 3 and bit < 63 and changed[k] > 1:
                continue  # no margin: refused, as above
            save_file({**tensors, "prior_margins": changed}, file)
            assert "prior margins" in failed(verify(file.parent, x, y)), (k, bit)
            with pytest.raises(DamagedFileError, match="prior margins"):
                load_model(file.parent)
    save_file({name: tensors[name] for name in tensors if name != "prior_margins"}, file)
    assert "prior margins" in failed(verify(file.parent, x, y))


def test_class_conditional_bounds_of_a_network():
    model, x, y = make_learned(shift=0.5, certificate="held-out", class_conditional=True)
    certificate = model.certificate
    share = split_delta(0.05, 3)
    assert [claim.given_class for claim in certificate.class_conditional] == ["'no'", "'yes'"]
    for claim in certificate.class_conditional:
        rows = np.flatnonzero(y == claim.given_class.strip("'"))
        rows = rows[rows >= N_LEARNED // 2]
        wrong = int(np.sum(model.predict(x[rows]) != y[rows]))
        assert (claim.evidence.n, claim.evidence.n_errors) == (rows.size, wrong)
        assert claim.value == clopper_pearson_bound(wrong, rows.size, share)
    assert sum(claim.evidence.n for claim in certificate.class_conditional) == N_LEARNED // 2
    seeger, *_ = make_learned(shift=0.5, certificate="seeger", class_conditional=True)
    risks = [
        claim.evidence.empirical_risk * claim.evidence.n for claim in seeger.certificate.class_conditional
    ]
    assert sum(risks) == pytest.approx(seeger.certificate.network.empirical_risk * N_LEARNED / 2)
    lie = [dataclasses.replace(c, given_class="'yes'") if c.given_class else c for c in certificate.claims]
    assert "evidence" in failed(verify(forged(model, claims=tuple(lie)), x, y))


def test_a_class_with_one_certified_row_is_refused():
    _, _, y = make_learned()
    rows = np.r_[np.flatnonzero(y == "no")[-50:], np.flatnonzero(y == "yes")[-1:]]
    with pytest.raises(LabelError, match=r"Class 'yes' has 1 certified rows.*at least 2 in each class"):
        make_learned(
            class_conditional=True, certified_rows=rows, prior_rows=range(100), prior=PriorRecord("given")
        )


def test_unknown_routes_are_named():
    with pytest.raises(UnknownNameError, match=r"Unknown certificate 'voting'.*Did you mean 'vote'"):
        make_learned(certificate="voting")


def test_answers_of_one_class_keep_their_errors():
    answers = Answers(np.array([0.5, -0.5, 0.0]), np.array([1, 1, 0]), TWO_CLASSES, 1e-9, 2.0)
    positive = answers.of_class(1)
    assert (positive.n, positive.error, positive.divergence) == (2, 1e-9, 2.0)
    assert positive.n_errors == 1
    assert answers.n_errors == 2, "0 is a vote for the first class, which another computer may not find"
    assert (answers.n_ties, positive.n_ties) == (1, 0)
    evidence = ROUTES["vote"].evidence(answers.measured, VoteSettings(c=(1.0,)), 0.05)
    assert evidence.empirical_risk == pytest.approx(answers.risk)
    assert evidence.numerical_error >= 0.5e-9
    assert evidence.margin_error == 1e-9
    assert evidence.divergence == 2.0


@pytest.mark.parametrize("certificate", ["seeger", "mixture", "vote", "held-out", "auto"])
@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("class_conditional", [True, False])
def test_every_route_is_verified_also_from_a_folder(tmp_path, certificate, learned, class_conditional):
    rows = {"prior": PriorRecord("given"), "prior_rows": [], "certified_rows": range(N_LEARNED)}
    model, x, y = make_learned(
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


def test_a_row_that_another_computer_may_get_wrong_is_an_error():
    output = np.array([1.0, 1.9, 2.1, 3.9, 4.1, -3.9]) * 1e-9
    answers = Answers(output, np.array([1, 1, 1, 1, 1, 0]), TWO_CLASSES, 1e-9, 0.0)
    assert answers.n_errors == 2, "the exact output is up to 1e-9 from here, and the other one as far from it"
    assert answers.n_ties == 5, "another computer counts these otherwise, perhaps"
