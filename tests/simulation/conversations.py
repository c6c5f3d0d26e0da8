"""Conversations of a client, recorded for other implementations of its session."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from legato.errors import Draining as DrainingError
from legato.errors import (
    EngineUnavailable,
    EpochChanged,
    Overloaded,
    SessionExpired,
    StreamExists,
    UnknownVoice,
)
from legato.protocol.codec import encode
from legato.protocol.faults import error_message
from legato.protocol.media import AudioFrame, encode_frame
from legato.protocol.messages import (
    Ack,
    Draining,
    Error,
    FlowControl,
    Hello,
    Message,
    Notice,
    Ping,
    Pong,
    Resumed,
    StreamEnd,
    StreamStart,
    StreamStarted,
    Transcript,
    UtteranceEnd,
    Welcome,
)
from legato.session.client_stream import ClientStream
from tests.simulation.link import Conditions
from tests.simulation.pair import Pair
from tests.simulation.recorder import RecordingSession, conversation
from tests.simulation.succession import Luck, Succession
from tests.simulation.talker import Talker

Conversation = dict[str, Any]

HELLO: Final = Hello(version=1)


def conversations() -> list[Conversation]:
    """All of them; each time the same."""
    return [
        *(simulated(seed) for seed in range(14)),
        *(succeeded(seed) for seed in range(4)),
        *(conversation(name, act()) for name, act in STORIES.items()),
    ]


# with a server


def simulated(seed: int) -> Conversation:
    """A client and a server over links that break; the even seeds lose histories too."""
    rng = Random(seed)
    loses = seed % 2 == 0
    conditions = Conditions(delay=rng.choice((0.0, 0.02, 0.3)), jitter=rng.choice((0.0, 0.05)))
    pair = Pair(rng, conditions, step=rng.choice((0.05, 0.3)))
    return play(f"simulation {seed}", pair, rng, loses=loses, digest=not loses)


def succeeded(seed: int) -> Conversation:
    """The same, where other servers go on with what one left."""
    rng = Random(1_000 + seed)
    pair = Pair(rng, Conditions(delay=0.3), step=0.05)
    pair.gateway = Succession(rng, Luck(store_delay=0.5), step=0.05)
    return play(f"succession {seed}", pair, rng, loses=False, digest=False)


def play(name: str, pair: Pair, rng: Random, *, loses: bool, digest: bool) -> Conversation:
    """Act what chance brings, and let the streams come to their ends."""
    session = RecordingSession(HELLO, digest=digest)
    pair.client = session
    talkers = [
        Talker(pair, f"stream-{seed}", task=task_of(seed)) for seed in range(rng.randint(1, 2))
    ]
    for _ in range(rng.randint(6, 12)):
        act(pair, rng.choice(talkers), rng, loses=loses)
    for talker in talkers:
        talker.finish()
    pair.run_until_over([talker.stream for talker in talkers])
    for talker in talkers:
        talker.check()
    return conversation(name, session)


def task_of(number: int) -> str:
    """Both by turns."""
    return ("synthesize", "echo")[number % 2]


def act(pair: Pair, talker: Talker, rng: Random, *, loses: bool) -> None:
    """Do one thing."""
    ends = rng.random() < 0.6
    match rng.choice(("say", "say", "say", "cancel", "wait", "cut", "pace", "lose")):
        case "say":
            talker.say(rng.choice(("hi", "abcdef", 2, 5)), ends=ends)
        case "cancel":
            talker.cancel(talker.latest - rng.randint(0, 1))
        case "cut":
            pair.reconnect_after = rng.choice((0.0, 0.1, 0.7))
            pair.cut(noticed_after=rng.choice((0.0, 1.0)))
        case "pace":
            pair.client.pace(rng.choice((0.5, 20.0)), talker.stream)
        case "lose" if loses:
            pair.gateway.lose(whole=ends)
    pair.run_until(pair.now + rng.choice((0.0, 0.01, 0.1, 0.7, 3.0)))


# by hand


class Story:
    """A client told what a server could say.

    Args:
        start: Parameters of its only stream.
        digest: Whether it says what its input adds up to.
    """

    def __init__(self, task: str = "synthesize", *, digest: bool = False) -> None:
        self.session = RecordingSession(HELLO, digest=digest)
        self.stream: ClientStream = self.session.start(StreamStart(stream_id="one", task=task))
        self.now = 1.0
        self.session.connected(self.now)
        self.turn()

    def turn(self, seconds: float = 0.25) -> None:
        """Let time pass, and the client do what is due."""
        self.now += seconds
        if self.now >= self.session.next_timer(self.now):
            self.session.handle_timer(self.now)
        self.session.take_events()
        self.session.take_frames(self.now)

    def hear(self, *messages: Message | AudioFrame) -> None:
        """Let the server say something."""
        for message in messages:
            data = (
                encode_frame(message, 1, 0) if isinstance(message, AudioFrame) else encode(message)
            )
            self.session.receive(data, self.now)
        self.turn()

    def welcome(self, token: str = "token-0", *, samples: int = 320_000) -> None:
        """Let the server greet, and begin the stream."""
        self.session.receive(
            encode(Welcome(version=1, session_id="s", resume_token=token)), self.now
        )
        self.begin(samples=samples)

    def begin(self, *, samples: int = 320_000) -> None:
        """Let the server begin the stream."""
        self.hear(
            StreamStarted(
                stream=1,
                stream_id="one",
                task=self.stream.start.task,
                sample_rate=16_000,
                epoch=self.stream.epoch,
                credit_samples=samples,
                credit_chars=6_000,
            ),
        )

    def reconnect(self, token: str = "token-1") -> None:
        """Break the connection and make another."""
        self.session.disconnected(self.now)
        self.turn()
        self.session.connected(self.now)
        self.hear(Welcome(version=1, session_id="s", resume_token=token))


def tone(seq: int, *, utterance: int = 0) -> AudioFrame:
    """A frame of down."""
    return AudioFrame(b"\x10\x20" * 320, seq=seq, sample=seq * 320, utterance=utterance)


def refused() -> RecordingSession:
    """The server has no such voice."""
    story = Story()
    story.hear(
        Welcome(version=1, session_id="s", resume_token="t"),
        error_message(UnknownVoice("no such voice"), 1),
    )
    return story.session


def failed() -> RecordingSession:
    """The session itself fails."""
    story = Story()
    story.welcome()
    story.hear(error_message(Overloaded("too much", retry_after=2.0)))
    return story.session


def silent() -> RecordingSession:
    """The server answers one ping, and no other."""
    story = Story()
    story.welcome()
    story.turn(2.5)
    story.hear(Pong(id=1, time=1.0), Ping(id=7, time=3.5))
    for _ in range(8):
        story.turn(1.0)
    return story.session


def gap() -> RecordingSession:
    """Frames are missing, first down and then up."""
    story = Story("echo", digest=True)
    story.welcome()
    for _ in range(5):
        story.stream.send_audio(b"\x01\x02" * 320)
    story.turn()
    story.hear(tone(0), tone(2), tone(3))
    story.hear(Resumed(stream=1, recovered=True, received_seq=3), tone(1), tone(2))
    story.hear(Error(code="sequence_gap", stream=1, expected=2))
    story.hear(Error(code="sequence_gap", stream=1, expected=77))
    return story.session


def credit() -> RecordingSession:
    """Credit and pace hold audio, and never control."""
    story = Story("echo")
    story.hear(FlowControl(rate=1.5))
    story.welcome(samples=40_000)
    for _ in range(30):
        story.stream.send_audio(b"\x01\x02" * 3_200)
    for _ in range(6):
        story.turn(0.4)
    story.hear(Ack(stream=1, received_seq=3, committed_seq=1, credit_samples=90_000))
    story.hear(FlowControl(rate=0.0, stream=1))
    story.stream.flush()
    story.stream.cancel(0)
    story.turn()
    story.hear(FlowControl(rate=4.0), Ack(stream=1, received_seq=14, committed_seq=14))
    story.stream.send_audio(b"\x03\x04" * 70_000)
    for _ in range(12):
        story.turn(0.3)
    return story.session


def long_text() -> RecordingSession:
    """Text longer than a piece, and than its credit; characters are code points."""
    story = Story()
    story.stream.send_text("語" * 1_500 + "\N{GRINNING FACE}" * 1_500)
    story.stream.send_text("x" * 2_000)
    story.stream.send_text("")
    story.stream.flush()
    story.stream.finalize()
    story.turn()
    story.welcome()
    story.hear(Ack(stream=1, received_seq=2, committed_seq=1, credit_chars=9_000))
    story.stream.finish()
    story.turn()
    return story.session


def cancelled() -> RecordingSession:
    """A cancel before anything was sent, one in the middle, and the hole that it leaves."""
    story = Story()
    story.stream.send_text("never sent")
    story.stream.finalize()
    story.stream.send_text("nor this")
    story.stream.cancel(1)
    story.stream.send_text("but this")
    story.turn()
    story.welcome()
    story.hear(
        UtteranceEnd(stream=1, seq=0, utterance=0, reason="cancelled", sent_seq=-1),
        UtteranceEnd(stream=1, seq=1, utterance=1, reason="cancelled", sent_seq=0),
        tone(2, utterance=2),
    )
    story.stream.consumed(640, story.now)
    story.stream.cancel(2, played_upto=100)
    story.stream.send_text("and more")
    story.stream.finish()
    story.session.receive(encode_frame(tone(3, utterance=2), 1, 0), story.now)
    story.turn()
    story.hear(
        UtteranceEnd(stream=1, seq=9, utterance=2, reason="cancelled", sample=1_600, sent_seq=3),
        AudioFrame(b"\x05\x06" * 320, seq=10, sample=1_600, utterance=3, last=True),
        UtteranceEnd(stream=1, seq=11, utterance=3, reason="done", sample=1_920),
        StreamEnd(stream=1, seq=12, frames=3, samples=1_920, digest="0" * 64),
    )
    story.hear(StreamEnd(stream=1, seq=12, frames=3, samples=1_920))
    return story.session


def recognized() -> RecordingSession:
    """A recognition whose server forgets it; what was committed is not said again."""
    story = Story("recognize")
    story.welcome()
    for number in range(10):
        story.stream.send_audio(bytes((number, 1)) * 320, last=number == 4)
    story.turn()
    story.hear(
        Ack(stream=1, received_seq=9, committed_seq=1, committed_upto=700),
        Transcript(stream=1, seq=0, kind="partial", text="one", end=1_000),
        Transcript(stream=1, seq=1, kind="final", text="one two", end=1_600),
        UtteranceEnd(stream=1, seq=2, utterance=0, reason="done"),
        Transcript(
            stream=1, seq=3, kind="final", text="three", utterance=1, start=1_600, end=2_000
        ),
    )
    story.reconnect()
    story.hear(error_message(SessionExpired("unknown here"), 1))
    story.begin()
    story.stream.finalize()
    story.stream.finish()
    story.turn()
    story.hear(
        UtteranceEnd(stream=1, seq=0, utterance=1, reason="done"),
        StreamEnd(stream=1, seq=1, frames=0, samples=0),
    )
    return story.session


def passing() -> RecordingSession:
    """Servers that cannot take a stream now; the token of one that goes away holds elsewhere."""
    story = Story()
    story.welcome()
    story.stream.send_text("hello")
    story.stream.finalize()
    story.turn()
    story.hear(
        Notice(stream=1, kind="queued", position=3),
        Draining(deadline=5.0, resume_token="elsewhere"),
    )
    story.reconnect()
    story.hear(error_message(DrainingError("going away"), 1))
    story.reconnect("token-3")
    story.hear(error_message(EngineUnavailable("loading", retry_after=1.0), 1))
    story.reconnect("token-4")
    story.hear(Resumed(stream=1, recovered=True, received_seq=0), tone(0))
    story.stream.played(200, story.now)
    story.turn()
    story.reconnect("token-5")
    story.hear(Resumed(stream=1, recovered=False, missing=(0, 320)))
    return story.session


def stopped() -> RecordingSession:
    """A stream that is stopped while something of it waits to be told."""
    story = Story()
    story.welcome()
    story.session.receive(encode_frame(tone(0), 1, 0), story.now)
    story.session.stop(story.stream)
    story.turn()
    story.hear(tone(1))
    return story.session


def ended_early() -> RecordingSession:
    """An utterance that failed goes on being said; another server ends it a second time."""
    story = Story()
    story.welcome()
    story.stream.send_text("one ")
    story.turn()
    story.hear(UtteranceEnd(stream=1, seq=0, utterance=0, reason="failed", code="unsupported_text"))
    story.hear(error_message(EpochChanged("something is lost"), 1))
    story.begin()
    story.stream.send_text("two")
    story.stream.finalize()
    story.stream.send_text("three")
    story.stream.finish()
    story.turn()
    story.hear(
        UtteranceEnd(stream=1, seq=0, utterance=0, reason="done"),
        tone(1, utterance=1),
        UtteranceEnd(stream=1, seq=2, utterance=1, reason="done", sample=640),
        StreamEnd(stream=1, seq=3, frames=1, samples=640),
    )
    return story.session


def cancelled_again() -> RecordingSession:
    """Cancels while nothing can be sent, each of which includes the ones before."""
    story = Story()
    story.welcome()
    story.stream.send_text("one")
    story.turn()
    story.session.disconnected(story.now)
    story.stream.cancel(0)
    story.stream.send_text("two")
    story.stream.finalize()
    story.stream.send_text("three")
    story.stream.cancel(1)
    story.stream.send_text("four")
    story.stream.cancel(2)
    story.stream.send_text("five")
    story.stream.cancel(2)
    story.session.connected(story.now)
    story.hear(Welcome(version=1, session_id="s", resume_token="token-1"))
    story.hear(Resumed(stream=1, recovered=True, received_seq=0))
    story.hear(error_message(EpochChanged("something is lost"), 1))
    story.begin()
    return story.session


def deleted() -> RecordingSession:
    """A stream that was lost cannot begin anew, for it was deleted."""
    story = Story()
    story.welcome()
    story.stream.send_text("one")
    story.turn()
    story.hear(error_message(EpochChanged("something is lost"), 1))
    story.hear(error_message(StreamExists("it was deleted"), 1))
    return story.session


STORIES: Final[dict[str, Callable[[], RecordingSession]]] = {
    "a stream that is refused": refused,
    "a session that fails": failed,
    "a server that falls silent": silent,
    "gaps": gap,
    "credit and pace": credit,
    "long text": long_text,
    "cancels": cancelled,
    "a recognition that is forgotten": recognized,
    "servers that cannot take a stream": passing,
    "a stream that is stopped": stopped,
    "an utterance that ends twice": ended_early,
    "cancels of what was not sent": cancelled_again,
    "a stream that was deleted": deleted,
}
