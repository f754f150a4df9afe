"""The live input of a process: our end of its pipe."""

import asyncio
import os


class LiveInput:
    """Writes to a pipe without blocking the loop. What the process no longer reads is dropped."""

    def __init__(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._turn = asyncio.Lock()
        self._is_writable = asyncio.Event()

    async def write(self, data: bytes) -> None:
        async with self._turn:
            left = memoryview(data)
            while left and self._pipe >= 0:
                try:
                    left = left[os.write(self._pipe, left) :]
                except BlockingIOError:
                    await self._wait_writable()
                except BrokenPipeError:
                    self.abort()

    async def close(self) -> None:
        """Close it after what is being written."""
        async with self._turn:
            self.abort()

    def abort(self) -> None:
        """Close it now. A `write` that waits returns."""
        if self._pipe >= 0:
            pipe, self._pipe = self._pipe, -1
            asyncio.get_running_loop().remove_writer(pipe)
            os.close(pipe)
            self._is_writable.set()

    async def _wait_writable(self) -> None:
        loop, pipe = asyncio.get_running_loop(), self._pipe
        self._is_writable.clear()
        loop.add_writer(pipe, self._is_writable.set)
        try:
            await self._is_writable.wait()
        finally:
            if self._pipe >= 0:
                loop.remove_writer(pipe)
