"""Sealed transcripts for Claude's Agent SDK."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from claude_agent_sdk import fold_session_summary
from claude_agent_sdk.types import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

from .driver import AsyncOwner, Driver, content_of, to_json

_VERB = ("exec", "--jsonl", "--sessions")
_READ_AT_ONCE = 8


class SealedSessionStore(AsyncOwner):
    """``ClaudeAgentOptions(session_store=SealedSessionStore())``, on asyncio.

    ``command`` is how the driver is started, with flags if any, ``find_program()`` unless given; ``env`` is added to the environment, ``cwd`` is the
    folder it runs in. All raise ``SealedMemoryError``. Entries with a ``uuid`` are there once however often they are
    appended, so an append that failed is simply made once more. A call that is cancelled may still take effect.
    """

    def __init__(
        self,
        command: Sequence[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> None:
        self._driver = Driver(_VERB, command=command, env=env, cwd=cwd)

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Stores the entries behind those that are there, in the order of the calls."""
        lines = [_line_of(entry) for entry in entries]
        await self._ask({"operation": "append", "key": _key_of(key), "lines": lines})

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """All entries; ``None`` where none was ever written, or all were deleted."""
        lines = await self._ask({"operation": "load", "key": _key_of(key)})
        return None if lines is None else [json.loads(line) for line in lines]

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The sessions of a project, in no order."""
        listed = await self._ask({"operation": "list", "projectKey": project_key})
        return [{"session_id": each["sessionId"], "mtime": each["modified"]} for each in listed]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """A summary of each session of a project, made by the SDK of all its entries: it reads the whole project."""
        listed = await self.list_sessions(project_key)
        summaries: list[SessionSummaryEntry] = []
        for start in range(0, len(listed), _READ_AT_ONCE):
            made = (self._summary(project_key, each) for each in listed[start : start + _READ_AT_ONCE])
            summaries.extend(each for each in await asyncio.gather(*made) if each is not None)
        return summaries

    async def delete(self, key: SessionKey) -> None:
        """Deletes a session with its subagents, or, with ``subpath``, one subagent."""
        await self._ask({"operation": "remove", "key": _key_of(key)})

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The subagents of a session that have a transcript, in no order."""
        subpaths: list[str] = await self._ask({"operation": "subpaths", "key": _key_of(key)})
        return subpaths

    async def _ask(self, request: Mapping[str, Any]) -> Any:
        return content_of(await asyncio.wrap_future(self._driver.submit(request)))

    async def _summary(self, project_key: str, listed: SessionStoreListEntry) -> SessionSummaryEntry | None:
        key: SessionKey = {"project_key": project_key, "session_id": listed["session_id"]}
        entries = await self.load(key)
        if entries is None:  # Another process has just deleted it.
            return None
        return {**fold_session_summary(None, key, entries), "mtime": listed["mtime"]}


def _key_of(key: SessionKey | SessionListSubkeysKey) -> dict[str, Any]:
    named = {"projectKey": key["project_key"], "sessionId": key["session_id"]}
    subpath = key.get("subpath")
    return named if subpath is None else {**named, "subpath": subpath}


def _line_of(entry: SessionStoreEntry) -> str:
    """As the driver stores it: one line, in plain UTF-8 unless half of a surrogate pair needs to be escaped."""
    line = to_json(entry, ascii_only=False)
    try:
        line.encode()
    except UnicodeEncodeError:
        return to_json(entry, ascii_only=True)
    return line
