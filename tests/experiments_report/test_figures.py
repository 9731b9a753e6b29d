"""Figures hold the data they are about, and come out the same every time."""

import math
import sys
import warnings

import numpy as np
import pytest

from pbgnet.exceptions import MissingPlotterError
from pbgnet.experiments.figures import (
    activation_figure,
    main_results_figure,
    representation_figure,
    sample_size_figure,
    save_figure,
    training_size_figure,
)
from pbgnet.experiments.figures.plotting import COLOURS, mathematical
from pbgnet.experiments.figures.sample_size import sample_size_curves
from pbgnet.experiments.figures.toy import TOYS, representations, train_toy
from pbgnet.experiments.studies.results import NAMES, read_results, spread_of

pytest.importorskip("matplotlib")


@pytest.fixture(scope="session")
def toys():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # pbgnet report says nothing about the bounds of its pictures
        return {name: train_toy(name) for name in TOYS}


@pytest.fixture
def exact(fill):
    return read_results(fill("exact", keep=lambda k, spec: spec.hidden_size == 10), ["exact"])[0]


def panel(figure, title):
    return next(axes for axes in figure.axes if title in (axes.get_title("left"), axes.get_title()))


def smallest_font(figure):
    import matplotlib.text

    figure.canvas.draw()
    texts = figure.findobj(matplotlib.text.Text)
    return min(text.get_fontsize() for text in texts if text.get_text() and text.get_visible())


def test_bars_are_the_errors_and_labels_the_bounds(exact):
    axes = panel(main_results_figure(exact), "adult")
    heights = {bar.get_gid(): bar.get_height() for bar in axes.patches if bar.get_gid()}
    labels = {text.xy[0]: text.get_text() for text in axes.texts}
    for place, algorithm in enumerate(exact.study.algorithms):
        (test,), (train,) = (exact.values("adult", algorithm, f"{name}_error") for name in ("test", "train"))
        assert heights[f"test-{algorithm}-adult"] == test
        assert heights[f"train-{algorithm}-adult"] == train
        (bound,) = exact.values("adult", algorithm, "bound")
        assert labels.get(place) == (None if bound is None else f"{bound:.3f}")
    diamonds = [line.get_ydata()[0] for line in axes.lines]
    assert diamonds == [0.152, 0.149, 0.155, 0.163, 0.154]


def test_train_bars_are_outlines_and_test_bars_are_filled(exact):
    axes = panel(main_results_figure(exact), "ads")
    for bar in axes.patches:
        assert bar.get_fill() == bar.get_gid().startswith("test")


def test_figures_of_a_study_without_runs_say_so(put):
    store = put([])
    for study, draw in (
        ("exact", main_results_figure),
        ("sample-size", sample_size_figure),
        ("training-size", training_size_figure),
    ):
        figure = draw(read_results(store, [study])[0])
        said = [text.get_text() for axes in figure.axes for text in axes.texts]
        assert "no finished runs yet" in said


def test_activations_are_the_functions():
    lines = {line.get_gid(): line.get_xydata() for line in activation_figure().axes[0].lines}
    for name, function in (("erf", math.erf), ("tanh", math.tanh)):
        assert all(y == pytest.approx(function(x)) for x, y in lines[name])
    assert {y for _, y in lines["sgn"] if not math.isnan(y)} == {-1.0, 1.0}


@pytest.mark.parametrize("name", TOYS)
def test_representations_sum_to_the_output(toys, name):
    toy = toys[name]
    points = np.concatenate([toy.x, np.random.default_rng(0).uniform(-3, 3, (500, 2))])
    found = representations(toy.network, points)
    assert found.parts.shape == (8, 900)
    assert abs(found.parts.sum(axis=0) - found.aggregate).max() < 1e-6
    assert (abs(found.parts) <= abs(found.votes)[:, None] + 1e-15).all()
    assert np.isin(found.plain, (-1, 1)).all()


@pytest.mark.parametrize("name", TOYS)
def test_the_toys_are_learnt(toys, name):
    toy = toys[name]
    found = representations(toy.network, toy.x)
    assert (np.sign(found.aggregate) == toy.y).mean() > 0.95


@pytest.mark.parametrize("name", TOYS)
def test_the_panels_of_a_toy_add_up(toys, name):
    figure = representation_figure(toys[name])
    images = {axes.get_title("left"): axes.images[0].get_array() for axes in figure.axes if axes.images}
    parts = [image for title, image in images.items() if title.startswith("$s")]
    assert len(parts) == 8
    (total,) = (image for title, image in images.items() if "sum" in title)
    (plain,) = (image for title, image in images.items() if "sign network" in title)
    assert abs(sum(parts) - total).max() < 1e-6
    assert set(np.unique(plain)) == {-1.0, 1.0}


