#!/usr/bin/env bash
# Set up what is missing, and nothing else: scripts/setup.sh run|dev|espeak|node ...
#
# A set is the lock requirements/SET.txt. Its stamp holds what it was installed from, so that a
# second call with nothing changed costs a few milliseconds.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv

fail() {
    printf '\nlegato: %s\n' "$*" >&2
    exit 1
}

# The newest Python that we support, or the one that the user names with PYTHON=.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    fail "Python 3.11 or newer is needed and was not found. On Debian or Ubuntu:" \
        "sudo apt-get install python3 python3-venv. If it has another name: make PYTHON=/path/to/python3"
}

make_venv() {
    # A virtual environment that was moved, or whose Python is gone, cannot be repaired.
    if "$venv/bin/python" -c '' 2>/dev/null && [ "$(cat "$venv/.legato-home" 2>/dev/null)" = "$PWD" ]; then
        return
    fi
    local python
    python=$(find_python)
    echo "legato: making $venv with $("$python" --version)"
    rm -rf "$venv"
    if ! "$python" -m venv "$venv"; then
        rm -rf "$venv"
        fail "$python cannot make virtual environments. On Debian or Ubuntu: sudo apt-get install python3-venv"
    fi
    printf '%s' "$PWD" >"$venv/.legato-home"
}

key_of() {
    { "$venv/bin/python" --version; cat pyproject.toml "requirements/$1.txt"; } | sha256sum
}

is_current() {
    [ "$(cat "$venv/.legato-$1" 2>/dev/null)" = "$(key_of "$1")" ]
}

install_set() {
    local set=$1
    [ -f "requirements/$set.txt" ] || fail "there is no requirements/$set.txt"
    # The dev lock holds everything that the run lock holds, in the same versions.
    if is_current "$set" || { [ "$set" = run ] && is_current dev; }; then
        return
    fi
    echo "legato: installing requirements/$set.txt"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        -r "requirements/$set.txt" ||
        fail "installing requirements/$set.txt failed; the lines above say why. Run the same command again when that is mended."
    if [ "$set" = run ] || [ "$set" = dev ]; then
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
            --no-deps --no-build-isolation --editable .
    fi
    key_of "$set" >"$venv/.legato-$set"
}

# Two of us at once would break each other's installation.
if command -v flock >/dev/null; then
    exec 9>.setup.lock
    flock 9
fi
make_venv
for set in "$@"; do
    install_set "$set"
done
