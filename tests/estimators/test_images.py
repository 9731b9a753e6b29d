"""Images in, of two classes and of more: fit, predict, certify, verify, save; what is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from pbgnet.certificates import load_model
from pbgnet.cli.app import app
from pbgnet.estimators import PBGDClassifier, PBGNetClassifier, make_certified_pipeline
from pbgnet.estimators.learning.images import image_deviation
from pbgnet.exceptions import DomainError, OptionError, ShapeError
from pbgnet.networks import PatchShape
from pbgnet.report import render_report

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

SETTINGS = {"convolution": (3, 3, 2), "n_members": 2, "max_epochs": 4, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def digits():
    x, y = load_digits(return_X_y=True)
    return x[:300].reshape(-1, 8, 8), y[:300]


@pytest.fixture(scope="module")
def fitted(digits):
    return PBGNetClassifier(**SETTINGS).fit(*digits)


def test_images_are_certified_verified_and_saved(digits, fitted, tmp_path):
    images, y = digits
    architecture = fitted.network_.architecture
    assert (architecture.n_features, architecture.hidden_layer_sizes) == (64, (27,))
    assert fitted.verify(images, y).ok
    fitted.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.network.architecture.patches == architecture.patches
    flat = images.reshape(len(images), -1)
    np.testing.assert_array_equal(loaded.predict(flat), fitted.predict(images))
    assert fitted.score(images, y) > 0.3


def test_rows_may_be_flat_or_have_an_axis_for_channels(digits, fitted):
    images, y = digits
    flat = images.reshape(len(images), -1)
    same = PBGNetClassifier(image_shape=(8, 8), **SETTINGS).fit(flat, y)
    np.testing.assert_array_equal(same.decision_function(flat), fitted.decision_function(images))
    np.testing.assert_array_equal(fitted.decision_function(images[..., None]), fitted.decision_function(flat))
    assert same.verify(flat, y).ok


def test_colours(digits):
    images, y = digits
    coloured = np.stack([images, 16 - images], axis=-1)
    classifier = PBGNetClassifier(**SETTINGS).fit(coloured, y)
    assert classifier.network_.architecture.patches.channels == 2
    assert classifier.verify(coloured, y).ok


def test_the_scale_of_pixels_is_learned_from_the_prior_rows_alone(digits, fitted):
    images, y = digits
    assert fitted.network_.architecture.patches.pixel_scale == images[fitted.prior_rows_].max()
    louder = images.copy()
    louder[fitted.certified_rows_] *= 10
    again = PBGNetClassifier(**SETTINGS).fit(louder, y, prior_rows=fitted.prior_rows_)
    assert again.network_.architecture.patches.pixel_scale == 16.0


def test_without_prior_rows_nothing_is_learned_about_pixels(digits):
    images, y = digits
    chosen = y < 2
    classifier = PBGNetClassifier(
        algorithm="pbgnet", solver="adam", max_epochs=1, convolution=(2, 4, 4), random_state=0, device="cpu"
    ).fit(images[chosen], y[chosen])
    assert classifier.network_.architecture.patches.pixel_scale == 1.0
    assert classifier.verify(images[chosen], y[chosen]).ok  # the random prior is drawn again
    # What training says of the divergence is what the network says: a filter counts once per position.
    told = [record["penalty"] for record in classifier.history_ if record["phase"] == "final"]
    np.testing.assert_allclose(told, classifier.network_.divergence().item(), rtol=1e-5)


def test_augmentation_never_sees_a_certified_row(digits):
    images, y = digits
    seen = []

    def remember(shown, generator):
        seen.append(shown.numpy().copy())
        return shown

    settings = {**SETTINGS, "max_epochs": 1}
    classifier = PBGNetClassifier(augmentation=remember, **settings).fit(images, y)
    prior = images[classifier.prior_rows_][..., None] / 16
    assert {part.shape for part in seen} == {prior.shape}
    for part in seen:
        np.testing.assert_allclose(part, prior, rtol=1e-6)
    assert "varied" in classifier.certificate_.network.prior.description
    varied = PBGNetClassifier(augmentation="small", **SETTINGS).fit(images, y)
    np.testing.assert_array_equal(varied.certified_rows_, classifier.certified_rows_)
    assert varied.verify(images, y).ok


def test_augmentation_helps_the_prior_of_a_bound_too(digits):
    images, y = digits
    chosen = y < 2
    classifier = PBGNetClassifier(
        algorithm="pbgnet_pre",
        convolution=(2, 4, 4),
        augmentation="small",
        max_epochs=2,
        random_state=0,
        device="cpu",
    ).fit(images[chosen], y[chosen])
    assert classifier.verify(images[chosen], y[chosen]).ok


def test_images_of_another_size_are_refused(digits, fitted):
    images, _ = digits
    with pytest.raises(ShapeError, match="8 x 8 pixels"):
        fitted.predict(images[:, :7])
    with pytest.raises(ShapeError, match="1 channel"):
        fitted.predict(np.stack([images] * 3, axis=-1))
    with pytest.raises(ValueError, match="64"):
        fitted.predict(images.reshape(len(images), -1)[:, :-1])


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"image_shape": (8, 9)}, ShapeError, "8 x 9"),
        ({"image_shape": (64,)}, ShapeError, "height"),
        ({"image_shape": (8, 0)}, DomainError, "image_shape"),
        ({"convolution": (3, 3)}, OptionError, "filters, kernel_size, stride"),
        ({"convolution": (3, 9, 1)}, ShapeError, "do not fit"),
        ({"algorithm": "mlp", "convolution": None}, OptionError, "does not support images"),
        ({"algorithm": "pbgnet", "augmentation": "small"}, OptionError, "prior rows"),
        ({"augmentation": "large"}, ValueError, "augmentation"),
    ],
)
def test_bad_settings(digits, changes, error, told):
    with pytest.raises(error, match=told):
        PBGNetClassifier(**{**SETTINGS, **changes}).fit(*digits)


def test_tables_have_no_patches(digits):
    images, y = digits
    flat = images.reshape(len(images), -1)
    with pytest.raises(OptionError, match="convolution only applies to images"):
        PBGNetClassifier(**SETTINGS).fit(flat, y)
    with pytest.raises(ShapeError, match="64 columns"):
        PBGNetClassifier(**SETTINGS, image_shape=(8, 9)).fit(flat, y)
    with pytest.raises(OptionError, match="pipeline"):
        make_certified_pipeline(PBGNetClassifier(image_shape=(8, 8))).fit(flat, y)


def test_a_classifier_can_go_back_to_tables(digits):
    images, y = digits
    classifier = clone(PBGNetClassifier(n_members=2, max_epochs=2, random_state=0, device="cpu"))
    classifier.fit(images, y)
    assert classifier.image_shape_ == (8, 8, 1)
    classifier.fit(images.reshape(len(images), -1), y)
    assert classifier.image_shape_ is None
    assert classifier.preprocessor_ is not None


def test_the_linear_classifier_reads_no_images(digits):
    images, y = digits
    with pytest.raises(ValueError, match="dim 3"):
        PBGDClassifier().fit(images, y < 5)


@pytest.mark.parametrize(("kernel", "expected"), [(3, 1.0), (5, 1.0), (10, 2.0), (20, 3.0), (28, 3.0)])
def test_larger_patches_begin_with_larger_weights(kernel, expected):
    assert image_deviation(PatchShape.of((28, 28), kernel)) == pytest.approx(expected)


@pytest.mark.parametrize(("convolution", "deviation"), [(None, 3.0), ((2, 5, 4), 1.0)])
def test_first_weights_of_large_images_are_wide_and_those_of_filters_are_not(
    convolution, deviation, monkeypatch
):
    class SeenError(Exception):
        pass

    def seen(recipe, verbose):
        raise SeenError(recipe.course.deviation)

    monkeypatch.setattr("pbgnet.estimators.pbgnet_classifier.fit_ensemble", seen)
    images = np.random.default_rng(0).random((40, 20, 20))
    with pytest.raises(SeenError, match=str(deviation)):
        PBGNetClassifier(convolution=convolution, device="cpu").fit(images, np.arange(40) % 4)


def test_page_and_command_line_say_how_images_are_cut(fitted, digits, tmp_path):
    images, y = digits
    told = str(fitted.network_.architecture.patches)
    assert told == "8x8x1 in 9 patches of 3x3"
    page = render_report(fitted.certified_model_, images.reshape(len(images), -1), y, history=fitted.history_)
    assert told in page
    fitted.save(tmp_path / "model")
    assert CliRunner().invoke(app, ["show", str(tmp_path / "model")]).stdout.count(told) == 1
