"""What a column does to the vote: compared with rows varied by hand, and with known weights."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

from pbgnet.certificates import PriorRecord, certify_network
from pbgnet.networks import AggregatedNetwork
from pbgnet.preprocessing import TablePreprocessor
from pbgnet.report.columns import effects as module
from pbgnet.report.columns.effect_charts import effect_sections, effect_words, main_steps, named_levels
from pbgnet.report.columns.effect_grids import Grid, day_text, number_text
from pbgnet.report.columns.effects import Effect, column_effects

N = 400


def frame():
    rng = np.random.default_rng(3)
    age = rng.integers(18, 80, N).astype(float)
    age[::20] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "colour": np.array(["red", "green", "blue"], dtype=object)[rng.integers(0, 3, N)],
            "noise": rng.normal(size=N),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), unit="D"),
        }
    )


def certified(table, preprocessor=None, weight_of=None):
    """Certify a linear classifier with the weights that a function gives to the names of the inputs."""
    prior_rows, certified_rows = np.arange(N // 2), np.arange(N // 2, N)
    if preprocessor is None:
        names = [f"x{k}" for k in range(table.shape[1])]
    else:
        preprocessor.fit(table.iloc[prior_rows])
        names = preprocessor.get_feature_names_out().tolist()
    weight = torch.tensor([[*(weight_of(name) for name in names), 0.0]], dtype=torch.float64)
    y = np.array(["no", "yes"] * (N // 2))
    return certify_network(
        AggregatedNetwork([weight]),
        table,
        y,
        classes=("no", "yes"),
        prior=PriorRecord("given"),
        prior_rows=prior_rows,
        certified_rows=certified_rows,
        preprocessor=preprocessor,
    )


def old_red(name):
    """The vote knows age at 40.5 only, and the colour red."""
    weights = {"age>=40.5": 4.0, "colour_red": 2.0, "age_missing": -3.0}
    return weights.get(name, 0.0)


@pytest.fixture(scope="module")
def found():
    model = certified(frame(), TablePreprocessor("steps"), old_red)
    return model, column_effects(model, frame())


def test_the_columns_that_matter_come_first_and_the_others_are_not_shown(found):
    _, effects = found
    assert [effect.grid.name for effect in effects.shown[:2]] == ["age", "colour"]
    listed = [name for name, _ in effects.importances]
    assert listed[:2] == ["age", "colour"]
    assert {"noise", "since", "since_month"} <= set(listed)
    assert effects.n_rows == 200


def test_the_only_threshold_is_found_and_named(found):
    _, effects = found
    (step,) = main_steps(effects.shown[0])
    assert step.threshold == 40.5
    assert step.change > 0.1
    words = effect_words(effects.shown[0])
    assert words[0] == f"from 40.5 up: +{100 * step.change:.1f} points"
    assert words[1].startswith("missing: \N{MINUS SIGN}")


def test_the_level_is_the_mean_vote_of_rows_varied_by_hand(found):
    model, effects = found
    colour = effects.shown[1]
    rows = np.random.default_rng(0).permutation(model.certified_rows)[:200]
    for k, name in enumerate(colour.grid.names):
        varied = frame().iloc[rows].assign(colour=name)
        assert colour.levels[k] == pytest.approx(model.predict_proba(varied)[:, 1].mean(), abs=1e-6)
    changes = dict(named_levels(colour))
    assert changes["red"] > 0 > changes["blue"]
    mean = sum(s * changes[name] for s, name in zip(colour.grid.shares, colour.grid.names, strict=True))
    assert mean == pytest.approx(0.0, abs=1e-12)


def test_shares_are_those_of_the_certified_rows(found):
    model, effects = found
    ages = frame()["age"].iloc[model.certified_rows]
    grid = effects.shown[0].grid
    assert grid.shares.sum() == pytest.approx(1.0)
    assert grid.shares[-1] == pytest.approx(ages.isna().mean())
    above = grid.shares[:-1][np.append(-np.inf, grid.thresholds) >= 40.5].sum()
    assert above == pytest.approx((ages >= 40.5).mean())


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_plain_numbers_are_varied_over_their_quantiles(kind):
    numbers = np.random.default_rng(1).normal(size=(N, 3)) + np.array([0.0, 5.0, 0.0])
    model = certified(kind(numbers), weight_of=lambda name: 5.0 if name == "x2" else 0.0)
    first = column_effects(model, kind(numbers)).shown[0]
    assert first.grid.name == "x2"
    assert first.grid.n_numbers == 33
    assert np.all(np.diff(first.levels) > 0)
    varied = numbers[np.random.default_rng(0).permutation(model.certified_rows)[:200]]
    varied[:, 2] = first.grid.cells[-1]
    assert first.levels[-1] == pytest.approx(model.predict_proba(varied)[:, 1].mean(), abs=1e-6)
    assert 1 <= len(main_steps(first)) <= 3


def test_many_bins_are_taken_together(monkeypatch):
    monkeypatch.setattr("pbgnet.report.columns.effect_grids.MOST_VALUES", 8)
    effects = column_effects(certified(frame(), TablePreprocessor("standard"), lambda _: 1.0), frame())
    grids = {effect.grid.name: effect.grid for effect in effects.shown}
    assert grids["noise"].n_numbers == 8
    assert len(grids["noise"].thresholds) == 7
    assert grids["noise"].shares.sum() == pytest.approx(1.0)
    assert np.all(np.diff(grids["noise"].thresholds) > 0)


def test_a_wide_table_costs_few_votes(monkeypatch):
    asked = []
    real = module._shares

    def counted(model, features):
        shares = real(model, features)
        return lambda cells: asked.append(len(cells)) or shares(cells)

    monkeypatch.setattr(module, "_shares", counted)
    wide = np.random.default_rng(2).normal(size=(N, 600))
    effects = column_effects(certified(wide, weight_of=lambda name: float(name == "x7")), wide)
    assert sum(asked) < 70_000
    assert len(effects.importances) == 600


def made(levels, shares, names=()):
    count = len(levels) - len(names)
    grid = Grid("c", np.arange(len(levels)), np.array(shares), np.arange(count - 1) + 0.5, tuple(names))
    return Effect(grid, 0.1, np.array(levels))


def test_what_hardly_any_row_has_is_not_named():
    assert main_steps(made([0.2, 0.2, 0.9], [0.5, 0.495, 0.005])) == []
    (step,) = main_steps(made([0.2, 0.2, 0.9], [0.5, 0.45, 0.05]))
    assert (step.threshold, step.change) == (1.5, pytest.approx(0.7))
    assert named_levels(made([0.2, 0.9], [0.999, 0.001], ["often", "hardly"])) == [
        ("often", pytest.approx(-0.0007))
    ]


def test_a_flat_curve_has_no_threshold_and_no_words():
    flat = made([0.3, 0.3, 0.3], [0.3, 0.3, 0.4])
    assert effect_words(flat) == []
    (section,) = effect_sections(module.Effects((flat,), (("c", 0.1),), 9), ("'no'", "'yes'"))
    assert section["chart"].description == "No threshold stands out."


def test_charts_share_their_scale():
    """So that what matters more looks as if it does."""
    steep, gentle = made([0.1, 0.9], [0.5, 0.5]), made([0.4, 0.5], [0.5, 0.5])
    first, second = effect_sections(module.Effects((steep, gentle), (), 9), ("'no'", "'yes'"))
    assert grid_lines(first["chart"]) == grid_lines(second["chart"])
    assert rise(first["chart"]) == pytest.approx(8 * rise(second["chart"]), rel=0.02)


def grid_lines(chart):
    return [m.attributes["y1"] for m in chart.marks if m.attributes.get("class") == "grid"]


def rise(chart):
    (curve,) = [m for m in chart.marks if m.kind == "polyline"]
    heights = [float(point.split(",")[1]) for point in curve.attributes["points"].split()]
    return max(heights) - min(heights)


def test_thresholds_are_written_as_people_do():
    assert [number_text(v) for v in (0.5, 12345.6, 1 / 3, -2.0, 1e20)] == [
        "0.5",
        "12346",
        "0.3333",
        "-2",
        "1e+20",
    ]
    assert day_text(18321.0) == "2020-02-29"


def test_a_date_is_told_as_one():
    model = certified(frame(), TablePreprocessor("standard"), lambda name: 5.0 * (name == "since"))
    first = column_effects(model, frame()).shown[0]
    assert first.grid.name == "since"
    assert all(words.startswith(("from 2020", "from 2021", "from 2022")) for words in effect_words(first))


def test_the_page_shows_it(found):
    from pbgnet.report import render_report

    model, effects = found
    page = render_report(model, frame(), np.array(["no", "yes"] * (N // 2)))
    assert "Which columns matter?" in page
    for words in effect_words(effects.shown[0]):
        assert words in page
    constant = dataclasses.replace(
        certified(frame(), TablePreprocessor("steps"), lambda _: 0.0), answers=model.answers
    )
    assert "Which columns matter?" not in render_report(constant, frame(), np.array(["no", "yes"] * (N // 2)))


def test_of_several_classes_the_one_that_moves_most_is_shown(make_classes):
    """Compared with rows varied by hand: half the sum of all changes, and the class with most of them."""
    subject = make_classes(4)
    model, effects = subject.model, column_effects(subject.model, subject.X)
    rows = np.random.default_rng(0).permutation(model.certified_rows)[:200]
    for effect in effects.shown:
        column = int(effect.grid.name.removeprefix("x"))
        means = []
        for value in effect.grid.cells:
            varied = subject.X[rows].copy()
            varied[:, column] = value
            means.append(model.predict_proba(varied).mean(axis=0))
        assert effect.levels == pytest.approx(np.array(means)[:, effect.answer], abs=1e-6)
        assert effect.answer == np.array(means).var(axis=0).argmax()
        assert 0 < effect.importance < 1
    (first, *_) = effect_sections(effects, model.inputs.classes.names)
    assert first["chart"].title.startswith(f"Share of 'kind {effects.shown[0].answer}' by x")
