"""What every command shares: JSON stands alone on standard output, whatever libraries print."""

import json
import subprocess
import sys

import pytest

NOISY = """
import logging, os, subprocess, sys
import typer
from pbgnet.cli.outcome import Result, command
from pbgnet.exceptions import OptionError

handler = logging.StreamHandler(sys.stdout)

@command
def noisy(*, as_json, debug):
    print("printed")
    os.write(1, b"written past Python\\n")
    subprocess.run(["echo", "by another program"])
    handler.stream.write("logged")
    if debug:
        raise OptionError("no such thing")
    return Result({"answer": 42}, lambda: print("The answer is 42."))

try:
    noisy(as_json="json" in sys.argv, debug="fail" in sys.argv)
except typer.Exit as end:
    sys.exit(end.exit_code)
"""
NOISE = ("printed", "written past Python", "by another program", "logged")


def noisy(*words):
    return subprocess.run([sys.executable, "-c", NOISY, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("words", "key", "code"), [((), "answer", 0), (("fail",), "error", 2)])
def test_json_stands_alone_whatever_is_printed(words, key, code):
    done = noisy("json", *words)
    assert done.returncode == code
    assert key in json.loads(done.stdout)
    assert all(noise in done.stderr for noise in NOISE)


def test_without_json_nothing_is_redirected():
    done = noisy()
    assert all(words in done.stdout for words in (*NOISE, "The answer is 42."))


def test_json_is_printed_where_nobody_hears_errors():
    script = f"import os; os.close(2)\n{NOISY}"
    done = subprocess.run(
        [sys.executable, "-c", script, "json"], stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.stdout.strip().endswith("}")
