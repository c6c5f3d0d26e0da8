import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.checkout import ROOT, files, name

PROTOS = [path for path in files() if path.suffix == ".proto"]


@pytest.mark.parametrize("proto", PROTOS, ids=name)
def test_the_protobuf_module_is_what_protoc_makes(proto: Path, tmp_path: Path) -> None:
    source = ROOT / "src"
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", "-I", source),
            *(f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", proto),
        ],
        check=True,
        timeout=60,
    )
    for suffix in ("_pb2.py", "_pb2.pyi"):
        checked_in = proto.with_name(proto.stem + suffix)
        made = tmp_path / checked_in.relative_to(source)
        assert checked_in.read_text() == made.read_text(), "make proto"
