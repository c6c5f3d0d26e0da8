import dataclasses
import shutil
import threading
import time
from pathlib import Path

import pytest

from legato.engines.models.catalogue import KnownModel
from legato.engines.models.faults import (
    FolderUnusable,
    HubBroken,
    HubRefused,
    HubUnreachable,
    ModelBusy,
    ModelNotFound,
    NoSpace,
    Stopped,
)
from legato.engines.models.names import parse
from legato.engines.models.shelf import MANIFEST
from tests.standins.hubs import COMMIT
from tests.unit.engines.models.conftest import FILES, WEIGHTS, Site

pytestmark = pytest.mark.integration

HUBS = pytest.mark.parametrize("name", ["huggingface:lark/bird", "modelscope:lark/bird"])


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MANIFEST
    }


@HUBS
def test_a_model_of_either_hub_appears_whole(site: Site, name: str) -> None:
    pulled = site.pull(name).run()

    assert content(pulled.path) == FILES
    assert pulled.path == site.shelf.folder(parse(name))
    assert pulled.fetched_bytes == sum(map(len, FILES.values())) == site.watcher.size_bytes
    assert sorted(site.watcher.done_paths) == sorted(FILES)
    assert not site.shelf.partial(parse(name)).exists()
    assert all(record.is_checkable for record in pulled.manifest.files)


def test_the_commit_that_was_listed_is_the_one_that_is_fetched(site: Site) -> None:
    pulled = site.pull().run()

    assert pulled.manifest.revision == COMMIT
    assert pulled.manifest.licence == "apache-2.0"
    assert all(COMMIT in one.path for one in site.hub.of("/resolve/"))


@HUBS
def test_what_is_there_is_not_fetched_again(site: Site, name: str) -> None:
    site.pull(name).run()
    site.hub.seen.clear()
    pulled = site.pull(name).run()

    assert pulled.was_there
    assert len(site.hub.seen) == 1  # the listing


@HUBS
def test_a_file_that_is_cut_is_gone_on_from(site: Site, name: str) -> None:
    site.hub.faults["model.bin"].cuts = [100_000, 50_000]
    pulled = site.pull(name).run()

    assert content(pulled.path) == FILES
    ranges = [one.headers.get("range") for one in site.hub.of("model.bin") if one.host == "cdn"]
    assert ranges == [None, "bytes=100000-", "bytes=150000-"]
    assert pulled.fetched_bytes == sum(map(len, FILES.values()))


def test_an_interrupted_pull_keeps_what_came_and_goes_on_from_it(site: Site) -> None:
    pace = site.hub.faults["model.bin"].pace = threading.Event()
    first = site.pull(parallel=1)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            first.run()
        except Stopped as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    deadline = time.monotonic() + 10
    while site.watcher.size_bytes < len(WEIGHTS) // 2 and time.monotonic() < deadline:
        time.sleep(0.01)  # the bytes come in another thread
    first.stop.set()
    pace.set()
    thread.join(10)

    assert len(failed) == 1
    entry = site.shelf.entry(parse("huggingface:lark/bird"))
    assert entry is not None
    assert not entry.is_whole
    site.hub.faults["model.bin"].pace = None
    pulled = site.pull().run()
    assert content(pulled.path) == FILES
    assert pulled.fetched_bytes < sum(map(len, FILES.values()))
    assert any("range" in one.headers for one in site.hub.of("model.bin"))


def test_a_changed_file_is_not_joined_to_an_old_part(site: Site) -> None:
    site.hub.tells_checksums = False  # nothing but the ETag tells them apart
    faults, site.hub.etags["model.bin"] = site.hub.faults["model.bin"], '"one"'
    faults.cuts = [100_000, 0, 0, 0]
    with pytest.raises(HubUnreachable):
        site.pull("modelscope:lark/bird", tries=1).run()
    faults.cuts.clear()
    site.hub.files["lark/bird"]["model.bin"] = WEIGHTS[::-1]
    site.hub.etags["model.bin"] = '"two"'
    pulled = site.pull("modelscope:lark/bird").run()

    assert content(pulled.path)["model.bin"] == WEIGHTS[::-1]
    last = [one for one in site.hub.of("model.bin") if one.host == "cdn"][-1]
    assert last.headers["if-range"] == '"one"'


