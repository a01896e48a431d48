"""Go templates: output of each construct and function, and errors."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.nodes.gotemplate import TemplateRenderError, TemplateSyntaxError, parse

DATA: dict[str, Any] = {
    "name": "web",
    "count": 3,
    "none": None,
    "flag": False,
    "items": [{"name": "a", "n": 1}, {"name": "b", "n": 2}, {"name": "c", "n": 3}],
    "map": {"z": 1, "a": {"b": "deep"}},
}


def render_tree(text: str, **context: Any) -> str:
    return parse(text, context).render(DATA, context)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"),
        ("{{ ceil (divf 7 2) }} {{ floor 2.7 }} {{ round 2.345 2 }} {{ round -2.5 0 }}", "4 2 2.35 -3"),
        ("{{ addf 1 0.5 }} {{ subf 3 1.5 }} {{ mulf 2 1.5 }} {{ maxf 1 2.5 }} {{ minf 1 2.5 }}", "1.5 1.5 3 2.5 1"),
        ("{{ regexReplaceAll `a(x*)b` `-ab-axxb-` `<${1}>` }} {{ regexFind `[0-9]+` `a12b` }}", "-<>-<xx>- 12"),
        ("{{ substr 1 3 `abcde` }} {{ trimAll `$` `$5$` }} {{ nospace `a b` }} {{ cat 1 `b` }}", "bc 5 ab 1 b"),
        ("{{ list 3 1 3 | uniq }} {{ without (list 1 2) 2 }} {{ reverse (list 1 2) }}", "[3 1] [1] [2 1]"),
        ("{{ list 1 2 3 | initial }} {{ compact (list 0 1) }} {{ sortAlpha (list `b` `a`) }}", "[1 2] [1] [a b]"),
        (
            "{{ pick .map `z` }} {{ omit .map `a` }} {{ merge (dict `a` 1) (dict `a` 2 `b` 3) }}",
            "map[z:1] map[z:1] map[a:1 b:3]",
        ),
        ("{{ dig `a` `b` `no` .map }} {{ dig `a` `x` `no` .map }} {{ kindOf .map }}", "deep no map"),
        ("{{ .name }}-{{ .count }}", "web-3"),
        ("{{ .map.a.b }}{{ .no.such.field }}", "deep<no value>"),
        ("{{ .map }}", "map[a:map[b:deep] z:1]"),
        ("a {{- .name -}} b", "awebb"),
        ("a {{/* said of it */}} b", "a  b"),
        ("a {{- /* said */ -}} b", "ab"),
        ('{{ "q}}" }}{{ `r"w` }}', 'q}}r"w'),
        ("{{ if .flag }}1{{ else if .count }}2{{ else }}3{{ end }}", "2"),
        ("{{ with .map.a }}{{ .b }}{{ $.name }}{{ end }}", "deepweb"),
        ("{{ with .no }}x{{ else with .name }}{{ . }}{{ end }}", "web"),
        ("{{ with .no }}x{{ else }}{{ .name }}{{ end }}", "web"),
        ("{{ range .items }}{{ .name }}{{ end }}", "abc"),
        ("{{ range $i, $e := .items }}{{ $i }}{{ $e.name }}{{ end }}", "0a1b2c"),
        ("{{ range $k, $v := .map.a }}{{ $k }}={{ $v }}{{ end }}", "b=deep"),
        ("{{ range .no }}x{{ else }}none{{ end }}", "none"),
        ("{{ range .items }}{{ if eq .n 2 }}{{ break }}{{ end }}{{ .n }}{{ end }}", "1"),
        ("{{ range .items }}{{ if eq .n 2 }}{{ continue }}{{ end }}{{ .n }}{{ end }}", "13"),
        ("{{ range 3 }}{{ . }}{{ end }}", "012"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $y := 3 }}{{ end }}{{ $x }}", "2"),
        ("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}", "1"),
        ('{{ define "d" }}<{{ .a }}{{ $.b }}>{{ end }}{{ template "d" dict "a" 1 "b" 2 }}', "<12>"),
        ('{{ block "d" .name }}[{{ . }}]{{ end }}', "[web]"),
        ("{{ (index .items 1).name }}", "b"),
        ('{{ index .map "a" "b" }}', "deep"),
        ("{{ or .no .flag .name }}{{ and .name .count }}", "web3"),
        ("{{ or .name (fail .name) }}", "web"),
        ('{{ .name | printf "%s-%03d-%s" "x" 7 | len }}', "9"),
        ('{{ eq .name "x" "web" }}{{ ne .count 3 }}{{ lt .count 4 }}{{ ge .count 4 }}', "truefalsetruefalse"),
        ("{{ not .flag }}{{ eq .none nil }}{{ eq .no .name }}", "truetruefalse"),
        ("{{ Here .name }}", "here web"),
    ],
)
def test_template_renders_construct(text: str, written: str) -> None:
    assert render_tree(text, Here=lambda name: f"here {name}") == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("{{ .name | Quote }}{{ .count | Quote }}{{ .map.a | Quote }}", '"web""3""{\\"b\\":\\"deep\\"}"'),
        ("{{ YAML .map.a }}", "b: deep\n"),
        ("a:{{ YAML .map.a 1 }}", "a:\n  b: deep\n  "),
        ('{{ printf "%v|%5s|%-4s|%q|%.1f|%%|%x" .map.a "r" "l" "t" 1.25 255 }}', 'map[b:deep]|    r|l   |"t"|1.2|%|ff'),
        ('{{ printf "%d %s" 1 }}', "1 %!s(MISSING)"),
        ('{{ printf "%*s|%-*s|%.*f" 3 "a" 2 "b" 1 2.25 }}', "  a|b |2.2"),
        ('{{ printf "%*s|%*d" -3 "a" "w" 7 }}', "a  |7"),
        ("{{ .count.Int64 }}{{ .count.Float64 }}{{ .count.String | len }}", "331"),
        ('{{ print "a" 1 2 "b" }}', "a1 2b"),
        ("{{ add1 .count }} {{ add 1 2 3 }} {{ sub 5 2 }} {{ mul 2 3 }} {{ div 7 2 }} {{ mod 7 2 }}", "4 6 3 6 3 1"),
        ('{{ default "d" .no }}{{ .name | default "d" }}{{ coalesce .no .name }}', "dwebweb"),
        ('{{ ternary "y" "n" true }}{{ empty .no }}{{ hasKey .map "z" }}', "ytruetrue"),
        ('{{ upper .name }}{{ trunc 2 .name }}{{ replace "w" "v" .name }}{{ hasPrefix "w" .name }}', "WEBwevebtrue"),
        ('{{ join "," (list 1 2) }}{{ first (list 1 2) }}{{ last (list 1 2) }}{{ has 1 (list 1) }}', "1,212true"),
        ('{{ int "7" }}{{ int "x" }}{{ toString 7 }}{{ quote "a" }}{{ squote "a" }}', "707\"a\"'a'"),
        ('{{ nindent 2 "a\nb" }}', "\n  a\n  b"),
        ('{{ toJson .map.a }}{{ (fromJson "{}") | len }}{{ b64enc "a" }}{{ b64dec "YQ==" }}', '{"b":"deep"}0YQ==a'),
        ('{{ $d := dict "a" 1 }}{{ $_ := set $d "b" 2 }}{{ keys $d }}{{ get $d "b" }}', "[a b]2"),
        ("{{ until 3 }}{{ max 1 4 2 }}{{ min 3 2 }}", "[0 1 2]42"),
    ],
)
def test_template_renders_function(text: str, written: str) -> None:
    text = text.replace("\n", "\\n") if "nindent" in text else text
    assert render_tree(text) == written


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{{ nosuch .x }}", 'line 1: function "nosuch" not defined'),
        ("a\n{{ if .x }}", "line 2: this has no {{end}}"),
        ("{{ range .x }}{{ else }}", "line 1: this has no {{end}}"),
        ("{{ end }}", "line 1: unexpected {{end}}"),
        ("\n\n{{ .x", "line 3: unclosed action"),
        ("{{ $x }}", "line 1: undefined variable '$x'"),
        ("{{ if true }}{{ $x := 1 }}{{ end }}{{ $x }}", "line 1: undefined variable '$x'"),
        ('{{ template "t" }}', 'line 1: template "t" not defined'),
        ("{{ .x 1 }}", "line 1: can't give an argument to what is no function"),
        ("{{ .x | .y }}", "line 1: can't give an argument to what is no function"),
        ("{{ break }}", "line 1: break and continue stand in a range only"),
        ("{{ (print 1 }}", "line 1: unclosed left paren"),
        ("{{ }}", "line 1: missing value for command"),
        ("{{ or }}", "line 1: wrong number of args for or: want at least 1 got 0"),
        ("{{ # }}", "line 1: '# }}' is not understood"),
        ("{{ define x }}{{ end }}", "line 1: a template's name in quotes is missing"),
        ('{{ "\\q" }}', 'bad string "\\\\q"'),
    ],
)
def test_parse_rejects_malformed_template_with_its_line(text: str, fault: str) -> None:
    with pytest.raises(TemplateSyntaxError) as caught:
        parse(text)
    assert str(caught.value) == fault.replace("\\\\", "\\")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{{ .name.x }}", "can't evaluate field x in 'web'"),
        ("{{ .flag.Int64 }}", "can't evaluate field Int64 in 'false'"),
        ("{{ (divf 5 2).Int64 }}", 'error calling Int64: strconv.ParseInt: parsing "2.5": invalid syntax'),
        ('{{ printf "%*s" 9000000 "a" }}', "error calling printf: the text is too long"),
        ("{{ index .items 9 }}", "error calling index: index out of range: 9"),
        ('{{ index .items "a" }}', "error calling index: cannot index slice/array with a"),
        ("{{ index .no 1 }}", "error calling index: index of untyped nil"),
        ("{{ index .count 1 }}", "error calling index: can't index item of 3"),
        ("{{ range .name }}{{ end }}", "range can't iterate over web"),
        ('{{ eq .count "3" }}', "error calling eq: incompatible types for comparison"),
        ("{{ eq .map .map }}", "error calling eq: non-comparable type"),
        ("{{ eq .map }}", "error calling eq: missing argument for comparison"),
        ('{{ lt .count "3" }}', "error calling lt: incompatible types for comparison"),
        ("{{ div 1 0 }}", "error calling div: division by zero"),
        ("{{ until 9000000 }}", "error calling until: 9000000 numbers are too many"),
        ('{{ repeat 9000000 "a" }}', "error calling repeat: the text is too long"),
        ('{{ fail "so" }}', "so"),
        (
            '{{ define "r" }}{{ template "r" }}{{ end }}{{ template "r" }}',
            "templates call each other without an end: 'r'",
        ),
    ],
)
def test_render_reports_unsuitable_values(text: str, fault: str) -> None:
    with pytest.raises(TemplateRenderError) as caught:
        render_tree(text)
    assert str(caught.value) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{{ range 9999 }}{{ range 9999 }}{{ end }}{{ end }}", "the template takes too many steps"),
        ("{{ range 999999999999 }}{{ end }}", "range over 999999999999 takes too many steps"),
        (
            '{{ $x := "aaaaaaaa" }}{{ range 30 }}{{ $x = print $x $x }}{{ end }}',
            "error calling print: the result is too long",
        ),
        ('{{ range 9999 }}{{ repeat 500 "a" }}{{ end }}', "the template writes too much text"),
        ('{{ printf "%999999999d" 1 }}', "error calling printf: the text is too long"),
        ('{{ printf "%.99999999999999999999f" 1.5 }}', "error calling printf: the text is too long"),
        ('{{ indent 999999999 "a" }}', "error calling indent: the text is too long"),
        ('{{ replace "" (repeat 1000 "b") (repeat 9999 "a") }}', "error calling replace: the text is too long"),
        ('{{ join (repeat 9999 "b") (until 9999) }}', "error calling join: the text is too long"),
        ("{{ YAML .list 9999999 }}", "error calling YAML: the text is too long"),
        ('{{ regexMatch "[" "a" }}', "error parsing regexp: missing closing ]: `[`"),
        ('{{ set .map "a" .map }}', "templates or values are nested too deeply"),
    ],
)
def test_render_bounds_work_and_text(text: str, fault: str) -> None:
    with pytest.raises(TemplateRenderError) as caught:
        parse(text).render({"list": [1], "map": {}}, {})
    assert str(caught.value) == fault


@pytest.mark.parametrize(
    "text", ["{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "{{ if 1 }}" * 3000, "{{ " + "1" * 5000 + " }}"]
)
def test_parse_rejects_deep_nesting_and_long_numbers(text: str) -> None:
    with pytest.raises(TemplateSyntaxError, match=r"nested too deeply|illegal number"):
        parse(text)


def test_render_leaves_data_unchanged_by_set() -> None:
    data = {"map": {"a": 1}}
    assert parse('{{ $_ := set .map "a" 2 }}{{ .map.a }}').render(data, {}) == "2"
    assert data == {"map": {"a": 1}}


def test_integers_wrap_to_64_bits_and_lone_surrogates_are_replaced() -> None:
    assert (
        render_tree("{{ mul 4294967296 4294967296 }} {{ add 9223372036854775807 1 }} {{ div -7 2 }}")
        == "0 -9223372036854775808 -3"
    )
    assert render_tree(r'{{ "\ud800" }}') == "\ufffd"
