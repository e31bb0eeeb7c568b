"""The table of docs/reference/settings.md, from the table of settings."""

from openclawbench.workspace.configuration.setting_table import OTHER_VARIABLES, TABLE, Setting
from tools.site.markdown import table

WHERE = {
    "data": "`openclawbench.toml`",
    "cost": "`config.toml`, or a trusted `openclawbench.toml`",
    "address": "`config.toml`, or a trusted `openclawbench.toml`",
    "work": "`openclawbench.toml` or `config.toml`",
    "call": "",
}


def settings_table() -> str:
    """A row for each setting, and for each variable that is none."""
    rows = [
        (
            f"`{setting.name}`",
            WHERE[setting.kind],
            f"`{setting.variable}`" if setting.variable else "",
            flag(setting),
            setting.means,
        )
        for setting in TABLE
    ]
    rows.append(
        (
            "`[bfcl.models]`",
            WHERE["data"],
            "",
            "",
            "none: the model folders of a BFCL tree are the source models' names",
        )
    )
    rows += [("", "", f"`{name}`", *about) for name, about in OTHER_VARIABLES.items()]
    return table(("setting", "file", "environment", "flag", "default, and what else there is"), rows)


def flag(setting: Setting) -> str:
    """The option of a setting."""
    if not setting.has_flag:
        return setting.flag_text
    return f"`{setting.flag}`, `--no-{setting.flag[2:]}`" if setting.type is bool else f"`{setting.flag}`"
