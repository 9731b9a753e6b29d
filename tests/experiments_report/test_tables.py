"""The tables have the numbers of the store, computed here by hand, beside those of the paper."""

import math
import re
from dataclasses import fields

import pytest

from pbgnet.bounds import seeger_bound
from pbgnet.experiments.figures.sample_size import sample_size_curves
from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.studies.results import read_results
from pbgnet.experiments.studies.store import RunRecord
from pbgnet.experiments.studies.study import load_study
from pbgnet.experiments.tables import (
    StudyTable,
    epoch_table,
    error_table,
    main_results_table,
    protocol_table,
    run_summary_table,
    sample_size_table,
    selected_models_table,
    variance_table,
)
from pbgnet.experiments.tables.cells import BOUND, ERROR, SHORT, Cell
from pbgnet.experiments.tables.markup import latex_text
from pbgnet.experiments.tables.runs import WORDS, duration_text

from .conftest import record_of


def has_gaps(table):
    return any(cell.text == "…" for row in table.rows for cell in row)


def exact_runs(**wanted):
    return [
        run
        for run in load_study("exact").runs
        if all(getattr(run, name) == value for name, value in wanted.items())
    ]


def numbers(train, test, bound=None, **more):
    found = {"train_error": train, "test_error": test, "train_loss": train, "test_loss": test, "epoch": 17.0}
    if bound is not None:
        found |= {"bound": bound, "divergence": 123.4, "n": 2000.0, "c": 0.456}
    return found | more


@pytest.fixture
def two_candidates(put):
    """PBGNet on ads: the second run has the smaller bound, and a test error the paper does not have."""
    first, second = exact_runs(dataset="ads", training="bound")[:2]
    records = [
        record_of(first, {"objective": numbers(0.10, 0.11, 0.30)}),
        record_of(second, {"objective": numbers(0.12, 0.1634, 0.2034)}),
    ]
    return second, read_results(put(records), ["exact"])[0]


def test_main_results_by_hand(two_candidates):
    _, results = two_candidates
    table = main_results_table(results)
    test = table.cell("ads", "PBGNet", column="Test error")
    assert (test.text, test.paper_text, test.difference_text) == ("0.163", "0.168", "\N{MINUS SIGN}0.005")
    assert test.difference == pytest.approx(0.1634 - 0.168)
    assert test.verdict == "same"  # within 0.005
    train = table.cell("ads", "PBGNet", column="Train error")
    assert (train.text, train.difference_text, train.verdict) == ("0.120", "\N{MINUS SIGN}0.011", "better")
    bound = table.cell("ads", "PBGNet", column="Bound")
    assert (bound.text, bound.paper_text, bound.verdict) == ("0.203", "0.205", "same")


def test_the_honest_bound_pays_for_all_priors(two_candidates):
    _, results = two_candidates
    table = main_results_table(results)
    assert "The bound pays for 15 priors" in " ".join(table.notes)
    cell = table.cell("ads", "PBGNet", column="Honest bound")
    # The study counts 15 priors; two learning rates from one random prior are no more than that.
    assert cell.value == pytest.approx(float(seeger_bound(0.12, 123.4, 2000, 0.05 / 15, "paper")))
    assert cell.paper is None
    assert cell.verdict is None


def test_pretrained_priors_are_all_counted(put):
    runs = exact_runs(dataset="ads", training="pretrained")
    assert len(runs) == 27 + 12
    records = [record_of(run, {"objective": numbers(0.03, 0.03, 0.06)}) for run in runs]
    (results,) = read_results(put(records), ["exact"])
    cell = main_results_table(results).cell("ads", "PBGNet_{pre}", column="Honest bound")
    assert cell.value == pytest.approx(float(seeger_bound(0.03, 123.4, 2000, 0.05 / 39, "paper")))


def test_selected_models_by_hand(two_candidates):
    chosen, results = two_candidates
    table = selected_models_table(results)
    texts = {
        column: table.cell("ads", "PBGNet", column=column).text for column in table.columns[table.n_labels :]
    }
    assert texts == {
        "Hidden layers": str(chosen.hidden_layers),
        "Hidden size": str(chosen.hidden_size),
        "T": "exact",
        "Weight decay": "\N{EN DASH}",
        "C": "0.46",
        "KL": "123",
        "Learning rate": f"{chosen.learning_rate:g}",
        "Best epoch": "17",
    }
    papers = [
        table.cell("ads", "PBGNet", column=column).paper_text for column in ("T", "C", "KL", "Best epoch")
    ]
    assert papers == ["10,000", "0.47", "27", "49"]
    assert table.cell("ads", "MLP", column="Weight decay").paper_text == "1e-4"


