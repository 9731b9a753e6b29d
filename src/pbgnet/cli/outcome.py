"""From results, warnings and errors to output and exit codes; the same for every command."""

import contextlib
import functools
import json
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NoReturn

import typer

from pbgnet.cli.console import printable
from pbgnet.cli.given_tables import check_given
from pbgnet.exceptions import DamagedFileError, PBGNetError, PBGNetWarning, TrainingStoppedError


class ExitCode(IntEnum):
    """The exit code."""

    DONE = 0
    NOT_VERIFIED = 1
    BAD_INPUT = 2
    FILE_PROBLEM = 3
    BUG = 4
    ALARM = 5
    CHANGED = 6
    INTERRUPTED = 130


class Ended(BaseException):
    """SIGTERM has asked the command to end: unfinished work is cleaned up on the way out."""


class Note(PBGNetWarning):
    """Something the user of a command should know; it goes to standard error."""


@dataclass(frozen=True)
class Result:
    """The result of a command: plain values for JSON, and a function that prints the same for people."""

    payload: dict[str, Any]
    show: Callable[[], None]
    exit_code: ExitCode = ExitCode.DONE


def note(text: str) -> None:
    """Tell the user something, once; with ``--json`` it is also in the list of warnings."""
    warnings.warn(text, Note, stacklevel=2)


def command(function: Callable[..., Result]) -> Callable[..., None]:
    """Make a command: print its result, turn errors into a short message and an exit code.

    The function must have the options `as_json` and `debug` of `pbgnet.cli.options`.
    """

    @functools.wraps(function)
    def run(**options: Any) -> None:
        name, as_json, debug = function.__name__, options["as_json"], options["debug"]
        told: list[str] = []
        with warnings.catch_warnings():
            warnings.filterwarnings("always", category=PBGNetWarning)
            warnings.showwarning = _teller(told)
            try:
                check_given(options)
                with _ended_by_request(), _apart() if as_json else contextlib.nullcontext():
                    result = function(**options)
            except Ended:
                _fail(name, "Ended", "Stopped by SIGTERM.", ExitCode.INTERRUPTED, as_json, told)
            except KeyboardInterrupt:
                _fail(name, "KeyboardInterrupt", "Interrupted.", ExitCode.INTERRUPTED, as_json, told)
            except Exception as error:
                if debug:
                    traceback.print_exc()
                _fail(name, type(error).__name__, _message(error), _exit_code(error), as_json, told)
        _print(name, result, as_json, told)
        raise typer.Exit(int(result.exit_code))

    return run


@contextlib.contextmanager
def _ended_by_request() -> Iterator[None]:
    """Let SIGTERM end a command like an error, so that it leaves nothing half-written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        raise Ended

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _apart() -> Iterator[None]:
    """Send everything printed meanwhile to standard error, even by other languages: JSON must stand alone."""
    output = sys.stdout
    output.flush()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        with contextlib.suppress(OSError):  # one of the two is closed
            kept = os.dup(1)
            stack.callback(os.close, kept)
            os.dup2(2, 1)
            stack.callback(os.dup2, kept, 1)
        stack.callback(output.flush)  # what was printed around the redirection
        yield


def _teller(told: list[str]) -> Callable[..., None]:
    """Show each warning as one line on standard error, once."""

    def show(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
        text = printable(str(message))
        if text not in told:
            told.append(text)
            kind = "Note" if issubclass(category, Note) else "Warning"
            typer.echo(f"{_line_start()}{kind}: {text}", err=True)

    return show


def _line_start() -> str:
    """Return what removes a progress line that may be on the terminal."""
    return "\r\x1b[K" if sys.stderr.isatty() else ""


def _print(name: str, result: Result, as_json: bool, told: list[str]) -> None:
    try:
        if as_json:
            _print_json(name, result.exit_code, result.payload, told)
        else:
            result.show()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_json(name: str, code: ExitCode, payload: dict[str, Any], told: list[str]) -> None:
    content = {"command": name, "exit_code": int(code), **payload, "warnings": told}
    typer.echo(json.dumps(content, indent=2, ensure_ascii=True, allow_nan=False))


def _fail(name: str, kind: str, message: str, code: ExitCode, as_json: bool, told: list[str]) -> NoReturn:
    text = f"Error: {printable(message)}" if code != ExitCode.INTERRUPTED else message
    typer.echo(f"{_line_start()}{text}", err=True)
    if as_json:
        _print_json(name, code, {"error": {"kind": kind, "message": message}}, told)
    raise typer.Exit(int(code))


def _exit_code(error: Exception) -> ExitCode:
    if isinstance(error, TrainingStoppedError):
        return ExitCode.INTERRUPTED
    if isinstance(error, DamagedFileError | OSError):
        return ExitCode.FILE_PROBLEM
    return ExitCode.BAD_INPUT if isinstance(error, PBGNetError) or _is_parameter(error) else ExitCode.BUG


def _is_parameter(error: Exception) -> bool:
    """Whether scikit-learn rejected the value of an option."""
    return type(error).__name__ == "InvalidParameterError"


def _message(error: Exception) -> str:
    """Say what went wrong, in words for a user of the command line."""
    if isinstance(error, ModuleNotFoundError) and error.name in ("pandas", "pyarrow"):
        return f"This needs {error.name}: pip install {error.name}"
    if isinstance(error, PBGNetError) or _is_parameter(error):
        return str(error)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename is not None else ""
        return f"{place}{error.strerror or error}."
    what = f"{type(error).__name__}: {error}"
    return f"Unexpected error: {what}. Please run the command again with --debug and report the output."
