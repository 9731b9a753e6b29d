"""The experiments on differences from the paper run, resume, and are quoted as they came out."""

import json
import math
import re
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest
from benchmarks.differences import __main__ as command
from benchmarks.differences import epochs, priors, published, tradeoff
from benchmarks.differences.setting import Setting

from pbgnet.bounds import seeger_bound
from pbgnet.training import TrainingData

RESULTS = Path(__file__).resolve().parents[2] / "results"


@pytest.fixture
def small(monkeypatch):
    """Short trainings on 80 made rows instead of the paper's data."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(120, 4))
    y = np.where(x[:, 0] + 0.3 * generator.normal(size=120) > 0, 1, -1)
    train, test = (
        TrainingData.of(x[part], y[part], unit=True, device="cpu") for part in (slice(80), slice(80, 120))
    )
    monkeypatch.setattr(command, "setting", lambda dataset, split: Setting(dataset, split, train, test))
    monkeypatch.setattr(epochs, "MAX_EPOCHS", 3)
    monkeypatch.setattr(tradeoff, "MAX_EPOCHS", 3)
    monkeypatch.setattr(priors, "ITERATIONS", 3)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("experiment", "variant", "count"),
    [
        ("epochs", "validation", len(epochs.RULES)),
        ("priors", "last epoch", len(priors.RATES)),
        ("priors", "T = 10", len(priors.RATES)),
        ("tradeoff", "exact", len(tradeoff.FIRST_C)),
    ],
)
def test_a_variant_is_run_once_and_appended(experiment, variant, count, tmp_path, capsys):
    out = tmp_path / "runs.jsonl"
    arguments = [experiment, "--datasets", "ads", "--variants", variant, "--out", str(out), "--splits", "0"]
    assert command.main(arguments) == 0
    found = lines(out)
    assert len(found) == count
    assert all(0 < line["bound"] < 1 and line["divergence"] >= 0 for line in found)
    assert {tuple(line[name] for name in command.KEY) for line in found} == {(experiment, "ads", 0, variant)}
    command.main([*arguments, "1"])
    assert lines(out)[:count] == found
    assert [line["split"] for line in lines(out)[count:]] == [1] * count


def test_each_rule_picks_its_epoch_and_the_validation_loss_the_weight_decay(monkeypatch):
    names = ("epoch", "bound", "validation_loss", "validation_error", "objective", "divergence")
    first = [(1, 0.2, 0.5, 0.3, 0.5, 3.0), (2, 0.3, 0.2, 0.2, 0.4, 5.0), (3, 0.4, 0.3, 0.1, 0.3, 9.0)]
    second = [(1, 0.1, 0.6, 0.4, 0.5, 2.0), (2, 0.2, 0.4, 0.4, 0.5, 4.0)]
    made = [[dict(zip(names, epoch, strict=True)) for epoch in course] for course in (first, second)]
    monkeypatch.setattr(epochs, "_train", lambda place, monitor: made)
    found = {x["rule"]: (x["epoch"], x["weight_decay"], x["last_epoch"]) for x in epochs.run(None, "cost")}
    assert found == {
        "bound": (1, 0.0, 3),
        "validation loss": (2, 0.0, 3),
        "validation error": (3, 0.0, 3),
        "cost": (3, 0.0, 3),
    }


@pytest.mark.parametrize("variant", ["exakt", "T = 11"])
def test_an_unknown_variant_is_named_with_those_there_are(variant, capsys):
    with pytest.raises(SystemExit):
        command.main(["priors", "--datasets", "ads", "--splits", "0", "--variants", variant])
    assert "'last epoch'" in capsys.readouterr().err


@pytest.mark.parametrize("n", [800, 40_000])
def test_rows_behind_a_bound_are_found_again(n):
    loss, divergence = 0.05, 90.0
    bound = float(seeger_bound(loss, divergence, n, published.CERTIFIED_DELTA, "paper"))
    c = math.log(bound * (1 - loss)) - math.log(loss * (1 - bound))
    assert published.rows_behind(bound, c, divergence, published.CERTIFIED_DELTA) == pytest.approx(
        n, rel=1e-4
    )


def test_the_stored_table_of_implied_rows_is_as_the_command_makes_it(tmp_path, capsys):
    out = tmp_path / "rows.md"
    command.main(["rows", "--out", str(out)])
    assert out.read_text() == command.ROWS_TABLE.read_text()
    shares = re.findall(r"PBGNet_l-bnd \| \w+ +\| ([\d.]+)", out.read_text())
    assert len(shares) == 6
    assert all(abs(float(share) - 0.8) < 0.0025 for share in shares)


def test_what_the_results_say_of_the_epochs_is_in_the_store():
    bounds = defaultdict(list)
    for line in lines(command.STORE):
        if line["experiment"] == "epochs" and line["rule"] == "validation loss":
            bounds[line["variant"], line["dataset"]].append(line["bound"])
    text = (RESULTS / "README.md").read_text()
    for schedule in epochs.SCHEDULES:
        cells = [
            f"{mean(found):.3f} ± {stdev(found):.3f}"
            for (name, _), found in sorted(bounds.items())
            if name == schedule
        ]
        assert len(cells) == 5
        assert " | ".join(cells) in text
