#!/usr/bin/env bash
# All tests, or what the arguments name. Most go two at a time; those that break whole systems, and those that
# look at the browser, have the machine to themselves, since what they promise holds on one at rest.
set -uo pipefail
cd "$(dirname "$0")/.."

pytest=(.venv/bin/python -m pytest --cov --cov-report=)
alone=(tests/browser tests/faults)
together=()
for folder in tests/*/; do
    folder=${folder%/}
    case " ${alone[*]} " in
    *" $folder "*) ;;
    *) together+=("$folder") ;;
    esac
done

rm -f .coverage .coverage.*
if [ $# -gt 0 ]; then
    exec "${pytest[@]}" "$@"
fi
failed=0
"${pytest[@]}" --numprocesses 2 --dist loadfile "${together[@]}" || failed=1
# Each by itself: the driver of the browser keeps an event loop running, beside which no other starts.
for folder in "${alone[@]}"; do
    "${pytest[@]}" --cov-append "$folder" || failed=1
done
.venv/bin/coverage report --fail-under=90 || failed=1
.venv/bin/python scripts/own_coverage.py || failed=1
exit $failed
