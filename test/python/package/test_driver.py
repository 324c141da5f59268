"""What becomes of calls when the driver fails, and of the driver when its owner ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import pickle
import shlex
import signal
import subprocess
import sys
import threading
import time
import traceback
import unittest
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from anthropic.lib.tools import ToolError
from claude_agent_sdk.types import SessionKey
from sealed_memory import (
    DriverError,
    SealedAsyncMemoryTool,
    SealedMemoryError,
    SealedMemoryTool,
    SealedSessionStore,
    find_program,
)
from support import COMMAND, OTHER_KEY, ROOT_KEY, fake, in_memory, in_sqlite, new_path, rows_of, settings

KEY: SessionKey = {"project_key": "proj", "session_id": "sess"}
VIEW = {"command": "view", "path": "/memories"}


def asked(path: str) -> dict[str, Any]:
    return {"command": "view", "path": path}


def failure(
    command: "Sequence[str] | None",
    request: Mapping[str, Any],
    env: "Mapping[str, str] | None" = None,
    cwd: "Path | None" = None,
) -> DriverError:
    """Why the driver failed; what the model is told of it is always the same."""
    tool = SealedMemoryTool(command, env=env, cwd=cwd)
    try:
        tool.call(request)
    except ToolError as error:
        assert error.content == "Error: The memory is not available.", error.content
        assert isinstance(error.__cause__, DriverError), error.__cause__
        return error.__cause__
    finally:
        tool.close()
    raise AssertionError("it did not fail")


def put_program(folder: Path, name: str, line: str = "exit 1") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{line}\n")
    (folder / name).chmod(0o755)


def await_file(path: Path) -> None:
    for _ in range(1500):
        if path.exists():
            return
        time.sleep(0.02)
    raise AssertionError(f"{path.name} does not appear")


def running(tool: SealedMemoryTool) -> "subprocess.Popen[bytes]":
    child = tool._driver._child
    assert child is not None
    return child._process


class Failures(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def test_driver_that_is_not_there(self) -> None:
        error = failure(["/nowhere/sealed-memory"], VIEW)
        self.assertEqual(error.code, "driver_missing")
        self.assertIn("/nowhere/sealed-memory", str(error))
        with self.assertRaises(TypeError):
            SealedMemoryTool("npx sealed-memory")

    def test_program_of_the_project_comes_before_the_one_on_the_path(self) -> None:
        project, elsewhere = new_path("project"), new_path("bin")
        inner = project / "src" / "agents"
        inner.mkdir(parents=True)
        for folder in (elsewhere, project / "node_modules" / ".bin", project / "src" / "node_modules" / ".bin"):
            put_program(folder, "sealed-memory")
        put_program(elsewhere, "node")
        path = str(elsewhere)
        for folder in (project / "src", project):
            found = folder / "node_modules" / ".bin" / "sealed-memory"
            self.assertEqual(find_program(inner, path), [str(found)])
            found.unlink()
        self.assertEqual(find_program(inner, path), [str(elsewhere / "sealed-memory")])

    def test_program_that_is_found_is_started(self) -> None:
        project = new_path("project")
        put_program(project / "node_modules" / ".bin", "sealed-memory", shlex.join(fake("answers")))
        with SealedMemoryTool(cwd=project) as tool:
            self.assertEqual(tool.call(VIEW), "fine")

    def test_what_is_missing_is_said_with_what_to_do(self) -> None:
        project, nothing = new_path("project"), new_path("bin")
        put_program(project / "node_modules" / ".bin", "sealed-memory")
        nothing.mkdir()
        error = failure(None, VIEW, {"PATH": str(nothing)}, project)
        self.assertEqual(error.code, "driver_missing")
        self.assertIn("no Node.js on PATH: install Node.js 22.13 or newer", str(error))
        put_program(nothing, "node")
        error = failure(None, VIEW, {"PATH": str(nothing)}, nothing)
        self.assertEqual(error.code, "driver_missing")
        self.assertIn(f"neither in node_modules/.bin of {nothing} and the folders above it, nor on PATH", str(error))
        self.assertIn("install the npm package sealed-memory", str(error))

    def test_node_that_is_too_old_is_told_by_its_version(self) -> None:
        project = new_path("project")
        refusal = "sealed-memory: needs Node.js 22.13 or newer, and this is 20.20.2: install a newer one."
        put_program(project / "node_modules" / ".bin", "sealed-memory", f"echo '{refusal}' >&2; exit 2")
        self.assertIn(refusal, str(failure(None, VIEW, None, project)))

    def test_program_that_ends_at_once_is_told_of_however_late_its_threads_begin(self) -> None:
        start = threading.Thread.start

        def late(thread: threading.Thread) -> None:
            if thread.name.startswith("sealed-memory"):
                time.sleep(0.2)
            start(thread)

        tool = SealedMemoryTool(["/bin/sh", "-c", "echo no disk >&2; exit 3"])
        self.addCleanup(tool.close)
        with mock.patch.object(threading.Thread, "start", late):
            error = tool._driver.submit(VIEW).exception(timeout=10)
        self.assertIsInstance(error, DriverError)
        self.assertIn("exit code 3: no disk", str(error))

    def test_operator_reads_in_the_log_what_the_model_does_not(self) -> None:
        logging.disable(logging.NOTSET)
        with self.assertLogs("sealed_memory", "WARNING") as logged:
            failure(COMMAND, VIEW, {**in_memory(), "SEALED_MEMORY_TENANT": ""})
        self.assertEqual([each.levelname for each in logged.records], ["WARNING", "ERROR"])
        for line in logged.output:
            self.assertIn("SEALED_MEMORY_TENANT", line)

    def test_settings_that_are_missing(self) -> None:
        error = failure(COMMAND, VIEW, {**in_memory(), "SEALED_MEMORY_TENANT": ""})
        self.assertEqual(error.code, "driver_ended")
        self.assertIn("exit code 2", str(error))
        self.assertIn("SEALED_MEMORY_TENANT", str(error))

    async def test_wrong_key(self) -> None:
        env = in_sqlite()
        text = "Kestrel is the launch in May"
        async with SealedSessionStore(COMMAND, env=env) as store:
            await store.append(KEY, [{"type": "x", "uuid": "a", "timestamp": text}])
        async with SealedSessionStore(COMMAND, env=settings(env["SEALED_MEMORY_STORE"], OTHER_KEY)) as store:
            with self.assertRaises(SealedMemoryError) as caught:
                await store.append(KEY, [{"type": "x", "uuid": "b", "timestamp": text}])
        self.assertEqual(caught.exception.code, "key_unavailable")
        self.assertIn("root key", str(caught.exception))
        told = "".join(traceback.format_exception(caught.exception)) + repr(caught.exception.args)
        for secret in (ROOT_KEY, OTHER_KEY, text):
            self.assertNotIn(secret, told)

    def test_driver_that_dies(self) -> None:
        tool = SealedMemoryTool(fake("exits"))
        self.assertEqual(tool.call(asked("live")), "fine")
        with self.assertRaises(ToolError) as caught:
            tool.call(asked("die"))
        cause = caught.exception.__cause__
        self.assertEqual(str(cause), "The driver ended with exit code 3: the disk is full")
        self.assertEqual(tool.call(asked("live")), "fine", "the next call starts another one")
        tool.close()

    async def test_driver_that_dies_fails_all_calls_under_way(self) -> None:
        async with SealedAsyncMemoryTool(fake("killed")) as tool:
            calls = [tool.call(asked(path)) for path in ("a", "b", "die")]
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            causes = [str(each.__cause__) for each in outcomes if isinstance(each, ToolError)]
            self.assertEqual(causes, ["The driver ended by signal 9."] * 3)

    async def test_driver_that_is_killed_is_followed_by_one_that_knows_what_was_stored(self) -> None:
        store = SealedSessionStore(COMMAND, env=in_sqlite())
        stored: list[str] = []

        async def append(entry: Any) -> None:
            for _ in range(100):
                try:
                    return await store.append(KEY, [entry])
                except DriverError:
                    continue
            raise AssertionError("every driver ends")

        for number in range(6):
            appended = asyncio.ensure_future(append({"type": "x", "uuid": f"{number}"}))
            if number % 2 == 1:
                await asyncio.sleep(0)
                child = store._driver._child
                assert child is not None
                child._process.send_signal(signal.SIGKILL)
            await appended
            stored.append(f"{number}")
        self.assertEqual([each["uuid"] for each in await store.load(KEY) or []], stored)
        await store.close()

    def test_driver_that_writes_something_else(self) -> None:
        for behaviour in ("babbles", "unasked", "cut-off"):
            with self.subTest(behaviour):
                error = failure(fake(behaviour), asked("private"))
                self.assertEqual(error.code, "driver_broken")
                self.assertNotIn("private", str(error))

    def test_line_that_is_too_long(self) -> None:
        with SealedMemoryTool(fake("answers")) as tool:
            with self.assertRaises(ToolError) as caught:
                tool.call({"command": "create", "path": "/memories/a", "file_text": "x" * (64 * 1024 * 1024)})
            self.assertIn("67108864", str(caught.exception))
            self.assertEqual(getattr(caught.exception.__cause__, "code", None), "limit_exceeded")
            self.assertEqual(tool.call(VIEW), "fine")

    async def test_call_that_is_cancelled(self) -> None:
        async with SealedAsyncMemoryTool(fake("later")) as tool:
            first = asyncio.ensure_future(tool.call(asked("first")))
            await asyncio.sleep(0)
            first.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await first
            self.assertEqual(await tool.call(asked("second")), "second")

    def test_errors_travel_between_processes(self) -> None:
        error = pickle.loads(pickle.dumps(DriverError("It is closed.", "driver_closed")))
        self.assertEqual((type(error), str(error), error.code), (DriverError, "It is closed.", "driver_closed"))


class Ends(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    async def test_close_waits_for_the_calls_under_way(self) -> None:
        tool = SealedAsyncMemoryTool(fake("at-the-end"))
        calls = [asyncio.ensure_future(tool.call(asked(path))) for path in ("a", "b")]
        await asyncio.sleep(0)
        await tool.close()
        self.assertEqual(await asyncio.gather(*calls), ["a", "b"])
        with self.assertRaises(ToolError) as caught:
            await tool.call(VIEW)
        self.assertEqual(getattr(caught.exception.__cause__, "code", None), "driver_closed")
        await tool.close()
        await SealedAsyncMemoryTool(fake("answers")).close()

    def test_close_ends_the_driver(self) -> None:
        with SealedMemoryTool(COMMAND, env=in_memory()) as tool:
            tool.call(VIEW)
            process = running(tool)
        self.assertEqual(process.returncode, 0)

    def test_object_that_is_dropped_ends_its_driver(self) -> None:
        ended = new_path("ended")
        tool = SealedMemoryTool(fake("answers", ended))
        tool.call(VIEW)
        del tool
        gc.collect()
        await_file(ended)

    def test_process_that_is_killed_ends_its_driver(self) -> None:
        ended = new_path("ended")
        program = (
            "import sys; from sealed_memory import SealedMemoryTool; tool = SealedMemoryTool(sys.argv[1:]);"
            " tool.call({'command': 'view'}); print('called', flush=True); sys.stdin.read()"
        )
        command = [sys.executable, "-c", program, *fake("answers", ended)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
            assert owner.stdout is not None
            self.assertEqual(owner.stdout.readline(), b"called\n")
            owner.kill()
        await_file(ended)

    def test_threads_share_a_driver(self) -> None:
        with SealedMemoryTool(COMMAND, env=in_memory()) as tool:
            tool.call({"command": "create", "path": "/memories/a", "file_text": ""})
            insert = {"command": "insert", "path": "/memories/a", "insert_line": 0}

            def work(name: int) -> None:
                for each in range(20):
                    tool.call({**insert, "insert_text": f"{name}-{each}\n"})

            threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seen = str(tool.call({"command": "view", "path": "/memories/a"}))
        self.assertEqual(sorted(rows_of(seen)), sorted(f"{name}-{each}" for name in range(8) for each in range(20)))

    def test_process_that_was_forked_has_a_driver_of_its_own(self) -> None:
        tool = SealedMemoryTool(COMMAND, env=in_sqlite())
        tool.call({"command": "create", "path": "/memories/parent", "file_text": ""})
        told, tell = os.pipe()
        go_on, let_go = os.pipe()
        forked = os.fork()
        if forked == 0:
            code = 1
            try:
                os.close(let_go)
                tool.call({"command": "create", "path": "/memories/child", "file_text": ""})
                os.write(tell, b"done")
                os.read(go_on, 1)
                tool.close()
                code = 0
            finally:
                os._exit(code)
        os.close(tell)
        self.assertEqual(os.read(told, 4), b"done")
        self.assertIn("/memories/child", str(tool.call(VIEW)))
        process = running(tool)
        tool.close()
        self.assertEqual(process.returncode, 0, "it ends though the other process still runs")
        os.close(let_go)
        self.assertEqual(os.waitpid(forked, 0)[1], 0)
