"""Which process trains which runs: several may share a store, and none trains what another has begun.

A claim is a row of the store with its owner, which regularly reports that it is alive. The claims of a killed
owner become free: immediately if its process is known to be gone, otherwise after a minute of silence.
"""

import contextlib
import os
import platform
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Self

from pbgnet.exceptions import StoreError
from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.studies.store import Store

BEAT, SILENCE = 5.0, 60.0
"""Seconds between an owner's reports that it is alive, and seconds after which it counts as dead."""


class Claims:
    """The claims of one caller on runs of a store; a context manager that gives them back at the end."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._owner = uuid.uuid4().hex
        self._over = threading.Event()
        self._living = threading.Thread(target=self._live, daemon=True, name="pbgnet-claims")

    def __enter__(self) -> Self:
        self._living.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._living.join()
        with contextlib.suppress(StoreError):  # the first error is reported; silence frees the claims too
            self.release()

    def taking(
        self, batches: Iterable[Sequence[RunSpec]], attempts: Mapping[RunSpec, tuple[bool, int]]
    ) -> Iterator[Sequence[RunSpec]]:
        """Claim batches one by one, when they are requested; skip those that others have or had.

        Parameters
        ----------
        batches : iterable
            Each is claimed completely or not at all.
        attempts : mapping
            What the caller knows about the runs; if the store now knows more, others have trained them.
        """
        return (batch for batch in batches if self._take(batch, attempts))

    def release(self) -> int:
        """Give back all claims, and return their number."""
        with self._store.changing() as connection:
            return connection.execute("DELETE FROM claims WHERE owner = ?", [self._owner]).rowcount

    def _take(self, batch: Sequence[RunSpec], attempts: Mapping[RunSpec, tuple[bool, int]]) -> bool:
        runs = {run.identity(): run for run in batch}
        with self._store.changing() as connection:
            self._free_those_of_the_dead(connection)
            found = self._store.attempts()
            if any(found.get(identity, (False, 0)) != attempts[run] for identity, run in runs.items()):
                return False
            claimed = {identity for (identity,) in connection.execute("SELECT identity FROM claims")}
            if claimed & runs.keys():
                return False
            connection.executemany(
                "INSERT INTO claims (identity, owner, place, process, seen) VALUES (?, ?, ?, ?, ?)",
                [(identity, self._owner, _place(), os.getpid(), time.time()) for identity in runs],
            )
        return True

    def _free_those_of_the_dead(self, connection: sqlite3.Connection) -> None:
        owners = connection.execute("SELECT DISTINCT owner, place, process, seen FROM claims").fetchall()
        for owner, place, process, seen in owners:
            gone = place == _place() and not _is_alive(process)
            if owner != self._owner and (gone or time.time() - seen > SILENCE):
                connection.execute("DELETE FROM claims WHERE owner = ?", [owner])

    def _live(self) -> None:
        """Report that the owner is alive, in a connection of this thread, until the end."""
        place = f"{self._store.path.absolute().as_uri()}?mode=rw"
        while not self._over.wait(BEAT):
            # An error that prevents writing, such as a full disk, stops the study elsewhere.
            with (
                contextlib.suppress(sqlite3.Error),
                contextlib.closing(sqlite3.connect(place, uri=True, timeout=BEAT)) as connection,
                connection,
            ):
                connection.execute("UPDATE claims SET seen = ? WHERE owner = ?", [time.time(), self._owner])


def _place() -> str:
    """Where process ids are valid: containers may share a host name, but not process ids."""
    with contextlib.suppress(OSError):
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    return platform.node()


def _is_alive(process: int) -> bool:
    """Whether a process of this machine may exist; if asking could harm it, it may."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it exists, and belongs to another user
        return True
    return True
