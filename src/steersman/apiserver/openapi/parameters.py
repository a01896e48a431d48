"""Query and path parameters by name, and their forms in the two OpenAPI versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

#: name → (type, meaning)
QUERY: dict[str, tuple[str, str]] = {
    "allowWatchBookmarks": ("boolean", "Ask for BOOKMARK events, which tell how far the watch is."),
    "command": ("string", "The command to run, without a shell."),
    "container": ("string", "The container; may be left out when there is only one."),
    "continue": ("string", "The token of the previous page of a list."),
    "dryRun": ("string", "`All`: go through all stages, but keep nothing."),
    "fieldManager": ("string", "Name of the actor that makes the change; owner of the fields it sets."),
    "fieldSelector": ("string", "Restrict the objects by the values of their fields."),
    "fieldValidation": ("string", "What to do about unknown and duplicate fields: Ignore, Warn or Strict."),
    "follow": ("boolean", "Keep the stream open and send new lines as they come."),
    "force": ("boolean", "Take over fields that another manager owns (apply only)."),
    "gracePeriodSeconds": ("integer", "How long the object may take to go; 0 removes it at once."),
    "ignoreStoreReadErrorWithClusterBreakingPotential": ("boolean", "Delete although the stored object is unreadable."),
    "insecureSkipTLSVerifyBackend": ("boolean", "Do not verify the certificate of the node."),
    "labelSelector": ("string", "Restrict the objects by their labels."),
    "limit": ("integer", "How many objects a page holds at most."),
    "limitBytes": ("integer", "How many bytes of the log to send at most."),
    "orphanDependents": ("boolean", "Deprecated: use propagationPolicy."),
    "path": ("string", "What to append to the URL of the target."),
    "ports": ("integer", "The ports to forward."),
    "pretty": ("string", "`true`: indent the answer."),
    "previous": ("boolean", "The log of the container's previous run."),
    "propagationPolicy": ("string", "What happens to dependents: Orphan, Background or Foreground."),
    "resourceVersion": ("string", "From which version on, or at least how fresh."),
    "resourceVersionMatch": ("string", "How resourceVersion is meant: Exact or NotOlderThan."),
    "sendInitialEvents": ("boolean", "Begin a watch with the present objects and a bookmark after them."),
    "shardSelector": ("string", "Restrict the objects to a part of all, by hash."),
    "sinceSeconds": ("integer", "Log lines of the last so many seconds."),
    "stderr": ("boolean", "Redirect the standard error stream."),
    "stdin": ("boolean", "Redirect the standard input stream."),
    "stdout": ("boolean", "Redirect the standard output stream."),
    "stream": ("string", "Which log: All, Stdout or Stderr."),
    "tailLines": ("integer", "How many lines from the end of the log."),
    "timeoutSeconds": ("integer", "How long the call may last."),
    "timestamps": ("boolean", "Put the time before every log line."),
    "tty": ("boolean", "Allocate a terminal."),
    "watch": ("boolean", "Send changes as they happen instead of a list."),
}
PATH: dict[str, str] = {
    "name": "Name of the object.",
    "namespace": "Namespace of the object.",
    "path": "What to append to the URL of the target.",
}


def query(name: str, *, v3: bool) -> Tree:
    """Return a query parameter."""
    type_, text = QUERY[name]
    schema: Tree = {"type": type_, "uniqueItems": True}
    base: Tree = {"name": name, "in": "query", "description": text}
    return base | ({"schema": schema} if v3 else schema)


def path(name: str, *, v3: bool) -> Tree:
    """Return a path parameter."""
    schema: Tree = {"type": "string", "uniqueItems": True}
    base: Tree = {"name": name, "in": "path", "description": PATH[name], "required": True}
    return base | ({"schema": schema} if v3 else schema)
