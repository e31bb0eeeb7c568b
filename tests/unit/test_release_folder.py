"""What counts as a release folder."""

from pathlib import Path

import pytest

from openclawbench.base.canonical_json import canonical_json
from openclawbench.errors import UsageError
from openclawbench.records.datapackage import DataPackage
from openclawbench.release.files.names import ROOT
from openclawbench.release.release_folder import PACKAGE, is_release, refuse_other_folder

FIELDS = dict.fromkeys(DataPackage.model_fields)


@pytest.mark.parametrize("name", ["openclawbench", "a name of one's own"])
def test_a_release_without_source_models_is_told_by_its_data_package(tmp_path: Path, name: str) -> None:
    (tmp_path / PACKAGE).write_text(canonical_json(FIELDS | {"name": name}))
    assert is_release(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "null", '{"name":"openclawbench"}', "[" * 100_000, "\ud800"])
def test_other_files_of_that_name_make_no_release(tmp_path: Path, text: str) -> None:
    (tmp_path / PACKAGE).write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UsageError, match="not a release"):
        refuse_other_folder(tmp_path)
    (tmp_path / ROOT).mkdir()
    refuse_other_folder(tmp_path)
