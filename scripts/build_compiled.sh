#!/usr/bin/env bash
# Builds the wheel with compiled modules (docs/decisions/0006) and unpacks it into the folder named, to be put first on
# PYTHONPATH; the wheel itself lies there, too. The checkout stays as it is: nothing compiled ever lies beside its sources, where it would hide changes.
set -euo pipefail
python=${1:?python of the virtual environment}
place=${2:?folder to unpack into}

# Calls between the modules need no table of the linker's: nobody outside replaces one of their functions.
export CFLAGS="-fvisibility=hidden -fno-plt ${CFLAGS-}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# By way of a source package, as the compiler writes beside what it reads.
"$python" -m build --no-isolation --sdist --outdir "$work" . >"$work/log" 2>&1 &&
  tar -xzf "$work"/*.tar.gz -C "$work" &&
  PYTHONPATH="$PWD/scripts/parallel_build" HATCH_BUILD_HOOKS_ENABLE=1 "$python" -m build --no-isolation --wheel --outdir "$work/wheel" "$work"/steersman-*/ \
    >>"$work/log" 2>&1 || {
  tail -n 40 "$work/log" >&2
  exit 1
}
rm -rf "$place"
mkdir -p "$place"
"$python" -m zipfile -e "$work"/wheel/*.whl "$place"
"$python" -m compileall -q "$place"
mv "$work"/wheel/*.whl "$place"/
