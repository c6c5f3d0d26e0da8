"""Networks on ONNX Runtime: the one place that imports it for our own engines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legato.engines.installation import require


def without_telemetry() -> None:
    """Keep ONNX Runtime, which is imported after this, from reporting its use to its makers.

    From 1.32 on it looks a host up and leaves files in the folders for caches and temporary files,
    unless told not to.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # noqa: TID251  (its library reads it)


def session(path: Path, *, threads: int = 1) -> Any:
    """Return an `onnxruntime.InferenceSession` on the CPU, without its memory arena.

    The arena keeps the largest working set for ever, and saves no time here: a call of hibari took
    0.99 of what it takes with it.

    Raises:
        EngineUnavailable: If onnxruntime is missing.
    """
    require("onnxruntime", extra="voices")
    without_telemetry()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = False
    if path.suffix == ".ort":
        for entry in ("use_memory_mapped_ort_model", "use_ort_model_bytes_for_initializers"):
            options.add_session_config_entry(f"session.{entry}", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class Network:
    """An ONNX or ORT graph on the CPU; `run` may be called from several threads at once.

    The weights of an `.ort` file are mapped, not read, so that processes share their pages.

    Args:
        path: An `.onnx` or `.ort` file.
        threads: Threads for one call. More than one costs more than it brings for networks
            of this size (docs/engines.md).

    Raises:
        EngineUnavailable: If onnxruntime is missing.
    """

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        self._session = session(path, threads=threads)

    def run(
        self, outputs: Sequence[str], inputs: Mapping[str, NDArray[np.generic]]
    ) -> list[NDArray[np.float32]]:
        """Return the named outputs for the named inputs."""
        found: list[NDArray[np.float32]] = self._session.run(list(outputs), dict(inputs))
        return found
