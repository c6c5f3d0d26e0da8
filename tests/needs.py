"""What the tests need from outside Python, and how to get it.

`python -m tests.needs` (part of `make test`) installs what is missing where that is possible. A
test names what it needs with `@pytest.mark.requires("espeak-ng")`; `tests.skips` acts on it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.earlier import IS_HERE

INSTALL_TIMEOUT = 600.0
QUIETLY = ("-qq", "-o", "Dpkg::Use-Pty=0", "--yes", "install")


@dataclass(frozen=True, slots=True)
class Need:
    """Something outside Python that some tests use.

    Args:
        name: What the `requires` marker calls it.
        program: It is there when this program is on the PATH.
        path: It is there when this path exists.
        trial: It is there when this command succeeds.
        apt: The Debian package that brings it; empty when none does.
        otherwise: How to have it where no package brings it.
    """

    name: str
    program: str = ""
    path: str = ""
    trial: tuple[str, ...] = ()
    apt: str = ""
    otherwise: str = "cannot be installed here"

    def is_present(self) -> bool:
        """Whether tests can use it now."""
        if self.program and shutil.which(self.program) is None:
            return False
        if self.trial and not _succeeds(self.trial):
            return False
        return not self.path or Path(self.path).exists()

    def way_out(self) -> str:
        """What to do to have it."""
        return f"sudo apt-get install {self.apt}" if self.apt else self.otherwise


def _succeeds(command: Sequence[str]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, timeout=10).returncode == 0


NEEDS = {
    need.name: need
    for need in (
        Need("chromium", program="chromium", apt="chromium"),
        Need("espeak-ng", program="espeak-ng", apt="espeak-ng"),
        Need("earlier commit", trial=IS_HERE, otherwise="git fetch --unshallow"),
        Need("node", program="node", apt="nodejs"),
        Need("node", program="node", apt="nodejs"),
        Need("openssl", program="openssl", apt="openssl"),
        Need("own mounts", trial=("unshare", "--mount", "true")),
        Need("redis-server", program="redis-server", apt="redis-server"),
        Need(
            "pocketsphinx-testdata",
            path="/usr/share/pocketsphinx/test/data/librivox/transcription",
            apt="pocketsphinx-testdata",
        ),
        Need(
            "web packages",
            path=str(Path(__file__).parents[1] / "web" / "node_modules" / "typescript"),
            otherwise="npm ci --prefix web",
        ),
    )
}


def apt_get() -> list[str] | None:
    """The command line that may install packages without asking, None when there is none."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return ["apt-get"]
    if shutil.which("sudo") is None:
        return None
    asks = subprocess.run(["sudo", "-n", "true"], capture_output=True, timeout=10)
    return ["sudo", "-n", "apt-get"] if asks.returncode == 0 else None


def install(packages: Sequence[str], command: Sequence[str]) -> bool:
    """Install Debian packages; False when apt-get failed (it has said why)."""
    steps = (
        [*command, "-qq", "update"],
        [*command, *QUIETLY, "--no-install-recommends", *packages],
    )
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # A failed update is told but does not end it: an older package list often still serves.
    done = [
        subprocess.run(step, env=quiet, stdout=sys.stderr, timeout=INSTALL_TIMEOUT).returncode
        for step in steps
    ]
    return done[-1] == 0


def main() -> None:
    """Install what is missing, or say in one sentence what the user can do."""
    missing = sorted(need.apt for need in NEEDS.values() if need.apt and not need.is_present())
    if not missing:
        return
    names = " ".join(missing)
    command = apt_get()
    if command is not None:
        print(f"legato: installing {names}", flush=True)
        if install(missing, command):
            return
    print(
        f"legato: some tests need {names}. Install with: sudo apt-get install {names}\n"
        "legato: without it they are skipped, and named at the end of the run."
    )


if __name__ == "__main__":
    main()
