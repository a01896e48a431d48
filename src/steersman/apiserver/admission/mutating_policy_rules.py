"""Compiled mutating policies. Upstream: ``plugin/policy/mutating/patch``.

Imported with the first policy, because it imports the CEL compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.managedfields.listkeys import UnkeyedItemError
from steersman.apimachinery.managedfields.merge import merge_objects
from steersman.apimachinery.managedfields.shapes import root_shape
from steersman.apimachinery.managedfields.validate import faults_of, faults_text
from steersman.apimachinery.patch.json_patch import NotApplicableError, PatchTestError, apply_operations
from steersman.apimachinery.typemodel import ListOf, ListType, MapOf, Struct
from steersman.apiserver.admission.validating_policy_input import CostBudget
from steersman.apiserver.admission.validating_policy_rules import BUDGET, EvaluationError, Expressions, evaluate
from steersman.cel import admission
from steersman.cel.subtypes import ObjectValue
from steersman.cel.trees import object_type_error, to_tree
from steersman.cel.values import EvalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Type


_PATCH_MEMBERS: Final = ("op", "path", "from", "value")


class MutatingRules(Expressions):
    """Compiled mutations of a policy."""

    def __init__(self, spec: Tree) -> None:
        super().__init__(spec, mutates=True)
        self._mutations: Final = []
        for mutation in spec.get("mutations") or ():
            applies = mutation["patchType"] == "ApplyConfiguration"
            expression = mutation["applyConfiguration" if applies else "jsonPatch"]["expression"].strip()
            purpose = admission.APPLY_CONFIGURATION if applies else admission.JSON_PATCH
            change = _apply_configuration if applies else _apply_patch
            self._mutations.append((expression, self.compiled(expression, purpose), change))

    def __len__(self) -> int:
        """Return the number of mutations."""
        return len(self._mutations)

    def is_patch(self, position: int) -> bool:
        """Report whether a mutation is a JSON patch."""
        return self._mutations[position][2] is _apply_patch

    def mutate(self, position: int, obj: Tree, variables: Mapping[str, Any], struct: Struct) -> Tree:
        """Return the object after one mutation; the argument is unchanged. Raises EvaluationError."""
        expression, program, change = self._mutations[position]
        spending = CostBudget(BUDGET)
        value = evaluate(expression, program, self.input(variables, spending), spending)
        try:
            return change(obj, value, struct)
        except EvalError as error:
            raise EvaluationError(str(error)) from None


def _apply_configuration(obj: Tree, value: Any, struct: Struct) -> Tree:
    if fault := object_type_error(value):
        raise EvaluationError(f"type mismatch: {fault}")
    config = {**to_tree(value), "apiVersion": obj.get("apiVersion"), "kind": obj.get("kind")}
    if faults := faults_of(config, struct):
        detail = f"failed to convert patch object to typed object: {faults_text(faults)}"
        raise EvaluationError(f"error applying patch: {detail}")
    if whole := list(_atomics(config, struct, "")):
        detail = f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {', '.join(whole)}"
        raise EvaluationError(f"error applying patch: {detail}")
    try:
        return merge_objects(obj, config, root_shape(struct))
    except UnkeyedItemError as error:
        raise EvaluationError(f"error applying patch: failed to merge patch: {error}") from None


def _atomics(value: Any, type_: Type, path: str) -> Iterator[str]:
    """Yield the paths of atomic values in a configuration, which it cannot set."""
    if isinstance(value, dict) and isinstance(type_, (Struct, MapOf)):
        if type_.atomic:
            yield path
        fields = type_.fields if isinstance(type_, Struct) else {}
        for name, item in value.items():
            if name in fields:
                yield from _atomics(item, fields[name].type, f"{path}.{name}")
    elif isinstance(value, list) and isinstance(type_, ListOf):
        if type_.list_type is ListType.ATOMIC:
            yield path
        for position, item in enumerate(value):
            yield from _atomics(item, type_.item, f"{path}[{position}]")


def _apply_patch(obj: Tree, value: Any, _: Struct) -> Tree:
    operations = [_operation(item) for item in value]
    try:
        patched: Tree = apply_operations(obj, operations)
    except PatchTestError:
        return obj  # a test that fails leaves the object as it is
    except NotApplicableError as error:
        raise EvaluationError(f"JSONPath: {error}") from None
    return patched


def _operation(item: Tree) -> Tree:
    """Convert one operation to JSON. Raises EvaluationError for a value without a JSON form."""
    operation = {name: item[name] for name in _PATCH_MEMBERS if name in item and (name != "from" or item[name])}
    operation = {"op": "", "path": "", **operation}
    value = operation.get("value")
    if isinstance(value, ObjectValue) and (fault := object_type_error(value, (value.type_name,))):
        raise EvaluationError(f"type mismatch: {fault}")
    try:
        return {name: to_tree(member) for name, member in operation.items()}
    except EvalError as error:
        detail = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
        raise EvaluationError(f"{detail}: {error}") from None
