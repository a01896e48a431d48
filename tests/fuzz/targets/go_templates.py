"""Go templates: parsing raises TemplateSyntaxError only, rendering TemplateRenderError only."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.fuzz.choices import Choices

from steersman.apimachinery.trees import copy_tree
from steersman.nodes.gotemplate.errors import TemplateRenderError, TemplateSyntaxError
from steersman.nodes.kwok.templating import read, render_tree
from steersman.nodes.stages import StageContext

OBJECTS: tuple[dict[str, Any], ...] = (
    {"metadata": {"name": "a", "labels": {"a": "b"}, "creationTimestamp": "2024-05-06T07:08:09Z"}, "a": 1, "b": [1, "x", None], "c": {"d": True},
     "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]}},
    {"metadata": {"name": "b"}, "a": None, "b": {}, "c": [], "spec": 1.5, "status": "x"},
    {"metadata": {}, "a": "1e999", "b": 10**30, "c": "2024-05-06T07:08:09Z", "d": -1},
)  # fmt: skip
SURROUNDINGS = StageContext(
    datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC), host_ip="10.0.0.1", pod_ip="10.0.0.2", node_name="n"
)
ACTIONS = ("{{ ", " }}", "{{- ", " -}}", "if ", "else", "else if ", "end", "range ", "with ", 'define "t"', 'template "t" .', 'block "u" .', "$x := ", "$x = ",
           "$x", ".", ".a", ".b", ".c.d", ".metadata.name", ".spec.containers", "$", "(", ")", " | ", "break", "continue", "range $i, $v := ", "/* c */")  # fmt: skip
CALLS = ("index .b 0", "slice .b 1", "len .b", "print 1 nil", 'printf "%d %s %v %5.2f %q %x" 1', 'printf "%*d" 3 4', "eq .a 1", "lt .a 2", "and .a .b", "or .a .b",
         "not .a", "Now", "NodeIP", "PodIP", "NodeConditions", "Version", "NodeIPWith .a", "PodIPWith .a true", "default 1 .a", 'dict "a" 1 "b"', "YAML .b 1",
         "YAML .c -1", "Quote .a", "add 1 2", "div 1 0", "mod 1 0", "mul 9999999999 9999999999", "until 100000", "until -5", 'repeat 10 "ab"', 'indent 3 "a"',
         'indent -1 "a"', 'join "," .b', "toJson .", 'fromJson "{"', "int .a", "float64 .a", 'trunc 5 "a"', "date .c", 'fail "x"', "title .a", "html .a", "js .a",
         "urlquery .a", "call .a", 'split "," .a', 'replace "a" "b" .a', "ternary 1 2 true", "list 1 2", 'set .c "a" 1', 'hasKey .c "d"', "keys .c",
         "println", "upper .a", "trim .a", 'contains "a" .a', "quote .a", "0x1p4", "1_000", "'a'", "`r`", "1e999", "-1", "nil", "true", '"\\x"')  # fmt: skip
TOKENS = tuple(word.encode() for word in (*ACTIONS, *CALLS))


def run(data: bytes) -> None:
    text = data.decode("utf-8", "replace") if data[:1] >= b"\t" else _sentence(Choices(data[1:]))
    try:
        template = read(text)
    except TemplateSyntaxError as error:
        assert str(error)
        return
    for obj in OBJECTS:
        before = copy_tree(obj)
        try:
            render_tree(template, obj, SURROUNDINGS)
        except TemplateRenderError as error:
            assert str(error)
        assert obj == before


def _sentence(choices: Choices, depth: int = 4) -> str:
    """Return a template: text, actions and nested blocks."""
    parts = []
    for _ in range(choices.below(4) + 1):
        form = choices.below(7) if depth else 0
        if form < 3:
            parts.append(f"{{{{ {_pipeline(choices, 2)} }}}}")
        elif form < 6:
            word = choices.pick(("if", "range", "with", "range $i, $v :=", "range $v :=", "if $x :="))
            otherwise = f"{{{{ else }}}}{_sentence(choices, depth - 1)}" if choices.one_in(3) else ""
            stop = choices.pick(("", "", "{{ break }}", "{{ continue }}"))
            parts.append(
                f"{{{{ {word} {_pipeline(choices, 1)} }}}}{_sentence(choices, depth - 1)}{stop}{otherwise}{{{{ end }}}}"
            )
        else:
            name = choices.pick(("t", "u"))
            parts.append(
                choices.pick(
                    (
                        f'{{{{ template "{name}" . }}}}',
                        f'{{{{ define "{name}" }}}}{_sentence(choices, depth - 1)}{{{{ end }}}}',
                    )
                )
            )
    return "\n".join(parts)


def _pipeline(choices: Choices, depth: int) -> str:
    first = (
        choices.pick(CALLS)
        if choices.one_in(2)
        else choices.pick((".", ".a", ".b", ".c", ".c.d", "$", "$.b", "1", '"a"', "$i", "$v"))
    )
    if depth and choices.one_in(3):
        return f"({first}) | {choices.pick(CALLS).partition(' ')[0]}"
    return f"({first}).x" if choices.one_in(24) else first
