#!/usr/bin/env bash
# Resolve requirements/*.txt: hashes for every platform and Python that we support, and neither an
# index address nor a path in them. Without --upgrade, versions stay as far as pyproject.toml allows.
set -euo pipefail
cd "$(dirname "$0")/.."

resolve() {
    local set=$1
    shift
    .venv/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 \
        --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
        --output-file "requirements/$set.txt" "$@" pyproject.toml
}

resolve run --extra server --extra redis --extra voices --group build "$@"
resolve espeak --extra espeak --constraints requirements/run.txt "$@"
resolve dev --extra server --extra redis --extra voices --extra dev --group build \
    --constraints requirements/run.txt "$@"
# Without the project itself: whoever only builds the page needs nothing else of it.
.venv/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 \
    --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
    --output-file requirements/node.txt --group pyproject.toml:node "$@"
