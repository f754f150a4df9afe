"""The program that connects ports of 127.0.0.1, in the network namespace of a command, to Unix sockets.

Given the folder of the sockets, then `PORT=NAME` of each. It says `ready` and leaves a child behind once it listens.
"""

import os
import socket
import sys
from contextlib import suppress
from threading import Thread

CHUNK_BYTES = 64 * 1024


def serve(listener: socket.socket, name: str) -> None:
    while True:
        connection, _ = listener.accept()
        Thread(target=_connect, args=(connection, name), daemon=True).start()


def _connect(near: socket.socket, name: str) -> None:
    far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with near, far:
        try:
            far.connect(name)
        except OSError:
            return  # which closes the connection, as a server that has ended does
        back = Thread(target=_copy, args=(far, near), daemon=True)
        back.start()
        _copy(near, far)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(CHUNK_BYTES):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # one end is gone, so the other has to hear of it
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def main(folder: str, *sockets: str) -> None:
    os.chdir(folder)  # the path of a socket may be too long; its name is not
    listening = []
    for port, _, name in (each.partition("=") for each in sockets):
        listening.append((socket.create_server(("127.0.0.1", int(port)), backlog=128), name))
    if os.fork():
        os.write(1, b"ready\n")
        os._exit(0)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    threads = [Thread(target=serve, args=each) for each in listening]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
