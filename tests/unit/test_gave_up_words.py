"""Words with which a last reply gives up, in each covered language; calm replies beside them."""

import polars as pl
import pytest

from openclawbench.rules.construct.language import LanguageRules
from openclawbench.rules.construct.trace import TraceRules

REPLIES = {
    "en": ("I could not read the file.", "I read the file; nothing is missing."),
    "de": ("Ich konnte die Datei nicht lesen.", "Die Datei ist gelesen, nichts fehlt."),
    "es": ("No logré leer el archivo.", "Leí el archivo; no falta nada."),
    "fr": ("Je n'ai pas pu lire le fichier.", "J'ai lu le fichier, il ne manque rien."),
    "pt": ("Não consegui ler o arquivo.", "Li o arquivo; não falta nada."),
    "ru": ("Мне не удалось прочитать файл.", "Файл прочитан, всё на месте."),
    "ja": ("ファイルを読み込めませんでした。開くことができませんでした。", "ファイルを読みました。"),
    "zh": ("我无法读取该文件。", "文件已读取，没有缺失。"),
}


@pytest.mark.parametrize("language", LanguageRules.load().covered)
def test_giving_up_is_known_in_every_covered_language(language: str) -> None:
    gave_up, calm = REPLIES[language]
    assert pl.Series([gave_up, calm]).str.contains(TraceRules.load().gave_up_pattern).to_list() == [True, False]
