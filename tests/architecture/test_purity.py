import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.checkout import PURE, SOURCE, name, pure_files, tree

# What reads or writes the world without an import; imports are for test_layers.
WORLD = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}

# Reading the clock or the world by the back door of a package that is allowed.
BACK_DOORS = {"numpy": {"random", "load", "save", "fromfile", "memmap", "loadtxt", "savetxt"}}


def world_calls(module: ast.Module) -> list[str]:
    """Calls of built-in functions that do I/O."""
    return [
        f"line {node.lineno}: {node.func.id}()"
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WORLD
    ]


def back_doors(module: ast.Module) -> list[str]:
    """Uses of I/O and randomness of packages that are otherwise allowed."""
    aliases = {"np": "numpy", "numpy": "numpy"}
    return [
        f"line {node.lineno}: {node.value.id}.{node.attr}"
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.attr in BACK_DOORS.get(aliases.get(node.value.id, ""), ())
    ]


def global_state(module: ast.Module) -> list[str]:
    """`global` statements: state that outlives a machine."""
    return [f"line {n.lineno}: global" for n in ast.walk(module) if isinstance(n, ast.Global)]


@pytest.mark.parametrize("path", pure_files(), ids=name)
def test_a_pure_module_touches_nothing_but_its_arguments(path: Path) -> None:
    module = tree(path)
    assert world_calls(module) + back_doors(module) + global_state(module) == []


def test_the_pure_layers_are_all_there() -> None:
    found = {p.relative_to(SOURCE).parts[0].removesuffix(".py") for p in pure_files()}
    assert found == set(PURE)


@pytest.mark.parametrize("call", ["open('x')", "print(1)", "exec('1')"])
def test_a_call_that_does_io_is_seen(call: str) -> None:
    assert world_calls(ast.parse(f"def f():\n    return {call}\n"))


def test_numpys_generator_and_globals_are_seen() -> None:
    module = ast.parse("import numpy as np\ndef f():\n    global g\n    g = np.random.rand()\n")
    assert back_doors(module)
    assert global_state(module)


def test_the_client_loads_neither_codecs_nor_servers() -> None:
    script = (
        "import sys, legato, legato.client\n"
        "heavy = {'av', 'legato.bus', 'legato.codecs', 'legato.engines', 'onnxruntime', "
        "'pydantic', 'starlette', 'typer', 'uvicorn'}\n"
        "print(*sorted(heavy & set(sys.modules)))\n"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert loaded.stdout.split() == []
