"""Serialised snapshots of clusters, and changes of their times, UIDs and ports."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final, Self
from uuid import uuid4

import msgspec

from steersman.apimachinery.timestamps import format_time
from steersman.storage.dump import StoreDump  # noqa: TC001 — field of a struct

if TYPE_CHECKING:
    from datetime import timedelta

_KUBERNETES_SERVICE: Final = frozenset(
    (
        "/registry/services/specs/default/kubernetes",
        "/registry/services/endpoints/default/kubernetes",
        "/registry/endpointslices/default/kubernetes",
    )
)
_MASTER_LEASES: Final = "/registry/masterleases/"
#: The port of the Service itself is 443.
_PORT: Final = re.compile(rb'"(targetPort|port)":(?!443\b)\d+')
_UID: Final = re.compile(rb'"uid":"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"')
_TIME: Final = re.compile(rb'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z"')


class ClusterSnapshot(msgspec.Struct, frozen=True):
    """Objects of a cluster, and the time of the snapshot."""

    dump: StoreDump
    now: datetime

    def encode(self) -> bytes:
        """Return the snapshot as bytes."""
        return _encoder.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the snapshot of ``encode``. Raises ``msgspec.MsgspecError``."""
        return msgspec.msgpack.decode(data, type=cls)

    def moved(self, by: timedelta) -> ClusterSnapshot:
        """Return the snapshot with all timestamps in its objects moved.

        Only for objects that no user wrote: a text that looks like a timestamp is moved as well.
        """
        moved: dict[bytes, bytes] = {}

        def move(match: re.Match[bytes]) -> bytes:
            text = match[1]
            if text not in moved:
                moved[text] = format_time(datetime.fromisoformat(f"{text.decode()}+00:00") + by)[:-1].encode()
            return b'"' + moved[text] + (match[2] or b"") + b'Z"'

        rows = [msgspec.structs.replace(row, value=_TIME.sub(move, row.value)) for row in self.dump.rows]
        return ClusterSnapshot(msgspec.structs.replace(self.dump, rows=rows), self.now + by)

    def with_other_uids(self) -> ClusterSnapshot:
        """Return the snapshot with new UIDs, including references."""
        uids: dict[bytes, bytes] = {}

        def other(match: re.Match[bytes]) -> bytes:
            uid = match[1]
            if uid not in uids:
                uids[uid] = str(uuid4()).encode()
            return b'"uid":"' + uids[uid] + b'"'

        rows = [msgspec.structs.replace(row, value=_UID.sub(other, row.value)) for row in self.dump.rows]
        return ClusterSnapshot(msgspec.structs.replace(self.dump, rows=rows), self.now)

    def with_port(self, port: int) -> ClusterSnapshot:
        """Return the snapshot for an API server with that port, as the Service ``kubernetes`` and its endpoints name it.

        The endpoint lease of the snapshot's server is removed.
        """
        rows = [
            msgspec.structs.replace(row, value=_PORT.sub(rb'"\1":%d' % port, row.value))
            if row.key in _KUBERNETES_SERVICE
            else row
            for row in self.dump.rows
            if not row.key.startswith(_MASTER_LEASES)
        ]
        return ClusterSnapshot(msgspec.structs.replace(self.dump, rows=rows), self.now)


_encoder: Final = msgspec.msgpack.Encoder()
