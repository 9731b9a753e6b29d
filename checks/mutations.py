"""Changes to the files of a folder, as data: drawn at random, and made again from a line of JSON."""

import contextlib
import json
import os
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from pbgnet.certificates import Certificate
from pbgnet.exceptions import PBGNetError
from pbgnet.records import parse_json

Change = dict[str, Any]

CERTIFICATE = "certificate.json"
WEIGHTS = "model.safetensors"

VALUES = [
    *("null", "true", "false", "0", "1", "-1", "2", "0.5", "-0.0", "1e-300", "5e-324", "1e308", "1e309"),
    *("NaN", "-Infinity", "1" + "0" * 400, str(2**63), str(2**64), '""', '"\\ud800"', '"a\\nVerified: all"'),
    *(
        '"' + "x" * 5000 + '"',
        "[]",
        "{}",
        "[[[[[[[[[[1]]]]]]]]]]",
        "[" * 3000 + "]" * 3000,
        '{"a": 1, "a": 2}',
    ),
]
"""Texts of JSON that take the place of a value."""

FACTORS = [0.5, 0.999, 1.0 - 1e-6, 1.0 - 1e-11, 1.0 + 1e-11, 1.0 + 1e-6, 1.001, 2.0, -1.0, 1e9]


def draw_change(folder: Path, rng: random.Random) -> Change:
    """Draw a change of one file of a folder."""
    names = sorted(path.name for path in folder.iterdir())
    name = rng.choice(names)
    change: Change = {"file": name, "at": rng.random(), "with": rng.randrange(2**16)}
    operations = ["flip", "cut", "repeat", "noise", "remove", "swap"]
    if name.endswith(".json"):
        value = json.loads((folder / name).read_text())
        change["path"] = rng.choice([*paths(value)][1:])
        for key in change["path"]:
            value = value[key]
        fitting = ["set", "set", "drop", "twice", "exchange", "grow"]
        fitting += ["scale"] * 3 * isinstance(value, int | float)
        fitting += ["rename"] * isinstance(change["path"][-1], str)
        operations += fitting * 3
    elif name == WEIGHTS:
        operations += ["weight", "reshape", "recast", "lose", "header"] * 3
    change["do"] = rng.choice(operations)
    if change["do"] in ("flip", "cut", "repeat", "noise", "remove", "swap"):
        change.pop("path", None)
    if change["do"] == "set":
        change["json"] = rng.choice(VALUES)
    if change["do"] == "scale":
        change["by"] = rng.choice(FACTORS)
    if change["do"] == "swap":
        change["other"] = rng.choice(names)
    return change


def make(changes: list[Change], folder: Path, reseal: bool) -> None:
    """Make changes in a folder; then state what the certificate now says with its own words and seal."""
    for change in changes:
        path = folder / change["file"]
        if path.is_file():
            CHANGES[change["do"]](path, change)
    path = folder / CERTIFICATE
    if reseal and path.is_file():
        with contextlib.suppress(PBGNetError, UnicodeError):  # what nobody can read nobody can seal
            path.write_text(Certificate.from_dict(parse_json(path.read_text())).to_json())


def paths(data: Any, before: tuple[str | int, ...] = ()) -> Iterator[list[str | int]]:
    """List the places in a JSON document, itself first."""
    yield list(before)
    if isinstance(data, dict):
        for key, value in data.items():
            yield from paths(value, (*before, key))
    elif isinstance(data, list):
        for place, value in list(enumerate(data))[:40]:
            yield from paths(value, (*before, place))


# ----- bytes and files -------------------------------------------------------------------------------


def _flip(path: Path, change: Change) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[int(change["at"] * len(content))] ^= 1 << change["with"] % 8
        path.write_bytes(content)


def _cut(path: Path, change: Change) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(change["at"] * len(content))])


def _repeat(path: Path, change: Change) -> None:
    content = path.read_bytes()
    place = int(change["at"] * len(content))
    path.write_bytes(content[:place] + content[max(0, place - change["with"] % 500) :])


def _noise(path: Path, change: Change) -> None:
    content = path.read_bytes()
    place = int(change["at"] * len(content))
    drawn = random.Random(change["with"]).randbytes(1 + change["with"] % 40)
    path.write_bytes(content[:place] + drawn + content[place + len(drawn) * (change["with"] % 2) :])


def _remove(path: Path, change: Change) -> None:
    path.unlink()
    if change["with"] % 4 == 0:
        path.mkdir()
    elif change["with"] % 4 == 1:
        path.write_bytes(b"")
    elif change["with"] % 4 == 2:
        os.symlink(path.name, path)


def _swap(path: Path, change: Change) -> None:
    other = path.parent / change["other"]
    if other.is_file():
        first, second = path.read_bytes(), other.read_bytes()
        path.write_bytes(second)
        other.write_bytes(first)


# ----- JSON ------------------------------------------------------------------------------------------


def _in_json(path: Path, change: Change, edit: Callable[[Any, Any], None]) -> None:
    """Change the JSON of a file at a place; nothing where other changes left no such place."""
    try:
        data = parent = json.loads(path.read_text())
        *keys, last = change["path"]
        for key in keys:
            parent = parent[key]
        edit(parent, last)
    except (ValueError, LookupError, TypeError, RecursionError):
        return
    text = json.dumps(data, indent=2)
    for marker, value in ((json.dumps(key), value) for key, value in RAW.items()):
        text = text.replace(marker, value)
    path.write_text(text)


