#!/usr/bin/env bash
# Makes a virtual environment with pip in the folder named, also where Debian's python3-venv is missing.
set -euo pipefail
venv=${1:?folder of the virtual environment}

fit() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

python=
for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
  if command -v "$name" >/dev/null && fit "$name"; then python=$name; break; fi
done
if [ -z "$python" ]; then
  echo "Python 3.11 or newer is needed and was not found. On Debian 12, Ubuntu 24.04 or newer: sudo apt-get install python3" >&2
  echo "If it has another name, say so: make PYTHON=/path/to/python3 ..." >&2
  exit 1
fi

rm -rf "$venv"
if "$python" -m venv "$venv" >/dev/null 2>&1; then
  exit 0
fi

# Without ensurepip (Debian puts it into python3-venv): make it bare, then run pip out of its own wheel to install itself.
rm -rf "$venv"
if ! "$python" -m venv --without-pip "$venv"; then
  echo "$python cannot make virtual environments. On Debian or Ubuntu: sudo apt-get install python3-venv" >&2
  exit 1
fi
if ! "$venv/bin/python" scripts/bootstrap_pip.py; then
  rm -rf "$venv"
  echo "pip could not be fetched. On Debian or Ubuntu: sudo apt-get install python3-venv" >&2
  exit 1
fi