def test_epochs_picked_by_the_bound_and_by_the_validation_loss_stand_side_by_side(put):
    """The run with the smaller bound at one pick has the larger at the other."""
    fast, _, slow = exact_runs(
        dataset="ads", training="loss", hidden_layers=1, hidden_size=10, weight_decay=0.0
    )
    records = [
        record_of(
            run,
            {
                "bound": numbers(0.1, 0.1, by_bound, validation_loss=0.1, epoch=4.0),
                "validation": numbers(0.02, 0.04, by_validation, validation_loss=0.1, epoch=100.0),
            },
        )
        for run, by_bound, by_validation in ((slow, 0.4, 0.7), (fast, 0.3, 0.9))
    ]
    (results,) = read_results(put(records), ["exact"])
    table = epoch_table(results)
    columns = ("Bound", "Learning rate", "Best epoch")
    shown = {
        pick: [table.cell("ads", pick, column=column).text for column in columns]
        for pick in ("bound", "validation loss")
    }
    assert shown == {"bound": ["0.300", "0.1", "4"], "validation loss": ["0.700", "0.001", "100"]}
    cell = table.cell("ads", "validation loss", column="Bound")
    assert (cell.paper_text, cell.verdict) == ("0.763", "better")
    assert table.cell("ads", "bound", column="Best epoch").paper_text == "101"
    assert table.cell("mnist17", "bound", column="Bound").text == "…"
    assert table.markdown().startswith("### What picks the epoch of PBGNet_\N{SCRIPT SMALL L}-bnd, study")


def test_sampled_networks_are_judged_by_their_samples(put):
    run = next(run for run in load_study("paper").runs if run.training == "bound" and run.n_samples == 50)
    found = numbers(0.1, 0.2, 0.3) | {"sampled_test_error": 0.25, "sampled_bound": 0.35}
    found |= {"sampled_train_error": 0.15, "sampled_train_loss": 0.15}
    (results,) = read_results(put([record_of(run, {"objective": found})]), ["paper"])
    assert main_results_table(results).cell(run.dataset, "PBGNet", column="Test error").text == "0.250"
    assert main_results_table(results).cell(run.dataset, "PBGNet", column="Bound").text == "0.350"
    assert selected_models_table(results).cell(run.dataset, "PBGNet", column="T").text == "50"


def test_variance_by_hand(put):
    runs = [
        run
        for run in load_study("variance").runs
        if (run.dataset, run.training, run.weight_decay, run.learning_rate) == ("adult", "mlp", 0.0, 0.1)
    ][:3]
    tests = (0.14, 0.15, 0.16)
    records = [
        record_of(run, {"validation": numbers(0.1, test, validation_loss=test)})
        for run, test in zip(runs, tests, strict=True)
    ]
    (results,) = read_results(put(records), ["variance"])
    cell = variance_table(results).cell("adult", "MLP", column="Test error")
    assert cell.text == "0.150 ± 0.010"
    assert cell.paper_text == "0.149 ± 0.004"
    assert (cell.difference_text, cell.verdict) == ("+0.001", "same")
    assert variance_table(results).cell("adult", "MLP", column="Train error").text == "0.100 ± 0.000"


def test_gaps_are_shown_and_told_from_absences(two_candidates):
    _, results = two_candidates
    table = main_results_table(results)
    assert has_gaps(table)
    assert table.cell("mnist17", "PBGNet", column="Bound").text == "…"
    assert table.cell("mnist17", "PBGNet", column="Bound").paper_text == "0.040"
    assert table.cell("mnist17", "MLP", column="Bound").text == "\N{EN DASH}"
    assert r"| PBGNet\* |" in table.markdown()  # two of 27 runs are done
    assert any(note.startswith("…") for note in table.notes)
    assert any(note.startswith("*") for note in table.notes)


BOUNDS_BY_T = {1: (0.1, 0.1), 10: (0.3, 0.2), 1000: (0.2, 0.4), None: (0.1, 0.1)}