RAW = {f"raw value {place}": value for place, value in enumerate(VALUES)}
"""What stands for texts that are no values of Python."""


def _set(path: Path, change: Change) -> None:
    raw = next((key for key, value in RAW.items() if value == change["json"]), None)

    def edit(parent: Any, last: Any) -> None:
        parent[last] = raw if raw is not None else json.loads(change["json"])

    _in_json(path, change, edit)


def _scale(path: Path, change: Change) -> None:
    def edit(parent: Any, last: Any) -> None:
        whole = isinstance(parent[last], int)
        parent[last] = (
            parent[last] + (1 if change["by"] > 1 else -1) if whole else parent[last] * change["by"]
        )

    _in_json(path, change, edit)


def _drop(path: Path, change: Change) -> None:
    def edit(parent: Any, last: Any) -> None:
        del parent[last]

    _in_json(path, change, edit)


def _rename(path: Path, change: Change) -> None:
    def edit(parent: Any, last: Any) -> None:
        parent[f"{last} "] = parent.pop(last)

    _in_json(path, change, edit)


def _twice(path: Path, change: Change) -> None:
    """Write a key a second time in the same object, or an item of a list."""

    def edit(parent: Any, last: Any) -> None:
        if isinstance(parent, list):
            parent.insert(last, parent[last])
        else:
            parent["the same key"] = parent[last]

    _in_json(path, change, edit)
    key = json.dumps(change["path"][-1]).encode()
    path.write_bytes(path.read_bytes().replace(b'"the same key"', key))


def _exchange(path: Path, change: Change) -> None:
    """Exchange a value for another one of the same file."""

    def edit(parent: Any, last: Any) -> None:
        every = [*paths(json.loads(path.read_text()))]
        found = json.loads(path.read_text())
        for key in every[change["with"] % len(every)]:
            found = found[key]
        parent[last] = found

    _in_json(path, change, edit)


def _grow(path: Path, change: Change) -> None:
    """Make a list, a text or a number thousands of times as long."""

    def edit(parent: Any, last: Any) -> None:
        value = parent[last]
        parent[last] = value * 2000 if isinstance(value, list | str) else [value] * 2000

    _in_json(path, change, edit)


# ----- tensors ---------------------------------------------------------------------------------------


def _in_tensors(path: Path, change: Change, edit: Callable[[dict[str, Any], str], None]) -> None:
    try:
        tensors = load_file(path)
    except Exception:
        return  # another change left nothing to read
    edit(tensors, sorted(tensors)[change["with"] % len(tensors)])
    save_file(tensors, path)


def _weight(path: Path, change: Change) -> None:
    """Change one number of a tensor: a bit of it, or all of it."""

    def edit(tensors: dict[str, Any], name: str) -> None:
        flat = tensors[name].view(-1)
        if not flat.numel():
            return
        place = int(change["at"] * flat.numel())
        choice = change["with"] // 16 % 6
        if choice < 3:
            flat.view(torch.int64)[place] ^= 1 << (change["with"] // 96 % 62)
        else:
            flat[place] = torch.tensor([-1.0, 0.0, 1e9]).to(flat.dtype)[choice - 3]

    _in_tensors(path, change, edit)


def _reshape(path: Path, change: Change) -> None:
    def edit(tensors: dict[str, Any], name: str) -> None:
        shapes = [(-1,), (1, -1), (-1, 1, 1)]
        tensors[name] = tensors[name].reshape(shapes[change["with"] // 16 % 3]).contiguous()

    _in_tensors(path, change, edit)


def _recast(path: Path, change: Change) -> None:
    def edit(tensors: dict[str, Any], name: str) -> None:
        types = [
            torch.float32,
            torch.float16,
            torch.bfloat16,
            torch.int64,
            torch.uint8,
            torch.bool,
            torch.float64,
        ]
        tensors[name] = tensors[name].to(types[change["with"] // 16 % len(types)])

    _in_tensors(path, change, edit)


def _lose(path: Path, change: Change) -> None:
    def edit(tensors: dict[str, Any], name: str) -> None:
        kept = tensors.pop(name)
        if change["with"] // 16 % 2:
            tensors["prior_margins"] = kept

    _in_tensors(path, change, edit)


def _header(path: Path, change: Change) -> None:
    """Write another length of the header, or other JSON into it."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8].ljust(8, b"\0"))
    if change["with"] % 2:
        path.write_bytes(struct.pack("<Q", change["with"] ** (1 + change["with"] % 4) % 2**64) + content[8:])
    else:
        header = content[8 : 8 + length].replace(b"0", VALUES[change["with"] % len(VALUES)].encode(), 1)
        path.write_bytes(struct.pack("<Q", len(header)) + header + content[8 + length :])


CHANGES: dict[str, Callable[[Path, Change], None]] = {
    "flip": _flip,
    "cut": _cut,
    "repeat": _repeat,
    "noise": _noise,
    "remove": _remove,
    "swap": _swap,
    "set": _set,
    "scale": _scale,
    "drop": _drop,
    "rename": _rename,
    "twice": _twice,
    "exchange": _exchange,
    "grow": _grow,
    "weight": _weight,
    "reshape": _reshape,
    "recast": _recast,
    "lose": _lose,
    "header": _header,
}
