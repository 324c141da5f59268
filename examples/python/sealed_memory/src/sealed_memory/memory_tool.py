"""Claude's memory tool for the tool runner of ``anthropic``."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    BetaFunctionToolResultType,
    ToolError,
)
from anthropic.types.beta import BetaCacheControlEphemeralParam, BetaMemoryTool20250818Command

from .child import Answer
from .driver import AsyncOwner, Driver, content_of
from .errors import SealedMemoryError

if TYPE_CHECKING:
    from typing_extensions import Self

_LOGGER = logging.getLogger("sealed_memory")
_VERB = ("exec", "--jsonl")
_UNAVAILABLE = "Error: The memory is not available."
"""For the model, in place of what is the operator's to know."""


class SealedMemoryTool(BetaAbstractMemoryTool):
    """``client.beta.messages.tool_runner(tools=[SealedMemoryTool()], ...)``.

    ``command`` is how the driver is started, with flags if any, ``find_program()`` unless given; ``env`` is added to the environment, ``cwd`` is the
    folder it runs in. The model reads the sentences of the memory word for word. Where the driver itself fails the
    model reads that the memory is not available; the ``DriverError`` is logged as an error of the logger
    ``sealed_memory``, and is the cause of the ``ToolError``.
    """

    def __init__(
        self,
        command: Sequence[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._driver = Driver(_VERB, command=command, env=env, cwd=cwd)

    def call(self, input: object) -> BetaFunctionToolResultType:
        """Carries out what the model asked for, as it came: the memory judges it. Raises ``ToolError``."""
        try:
            return _result_of(self._driver.submit(_request_of(input)).result())
        except SealedMemoryError as error:
            raise _failure_of(error) from error

    def execute(self, command: BetaMemoryTool20250818Command) -> BetaFunctionToolResultType:
        """Carries out a command that was parsed already. Raises ``ToolError``."""
        return self.call(command.to_dict())

    view = create = str_replace = insert = delete = rename = execute

    def close(self) -> None:
        """Waits for the commands under way, and ends the driver."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SealedAsyncMemoryTool(AsyncOwner, BetaAsyncAbstractMemoryTool):
    """The same for ``AsyncAnthropic``, on asyncio. A command whose call is cancelled may still take effect."""

    def __init__(
        self,
        command: Sequence[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._driver = Driver(_VERB, command=command, env=env, cwd=cwd)

    async def call(self, input: object) -> BetaFunctionToolResultType:
        """Carries out what the model asked for, as it came: the memory judges it. Raises ``ToolError``."""
        try:
            return _result_of(await asyncio.wrap_future(self._driver.submit(_request_of(input))))
        except SealedMemoryError as error:
            raise _failure_of(error) from error

    async def execute(self, command: BetaMemoryTool20250818Command) -> BetaFunctionToolResultType:
        """Carries out a command that was parsed already. Raises ``ToolError``."""
        return await self.call(command.to_dict())

    view = create = str_replace = insert = delete = rename = execute


def _request_of(input: object) -> dict[str, Any]:
    # What is no object has no place beside an id; the memory refuses it as it refuses an empty one.
    return dict(input) if isinstance(input, Mapping) else {}


def _result_of(answer: Answer) -> BetaFunctionToolResultType:
    result: BetaFunctionToolResultType = content_of(answer)
    return result


def _failure_of(error: SealedMemoryError) -> ToolError:
    if error.code.startswith("driver_"):
        _LOGGER.error("%s: %s", error.code, error)
        return ToolError(_UNAVAILABLE)
    return ToolError(str(error))
