"""``--merge``: entries in the user's kubeconfig, and their removal when the control plane stops.

The information to undo a merge is written to a journal first, so that the next merge of the same context can undo that
of a killed process.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.controlplane.files import write_private
from steersman.controlplane.kubeconfig import KubeconfigError
from steersman.controlplane.kubeconfig_document import DocumentError, KubeconfigDocument

if TYPE_CHECKING:
    from steersman.controlplane.kubeconfig import Access

_log = logging.getLogger(__name__)

#: Section → key under which a context names its entry.
_REFERENCES: Final = {"clusters": "cluster", "users": "user"}


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """Journal of one merge."""

    #: Identifies the merge.
    id: str
    #: Written file, with links followed.
    target: str
    #: Name of cluster, user and context.
    name: str
    #: Previous file; None if absent.
    original: bytes | None
    #: Permissions of the previous file.
    mode: int
    #: SHA-256 of the file after the merge.
    written: str
    #: New entry of each section, and the replaced one.
    entries: dict[str, dict[str, Any]]
    replaced: dict[str, dict[str, Any]]
    #: Previous ``current-context``.
    previous_context: str


class KubeconfigMerge:
    """Merge with its journal."""

    def __init__(self, journal: Journal, path: Path) -> None:
        self._journal = journal
        self._path = path

    @classmethod
    def make(cls, kubeconfig: Path, access: Access, *, directory: Path) -> KubeconfigMerge:
        """Put cluster, user and context into the file, replace those of the same name, and make the context current.

        Links are followed. ``directory`` holds the journal. Raises ``KubeconfigError`` and ``OSError``.
        """
        path = directory / f"{access.name}.json"
        _recover(path)
        target = kubeconfig.resolve()
        original = target.read_bytes() if target.exists() else None
        try:
            document = KubeconfigDocument.parse(original or b"")
        except DocumentError as error:
            raise KubeconfigError(f"{kubeconfig} is no kubeconfig, nothing was changed in it: {error}") from error
        entries, previous = access.entries(), document.current_context
        replaced = {section: document.entry(section, access.name) for section in entries}
        for section, entry in entries.items():
            document.put(section, entry)
        document.current_context = access.name
        data = document.dump()
        journal = Journal(
            id=secrets.token_hex(8),
            target=str(target),
            name=access.name,
            original=original,
            mode=0o600 if original is None else stat.S_IMODE(target.stat().st_mode),
            written=_digest(data),
            entries=entries,
            replaced={section: entry for section, entry in replaced.items() if entry is not None},
            previous_context=previous,
        )
        write_private(path, msgspec.json.encode(journal))
        write_private(target, data)
        return cls(journal, path)

    def undo(self) -> None:
        """Restore the file if it is unchanged since the merge; otherwise remove the merged entries that are unchanged.
        Idempotent.

        Entries that were changed or are used by other contexts are preserved; so is an unreadable file, and a file into which
        another process has merged the same context since.
        """
        journal = _read_journal(self._path) or self._journal
        if journal.id != self._journal.id:
            return
        try:
            undo(journal, self._path.parent)
        except (DocumentError, OSError) as error:
            _log.warning("--merge: %s is left as it is: %s", self._journal.target, error)
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def undo(journal: Journal, directory: Path) -> None:
    """Undo a merge, and update the journals of later merges in ``directory``. Raises DocumentError, OSError."""
    target = Path(journal.target)
    try:
        data = target.read_bytes()
    except FileNotFoundError:
        return
    if _digest(data) != journal.written:
        edited = _without_entries(data, journal)
        if edited is not None:
            mode = stat.S_IMODE(target.stat().st_mode)
            write_private(target, edited)
            target.chmod(mode)
        _hand_over(journal, directory, before=data, after=edited or data)
    elif journal.original is None:
        target.unlink()
    else:
        write_private(target, journal.original)
        target.chmod(journal.mode)


def _without_entries(data: bytes, journal: Journal) -> bytes | None:
    """Return a changed file without our entries; None to keep it, if our context or its entries were changed."""
    document, name = KubeconfigDocument.parse(data), journal.name
    unchanged = [section for section, entry in journal.entries.items() if document.entry(section, name) == entry]
    if len(unchanged) < len(journal.entries) and document.entry("contexts", name) is not None:
        return None
    if "contexts" in unchanged:
        _restore_entry(document, "contexts", journal)
    contexts = [entry.get("context") or {} for entry in document.entries("contexts")]
    for section, key in _REFERENCES.items():
        is_used = any(context.get(key) == name for context in contexts)
        if section in unchanged and (section in journal.replaced or not is_used):
            _restore_entry(document, section, journal)
    if document.current_context == name and document.entry("contexts", name) is None:
        previous = journal.previous_context
        document.current_context = previous if document.entry("contexts", previous) is not None else ""
    return document.dump() if unchanged else None


def _hand_over(journal: Journal, directory: Path, *, before: bytes, after: bytes) -> None:
    """Pass the state before an undone merge to the merge that followed it.

    ``before`` and ``after`` are the file before and after the undo.
    """
    for path in directory.glob("*.json"):
        other = _read_journal(path)
        if other is None or other.target != journal.target or other.previous_context != journal.name:
            continue
        other = msgspec.structs.replace(other, previous_context=journal.previous_context)
        is_next = other.original is not None and _digest(other.original) == journal.written
        if is_next and other.written == _digest(before):
            other = msgspec.structs.replace(other, original=journal.original, mode=journal.mode, written=_digest(after))
        write_private(path, msgspec.json.encode(other))


def _restore_entry(document: KubeconfigDocument, section: str, journal: Journal) -> None:
    """Remove the merged entry, or restore the replaced one."""
    replaced = journal.replaced.get(section)
    if replaced is None:
        document.remove(section, journal.name)
    else:
        document.put(section, replaced)


def _recover(path: Path) -> None:
    """Undo the merge of a process that was killed."""
    journal = _read_journal(path)
    if journal is not None:
        try:
            undo(journal, path.parent)
        except (DocumentError, OSError) as error:
            _log.warning("--merge: an earlier merge into %s cannot be undone: %s", journal.target, error)


def _read_journal(path: Path) -> Journal | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Journal)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
