import pytest

from legato.protocol.connection import Draining, FlowControl, Hello, Message, Ping


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (Ping(id=1), "ping"),
        (FlowControl(rate=1), "flow_control"),
        (Hello(version=1), "hello"),
        (Draining(deadline=5), "draining"),
    ],
)
def test_the_type_is_the_class_name_in_snake_case(message: Message, name: str) -> None:
    assert message.__struct_config__.tag == name


def test_flow_control_without_a_stream_is_for_all() -> None:
    assert FlowControl(rate=0.5).stream is None
