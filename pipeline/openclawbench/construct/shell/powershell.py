"""Text that the shell grammar cannot read (PowerShell, broken text): cut into commands by words, by a stated rule."""

import re

from openclawbench.construct.shell.parse import SimpleCommand
from openclawbench.rules.construct.shell import WordRules

ENVIRONMENT = "$env"  # the command that a shown variable of the environment is looked up as


class WordReader:
    """Cuts text at separators outside quotes. What each command does is then looked up as for any other."""

    def __init__(self, rules: WordRules) -> None:
        self.rules = rules
        self.token = re.compile(rules.token)
        self.gate = re.compile(rules.powershell_gate)
        self.sign = re.compile(rules.powershell)
        self.environment = re.compile(rules.environment)
        self.no_command = re.compile(rules.no_command)
        self.keywords = frozenset(rules.keywords)

    def is_powershell(self, text: str) -> bool:
        """True if a PowerShell command stands where a command stands, or something only PowerShell has."""
        return self.gate.search(text) is not None and self.sign.search(text) is not None

    def simples(self, text: str) -> list[SimpleCommand]:
        """The commands of the text in order; assignments and keywords in front of them are passed over."""
        simples: list[SimpleCommand] = []
        words: list[str] = []
        writes: list[str] = []
        piped = redirecting = False
        for hit in self.token.finditer(text):
            kind, token = hit.lastgroup, hit.group()
            if kind == "separator":
                self.close(words, writes, piped, simples)
                words, writes, piped, redirecting = [], [], token.strip() == "|", False
            elif kind == "redirect":
                redirecting = True
            elif kind in {"quoted", "word"}:
                word = token[1:-1] if kind == "quoted" else token
                (writes if redirecting else words).append(word)
                redirecting = False
        self.close(words, writes, piped, simples)
        return simples

    def close(self, words: list[str], writes: list[str], piped: bool, commands: list[SimpleCommand]) -> None:
        """Add one command, if the words are one."""
        while words and words[0].lower() in self.keywords:
            words = words[1:]
        if len(words) > 1 and words[1] in self.rules.assigns:
            words = words[2:]
        if words and self.environment.match(words[0]):
            words = [ENVIRONMENT]
        elif words and self.no_command.match(words[0]):
            words = []
        if words or writes:
            commands.append(SimpleCommand(tuple(words), piped, None, tuple(writes)))
