import json
import re

import pytest

from legato.engines.base import Ability
from legato.errors import ERRORS
from legato.protocol.codec import CLIENT_TYPES, SERVER_TYPES, decode_client
from legato.protocol.messages import StreamStart
from legato.protocol.version import DEFAULT_PORT, SUBPROTOCOL
from legato.session.offer import check_start
from tests.architecture.checkout import ROOT

PAGE = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
MESSAGES = (ROOT / "docs" / "protocol-messages.md").read_text(encoding="utf-8")
SCRIPTS = dict(re.findall(r"<!-- script: (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))
SAID = re.findall(r"^→ (\{.*\})$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("text", SAID)
def test_a_message_of_the_example_is_read_with_all_its_fields(text: str) -> None:
    message = decode_client(text)

    assert {"type", *message.__struct_fields__} >= set(json.loads(text))


def test_the_stream_of_the_example_can_be_had() -> None:
    starts = [message for message in map(decode_client, SAID) if isinstance(message, StreamStart)]

    assert [check_start(start).sample_rate for start in starts] == [24_000]


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_a_raw_client_is_a_script_of_ten_lines(script: str) -> None:
    source = SCRIPTS[script]

    compile(source, script, "exec")
    assert len([line for line in source.splitlines() if line.strip()]) <= 10
    assert f'"ws://127.0.0.1:{DEFAULT_PORT}/v1/stream", subprotocols=["{SUBPROTOCOL}"]' in source


def test_there_is_a_script_for_either_way() -> None:
    assert set(SCRIPTS) == {"speak.py", "hear.py"}


def test_every_link_leads_somewhere() -> None:
    headings = {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    }
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        page, _, anchor = target.partition("#")
        assert (ROOT / "docs" / page).exists() if page else anchor in headings, target


def test_only_messages_and_errors_that_exist_are_named() -> None:
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", PAGE))
    known = CLIENT_TYPES | SERVER_TYPES | set(ERRORS)
    fields = set(re.findall(r"^\| `(\w+)` \|", MESSAGES, re.MULTILINE))

    abilities = {ability.value for ability in Ability}
    assert named <= known | fields | abilities