def test_a_hub_that_ignores_ranges_sends_it_anew(site: Site) -> None:
    site.hub.faults["model.bin"].cuts = [100_000]
    site.hub.faults["model.bin"].ignores_range = True
    pulled = site.pull().run()

    assert content(pulled.path) == FILES
    assert site.watcher.size_bytes == sum(map(len, FILES.values()))


def test_a_hub_that_ignores_ranges_and_always_breaks_off_is_given_up(site: Site) -> None:
    site.hub.faults["model.bin"].cuts = [100_000] * 50
    site.hub.faults["model.bin"].ignores_range = True
    with pytest.raises(HubUnreachable, match=r"model\.bin broke off.*3 times"):
        site.pull(tries=3).run()
    assert len([one for one in site.hub.of("model.bin") if one.host == "cdn"]) == 4


def test_a_wrong_range_is_not_appended(site: Site) -> None:
    site.hub.faults["model.bin"].cuts = [100_000]
    site.hub.faults["model.bin"].wrong_range = True
    assert content(site.pull().run().path) == FILES


@HUBS
@pytest.mark.parametrize("path", ["model.bin", "tokens.txt"])
def test_wrong_bytes_are_fetched_once_more(site: Site, name: str, path: str) -> None:
    site.hub.faults[path].wrong = 1
    assert content(site.pull(name).run().path) == FILES


def test_bytes_that_stay_wrong_put_nothing_in_place(site: Site) -> None:
    site.hub.faults["model.bin"].wrong = 9
    with pytest.raises(HubBroken, match=r"model\.bin came twice with a wrong checksum"):
        site.pull().run()
    assert not site.shelf.folder(parse("huggingface:lark/bird")).exists()


def test_a_busy_hub_is_waited_for(site: Site) -> None:
    site.hub.faults["listing"].statuses = [(503, None)]
    site.hub.faults["model.bin"].statuses = [(429, "0"), (502, None)]
    assert content(site.pull().run().path) == FILES


def test_a_hub_that_asks_for_a_long_rest_is_told_of(site: Site) -> None:
    site.hub.faults["model.bin"].statuses = [(429, "4000")]
    with pytest.raises(HubUnreachable, match=r"429.*come back in 4000 s") as told:
        site.pull().run()
    assert told.value.retry_after == 4000


def test_a_missing_model_is_told_by_name(site: Site) -> None:
    with pytest.raises(ModelNotFound, match=r"huggingface:lark/nest is not on the hub.*404"):
        site.pull("huggingface:lark/nest").run()


def test_a_token_is_for_the_hub_and_never_for_its_cdn(site: Site) -> None:
    site.hub.secret = "hf_secret"
    with pytest.raises(HubRefused, match=r"models\.huggingface_key"):
        site.pull().run()
    site.pull(huggingface_key="hf_secret").run()
    site.pull("modelscope:lark/bird", modelscope_key="hf_secret").run()

    on_cdn = [one for one in site.hub.seen if one.host == "cdn"]
    assert on_cdn
    assert not any("hf_secret" in str(one) for one in on_cdn)


def test_a_machine_without_network_is_told_so(site: Site) -> None:
    site.pull().run()
    with pytest.raises(HubUnreachable, match="without the hub nothing can be fetched") as told:
        site.pull(huggingface="http://127.0.0.1:1").run()
    assert "legato models list" in told.value.message
    assert "models.huggingface" in told.value.message
    assert content(site.shelf.folder(parse("huggingface:lark/bird"))) == FILES


def test_a_new_revision_takes_over_what_has_not_changed(site: Site) -> None:
    site.pull().run()
    site.hub.files["lark/bird"] = {"model.bin": WEIGHTS, "tokens.txt": b"c\n"}
    pulled = site.pull().run()

    assert content(pulled.path) == {"model.bin": WEIGHTS, "tokens.txt": b"c\n"}
    assert pulled.fetched_bytes == 2


def test_a_spoilt_file_is_mended_when_asked(site: Site) -> None:
    path = site.pull().run().path
    (path / "model.bin").write_bytes(bytes(len(WEIGHTS)))
    assert site.pull().run().was_there
    pulled = site.pull(again=True).run()

    assert content(path) == FILES
    assert pulled.fetched_bytes == len(WEIGHTS)


def test_a_lost_file_is_noticed_without_being_asked(site: Site) -> None:
    path = site.pull().run().path
    (path / "tokens.txt").unlink()
    assert site.pull().run().fetched_bytes == len(FILES["tokens.txt"])
    assert content(path) == FILES


