"""Check that each pure module is covered, every branch, by its own test module.

Runs the unit tests of the pure layers once, remembering which test ran which branch, and then asks
for each `src/legato/flow/jitter.py` what `tests/unit/flow/test_jitter.py` alone has run of it.
"""

import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "legato"
PURE = ("audio", "errors", "flow", "protocol", "session", "speech")


def pure_modules() -> list[Path]:
    """Every module of the pure layers that people wrote."""
    found = [
        path
        for layer in PURE
        for path in (SOURCE / f"{layer}.py", *sorted((SOURCE / layer).rglob("*.py")))
        if path.exists()
    ]
    return [p for p in found if p.name != "__init__.py" and not p.stem.endswith("_pb2")]


def own_test(module: Path) -> Path:
    """Where the tests of a module are."""
    relative = module.relative_to(SOURCE)
    return Path("tests/unit") / relative.parent / f"test_{relative.stem.lstrip('_')}.py"


def run_tests(tests: list[Path], data_file: Path) -> int:
    """Run test modules under coverage with a context for each test; the exit code."""
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *("--cov", "--cov-context=test", "--cov-report=", *map(str, tests)),
    ]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, "COVERAGE_FILE": str(data_file)}, check=False
    ).returncode


def uncovered(coverage: Coverage, module: Path) -> str:
    """What its own tests have not run of a module, as coverage prints it; empty when nothing."""
    # What ran on import has no context: it counts for everybody.
    own = ["^$", "^" + re.escape(own_test(module).as_posix()) + "::"]
    text = io.StringIO()
    percent = coverage.report(
        [str(module)], contexts=own, show_missing=True, skip_covered=False, file=text
    )
    return "" if percent == 100.0 else text.getvalue().splitlines()[2]


def problems(modules: list[Path]) -> Iterator[str]:
    """What is missing, a line each."""
    tests = [own_test(m) for m in modules if (ROOT / own_test(m)).exists()]
    with tempfile.TemporaryDirectory() as folder:
        data_file = Path(folder) / "coverage"
        if run_tests(tests, data_file):
            yield "the unit tests of the pure layers fail"
        coverage = Coverage(data_file=str(data_file), config_file=str(ROOT / "pyproject.toml"))
        coverage.load()
        for module in modules:
            # A module that only declares things has run whole on import and needs no test.
            if missing := uncovered(coverage, module):
                yield (
                    missing if own_test(module) in tests else f"{missing}  (no {own_test(module)})"
                )


def main() -> int:
    """Print what is missing; 0 when nothing is."""
    modules = pure_modules()
    found = list(problems(modules))
    print(*found, f"{len(modules)} pure modules, {len(found)} problems", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
