"""A pipe that tells when a process, and all that it started, have ended."""

import asyncio
import os


class Lifeline:
    """Pass `write_end` to a process: its children inherit it, and `ended` is set when the last of them is gone."""

    def __init__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        self._is_watched = False
        self.ended = asyncio.Event()

    def watch(self) -> None:
        """Begin to wait, once the process has been started."""
        os.close(self.write_end)
        asyncio.get_running_loop().add_reader(self._read_end, self._end)
        self._is_watched = True

    def close(self) -> None:
        if self._is_watched:
            asyncio.get_running_loop().remove_reader(self._read_end)
        else:
            os.close(self.write_end)
        os.close(self._read_end)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._read_end)
        self.ended.set()
