"""What has to be done to make a folder what it was in a snapshot."""

from msgspec import Struct, field

from pitstop.executors.machine.snapshots.open_tree import OpenTree
from pitstop.executors.machine.snapshots.tree import Entry


class Plan(Struct):
    """What is to be done, by relative paths; those that are made are in the order in which they can be."""

    removed: dict[bytes, None] = field(default_factory=dict)
    made_folders: list[bytes] = field(default_factory=list)
    written: dict[bytes, Entry] = field(default_factory=dict)
    made: dict[bytes, Entry] = field(default_factory=dict)  # links and fifos
    linked: dict[bytes, tuple[OpenTree, bytes]] = field(default_factory=dict)  # to another of the same file
    dressed: dict[bytes, Entry] = field(default_factory=dict)
