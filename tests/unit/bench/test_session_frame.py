from legato.bench.session_frame import FRAMES, Duplex, ack, pass_frames
from legato.protocol.codec import decode_client
from legato.protocol.media import AudioFrame, encode_frame
from legato.protocol.messages import Ack


def test_every_frame_that_goes_up_comes_down_once() -> None:
    duplex = Duplex()
    frames = [
        encode_frame(AudioFrame(b"\0" * 640, seq, sample=seq * 320), 1, 0) for seq in range(9)
    ]
    assert duplex.run(frames, {5: ack(4)}, b"\1" * 640) > 0
    assert duplex.take_sent() == 9
    assert duplex.take_sent() == 0


def test_runs_go_on_where_the_last_one_ended() -> None:
    duplex = Duplex()
    for number in range(2):
        assert pass_frames(duplex, first=number * FRAMES) > 0
        assert duplex.take_sent() == FRAMES


def test_an_ack_is_what_a_client_sends() -> None:
    told = decode_client(ack(4))
    assert isinstance(told, Ack)
    assert (told.received_seq, told.received_upto, told.credit_samples) == (4, 1600, 481_600)
