"""Records: checked when made, read back as strictly, one of several by its kind, and told as a schema."""

import dataclasses
import json
import math
import time
from dataclasses import dataclass
from typing import Annotated, ClassVar

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbgnet.exceptions import DamagedFileError, DomainError, DtypeError
from pbgnet.records import (
    Count,
    Limits,
    NonNegative,
    OpenProbability,
    Probability,
    Record,
    Sha256,
    json_schema,
    parse_json,
    read_keys,
)


@dataclass(frozen=True)
class Circle(Record):
    kind: ClassVar[str] = "circle"

    radius: NonNegative


@dataclass(frozen=True)
class Square(Record):
    kind: ClassVar[str] = "square"

    side: Annotated[float, Limits(low=0.0, open_low=True)]
    name: str | None = None


@dataclass(frozen=True)
class Drawing(Record):
    shape: Circle | Square
    others: tuple[Circle | Square, ...] = ()
    hidden: Circle | Square | None = None
    colour: Annotated[str, Limits(choices=("red", "green"))] = "red"
    sizes: tuple[Count, ...] = ()
    filled: bool = False
    label: Annotated[str, Limits(pattern="[a-z]+")] | None = None


WHOLE = Drawing(Circle(1.0), (Square(2.0), Circle(0.0)), Square(0.5, "small"), "green", (1, 2), True, "abc")


def test_what_was_written_is_read_back():
    content = WHOLE.to_dict()
    assert content["shape"] == {"kind": "circle", "radius": 1.0}
    assert list(content["others"][0]) == ["kind", "side", "name"]
    assert Drawing.from_dict(json.loads(json.dumps(content))) == WHOLE
    plain = Drawing(Circle(1))
    assert Drawing.from_dict(plain.to_dict()) == plain
    assert type(plain.shape.radius) is float, "whole numbers become what the field is"


def test_one_of_several_records_is_known_by_its_kind():
    assert Drawing.from_dict(
        {**WHOLE.to_dict(), "shape": {"kind": "square", "side": 3, "name": None}}
    ).shape == (Square(3.0))
    for path, value, message in (
        ("shape", {"kind": "triangle", "radius": 1.0}, "shape.kind must be one of circle, square, got 'tri"),
        ("shape", {"radius": 1.0}, "shape.kind must be one of circle, square, got null"),
        ("shape", {"kind": ["circle"], "radius": 1.0}, "shape.kind must be one of circle, square"),
        ("shape", {"kind": "square", "radius": 1.0}, "shape lacks the key shape.side"),
        ("shape", {"kind": "circle", "radius": 1.0, "side": 1.0}, "shape has the unknown key shape.side"),
        ("shape", {"kind": "circle", "radius": -1.0}, "shape.radius must be at least 0, got -1.0"),
        ("shape", [], "shape.kind must be one of"),
        ("shape", None, "shape.kind must be one of"),
        ("others", [{"kind": "circle", "radius": 1.0}, {"kind": "x"}], r"others\[1\].kind must be one of"),
        ("others", {"kind": "circle", "radius": 1.0}, "others must be a list"),
        ("hidden", {"kind": ""}, "hidden.kind must be one of"),
    ):
        with pytest.raises(DamagedFileError, match=message):
            Drawing.from_dict({**WHOLE.to_dict(), path: value})
    assert Drawing.from_dict({**WHOLE.to_dict(), "hidden": None}).hidden is None


def test_a_record_read_alone_says_its_kind_too():
    assert Circle.from_dict({"kind": "circle", "radius": 2.0}) == Circle(2.0)
    with pytest.raises(DamagedFileError, match="kind must be 'circle', got 'square'"):
        Circle.from_dict({"kind": "square", "radius": 2.0})
    with pytest.raises(DamagedFileError, match="lacks the key kind"):
        Circle.from_dict({"radius": 2.0})


def test_another_record_is_refused_when_made():
    with pytest.raises(DtypeError, match="shape must be Circle or Square, got"):
        Drawing(WHOLE)
    with pytest.raises(DtypeError, match="shape must be Circle or Square, got null"):
        Drawing(None)
    with pytest.raises(DtypeError, match="others must be Circle or Square"):
        Drawing(Circle(1.0), ("circle",))
    with pytest.raises(dataclasses.FrozenInstanceError):
        WHOLE.colour = "red"


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"colour": "blue"}, DomainError, "colour must be one of red, green, got 'blue'"),
        ({"colour": 3}, DtypeError, "colour must be a text, got 3 of type int"),
        ({"sizes": (1, -1)}, DomainError, "sizes must be at least 0, got -1"),
        ({"sizes": (True,)}, DtypeError, "sizes must be a whole number"),
        ({"sizes": 3}, DtypeError, "sizes must be a list, got 3"),
        ({"sizes": (1.0,)}, DtypeError, "sizes must be a whole number"),
        ({"sizes": (10**30,)}, DomainError, "sizes must be at most"),
        ({"filled": 1}, DtypeError, "filled must be true or false"),
        ({"label": "A"}, DomainError, r"label must look like \[a-z\]\+, got 'A'"),
        ({"label": "a\n"}, DomainError, "label must look like"),
    ],
)
def test_values_out_of_range_are_named(changes, error, message):
    with pytest.raises(error, match=message):
        dataclasses.replace(WHOLE, **changes)


