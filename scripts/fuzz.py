"""Fuzz one target for a while, guided by coverage.

    python scripts/fuzz.py TARGET --seconds 600 --seed 1 [--engine atheris|hypothesis] [--corpus DIRECTORY]
    python scripts/fuzz.py TARGET --replay FILE
    python scripts/fuzz.py --list

With atheris (``pip install '.[fuzz]'``) the code is instrumented and libFuzzer keeps inputs that reach new code; elsewhere
hypothesis mutates the corpus and prefers inputs that make the code under test work more. Inputs that fail are written to
``--findings`` (build/fuzz/TARGET), one for each place of failure; an input that takes more than ``--slow`` seconds of CPU fails, too.
The run goes on after a failure; it exits with 1 if there was any.
"""

from __future__ import annotations

# ruff: noqa: PLC0415 — the code under test is imported after it is decided whether to instrument it
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

#: The process ends when it needs more memory: inputs are small, so memory that grows is a leak.
MEMORY_MAX_MB = 2048
#: Factor of additional time for inputs whose calls are counted.
COUNTING_FACTOR = 4


class SlowInputError(Exception):
    """Input that took too much CPU time."""


class Checker:
    """Runner of inputs that records the first one of each failure."""

    def __init__(self, target, findings: pathlib.Path, slow_seconds: float) -> None:
        self._target = target
        self._findings = findings
        self._slow_seconds = slow_seconds
        self._places: set[str] = set()
        self.inputs = 0

    def __call__(self, data: bytes) -> None:
        """Run one input; failures are recorded, not raised."""
        self.inputs += 1
        start = time.thread_time()
        try:
            self._target.run(data)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 — every failure is a finding
            self._record(data, error)
            return
        spent = time.thread_time() - start
        if spent > self._slow_seconds:
            self._record(data, SlowInputError(f"{spent:.2f} s of CPU"))

    def _record(self, data: bytes, error: BaseException) -> None:
        place = place_of(error)
        if place in self._places:
            return
        self._places.add(place)
        self._findings.mkdir(parents=True, exist_ok=True)
        path = self._findings / hashlib.sha256(place.encode()).hexdigest()[:12]
        path.write_bytes(data)
        text = "".join(traceback.format_exception(error))
        path.with_suffix(".txt").write_text(
            f"{place}\n\n{data!r}\n\n{text}", encoding="utf-8", errors="backslashreplace"
        )
        print(f"finding {path}: {place}: {str(error)[:300]!r}", flush=True)


def place_of(error: BaseException) -> str:
    """Name a failure by its type and the innermost lines of this project."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if str(ROOT) in frame.filename]
    if not frames:
        return type(error).__name__
    lines = [f"{pathlib.Path(frame.filename).relative_to(ROOT)}:{frame.lineno}" for frame in frames]
    # the innermost frames of a recursion differ at random
    return f"{type(error).__name__} at {lines[0] if isinstance(error, RecursionError) else ' < '.join(lines[:-3:-1])}"


def fuzz_with_atheris(options: argparse.Namespace, folder: pathlib.Path) -> None:
    """Run libFuzzer in this process; it ends the process."""
    import atheris

    with atheris.instrument_imports(include=["steersman"], enable_loader_override=False):
        from tests.fuzz import corpus, targets

        target = targets.load(options.target)
    dictionary = folder / "tokens"
    dictionary.write_text("".join(f'"{_escaped(token)}"\n' for token in target.tokens if token))
    seeds = options.corpus or folder / "corpus"
    seeds.mkdir(parents=True, exist_ok=True)
    arguments = [sys.argv[0], str(seeds), str(corpus.FOLDER / target.name), f"-max_total_time={options.seconds}", f"-seed={options.seed}",
                 f"-max_len={corpus.SIZE_MAX}", *([f"-dict={dictionary}"] if target.tokens else []), f"-artifact_prefix={options.findings}/", f"-rss_limit_mb={MEMORY_MAX_MB}",
                 "-timeout=60", "-print_final_stats=1", "-verbosity=0" if options.quiet else "-verbosity=1"]  # fmt: skip
    options.findings.mkdir(parents=True, exist_ok=True)
    atheris.Setup(arguments, Checker(target, options.findings, options.slow), enable_python_coverage=True)
    atheris.Fuzz()


def _escaped(token: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}" for byte in token)


def fuzz_with_hypothesis(options: argparse.Namespace) -> None:
    """Run hypothesis in rounds until the time is over."""
    import hypothesis
    from tests.fuzz import corpus, targets

    target = targets.load(options.target)
    check = Checker(target, options.findings, options.slow * COUNTING_FACTOR)
    end, seed = time.monotonic() + options.seconds, options.seed
    while time.monotonic() < end:

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=2000, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
        )
        @hypothesis.given(corpus.inputs(target))
        def explore(data: bytes) -> None:
            if time.monotonic() > end:
                return
            calls = 0

            def count(*_: object) -> None:
                nonlocal calls
                calls += 1

            sys.setprofile(count)
            try:
                check(data)
            finally:
                sys.setprofile(None)
            hypothesis.target(float(calls), label="calls")

        explore()
        seed += 1
    print(f"{check.inputs} inputs, seeds {options.seed} to {seed - 1}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?")
    parser.add_argument("--list", action="store_true", help="print the targets")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow", type=float, default=1.0, help="seconds of CPU that one input may take")
    parser.add_argument("--engine", choices=["atheris", "hypothesis"], help="default: atheris if it is installed")
    parser.add_argument("--corpus", type=pathlib.Path, help="directory that keeps inputs which reach new code")
    parser.add_argument("--findings", type=pathlib.Path, help="directory for inputs that fail")
    parser.add_argument("--replay", type=pathlib.Path, help="run one input and show its traceback")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    from tests.fuzz import targets

    if options.list:
        print(*targets.NAMES, sep="\n")
        return 0
    if options.target not in targets.NAMES:
        parser.error(f"TARGET must be one of {', '.join(targets.NAMES)}")
    if options.replay:
        targets.load(options.target).run(options.replay.read_bytes())
        return 0
    options.findings = options.findings or ROOT / "build" / "fuzz" / options.target
    return fuzz(options)


def fuzz(options: argparse.Namespace) -> int:
    """Run the engine in a child process, which libFuzzer ends itself, and report what it wrote."""
    if os.environ.get("STEERSMAN_FUZZ_FOLDER"):
        fuzz_with_atheris(options, pathlib.Path(os.environ["STEERSMAN_FUZZ_FOLDER"]))
    known_findings = set(options.findings.glob("*"))
    if (options.engine or _installed_engine()) == "hypothesis":
        fuzz_with_hypothesis(options)
        code = 0
    else:
        with tempfile.TemporaryDirectory(prefix="steersman-fuzz-") as folder:
            environment = {**os.environ, "STEERSMAN_FUZZ_FOLDER": folder}
            code = subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode
    findings = sorted(set(options.findings.glob("*.txt")) - known_findings)
    print(f"{options.target}: {len(findings)} findings{''.join(f'{chr(10)}  {path}' for path in findings)}")
    return 1 if findings or code else 0


def _installed_engine() -> str:
    from importlib.util import find_spec

    return "hypothesis" if find_spec("atheris") is None else "atheris"


if __name__ == "__main__":
    sys.exit(main())
