"""Invalid addresses of object stores are refused before any library is imported or any server is contacted."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.config.loading import config_digest, to_toml
from kernel_pipeline.config.s3_address import parse_s3
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.store.addresses import storage_at
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.build import PROJECT, parsed, synthetic_values

SECRET = "kept-to-myself"
REFUSED = {
    f"s3://name:{SECRET}@bucket/prefix": "must not contain user info",
    f"s3://bucket/prefix?token={SECRET}": "must not contain a query",
    f"s3://bucket/prefix#{SECRET}": "must not contain a query",
    f"https://name:{SECRET}@host/x": "must be s3://bucket/prefix; got one that begins with https://",
    "gs://bucket/prefix": "must be s3://bucket/prefix; got one that begins with gs://",
    "s3://": "must name a bucket: .*; got '' in 's3://'",
    "s3://Bucket/x": "must name a bucket: .*; got 'Bucket' in",
    "s3://bucket/a//b": "must have a prefix of letters, digits .*; got 's3://bucket/a//b'",
    "s3://bucket/a/../b": "must have a prefix of letters",
    "s3://bucket/a b": "must have a prefix of letters",
}


@pytest.mark.parametrize(
    ("text", "words"), [*REFUSED.items(), ("bucket/x", "must be s3://bucket/prefix; got one without")]
)
def test_the_config_refuses_a_wrong_url_and_names_its_field_but_no_secret(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"storage.url: {words}") as caught:
        parsed(synthetic_values() | {"storage": {"url": text}})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(("text", "words"), REFUSED.items())
def test_commands_refuse_a_wrong_address_and_create_nothing(
    text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (["run", "--out", text], ["status", text], ["runs", text]):
        shown = CliRunner().invoke(main, arguments)
        assert shown.exit_code == 2, shown.output
        with pytest.raises(ConfigError, match=words):
            storage_at(text)
        assert shown.output.startswith("Error: the address of a run that is not in a local folder must ")
        assert SECRET not in shown.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["s3://bucket", "s3://my.bucket-1/a/b_c/d=1+2.x"])
def test_a_valid_address_is_read_without_a_final_slash(text: str) -> None:
    assert str(parse_s3(text)) == str(parse_s3(f"{text}/")) == text
    assert parsed(synthetic_values() | {"storage": {"url": f"{text}/"}}).storage.url == text


def test_a_config_without_a_url_is_unchanged() -> None:
    without = parsed(synthetic_values())
    assert "url" not in to_toml(without)
    assert config_digest(without) != config_digest(parsed(synthetic_values() | {"storage": {"url": "s3://bucket"}}))


@pytest.mark.parametrize("path", ["runs", "/tmp/x", "s3:/bucket", "a:b", "./s3"])
def test_any_other_address_is_a_folder(path: str) -> None:
    root = storage_at(path)
    assert isinstance(root, LocalStorage)
    assert root.path == Path(path)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["status", "none"], ["runs", "."]])
def test_without_an_address_of_an_object_store_its_libraries_are_not_imported(arguments: list[str]) -> None:
    code = f"""
import sys
from kernel_pipeline.cli.main import main
main({arguments!r}, standalone_mode=False)
"""
    wrapped = f"""
import atexit, sys
atexit.register(lambda: print("imported:", sorted({{"obstore", "boto3", "botocore"}} & sys.modules.keys())))
{code}
"""
    done = subprocess.run([sys.executable, "-c", wrapped], cwd=PROJECT, capture_output=True, text=True)
    assert done.stdout.endswith("imported: []\n"), done.stdout + done.stderr
