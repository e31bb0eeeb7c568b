"""`openclawbench validate RELEASE_DIR`: every check, in order, on any copy of a release."""

from pathlib import Path

from pipeline.release.card.configs import models_of
from pipeline.release.folder import refuse_other_folder
from pipeline.release.keys import Key
from pipeline.release.validate.card import check_described
from pipeline.release.validate.checksums import check_checksums
from pipeline.release.validate.datapackage import check_data_package
from pipeline.release.validate.findings import Findings
from pipeline.release.validate.human import check_human
from pipeline.release.validate.labels import check_labels
from pipeline.release.validate.numbers import check_numbers
from pipeline.release.validate.parquet import check_parquet_tables
from pipeline.release.validate.second_pass import check_second_pass
from pipeline.release.validate.slim import Slim
from pipeline.release.validate.statistics import check_statistics
from pipeline.release.validate.tables import check_model
from pipeline.release.validate.text import check_released_text


def validate(root: Path) -> Findings:
    """Everything that is wrong with the release in `root`. WrongUse where it is no release folder at all."""
    refuse_other_folder(root)
    findings = Findings()
    digests = check_checksums(root, findings)
    models = models_of(root)
    records: dict[Key, Slim] = {}
    for model in models:
        records |= check_model(root, model, findings)
        check_parquet_tables(root, model, findings)
    check_labels(root, records, findings)
    check_second_pass(root, models, records, findings)
    check_human(root, records, findings)
    check_numbers(root, models, records, findings)
    check_statistics(root, findings)
    check_data_package(root, digests, records, findings)
    text = check_released_text(root, models, findings)
    check_described(root, digests, text.table(), findings)
    return findings
