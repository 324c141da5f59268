"""The tools, with the real package anthropic and the real driver."""

from __future__ import annotations

import asyncio
import base64
import os
import unittest
from typing import Any

from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.types.beta import BetaMemoryTool20250818ViewCommand
from sealed_memory import SealedAsyncMemoryTool, SealedMemoryTool
from support import COMMAND, in_memory, in_sqlite, rows_of

TURN: dict[str, Any] = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "What do I drink?"}],
}


class ToolRunner(unittest.IsolatedAsyncioTestCase):
    """What Claude asks for is scripted, and what it was told is judged, by who starts this."""

    def test_runs_a_turn(self) -> None:
        client = Anthropic(api_key="none", base_url=os.environ["CLAUDE"], max_retries=0)
        with client, SealedMemoryTool(COMMAND, env=in_memory()) as tool:
            last = client.beta.messages.tool_runner(**TURN, tools=[tool]).until_done()
        self.assertEqual([block.text for block in last.content if block.type == "text"], ["Tea."])

    async def test_runs_a_turn_on_asyncio(self) -> None:
        client = AsyncAnthropic(api_key="none", base_url=os.environ["ASYNC_CLAUDE"], max_retries=0)
        async with client, SealedAsyncMemoryTool(COMMAND, env=in_memory()) as tool:
            last = await client.beta.messages.tool_runner(**TURN, tools=[tool]).until_done()
        self.assertEqual([block.text for block in last.content if block.type == "text"], ["Tea."])

    def test_is_the_tool_of_the_api(self) -> None:
        tool = SealedMemoryTool(COMMAND, cache_control={"type": "ephemeral"})
        expected = {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
        self.assertEqual((tool.name, tool.to_dict()), ("memory", expected))


class Commands(unittest.IsolatedAsyncioTestCase):
    def test_six_commands_do_what_they_say(self) -> None:
        path, moved = "/memories/tea.txt", "/memories/drinks/tea.txt"
        with SealedMemoryTool(COMMAND, env=in_memory()) as tool:
            for request in (
                {"command": "create", "path": path, "file_text": "green\n"},
                {"command": "str_replace", "path": path, "old_str": "green", "new_str": "black"},
                {"command": "insert", "path": path, "insert_line": 0, "insert_text": "\u2028é\x85\n"},
                {"command": "rename", "old_path": path, "new_path": moved},
            ):
                self.assertIsInstance(tool.call(request), str)
            self.assertIn("     1\t\u2028é\x85\n     2\tblack", str(tool.call({"command": "view", "path": moved})))
            self.assertEqual(tool.call({"command": "delete", "path": moved}), f"Successfully deleted {moved}")

    def test_refusal_is_the_sentence_of_the_memory(self) -> None:
        with SealedMemoryTool(COMMAND, env=in_memory()) as tool:
            for given, sentence in (
                (
                    {"command": "view", "path": "/memories/none"},
                    "The path /memories/none does not exist. Please provide a valid path.",
                ),
                ({"command": "view", "path": "/etc/passwd"}, "/etc/passwd"),
                ({"command": "view", "path": "/memories", "harness": "dump"}, "harness"),
                ({"operation": "load", "key": {"projectKey": "p", "sessionId": "s"}}, "command"),
                ({"command": "create", "path": "/memories/a", "file_text": "\ud800"}, "file_text"),
                (["view"], "command"),
                (None, "command"),
            ):
                with self.subTest(given=given), self.assertRaises(ToolError) as caught:
                    tool.call(given)
                self.assertIn(sentence, str(caught.exception.content))

    def test_id_of_the_model_is_not_that_of_the_line(self) -> None:
        with SealedMemoryTool(COMMAND, env=in_memory()) as tool:
            for number in (999, "a", None, [1]):
                tool.call({"command": "view", "path": "/memories", "id": number})

    def test_parsed_command_does_the_same(self) -> None:
        with SealedMemoryTool(COMMAND, env=in_memory()) as tool:
            tool.call({"command": "create", "path": "/memories/a", "file_text": "1\n2\n3\n"})
            command = BetaMemoryTool20250818ViewCommand(command="view", path="/memories/a", view_range=[2, 2])
            seen = tool.call({"command": "view", "path": "/memories/a", "view_range": [2, 2]})
            self.assertEqual((tool.view(command), tool.execute(command)), (seen, seen))

    def test_image_is_a_block(self) -> None:
        png = base64.b64encode(b"\x89PNG\r\n\x1a\n\0").decode()
        env = {**in_sqlite(), "SEALED_MEMORY_HARNESS": "1"}
        with SealedMemoryTool(COMMAND, env=env) as tool:
            tool.call({"harness": "put", "path": "/memories/a.png", "base64": png})
            (block,) = tool.call({"command": "view", "path": "/memories/a.png"})
        source = {"type": "base64", "media_type": "image/png", "data": png}
        self.assertEqual(block, {"type": "image", "source": source})

    async def test_calls_at_once_on_asyncio_take_effect_in_their_order(self) -> None:
        async with SealedAsyncMemoryTool(COMMAND, env=in_memory()) as tool:
            await tool.call({"command": "create", "path": "/memories/a", "file_text": ""})
            insert = {"command": "insert", "path": "/memories/a", "insert_line": 0}
            await asyncio.gather(*(tool.call({**insert, "insert_text": f"line {n}\n"}) for n in range(30)))
            seen = str(await tool.call({"command": "view", "path": "/memories/a"}))
        self.assertEqual(rows_of(seen), [f"line {n}" for n in range(29, -1, -1)])
