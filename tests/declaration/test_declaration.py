"""Declarations: complete for every kind of certificate, and nothing in them is invented or becomes markup."""

import dataclasses
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from tests.declaration.conftest import HOSTILE, N

from pbgnet import certify, certify_selective
from pbgnet.certificates import CertifiedPredictions, round_down, round_up, save_model
from pbgnet.declaration import (
    FIELDS,
    declaration_page,
    declare,
    read_answers,
    to_html,
    to_markdown,
    write_declaration,
)
from pbgnet.declaration.blocks import Block, Table
from pbgnet.declaration.claim_table import MOST_LINES, claim_blocks
from pbgnet.declaration.markdown import WRITERS, escape
from pbgnet.exceptions import (
    DamagedFileError,
    DtypeError,
    OptionError,
    OutputExistsError,
    UnknownNameError,
)

KINDS = ("network", "classes", "groups", "some rows", "confusion", "loss", "fitted", "disagreement", "labels")
SECTIONS = [
    "Model details",
    "Intended use",
    "Factors",
    "Metrics",
    "Evaluation data",
    "Training data",
    "Quantitative analyses",
    "Ethical considerations",
    "Caveats and recommendations",
    "How to verify",
]
ALL_ANSWERS = {key: f"The answer to {key}." for key in FIELDS}


def table_of(declaration):
    (table,) = (b for section in declaration.sections for b in section.blocks if isinstance(b, Table))
    return table


def _limit(certificate, claim):
    return certificate.answered_limit if claim is certificate.answered_error_rate else round_up(claim.value)


@pytest.mark.parametrize("kind", KINDS)
def test_every_claim_and_assumption_is_told(kinds, kind):
    certificate = kinds[kind].certificate
    declaration = declare(kinds[kind])
    assert [section.title for section in declaration.sections] == SECTIONS
    lines = table_of(declaration).rows
    from_above = [claim for claim in certificate.claims if claim.quantity != "accuracy"]
    assert len(lines) == len(from_above)
    assert {line[3] for line in lines} == {
        _limit(certificate, claim) if claim.value < 1 else "1 (nothing is proved)" for claim in from_above
    }
    text = to_markdown(declaration)
    told = (
        certificate.statement,
        *certificate.assumptions,
        *certificate.shortcomings,
        *certificate.predictors,
    )
    for sentence in told:
        assert escape(sentence) in text
    for value in (certificate.fingerprints.data, certificate.seal, certificate.issued_at):
        assert value in text
    assert text == to_markdown(declare(kinds[kind]))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_answered_is_marked_and_nothing_is_invented(kinds, kind):
    declaration = declare(kinds[kind])
    assert declaration.open_fields == tuple(FIELDS)
    for text in (to_markdown(declaration), to_html(declaration)):
        assert text.count("To be filled in:") == len(FIELDS)
    full = declare(kinds[kind], ALL_ANSWERS)
    assert full.open_fields == ()
    text = to_markdown(full)
    assert "To be filled in" not in text
    assert all(answer in text.replace("\\", "") for answer in ALL_ANSWERS.values())


def test_counts_of_answers_and_groups_are_their_own():
    """100 rows, surest first; of 80 that are answered one is wrong, of group b 10 of 50."""
    scores = np.linspace(1.0, 0.01, 100)
    truth = np.zeros(100, dtype=int)
    truth[[10, *range(80, 90)]] = 1
    X, groups = np.column_stack([scores, np.arange(100)]), np.repeat(["a", "b"], 50)

    def zero(rows):
        return np.zeros(len(rows), dtype=int)

    def first_column(_, rows):
        return np.asarray(rows)[:, 0]

    by_score = {"scores": first_column, "thresholds": [scores[79]], "classes": [0, 1]}
    selective = table_of(declare(certify_selective(zero, X, truth, **by_score)))
    counted = [line[4:6] for line in selective.rows]
    assert ("0.0125", "80") in counted
    assert ("0.2000", "100") in counted
    grouped = table_of(declare(certify(zero, X, truth, groups=groups, classes=[0, 1])))
    lines = {line[:2]: line[4:6] for line in grouped.rows}
    assert lines["error rate", "rows of group 'b'"] == ("0.2000", "50")


def test_an_empty_answer_is_open(kinds):
    assert "owner" in declare(kinds["classes"], {"owner": " \n "}).open_fields


