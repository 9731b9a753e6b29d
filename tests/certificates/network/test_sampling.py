"""A risk that was sampled: paid for, verified again, and refused where it would be biased."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from tests.certificates.conftest import N_LEARNED, failed, forged, make_learned, verify

from pbgnet.bounds import split_delta
from pbgnet.certificates import Terms, evaluate, save_model
from pbgnet.certificates.network.sampling import draw_risk
from pbgnet.exceptions import (
    DomainError,
    OptionError,
    UncertifiedError,
    UnknownNameError,
)
from pbgnet.networks import TWO_CLASSES


class TestSampledRisk:
    OPTIONS = {"aggregation": "monte_carlo", "n_samples": 20, "seed": 3}  # noqa: RUF012

    @pytest.mark.parametrize("certificate", ["seeger", "mixture"])
    def test_it_pays_for_the_draws_and_says_so(self, certificate, tmp_path):
        exact, x, y = make_learned(shift=0.5, hidden=(3,), certificate=certificate)
        model, x, y = make_learned(shift=0.5, hidden=(3,), certificate=certificate, **self.OPTIONS)
        certificate = model.certificate
        share = split_delta(0.05, 2)
        for claim in certificate.claims:
            assert claim.delta == claim.evidence.sampling_delta == share
            assert claim.evidence.n_draws == 20 * N_LEARNED // 2
        assert certificate.network.aggregation.method == "monte_carlo"
        assert (certificate.network.aggregation.n_samples, certificate.network.aggregation.seed) == (20, 3)
        assert "the draws of the sampled risk" in " ".join(certificate.assumptions)
        head = (
            "With 95 % confidence over the draw of the 300 certified rows and of the 20 sign vectors per row"
        )
        assert certificate.statement.startswith(f"{head}, the expected linear loss")
        assert any(
            "The seed of the sign vectors, 3, was fixed in advance" in s for s in certificate.assumptions
        )
        assert certificate.linear_loss.value > exact.certificate.linear_loss.value
        sampled = certificate.linear_loss.evidence.empirical_risk
        assert sampled != certificate.network.empirical_risk == pytest.approx(sampled, abs=0.01)
        folder = save_model(model, tmp_path / "model")
        assert verify(folder, x, y).ok
        file = folder / "certificate.json"
        content = json.loads(file.read_text())
        for key, value in (("seed", 4), ("n_samples", 21), ("method", "fourier")):
            subject = content["subject"]
            changed = {**subject, "aggregation": {**subject["aggregation"], key: value}}
            file.write_text(json.dumps({**content, "subject": changed}))
            assert {"evidence", "choices"} & failed(verify(folder, x, y))

    def test_draws_that_pay_less_are_caught(self):
        model, x, y = make_learned(shift=0.5, hidden=(3,), **self.OPTIONS)
        claims = [
            dataclasses.replace(c, evidence=dataclasses.replace(c.evidence, sampling_delta=0.9)).recomputed()
            for c in model.certificate.claims
        ]
        assert claims[0].value < model.certificate.linear_loss.value
        assert failed(verify(forged(model, claims=tuple(claims)), x, y)) == {"evidence"}

    def test_the_estimate_is_unbiased(self):
        model, x, y = make_learned(shift=0.5, hidden=(3,))
        signs = torch.tensor(np.where(y == "yes", 1.0, -1.0))
        draws = [
            draw_risk(model.network, x, signs, Terms(aggregation="monte_carlo", n_samples=50, seed=seed)).risk
            for seed in range(12)
        ]
        exact = evaluate(model.network, x, np.where(y == "yes", 1, 0), TWO_CLASSES).risk
        assert abs(np.mean(draws) - exact) < 5 * np.std(draws) / np.sqrt(len(draws)) + 1e-6
        assert np.std(draws) < 0.01

    def test_what_cannot_be_sampled_is_refused(self):
        with pytest.raises(UncertifiedError, match=r"one hidden layer: with more than one.*biased"):
            make_learned(hidden=(3, 2), **self.OPTIONS)
        with pytest.raises(UncertifiedError, match="nothing to draw"):
            make_learned(**self.OPTIONS)
        for certificate in ("vote", "auto", "held-out"):
            with pytest.raises(OptionError, match="Use aggregation='fourier'"):
                make_learned(hidden=(3,), certificate=certificate, **self.OPTIONS)
        with pytest.raises(OptionError, match="needs a seed"):
            make_learned(hidden=(3,), aggregation="monte_carlo", n_samples=3)
        with pytest.raises(OptionError, match="only for aggregation='monte_carlo'"):
            make_learned(hidden=(3,), seed=3)
        with pytest.raises(UnknownNameError, match="aggregation of a certificate"):
            make_learned(hidden=(3,), aggregation="enumeration")

    def test_the_draws_are_not_those_the_prior_was_made_of(self, build):
        options = self.OPTIONS | {"seed": 7}
        with pytest.raises(DomainError, match="both drawn from seed 7; give"):
            build("random", **options)
        build("zero", **options)
        model, x, y = build("random", **self.OPTIONS)
        subject = model.certificate.network
        again = dataclasses.replace(subject.aggregation, seed=7)
        lie = forged(model, subject=dataclasses.replace(subject, aggregation=again))
        assert "prior record" in failed(verify(lie, x, y))
