"""Sandbox program: runs a command in new user, mount, PID, UTS and IPC namespaces, without privileges.

    python -I -S sandbox.py run SPEC COMMAND...     SPEC: JSON of ``Spec``; exits with the command's code
    python -I -S sandbox.py enter PID SPEC COMMAND...    runs a command in the namespaces of a running ``run``

Its file system is a mirror of ``root``: directories above a mount point are rebuilt in a tmpfs, and everything else is a read-only
bind mount, so that mount points need not exist on the machine. Two processes remain: this one, which waits and returns the exit
code, and the command, which is PID 1 of its PID namespace. It imports only the standard library, so that it starts fast.

Man pages: user_namespaces(7), mount_setattr(2), pivot_root(2), pid_namespaces(7).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import stat
import sys
from typing import Any, Final, NoReturn

Tree = dict[str, Any]

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT = 0x1, 0x2, 0x4, 0x20
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_MNT_DETACH: Final = 2
_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
_CLONE_NEWUSER, _CLONE_NEWPID = 0x10000000, 0x20000000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_SYS_MOUNT_SETATTR: Final = 442  # the same on all architectures
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_LINKS_MAX: Final = 40
_EXEC_FAILED: Final = 128

#: Capabilities of containers by default, by number (containerd's list).
CAPABILITIES: Final = {
    "CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8,
    "NET_BIND_SERVICE": 10, "NET_RAW": 13, "SYS_CHROOT": 18, "MKNOD": 27, "AUDIT_WRITE": 29, "SETFCAP": 31,
}  # fmt: skip
_LAST_CAPABILITY: Final = 63

_libc: Final = ctypes.CDLL(None, use_errno=True)


def _call(function: str, *arguments: Any) -> None:
    if getattr(_libc, function)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{function}: {os.strerror(code).lower()}")


def _mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    _call(
        "mount", source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None
    )


def _bind(source: str, target: str) -> None:
    _mount(source, target, flags=_MS_BIND | _MS_REC)


def _set_read_only(path: str) -> None:
    """Make a mount and all mounts below it read-only."""
    attributes = (ctypes.c_uint64 * 4)(
        _MS_RDONLY, 0, 0, 0
    )  # struct mount_attr: attr_set, attr_clr, propagation, userns_fd
    _call("syscall", _SYS_MOUNT_SETATTR, _AT_FDCWD, path.encode(), _AT_RECURSIVE, ctypes.byref(attributes), 32)


def _unshare(uid: int, gid: int) -> None:
    """Enter new namespaces, in which this user is ``uid`` and has all capabilities."""
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWPID | _CLONE_NEWUTS | _CLONE_NEWIPC)
    _call("prctl", _PR_SET_DUMPABLE, 1, 0, 0, 0)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {outer_uid} 1"),
        ("gid_map", f"{gid} {outer_gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    # The change of credentials has reset it.
    _call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


# File system


def resolve(root: str, path: str) -> str:
    """Return ``path`` without symbolic links of the file system at ``root``; missing components are kept."""
    done, todo, links = "/", [part for part in path.split("/") if part], 0
    while todo:
        part = todo.pop(0)
        if part == "..":
            done = os.path.dirname(done)
            continue
        candidate = os.path.join(done, part)
        if part != "." and os.path.islink(root.rstrip("/") + candidate):
            links += 1
            if links > _LINKS_MAX:
                raise OSError(40, f"too many levels of symbolic links: {path}")
            target = os.readlink(root.rstrip("/") + candidate)
            todo = [component for component in target.split("/") if component] + todo
            done = "/" if target.startswith("/") else done
        elif part != ".":
            done = candidate
    return done


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def _create_point(path: str, *, is_directory: bool) -> None:
    """Create a mount point unless it exists."""
    if is_directory:
        os.makedirs(path, exist_ok=True)
    elif not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x"):
            pass


def _mirror(source: str, target: str, path: str, rebuilt: set[str], points: set[str]) -> None:
    """Fill ``target`` with the entries of ``source``, the directory ``path`` of the mirrored file system."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(source) as entries:
        for entry in entries:
            inner, place = os.path.join(path, entry.name), os.path.join(target, entry.name)
            if inner in points:
                continue
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)
            elif inner in rebuilt and entry.is_dir():
                os.mkdir(place, stat.S_IMODE(entry.stat().st_mode) | stat.S_IRWXU)
                _mirror(entry.path, place, inner, rebuilt, points)
            else:
                _create_point(place, is_directory=entry.is_dir())
                with contextlib.suppress(OSError):  # an empty entry remains
                    _bind(entry.path, place)


