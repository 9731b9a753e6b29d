"""Frozen records with a strict JSON form: the grammar of every JSON file that this package writes.

A record is a frozen dataclass whose field types include their ranges. The same checks run when a record is
made and when it is read, so everything that was read could also have been written. `json_schema` says the
same to other programs.
"""

import dataclasses
import json
import math
import re
import types
import typing
from collections.abc import Sized
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from pbgnet.exceptions import DamagedFileError, DomainError, DtypeError, PBGNetError

LONGEST_LIST = 2**20
"""Longer than any list of a valid record; a longer one raises an error before it is read."""


ABSENT_IF_NONE = {"absent if None": True}
"""Metadata of a field that is None by default, and whose key is left out if it is None.

For keys that were added later: files without them are read, and written back, as they are."""


FINGERPRINT = "[0-9a-f]{64}"
"""Pattern of a SHA-256 in hexadecimal digits."""


def is_fingerprint(text: str) -> bool:
    """Return whether a text is a fingerprint, which people cannot read."""
    return re.fullmatch(FINGERPRINT, text) is not None


@dataclasses.dataclass(frozen=True)
class Limits:
    """The range of a field, as part of its type: ``n: Annotated[int, Limits(low=1)]``.

    `longest` is the number of items that a list may have; `LONGEST_LIST` by default.
    """

    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    choices: tuple[str, ...] | None = None
    pattern: str | None = None
    longest: int | None = None

    def check(self, name: str, value: Any) -> None:
        """Raise `DomainError` unless the value is within the limits."""
        if self.low is not None and (value < self.low or (self.open_low and value == self.low)):
            relation = "above" if self.open_low else "at least"
            raise DomainError(f"{name} must be {relation} {self.low:g}, got {value!r}.")
        if self.high is not None and (value > self.high or (self.open_high and value == self.high)):
            relation = "below" if self.open_high else "at most"
            raise DomainError(f"{name} must be {relation} {self.high:g}, got {value!r}.")
        if self.choices is not None and value not in self.choices:
            raise DomainError(f"{name} must be one of {', '.join(self.choices)}, got {value!r:.60}.")
        if self.pattern is not None and re.fullmatch(self.pattern, value) is None:
            raise DomainError(f"{name} must look like {self.pattern}, got {value!r:.80}.")

    def schema(self) -> dict[str, Any]:
        """Return the limits in the terms of JSON Schema."""
        told = {
            "exclusiveMinimum" if self.open_low else "minimum": self.low,
            "exclusiveMaximum" if self.open_high else "maximum": self.high,
            "enum": None if self.choices is None else list(self.choices),
            "pattern": None if self.pattern is None else f"^(?:{self.pattern})$",
            "maxItems": self.longest,
        }
        return {key: value for key, value in told.items() if value is not None}