def test_samples_by_hand(put):
    """T of 10 and more is selected on each split by the bound; T = 1 and the exact aggregate are not."""
    records = []
    for run in load_study("sample-size").runs:
        place = (run.dataset, run.training, run.split_seed < 2)
        if place == ("mnist17", "bound", True) and run.n_samples in BOUNDS_BY_T:
            bound = BOUNDS_BY_T[run.n_samples][run.split_seed]
            found = numbers(bound, bound / 2, bound)
            sampled = {f"sampled_{name}": found[name] for name in ("train_loss", "test_error", "bound")}
            records.append(record_of(run, {"objective": found | (sampled if run.n_samples else {})}))
    (results,) = read_results(put(records), ["sample-size"])
    bounds, errors = (
        sample_size_table(results, name, sample_size_curves(results, name))
        for name in ("bound", "test_error")
    )
    texts = {column: bounds.cell("mnist17", "PBGNet", column=column).text for column in bounds.columns}
    assert texts["T = 10"] == "0.250 ± 0.071"
    assert texts["T = 50"] == "…"
    assert texts["Exact"] == "0.100 ± 0.000"
    assert texts["Selected"] == "0.200 ± 0.000"
    assert bounds.cell("mnist17", "PBGNet", column="Selected").paper_text == "0.041 ± 0.001"
    assert errors.cell("mnist17", "PBGNet", column="Selected").text == "0.100 ± 0.000"
    assert {row[1].text for row in bounds.rows} == {"PBGNet"}  # those of PBGNet_l are trivial


@pytest.mark.parametrize("make", [main_results_table, selected_models_table, variance_table])
def test_an_empty_store_gives_tables_of_gaps(put, make):
    (results,) = read_results(put([]), ["variance"])
    table = make(results)
    assert len(table.rows) == 30
    assert not any(cell.verdict for row in table.rows for cell in row)
    for text in (table.markdown(), table.latex(), table.__html__()):
        assert "nan" not in text.lower()


def test_a_complete_study_has_no_marks(fill):
    (results,) = read_results(fill("smoke"), ["smoke"])
    assert results.complete
    table = variance_table(results)
    assert not has_gaps(table)
    assert not any("*" in row[1].text for row in table.rows)
    assert not any("paper's number" in note for note in table.notes)  # the paper has no such data set


@pytest.mark.parametrize(
    ("value", "paper", "form", "verdict"),
    [
        (0.105, 0.1, ERROR, "same"),
        (0.1056, 0.1, ERROR, "worse"),
        (0.0944, 0.1, ERROR, "better"),
        (0.102, 0.1, BOUND, "same"),
        (0.103, 0.1, BOUND, "worse"),
        (0.5, 0.1, SHORT, None),
        (math.nan, 0.1, ERROR, None),
        (None, 0.1, ERROR, None),
        (0.5, None, ERROR, None),
    ],
)
def test_verdicts(value, paper, form, verdict):
    assert Cell(value, paper, form=form).verdict == verdict


def test_a_verdict_fits_the_difference_that_is_shown():
    for k in range(400):
        cell = Cell(k / 8000, 0.025, form=ERROR)
        shown = float(cell.difference_text.replace("\N{MINUS SIGN}", "-"))
        assert (abs(shown) <= 0.005) == (cell.verdict == "same")
        assert "\N{MINUS SIGN}0.000" not in cell.difference_text


def test_what_diverged_says_so():
    assert Cell(math.nan, form=ERROR).text == "not a number"
    assert Cell(math.inf, form=ERROR).text == "∞"
    assert latex_text(Cell(-math.inf, form=ERROR).text) == r"$-$$\infty$"


def test_the_run_summary_by_hand(put):
    runs = load_study("smoke").runs
    records = [
        RunRecord(runs[0], {"validation": numbers(0, 0)}, "", 1.5, "one GPU", "2026-03-01T10:00:00+00:00"),
        RunRecord(runs[1], {"validation": numbers(0, 0)}, "", 2.0, "one GPU", "2026-03-02T11:30:00+00:00"),
        RunRecord(
            runs[2], {}, "Traceback:\nValueError: too wide", 0.5, "two GPUs", "2026-02-28T09:00:00+00:00"
        ),
    ]
    results = read_results(put(records), ["smoke"])
    (row,) = run_summary_table(results).rows
    texts = [cell.text for cell in row]
    assert texts[:5] == ["smoke", str(len(runs)), "2", "1", str(len(runs) - 3)]
    assert texts[5:9] == ["one GPU; two GPUs", "4.0 s", "2026-02-28 09:00", "2026-03-02 11:30"]
    assert texts[9] == results[0].code_versions[0]
    (error,) = error_table(results).rows
    assert [cell.text for cell in error][:3] == ["smoke", "1", "ValueError: too wide"]


