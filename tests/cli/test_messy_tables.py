"""A table as people write it, from the file to a verified model."""

import json

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from pbgnet.certificates import load_model  # noqa: E402

N = 240


def messy_lines(n=N, seed=0):
    """Rows of a German export: number, name, price, share, day, member, place, label."""
    random = np.random.default_rng(seed)
    lines = []
    for k in range(n):
        price, share = random.integers(1, 9000) + random.random(), random.random() * 100
        day = f"{random.integers(1, 29):02d}.{random.integers(1, 13):02d}.20{random.integers(10, 24)}"
        label = "ja" if price + random.normal() * 100 > 4500 else "nein"
        euros = f"{price:,.2f}".translate(str.maketrans(",.", ".,"))
        member = random.choice(["ja", "nein"])
        town = random.choice(["Köln", "Bonn", "Zürich"])
        lines.append(
            f"{k + 1};K-{k:04d};{euros} €;{share:.1f} %;{day};{member};{town};{label}".replace(".0 %", " %")
        )
    return lines


HEADER = "nummer;kunde;preis;anteil;tag;mitglied;ort;kauf"


def train(run, data, out, *more):
    return run("train", data, "--out", out, "--max-epochs", "2", "--hidden", "3", *more)


def test_a_messy_table_is_trained_on_verified_and_predicted(run, tmp_path):
    lines = messy_lines()
    lines[10] = lines[10].replace(" €", " Taler")
    data, out = tmp_path / "t.csv", tmp_path / "m"
    data.write_bytes("\r\n".join([HEADER, *lines]).encode("cp1252") + b"\r\n")
    result = train(run, data, out, "--target", "kauf", "--prior-fraction", "0.6")
    assert result.exit_code == 0, result.output
    assert "is not UTF-8 text" in result.stderr
    assert "Columns 'nummer', 'kunde' had a different value in each of the 144 fitted rows" in result.stderr
    model = load_model(out)
    columns = {column.name: column for column in model.preprocessor.columns_}
    assert {name: column.kind for name, column in columns.items()} == {
        **{"nummer": "id", "kunde": "id", "preis": "numeric", "anteil": "numeric"},
        **{"tag": "date", "mitglied": "categorical", "ort": "categorical"},
    }
    assert (columns["preis"].style, columns["preis"].unit) == ("comma", "€")
    assert (columns["anteil"].unit, columns["tag"].layout) == ("%", "day first")
    assert columns["ort"].categories == ("Bonn", "Köln", "Zürich")
    # told where it is, be it among the prior rows or later
    odd = "line 12 (" if 10 in model.prior_rows else "Taler"
    assert odd in result.stderr
    assert run("verify", out, data).exit_code == 0
    result = run("predict", out, data, "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(tmp_path / "p.csv")) == N


def test_a_table_without_a_header(run, tmp_path):
    data, out = tmp_path / "t.csv", tmp_path / "m"
    data.write_text("\n".join(messy_lines()) + "\n")
    result = train(run, data, out, "--target", "column_8", "--no-header", "--decimal", ",", "--keep-ids")
    assert result.exit_code == 0, result.output
    model = load_model(out)
    assert model.feature_names == tuple(f"column_{k}" for k in range(1, 8))
    assert [column.kind for column in model.preprocessor.columns_][:2] == ["numeric", "categorical"]
    kept = json.loads((out / "table.json").read_text())
    assert (kept["header"], kept["decimal"], kept["keep_ids"]) == (False, ",", True)
    assert run("verify", out, data).exit_code == 0
    result = run("predict", out, data, "--out", tmp_path / "p.csv", "--keep", "column_1")
    assert result.exit_code == 0, result.output
    assert pd.read_csv(tmp_path / "p.csv")["column_1"].tolist() == list(range(1, N + 1))


def test_the_decimal_sign_is_one_of_two(run, tmp_path):
    data = tmp_path / "t.csv"
    data.write_text("a,b\n1,2\n")
    result = run("train", data, "--target", "a", "--out", tmp_path / "m", "--decimal", ";")
    assert result.exit_code == 2
    assert "--decimal must be . or , or auto" in result.stderr


def test_a_record_of_reading_from_before_is_read(run, tmp_path):
    data, out = tmp_path / "t.csv", tmp_path / "m"
    data.write_text("\n".join([HEADER, *messy_lines()]) + "\n")
    assert train(run, data, out, "--target", "kauf").exit_code == 0
    kept = json.loads((out / "table.json").read_text())
    for name in ("header", "decimal", "keep_ids"):
        del kept[name]
    (out / "table.json").write_text(json.dumps(kept))
    assert run("verify", out, data).exit_code == 0
    (out / "table.json").write_text(json.dumps({**kept, "decimal": ";"}))
    assert run("verify", out, data).exit_code == 3
