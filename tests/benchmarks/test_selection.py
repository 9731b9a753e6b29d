"""Networks are selected by the smallest bound, on each split or once, and the plan is what the store has."""

from statistics import fmean, stdev

import pytest
from benchmarks.differences import plan, published, selection, store
from benchmarks.differences.selection import Network

FOUND = [
    Network("T = 10", 0, 0.1, 0.1, 0.30),
    Network("T = 50", 0, 0.2, 0.2, 0.20),
    Network("T = 10", 1, 0.3, 0.3, 0.30),
    Network("T = 50", 1, 0.4, 0.4, 0.50),
]


def test_each_split_has_its_smallest_bound():
    assert selection.on_each_split(FOUND) == [FOUND[1], FOUND[2]]


def test_once_for_all_splits_is_the_smallest_mean_bound():
    assert selection.once(FOUND) == [FOUND[0], FOUND[2]]


@pytest.mark.parametrize(
    ("dataset", "name", "number", "agrees"),
    [
        ("mnist49", "train_error", 0.0409, True),
        ("mnist49", "train_error", 0.0411, False),
        ("mnist49", "train_error", 0.0371, True),
        ("mnist49", "test_error", 0.0459, True),
        ("mnist49", "bound", 0.1409, False),
        ("mnist17", "train_error", 0.0059, True),
        ("mnist17", "train_error", 0.0061, False),
    ],
)
def test_numbers_agree_within_two_of_the_papers_deviations(dataset, name, number, agrees):
    # mnist49: 0.039 ± 0.001, 0.040 ± 0.003 and 0.143 ± 0.001; mnist17: 0.005 ± 0.000
    assert published.agrees(dataset, "pbgnet", name, number) is agrees


def test_the_table_of_the_study_has_all_splits_of_the_papers_sets():
    rows = selection.study_table().rows
    assert [row[2] for row in rows] == [20] * 18
    assert [row[1] for row in rows[:2]] == ["paper", "on each split"]


def test_the_store_has_what_the_plan_says():
    planned = list(plan.planned())
    assert len(planned) == len(set(planned))
    assert set(planned) == {store.Key.of(line) for line in store.found()}


def test_the_results_say_what_all_of_the_plan_took(said):
    minutes = sum(line["seconds"] for line in store.found()) / 60
    assert f"`python -m benchmarks.differences everything`, {minutes:.0f} minutes of one CPU core" in said


def test_one_version_of_the_code_has_run_all_of_the_plan(said):
    (version,) = {line["code"] for line in store.found()}
    assert f"all other experiments on differences by `{version}`" in said


def test_what_the_results_say_of_the_two_kinds_on_ads_is_in_the_store(said):
    trained = [
        line["train_error"]
        for line in store.found()
        if line["dataset"] == "ads"
        and (line["experiment"] in ("program", "tradeoff") or line["variant"] == "PBGNet, exact")
    ]
    assert not [error for error in trained if 0.065 < error < 0.13]
    assert f"Of {len(trained)} networks in these experiments none has" in said
    chosen = selection.on_each_split(selection.program_networks()["ads"])
    constant = sum(x.train_error > 0.13 for x in chosen)
    kinds = f"{constant} splits end in the constant answer and {len(chosen) - constant} in a useful network"
    means = [f"{fmean(getattr(x, name) for x in chosen):.3f}" for name in selection.NUMBERS]
    assert f"{kinds}; means of {means[0]}, {means[1]} and {means[2]} (paper" in said


def test_what_the_results_say_of_t_on_mnist49_is_in_the_stores(said):
    found = [networks["mnist49"] for networks in (selection.study_networks(), selection.program_networks())]
    for networks in found:
        best = selection.on_each_split(x for x in networks if x.choice == "T = 10")
        numbers = [[getattr(x, name) for x in best] for name in selection.NUMBERS]
        first, second, third = (f"{fmean(x):.4f} ± {stdev(x):.4f}" for x in numbers)
        assert f"{first}, {second} and {third}" in said
    for networks in found:
        errors = {
            T: fmean(x.train_error for x in selection.on_each_split(x for x in networks if x.choice == T))
            for T in {x.choice for x in networks}
        }
        fitting = [T for T in errors if published.agrees("mnist49", "pbgnet", "train_error", errors[T])]
        assert fitting == ["T = 10"]
    chosen = [x.choice for x in selection.on_each_split(found[1])]
    assert f"(with the program's norms on {chosen.count('T = 10')} of {len(chosen)})" in said


def test_what_the_results_say_of_the_kinds_on_mnistlh_is_in_the_store(said):
    networks = [x for x in selection.study_networks()["mnistLH"] if x.choice == "T = 50" and x.bound < 0.17]
    errors = sorted(x.train_error for x in networks)
    assert len(errors) == 14
    ends = [f"{error:.3f}" for error in (errors[0], errors[4], errors[5], errors[-1])]
    assert ends == ["0.049", "0.052", "0.056", "0.057"]
    assert f"the fourteen have {fmean(errors):.3f} ± {stdev(errors):.3f}" in said
