"""What all requests of one CosyVoice share, with the faults of the real one.

- `token_hop_len` of versions 2 and 3 grows with each chunk and is never set back.
- The state of a request is dropped after its last chunk alone: not when it is abandoned.
- The thread of the language model goes on when nobody wants its tokens; if it raises, whoever
  waits for it with `stream=True` waits for ever, and without gets what there is.
- Tokens are looked for every 0.1 s.
- Two requests at once spoil each other.
"""

import threading
import time
import uuid
from collections.abc import Generator, Iterator
from time import sleep as compute

import numpy as np

from tests.standins.cosyvoice.sound import LOUDNESS, Samples, SpeechToken, Tensor, sound, tokens

END_OF_PROMPT = "<|endofprompt|>"
FIRST_HOP = 25
LARGEST_HOP = 100
LOOKAHEAD = 3
NOISE_SECONDS = 0.04
FIRST_LEVEL = 0.5
OFFSET = 0.3
PEAK = 1.5

Text = str | Generator[str, None, None]


class CosyVoiceModel:
    """Version 1: each request has its own chunk length."""

    token_pause = 0.0002
    """Seconds that a speech token takes."""
    step_pause = 0.001
    """Seconds that a chunk takes from tokens to sound."""
    needs_end_of_prompt = False

    def __init__(self, sample_rate: int, *, parallel: bool) -> None:
        self.sample_rate = sample_rate
        self.parallel = parallel
        self.lock = threading.Lock()
        self.tts_speech_token_dict: dict[str, list[SpeechToken]] = {}
        self.llm_end_dict: dict[str, bool] = {}
        self.hift_cache_dict: dict[str, object] = {}
        self.generated = 0
        self.voiced: list[SpeechToken] = []
        self.cut: list[list[SpeechToken]] = []
        self.said: list[str] = []

    def next_hop(self, hop: int) -> int:
        return min(LARGEST_HOP, 2 * hop)

    def llm_job(self, text: Text, prompt: str, this_uuid: str) -> None:
        if isinstance(text, Generator) and type(self).__name__ == "CosyVoiceModel":
            raise AssertionError("streaming input text is for CosyVoice 2 and 3")
        count = 0
        for piece in [text] if isinstance(text, str) else text:
            self.said.append(piece)
            prompt += piece
            assert END_OF_PROMPT in prompt or not self.needs_end_of_prompt, "no end of prompt"
            for token in tokens(piece.rpartition(END_OF_PROMPT)[2], count):
                if self.token_pause:
                    compute(self.token_pause)
                self.tts_speech_token_dict[this_uuid].append(token)
                self.generated += 1
                count += 1
        self.llm_end_dict[this_uuid] = True

    def tts(self, text: Text, prompt: str, *, stream: bool, speed: float) -> Iterator[Tensor]:
        this_uuid = str(uuid.uuid1())
        with self.lock:
            self.tts_speech_token_dict[this_uuid] = []
            self.llm_end_dict[this_uuid] = False
            self.hift_cache_dict[this_uuid] = None
        thread = threading.Thread(target=self.llm_job, args=(text, prompt, this_uuid))
        thread.start()
        done = 0
        if stream:
            assert speed == 1.0, "speed change only support non-stream inference mode"
            for chunk in self._chunks(this_uuid):
                yield self._wave(this_uuid, chunk, first=done == 0)
                done += len(chunk)
        thread.join()
        rest = self.tts_speech_token_dict[this_uuid][done:]
        yield self._wave(this_uuid, rest, first=done == 0, noisy=stream, speed=speed)
        with self.lock:
            self.tts_speech_token_dict.pop(this_uuid)
            self.llm_end_dict.pop(this_uuid)
            self.hift_cache_dict.pop(this_uuid)

    def _chunks(self, this_uuid: str) -> Iterator[list[SpeechToken]]:
        done, hop = 0, FIRST_HOP
        while True:
            time.sleep(0.1)
            found = self.tts_speech_token_dict[this_uuid]
            if len(found) - done >= hop + LOOKAHEAD:
                yield found[done : done + hop]
                done += hop
                hop = self.next_hop(hop)
            elif self.llm_end_dict[this_uuid]:
                return

    def _wave(
        self,
        this_uuid: str,
        chunk: list[SpeechToken],
        *,
        first: bool,
        noisy: bool = False,
        speed: float = 1.0,
    ) -> Tensor:
        """Take time, look at what all requests share, and give the sound."""
        self.hift_cache_dict[this_uuid] = object()
        self.voiced = chunk
        self.cut.append(chunk)
        compute(self.step_pause)
        if not self.parallel:
            chunk = self.voiced  # of whoever came last
        wave = sound(chunk, self.sample_rate)
        if speed != 1.0:
            places = np.arange(0, len(wave), speed)
            wave = np.interp(places, np.arange(len(wave)), wave).astype(np.float32)
        return Tensor(_spoilt(wave, first=first, noisy=noisy, rate=self.sample_rate)[None])


class CosyVoice2Model(CosyVoiceModel):
    """Versions 2 and 3: all requests share one chunk length."""

    def __init__(self, sample_rate: int, *, parallel: bool) -> None:
        super().__init__(sample_rate, parallel=parallel)
        self.token_hop_len = FIRST_HOP

    def _chunks(self, this_uuid: str) -> Iterator[list[SpeechToken]]:
        done = 0
        while True:
            time.sleep(0.1)
            hop = self.token_hop_len
            found = self.tts_speech_token_dict[this_uuid]
            if len(found) - done >= hop + LOOKAHEAD:
                self.token_hop_len = self.next_hop(hop)
                yield found[done : done + hop]
                done += hop
            elif self.llm_end_dict[this_uuid]:
                return


class CosyVoice3Model(CosyVoice2Model):
    """Version 3 asserts that the prompt has an end."""

    needs_end_of_prompt = True


def _spoilt(wave: Samples, *, first: bool, noisy: bool, rate: int) -> Samples:
    """A first chunk that is too quiet, later ones off centre and too loud, noise at the end."""
    spoilt = FIRST_LEVEL * wave if first else wave + np.float32(OFFSET)
    if not first and len(spoilt):
        spoilt[len(spoilt) // 2] = PEAK
    if noisy:
        count = min(len(spoilt), round(rate * NOISE_SECONDS))
        noise = np.random.default_rng(1).uniform(-1, 1, count)
        spoilt[len(spoilt) - count :] = (2 * LOUDNESS * noise).astype(np.float32)
    return spoilt.astype(np.float32)
