"""Credentials of a cluster: what the environment names, the token of the user, and what is refused."""

import os
import stat
import sys

import pytest

from tests import children
from thalweg._src.base.errors import FailedPreconditionError
from thalweg._src.cluster.distributed.credentials import Credentials, Tls, host_of, is_loopback

LOOPBACK = ["localhost:2222", "127.0.0.1:2223"]
ANYWHERE = ["10.0.0.1:2222"]
TOKEN = "0123456789abcdef"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def secret(path, text=TOKEN, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def refusal(addresses, environ):
    with pytest.raises(FailedPreconditionError) as caught:
        Credentials.find(addresses, environ)
    return str(caught.value)


@pytest.mark.parametrize(
    "address", ["localhost:1", "127.0.0.1:1", "127.8.9.1:1", "[::1]:1", "::1", "grpc://localhost:1"]
)
def test_loopback_addresses(address):
    assert is_loopback(address)


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0:1", ":1", "", "[::]:1", "10.0.0.1:1", "worker0:1", "localhost.example.com:1", "127.0.0.1.example.com:1"],
)
def test_other_addresses_are_not_loopback(address):
    assert not is_loopback(address)


@pytest.mark.parametrize(
    ("address", "host"), [("ps0:2222", "ps0"), ("[fe80::1]:2222", "fe80::1"), ("fe80::1", "fe80::1"), ("ps0", "ps0")]
)
def test_host_of_an_address(address, host):
    assert host_of(address) == host


def test_on_loopback_the_token_of_the_user_is_created_once(folder):
    first = Credentials.find(LOOPBACK, {})
    assert len(first.token) == 64 and not first.insecure and first.tls is None
    assert first.origin == str(folder / "cluster_token")
    assert stat.S_IMODE((folder / "cluster_token").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.iterdir()] == ["cluster_token"]
    assert Credentials.find(LOOPBACK, {}) == first


def test_processes_that_start_at_once_have_one_token(folder, start_child):
    code = (
        "from thalweg._src.cluster.distributed.credentials import Credentials\n"
        "print('ready', flush=True)\ninput()\nprint(Credentials.find(['localhost:1'], {}).token.decode())"
    )
    command = [sys.executable, "-c", code]
    options = {"stdin": -1, "stdout": -1, "text": True, "env": children.environment(), "forked": True}
    started = [start_child(command, **options) for _ in range(4)]
    for child in started:
        assert child.stdout.readline() == "ready\n"
    for child in started:
        child.stdin.write("\n")
        child.stdin.flush()
    assert {child.stdout.readline().strip() for child in started} == {(folder / "cluster_token").read_text()}


def test_the_token_is_not_shown(folder):
    found = Credentials.find(LOOPBACK, {})
    assert found.token.decode() not in repr(found)


def test_off_loopback_the_error_says_what_to_set(folder):
    text = refusal([*LOOPBACK, *ANYWHERE], {"THALWEG_CLUSTER_INSECURE": "0", "THALWEG_CLUSTER_TOKEN": ""})
    assert "10.0.0.1:2222" in text
    for name in ("TOKEN", "TOKEN_FILE", "TLS_CERT", "TLS_KEY", "TLS_CA", "INSECURE=1"):
        assert f"THALWEG_CLUSTER_{name}" in text
    assert not folder.exists()


def test_a_token_of_the_environment(folder):
    found = Credentials.find(ANYWHERE, {"THALWEG_CLUSTER_TOKEN": TOKEN})
    assert (found.token, found.origin) == (TOKEN.encode(), "THALWEG_CLUSTER_TOKEN")
    assert not folder.exists()


def test_a_token_of_a_file_is_read_without_its_line_end(tmp_path):
    path = secret(tmp_path / "token", TOKEN + "\n")
    assert Credentials.find(ANYWHERE, {"THALWEG_CLUSTER_TOKEN_FILE": path}).token == TOKEN.encode()


def test_the_link_of_a_mounted_secret_is_followed(tmp_path):
    secret(tmp_path / "token")
    (tmp_path / "link").symlink_to("token")
    assert Credentials.find(ANYWHERE, {"THALWEG_CLUSTER_TOKEN_FILE": str(tmp_path / "link")}).token == TOKEN.encode()


def test_two_tokens_are_refused(tmp_path):
    environ = {"THALWEG_CLUSTER_TOKEN": TOKEN, "THALWEG_CLUSTER_TOKEN_FILE": secret(tmp_path / "token")}
    assert "both set" in refusal(ANYWHERE, environ)


