import functools

import pytest

from steersman.runtime.hooks import call_hook, check_hook


def plain(lease):
    return lease


async def coroutine(lease):
    return lease


class Callable:
    async def __call__(self, lease):
        return lease

    def method(self, lease, extra=None):
        return lease


HOOKS = [
    plain,
    coroutine,
    Callable(),
    Callable().method,
    functools.partial(plain),
    functools.partial(coroutine),
    lambda lease, wait=True: coroutine(lease),
    lambda *arguments: arguments[0],
]


@pytest.mark.parametrize("hook", HOOKS)
async def test_call_hook_returns_the_result_of_functions_and_coroutine_functions(hook):
    check_hook("process_lease", hook, "lease")
    assert await call_hook(hook, {"a": 1}) == {"a": 1}


def test_check_hook_accepts_a_builtin_without_signature():
    check_hook("on_new_leader", print, "leader")
    check_hook("hook", dict.fromkeys, "keys")


def keyword_only(*, lease):
    pass


def generator(lease):
    yield lease


async def async_generator(lease):
    yield lease


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (lambda: None, r"not .*<lambda>\(\): too many positional arguments"),
        (lambda lease, node: None, r"not .*<lambda>\(lease, node\): missing a required argument: 'node'"),
        (keyword_only, r"not keyword_only\(\*, lease\): "),
        (generator, r"not a generator function: generator\(lease\)"),
        (async_generator, r"not a generator function: async_generator\(lease\)"),
        ("text", "not str"),
        (coroutine({}), "not coroutine"),
    ],
)
def test_check_hook_rejects_another_signature(hook, reason):
    with pytest.raises(
        TypeError, match=rf"^process_lease must be a function or a coroutine function \(lease\), {reason}"
    ):
        check_hook("process_lease", hook, "lease")
    if hasattr(hook, "close"):
        hook.close()
