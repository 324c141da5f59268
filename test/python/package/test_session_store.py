"""The store of sessions, with the real package claude_agent_sdk and the real driver."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import Callable
from typing import Any, cast

from claude_agent_sdk import InMemorySessionStore, SessionStore, fold_session_summary, list_sessions_from_store
from claude_agent_sdk.testing import run_session_store_conformance
from claude_agent_sdk.types import SessionKey
from sealed_memory import SealedMemoryError, SealedSessionStore
from support import COMMAND, in_memory, in_sqlite

KEY: SessionKey = {"project_key": "proj", "session_id": "sess"}


class Contracts(unittest.IsolatedAsyncioTestCase):
    """The SDK's own, as they are."""

    async def hold(self, settings: Callable[[], dict[str, str]]) -> None:
        stores: list[SealedSessionStore] = []

        def make_store() -> SessionStore:
            stores.append(SealedSessionStore(COMMAND, env=settings()))
            return cast(SessionStore, stores[-1])

        await run_session_store_conformance(make_store)
        await asyncio.gather(*(store.close() for store in stores))
        # One to ask what it has, and one for each contract: all of them were tried, also of what is optional.
        self.assertEqual(len(stores), 15)

    async def test_hold_in_memory(self) -> None:
        await self.hold(in_memory)

    async def test_hold_in_sqlite(self) -> None:
        await self.hold(in_sqlite)


class Transcripts(unittest.IsolatedAsyncioTestCase):
    async def test_entries_come_back_as_they_were(self) -> None:
        odd: list[Any] = [
            {"type": "x", "uuid": "1", "big": 2**70, "float": 1.5, "deep": {"a": [None, True, {"": "é\u2028\x85\n"}]}},
            {"type": "x", "half": "\ud800", "\ud800": "", "__proto__": {"a": 1}},
        ]
        async with SealedSessionStore(COMMAND, env=in_memory()) as store:
            await store.append(KEY, odd)
            self.assertEqual(await store.load(KEY), odd)

    async def test_another_process_resumes_and_repeats_nothing(self) -> None:
        env = in_sqlite()
        async with SealedSessionStore(COMMAND, env=env) as first:
            await first.append(KEY, [{"type": "x", "uuid": "a"}, {"type": "x", "uuid": "b"}])
        async with SealedSessionStore(COMMAND, env=env) as second:
            await second.append(KEY, [{"type": "x", "uuid": "b"}, {"type": "x", "uuid": "c"}])
            self.assertEqual([each["uuid"] for each in await second.load(KEY) or []], ["a", "b", "c"])

    async def test_appends_at_once_keep_the_order_of_the_calls(self) -> None:
        async with SealedSessionStore(COMMAND, env=in_memory()) as store:
            await asyncio.gather(*(store.append(KEY, [{"type": "x", "uuid": f"{n}"}]) for n in range(40)))
            self.assertEqual([each["uuid"] for each in await store.load(KEY) or []], [f"{n}" for n in range(40)])

    async def test_sdk_lists_the_sessions_as_of_its_own_store(self) -> None:
        entry: Any = {"type": "user", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
        listed = []
        async with SealedSessionStore(COMMAND, env=in_memory()) as sealed:
            for store in (cast(SessionStore, sealed), InMemorySessionStore()):
                for number in range(10):
                    key: SessionKey = {"project_key": "proj", "session_id": f"{number:08}-0000-4000-8000-000000000000"}
                    said = {**entry, "uuid": "a", "message": {"role": "user", "content": f"What is {number}?"}}
                    await store.append(key, [said])
                    await store.append(key, [{"type": "custom-title", "uuid": "b", "customTitle": f"Title {number}"}])
                project = await store.list_session_summaries("proj")
                infos = [
                    (info.session_id, info.summary, info.first_prompt, info.custom_title)
                    for info in await list_sessions_from_store(store, directory="/")
                ]
                listed.append((sorted((each["session_id"], repr(each["data"])) for each in project), infos))
        self.assertEqual(listed[0], listed[1])
        self.assertEqual(len(listed[0][0]), 10)

    async def test_summary_is_that_of_all_entries(self) -> None:
        batches: list[Any] = [[{"type": "x", "customTitle": title}] for title in ("first", "second")]
        async with SealedSessionStore(COMMAND, env=in_memory()) as store:
            for batch in batches:
                await store.append(KEY, batch)
            (summary,) = await store.list_session_summaries("proj")
        self.assertEqual(summary["data"], fold_session_summary(None, KEY, [*batches[0], *batches[1]])["data"])

    async def test_refusals_have_their_code(self) -> None:
        async with SealedSessionStore(COMMAND, env={**in_memory(), "SEALED_MEMORY_READ_ONLY": "1"}) as store:
            with self.assertRaises(SealedMemoryError) as read_only:
                await store.append(KEY, [{"type": "x"}])
            with self.assertRaises(SealedMemoryError) as malformed:
                await store.load({**KEY, "subpath": ""})
            with self.assertRaises(SealedMemoryError) as no_json:
                await store.append(KEY, [cast(Any, {"type": "x", "n": float("nan")})])
        codes = [each.exception.code for each in (read_only, malformed, no_json)]
        self.assertEqual(codes, ["read_only", "invalid_command", "invalid_command"])
