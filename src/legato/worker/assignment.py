"""One claimed job from claim to last word, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Final, Protocol

from legato.audio import PayloadFormat
from legato.bus.base import Claim, Direction, Logs, LogWriter
from legato.errors import (
    BusUnavailable,
    EngineFailed,
    Internal,
    LegatoError,
    SessionExpired,
    SessionReplaced,
    UnexpectedMessage,
)
from legato.protocol.faults import error_message
from legato.protocol.messages import Notice
from legato.protocol.payloads import bitrate_of, payload_format
from legato.telemetry.logs import logger, trace_of
from legato.worker.cache import SpeechCache
from legato.worker.calls import EngineLost
from legato.worker.config import WorkerConfig
from legato.worker.deliveries import count_deliveries
from legato.worker.downlog import DownLog
from legato.worker.echo import Echo
from legato.worker.hearing import check_abilities
from legato.worker.pool import EnginePool
from legato.worker.prompts import Prompts
from legato.worker.recognition import Recognition
from legato.worker.routing import Router
from legato.worker.synthesis import Synthesis
from legato.worker.takeover import GivenBack, Standing, first_standing, read_standing

GONE: Final = (SessionExpired, SessionReplaced)
"""The stream was deleted, or is another worker's now: there is nobody to tell."""

RELEASED: Final = "released"
"""Outcome of a job that is to be given back."""

PATIENCE: Final = 4
"""Deaths of its engine that a stream survives as a bystander, for one that it is suspected of."""

log = logger("legato.worker.assignment")


class Work(Protocol):
    """What does a job."""

    async def run(self) -> None:
        """Work to the end.

        Raises:
            GivenBack: If it was left before.
        """

    def leave(self) -> None:
        """Have `run` end as soon as another worker can go on."""


class Assignment:
    """Does one job.

    Args:
        claim: The job, and the fence to write with.
        logs: Of the bus.
        config: For the bounds.
        router: Knows the synthesizers.
        recognizer: The engine of a recognition.
        cache: Speech that was made before.
        clock: Monotonic seconds.
        prompts: Where the voices of tenants' own come from.
    """

    def __init__(
        self,
        claim: Claim,
        *,
        logs: Logs,
        config: WorkerConfig,
        router: Router,
        recognizer: EnginePool | None,
        cache: SpeechCache,
        clock: Callable[[], float],
        prompts: Prompts | None = None,
    ) -> None:
        self._claim = claim
        self._prompts = prompts
        self._job = claim.job
        self._logs = logs
        self._config = config
        self._router = router
        self._recognizer = recognizer
        self._cache = cache
        self._clock = clock
        self._leaving = False
        self._current: Work | None = None
        self._log = log.bind(
            tenant=claim.job.key.tenant, stream=claim.job.key.stream_id, engine=claim.job.engine
        )

    def leave(self) -> None:
        """Give the job back as soon as another worker can go on with nothing to say again.

        A recognition is left at its last final, a synthesis between two utterances.
        """
        self._leaving = True
        if self._current is not None:
            self._current.leave()

    async def run(self) -> str:
        """Work until the job is done or has failed.

        Returns:
            `ok`, `gone`, `released` after `leave`, or the error's code.
        """
        writer = self._logs.writer(self._job.key, Direction.DOWN, fence=self._claim.fence)
        try:
            await self._work(writer)
            await writer.settle()  # a job that is finished is never delivered again
        except GONE:
            return "gone"
        except GivenBack:
            return RELEASED
        except BusUnavailable:
            return BusUnavailable.code
        except LegatoError as error:
            return self._fail(writer, error)
        except Exception as error:  # noqa: BLE001  top of the job: a bug ends its stream only
            self._log.critical("job failed", trace=trace_of(error))
            return self._fail(writer, Internal())
        return "ok"

    async def _work(self, writer: LogWriter) -> None:
        await writer.settle()
        payload = payload_format(self._job.start)
        # Also a first delivery may be of a stream that another worker began and gave back.
        standing = await read_standing(
            self._logs,
            self._job.key,
            payload.sample_bytes,
            packet_samples=payload.packet_samples,
            first=lambda: first_standing(self._job.start),
        )
        deliveries = await count_deliveries(self._logs, self._claim, standing)
        if deliveries > self._config.max_deliveries:
            raise EngineFailed(f"given up: {deliveries - 1} workers did not finish this stream")
        limit, suspected = self._config.max_redos + 1, 0
        begun = standing.is_open or self._claim.deliveries > 1
        news = "another worker goes on with the stream" if begun else ""
        for attempt in range(limit * PATIENCE):
            if standing.over:
                return
            try:
                await self._attempt(writer, standing, payload, news=news)
                return
            except EngineLost as lost:
                self._log.warning("engine lost, the stream goes on elsewhere", attempt=attempt)
                news = "the engine is being replaced"
                suspected += not lost.bystander
                if suspected == limit:
                    break
        raise EngineFailed(f"{self._job.engine} died {attempt + 1} times. {EngineFailed.advice}")

    def _attempt(
        self, writer: LogWriter, standing: Standing, payload: PayloadFormat, *, news: str
    ) -> Coroutine[None, None, None]:
        if self._job.start.task == "echo":
            if news:
                writer.append([Notice(kind="recovering", message=news), Notice(kind="restored")])
            work: Work = Echo(self._job, logs=self._logs, writer=writer, standing=standing)
        else:
            down = DownLog(
                writer,
                audio=payload.pcm,
                frame_ms=payload.frame_ms,
                standing=standing,
                codec=payload.codec,
                bitrate=bitrate_of(self._job.start),
            )
            if news:
                down.recovering(news, idle=not standing.is_open)
            work = self._engine_work(down, standing)
        self._current = work
        if self._leaving:
            work.leave()
        return work.run()

    def _engine_work(self, down: DownLog, standing: Standing) -> Work:
        job, logs, clock = self._job, self._logs, self._clock
        if job.start.task == "synthesize":
            return Synthesis(
                job,
                logs=logs,
                down=down,
                standing=standing,
                router=self._router,
                cache=self._cache,
                config=self._config,
                clock=clock,
                prompts=self._prompts,
            )
        if self._recognizer is None:
            raise UnexpectedMessage(f"{job.engine} cannot {job.start.task}")
        if self._recognizer.info is not None:
            check_abilities(job.start, self._recognizer.info)
        return Recognition(
            job,
            logs=logs,
            down=down,
            standing=standing,
            pool=self._recognizer,
            idle_release=self._config.idle_release,
            clock=clock,
        )

    def _fail(self, writer: LogWriter, error: LegatoError) -> str:
        """Say the stream's last word."""
        self._log.info("stream failed", code=error.code)
        try:
            writer.append([error_message(error)])
        except LegatoError as refusal:
            # Gone, or full because its client does not read: nobody is left to tell.
            self._log.info("stream's error not written", code=refusal.code)
        return error.code
