"""Plans: shares of delta, rare parts, abstention, and tables divided."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from pbgnet.bounds import clopper_pearson_bound
from pbgnet.certificates import certify
from pbgnet.exceptions import DomainError, DtypeError, OptionError, OutputExistsError
from pbgnet.planning import advice, plan_rows, render_plan, rows_needed, share_delta, shared_delta, write_plan
from pbgnet.planning.goal import make_goal
from pbgnet.planning.parts import chance_of_claim

HAM = {"ham": 0.9, "spam": 0.1}


def test_classes_share_delta_as_certificates_do():
    X, y = np.arange(300.0).reshape(-1, 1), np.arange(300) % 3
    certified = certify(
        lambda rows: rows[:, 0].astype(int) % 3, X, y, classes=[0, 1, 2], class_conditional=True
    )
    plan = plan_rows(0.0, 0.1, class_shares=dict.fromkeys("abc", 1 / 3))
    assert plan.n_claims == share_delta(n_classes=3).n_claims == len(certified.certificate.claims)
    assert plan.delta == certified.certificate.error_rate.delta


def test_groups_have_two_limits_each():
    plan = plan_rows(0.02, 0.05, group_shares={"a": 0.5, "b": 0.5})
    assert plan.n_claims == 5
    X, y = np.arange(300.0).reshape(-1, 1), np.arange(300) % 2
    certificate = certify(lambda rows: rows[:, 0] % 2, X, y, groups=np.arange(300) % 2).certificate
    shares = {claim.group: claim.delta for claim in certificate.claims}
    assert plan.delta == shares[None]
    shared = share_delta(n_groups=2)
    assert [0.05 / shared.of_each, 0.05 / shared.of_group] == pytest.approx([shares[None], shares["0"]])
    assert "2 for each of 2 groups" in shared_delta(plan)
    assert [part.name for part in plan.parts] == ["all rows", "a", "b"]


def test_the_rarest_decides():
    plan = plan_rows(0.02, 0.03, class_shares=HAM)
    spam = plan.parts[2]
    assert plan.deciding is spam
    assert spam.rows == 10 * rows_needed(0.02, 0.03, n_claims=3)
    assert plan.certified_rows == spam.rows_with_chance
    assert advice(plan)[0].startswith("Class spam decides")


def test_only_answered_rows_count():
    plan = plan_rows(0.02, 0.03, answered=0.7)
    needed = rows_needed(0.02, 0.03, n_claims=3)
    assert plan.overall.own_rows == needed
    assert plan.overall.rows == math.ceil(needed / 0.7)
    assert plan.overall.name == "answered rows"


@pytest.mark.parametrize("share", [0.05, 0.6, 1.0])
def test_the_chance_is_that_of_drawn_rows(share):
    goal, n, rng = make_goal(0.02, 0.06), int(320 / share), np.random.default_rng(1)
    own = rng.binomial(n, share, size=4_000)
    reached = clopper_pearson_bound(rng.binomial(own, 0.02), np.maximum(own, 1), goal.delta) <= 0.06
    assert chance_of_claim(goal, n, share) == pytest.approx(np.mean(reached), abs=0.03)


@pytest.mark.parametrize("own", [np.arange(0, 300), np.arange(37, 38), np.arange(5, 9000, 45)], ids=len)
@pytest.mark.parametrize(("error", "claim"), [(0.0, 0.02), (0.1, 0.3), (0.5, 0.9)])
def test_errors_allowed_among_growing_numbers_of_rows(own, error, claim):
    goal = make_goal(error, claim)
    allowed = goal.errors_allowed(own)
    assert goal.errors_allowed_between(own).tolist() == allowed.tolist()
    inside, n = np.maximum(allowed, 0)[::7], np.maximum(own, 1)[::7]
    assert np.all((clopper_pearson_bound(inside, n, goal.delta) <= claim) | (allowed[::7] < 0))
    assert np.all(clopper_pearson_bound(np.minimum(allowed[::7] + 1, n), n, goal.delta) > claim)


def test_rows_with_a_chance_have_it():
    plan = plan_rows(0.02, 0.05, class_shares=HAM, chance=0.9)
    for part in plan.parts:
        goal = make_goal(0.02, 0.05, n_claims=3)
        assert chance_of_claim(goal, part.rows_with_chance, part.share) >= 0.9
        assert chance_of_claim(goal, round(0.9 * part.rows_with_chance), part.share) < 0.9


def test_a_table_is_divided():
    plan = plan_rows(0.02, 0.03, n_rows=5000)
    assert [point.certified + point.fitted for point in plan.split] == [5000] * 9
    gaps = [point.gap for point in plan.split]
    assert gaps == sorted(gaps, reverse=True)
    assert plan.split[4].bound == clopper_pearson_bound(50, 2500, 0.05)
    assert "Certify 1,542 of the 5,000 rows" in advice(plan)[0]
    assert "not known in advance" in advice(plan)[1]


def test_a_table_that_is_too_small_says_so():
    assert plan_rows(0.02, 0.03, n_rows=1543).n_missing == 0
    plan = plan_rows(0.02, 0.03, n_rows=1542)
    assert plan.n_missing == 1
    assert "too small" in advice(plan)[0]
    assert plan_rows(0.02, 0.03, n_rows=1).split == ()


def test_the_curve_reaches_from_above_the_claim_to_below():
    plan = plan_rows(0.02, 0.03)
    assert plan.curve[0].bound > 0.03 > plan.curve[-1].bound
    assert plan.curve[0].chance < 0.2 < 0.99 < plan.curve[-1].chance


def test_a_plan_is_json():
    plan = plan_rows(0.02, 0.03, class_shares=HAM, n_rows=10**4)
    content = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert content["certified_rows"] == plan.certified_rows
    assert content["parts"][2]["name"] == "spam"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"class_shares": {"a": 0.5, "b": 0.3}}, DomainError, "add up to 1"),
        ({"class_shares": {"a": 1.0}}, OptionError, "2 to 1000 classes"),
        ({"class_shares": {"a": 0.0, "b": 1.0}}, DomainError, "above 0"),
        ({"class_shares": [0.5, 0.5]}, DtypeError, "mapping"),
        ({"class_claim": 0.1}, OptionError, "class_claim requires class_shares"),
        ({"group_claim": 0.1}, OptionError, "group_claim requires group_shares"),
        ({"group_shares": HAM, "group_claim": 0.01}, DomainError, "cannot be reached"),
        ({"answered": 0.0}, DomainError, "answered must be above 0"),
        ({"answered": 1.1}, DomainError, "answered must be above 0"),
        ({"n_rows": 0}, DomainError, "n_rows"),
    ],
)
def test_bad_options(options, error, words):
    with pytest.raises(error, match=words):
        plan_rows(0.02, 0.03, **options)


def test_the_page_shows_the_numbers_and_escapes_names(tmp_path):
    hostile = "<script>alert(1)</script>"
    plan = plan_rows(0.02, 0.03, class_shares={hostile: 0.5, "b": 0.5}, n_rows=9000)
    page = render_plan(plan)
    assert "<script" not in page
    assert "class &lt;script&gt;" in page
    assert f">{plan.overall.rows:,}<" in page
    assert page.count("<svg") == 2
    assert page == render_plan(plan)
    path = write_plan(tmp_path / "plan.html", plan)
    assert path.read_text(encoding="utf-8") == page
    with pytest.raises(OutputExistsError):
        write_plan(path, plan)
    assert write_plan(path, plan, overwrite=True) == path


def test_the_example_of_the_document(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "plan.md"
    (code,) = re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    found = {}
    exec(compile(code, document.name, "exec"), found)
    assert found["plan"].certified_rows == 2385
    assert (tmp_path / "plan.html").exists()


def test_the_page_of_a_tiny_claim_has_decimals_that_tell():
    page = render_plan(plan_rows(0.0, 1e-6))
    assert "0.00000300" in page
    assert "2,995,731" in page
    assert "E-" not in page
