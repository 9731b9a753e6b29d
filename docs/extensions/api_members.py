"""Which methods and properties the page of a class lists: those that pbgnet defines, inherited ones too.

What scikit-learn, PyTorch or `Exception` bring along is documented by them.
"""

import functools
import importlib
import inspect
import re
from typing import Any

MADE_BY_SCIKIT_LEARN = re.compile(r"set_\w+_request")


def find(fullname: str) -> Any:
    """Return the object with a dotted name."""
    module, _, name = fullname.rpartition(".")
    return getattr(importlib.import_module(module), name)


def defined_here(cls: type, name: str) -> bool:
    """Whether a member is public and comes from a class of pbgnet."""
    if name.startswith("_") or MADE_BY_SCIKIT_LEARN.fullmatch(name):
        return False
    owner = next(base for base in cls.__mro__ if name in vars(base))
    return owner.__module__.startswith("pbgnet")


def members_of(fullname: str) -> dict[str, list[str]]:
    """Return the names of the methods and of the properties of a class, in the order of their definition."""
    cls = find(fullname)
    found: dict[str, list[str]] = {"methods": [], "properties": []}
    names = dict.fromkeys(name for base in cls.__mro__ for name in vars(base))
    for name in names:
        if not defined_here(cls, name):
            continue
        member = inspect.getattr_static(cls, name)
        if isinstance(member, property | functools.cached_property):
            found["properties"].append(name)
        elif inspect.isroutine(getattr(cls, name, None)):  # class methods too, and what available_if wraps
            found["methods"].append(name)
    return found
