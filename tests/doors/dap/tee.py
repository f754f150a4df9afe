"""`pitstop dap` with everything that is said written down: `tee.py` stands between an editor and the adapter."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


def read_messages(stream: IO[bytes]) -> Iterator[tuple[bytes, Any]]:
    """Each message, with the bytes that it came in."""
    while True:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = stream.read(1)
            if not byte:
                return
            head += byte
        found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        assert found is not None, head
        body = stream.read(int(found[1]))
        yield head + body, json.loads(body)


def main() -> None:
    folder = Path(os.environ["PITSTOP_TRACES"])
    adapter = subprocess.Popen(
        [sys.executable, "-m", "pitstop", "dap", *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    stdin, stdout = adapter.stdin, adapter.stdout
    assert stdin is not None and stdout is not None
    turn = threading.Lock()
    with (folder / f"{os.getpid()}.jsonl").open("w") as trace:

        def pump(sender: str, source: IO[bytes], target: IO[bytes]) -> None:
            for data, message in read_messages(source):
                with turn:
                    trace.write(json.dumps([sender, message]) + "\n")
                    trace.flush()
                target.write(data)
                target.flush()

        def pump_in() -> None:
            pump("client", sys.stdin.buffer, stdin)
            stdin.close()

        threading.Thread(target=pump_in, daemon=True).start()
        pump("adapter", stdout, sys.stdout.buffer)
    sys.exit(adapter.wait())


if __name__ == "__main__":
    main()
