from legato.protocol.streams import Ack, NumberedMessage, StreamStart, Text


def test_the_defaults_of_a_start_are_speech_in_small_frames() -> None:
    start = StreamStart(stream_id="a", task="synthesize")

    assert (start.codec, start.sample_rate, start.channels) == ("pcm_s16le", 16_000, 1)
    assert (start.frame_ms, start.streaming, start.framing) == (20, True, "protobuf")


def test_starts_do_not_share_their_options() -> None:
    first = StreamStart(stream_id="a", task="echo")
    first.options["warm"] = True
    first.hotwords.append("legato")

    second = StreamStart(stream_id="b", task="echo")
    assert (second.options, second.hotwords) == ({}, [])


def test_a_new_ack_acknowledges_nothing() -> None:
    assert (Ack().received_seq, Ack().committed_seq) == (-1, -1)


def test_text_has_a_place_in_the_history_and_an_ack_has_none() -> None:
    assert issubclass(Text, NumberedMessage)
    assert not issubclass(Ack, NumberedMessage)