@dataclasses.dataclass(frozen=True)
class Record:
    """Base class of records: values are checked when a record is made, and equally strictly when it is read.

    A class that is one of several in a union has a `kind`, with which its JSON form begins.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> from pbgnet.records import Limits, Record
    >>> @dataclass(frozen=True)
    ... class Count(Record):
    ...     n: Annotated[int, Limits(low=1)]
    >>> Count.from_dict({"n": 3}).to_dict()
    {'n': 3}
    >>> Count.from_dict({"n": -3})
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: n must be at least 1, got -3.
    """

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        hints = _hints(type(self))
        for field in dataclasses.fields(self):
            value = _coerce(field.name, getattr(self, field.name), hints[field.name])
            object.__setattr__(self, field.name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values for JSON."""
        head = {"kind": self.kind} if self.kind else {}
        absent = {name for name in _absent_if_none(type(self)) if getattr(self, name) is None}
        return head | {
            field.name: _plain(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if field.name not in absent
        }

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """Read a record from parsed JSON.

        Raises
        ------
        DamagedFileError
            For unknown or missing keys, wrong types, NaN and numbers out of range; names the key.
        """
        names, hints = [field.name for field in dataclasses.fields(cls)], cls.hints_for(data)
        optional = _absent_if_none(cls)
        if isinstance(data, dict):
            nothing = next((name for name in optional if name in data and data[name] is None), None)
            if nothing is not None:
                raise DamagedFileError(f"{_join(where, nothing)} must be left out rather than null.")
            data = dict.fromkeys(optional) | data
        content = read_keys(data, [*(["kind"] if cls.kind else []), *names], where)
        if cls.kind and content["kind"] != cls.kind:
            raise DamagedFileError(
                f"{_join(where, 'kind')} must be {cls.kind!r}, got {content['kind']!r:.60}."
            )
        values = {name: _read(content[name], hints[name], _join(where, name)) for name in names}
        try:
            return cls(**values)
        except PBGNetError as error:
            raise DamagedFileError(_join(where, str(error))) from error

    @classmethod
    def schema(cls, definitions: dict[str, Any]) -> dict[str, Any]:
        """Return the class as a JSON Schema object; other records it contains are put into `definitions`."""
        hints, optional = _hints(cls), _absent_if_none(cls)
        properties: dict[str, Any] = {"kind": {"const": cls.kind}} if cls.kind else {}
        for field in dataclasses.fields(cls):
            told = _schema_of(hints[field.name], definitions)
            properties[field.name] = told["anyOf"][0] if field.name in optional else told
        return {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name not in optional],
            "additionalProperties": False,
        }

    @classmethod
    def hints_for(cls, data: object) -> dict[str, Any]:
        """Return the types of the fields; a class whose fields depend on each other overrides it."""
        return _hints(cls)


Probability = typing.Annotated[float, Limits(low=0.0, high=1.0)]
OpenProbability = typing.Annotated[float, Limits(low=0.0, high=1.0, open_low=True, open_high=True)]
NonNegative = typing.Annotated[float, Limits(low=0.0)]
Positive = typing.Annotated[float, Limits(low=0.0, open_low=True)]
Count = typing.Annotated[int, Limits(low=0, high=2**53)]
PositiveCount = typing.Annotated[int, Limits(low=1, high=2**53)]
Seed = typing.Annotated[int, Limits(low=0, high=2**63 - 1)]
Sha256 = typing.Annotated[str, Limits(pattern=FINGERPRINT)]


def parse_json(text: str) -> Any:
    """Parse JSON strictly: no NaN or infinity, no key twice, no absurd nesting.

    Examples
    --------
    >>> from pbgnet.records import parse_json
    >>> parse_json('{"n": NaN}')
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: It contains NaN, which is not a JSON number.
    """

    def refuse_constant(name: str) -> None:
        raise DamagedFileError(f"It contains {name}, which is not a JSON number.")

    def refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise DamagedFileError(f"It contains the key {twice!r:.60} twice.")
        return result

    if not isinstance(text, str):
        raise DtypeError(f"JSON is read from a text, got {type(text).__name__}.")
    try:
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=refuse_twice)
    except DamagedFileError:
        raise
    except (ValueError, RecursionError) as error:  # a number of 5000 digits is a ValueError too
        raise DamagedFileError(f"It is not valid JSON: {str(error)[:120]}.") from error


def read_keys(data: object, keys: list[str], where: str = "") -> dict[str, Any]:
    """Return `data` if it is an object with exactly these keys."""
    place = where or "The content"
    if not isinstance(data, dict):
        raise DamagedFileError(f"{place} must be an object, got {_kind(data)}.")
    if missing := [key for key in keys if key not in data]:
        raise DamagedFileError(f"{place} lacks the key {_join(where, missing[0])}.")
    unknown = next((str(key) for key in data if key not in keys), None)
    if unknown is not None:
        raise DamagedFileError(f"{place} has the unknown key {_join(where, unknown[:60])}.")
    return data


_known_hints: dict[type, dict[str, Any]] = {}  # looking them up takes most of the time of a small record


def _hints(cls: type) -> dict[str, Any]:
    if cls not in _known_hints:
        _known_hints[cls] = typing.get_type_hints(cls, include_extras=True)
    return _known_hints[cls]


def _absent_if_none(cls: "type[Record]") -> list[str]:
    """Return the names of fields whose key is left out if they are None."""
    if cls not in _known_absent:
        fields = dataclasses.fields(cls)
        _known_absent[cls] = [
            field.name for field in fields if ABSENT_IF_NONE.keys() <= field.metadata.keys()
        ]
    return _known_absent[cls]


_known_absent: dict[type, list[str]] = {}


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _kind(value: object) -> str:
    return "null" if value is None else f"{value!r:.40} of type {type(value).__name__}"


def _unwrap(hint: Any) -> tuple[Any, bool, Limits | None]:
    """Split an annotation into the plain type, whether None is allowed, and the limits.

    A union of records remains a union, without None.
    """
    optional = False
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        optional = len(options) < len(typing.get_args(hint))
        hint = options[0] if len(options) == 1 else typing.Union[tuple(options)]  # noqa: UP007
    if typing.get_origin(hint) is typing.Annotated:
        plain, limits = typing.get_args(hint)
        return plain, optional, limits
    return hint, optional, None


def _read(value: Any, hint: Any, where: str) -> Any:
    """Convert parsed JSON to the type a field is annotated with; plain values are checked by `_coerce`."""
    plain, optional, limits = _unwrap(hint)
    if value is None and optional:
        return None
    if records := _records(plain):
        if len(records) == 1:
            return records[0].from_dict(value, where)
        kinds = {record.kind: record for record in records}
        told = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(told, str) or told not in kinds:
            raise DamagedFileError(
                f"{_join(where, 'kind')} must be one of {', '.join(kinds)}, got {_kind(told)}."
            )
        return kinds[told].from_dict(value, where)
    if typing.get_origin(plain) is tuple:
        if not isinstance(value, list):
            raise DamagedFileError(f"{where} must be a list, got {_kind(value)}.")
        if problem := _length_problem(value, limits):
            raise DamagedFileError(f"{where} {problem}")
        inner = typing.get_args(plain)[0]
        return tuple(_read(item, inner, f"{where}[{k}]") for k, item in enumerate(value))
    return value


def _records(plain: Any) -> list[type[Record]]:
    """Return the record types that a type consists of: one, several for a union, none otherwise."""
    options = typing.get_args(plain) if typing.get_origin(plain) is typing.Union else (plain,)
    return [option for option in options if isinstance(option, type) and issubclass(option, Record)]


def _coerce(name: str, value: Any, hint: Any) -> Any:
    """Return a value in the exact type of its annotation and within its limits, or raise an error."""
    plain, optional, limits = _unwrap(hint)
    if value is None and optional:
        return None
    if typing.get_origin(plain) is tuple:
        if not isinstance(value, tuple | list):
            raise DtypeError(f"{name} must be a list, got {_kind(value)}.")
        if problem := _length_problem(value, limits):
            raise DomainError(f"{name} {problem}")
        inner = typing.get_args(plain)[0]
        alike = inner in (float, str) and set(map(type, value)) <= {inner}
        if alike and (inner is str or all(map(math.isfinite, value))):  # hundreds of thresholds, say
            return tuple(value)
        return tuple(_coerce(name, item, inner) for item in value)
    if records := _records(plain):
        if isinstance(value, tuple(records)):
            return value
        raise DtypeError(f"{name} must be {' or '.join(r.__name__ for r in records)}, got {_kind(value)}.")
    result = _convert(value, plain)
    if result is None:
        wanted = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}.get(plain)
        raise DtypeError(f"{name} must be {wanted}, got {_kind(value)}.")
    if isinstance(result, float) and not math.isfinite(result):
        raise DomainError(f"{name} must be a finite number, got {value!r:.60}.")
    if limits is not None:
        limits.check(name, result)
    return result


def _length_problem(items: Sized, limits: Limits | None) -> str:
    """Return a message if a list is too long, otherwise ""."""
    longest = LONGEST_LIST if limits is None or limits.longest is None else limits.longest
    return f"must have at most {longest} items, got {len(items)}." if len(items) > longest else ""


def _convert(value: Any, plain: type) -> Any:
    """Return a value in its plain type, or None if it has another type; true and false are not numbers."""
    if isinstance(value, bool):
        return value if plain is bool else None
    if plain is int and isinstance(value, Integral):
        return int(value)
    if plain is float and isinstance(value, Real):
        try:
            return float(value)
        except OverflowError:  # a whole number of hundreds of digits
            return math.inf
    return value if isinstance(value, plain) else None


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def json_schema(record: type[Record]) -> dict[str, Any]:
    """Return the form of a record in the terms of JSON Schema.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> from pbgnet.records import Limits, Record, json_schema
    >>> @dataclass(frozen=True)
    ... class Count(Record):
    ...     n: Annotated[int, Limits(low=1)] | None
    >>> json_schema(Count)["properties"]
    {'n': {'anyOf': [{'type': 'integer', 'minimum': 1}, {'type': 'null'}]}}
    """
    definitions: dict[str, Any] = {}
    return {**record.schema(definitions), "$defs": definitions}


def schema_reference(record: type[Record], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to a record, and add it to the definitions if it is not there yet."""
    if record.__name__ not in definitions:
        definitions[record.__name__] = record.schema(definitions)
    return {"$ref": f"#/$defs/{record.__name__}"}


def _schema_of(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    plain, optional, limits = _unwrap(hint)
    if optional:
        inner = _schema_of(typing.Annotated[plain, limits] if limits is not None else plain, definitions)
        return {"anyOf": [inner, {"type": "null"}]}
    if records := _records(plain):
        references = [schema_reference(record, definitions) for record in records]
        return references[0] if len(references) == 1 else {"oneOf": references}
    if typing.get_origin(plain) is tuple:
        items = _schema_of(typing.get_args(plain)[0], definitions)
        return {"type": "array", "items": items, **(limits.schema() if limits is not None else {})}
    names = {int: "integer", float: "number", str: "string", bool: "boolean"}
    return {"type": names[plain], **(limits.schema() if limits is not None else {})}
