"""``pbgnet declare``: a model card for a certified model."""

from pathlib import Path
from typing import Annotated

import typer

from pbgnet.cli.console import echo
from pbgnet.cli.folder import load_reading
from pbgnet.cli.options import Debug, Json, Model, Overwrite, out_option
from pbgnet.cli.outcome import Result, command
from pbgnet.exceptions import OptionError

Out = Annotated[Path, out_option("FILE", "File to write: .md for Markdown, .html for a web page.")]


@command
def declare(
    model: Model,
    out: Out,
    answers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="TOML or JSON file with the answers only you can give, by key.",
        ),
    ] = None,
    purpose: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What the model is for. Give other fields with --answers."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Write a declaration of a certified model, with the sections of a model card.

    Its numbers come from the certificate. Fields that only you can fill in are marked, each with the key to
    use in --answers.
    """
    from pbgnet.certificates import load_certified
    from pbgnet.declaration import FIELDS, check_suffix, read_answers, write_declaration
    from pbgnet.declaration import declare as make

    check_suffix(out)
    given = {} if answers is None else read_answers(answers)
    if purpose is not None:
        if given.get("purpose", "").strip():
            raise OptionError(
                "The purpose is given twice: with --purpose and in the file of --answers. Remove one."
            )
        given["purpose"] = purpose
    loaded = load_certified(model)
    targets = load_reading(model, loaded).targets
    declaration = make(loaded, given, folder=model.resolve().name, targets=targets)
    path, missing = write_declaration(out, declaration, overwrite=overwrite), declaration.open_fields

    def show() -> None:
        echo(f"{path}: the declaration of {model}.")
        if missing:
            fields = "field is" if len(missing) == 1 else "fields are"
            echo(f"{len(missing)} of {len(FIELDS)} {fields} still to be filled in: {', '.join(missing)}.")
        else:
            echo("All fields are filled in.")

    payload = {
        "out": str(path),
        "n_fields": len(FIELDS),
        "open": list(missing),
        "statement": loaded.certificate.statement,
        "seal": loaded.certificate.seal,
    }
    return Result(payload, show)
