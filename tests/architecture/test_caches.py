"""Memory that grows with requests has a bound: caches of functions, and collections of modules."""

from __future__ import annotations

import ast
from functools import cache
from typing import NamedTuple

import pytest
from tests.architecture.test_layout import MODULES, name_of

#: Caches without a bound on the number of entries, and why they cannot grow with what clients send.
UNBOUNDED_CACHES = {
    "apiserver/kinds/shared/go_form.py:_fields": "types of the schema",
    "cel/admission.py:environment": "three flags",
    "cel/authentication.py:_environment": "two variables",
    "client/decoding.py:_cached_decoding": "models of the program that uses the client",
    "client/zero_values.py:_fields": "models of the program that uses the client",
    "controlplane/bootstrap/rbac.py:_default_policy": "one flag",
    "controlplane/storage_check.py:_layout_of": "built-in resources; a command, not the server",
    "schema/descriptions.py:_docstrings": "modules of the models",
    "schema/descriptions.py:describe": "types of the schema",
    "schema/loader.py:_struct_of": "types of the schema: an unknown kind raises, which is not cached",
    "schema/loader.py:_table": "modules of the schema: an unknown one raises",
    "schema/protobuf_decoding.py:decoder_of": "types of the schema: an unknown one raises",
    "schema/protobuf_encoding.py:encoder_of": "types of the schema: an unknown one raises",
    "schema/protobuf_messages.py:fields_of": "types of the schema: an unknown one raises",
    "workloads/go_dump.py:_fields": "types of the schema",
}
#: Empty collections of modules that may be filled.
COLLECTIONS = {
    "apimachinery/cache_sizes.py:_sizes": "weak references to the caches of the process",
    "apimachinery/managedfields/compare.py:_NO_ITEMS": "stays empty",
    "apimachinery/managedfields/fieldset.py:LEAF_NODE": "stays empty",
    "apiserver/authn/union.py:_NOTHING": "stays empty",
    "apiserver/generic/entry.py:_NO_LABELS": "stays empty",
    "apiserver/workers.py:_loops_without_workers": "weak references to event loops",
    "cli/signals.py:_killed_on_exit": "processes that the command starts",
    "client/resource_types.py:_custom_models": "models that the program registers",
    "controllers/manager/assembly.py:_RUNNING": "weak references to registries",
    "controllers/shared/metadata_watch.py:_shared": "weak references to watches",
    "schema/loader.py:_structs": "types of the schema",
    "storage/sqlite/thread_writer.py:_unclosable": "databases whose files failed when they were closed",
    "testing/kit/servers.py:_servers": "fork servers by process, one each",
}

COLLECTION_TYPES = {
    "dict", "list", "set", "deque", "Counter", "defaultdict", "OrderedDict",
    "WeakKeyDictionary", "WeakSet", "WeakValueDictionary",
}  # fmt: skip


class Findings(NamedTuple):
    """Findings in a module that need its syntax tree."""

    unbounded_caches: list[str]
    collections: list[str]


@cache
def findings() -> dict[str, Findings]:
    """Return the findings of all modules by name."""
    return {name_of(module): findings_in(ast.parse(module.read_text())) for module in MODULES}


def findings_in(tree: ast.Module) -> Findings:
    return Findings(unbounded_caches(tree), collections_of(tree))


def has_bound(decorator: ast.expr) -> bool:
    """Report whether a decorator is no cache, or one with a bound."""
    call = decorator if isinstance(decorator, ast.Call) else None
    name = ast.unparse(call.func if call else decorator).removeprefix("functools.")
    if name == "cache":
        return False
    if name != "lru_cache":
        return True
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)] if call else []
    # Without arguments the bound is 128.
    return not any(isinstance(argument, ast.Constant) and argument.value is None for argument in arguments)


def unbounded_caches(tree: ast.Module) -> list[str]:
    """Return the functions with parameters whose results are cached without a bound."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [
        function.name
        for function in functions
        if not all(map(has_bound, function.decorator_list)) and ast.unparse(function.args)
    ]


def is_empty_collection(value: ast.expr | None) -> bool:
    """Report whether an expression makes a collection without items."""
    if isinstance(value, ast.Call):
        return not value.args and ast.unparse(value.func).rpartition(".")[2] in COLLECTION_TYPES
    return ast.unparse(value) in ("{}", "[]") if value is not None else False


def collections_of(tree: ast.Module) -> list[str]:
    """Return the names that a module binds to empty collections."""
    targets: list[ast.expr] = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and is_empty_collection(statement.value):
            targets += statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [ast.unparse(target) for target in targets]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("@cache\ndef f(a): ...", ["f"]),
        ("@functools.cache\ndef f(*, a): ...", ["f"]),
        ("@lru_cache(maxsize=None)\ndef f(a): ...", ["f"]),
        ("@lru_cache(None)\ndef f(a): ...", ["f"]),
        ("@lru_cache(maxsize=8)\ndef f(a): ...", []),
        ("@cache\ndef f(): ...", []),
        ("@text_cache(8, length_max=8)\ndef f(a): ...", []),
    ],
)
def test_unbounded_caches_are_found(source, names):
    assert unbounded_caches(ast.parse(source)) == names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = {}", ["a"]),
        ("a: Final[list[int]] = []", ["a"]),
        ("a: Final = WeakSet()", ["a"]),
        ("a = collections.defaultdict()", ["a"]),
        ("a = {1: 2}", []),
        ("a = dict(b)", []),
        ("def f():\n    a = {}", []),
    ],
)
def test_collections_of_a_module_are_found(source, names):
    assert collections_of(ast.parse(source)) == names


def test_caches_of_functions_have_a_bound_or_a_reason():
    assert {f"{m}:{f}" for m, facts in findings().items() for f in facts.unbounded_caches} == set(UNBOUNDED_CACHES)


def test_collections_of_modules_have_a_reason():
    assert {f"{m}:{c}" for m, facts in findings().items() for c in facts.collections} == set(COLLECTIONS)
