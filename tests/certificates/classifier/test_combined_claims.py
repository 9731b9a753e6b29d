"""Claims of several kinds in one certificate: groups with labels, classes, a loss, or abstention."""

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from tests.certificates.conftest import verify

from pbgnet.certificates import (
    certificate_schema,
    certify,
    certify_selective,
    load_predictions,
    save_predictions,
)
from pbgnet.certificates.routes import SELECTIVE
from pbgnet.estimators import make_certified_pipeline
from pbgnet.exceptions import OptionError

N_ROWS = 400
LABELS = ["wet", "warm"]


def rows(seed):
    """A table with a group and a score, one of three classes, and two labels; all with noise."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(N_ROWS, 2)), columns=["x", "z"])
    table["group"] = rng.choice(["a", "b", "c"], N_ROWS, p=[0.6, 0.3, 0.1])
    classes = np.digitize(table["x"] + 0.3 * rng.normal(size=N_ROWS), [-0.5, 0.5])
    labels = (table[["x", "z"]] + 0.3 * rng.normal(size=(N_ROWS, 2)) > 0).astype(int)
    return table, classes, labels.set_axis(LABELS, axis=1)


class ByThresholds:
    """Tells classes by x, and is the surer the further x is from the nearest threshold."""

    classes_ = np.arange(3)

    def predict(self, X):
        return np.digitize(X["x"], [-0.5, 0.5])

    def predict_proba(self, X):
        gap = np.abs(np.abs(np.asarray(X["x"])) - 0.5)
        sure = 1 - 0.6 * np.exp(-3 * gap)
        shares = np.full((len(sure), 3), ((1 - sure) / 2)[:, None])
        shares[np.arange(len(sure)), self.predict(X)] = sure
        return shares


def labels_by_sign(X):
    return (X[["x", "z"]] > 0).to_numpy().astype(int)


def given_groups(X):
    return X["group"].to_numpy()


X, CLASSES, Y = rows(0)
COMBINATIONS = {
    "labels by column": lambda **k: certify(labels_by_sign, X, Y, groups="group", **k),
    "each label, groups given": lambda **k: certify(
        labels_by_sign, X, Y, groups=given_groups(X), per_label=True, **k
    ),
    "confusion and a loss": lambda **k: certify(
        ByThresholds(), X, CLASSES, groups="group", confusion=True, loss="brier", **k
    ),
    "abstention by fixed thresholds": lambda **k: certify_selective(
        ByThresholds(), X, CLASSES, 0.15, groups=given_groups(X), **k
    ),
    "abstention and classes": lambda **k: certify_selective(
        ByThresholds(),
        X,
        CLASSES,
        0.15,
        groups="group",
        class_conditional=True,
        training_data=rows(1)[0],
        **k,
    ),
    "coverage": lambda **k: certify_selective(
        ByThresholds(), X, CLASSES, coverage=0.5, groups="group", training_data=rows(1)[0], **k
    ),
}


def failed(report):
    return {step.name for step in report.steps if not step.ok}


def data_of(certified):
    """What verify is given: the table, its labels, and the groups where they are no column."""
    labels = Y if certified.classes == tuple(LABELS) else CLASSES
    by_column = certified.certificate.groups.column is not None
    return X, labels, None if by_column else given_groups(X)


@pytest.mark.parametrize("n_models", [1, 3])
@pytest.mark.parametrize("name", COMBINATIONS)
def test_it_is_paid_for_saved_and_verified(name, n_models, tmp_path):
    certified = COMBINATIONS[name](n_models=n_models, confidence=0.9)
    certificate = certified.certificate
    assert Fraction(9, 100) < certificate.delta_plan.total <= Fraction(certificate.delta)
    assert sum(claim.group is not None for claim in certificate.claims) == 6
    folder = save_predictions(certified, tmp_path / "model")
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads((folder / "certificate.json").read_text()), certificate_schema())
    loaded = load_predictions(folder)
    table, labels, groups = data_of(loaded)
    assert verify(loaded, table, labels, groups=groups).ok
    if groups is not None:
        assert failed(verify(loaded, table, labels)) == {"groups", "evidence"}
        swapped = np.where(groups == "a", "b", np.where(groups == "b", "a", groups))
        assert failed(verify(loaded, table, labels, groups=swapped)) == {"groups", "evidence"}
    else:
        assert failed(verify(loaded, table, labels, groups=given_groups(X))) == {"groups"}


def forge(certified, change):
    """Change the claims that `change` returns another one for, and compute their values anew."""
    claims = tuple((change(claim) or claim).recomputed() for claim in certified.certificate.claims)
    return dataclasses.replace(
        certified, certificate=dataclasses.replace(certified.certificate, claims=claims)
    )


def with_settings(**changes):
    def change(claim):
        if claim.quantity in SELECTIVE:
            return dataclasses.replace(claim, settings=dataclasses.replace(claim.settings, **changes))
        return None

    return change


@pytest.mark.parametrize("name", ["abstention by fixed thresholds", "abstention and classes"])
def test_forged_answers_are_caught(name):
    certified = COMBINATIONS[name]()
    table, labels, groups = data_of(certified)
    settings = certified.certificate.answered_error_rate.settings
    lower = tuple(threshold - 0.01 for threshold in settings.thresholds)
    assert "evidence" in failed(
        verify(forge(certified, with_settings(thresholds=lower)), table, labels, groups=groups)
    )

    def of_one(claim):
        return None if claim.quantity == "rate of unanswered rows" else with_settings(target=0.5)(claim)

    assert "thresholds" in failed(verify(forge(certified, of_one), table, labels, groups=groups))

    def fewer_wrong(claim):
        if claim.quantity not in SELECTIVE:
            return None
        none = (0,) * len(claim.evidence.wrong)
        return dataclasses.replace(claim, evidence=dataclasses.replace(claim.evidence, wrong=none))

    assert "evidence" in failed(verify(forge(certified, fewer_wrong), table, labels, groups=groups))


def test_a_group_of_labels_that_is_kept_silent_is_caught():
    certified = COMBINATIONS["labels by column"]()
    certificate = certified.certificate
    silent = tuple(claim for claim in certificate.claims if claim.group != "'c'")
    forged = dataclasses.replace(certified, certificate=dataclasses.replace(certificate, claims=silent))
    assert "shares of delta" in failed(verify(forged, X, Y))
    others = tuple(size for size in certificate.groups.sizes if size.name != "'c'")
    groups = dataclasses.replace(certificate.groups, sizes=others)
    forged = dataclasses.replace(
        certified, certificate=dataclasses.replace(certificate, claims=silent, groups=groups)
    )
    assert {"groups", "delta"} <= failed(verify(forged, X, Y))


@pytest.mark.parametrize("asked", [{"max_error": 0.1}, {"coverage": 0.5}])
def test_several_labels_are_answered_all_or_none(asked):
    """Some classifiers of labels have one probability for each, which are no scores of a row."""
    with pytest.raises(OptionError, match="single class each"):
        make_certified_pipeline("random_forest", **asked).fit(X, Y)
    with pytest.raises(OptionError, match="single class each"):
        certify_selective(labels_by_sign, X, Y, 0.1)


def test_sentences_about_groups_come_before_those_about_answered_rows():
    """Rates in groups are of all their rows; behind the condition "if only ..." they would seem others."""
    certificate = COMBINATIONS["abstention and classes"]().certificate
    places = [certificate.statement.index(part) for part in ("of class 2", "of group 'c'", "if only rows")]
    assert places == sorted(places)
    assert any("target for answered rows" in line for line in certificate.assumptions)
