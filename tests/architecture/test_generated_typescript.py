import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import legato
from legato.errors import CLIENT_ONLY, ERRORS
from legato.protocol.codec import CLIENT_TYPES, SERVER_TYPES
from scripts.generate_typescript import comment, files, plain_kind, type_of
from scripts.write_sound_vectors import files as sound_vectors
from scripts.write_vectors import files as vectors
from tests.architecture.checkout import ROOT, name

FILES = files()
VECTORS = vectors()
SOUND_VECTORS = sound_vectors()


@pytest.mark.parametrize("path", sorted(FILES), ids=name)
def test_a_generated_file_is_what_the_declarations_say(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path], "scripts/generate_typescript.py"


@pytest.mark.parametrize("path", sorted(VECTORS), ids=name)
def test_vectors_are_what_this_code_does(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == VECTORS[path], "python -m scripts.write_vectors"


@pytest.mark.parametrize("path", sorted(SOUND_VECTORS), ids=name)
def test_vectors_of_sound_are_what_this_code_does(path: Path) -> None:
    told = path.read_text(encoding="utf-8")
    assert told == SOUND_VECTORS[path], "python -m scripts.write_sound_vectors"


@pytest.mark.parametrize("script", ["generate_typescript", "write_vectors", "write_sound_vectors"])
def test_check_finds_nothing_to_write(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"scripts.{script}", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_message_has_a_type_and_what_a_server_sends_a_shape() -> None:
    types, shapes = (text for _, text in sorted(FILES.items(), reverse=True))

    assert all(types.count(f'\n  type: "{kind}";') == 1 for kind in CLIENT_TYPES | SERVER_TYPES)
    assert all(f"\n  {kind}: `" in shapes for kind in SERVER_TYPES)
    assert not any(f"\n  {kind}: `" in shapes for kind in CLIENT_TYPES - SERVER_TYPES)


def test_errors_that_may_pass_are_known() -> None:
    shapes = FILES[min(FILES)]

    for kind in (*ERRORS.values(), *CLIENT_ONLY):
        assert (f"  {json.dumps(kind.code)},\n" in shapes) == kind.retryable


@pytest.mark.parametrize(
    ("schema", "typed", "kind"),
    [
        ({"$ref": "#/$defs/Limits"}, "Limits", "Limits"),
        ({"type": "integer", "minimum": 0, "maximum": 2**32 - 1}, "number", "number"),
        ({"type": "number"}, "number", "real"),
        ({"type": "number", "minimum": 0}, "number", "seconds"),
        ({"type": "number", "exclusiveMinimum": 0}, "number", "period"),
        ({"enum": ["a", "b"]}, '"a" | "b"', "a|b"),
        ({"type": "array", "items": {"type": "string"}}, "string[]", "text[]"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, "boolean", "flag"),
        ({"prefixItems": [{"type": "string"}] * 2}, "[string, string]", "text,text"),
        ({"type": "object"}, "Record<string, unknown>", "anything"),
    ],
)
def test_a_field_has_a_type_and_a_kind(schema: dict[str, Any], typed: str, kind: str) -> None:
    assert (type_of(schema), plain_kind(schema)) == (typed, kind)


def test_the_package_has_the_version_of_the_server() -> None:
    package = json.loads((ROOT / "web/src/core/package.json").read_text(encoding="utf-8"))

    assert (package["version"], package["license"]) == (legato.__version__, "Apache-2.0")


def test_a_long_comment_is_wrapped() -> None:
    lines = comment("word " * 60, "  ").splitlines()

    assert lines[0] == "  /**"
    assert lines[-1] == "   */"
    assert all(len(line) <= 100 for line in lines)
