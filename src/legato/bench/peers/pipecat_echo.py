"""An echo made with pipecat: audio in is audio out, nothing between, everything optional off.

Run by the Python of an environment that has `pipecat-ai[websocket]`, uvicorn and uvloop
(`make bench` makes one); Legato itself never imports it.
"""

from __future__ import annotations

import socket
import sys

import uvicorn
from fastapi import FastAPI, WebSocket
from loguru import logger
from pipecat.frames.frames import Frame, InputAudioRawFrame, OutputAudioRawFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport
from pipecat.workers.runner import WorkerRunner

SAMPLE_RATE = 16_000
CHUNKS_OF_10_MS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
"""What one frame of its output holds; the first argument says otherwise."""

app = FastAPI()


class Echo(FrameProcessor):  # type: ignore[misc]  # pipecat is not installed where types are checked
    """Turns what was heard into what is said."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Pass everything on, input audio as output audio."""
        await super().process_frame(frame, direction)
        if isinstance(frame, InputAudioRawFrame):
            frame = OutputAudioRawFrame(
                audio=frame.audio, sample_rate=frame.sample_rate, num_channels=frame.num_channels
            )
        await self.push_frame(frame, direction)


@app.websocket("/ws")  # type: ignore[untyped-decorator]  # as above
async def serve(websocket: WebSocket) -> None:
    """Run one pipeline for one connection."""
    await websocket.accept()
    transport = FastAPIWebsocketTransport(
        websocket=websocket,
        params=FastAPIWebsocketParams(
            audio_in_enabled=True,
            audio_out_enabled=True,
            audio_out_10ms_chunks=CHUNKS_OF_10_MS,
            audio_out_auto_silence=False,
            serializer=ProtobufFrameSerializer(),
        ),
    )
    worker = PipelineWorker(
        Pipeline([transport.input(), Echo(), transport.output()]),
        params=PipelineParams(audio_in_sample_rate=SAMPLE_RATE, audio_out_sample_rate=SAMPLE_RATE),
        enable_rtvi=False,
        enable_turn_tracking=False,
        idle_timeout_secs=None,
        check_dangling_tasks=False,
    )

    @transport.event_handler("on_client_disconnected")  # type: ignore[untyped-decorator]  # as above
    async def leave(_transport: object, _websocket: object) -> None:
        await worker.cancel()

    runner = WorkerRunner(handle_sigint=False, check_dangling_tasks=False)
    await runner.add_workers(worker)
    await runner.run()


def main() -> None:
    """Listen on a free port and print it."""
    logger.remove()
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(
        app,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        ws_ping_interval=None,
        lifespan="off",
        log_level="error",
    )
    print(f"ready on ws://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