def _build_root(spec: Tree) -> None:
    """Build the file system at ``spec["new_root"]``, except ``/proc``."""
    root, new = spec["root"], spec["new_root"]
    _mount("none", "/", flags=_MS_REC | _MS_PRIVATE)
    mounts = [{**mount, "path": resolve(root, mount["path"])} for mount in spec["mounts"]]
    mounts.sort(key=lambda mount: mount["path"].count("/"))
    outer = [mount["path"] for mount in mounts]
    points = {path for path in outer if not any(_is_below(path, top) for top in outer if top != path)}
    points |= {"/proc", "/dev/pts"}
    rebuilt: set[str] = {"/"}
    for path in points:
        while (path := os.path.dirname(path)) != "/":
            rebuilt.add(path)
    sources = [_open_path(mount.get("source")) for mount in mounts]
    _mount("root", new, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755")
    _mirror(root, new, "/", rebuilt, points)
    for mount, descriptor in zip(mounts, sources, strict=True):
        if mount["path"] in points:
            _create_point(new + mount["path"], is_directory=descriptor is None or _is_directory(descriptor))
    for path in ("/proc", "/dev/pts"):
        os.makedirs(new + path, exist_ok=True)
    _set_read_only(new)
    _bind("/dev/pts", new + "/dev/pts")
    for mount, descriptor in zip(mounts, sources, strict=True):
        _mount_volume(mount, descriptor, new + mount["path"], is_nested=mount["path"] not in points)


def _open_path(source: str | None) -> int | None:
    """Return a descriptor of a volume, which stays reachable when its path is covered by another mount."""
    return None if source is None else os.open(source, os.O_PATH | os.O_CLOEXEC)


def _is_directory(descriptor: int) -> bool:
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)


def _mount_volume(mount: Tree, descriptor: int | None, place: str, *, is_nested: bool) -> None:
    if is_nested:
        _create_point(place, is_directory=descriptor is None or _is_directory(descriptor))
    if descriptor is None:
        _mount("tmpfs", place, "tmpfs", _MS_NOSUID | _MS_NODEV, f"mode={mount.get('mode', '1777')}")
    else:
        _bind(f"/proc/self/fd/{descriptor}", place)
        os.close(descriptor)
    if mount.get("readOnly"):
        _set_read_only(place)


def _enter_root(new: str) -> None:
    """Mount ``/proc`` and make ``new`` the root directory."""
    try:
        _mount("proc", new + "/proc", "proc", _MS_NOSUID | _MS_NODEV | 0x8)
    except OSError:  # parts of the machine's /proc are hidden, as in containers: a new mount would show them
        _bind("/proc", new + "/proc")
    os.chdir(new)
    _call("pivot_root", b".", b".")
    _call("umount2", b".", _MNT_DETACH)
    os.chdir("/")


# Commands


def _restrict(spec: Tree) -> None:
    """Drop capabilities and, if configured, the right to gain new privileges."""
    kept_capabilities = set(spec.get("capabilities", CAPABILITIES.values()))
    for number in range(_LAST_CAPABILITY + 1):
        if number not in kept_capabilities and _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            break  # not supported by the kernel
    if spec.get("no_new_privileges"):
        _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _execute(spec: Tree, words: list[str], errors: int) -> NoReturn:
    """Execute the command in place of this process; write an error to the descriptor ``errors``."""
    for number in range(1, signal.NSIG):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.makedirs(spec["directory"], exist_ok=True)
        os.chdir(spec["directory"])
        _restrict(spec)
        os.execvp(words[0], words)
    except OSError as error:
        text = f'exec: "{words[0]}": {(error.strerror or str(error)).lower()}'
        os.write(errors, text.encode())
    os._exit(_EXEC_FAILED)


def _wait(child: int) -> NoReturn:
    """Wait for a child and exit with its code. Signals to the process group are left to the child."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _open_errors(spec: Tree) -> int:
    return os.open(spec["errors"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)


def run(spec: Tree, words: list[str]) -> NoReturn:
    """Run a command in new namespaces."""
    errors = _open_errors(spec)
    try:
        _unshare(spec["uid"], spec["gid"])
        _build_root(spec)
        _call("sethostname", spec["hostname"].encode(), len(spec["hostname"].encode()))
        child = os.fork()
    except OSError as error:
        os.write(errors, f"cannot create the sandbox: {error.strerror or error}".encode())
        os._exit(_EXEC_FAILED)
    if child:
        _wait(child)
    try:
        _call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        _enter_root(spec["new_root"])
    except OSError as error:
        os.write(errors, f"cannot create the sandbox: {error.strerror or error}".encode())
        os._exit(_EXEC_FAILED)
    _execute(spec, words, errors)


def enter(pid: int, spec: Tree, words: list[str]) -> NoReturn:
    """Run a command in the namespaces of the sandbox whose waiting process is ``pid``."""
    errors = _open_errors(spec)
    names = {"user": _CLONE_NEWUSER, "mnt": _CLONE_NEWNS, "uts": _CLONE_NEWUTS, "ipc": _CLONE_NEWIPC}
    names["pid_for_children"] = _CLONE_NEWPID
    descriptors = [
        (os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC), kind) for name, kind in names.items()
    ]
    for descriptor, kind in descriptors:
        _call("setns", descriptor, kind)
    child = os.fork()
    if child:
        _wait(child)
    _call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    _execute(spec, words, errors)


def main() -> None:
    """Run the subcommand of the command line."""
    action, *rest = sys.argv[1:]
    if action == "run":
        run(json.loads(rest[0]), rest[1:])
    enter(int(rest[0]), json.loads(rest[1]), rest[2:])


if __name__ == "__main__":
    main()
