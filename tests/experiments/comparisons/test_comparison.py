"""Comparisons as data: what comes with the package, and what is wrong is refused."""

import pytest

from pbgnet.exceptions import OptionError, UnknownNameError
from pbgnet.experiments import COMPARISON, load_study, study_kind
from pbgnet.experiments.comparisons import load_comparison
from pbgnet.experiments.studies.study import study_names

START = 'kind = "comparison"\ndataset = "digits"\ncertified_fraction = 0.5\n'
METHOD = '[[methods]]\nname = "one"\nestimator = "pbgnet"\n'


@pytest.fixture
def written(tmp_path):
    """Write a study and return its path."""

    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("name", study_names(COMPARISON))
def test_those_that_come_with_the_package_can_be_read(name):
    comparison = load_comparison(name)
    assert comparison.summary
    assert comparison.about
    runs = comparison.runs(small=False)
    assert len({run.fingerprint() for run in runs}) == len(runs)
    if comparison.has_small:
        small = comparison.runs(small=True)
        assert not {run.fingerprint() for run in runs} & {run.fingerprint() for run in small}


def test_mnist10_has_what_was_published_beside_it():
    certified = {figure.method: figure.certified for figure in load_comparison("mnist10").published}
    assert sorted(certified.values()) == [0.0144, 0.0155, 0.0279, 0.0306]


def test_small_runs_have_fewer_rows_and_parameters_of_their_own(written):
    text = f"{START}seeds = [3, 4]\n[small]\nn_train = 50\n{METHOD}"
    comparison = load_comparison(
        written(f"{text}parameters = {{max_epochs = 9}}\nsmall = {{max_epochs = 2}}\n")
    )
    full, small = comparison.runs(small=False), comparison.runs(small=True)
    assert [(run.seed, run.n_train, run.parameters["max_epochs"]) for run in full] == [
        (3, None, 9),
        (4, None, 9),
    ]
    assert [(run.seed, run.n_train, run.parameters["max_epochs"]) for run in small] == [
        (3, 50, 2),
        (4, 50, 2),
    ]


def test_a_kind_is_told_from_the_file(written):
    assert study_kind("smoke") == "grid"
    assert study_kind(written(START + METHOD)) == COMPARISON
    with pytest.raises(OptionError, match="mnist10 is a comparison, not a grid"):
        load_study("mnist10")
    with pytest.raises(OptionError, match="smoke is not a comparison"):
        load_comparison("smoke")
    with pytest.raises(UnknownNameError, match="Unknown kind of a study 'contest'"):
        study_kind(written('kind = "contest"\n'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (START, "lacks methods"),
        (START + METHOD.replace("one", "a") + METHOD.replace("one", "a"), "have the same name"),
        (START + "colour = 3\n" + METHOD, "unknown entries: colour"),
        (START + METHOD + "colour = 3\n", "unknown entries: colour"),
        (START.replace("0.5", "1.0") + METHOD, "between 0 and 1"),
        (START.replace("digits", "letters") + METHOD, "choose one of digits, mnist10"),
        (START + METHOD.replace("pbgnet", "oracle"), "Unknown estimator 'oracle'"),
        (START + METHOD + "parameters = {epochs = 3}\n", "has no parameter 'epochs'"),
        (START + METHOD + "small = {device = 'cpu'}\n", "device is set by the study"),
        (START + METHOD + "rows = 'sounds'\n", "choose one of images, table"),
        (START + "published = 'rumours'\n" + METHOD, "choose one of mnist10"),
    ],
)
def test_what_is_wrong_is_refused(written, text, message):
    with pytest.raises((OptionError, UnknownNameError), match=message):
        load_comparison(written(text))


def test_a_study_without_a_small_form_says_so(written):
    with pytest.raises(OptionError, match="no small version"):
        load_comparison(written(START + METHOD)).runs(small=True)


def test_the_methods_can_be_chosen():
    chosen = load_comparison("digits").narrowed(["boosting", "forest"])
    assert [method.name for method in chosen.methods] == ["forest", "boosting"]
    with pytest.raises(UnknownNameError, match="Unknown method of the study digits 'svm'"):
        load_comparison("digits").narrowed(["svm"])