def test_numbers_are_finite_and_plain():
    assert type(Circle(np.float32(0.5)).radius) is float
    assert type(dataclasses.replace(WHOLE, sizes=(np.int8(3),)).sizes[0]) is int
    for radius in (math.nan, math.inf, 10**400):
        with pytest.raises(DomainError, match="radius must be a finite number"):
            Circle(radius)
    for radius in (True, "1", None, 1j):
        with pytest.raises(DtypeError, match="radius must be a number"):
            Circle(radius)


@pytest.mark.parametrize(
    ("hint", "inside", "outside"),
    [
        (Probability, (0, 1.0, 0.5), (-1e-9, 1.0000001)),
        (OpenProbability, (1e-300, 0.5), (0.0, 1.0)),
        (NonNegative, (0.0, 1e300), (-5e-324,)),
    ],
)
def test_limits_are_open_or_closed_as_they_say(hint, inside, outside):
    (limits,) = hint.__metadata__
    for value in inside:
        limits.check("x", value)
    for value in outside:
        with pytest.raises(DomainError, match="x must be"):
            limits.check("x", value)


def test_keys_are_exact():
    assert read_keys({"a": 1}, ["a"]) == {"a": 1}
    for data, message in (
        ({}, "The content lacks the key a"),
        ({"a": 1, "b": 2}, "The content has the unknown key b"),
        ([], "The content must be an object"),
    ):
        with pytest.raises(DamagedFileError, match=message):
            read_keys(data, ["a"])
    with pytest.raises(DamagedFileError, match=r"here lacks the key here\.a"):
        read_keys({}, ["a"], "here")


@given(st.text())
def test_no_text_breaks_the_parser(text):
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(DamagedFileError):
            parse_json(text)
    else:
        if expected == expected and "NaN" not in text and "Infinity" not in text:
            assert parse_json(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ('{"a": 1, "a": 2}', "'a' twice"),
        ('{"b": {"a": 1, "c": 0, "a": 2}}', "'a' twice"),
        ("[" * 100_000, "not valid JSON"),
        ("9" * 5000, "not valid JSON"),
        ("[Infinity]", "Infinity, which is not a JSON number"),
        ("[-Infinity]", "-Infinity"),
        ("[NaN]", "NaN"),
    ],
)
def test_hostile_json_is_refused(text, message):
    with pytest.raises(DamagedFileError, match=message):
        parse_json(text)


def test_the_schema_says_what_is_read():
    schema = json_schema(Drawing)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    genuine = WHOLE.to_dict()
    validator.validate(genuine)
    validator.validate(Drawing(Circle(1.0)).to_dict())
    for changes in (
        {"shape": {"kind": "triangle", "radius": 1.0}},
        {"shape": {"kind": "square", "radius": 1.0}},
        {"shape": {"kind": "circle", "radius": -1.0}},
        {"shape": {"radius": 1.0}},
        {"shape": None},
        {"others": [{"kind": "circle"}]},
        {"hidden": 1},
        {"colour": "blue"},
        {"sizes": [0.5]},
        {"sizes": [-1]},
        {"filled": 1},
        {"filled": None},
        {"label": "ABC"},
        {"label": "abcD"},
        {"extra": 1},
    ):
        content = {**genuine, **changes}
        assert not validator.is_valid(content), changes
        with pytest.raises(DamagedFileError):
            Drawing.from_dict(content)
    for key in genuine:
        assert not validator.is_valid({name: value for name, value in genuine.items() if name != key}), key
    for content in ({**genuine, "hidden": None}, {**genuine, "label": None}, {**genuine, "sizes": []}):
        validator.validate(content)
        Drawing.from_dict(content)


def test_fingerprints_are_sixty_four_lower_case_digits():
    (limits,) = Sha256.__metadata__
    limits.check("x", "0123456789abcdef" * 4)
    for text in ("0" * 63, "0" * 65, "A" * 64, "0" * 63 + "\n"):
        with pytest.raises(DomainError):
            limits.check("x", text)


def test_a_late_key_that_comes_twice_is_found_in_linear_time():
    text = json.dumps({f"k{i}": i for i in range(200_000)})[:-1] + ', "k199999": 0}'
    start = time.process_time()
    with pytest.raises(DamagedFileError, match="the key 'k199999' twice"):
        parse_json(text)
    assert time.process_time() - start < 5
    with pytest.raises(DamagedFileError, match="the unknown key b0"):
        read_keys({"a": 1, **{f"b{i}": i for i in range(200_000)}}, ["a"])
    with pytest.raises(DamagedFileError, match="unknown key"):
        read_keys({"a": 1, "": 2}, ["a"])


def test_a_list_has_a_length():
    @dataclass(frozen=True)
    class Some(Record):
        sizes: Annotated[tuple[Count, ...], Limits(longest=2)] | None = None

    assert Some.from_dict({"sizes": [1, 2]}).sizes == (1, 2)
    with pytest.raises(DamagedFileError, match="sizes must have at most 2 items, got 3"):
        Some.from_dict({"sizes": [1, 2, 3]})
    with pytest.raises(DomainError, match="sizes must have at most 2 items, got 3"):
        Some((1, 2, 3))
    assert json_schema(Some)["properties"]["sizes"]["anyOf"][0]["maxItems"] == 2
    with pytest.raises(DomainError, match="sizes must have at most 1048576 items"):
        Drawing(Circle(1.0), sizes=(0,) * (2**20 + 1))
