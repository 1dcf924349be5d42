"""Whether a folder lies on a network file system, where mapping a file is far slower than reading it."""

from __future__ import annotations

import os
import re
from pathlib import Path

MOUNTS = Path("/proc/mounts")
_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|afs|ceph|lustre|gpfs|beegfs|glusterfs|ncpfs|wekafs|pvfs2|orangefs|davfs|"
    r"fuse\.(sshfs|s3fs|gcsfuse|glusterfs|rclone|ceph(-fuse)?|blobfuse2?|davfs2?|mount-s3|juicefs|goofys|nfs\S*)"
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


def network_filesystem(path: Path, mounts: Path | None = None) -> str | None:
    """The type of the network file system that `path` lies on, such as `nfs4`; None for a local one.

    `mounts` has the format of `/proc/mounts` (proc(5)); without such a file everything counts as local.
    """
    try:
        lines = (mounts or MOUNTS).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    place = os.path.realpath(path)
    best, kind = "", None
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[1])
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of two mounts on one point the later one counts
            best, kind = point, fields[2]
    return kind if kind is not None and _NETWORK.fullmatch(kind) else None
