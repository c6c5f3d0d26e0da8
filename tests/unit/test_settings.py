import dataclasses
import json
import tomllib
from pathlib import Path

import pytest

from legato.engines.models.config import ModelsConfig
from legato.settings import (
    ENV_PREFIX,
    FILE_NAME,
    MASK,
    BadSettings,
    Loaded,
    Settings,
    load,
    models_folder,
    sections,
)
from legato.worker.config import DEFAULT_ENGINES, EngineSpec

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no settings from outside."""
    monkeypatch.chdir(tmp_path)
    for variable in ("LEGATO_GATEWAY__PORT", "LEGATO_CLIENT__URL"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def origins(loaded: Loaded) -> dict[str, str]:
    return {one.name: one.origin for one in loaded.in_force if one.origin != "default"}


def write(text: str, name: str = FILE_NAME) -> Path:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_word_everything_is_as_declared() -> None:
    loaded = load()

    assert loaded.settings == Settings()
    assert origins(loaded) == {}
    names = {
        f"{name}.{f.name}" for name, kind in sections().items() for f in dataclasses.fields(kind)
    }
    assert {one.name for one in loaded.in_force} == names


def test_flags_beat_variables_beat_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write('[gateway]\nport = 1\nhost = "file"\nmax_streams = 3\n')
    monkeypatch.setenv("LEGATO_GATEWAY__PORT", "2")
    monkeypatch.setenv("LEGATO_GATEWAY__HOST", "variable")

    loaded = load(flags={"gateway": {"port": 3, "host": None}, "bus": {"url": None}})

    gateway = loaded.settings.gateway
    assert (gateway.port, gateway.host, gateway.max_streams) == (3, "variable", 3)
    assert origins(loaded) == {
        "gateway.port": "flag",
        "gateway.host": "environment",
        "gateway.max_streams": "file",
    }


def test_a_file_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    write("[gateway]\nport = 1\n")
    path = write("[gateway]\nport = 2\n", "other.toml")

    assert load().settings.gateway.port == 1
    assert load(file=path).settings.gateway.port == 2


def test_lists_are_read_from_both(monkeypatch: pytest.MonkeyPatch) -> None:
    write('[[worker.engines]]\nkind = "recognize"\nname = "tone"\nslots = 4\n')
    monkeypatch.setenv("LEGATO_GATEWAY__ALLOWED_ORIGINS", '["https://a"]')

    settings = load().settings

    assert [(spec.kind.value, spec.name, spec.slots) for spec in settings.worker.engines] == [
        ("recognize", "tone", 4)
    ]
    assert settings.gateway.allowed_origins == ("https://a",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[gateway]\nprot = 1\n",
            "file: gateway.prot is not a setting; did you mean gateway.port?",
        ),
        ("[gatway]\nport = 1\n", "file: gatway is not a setting; did you mean gateway?"),
        ("[xyz]\n", "file: xyz is not a setting; see docs/configuration.md"),
        ("gateway = 5\n", "file: gateway is a section, not a value"),
        ('[gateway]\nport = "many"\n', "file: gateway.port: Input should be a valid integer"),
        ("[gateway]\nport = 70000\n", "file: gateway.port must be 0 to 65535, not 70000"),
        ("[gateway]\ndrain_timeout = -1\n", "gateway.drain_timeout must be 0 to 86400, not -1"),
        ("[gateway]\ndrain_timeout = inf\n", "gateway.drain_timeout must be 0 to 86400, not inf"),
        ("[client]\nrate = 0\n", "file: client.rate must be 0.01 to 10000, not 0"),
        ("[[worker.engines]]\nkind = 'sing'\nname = 'a'\n", "file: worker.engines.0.kind: "),
        ("[[worker.engines]]\nkind = 'recognize'\n", "file: worker.engines.0.name: "),
        ("[gateway\n", "settings file legato.toml: "),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(text: str, sentence: str) -> None:
    write(text)

    with pytest.raises(BadSettings) as caught:
        load()

    assert sentence in caught.value.message


@pytest.mark.parametrize(
    "name",
    [
        "worker.claim_wait",
        "worker.renew_every",
        "worker.announce_every",
        "worker.engine_timeout",
        "worker.lease",
        "worker.load_timeout",
        "gateway.heartbeat_idle",
        "gateway.heartbeat_active",
        "gateway.header_timeout",
        "gateway.idle_timeout",
        "gateway.slow_timeout",
        "gateway.max_message_bytes",
        "gateway.max_connections",
        "gateway.max_streams",
    ],
)
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "100000000000000000000"])
def test_what_would_break_a_server_is_refused_wherever_it_is_set(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    section, _, key = name.partition(".")
    write(f"[{section}]\n{key} = {value}\n")
    with pytest.raises(BadSettings, match=rf"^file: {name} must be \S+ to \d+, not {value}$"):
        load()

    Path(FILE_NAME).unlink()
    with pytest.raises(BadSettings, match=f"^flag: {name} must be"):
        load(flags={section: {key: float(value)}})

    monkeypatch.setenv(f"LEGATO_{section}__{key}".upper(), value)
    with pytest.raises(BadSettings, match=f"^environment: {name} must be"):
        load()


@pytest.mark.parametrize("key", ["processes", "slots"])
@pytest.mark.parametrize("value", [0, -1, 10**20])
def test_an_engine_needs_processes_and_slots(
    monkeypatch: pytest.MonkeyPatch, key: str, value: int
) -> None:
    write(f"[[worker.engines]]\nkind = 'recognize'\nname = 'tone'\n{key} = {value}\n")
    with pytest.raises(BadSettings, match=rf"^file: worker\.engines\.0\.{key} must be 1 to \d+"):
        load()

    engines = [{"kind": "recognize", "name": "tone", key: value}]
    monkeypatch.setenv("LEGATO_WORKER__ENGINES", json.dumps(engines))
    with pytest.raises(BadSettings, match=rf"^environment: worker\.engines\.0\.{key} must"):
        load()


def test_a_value_that_is_overruled_is_not_held_against_anybody() -> None:
    write("[gateway]\nport = -1\n")

    assert load(flags={"gateway": {"port": 1}}).settings.gateway.port == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "renew_every = 1.5",
            "file: worker.renew_every must be at most 1, not 1.5, with worker.lease at 2:",
        ),
        (
            "lease = 0.5",
            "file: worker.renew_every must be at most 0.25, not 0.5, with worker.lease at 0.5:",
        ),
        ("record_ttl = 3", "file: worker.announce_every must be at most 1.5, not 2"),
        ("restart_delay = 60", "file: worker.restart_delay must be at most 30, not 60"),
        ("[gateway]\nidle_timeout = 50", "file: gateway.heartbeat_idle must be at most 25"),
        ("[gateway]\nheartbeat_active = 46", "file: gateway.heartbeat_active must be at most 45"),
    ],
)
def test_settings_must_go_together(text: str, sentence: str) -> None:
    write(text if text.startswith("[") else f"[worker]\n{text}\n")

    with pytest.raises(BadSettings) as caught:
        load()

    assert caught.value.message.startswith(sentence)


def test_an_engine_is_named_once() -> None:
    write("[[worker.engines]]\nkind = 'recognize'\nname = 'tone'\n" * 2)

    with pytest.raises(BadSettings, match=r"file: worker\.engines names tone \(recognize\) twice"):
        load()


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("LEGATO_GATEWAY__PROT", "1", "environment: gateway.prot is not a setting"),
        ("LEGATO_GATWAY__PORT", "1", "LEGATO_GATWAY__PORT is not a setting"),
        ("LEGATO_GATEWAY__PORT", "many", "environment: gateway.port: "),
        ("LEGATO_GATEWAY__ALLOWED_ORIGINS", "a,b", "gateway.allowed_origins must be JSON"),
        ("LEGATO_GATEWAY__VOICE_ALIASES", "a=b", "gateway.voice_aliases must be JSON"),
        ("LEGATO_GATEWAY__VOICE_ALIASES", '{"a": ""}', "voice_aliases: 'a' cannot be ''"),
        ("LEGATO_GATEWAY", "nonsense", 'environment: error parsing value for field "gateway"'),
        ("LEGATO_GATEWAY", "5", "environment: gateway is a section"),
    ],
)
def test_variables_are_held_to_the_same(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(BadSettings) as caught:
        load()

    assert sentence in caught.value.message


def test_variables_that_others_set_are_let_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEGATO_PORT_8440_TCP", "tcp://10.0.0.1:8440")
    monkeypatch.setenv("LEGATO_SERVICE_HOST", "10.0.0.1")

    assert load().settings == Settings()


def test_a_file_that_cannot_be_read_is_named(place: Path) -> None:
    (place / "bytes.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(BadSettings, match=r"missing\.toml is not there"):
        load(file=place / "missing.toml")
    with pytest.raises(BadSettings, match=r"bytes\.toml: .*utf-8"):
        load(file=place / "bytes.toml")
    with pytest.raises(BadSettings, match="cannot be read: Is a directory"):
        load(file=place)


def test_a_secret_is_used_but_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEGATO_CLIENT__KEY", "open-sesame")

    loaded = load()

    assert loaded.settings.client.key == "open-sesame"
    shown = {one.name: one.shown for one in loaded.in_force}
    assert shown["client.key"] == json.dumps(MASK)
    assert "open-sesame" not in repr(loaded.in_force)


def test_a_password_in_an_address_is_used_but_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEGATO_BUS__URL", "redis://me:open-sesame@host/0")

    loaded = load()

    assert loaded.settings.bus.url == "redis://me:open-sesame@host/0"
    shown = {one.name: one.value for one in loaded.in_force}
    assert shown["bus.url"] == "redis://***@host/0"


def test_values_are_shown_as_json() -> None:
    shown = {one.name: one.shown for one in load().in_force}

    assert (shown["gateway.host"], shown["gateway.port"]) == ('"127.0.0.1"', "8440")
    assert (shown["gateway.allowed_origins"], shown["client.ca_file"]) == ("[]", "-")
    first = json.loads(shown["worker.engines"])[0]
    assert first == {"kind": "synthesize", "name": "hibari", "processes": 1}


def test_the_example_holds_every_setting_with_its_default() -> None:
    text = (ROOT / "legato.example.toml").read_text(encoding="utf-8")
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    given = [line for line in lines if line.startswith("[") or " = " in line]
    filled = [line for line in given if not line.endswith("= ...")]

    assert tomllib.loads(text) == {name: {} for name in sections()}
    write("\n".join(line for line in filled if line[0].islower() or line.startswith("[")))
    loaded = load()
    assert loaded.settings == Settings()
    assert len(loaded.in_force) == len([line for line in given if line[0] != "["])
    assert loaded.settings.worker.engines == DEFAULT_ENGINES
    assert isinstance(loaded.settings.worker.engines[0], EngineSpec)


def test_every_section_is_documented() -> None:
    assert ENV_PREFIX == "LEGATO_"
    for kind in sections().values():
        assert kind.__doc__
        assert all(f"{field.name}: " in kind.__doc__ for field in dataclasses.fields(kind))


@pytest.mark.parametrize("origin", ["file", "environment", "flag"])
def test_a_word_that_is_none_of_several_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    flags = {}
    if origin == "file":
        write('[client]\nreconnect = "bogus"\n')
    elif origin == "environment":
        monkeypatch.setenv("LEGATO_CLIENT__RECONNECT", "bogus")
    else:
        flags = {"client": {"reconnect": "bogus"}}

    with pytest.raises(BadSettings) as caught:
        load(flags=flags)

    assert caught.value.message == (
        f"{origin}: client.reconnect must be 'interactive', 'articles' or 'never', not 'bogus'"
    )


def test_a_wrong_word_is_not_shown_at_length() -> None:
    write(f'[client]\nreconnect = "{"a" * 1_000}"\n')

    with pytest.raises(BadSettings) as caught:
        load()

    assert len(caught.value.message) < 250


@pytest.mark.parametrize("limit", ["recycle_after", "restart_after"])
def test_a_jitter_above_what_it_varies_is_refused(limit: str) -> None:
    write(f"[worker]\n{limit} = 100\nrecycle_jitter = 101\n")

    with pytest.raises(BadSettings, match=f"must be at most 100, not 101, with worker.{limit}"):
        load()

    write(f"[worker]\n{limit} = 100\nrecycle_jitter = 100\n")
    assert load().settings.worker.recycle_jitter == 100


def test_the_usual_jitter_gives_way_to_what_it_varies() -> None:
    write("[worker]\nrecycle_after = 100\nrestart_after = 50\n")

    assert load().settings.worker.recycle_after == 100


def test_models_are_in_the_user_s_data_folder_unless_it_is_said(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    at_home = place / ".local" / "share" / "legato" / "models"
    assert models_folder(ModelsConfig()) == at_home
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    assert models_folder(ModelsConfig()) == at_home
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "data"))
    assert models_folder(ModelsConfig()) == place / "data" / "legato" / "models"
    assert models_folder(ModelsConfig(folder="~/m")) == place / "m"


def test_the_tokens_of_hubs_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEGATO_MODELS__HUGGINGFACE_KEY", "hf_x")
    monkeypatch.setenv("LEGATO_MODELS__MODELSCOPE_KEY", "ms_x")
    loaded = load()
    shown = {one.name: one.value for one in loaded.in_force}
    assert shown["models.huggingface_key"] == shown["models.modelscope_key"] == MASK
    assert loaded.settings.models.huggingface_key == "hf_x"


def test_a_table_comes_from_the_environment_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEGATO_GATEWAY__VOICE_ALIASES", '{"narrator": "heart"}')
    monkeypatch.setenv("LEGATO_WORKER__LEXICON", '{"gif": "jif"}')

    settings = load().settings
    assert settings.gateway.voice_aliases == {"narrator": "heart"}
    assert settings.worker.lexicon == {"gif": "jif"}
