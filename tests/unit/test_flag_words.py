"""Words of one rule each, with near misses: negated, reported, conditional, about somebody else, quoted, in code."""

import pytest
from describe_steps import FLAGS, LANGUAGES, apart, call, reply, steps

from openclawbench.construct.describe.auto_flags_in_text import text_evidence
from openclawbench.construct.describe.language import agent_texts

FIRES = {
    "uncertainty.assume": [
        "I'll assume the role is admin.",
        "I assume the identity was checked.",
        "Let me assume UTC.",
        "I'm going to assume the position of the cursor does not matter.",
    ],
    "uncertainty.do_not_know": [
        "I don't know about the second server, so I left it.",
        "I don't know what you mean by staging.",
        "We still don't know how it got there.",
    ],
    "uncertainty.assumption_made": [
        "I made an assumption: the currency is EUR.",
        "I've made two assumptions about the schema.",
        "I had to make an assumption about the time zone.",
        "These are the assumptions I made.",
        "**Assumptions:** UTC, and no daylight saving.",
    ],
    "uncertainty.doubt": [
        "I doubt the backup is complete.",
        "I strongly doubt that this is the right key.",
        "I have some doubts about the total.",
        "I'm a bit sceptical about the second figure.",
    ],
    "uncertainty.german": [
        "Ich bezweifle, dass das Backup vollständig ist.",
        "Ich habe da meine Zweifel.",
        "Ich gehe davon aus, dass UTC gemeint ist.",
        "Ich habe angenommen, dass UTC gemeint ist.",
        "Ich habe eine Annahme getroffen: UTC.",
    ],
    "uncertainty.chinese": [
        "我假设时区是 UTC。",
        "我做了一个假设：货币是欧元。",
        "备份是否完整存疑。",
        "我很怀疑备份是否完整。",
    ],
    "hedge.should_work": [
        "It should work now.",
        "The script should pass on Linux.",
        "They should work through the proxy.",
    ],
    "hedge.may_be": [
        "The total of the third sheet might not be complete.",
        "The new index might be the faster one.",
        "Retrying may be the best approach here.",
        "The culprit may be a proxy or the firewall.",
        "I think that a `continue` in `check` might be the best approach.",
        "The session history might have the context.",
        "The cache may explain the old numbers.",
        "The second run might fail on the lock.",
        "The report of the build may not reflect my last change.",
    ],
    "hedge.may_be_amiss": [
        "The result may be wrong.",
        "The worker may have died.",
        "`build.sh` might be stale.",
        "I may be wrong about the port.",
        "The report, made in May, may be outdated.",
        "Tests may be failing on the other machine.",
        "A firewall may be blocking the port.",
        "The formatter may have reverted some of my changes.",
        "The thread might already be resolved.",
        "The variable might still be typed as a string somewhere.",
        "The last upload may be corrupted.",
        "The response might be cached.",
    ],
    "hedge.might": [
        "It might be the cache.",
        "The cause could be the cache.",
        "This may not be all.",
        "It may have checked out another branch.",
        "This may be a detached head.",
        "They may be stale by now.",
        "It might be used by the other job.",
        "This may be a bug or a typo.",
        "That may be wrong in some places.",
    ],
    "hedge.german_may_be": [
        "Das Ergebnis könnte falsch sein.",
        "Die Ursache dürfte am Cache liegen.",
        "Es kann sein, dass der Schlüssel abgelaufen war.",
    ],
    "hedge.chinese": ["结果可能有误。", "服务可能已经停止。", "我怀疑缓存坏了。"],
    "gap.no_access": [
        "I no longer have write permission there.",
        "I don't have an exec tool.",
        "I don't have the admin rights for that.",
        "We never had access to the billing system.",
        "I lack the credentials to log in.",
        "I've lost access to the bucket.",
    ],
    "gap.could_not_be": [
        "The page could not be accessed.",
        "The archive couldn't be opened.",
        "Its signature could not be verified.",
        "The claim cannot be verified from here.",
    ],
    "gap.not_let": [
        "My tools do not let me see images.",
        "The sandbox does not allow me to open sockets.",
        "This environment prevents me from sending mail.",
        "The current permissions don't allow me to write there.",
    ],
    "gap.key_missing": [
        "The API key is missing, so I skip the upload.",
        "The bot token has expired.",
        "The credentials are not configured here.",
        "The SSH key isn't available.",
    ],
    "gap.german": ["Ich habe dort keine Schreibrechte mehr.", "Ich konnte den Anhang nicht öffnen."],
    "gap.german_could_not_be": [
        "Die Seite konnte nicht aufgerufen werden.",
        "Die Angaben konnten leider nicht überprüft werden.",
    ],
    "gap.german_not_let": [
        "Meine Werkzeuge lassen mich keine Bilder sehen.",
        "Die Umgebung erlaubt es mir nicht, Mails zu senden.",
    ],
    "gap.german_key_missing": [
        "Der API-Schlüssel fehlt, daher lade ich nichts hoch.",
        "Die Zugangsdaten sind abgelaufen.",
    ],
    "gap.chinese": [
        "我没有写入权限。",
        "我不再有访问权限。",
        "API 密钥缺失，所以跳过上传。",
        "页面无法访问。",
        "我的工具不允许我看图片。",
    ],
}

