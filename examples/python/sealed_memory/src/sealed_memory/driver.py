"""The memory as a child process that answers lines of JSON: ``sealed-memory exec --jsonl``."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .child import Answer, Child
from .errors import DriverError, SealedMemoryError
from .program import find_program

if TYPE_CHECKING:
    from typing_extensions import Self

_MOST_LINE_BYTES = 64 * 1024 * 1024
"""The driver refuses a longer line unread, and without the id by which its answer could be told."""


class Driver:
    """A driver for one object. It is started by the first request, and once more by the next one after it has ended.

    May be used by any number of threads at once. After a fork the new process starts a driver of its own.
    """

    def __init__(
        self,
        verb: Sequence[str],
        *,
        command: Sequence[str] | None,
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None,
    ) -> None:
        if isinstance(command, str) or (command is not None and not command):
            raise TypeError("command must be the program and its arguments, such as ['npx', 'sealed-memory']")
        self._command = None if command is None else [*command]
        self._verb = verb
        self._env = dict(env or {})
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._child: Child | None = None
        self._hang_up: weakref.finalize[..., Any] | None = None
        self._closed = False
        _DRIVERS.add(self)

    def submit(self, request: Mapping[str, Any]) -> Future[Answer]:
        """Sends a request behind all before. The future has the driver's answer, or fails with ``DriverError``."""
        number = next(self._numbers)
        line = to_json({**request, "id": number}, ascii_only=True).encode() + b"\n"
        if len(line) > _MOST_LINE_BYTES:
            raise SealedMemoryError(
                f"The request has {len(line)} bytes, and may have {_MOST_LINE_BYTES}.", "limit_exceeded"
            )
        with self._lock:
            if self._closed:
                raise DriverError("It is closed.", "driver_closed")
            future = None if self._child is None else self._child.ask(number, line)
            if future is not None:
                return future
            child = self._start()
            return child.ask(number, line) or child.end()

    def close(self, timeout: float = 10.0) -> None:
        """Answers what was asked before, and ends the driver; later requests are refused."""
        with self._lock:
            self._closed = True
            child, self._child = self._child, None
        if child is not None:
            child.close(timeout)

    def _start(self) -> Child:
        env = {**os.environ, **self._env}
        command = find_program(self._cwd, env.get("PATH")) if self._command is None else self._command
        self._child = Child([*command, *self._verb], env=env, cwd=self._cwd)
        if self._hang_up is not None:
            self._hang_up.detach()
        # Who drops the object without closing it leaves no process behind.
        self._hang_up = weakref.finalize(self, self._child.hang_up)
        return self._child

    def _forked(self) -> None:
        self._lock = threading.Lock()
        if self._hang_up is not None:
            self._hang_up.detach()
        if self._child is not None:
            self._child.abandon()
            self._child = None


class AsyncOwner:
    """What has a driver, on asyncio."""

    _driver: Driver

    async def close(self) -> None:
        """Waits for the requests under way, and ends the driver."""
        await asyncio.to_thread(self._driver.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def to_json(value: object, *, ascii_only: bool) -> str:
    """Raises ``SealedMemoryError`` for what JSON does not have."""
    try:
        return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        raise SealedMemoryError("It cannot be written as JSON.", "invalid_command") from None


def content_of(answer: Answer) -> Any:
    """What was asked for. Raises ``SealedMemoryError`` in the words and with the code of the memory."""
    if answer["ok"]:
        return answer.get("content")
    raise SealedMemoryError(str(answer.get("content")), str(answer.get("code")))


_DRIVERS: weakref.WeakSet[Driver] = weakref.WeakSet()


def _forget_drivers() -> None:
    for driver in list(_DRIVERS):
        driver._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_drivers)
