#!/usr/bin/env bash
# Whether extension modules can be built for the python named: its headers, and a C compiler. Says what is missing.
set -u
python=${1:?python of the virtual environment}

compiler=$("$python" -c 'import sysconfig; print((sysconfig.get_config_var("CC") or "cc").split()[0])')
header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
if ! command -v "$compiler" >/dev/null; then
  echo "no C compiler ($compiler) here: nothing is compiled, modules run as they are" >&2
  exit 1
fi
if [ ! -e "$header" ]; then
  echo "no $header here (Debian's python3-dev has it): nothing is compiled, modules run as they are" >&2
  exit 1
fi