def test_lines_say_what_they_speak_of(kinds):
    def lines(kind):
        return {line[:2] for line in table_of(declare(kinds[kind])).rows}

    assert ("error rate", "rows of class 2") in lines("classes")
    assert ("share answered 1", "rows of class 0") in lines("confusion")
    assert ("expected Brier loss", "all rows") in lines("loss")
    assert ("share of rows with any wrong label", "all rows") in lines("labels")
    assert ("share of wrong labels (Hamming loss)", "all rows") in lines("labels")
    assert sum(what.startswith("error rate of label") for what, _ in lines("labels")) == 2


def test_what_is_not_claimed_is_listed_as_such(kinds):
    assert "among rows of one class" in to_markdown(declare(kinds["network"]))
    assert "among rows of one class" not in to_markdown(declare(kinds["classes"]))
    assert "in groups of rows" in to_markdown(declare(kinds["classes"]))


def test_a_group_has_one_line_with_both_limits(kinds):
    certificate = kinds["groups"].certificate
    groups = {group.name: group for group in certificate.by_group}
    lines = {line[1]: line for line in table_of(declare(kinds["groups"])).rows}
    assert len(lines) == 1 + len(groups) == 3
    for name, group in groups.items():
        limits = [claim for claim in certificate.claims if claim.group == name]
        _, _, lower, upper, counted, rows, share = lines[f"rows of group {name}"]
        assert (lower, upper) == (round_down(group.lower), round_up(group.upper))
        assert (counted, rows) == (f"{group.n_errors / group.n:.4f}", str(group.n))
        assert share == f"{sum(claim.delta for claim in limits):.4g}"
    assert lines["all rows"][2] == "-"
    difference = round_up(certificate.largest_group_difference)
    assert f"groups differ by at most {difference}" in to_markdown(declare(kinds["groups"]))


def test_answered_rows_are_counted_at_the_threshold_that_is_certified(kinds):
    certificate, (_, of_answered, left) = (
        kinds["some rows"].certificate,
        table_of(declare(kinds["some rows"])).rows,
    )
    evidence = certificate.answered_error_rate.evidence
    assert certificate.threshold == 0.6
    assert of_answered[1] == "rows with a score of at least 0.6"
    assert of_answered[4:6] == (f"{evidence.wrong[1] / evidence.answered[1]:.4f}", str(evidence.answered[1]))
    assert left[4:6] == (f"{1 - certificate.answered_share:.4f}", str(N))


def test_of_many_claims_the_largest_are_shown(kinds):
    certificate = kinds["confusion"].certificate
    cell = certificate.confusion[0]
    cells = [dataclasses.replace(cell, value=k / 100) for k in range(1, MOST_LINES + 6)]
    others = [claim for claim in certificate.claims if claim.answered is None]
    table, note, *_ = claim_blocks(dataclasses.replace(certificate, claims=(*others, *cells)))
    shown = [line[3] for line in table.rows if line[0].startswith("share answered")]
    assert len(shown) == MOST_LINES
    assert shown[0] == round_up((MOST_LINES + 5) / 100)
    assert f"others are at most {round_up(5 / 100)}" in note.text


def tokens_of(text):
    """All that a Markdown parser finds, tables and bare links included."""
    markdown_it = pytest.importorskip("markdown_it", reason="rich brings it along")
    parser = markdown_it.MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    found = []
    for token in parser.parse(text):
        found += [token, *(token.children or ())]
    return found


def test_names_and_answers_stay_text(network):
    """Whatever users wrote, the parser finds what it finds for harmless names, and the words as they were."""
    hostile = network((HOSTILE, "ok"), names=(HOSTILE, "b", "c"), class_conditional=True)
    harmless = network(("fine", "ok"), names=("a", "b", "c"), class_conditional=True)
    one_line = HOSTILE.replace("\n\n", " ")
    found = tokens_of(to_markdown(declare(hostile, {"purpose": one_line}, folder=HOSTILE, targets=[HOSTILE])))
    expected = tokens_of(to_markdown(declare(harmless, {"purpose": "fine"}, folder="f", targets=["t"])))

    def kinds_of(tokens):
        return [token.type for token in tokens if token.type not in ("text", "text_special")]

    assert kinds_of(found) == kinds_of(expected)
    assert not {"html_inline", "html_block", "link_open", "image", "em_open"} & set(kinds_of(found))
    words = "".join(token.content for token in found if token.type in ("text", "text_special"))
    assert one_line in words