def test_a_toy_is_the_same_every_time(toys):
    again = train_toy("moons")
    assert all(
        bool((a == b).all())
        for a, b in zip(again.network.weights, toys["moons"].network.weights, strict=True)
    )


def test_lines_against_the_training_size_are_means_with_bands(fill):
    store = fill("training-size", keep=lambda k, spec: spec.split_seed < 3 and spec.n_train <= 2500)
    (results,) = read_results(store, ["training-size"])
    figure = training_size_figure(results)
    axes = panel(figure, "PBGNet")
    lines = {line.get_label(): line.get_xydata() for line in axes.lines}
    assert set(lines) == {"train error", "test error", "bound on the linear loss"}
    for size, mean in lines["test error"]:
        values = [
            results.selected["mnistLH", "pbgnet", split, size].candidate.numbers["test_error"]
            for split in range(3)
        ]
        assert mean == pytest.approx(np.mean(values))
    assert [size for size, _ in lines["test error"]] == [500, 1000, 2500]
    values = [results.selected["mnistLH", "pbgnet", s, 500].candidate.numbers["bound"] for s in range(3)]
    band = axes.collections[2].get_paths()[0].vertices
    top = band[band[:, 0] == 500][:, 1].max()
    assert top == pytest.approx(np.mean(values) + np.std(values, ddof=1))


def test_trivial_bounds_are_left_out(fill):
    store = fill("training-size", keep=lambda k, spec: spec.split_seed < 2)
    figure = training_size_figure(read_results(store, ["training-size"])[0])
    axes = panel(figure, mathematical(NAMES["pbgnet_l"]))
    assert {line.get_label() for line in axes.lines} == {"train error", "test error"}


def test_the_exact_aggregate_is_a_band(fill):
    store = fill("sample-size", keep=lambda k, spec: spec.dataset == "ads" and spec.split_seed < 3)
    (results,) = read_results(store, ["sample-size"])
    curves = sample_size_curves(results)["ads", "pbgnet"]
    assert list(curves) == [1, 10, 50, 100, 1000, 10000, None]
    exact = spread_of(
        record.results["objective"]["test_error"]
        for record in results.done
        if record.spec.training == "bound" and record.spec.n_samples is None
    )
    assert curves[None] == exact
    axes = panel(sample_size_figure(results), "ads")
    assert axes.get_xscale() == "log"
    lines = {line.get_label(): line for line in axes.lines if line.get_color() == COLOURS["pbgnet"]}
    assert set(lines["PBGNet, exact"].get_ydata()) == {exact.mean}
    assert list(lines["PBGNet, sampled"].get_ydata()) == [
        curves[t].mean for t in (1, 10, 50, 100, 1000, 10000)
    ]
    band = next(
        patch
        for patch in axes.patches
        if patch.get_facecolor()[:3] == pytest.approx((0, 0x72 / 255, 0xB2 / 255))
    )
    assert band.get_y() == pytest.approx(exact.mean - exact.deviation)
    assert band.get_height() == pytest.approx(2 * exact.deviation)


def test_every_word_is_large_enough(exact, toys):
    for figure in (main_results_figure(exact), activation_figure(), representation_figure(toys["moons"])):
        assert smallest_font(figure) >= 9


def test_files_are_the_same_every_time(exact, toys, tmp_path):
    for name, draw in (
        ("bars", lambda: main_results_figure(exact)),
        ("toy", lambda: representation_figure(toys["circles"])),
    ):
        first = [path.read_bytes() for path in save_figure(draw(), tmp_path / f"{name}-1")]
        second = [path.read_bytes() for path in save_figure(draw(), tmp_path / f"{name}-2")]
        assert first == second
        assert first[0].startswith(b"\x89PNG")
        assert b"<dc:date" not in first[1]
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_figures_do_not_depend_on_the_readers_settings(tmp_path):
    import matplotlib

    first = save_figure(activation_figure(), tmp_path / "a")[1].read_bytes()
    with matplotlib.rc_context({"font.size": 30, "axes.grid": False, "lines.linewidth": 9}):
        second = save_figure(activation_figure(), tmp_path / "b")[1].read_bytes()
        assert matplotlib.rcParams["font.size"] == 30
    assert first == second


def test_without_the_library_there_is_a_typed_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPlotterError, match="pip install matplotlib"):
        activation_figure()