@pytest.mark.parametrize("text", ["short", " " * 40, TOKEN[1:]])
def test_a_short_token_is_refused(text):
    said = refusal(LOOPBACK, {"THALWEG_CLUSTER_TOKEN": text})
    assert "THALWEG_CLUSTER_TOKEN is too short" in said and "16 characters" in said


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o610])
def test_a_token_file_that_others_can_open_is_refused(tmp_path, mode):
    path = secret(tmp_path / "token", mode=mode)
    said = refusal(ANYWHERE, {"THALWEG_CLUSTER_TOKEN_FILE": path})
    assert f"{path} (THALWEG_CLUSTER_TOKEN_FILE) is open to other users" in said
    assert f"mode {mode:04o}" in said and f"chmod 600 {path}" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_token_file_of_another_user_is_refused(tmp_path):
    path = secret(tmp_path / "token")
    os.chown(path, 65534, 65534)
    assert "belongs to another user (uid 65534)" in refusal(ANYWHERE, {"THALWEG_CLUSTER_TOKEN_FILE": path})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(("mode", "accepted"), [(0o440, True), (0o444, False), (0o460, False)])
def test_the_group_may_read_a_file_of_root(tmp_path, mode, accepted, monkeypatch):
    path = secret(tmp_path / "token", mode=mode)
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    if accepted:
        assert Credentials.find(ANYWHERE, {"THALWEG_CLUSTER_TOKEN_FILE": path}).token == TOKEN.encode()
    else:
        assert "open to other users" in refusal(ANYWHERE, {"THALWEG_CLUSTER_TOKEN_FILE": path})


def test_a_token_file_that_is_none_is_refused(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path, why in [(tmp_path / "no", "cannot be read: No such file"), (tmp_path / "fifo", "is not a file")]:
        assert why in refusal(ANYWHERE, {"THALWEG_CLUSTER_TOKEN_FILE": str(path)})


def _open_file(folder):
    (folder / "cluster_token").chmod(0o644)


def _link(folder):
    os.replace(folder / "cluster_token", folder / "target")
    (folder / "cluster_token").symlink_to("target")


def _empty(folder):
    (folder / "cluster_token").write_text("")


def _open_folder(folder):
    folder.chmod(0o777)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (_open_file, "open to other users"),
        (_link, "cannot be read"),
        (_empty, "too short"),
        (_open_folder, "can be written by other users"),
    ],
)
def test_a_token_of_the_user_that_others_may_know_is_refused(folder, damage, why):
    Credentials.find(LOOPBACK, {})
    damage(folder)
    assert why in refusal(LOOPBACK, {})


def test_insecure_is_explicit():
    found = Credentials.find(ANYWHERE, {"THALWEG_CLUSTER_INSECURE": "1"})
    assert found == Credentials(insecure=True)
    assert "neither 0 nor 1" in refusal(ANYWHERE, {"THALWEG_CLUSTER_INSECURE": "yes"})


def test_a_mac_depends_on_everything():
    token, other = Credentials(TOKEN.encode()), Credentials(TOKEN.encode() + b"0")
    macs = [token.mac("a", b"b", b"c"), other.mac("a", b"b", b"c"), Credentials(insecure=True).mac("a", b"b", b"c")]
    macs += [token.mac("ab", b"c"), token.mac("a", b"bc"), token.mac("a", b"b", b"c", b""), token.mac("a", b"c", b"b")]
    assert len(set(macs)) == len(macs)
    assert token.mac("a", b"b", b"c") == macs[0]


def _environ(tls):
    return dict(zip([f"THALWEG_CLUSTER_TLS_{name}" for name in ("CERT", "KEY", "CA")], tls))


def test_tls_files(certificates):
    tls = certificates("task")
    found = Credentials.find(ANYWHERE, _environ((tls.certificate, tls.key, tls.authority)))
    assert found == Credentials(tls=tls)


@pytest.mark.parametrize("missing", ["CERT", "KEY", "CA"])
def test_all_tls_files_are_needed(missing, certificates):
    tls = certificates("task")
    environ = _environ((tls.certificate, tls.key, tls.authority))
    del environ[f"THALWEG_CLUSTER_TLS_{missing}"]
    assert f"no THALWEG_CLUSTER_TLS_{missing}" in refusal(LOOPBACK, environ)


def test_tls_files_that_do_not_fit_are_refused(certificates, tmp_path):
    tls, other = certificates("task"), certificates("other")
    assert "the TLS files cannot be used" in refusal(ANYWHERE, _environ((tls.certificate, other.key, tls.authority)))
    assert "cannot be used" in refusal(ANYWHERE, _environ((tls.certificate, tls.key, secret(tmp_path / "text"))))
    assert "cannot be read" in refusal(ANYWHERE, _environ((tls.certificate, tls.key, str(tmp_path / "no"))))
    with pytest.raises(FailedPreconditionError, match="cannot be used"):
        Tls(tls.certificate, str(tmp_path / "no"), tls.authority).context(is_server=False)


def test_a_tls_key_that_others_can_read_is_refused(certificates, tmp_path):
    tls = certificates("task")
    with open(tls.key) as file:
        key = secret(tmp_path / "key", file.read(), 0o644)
    assert "open to other users" in refusal(ANYWHERE, _environ((tls.certificate, key, tls.authority)))