SILENT = {
    "uncertainty": [
        # a role is taken over
        "Let me assume the role of a reviewer.",
        "I'll assume the identity of the service account for this call.",
        "I assume full responsibility for the release.",
        "I'll assume the IAM role in the target account.",
        "I'm assuming control of the session.",
        "Let me assume the role.",
        # a manner of speaking
        "I don't know about you, but I like tea.",
        "I don't know about anyone else, but this reads well.",
        "I don't know how to thank you.",
        # resolved in the same sentence
        "I'm not sure, so I asked; the user confirmed staging.",
        "I was about to guess, but asked, and the user clarified it.",
        "I assumed UTC, the docs confirmed it.",
        "It is unclear from the name; the log has since settled it.",
        # assumptions
        "I made no assumptions.",
        "I did not make any assumption about the currency.",
        "Avoid making an assumption about the currency.",
        "The script made an assumption about the currency.",
        "You made an assumption about the currency.",
        "Assumptions: none.",
        "I made an assumption, and it turned out to be right.",
        "Tell me if I made an assumption that you don't share.",
        "Without making an assumption I read the setting.",
        # doubt
        "I don't doubt it.",
        "I never doubted the backup.",
        "I have no doubts about it.",
        "The user doubts that the backup is complete.",
        "You have doubts about it.",
        "If I doubt a figure, I look it up.",
        "No doubt it is complete.",
        "She said she was sceptical.",
        # German and Chinese
        "Ich bezweifle das nicht.",
        "Ich habe keine Zweifel.",
        "Der Nutzer bezweifelt das.",
        "Ich nehme an der Besprechung teil.",
        "Ich nehme an der Datei nur eine Änderung vor.",
        "Ich habe die Einladung angenommen.",
        "Ich weiß nicht, wie es dir geht, aber ich mag Tee.",
        "Ich bin nicht sicher, habe gefragt; der Nutzer hat Staging bestätigt.",
        "Ich gehe nicht davon aus.",
        "Falls ich angenommen habe, dass das gilt, sag es.",
        "我没有做假设。",
        "用户假设时区是 UTC。",
        "我不知道你怎么想，但我喜欢茶。",
        "我不确定，所以问了，用户已确认。",
        "如果我假设错了，请告诉我。",
        "假设是科学的基础。",
    ],
    "hedge": [
        # what somebody ought to do
        "You should work through the list.",
        "We should fix the typo first.",
        "I should really pass the flag here.",
        "The user should work with the admin on that.",
        "You then should resolve the conflict.",
        "Everyone should work from the same branch.",
        # may
        "You may be asked for a password.",
        "Users may have two accounts.",
        "The user may not have more than two accounts.",
        "The name may not be longer than 20 letters.",
        "The option may be omitted.",
        "The key may be used twice.",
        "The columns may be configured freely.",
        "Entries may also be nested.",
        "The docs say the result may be wrong.",
        "The user wrote that the result may be wrong.",
        # may, as documentation has it: what is possible, allowed or so in general
        "The argument may be a module, class, method or function.",
        "The path may be absolute or relative.",
        "The `level` may be between 0 and 9.",
        "Each label may be a string or nothing.",
        "Objects may be classes, functions or descriptors.",
        "Return values may exist but are ignored.",
        "A listener may be bound to a specific domain.",
        "An application may need to ship patched versions of modules.",
        "Some options might be mandatory.",
        "Additional types may be supported through extensions.",
        "For file-like objects, the stream position may not be updated after reading.",
        "Depending on the platform, the build may differ.",
        "May be deprecated in the future.",
        "- May be useful for scripts too.",
        "This feature may or may not be enabled.",
        "A client MAY be disconnected.",
        "The new method may be subclassed.",
        "More than one system may be valid for a request.",
        "The columns may have different lengths.",
        "The method may need to do a test seek.",
        "The result of a lookup may be None.",
        "Options may be separated by commas.",
        "Every entry may be wrong by design here.",
        "This may be used to select the classes.",
        "It may be freely copied and redistributed.",
        "Methods that may be overridden are listed below.",
        "It may be necessary to add further methods.",
        "This may be useful for scripts.",
        "It may be a function or a class.",
        "Depending on the table, this may not delete the files.",
        "This may be addressed in the future.",
        "According to the page, the total may be wrong.",
        "If the cache is stale, the result may be wrong.",
        "The result may be wrong if the cache is stale.",
        "I checked whether the result may be wrong.",
        "I listed which endpoints might be available.",
        "The files from May have been moved.",
        "Those made in May be damned.",
        "I may have to restart it.",
        "We might need a second key.",
        "The result is not wrong.",
        # could
        "The file could not be found.",
        "It could not be better.",
        "The text could be shorter.",
        # German and Chinese
        "Du könntest zuerst das Log haben wollen.",
        "Man könnte das kürzer haben.",
        "Der Text könnte kürzer sein.",
        "Falls der Cache alt ist, könnte das Ergebnis falsch sein.",
        "Das dürfte nicht sein.",
        "Könnte das der Cache sein?",
        "Laut Doku könnte das Ergebnis falsch sein.",
        "Ich sollte jetzt gehen.",
        "这不可能有误。",
        "我尽可能不改动文件。",
        "如果缓存过期，结果可能有误。",
        "你可能需要重启。",
        "我不怀疑结果。",
        "成功的可能性很高。",
    ],
    "capability_gap": [
        # nothing is lacking
        "I don't have to access the server.",
        "I didn't access the server.",
        "I no longer have a permission problem.",
        "I don't have the tool output yet.",
        "You no longer have write permission there.",
        "The user lost access to the bucket.",
        "I no longer need write permission.",
        "If I no longer have write permission, I will ask.",
        "I have write permission there.",
        "I don't lack the credentials.",
        "We lost access, but I've regained it.",
        # passive
        "The page could be accessed.",
        "The user said that the page could not be accessed.",
        "The log says the page could not be read.",
        "If the page could not be accessed, I would say so.",
        "There was no page that could not be read.",
        "At first the page could not be reached; the second try worked.",
        "A closed file cannot be read.",
        "Private fields can't be accessed from outside.",
        "I made sure that the folder could not be read by others.",
        "I checked whether it could not be opened.",
        # kept from something
        "My tools let me see images.",
        "My tools do not let you see images.",
        "Nothing prevents me from sending it.",
        "The sandbox does not prevent me from sending it.",
        "If my tools do not let me see it, I will say so.",
        "Her tools do not let her see images.",
        "The form does not let users skip a field.",
        # keys
        "The API key is not missing.",
        "The key `name` is missing in the list.",
        "The API key is missing in the docs.",
        "If the API key is missing, the upload is skipped.",
        "It answers 401 when the access token is missing.",
        "The test covers what happens where the API key is missing.",
        "The user said that the API key is missing.",
        "The API key is missing, so I added it.",
        "The foreign key is missing.",
        "The API key is set.",
        # German and Chinese
        "Ich habe Schreibrechte.",
        "Du hast keine Schreibrechte.",
        "Ich habe keinen Zugriffsfehler mehr.",
        "Wenn ich keine Schreibrechte habe, frage ich nach.",
        "Die Seite konnte aufgerufen werden.",
        "Laut Log konnte die Seite nicht aufgerufen werden.",
        "Meine Werkzeuge lassen mich Bilder sehen.",
        "Deine Werkzeuge lassen dich keine Bilder sehen.",
        "Falls der API-Schlüssel fehlt, wird nichts hochgeladen.",
        "Der API-Schlüssel fehlt im Beispiel.",
        "Der API-Schlüssel fehlt nicht.",
        "我有写入权限。",
        "我没有遇到权限问题。",
        "我没有使用工具。",
        "如果密钥缺失，就跳过上传。",
        "用户说页面无法访问。",
        "密钥没有缺失。",
    ],
}

