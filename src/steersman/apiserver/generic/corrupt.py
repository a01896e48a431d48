"""Errors for stored objects that cannot be read (KEP-3926).

Upstream: staging/src/k8s.io/apiserver/pkg/storage/errors.go, staging/src/k8s.io/apiserver/pkg/storage/etcd3/corrupt_obj_deleter.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import Reason, failure, internal_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.errors import StatusError

#: Bound of the keys in the error of a list.
_KEYS_MAX: Final = 100
#: ``storage.ErrCodeCorruptObj``.
_CODE: Final = 7
_WHY: Final = "object not decodable: the stored data is damaged"


def corrupt_object(key: str) -> StatusError:
    """Return the 500 of a request for an object whose stored data is damaged."""
    return internal_error(_storage_error(key))


def corrupt_list(group_resource: str, keys: Sequence[str]) -> StatusError:
    """Return the 500 of a list whose scope holds such objects, with their keys."""
    resource, _, group = group_resource.partition(".")
    causes = [
        {"reason": "UnexpectedServerResponse", "message": _storage_error(key), "field": key} for key in keys[:_KEYS_MAX]
    ]
    if len(keys) > _KEYS_MAX:
        causes.append({"reason": "FieldValueTooMany", "message": "too many errors, the list is truncated"})
    details = {"name": "list", "group": group, "kind": resource, "causes": causes}
    return failure(
        500,
        Reason.STORE_READ_ERROR,
        f"failed to read one or more {group_resource} from the storage",
        details={name: value for name, value in details.items() if value},
    )


def _storage_error(key: str) -> str:
    return f"StorageError: corrupt object, Code: {_CODE}, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {_WHY}"