def test_the_protocol_has_every_value_of_the_grid():
    from pbgnet.experiments.studies.results import StudyResults

    table = protocol_table(StudyResults(load_study("paper"), ()))
    assert table.cell("samples T", column="Values").text == "10, 50, 100, 1000, 10000"
    assert table.cell("weight decay", column="Values").text == "0, 0.0001, 1e-06"
    assert table.cell("failure probability of the bounds", column="Values").text == "0.05"
    assert table.cell("what minimises the bound", column="Values").text == "Adam"
    exact = protocol_table(StudyResults(load_study("exact"), ()))
    assert exact.cell("what minimises the bound", column="Values").text == "a short ramped Adam, then L-BFGS"
    assert exact.cell("first weights", column="Values").text == "xavier_normal, pass_through, standard_normal"
    assert exact.cell("restarts from one prior", column="Values").text == "0, 1, 2, 3, 4"
    assert exact.cell("columns that are standardised", column="Values").text == "numeric"


def test_the_protocol_leaves_no_setting_out():
    elsewhere = {"dataset", "training", "split_seed", "seed"}  # in the labels of rows, or as a count
    assert {field.name for field in fields(RunSpec)} == set(WORDS) | elsewhere


def latex_problems(text):
    """Braces that do not balance, environments that do not close, special characters unescaped."""
    body = re.sub(r"(?m)^%.*$", "", text)
    open_braces, problems = 0, []
    for brace in re.findall(r"(?<!\\)[{}]", body):
        open_braces += 1 if brace == "{" else -1
        if open_braces < 0:
            problems.append("closes too often")
    environments = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if kind == "begin":
            environments.append(name)
        elif not environments or environments.pop() != name:
            problems.append(f"end of {name}")
    if open_braces or environments:
        problems.append("left open")
    if len(re.findall(r"(?<!\\)\$", body)) % 2:
        problems.append("odd number of $")
    if re.search(r"(?<!\\)[#_]|(?<!\\)%(?!\n)|\^", body):
        problems.append("special character")
    if not body.isascii():
        problems.append("not ASCII: " + "".join(sorted(set(re.sub(r"[ -~\n]", "", body)))))
    return problems


@pytest.mark.parametrize("make", [main_results_table, selected_models_table, variance_table])
def test_latex_is_well_formed(fill, make):
    (results,) = read_results(fill("exact", keep=lambda k, spec: k % 7 == 0), ["exact"])
    table = make(results)
    text = table.latex()
    assert latex_problems(text) == []
    widths = {line.count(" & ") for line in text.splitlines() if line.endswith(r"\\")}
    assert widths == {len(table.columns) - 1}


def test_the_check_of_latex_can_fail():
    assert latex_problems(r"\begin{a} {") == ["left open"]
    assert latex_problems("a_b") == ["special character"]


def test_hostile_text_stays_text():
    hostile = "a & b_c {d} 50% $x$ #1 ~ ^ \\ | <script>alert(1)</script>\n"
    table = StudyTable("t", "Hostile", ("Name", "Error"), ((Cell("x"), Cell(hostile)),))
    assert latex_problems(table.latex()) == []
    assert "<script>" not in table.__html__()
    row = next(line for line in table.markdown().splitlines() if line.startswith("| x"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    assert latex_text("\\") == r"\textbackslash{}"
    assert latex_text("PBGNet_{\N{SCRIPT SMALL L}-bnd} & 5 %") == r"PBGNet\textsubscript{$\ell$-bnd} \& 5 \%"


def test_run_specs_without_a_study_are_no_row(put):
    (results,) = read_results(put([record_of(RunSpec("ads", split_seed=5))]), ["exact"])
    assert main_results_table(results).cell("ads", "PBGNet", column="Bound").text == "…"


@pytest.mark.parametrize(
    ("seconds", "text"), [(12.34, "12.3 s"), (600.0, "10.0 min"), (9000.0, "2.5 h"), (3.6e7, "10,000.0 h")]
)
def test_times_are_written_in_the_unit_that_fits(seconds, text):
    assert duration_text(seconds) == text