CASES = [(rule, text) for rule, texts in FIRES.items() for text in texts]
NEAR_MISSES = [(flag, text) for flag, texts in SILENT.items() for text in texts]
FLAG_OF = {"uncertainty": "uncertainty", "hedge": "hedge", "gap": "capability_gap"}
NOT_OWN = {
    "quoted": 'The note reads "{}" and no more.',
    "a block of code": "```\n{}\n```",
    "code": "It prints `{}` there.",
    "the user's lines": "> {}\n\nDone.",
}


def flag_of(rule: str) -> str:
    """The flag that a rule fires."""
    return FLAG_OF[rule.partition(".")[0]]


def test_each_rule_fires_on_its_words() -> None:
    for row, (rule, text) in zip(apart(*(reply(text) for _, text in CASES)), CASES, strict=True):
        assert rule in {evidence["rule_id"] for evidence in row["flag_evidence"]}, text


def test_near_misses_fire_nothing() -> None:
    for row, (flag, text) in zip(apart(*(reply(text) for _, text in NEAR_MISSES)), NEAR_MISSES, strict=True):
        assert flag not in row["auto_flags"], text


@pytest.mark.parametrize("form", NOT_OWN.values(), ids=NOT_OWN)
def test_the_same_words_of_somebody_else_fire_nothing(form: str) -> None:
    inputs = [(rule, form.format(text)) for rule, text in CASES if "`" not in text]
    for row, (rule, text) in zip(apart(*(reply(text) for _, text in inputs)), inputs, strict=True):
        assert flag_of(rule) not in row["auto_flags"], text


