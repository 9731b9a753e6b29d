"""The command line as a whole. Nothing heavy is imported here, so ``--help`` answers immediately."""

import inspect
from collections.abc import Callable
from typing import Annotated

import typer

import pbgnet
from pbgnet.cli.bound import bound
from pbgnet.cli.certify import certify
from pbgnet.cli.declare import declare
from pbgnet.cli.demo import demo
from pbgnet.cli.export import export
from pbgnet.cli.monitor import monitor
from pbgnet.cli.plan import plan
from pbgnet.cli.predict import predict
from pbgnet.cli.report import report
from pbgnet.cli.reproduce import reproduce
from pbgnet.cli.show import show
from pbgnet.cli.train import train
from pbgnet.cli.verify import verify

app = typer.Typer(
    name="pbgnet",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success, 1 not verified, 2 bad input or options, 3 a problem with a "
    "file, 4 a bug, 5 monitor raised an alarm, 6 rows changed without an alarm, 130 "
    "interrupted.",
)

COMMANDS = (
    train,
    certify,
    predict,
    verify,
    monitor,
    show,
    declare,
    plan,
    bound,
    demo,
    reproduce,
    report,
    export,
)


def help_of(function: Callable[..., None]) -> str:
    """Return its docstring with each paragraph on one line, so that terminals of any width break it well."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


for command in COMMANDS:
    app.command(help=help_of(command))(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pbgnet {pbgnet.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train classifiers with a certificate: a proved bound on how often they are wrong.

    Start with: pbgnet demo. Then: pbgnet train DATA --target COLUMN --out MODEL
    """
