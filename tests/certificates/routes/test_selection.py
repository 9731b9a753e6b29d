"""Counts at thresholds, and what they prove."""

import json
from dataclasses import replace

import numpy as np
import pytest

from pbgnet.certificates.routes import (
    ROUTES,
    Claim,
    Foresight,
    Measured,
    SelectionEvidence,
    SelectionSettings,
    certified_place,
    make_claim,
)
from pbgnet.exceptions import DamagedFileError, DomainError
from pbgnet.records import parse_json

DELTA = 0.05 / 3


@pytest.fixture(scope="module")
def measured():
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    return Measured(rng.random(3000) < 0.4 * np.exp(-7 * scores), scores=scores)


def planned(**asked):
    return ROUTES["fixed-sequence"].plan(
        Foresight(3000, DELTA, scores=np.random.default_rng(1).random(2000), **asked)
    )


@pytest.fixture(scope="module")
def settings():
    return planned(max_error=0.02)


@pytest.mark.parametrize("route", ["fixed-sequence", "unanswered-count"])
def test_a_claim_survives_json_and_is_recomputed(measured, settings, route):
    claim = make_claim("classifier", route, measured, settings, delta=DELTA)
    again = Claim.from_dict(parse_json(json.dumps(claim.to_dict())))
    assert again == claim == again.recomputed()
    assert 0 < claim.value < 1


def test_counts_are_those_of_rows_that_reach_a_threshold(measured, settings):
    evidence = ROUTES["fixed-sequence"].evidence(measured, settings, DELTA)
    for place, threshold in enumerate(settings.thresholds):
        reached = measured.scores >= threshold
        assert evidence.answered[place] == evidence.surely_answered[place] == reached.sum()
        assert evidence.wrong[place] == (measured.wrong & reached).sum()


def test_a_score_at_a_threshold_is_answered():
    evidence = ROUTES["fixed-sequence"].evidence(
        Measured(np.array([True, False, False]), scores=np.array([0.5, 0.5, 0.4])),
        SelectionSettings((0.5,)),
        DELTA,
    )
    assert (evidence.answered, evidence.wrong) == ((2,), (1,))


def test_rows_within_the_error_of_a_score_count_against_both_claims():
    rows = Measured(np.array([False, True, False]), scores=np.array([0.51, 0.49, 0.9]), score_error=0.02)
    evidence = ROUTES["fixed-sequence"].evidence(rows, SelectionSettings((0.5,)), DELTA)
    assert (evidence.answered, evidence.wrong, evidence.surely_answered) == ((3,), (2,), (1,))


def test_what_is_proved_is_the_target_or_nothing(measured, settings):
    claim = make_claim("classifier", "fixed-sequence", measured, settings, delta=DELTA)
    assert claim.value == 0.02
    all_wrong = replace(measured, wrong=np.ones_like(measured.wrong))
    assert make_claim("classifier", "fixed-sequence", all_wrong, settings, delta=DELTA).value == 1.0
    assert make_claim("classifier", "unanswered-count", all_wrong, settings, delta=DELTA).value == 1.0


def test_the_share_of_answers_is_bounded_at_whichever_threshold_is_certified(measured, settings):
    claim = make_claim("classifier", "unanswered-count", measured, settings, delta=DELTA)
    place = certified_place(claim.evidence, settings, DELTA)
    share = claim.evidence.answered[place] / 3000
    assert 1 - share < claim.value < 1 - share + 0.05
    alone = replace(settings, thresholds=(settings.thresholds[place],), starts=(0,))
    assert make_claim("classifier", "unanswered-count", measured, alone, delta=DELTA).value < claim.value


def test_a_given_coverage_has_one_threshold_and_its_own_limit(measured):
    settings = planned(coverage=0.5)
    claim = make_claim("classifier", "fixed-sequence", measured, settings, delta=DELTA)
    reached = measured.scores >= settings.thresholds[0]
    assert np.mean(reached) == pytest.approx(0.5, abs=0.03)
    assert measured.wrong[reached].mean() < claim.value < measured.wrong[reached].mean() + 0.02
    assert (
        make_claim("classifier", "fixed-sequence", measured, SelectionSettings((2.0,)), delta=DELTA).value
        == 1.0
    )  # no row is answered


def test_plans_need_scores_of_other_rows():
    with pytest.raises(DomainError, match="prior rows"):
        ROUTES["fixed-sequence"].plan(Foresight(100, 0.05, max_error=0.02))
    with pytest.raises(DomainError, match="measured"):
        ROUTES["fixed-sequence"].evidence(Measured(np.zeros(5, dtype=bool)), planned(max_error=0.02), 0.05)


@pytest.mark.parametrize(
    "content",
    [
        {"thresholds": []},
        {"thresholds": [0.1, 0.2], "target": 0.1},
        {"thresholds": [0.2, 0.2], "target": 0.1},
        {"thresholds": [0.2, 0.1]},
        {"thresholds": [0.2], "target": 1.0},
        {"thresholds": [0.2], "target": 0.1, "starts": [1]},
        {"thresholds": [0.2, 0.1], "target": 0.1, "starts": [1, 0]},
        {"thresholds": [1.0 - k / 300 for k in range(257)], "target": 0.1},
    ],
)
def test_impossible_settings_are_refused(content):
    with pytest.raises(DamagedFileError):
        SelectionSettings.from_dict({"target": None, "starts": [0], **content})


@pytest.mark.parametrize(
    ("answered", "wrong", "surely"),
    [
        ((3, 2), (0, 0), (3, 2)),
        ((2, 11), (0, 0), (2, 3)),
        ((2,), (3,), (2,)),
        ((2,), (0,), (3,)),
        ((2,), (), (2,)),
    ],
)
def test_impossible_counts_are_refused(answered, wrong, surely):
    with pytest.raises(DomainError):
        SelectionEvidence(10, answered, wrong, surely)


def test_a_forged_count_of_thresholds_is_noticed(measured, settings):
    claim = make_claim("classifier", "fixed-sequence", measured, settings, delta=DELTA)
    fewer = replace(settings, thresholds=settings.thresholds[:10], starts=(0,))
    with pytest.raises(DomainError, match="There are 10 thresholds but 64 counts"):
        replace(claim, settings=fewer).recomputed()