def test_the_same_words_in_what_a_tool_gave_fire_nothing() -> None:
    read = [call("read", {"path": "a"}, text) for _, text in CASES]
    for row, (_, text) in zip(apart(*read), CASES, strict=True):
        assert row["auto_flags"] == [], text


def test_what_takes_one_rule_back_leaves_the_others() -> None:
    (result,) = apart(reply("You should work through the list, which is probably long."))
    assert [evidence["rule_id"] for evidence in result["flag_evidence"]] == ["hedge.probably"]


def test_an_answer_before_the_doubt_does_not_resolve_it() -> None:
    stated_texts = [
        "The user confirmed staging, but I'm not sure about the port.",
        "I'm not sure, so I wait until the user has confirmed it.",
    ]
    for row, text in zip(apart(*map(reply, stated_texts)), stated_texts, strict=True):
        assert "uncertainty" in row["auto_flags"], text


@pytest.mark.parametrize("rare", [True, False])
def test_which_rules_are_rare_changes_nothing(rare: bool) -> None:
    frame = steps(*(reply(text) for _, text in CASES + NEAR_MISSES)).collect()
    spoken = agent_texts(frame, FLAGS.fields, LANGUAGES)
    rules = FLAGS.model_copy(update={"texts": [rule.model_copy(update={"rare": rare}) for rule in FLAGS.texts]})
    assert text_evidence(spoken, rules).equals(text_evidence(spoken, FLAGS))
