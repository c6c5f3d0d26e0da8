import pytest

from legato.gateway.config import GatewayConfig


def test_what_is_announced_is_what_is_set() -> None:
    config = GatewayConfig(
        resume_window=5.0,
        max_message_bytes=1000,
        max_streams=2,
        max_text_chars=50,
        heartbeat_idle=7.0,
        heartbeat_active=1.0,
    )
    limits, heartbeat = config.limits, config.heartbeat
    assert (limits.resume_window, limits.max_message_bytes) == (5.0, 1000)
    assert (limits.max_streams, limits.max_text_chars) == (2, 50)
    assert (heartbeat.idle, heartbeat.active) == (7.0, 1.0)


@pytest.mark.parametrize("aliases", [{"a": ""}, {"": "heart"}, {"heart": "heart"}])
def test_an_alias_names_a_voice(aliases: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="voice_aliases"):
        GatewayConfig(voice_aliases=aliases)
