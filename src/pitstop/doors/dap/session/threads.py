"""Threads: the branches of a run under small numbers that mean the same branch for the whole session."""

from pitstop.doors.dap.protocol.messages import Thread

MAIN = "main"
MOST_TOLD = 1024


class Threads:
    """The branches that there are, and the numbers that any branch ever had."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._frames: dict[int, str] = {}
        self._live: dict[str, str] = {}  # the frame's id and its title
        self.number(MAIN)

    def number(self, frame: str) -> int:
        """The thread of a frame. A frame that is opened again, as after going back, is the same thread again."""
        if frame not in self._numbers:
            number = len(self._numbers) + 1
            self._numbers[frame], self._frames[number] = number, frame
        return self._numbers[frame]

    def frame(self, number: int) -> str | None:
        """The frame that lives under this number; None for a thread that is over, or never was."""
        frame = self._frames.get(number)
        return frame if frame in self._live else None

    def open(self, frame: str, name: str) -> bool:
        """Whether it was not there before."""
        is_new = frame not in self._live
        self._live[frame] = name
        return is_new

    def close(self, frame: str) -> bool:
        return self._live.pop(frame, None) is not None

    def close_all(self) -> list[str]:
        closed = list(self._live)
        self._live.clear()
        return closed

    def tell(self, stopped: str | None) -> list[Thread]:
        """Never none: before its first step and after its end a run has its main branch. Of very many only some, and
        always the one that has stopped.
        """
        told = list(self._live)[:MOST_TOLD] or [MAIN]
        if stopped is not None and stopped not in told:
            told.append(stopped)
        return [Thread(id=self.number(frame), name=self._title(frame)) for frame in told]

    def _title(self, frame: str) -> str:
        name = self._live.get(frame, "")
        is_matrix = frame.endswith("]") and "=" in name
        return f"{frame} ({name})" if is_matrix else frame
