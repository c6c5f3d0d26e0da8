from email.parser import BytesParser
from email.policy import HTTP

from legato.engines.upstream.multipart import File, encode


def test_a_form_is_what_others_read_of_it() -> None:
    file = File("wav", "a.wav", "audio/wav", b"\r\n--x\x00\xff")
    body, kind = encode([("text", "你好\r\n"), ("n", "1"), ("n", "2")], [file])
    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    parts = [
        (
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part.get_payload(decode=True),
        )
        for part in message.iter_parts()
    ]
    assert parts == [
        ("text", None, "你好\r\n".encode()),
        ("n", None, b"1"),
        ("n", None, b"2"),
        ("wav", "a.wav", b"\r\n--x\x00\xff"),
    ]
