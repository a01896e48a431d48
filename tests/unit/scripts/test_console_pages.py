"""Console blocks of pages: commands, outputs, and what is compared."""

from scripts.console_pages import Entry, comparable, entries, replace_outputs

PAGE = """\
text
```console
$ make up      # left alone
```
```python
$ not a command
```
```console
$ one
first
  line
$ two
```
"""


def test_entries_are_commands_with_the_output_below_them():
    assert entries(PAGE) == [Entry("one", ["first", "  line"]), Entry("two", [])]


def test_replace_outputs_keeps_everything_but_the_outputs():
    replaced = replace_outputs(PAGE, ["1\n", "2\n2\n"])
    assert entries(replaced) == [Entry("one", ["1"]), Entry("two", ["2", "2"])]
    assert replace_outputs(replaced, ["first\n  line\n", ""]) == PAGE


def test_comparable_replaces_what_differs_between_runs():
    first = comparable("NAME                  AGE\nweb-7887448d46-2rt9j  3m5s  10.128.0.3\nWaiting for it\n")
    assert first == comparable("NAME   AGE\nweb-7887448d46-xxxxx   12s   10.128.77.31\n")
    assert comparable("ready after 0.41 s") == comparable("ready after 12.00 s")
    assert comparable("Steersman 0.1.0 (Kubernetes v1.36.2)") == comparable("Steersman 1.2.3 (Kubernetes v1.36.10)")
    assert comparable("node node-0 is Ready") == comparable("node node-2 is Ready")
    assert comparable("https://127.0.0.1:6443") == ["https://127.0.0.1:6443"]
    assert comparable("up for 1m11s, process 12") == comparable("up for 3s, process 4711")


def test_comparable_keeps_what_must_be_equal():
    for one, other in (
        ("3/3  Running", "2/3  Running"), ("node-0  Ready", "node-0  NotReady"), ("web created", "web configured"),
        ("nodes  3, 3 Ready", "nodes  3, 2 Ready"), ("a\nb", "a"), ("127.0.0.1:6443", "127.0.0.1:1"),
    ):  # fmt: skip
        assert comparable(one) != comparable(other)
