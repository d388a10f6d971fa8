#!/bin/sh
# Writes testdata/models/**/*.hlo and testdata/programs/*.hlo anew from the programs beside this file, in a virtual
# environment of its own under build/venv. With names (regenerate.sh gpt2_infer lstm_infer) only those. Needs python3 >= 3.11, its venv module and,
# the first time, a Python package index. A run that changes a file without a change here is a finding.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=$here/../../build/venv
stamp=$venv/requirements.txt
if ! cmp -s "$here/requirements.txt" "$stamp"; then
  python3 -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$stamp"
fi
export JAX_PLATFORMS=cpu PYTHONDONTWRITEBYTECODE=1
for program in "$here"/*.py; do
  case $(basename "$program") in
    lower.py | training.py) ;;  # What the others import.
    *) "$venv/bin/python" "$program" "$@" ;;
  esac
done
