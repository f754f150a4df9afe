"""How much of a piece of work is done: counted by the thread that does it, looked at by whoever tells of it."""


class Amount:
    """One thread counts, others may look at any moment: each number is right by itself. None is not known yet."""

    __slots__ = ("bytes", "files", "of_bytes", "of_files")

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0
        self.of_files: int | None = None
        self.of_bytes: int | None = None

    def expect(self, files: int, size: int) -> None:
        """So much is to be done in all."""
        self.of_files, self.of_bytes = files, size
