"""A view of folders in which they cannot be written: a mount namespace of its own, around one command.

As root it is made directly, otherwise in a user namespace, which some machines forbid. The command cannot undo it: as
root it has lost the right to mount, and otherwise it is in a second user namespace that does not own the mounts.
"""

import os
from collections.abc import Sequence

# Given the number of folders, the folders, where to work, and the command.
MAKE_READ_ONLY = """
count=$1; shift
while [ "$count" -gt 0 ]; do
    mount --bind -- "$1" "$1" && mount -o remount,bind,ro -- "$1" || exit 125
    shift; count=$((count - 1))
done
cd -- "$1" && shift && exec "$@"
"""
NEEDED = "unshare, mount and setpriv of util-linux, and root or user namespaces"


def read_only_argv(
    folders: Sequence[bytes], cwd: bytes, argv: Sequence[bytes], *, user: int | None = None, group: int | None = None
) -> list[bytes]:
    """The command, in a view in which the folders are read-only. It works in `cwd` as it is seen there.

    It is for the user and group of this process, unless others are given.
    """
    user = os.geteuid() if user is None else user
    group = os.getegid() if group is None else group
    make = [b"sh", b"-c", MAKE_READ_ONLY.encode(), b"sh", b"%d" % len(folders), *folders, cwd]
    if user == 0:
        harmless = [b"setpriv", b"--bounding-set=-sys_admin", b"--inh-caps=-sys_admin", b"--"]
        return [b"unshare", b"--mount", b"--", *make, *harmless, *argv]
    same_user = [b"--map-user=%d" % user, b"--map-group=%d" % group]
    own = [b"unshare", b"--user", b"--map-root-user", b"--mount", b"--"]
    return [*own, *make, b"unshare", b"--user", *same_user, b"--", *argv]
