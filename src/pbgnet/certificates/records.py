"""Frozen records with a strict JSON form: the grammar in which certificates are written.

A record is a frozen dataclass whose fields carry their range in their type. The same check
runs when a record is made and when it is read, so what was read is what could have been issued.
"""

import dataclasses
import json
import math
import re
import types
import typing
from numbers import Integral, Real
from typing import Any, Self

from pbgnet.exceptions import DamagedFileError, DomainError, DtypeError, PBGNetError

__all__ = ["Limits", "Record", "parse_json", "read_keys"]


@dataclasses.dataclass(frozen=True)
class Limits:
    """The range of a field, as part of its type: ``n: Annotated[int, Limits(low=1)]``."""

    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    choices: tuple[str, ...] | None = None
    pattern: str | None = None

    def check(self, name: str, value: Any) -> None:
        """Raise `DomainError` unless the value lies within."""
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


@dataclasses.dataclass(frozen=True)
class Record:
    """Base of the records: values are checked when made, and read back as strictly.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> from pbgnet.certificates.records import Limits, Record
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

    def __post_init__(self) -> None:
        hints = _hints(type(self))
        for field in dataclasses.fields(self):
            value = _coerce(field.name, getattr(self, field.name), hints[field.name])
            object.__setattr__(self, field.name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON-able values."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """Read a record from parsed JSON.

        Raises
        ------
        DamagedFileError
            For unknown or missing keys, wrong types, NaN and numbers out of range; names the key.
        """
        fields = dataclasses.fields(cls)
        content = read_keys(data, [field.name for field in fields], where)
        hints = _hints(cls)
        values = {
            field.name: _read(content[field.name], hints[field.name], _join(where, field.name))
            for field in fields
        }
        try:
            return cls(**values)
        except PBGNetError as error:
            raise DamagedFileError(_join(where, str(error))) from error


def parse_json(text: str) -> Any:
    """Parse JSON strictly: no NaN or infinity, no key twice, no absurd nesting.

    Examples
    --------
    >>> from pbgnet.certificates.records import parse_json
    >>> parse_json('{"n": NaN}')
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: It holds NaN, which is not a number of JSON.
    """

    def refuse_constant(name: str) -> None:
        raise DamagedFileError(f"It holds {name}, which is not a number of JSON.")

    def refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise DamagedFileError(f"It holds the key {twice!r:.60} twice.")
        return result

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
    if unknown := [key for key in data if key not in keys]:
        raise DamagedFileError(f"{place} has the unknown key {_join(where, str(unknown[0])[:60])}.")
    return data


def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls, include_extras=True)


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _kind(value: object) -> str:
    return "null" if value is None else f"{value!r:.40} of type {type(value).__name__}"


def _unwrap(hint: Any) -> tuple[Any, bool, Limits | None]:
    """Take an annotation apart: the plain type, whether None is allowed, and the limits."""
    optional = typing.get_origin(hint) in (types.UnionType, typing.Union)
    if optional:
        hint = next(option for option in typing.get_args(hint) if option is not type(None))
    if typing.get_origin(hint) is typing.Annotated:
        plain, limits = typing.get_args(hint)
        return plain, optional, limits
    return hint, optional, None


def _read(value: Any, hint: Any, where: str) -> Any:
    """Turn parsed JSON into the type a field is annotated with; plain values are checked by `_coerce`."""
    plain, optional, _ = _unwrap(hint)
    if value is None and optional:
        return None
    if isinstance(plain, type) and issubclass(plain, Record):
        return plain.from_dict(value, where)
    if typing.get_origin(plain) is tuple:
        if not isinstance(value, list):
            raise DamagedFileError(f"{where} must be a list, got {_kind(value)}.")
        inner = typing.get_args(plain)[0]
        return tuple(_read(item, inner, f"{where}[{k}]") for k, item in enumerate(value))
    return value


def _coerce(name: str, value: Any, hint: Any) -> Any:
    """Return a value in the exact type of its annotation and within its limits, or raise."""
    plain, optional, limits = _unwrap(hint)
    if value is None and optional:
        return None
    if typing.get_origin(plain) is tuple:
        if not isinstance(value, tuple | list):
            raise DtypeError(f"{name} must be a list, got {_kind(value)}.")
        return tuple(_coerce(name, item, typing.get_args(plain)[0]) for item in value)
    result = _convert(value, plain)
    if result is None:
        wanted = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}.get(plain)
        raise DtypeError(f"{name} must be {wanted or plain.__name__}, got {_kind(value)}.")
    if isinstance(result, float) and not math.isfinite(result):
        raise DomainError(f"{name} must be a finite number, got {value!r:.60}.")
    if limits is not None:
        limits.check(name, result)
    return result


def _convert(value: Any, plain: type) -> Any:
    """Return a value in its plain type, or None if it has another; true and false are not numbers."""
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