def test_two_pulls_of_one_model_do_not_meet(site: Site) -> None:
    with site.shelf.lock(parse("huggingface:lark/bird")), pytest.raises(ModelBusy):
        site.pull().run()
    site.pull().run()


def test_a_full_disk_is_told_before_anything_is_fetched(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(Path())
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1 << 20))
    with pytest.raises(NoSpace, match=r"needs 0 MiB more.*has 1 MiB free"):
        site.pull().run()
    assert [one.path for one in site.hub.of("model.bin")] == []


def test_a_folder_that_cannot_be_written_is_named(site: Site) -> None:
    site.shelf.root.write_bytes(b"")
    with pytest.raises(FolderUnusable, match="models"):
        site.pull().run()


def test_the_first_failure_stops_the_other_files(site: Site) -> None:
    site.hub.files["lark/bird"] |= {f"{number}.bin": WEIGHTS for number in range(8)}
    site.hub.faults["0.bin"].statuses = [(403, None)]
    with pytest.raises(HubRefused):
        site.pull(parallel=1).run()
    assert len([one for one in site.hub.seen if one.host == "cdn"]) < 9


def test_only_the_files_that_are_wanted_are_fetched(site: Site) -> None:
    known = KnownModel(
        name="bird",
        about="",
        engine="lark",
        sources=(parse("huggingface:lark/bird"),),
        needed=("model.bin",),
        left_out=("*.txt", "model.*"),
        licence="MIT",
    )
    pulled = dataclasses.replace(site.pull(), known=known).run()
    assert sorted(content(pulled.path)) == ["model.bin", "sub/config.json"]


@pytest.mark.parametrize("path", ["../evil", "/etc/evil", "a/../../evil", "a\\b", "a//b", "a\nb"])
@HUBS
def test_a_path_that_leads_out_is_refused(site: Site, name: str, path: str) -> None:
    site.hub.files["lark/bird"][path] = b"evil"
    with pytest.raises(HubBroken, match="leads out of its folder"):
        site.pull(name).run()


def test_a_proxy_of_the_environment_is_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.hub.files["lark/bird"] = {"tokens.txt": b"a\n"}  # none that is on the CDN
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("HTTP_PROXY", site.hub.url)
    monkeypatch.setenv("http_proxy", site.hub.url)
    pulled = site.pull(huggingface="http://hub.invalid").run()

    assert content(pulled.path) == {"tokens.txt": b"a\n"}
    assert all(one.path.startswith("http://hub.invalid/") for one in site.hub.seen)


def test_a_hub_that_falls_silent_is_asked_again(site: Site) -> None:
    site.hub.faults["model.bin"].stalls = 1
    pulled = site.pull(timeout=0.3).run()
    assert content(pulled.path) == FILES
    assert any("range" in one.headers for one in site.hub.of("model.bin"))


def test_a_file_longer_than_listed_is_refused(site: Site) -> None:
    site.hub.faults["model.bin"].extra = 1
    with pytest.raises(HubBroken, match=r"model\.bin is longer than the hub said"):
        site.pull().run()
    parts = site.shelf.partial(parse("huggingface:lark/bird")) / "parts"
    # Another file may have been on its way; of this one nothing is kept.
    sizes = [path.stat().st_size for path in parts.glob("*.part")]
    assert all(size < len(WEIGHTS) for size in sizes)


def test_a_part_that_is_complete_is_only_checked(site: Site) -> None:
    first = site.pull(parallel=1)
    moved = site.watcher.moved

    def stop_at_the_last_byte(size_bytes: int) -> None:
        moved(size_bytes)
        if site.watcher.size_bytes >= len(WEIGHTS):
            first.stop.set()

    site.watcher.moved = stop_at_the_last_byte  # type: ignore[method-assign]  # ends it there
    with pytest.raises(Stopped):
        first.run()
    site.hub.seen.clear()
    assert content(site.pull().run().path) == FILES
    assert site.hub.of("model.bin") == []


def test_a_pull_that_is_stopped_while_it_waits_ends_at_once(site: Site) -> None:
    stopped = site.pull()
    stopped.stop.set()
    site.hub.faults["listing"].statuses = [(503, "200")]
    with pytest.raises(Stopped):
        stopped.run()
