"""`legato serve`, `legato gateway` and `legato worker`: what runs until it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from legato.cli.extras import need
from legato.cli.loop import run
from legato.cli.options import ConfigFile

if TYPE_CHECKING:
    from legato.cli.fleet import Fleet
    from legato.settings import Loaded, Settings
    from legato.worker.config import WorkerConfig

Host = Annotated[str | None, typer.Option(help="Address to bind [default: 127.0.0.1].")]
Port = Annotated[int | None, typer.Option(help="TCP port [default: 8440]; 0: a free one.")]
BusUrl = Annotated[
    str | None, typer.Option("--bus", help="Bus between gateways and workers [default: memory:].")
]
Processes = Annotated[
    int, typer.Option(min=1, help="Gateway processes on the port; more than 1 need a shared --bus.")
]
TlsCert = Annotated[Path | None, typer.Option(help="PEM file with the certificate; turns on TLS.")]
TlsKey = Annotated[Path | None, typer.Option(help="PEM file with its private key.")]
MetricsHost = Annotated[
    str | None, typer.Option(help="Address to bind for --metrics-port [default: 127.0.0.1].")
]
MetricsPort = Annotated[
    int | None,
    typer.Option(help="Serve /metrics, /healthz and /readyz on this TCP port; 0: a free one."),
]
LogLevel = Annotated[str | None, typer.Option(help="debug, info, warning or error.")]

GATEWAYS_AND_WORKERS: Final = "gateways and workers in processes of their own need"


def serve(
    host: Host = None,
    port: Port = None,
    bus: BusUrl = None,
    processes: Processes = 1,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    log_level: LogLevel = None,
    config: ConfigFile = None,
) -> None:
    """Serve speech: WebSocket and HTTP on one port, engines beside it."""
    settings = _settings(config, bus, log_level, _gateway_flags(host, port, tls_cert, tls_key))
    check_processes(settings.bus.url, processes)
    own = _own_flags(bus, tls_cert, tls_key, log_level, config)
    _run(settings, fleet=_fleet(settings, processes, own), reread=_reread(config))


def gateway(
    host: Host = None,
    port: Port = None,
    bus: BusUrl = None,
    processes: Processes = 1,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    log_level: LogLevel = None,
    config: ConfigFile = None,
    listen_fd: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Serve clients alone: WebSocket and HTTP; workers on the same bus do the work."""
    settings = _settings(config, bus, log_level, _gateway_flags(host, port, tls_cert, tls_key))
    _need_shared(settings.bus.url, GATEWAYS_AND_WORKERS)
    own = _own_flags(bus, tls_cert, tls_key, log_level, config)
    _run(settings, worker=False, fleet=_fleet(settings, processes, own), listen_fd=listen_fd)


def worker(
    bus: BusUrl = None,
    metrics_host: MetricsHost = None,
    metrics_port: MetricsPort = None,
    log_level: LogLevel = None,
    config: ConfigFile = None,
) -> None:
    """Run engines alone, for the gateways on the same bus."""
    metrics = {"host": metrics_host, "port": metrics_port}
    settings = _settings(config, bus, log_level, {"metrics": metrics})
    _need_shared(settings.bus.url, GATEWAYS_AND_WORKERS)
    _run(settings, gateway=False, reread=_reread(config))


def check_processes(url: str, processes: int) -> None:
    """Check that so many gateway processes can share the bus.

    Raises:
        BadSettings: If not, or if there is no such bus.
    """
    from legato.cli.buses import is_shared

    shared = is_shared(url)
    if processes > 1 and not shared:
        _need_shared(url, f"{processes} gateway processes need")


def _need_shared(url: str, what: str) -> None:
    from legato.cli.buses import need_shared

    need_shared(url, what)


def _gateway_flags(
    host: str | None, port: int | None, tls_cert: Path | None, tls_key: Path | None
) -> dict[str, Any]:
    flags = {
        "host": host,
        "port": port,
        "tls_cert": None if tls_cert is None else str(tls_cert),
        "tls_key": None if tls_key is None else str(tls_key),
    }
    return {"gateway": flags}


def _settings(
    config: Path | None, bus: str | None, log_level: str | None, own_flags: dict[str, Any]
) -> Settings:
    need("server")
    from legato.settings import load
    from legato.telemetry.logs import configure

    flags = {**own_flags, "bus": {"url": bus}, "log": {"level": log_level}}
    loaded = load(file=config, flags=flags)
    settings = loaded.settings
    configure(settings.log.format, settings.log.level)
    _check_metrics(loaded)
    return settings


def _check_metrics(loaded: Loaded) -> None:
    """Check that an address of metrics comes with a port, without which there are none.

    Raises:
        BadSettings: If not.
    """
    from legato.settings import BadSettings

    origins = {setting.name: setting.origin for setting in loaded.in_force}
    origin = origins["metrics.host"]
    if loaded.settings.metrics.port is None and origin != "default":
        raise BadSettings(
            f"{origin}: metrics.host has no effect without metrics.port: set that too (0 takes a"
            " free port), or leave both out"
        )


def _own_flags(
    bus: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    log_level: str | None,
    config: Path | None,
) -> list[str]:
    """Return the flags of this command that its gateway processes need too."""
    flags = {
        "--bus": bus,
        "--tls-cert": tls_cert,
        "--tls-key": tls_key,
        "--log-level": log_level,
        "--config": config,
    }
    given = [(flag, str(value)) for flag, value in flags.items() if value is not None]
    return [word for pair in given for word in pair]


def _fleet(settings: Settings, processes: int, own_flags: list[str]) -> Fleet | None:
    if processes < 2:
        return None
    from legato.cli.fleet import Fleet

    where = ["--host", settings.gateway.host]
    command = ["gateway", *where, *own_flags]
    return Fleet(settings.gateway, processes=processes, command=command)


def _run(
    settings: Settings,
    *,
    gateway: bool = True,
    worker: bool = True,
    fleet: Fleet | None = None,
    listen_fd: int | None = None,
    reread: Callable[[], WorkerConfig] | None = None,
) -> None:
    from legato.cli.lifetime import serve_until_stopped

    run(
        serve_until_stopped(
            settings,
            gateway=gateway,
            worker=worker,
            fleet=fleet,
            listen_fd=listen_fd,
            reread=reread,
        )
    )


def _reread(config: Path | None) -> Callable[[], WorkerConfig]:
    """Return what reads the worker's settings again; no flag has a say in them."""

    def reread() -> WorkerConfig:
        from legato.settings import load

        return load(file=config).settings.worker

    return reread
