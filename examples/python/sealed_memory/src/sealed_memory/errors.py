"""What fails. No message holds a text of the memory, a key, or an answer of the driver's."""

from __future__ import annotations


class SealedMemoryError(Exception):
    """The memory refused a request, or could not carry it out.

    ``code`` is one of the codes in ``docs/errors.md`` of sealed-memory, such as ``limit_exceeded`` or ``unavailable``.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])


class DriverError(SealedMemoryError):
    """The driver cannot be started, has ended, or speaks another protocol. The message tells what it said last.

    Its codes: ``driver_missing``, nothing was done; ``driver_ended`` and ``driver_broken``, what was asked for may have
    been done or not; ``driver_closed``, the object was closed before.
    """
