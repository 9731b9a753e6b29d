"""Which encodings, widths and courses an ensemble gets for a table."""

import numpy as np
import pytest
from scipy import sparse

from pbgnet.aggregation import make_aggregation
from pbgnet.certificates import Classes, Inputs, LabelledRows, PreparedTable, Split
from pbgnet.estimators import PBGNetClassifier
from pbgnet.estimators.learning.ensembles import (
    MANY_COLUMNS,
    WIDE_STEPS,
    auto_hidden_layer_sizes,
    encodings,
    ensemble_recipe,
)
from pbgnet.estimators.learning.images import Layout
from pbgnet.preprocessing import TablePreprocessor
from pbgnet.training import EnsembleCourse, fit_ensemble


def table_of(X, numbers="auto", n_prior=20):
    labels = np.array(["no", "yes"])[np.arange(X.shape[0]) % 2]
    rows = np.arange(X.shape[0])
    preprocessor = None if numbers is None else TablePreprocessor(numbers).fit(X[:n_prior])
    inputs = Inputs(Classes(("no", "yes")), preprocessor=preprocessor)
    return PreparedTable(LabelledRows(X, labels), inputs, Split(rows[:n_prior], rows[n_prior:]))


def numbers_of(n_columns, n=40):
    return np.random.default_rng(0).normal(size=(n, n_columns))


def recipe_of(table):
    return ensemble_recipe(
        table,
        Layout(auto_hidden_layer_sizes(table)),
        aggregation=make_aggregation("fourier"),
        n_members=5,
        learning_rate=0.1,
        weight_decay=None,
        batch_size=None,
        max_epochs=None,
        class_weight=None,
        seeds=(0, 1, 2),
        device="cpu",
    )


def test_values_are_tried_as_a_part_of_values_and_steps():
    recipe = recipe_of(table_of(numbers_of(3)))
    assert (set(recipe.examples), recipe.hidden_layer_sizes) == ({"both", "values"}, (20,))
    part = recipe.parts["values"]
    assert part.whole == "both"
    assert part.n_inputs == recipe.examples["both"].rows.shape[-1]
    assert part.inputs.tolist()[-1] == part.n_inputs - 1, "the constant"
    assert len(part.inputs) == recipe.examples["values"].rows.shape[-1] == 3 + 1
    assert recipe.course == EnsembleCourse()


def test_many_columns_get_no_steps_but_a_common_range_and_wider_networks():
    few, many = (table_of(numbers_of(n)) for n in (MANY_COLUMNS, MANY_COLUMNS + 1))
    assert (encodings(few), auto_hidden_layer_sizes(few)) == (("both",), (20,))
    assert (encodings(many), auto_hidden_layer_sizes(many)) == (("standard", "range"), (50,))
    recipe = recipe_of(many)
    assert not recipe.parts
    assert recipe.course.deviation > 1
    assert recipe.course.n_steps == EnsembleCourse().n_steps, "few rows are not worth more"
    n_many = EnsembleCourse().many_rows
    rows = table_of(numbers_of(MANY_COLUMNS + 1, n_many + 5), None, n_many)
    assert recipe_of(rows).course.n_steps == WIDE_STEPS


def test_what_the_user_chose_is_not_chosen_again():
    X = numbers_of(3)
    assert encodings(table_of(X, "range")) == ("range",)
    assert encodings(table_of(X, None)) == ("as given",)
    words = np.array([["a"], ["b"], ["c"]] * 20, dtype=object)
    assert encodings(table_of(words)) == ("standard",), "words have no steps"
    wide = numbers_of(MANY_COLUMNS + 1)
    assert auto_hidden_layer_sizes(table_of(wide, None)) == (50,)
    assert auto_hidden_layer_sizes(table_of(sparse.csr_array(wide), None)) == (20,), "a row has few numbers"


@pytest.mark.parametrize("n_columns", [2, MANY_COLUMNS + 1])
def test_a_fit_can_be_verified_whatever_was_chosen(n_columns):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, n_columns))
    y = X[:, 0] + X[:, 1] > 0
    classifier = PBGNetClassifier(random_state=0, n_members=2, max_epochs=3, device="cpu").fit(X, y)
    assert classifier.network_.architecture.n_members in (2, 4)
    assert classifier.preprocessor_.numbers in (("both",) if n_columns == 2 else ("standard", "range"))
    assert classifier.verify(X, y).ok


def test_of_very_many_rows_a_sample_chooses(monkeypatch):
    quick = EnsembleCourse(very_many_rows=300, sample_rows=256, max_epochs=8, batch_size=64, n_members=3)
    monkeypatch.setattr("pbgnet.estimators.learning.ensembles.EnsembleCourse", lambda: quick)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
    learned = []
    monkeypatch.setattr(
        "pbgnet.estimators.pbgnet_classifier.fit_ensemble",
        lambda recipe, **options: learned.append(recipe) or fit_ensemble(recipe, **options),
    )
    model = PBGNetClassifier(random_state=0, batch_size=64, max_epochs=8).fit(X, y)
    (recipe,) = learned
    assert {len(data) for data in recipe.examples.values()} == {256}
    assert set(recipe.examples) == {"both", "values"} == set(recipe.parts)
    assert all(len(recipe.everything(name)[0]) == 450 for name in recipe.examples)
    assert model.score(X, y) > 0.75
    assert model.verify(X, y).ok
    again = PBGNetClassifier(random_state=0, batch_size=64, max_epochs=8).fit(X.astype(np.float64), y)
    assert np.array_equal(model.output(X), again.output(X)), "float32 is read as it is"
