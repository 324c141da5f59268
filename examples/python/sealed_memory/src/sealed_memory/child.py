"""One running driver: a process, and the threads that write to it and read from it."""

from __future__ import annotations

import collections
import contextlib
import json
import logging
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from io import BufferedReader, RawIOBase
from typing import IO, Any, cast

from .errors import DriverError

Answer = dict[str, Any]
"""What a line of the driver's holds: ``ok``, and ``content`` or ``code``."""

_LOGGER = logging.getLogger("sealed_memory")
_LAST_LINES = 10
_LONGEST_NOTE = 500
_SECONDS_TO_OBEY = 2.0


class Child:
    """Starts the process. Raises ``DriverError`` (``driver_missing``) where there is no such program."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: str | None) -> None:
        try:
            # In a session of its own, so that Ctrl-C on the terminal ends no command half way.
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise DriverError(
                f"The driver could not be started: {error.filename}: {error.strerror}. It is a program of the npm"
                " package sealed-memory; `command` says how it is started.",
                "driver_missing",
            ) from None
        self._process = process
        self._lock = threading.Lock()
        self._pending: dict[int, Future[Answer]] = {}
        self._has_ended = False
        self._end: tuple[str, str] | None = None
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._notes: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
        self._threads = [
            threading.Thread(target=work, name=f"sealed-memory {work.__name__}", daemon=True)
            for work in (self._write, self._read, self._note)
        ]
        # The reader waits for the notes, so these come first: a thread that has not started cannot be waited for.
        for thread in reversed(self._threads):
            thread.start()

    def ask(self, number: int, line: bytes) -> Future[Answer] | None:
        """Sends a line, which has the number as its id, behind all before. Never blocks. ``None`` once it has ended."""
        future: Future[Answer] = Future()
        with self._lock:
            if self._has_ended:
                return None
            self._pending[number] = future
            self._outbox.put(line)
        return future

    def end(self) -> Future[Answer]:
        """What every request fails with once it has ended."""
        future: Future[Answer] = Future()
        with self._lock:
            words = self._end or ("The driver has not ended.", "driver_ended")
        future.set_exception(DriverError(*words))
        return future

    def hang_up(self) -> None:
        """Closes its standard input behind what was asked: it answers that and ends."""
        self._outbox.put(None)

    def close(self, timeout: float) -> None:
        """Hangs up, and waits for the end. Ends what has not ended after ``timeout`` seconds."""
        self.hang_up()
        for end, seconds in ((None, timeout), ("SIGTERM", _SECONDS_TO_OBEY), ("SIGKILL", _SECONDS_TO_OBEY)):
            if end is not None:
                self._signal(end)
            try:
                self._process.wait(seconds)
                break
            except subprocess.TimeoutExpired:
                continue
        for thread in self._threads:
            thread.join(_SECONDS_TO_OBEY)

    def abandon(self) -> None:
        """In a process that was forked: lets go of the pipes, which are its parent's, whose threads are not here."""
        for pipe in self._pipes():
            pipe.close()
        self._process.returncode = 0

    def _pipes(self) -> list[IO[bytes]]:
        process = self._process
        return [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe is not None]

    def _write(self) -> None:
        stdin = cast(RawIOBase, self._process.stdin)
        try:
            while (line := self._outbox.get()) is not None:
                left = memoryview(line)
                while left:
                    left = left[stdin.write(left) or 0 :]
        except OSError:
            pass  # It has ended; who reads from it tells of that.
        finally:
            with contextlib.suppress(OSError):
                stdin.close()

    def _read(self) -> None:
        lines = BufferedReader(cast(RawIOBase, self._process.stdout), 1 << 16)
        broken = False
        while not broken and (line := lines.readline()):
            broken = not self._settle(line)
        if broken:
            self._signal("SIGKILL")
        code = self._process.wait()
        self._threads[2].join(_SECONDS_TO_OBEY)
        self._fail(code, broken=broken)
        self._outbox.put(None)

    def _settle(self, line: bytes) -> bool:
        try:
            answer = json.loads(line)
            number, ok = answer.pop("id"), answer["ok"]
            if not isinstance(ok, bool) or not line.endswith(b"\n"):
                return False
            with self._lock:
                future = self._pending.pop(number)
        except (ValueError, KeyError, TypeError, AttributeError):
            return False
        # A call that was cancelled waits for nothing.
        if future.set_running_or_notify_cancel():
            future.set_result(answer)
        return True

    def _fail(self, code: int, *, broken: bool) -> None:
        how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
        said = f": {'; '.join(self._notes)}" if self._notes else "."
        if broken:
            words = ("The driver wrote what is no answer, and was ended.", "driver_broken")
        else:
            words = (f"The driver ended {how}{said}", "driver_ended")
        with self._lock:
            self._has_ended = True
            self._end = words
            pending, self._pending = list(self._pending.values()), {}
        for future in pending:
            if future.set_running_or_notify_cancel():
                future.set_exception(DriverError(*words))

    def _note(self) -> None:
        for line in cast("IO[bytes]", self._process.stderr):
            text = line.decode(errors="replace").strip()[:_LONGEST_NOTE]
            if text:
                self._notes.append(text)
                _LOGGER.warning("driver: %s", text)

    def _signal(self, name: str) -> None:
        """To its whole session: a program such as npx is only the parent of the driver."""
        try:
            if os.name == "posix":
                os.killpg(self._process.pid, getattr(signal, name))
            else:
                self._process.terminate()
        except OSError:
            pass
