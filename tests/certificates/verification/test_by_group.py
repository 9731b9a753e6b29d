"""Error rates by group: certified together, verified, and refused where they were forged."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.certificates.conftest import verify

from pbgnet import PBGNetClassifier, make_certified_pipeline
from pbgnet.certificates import Certificate, certify, load_certified
from pbgnet.certificates.routes import ACCURACY, ERROR_RATE
from pbgnet.exceptions import DamagedFileError, OptionError, SmallGroupWarning

N = 400


def answer(X):
    return np.where(np.asarray(X["x"]) > 0, "yes", "no")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=N), "town": rng.choice(["a", "b", None], N, p=[0.6, 0.38, 0.02])})
    noise = np.where(X["town"] == "b", 0.2, 0.02)
    return X, np.where((X["x"] > 0) == (rng.random(N) > noise), "yes", "no")


@pytest.fixture(scope="module")
def certified(table):
    X, y = table
    return certify(answer, X, y, classes=["no", "yes"], class_conditional=True, groups="town")


def failed(report):
    return {step.name for step in report.failures}


def forge(certified, **changes):
    return dataclasses.replace(certified, certificate=dataclasses.replace(certified.certificate, **changes))


def test_both_limits_of_each_group_hold_at_their_share(certified, table):
    X, y = table
    certificate = certified.certificate
    assert certificate.error_rate.delta == pytest.approx(0.05 / 2 / 3)
    share = 0.05 / 2 / (2 * 3)
    wrong, groups = answer(X) != y, X["town"].where(X["town"].notna(), "?").to_numpy()
    assert [group.name for group in certificate.by_group] == ["'a'", "'b'", "missing"]
    for limits, group in zip(certificate.by_group, ("a", "b", "?"), strict=True):
        k, n = int(wrong[groups == group].sum()), int((groups == group).sum())
        assert (limits.n, limits.n_errors) == (n, k)
        assert limits.upper == pytest.approx(stats.beta.ppf(1 - share, k + 1, n - k))
        assert limits.lower == pytest.approx(stats.beta.ppf(share, k, n - k + 1) if k else 0.0)
    a, b, rest = certificate.by_group
    pairs = [(one.upper - other.lower) for one in (a, b, rest) for other in (a, b, rest) if one != other]
    assert certificate.largest_group_difference == pytest.approx(max(pairs))
    assert certificate.largest_group_difference >= max(pairs)
    assert [size.name for size in certificate.small_groups] == ["missing"]


def test_it_verifies_from_a_folder_and_the_column_is_found_again(certified, table, tmp_path):
    report = verify(certified.save(tmp_path / "it"), *table, model=answer)
    assert report.ok, str(report)
    assert load_certified(tmp_path / "it").certificate == certified.certificate
    assert "groups" in failed(verify(certified, *table, groups=table[0]["town"]))


def test_groups_given_row_by_row_are_needed_again(table):
    X, y = table
    features = X[["x"]]
    given = certify(answer, features, y, groups=X["town"])
    assert verify(given, features, y, groups=X["town"].tolist()).ok
    assert failed(verify(given, features, y)) == {"groups", "evidence"}
    other = X["town"].replace({"a": "b", "b": "a"})
    assert {"groups", "evidence"} <= failed(verify(given, features, y, groups=other))
    renamed = X["town"].replace({"a": "c"})
    assert {"groups", "evidence"} <= failed(verify(given, features, y, groups=renamed))
    assert failed(verify(certify(answer, features, y), features, y, groups=X["town"])) == {"groups"}


def test_lies_about_groups_are_caught(certified, table):
    claims, stated = certified.certificate.claims, certified.certificate.groups
    place = next(k for k, claim in enumerate(claims) if claim.group == "'b'" and claim.quantity == ERROR_RATE)

    def with_claim(**changes):
        one = dataclasses.replace(claims[place], **changes).recomputed()
        return (*claims[:place], one, *claims[place + 1 :])

    fewer = dataclasses.replace(claims[place].evidence, n_errors=0)
    assert {"evidence"} == failed(verify(forge(certified, claims=with_claim(evidence=fewer)), *table))
    greedy = with_claim(delta=0.04)
    assert {"delta", "plan of delta"} <= failed(verify(forge(certified, claims=greedy), *table))
    lowered = dataclasses.replace(claims[place], value=claims[place].value / 2)
    forged = (*claims[:place], lowered, *claims[place + 1 :])
    assert "bound" in failed(verify(forge(certified, claims=forged), *table))
    # A group that is worse off is not mentioned.
    silent = tuple(claim for claim in claims if claim.group != "'b'")
    assert {"shares of delta"} <= failed(verify(forge(certified, claims=silent), *table))
    without_lower = tuple(claim for claim in claims if claim.quantity != ACCURACY)
    assert "shares of delta" in failed(verify(forge(certified, claims=without_lower), *table))
    joined = dataclasses.replace(stated, sizes=stated.sizes[:1] + stated.sizes[2:])
    honest = forge(certified, claims=silent, groups=joined)
    assert {"groups", "delta"} <= failed(verify(honest, *table))
    for difference in (0.0, None):
        forged = forge(certified, largest_group_difference=difference)
        assert failed(verify(forged, *table)) == {"group difference"}
    assert "groups" in failed(
        verify(forge(certified, groups=dataclasses.replace(stated, column="x")), *table)
    )
    with pytest.raises(OptionError):  # a value of x is that of one row
        certify(answer, *table, groups="x")


def test_a_file_with_claims_of_no_group_is_not_read(certified):
    content = certified.certificate.to_dict()
    del content["groups"]
    with pytest.raises(DamagedFileError, match="no certified row belongs to it"):
        Certificate.from_json(json.dumps(content))
    content = certified.certificate.to_dict() | {"groups": None}
    with pytest.raises(DamagedFileError, match="groups must be left out rather than null"):
        Certificate.from_json(json.dumps(content))


def test_without_groups_nothing_is_written_of_them(table):
    X, y = table
    content = certify(answer, X, y).certificate.to_dict()
    assert not {"groups", "largest_group_difference"} & set(content)
    assert "group" not in content["claims"][0]


def test_sentences_name_each_group_and_the_small_ones(certified):
    certificate = certified.certificate
    assert "rows of group 'a'" in certificate.statement
    assert "so the error rates of any two groups differ by at most" in certificate.statement
    assert "% in every group (the largest for missing, " in certificate.summary
    assert "rows), and no two groups differ by more than " in certificate.summary
    assert any("read from column 'town'" in told for told in certificate.assumptions)
    assert any(
        "upper and lower limits of the error rate in each group" in told for told in certificate.assumptions
    )
    (small,) = certificate.shortcomings
    assert "One group is small: missing (" in small


def test_many_groups_are_told_by_the_worst_of_them(table):
    X, y = table
    certificate = certify(answer, X, y, groups=np.arange(N) % 8).certificate
    assert certificate.statement.count("rows of group") == 3
    assert "in each of the other 5 groups" in certificate.statement


def test_a_network_counts_groups_and_warns_of_small_ones(table, tmp_path):
    X, y = table
    pipeline = make_certified_pipeline(PBGNetClassifier(random_state=0, max_epochs=2, n_members=2))
    with pytest.warns(SmallGroupWarning, match="missing"):
        pipeline.fit(X, y, groups="town")
    certificate = pipeline.certificate_
    assert sum(size.n for size in certificate.groups.sizes) == certificate.inputs.n
    assert sum(group.n_errors for group in certificate.by_group) == certificate.inputs.n_errors
    assert pipeline.verify(X, y).ok
    pipeline.save(tmp_path / "model")
    assert verify(tmp_path / "model", X, y).ok
    moved = X.assign(town=X["town"].replace({"a": "b"}))
    assert {"groups", "data: features"} <= failed(verify(tmp_path / "model", moved, y))
    model = pipeline.certified_model_
    claims = tuple(claim for claim in certificate.claims if claim.group != "'b'")
    silent = dataclasses.replace(model, certificate=dataclasses.replace(certificate, claims=claims))
    assert "choices" in failed(verify(silent, X, y))


def test_only_a_predictor_fixed_beforehand_is_counted_by_group(table):
    X, y = table
    with pytest.raises(OptionError, match=r"certificate='held-out', .* got 'auto'"):
        make_certified_pipeline(PBGNetClassifier(algorithm="pbgnet_pre")).fit(X, y, groups="town")


def test_a_group_without_certified_rows_is_named_and_not_claimed(table):
    X, y = table
    groups = np.array(["seen"] * N, dtype=object)
    groups[:20] = "apart"
    pipeline = make_certified_pipeline("logistic_regression", random_state=0)
    pipeline.fit(X, y, prior_rows=np.arange(200), groups=groups)
    certificate = pipeline.certificate_
    assert [(size.name, size.n) for size in certificate.groups.sizes] == [("'apart'", 0), ("'seen'", 200)]
    assert [group.name for group in certificate.by_group] == ["'seen'"]
    assert certificate.largest_group_difference is None
    assert "'apart' (no certified rows)" in certificate.shortcomings[-1]
    assert pipeline.verify(X, y, groups=groups).ok
