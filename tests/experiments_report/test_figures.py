"""Figures hold the data they are about, and come out the same every time."""

import itertools
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
    training_size_columns,
    training_size_curves,
    training_size_figure,
)
from pbgnet.experiments.figures.plotting import COLOURS, mathematical
from pbgnet.experiments.figures.sample_size import sample_size_curves
from pbgnet.experiments.figures.toy import TOYS, representations, train_toy
from pbgnet.experiments.figures.training_size import draw_band
from pbgnet.experiments.studies.results import NAMES, read_results, spread_of
from pbgnet.experiments.studies.study import load_study

from .conftest import record_of

Figure = pytest.importorskip("matplotlib.figure").Figure


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


def test_no_band_is_above_what_is_possible():
    """A mean of 0.96 with a deviation of 0.1 is that of bounds up to 1, not up to 1.06."""
    axes = Figure().subplots()
    points = {10: spread_of([0.8, 1.0, 1.0]), 20: spread_of([0.1, 0.2])}
    draw_band(axes, points, "C0", "-o", "bound", most=1.0)
    band = axes.collections[0].get_paths()[0].vertices
    assert band[band[:, 0] == 10][:, 1].max() == 1.0
    assert band[band[:, 0] == 20][:, 1].max() == pytest.approx(0.15 + np.std([0.1, 0.2], ddof=1))


def test_trivial_bounds_are_left_out(fill):
    store = fill("training-size", keep=lambda k, spec: spec.split_seed < 2)
    figure = training_size_figure(read_results(store, ["training-size"])[0])
    axes = panel(figure, mathematical(NAMES["pbgnet_l"]))
    assert {line.get_label() for line in axes.lines} == {"train error", "test error"}


SIZES = [500, 1000, 2500, 5000, 10000, 25000, 52500]


def curves_of(results):
    """Curves by what the title says about architectures, for PBGNet_l."""
    return {
        column.architectures: training_size_curves(column.results, "mnistLH", column.algorithm)
        for column in training_size_columns(results, "mnistLH")
        if column.algorithm == "pbgnet_l"
    }


def titles_of(figure):
    return [axes.get_title("left") for axes in figure.axes if axes.get_title("left")]


def smallest_validation_loss(results, size, split, architectures):
    found = [
        record.results["validation"]
        for record in results.done
        if (record.spec.training, record.spec.n_train, record.spec.split_seed) == ("loss", size, split)
        and record.spec.architecture in architectures
    ]
    return min(found, key=lambda numbers: numbers["validation_loss"])


def test_an_algorithm_with_more_architectures_than_the_others_has_two_columns(fill):
    (results,) = read_results(fill("training-size"), ["training-size"])
    name = mathematical(NAMES["pbgnet_l"])
    figure = training_size_figure(results)
    assert titles_of(figure) == [f"{name}, all architectures", f"{name}, 1x10", "PBGNet"]
    for title, curves in curves_of(results).items():
        lines = {line.get_label(): line.get_xydata() for line in panel(figure, f"{name}, {title}").lines}
        means = [(size, spread.mean) for size, spread in sorted(curves["test_error"].items())]
        assert [tuple(point) for point in lines["test error"]] == means


def test_a_column_selects_among_its_architectures_only(fill):
    (results,) = read_results(fill("training-size"), ["training-size"])
    every = {run.architecture for run in results.study.runs}
    assert len(every) == 9
    means = {}
    for title, architectures in (("all architectures", every), ("1x10", {"1x10"})):
        curve = curves_of(results)[title]["test_error"]
        assert sorted(curve) == SIZES
        for size, spread in curve.items():
            best = [smallest_validation_loss(results, size, s, architectures) for s in range(10)]
            assert spread.count == 10
            assert spread.mean == pytest.approx(np.mean([numbers["test_error"] for numbers in best]))
        means[title] = [spread.mean for spread in curve.values()]
    assert means["all architectures"] != means["1x10"]  # or this test says nothing


def test_all_architectures_are_shown_where_every_run_is_done(fill):
    def wide(spec, size):
        return (spec.architecture, spec.n_train, spec.split_seed) == ("3x100", size, 4)

    store = fill(
        "training-size",
        keep=lambda k, spec: not wide(spec, 1000) and not (spec.training == "bound" and spec.n_train == 500),
        failed=lambda k, spec: wide(spec, 25000),
    )
    (results,) = read_results(store, ["training-size"])
    curves = curves_of(results)
    for name in ("train_error", "test_error", "divergence"):
        assert sorted(curves["all architectures"][name]) == [500, 2500, 5000, 10000, 52500]
        assert sorted(curves["1x10"][name]) == SIZES


def test_there_is_one_column_for_an_algorithm_until_all_architectures_are_done_for_a_size(fill):
    path = fill("training-size", keep=lambda k, spec: spec.architecture == "1x10")
    (few,) = read_results(path, ["training-size"])
    path = fill("training-size", keep=lambda k, spec: spec.split_seed < 9 or spec.hidden_size == 10, name="b")
    (more,) = read_results(path, ["training-size"])
    for results in (few, more):
        assert titles_of(training_size_figure(results)) == [mathematical(NAMES["pbgnet_l"]), "PBGNet"]
        assert curves_of(results) == curves_of(few)
    assert list(curves_of(few)) == ["1x10"]


@pytest.mark.parametrize(("first", "second"), [((10, 20, 30), (10, 20)), ((10, 20, 30), (40, 50))])
def test_without_one_architecture_that_all_share_each_algorithm_has_one_column(tmp_path, put, first, second):
    path = tmp_path / "mine.toml"
    grids = "".join(
        f'[[grid]]\nalgorithms = ["{name}"]\nhidden_size = {list(sizes)}\nn_train = [50, 100]\n'
        for name, sizes in (("pbgnet_l", first), ("pbgnet", second))
    )
    path.write_text('datasets = ["moons"]\nalgorithms = ["pbgnet_l", "pbgnet"]\n' + grids)
    runs = load_study(path).runs
    (results,) = read_results(put([record_of(run) for run in runs[1:]]), [path])
    columns = training_size_columns(results, "moons")
    assert [column[:2] for column in columns] == [("pbgnet_l", ""), ("pbgnet", "")]
    assert [len(column.results.records) for column in columns] == [5, 4]
    assert sorted(training_size_curves(columns[0].results, "moons", "pbgnet_l")["test_error"]) == [50, 100]


def test_words_of_three_columns_do_not_run_into_each_other(fill):
    from matplotlib.text import Text

    figure = training_size_figure(read_results(fill("training-size"), ["training-size"])[0])
    assert smallest_font(figure) >= 9  # draws it
    texts = {text.get_text(): text.get_window_extent() for text in figure.findobj(Text)}
    boxes = [texts[title] for title in titles_of(figure)]
    assert len(boxes) == 3
    assert all(one.x1 < two.x0 for one, two in itertools.pairwise(boxes))
    assert boxes[-1].x1 < figure.bbox.x1
    sizes = figure.axes[-1].get_xticklabels()
    starts = [figure.axes[-1].transData.transform((label.get_position()[0], 1))[0] for label in sizes]
    steps = [two - one for one, two in itertools.pairwise(starts)]
    height = sizes[0].get_fontsize() * figure.dpi / 72
    assert min(steps) * math.sin(math.radians(sizes[0].get_rotation())) > height


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
