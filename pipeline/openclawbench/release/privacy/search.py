"""Search: finds in the rendered lines of a shard, so that making a release reads finds alone."""

from dataclasses import replace

import polars as pl

from openclawbench.records.release import ReleaseFind, ReleaseFinds, ReleaseLines
from openclawbench.records.second_pass import ReleaseFindPass2, ReleaseLinePass2
from openclawbench.release.files.names import ROOT
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import SCANNED, finds_of
from openclawbench.runtime.stage import stage
from openclawbench.tables.schema import from_records


@stage(scope="shard")
def search_text(lines: ReleaseLines, rules: PrivacyRules) -> ReleaseFinds:
    """Every find in the master lines and the raw answers, in the order of the lines."""
    first = pl.col("files").list.first()
    place = pl.concat_str(pl.lit(f"{ROOT}/"), "source_model", pl.lit("/"), first)
    searched = lines.filter(first.is_in(SCANNED)).select("line", file=place, number=pl.lit(None, pl.Int64)).collect()
    rows = [find._asdict() | {"in_name": find.in_name} for find in finds_of(searched, PrivacyFinder(rules))]
    return from_records(rows, ReleaseFind).lazy()


search_text_pass2 = replace(
    search_text,
    name="search_text_pass2",
    reads={"lines": ReleaseLinePass2},
    writes=(ReleaseFindPass2,),
    home=__name__,
)
