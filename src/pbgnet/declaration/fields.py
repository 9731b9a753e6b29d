"""What only the user can say: questions by key, and where their answers come from. Nothing is made up."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from pbgnet.declaration.blocks import Answer, OpenField
from pbgnet.exceptions import DamagedFileError, DtypeError, OptionError
from pbgnet.files import as_path, check_size
from pbgnet.records import parse_json
from pbgnet.validation import check_name

LARGEST_ANSWERS = 2**20
"""Larger than any valid file of answers."""


@dataclass(frozen=True)
class Field:
    """A question to the user: the heading of its answer, and the question."""

    title: str
    question: str


FIELDS = {
    "name": Field("Name", "the name of the model and its version"),
    "owner": Field("Owner", "who developed the model, and who is responsible for it"),
    "contact": Field("Contact", "whom to ask, and where to report errors"),
    "purpose": Field("Purpose", "what the model is for, and which decisions depend on its answers"),
    "users": Field("Users", "who should use it, and what they need to know to do so"),
    "not_for": Field("Not for", "uses one might think of, but for which it must not be used"),
    "factors": Field(
        "Factors", "groups of people, devices, places or times between which its errors may differ"
    ),
    "error_costs": Field("Cost of errors", "what a wrong answer of each kind costs, and who bears the cost"),
    "evaluation_data": Field(
        "Origin",
        "where the certified rows come from: when, where and how they were drawn, and from which cases",
    ),
    "labels": Field("Labels", "who assigned the labels, how, and how reliable they are"),
    "training_data": Field(
        "Origin", "where the other rows come from, if they come from elsewhere, and what is known about them"
    ),
    "risks": Field("Risks", "who could be harmed by errors or by correct answers, and what is done about it"),
    "oversight": Field("Oversight", "which answers a person reviews, and who may overrule them"),
    "monitoring": Field(
        "Monitoring", "how a change in the cases will be noticed, and when the model will be certified again"
    ),
}
"""Questions by key, in their order."""


def field_block(key: str, answers: Mapping[str, str]) -> Answer | OpenField:
    """Return the user's answer to a question, or the question, marked as open."""
    field, text = FIELDS[key], answers.get(key, "")
    return Answer(field.title, text) if text.strip() else OpenField(key, field.question)


def check_answers(answers: Mapping[str, str] | None) -> dict[str, str]:
    """Return answers as a dict; raise an error for unknown keys, and for values that are not texts."""
    if answers is None:
        return {}
    if not isinstance(answers, Mapping):
        raise DtypeError(f"answers must be a mapping from key to text, got {type(answers).__name__}.")
    for key, text in answers.items():
        check_name("field of a declaration", key, FIELDS)
        if not isinstance(text, str):
            raise DtypeError(f"The answer to {key} must be a text, got {text!r:.60}.")
    return dict(answers)


def read_answers(place: str | os.PathLike[str]) -> dict[str, str]:
    """Read answers from a TOML or JSON file of keys and texts."""
    path = as_path(place)
    suffix = path.suffix.lower()
    if suffix not in (".toml", ".json"):
        raise OptionError(
            f"Answers are read from .toml or .json files; {path.name!r:.80} has another extension."
        )
    check_size(path, LARGEST_ANSWERS)
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if suffix == ".toml" else parse_json(text)
    except UnicodeDecodeError:
        raise DamagedFileError(f"{path} is not UTF-8 text.") from None
    except (tomllib.TOMLDecodeError, DamagedFileError, RecursionError) as error:
        raise DamagedFileError(f"{path} cannot be read: {error!s:.200}") from error
    return check_answers(content)