@pytest.mark.parametrize(
    "text",
    ["- a", "+ a", "1. a", "2) a", "# a", "=== a", "> a", "    a", "```", "---", "| a | b |", "a\n---"],
)
def test_beginnings_of_lines_mean_nothing(text):
    types = [token.type for token in tokens_of(escape(text) + "\n")]
    assert types[0] == "paragraph_open"
    assert "inline" in types
    assert len([kind for kind in types if kind.endswith("_open")]) == 1


def test_the_page_runs_nothing(network):
    hostile = "<script>alert(1)</script>"
    model = network((hostile, "ok"), names=(hostile, "b", "c"))
    page = to_html(declare(model, dict.fromkeys(FIELDS, hostile), folder=hostile, targets=[hostile]))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= len(FIELDS) + 3


def test_every_kind_of_block_is_written():
    kinds = {block.kind for block in get_args(Block)}
    assert kinds == set(WRITERS)
    template = Path(declaration_page.__file__).with_suffix(".html").read_text(encoding="utf-8")
    assert kinds == set(re.findall(r'block\.kind == "(\w+)"', template))


def test_commands_name_what_is_needed(kinds):
    assert "pbgnet verify 'my model' DATA\n" in to_markdown(
        declare(kinds["network"], folder="my model", targets=["y"])
    )
    assert "pbgnet verify MODEL DATA --target COLUMN\n" in to_markdown(declare(kinds["fitted"]))
    assert "pbgnet verify MODEL DATA\n" in to_markdown(declare(kinds["disagreement"]))


def test_answers_are_read_and_checked(tmp_path):
    toml, as_json = tmp_path / "a.toml", tmp_path / "a.json"
    toml.write_text('purpose = """To try.\n\nAnd more."""\n')
    as_json.write_text('{"purpose": "To try."}')
    assert read_answers(toml) == {"purpose": "To try.\n\nAnd more."}
    assert read_answers(as_json) == {"purpose": "To try."}
    for content, error, words in (
        ('purposes = "a"', UnknownNameError, "Did you mean 'purpose'"),
        ("purpose = 3", DtypeError, "must be a text"),
        ('[purpose]\na = "b"', DtypeError, "must be a text"),
        ("purpose = ", DamagedFileError, "cannot be read"),
    ):
        toml.write_text(content)
        with pytest.raises(error, match=words):
            read_answers(toml)
    toml.write_bytes(b"\xff\xfe")
    with pytest.raises(DamagedFileError, match="not UTF-8"):
        read_answers(toml)
    as_json.write_text("[1]")
    with pytest.raises(DtypeError, match="mapping"):
        read_answers(as_json)
    with pytest.raises(DamagedFileError, match="missing"):
        read_answers(tmp_path / "none.json")
    with pytest.raises(OptionError, match=r"\.toml or \.json"):
        read_answers(tmp_path / "a.yaml")


def test_files_are_written_by_their_names_and_not_replaced(kinds, tmp_path):
    declaration = declare(kinds["classes"], {"name": "Sorter 2"})
    assert declaration.title == "Declaration: Sorter 2"
    markdown = write_declaration(tmp_path / "d.md", declaration)
    page = write_declaration(tmp_path / "d.HTML", declaration)
    assert markdown.read_text(encoding="utf-8") == to_markdown(declaration)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(OutputExistsError):
        write_declaration(markdown, declare(kinds["network"]))
    assert "Sorter" in markdown.read_text(encoding="utf-8")
    write_declaration(markdown, declare(kinds["network"]), overwrite=True)
    assert "Sorter" not in markdown.read_text(encoding="utf-8")
    with pytest.raises(OptionError, match=r"\.md or \.html"):
        write_declaration(tmp_path / "d.txt", declaration)


def test_the_example_of_the_document(kinds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_model(kinds["network"], "model")
    document = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "declare.md"
    text = document.read_text(encoding="utf-8")
    (code,), (answers,) = (
        re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL) for kind in ("python", "toml")
    )
    exec(compile(code, document.name, "exec"), {})
    assert "To sort incoming scans." in (tmp_path / "declaration.md").read_text(encoding="utf-8")
    (tmp_path / "answers.toml").write_text(answers, encoding="utf-8")
    assert set(read_answers("answers.toml")) == {"name", "purpose"}


def test_what_is_no_certificate_is_refused(kinds):
    with pytest.raises(DtypeError, match="certified_model_"):
        declare(kinds["network"].certificate)
    with pytest.raises(UnknownNameError, match="purpose"):
        declare(kinds["network"], {"purposes": "a"})
    assert isinstance(kinds["fitted"], CertifiedPredictions)
