"""Checks of the jq in a file, as far as it can be judged before anything runs."""

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from yaml.nodes import MappingNode, Node, ScalarNode

from pitstop.definition.mistakes import quoted
from pitstop.definition.yaml_nodes import Document, position_in
from pitstop.errors import BadExpression

# Most expressions have nothing in them that could hide their end, so they need not be parsed to see that it is there.
_SIMPLE_EXPRESSION = r'(?<!\$)\$\{\{(?P<jq>\s*[^\s"{}#\\][^"{}#\\]*)\}\}'
_COLUMN = r" at column (\d+)"
_SIMPLE_CONDITION = r'(?:[^"{}#\\]|"[^"\\]*")*'
_TRIGGER = r"""(?x) (?<! [\w)\]."$] ) \. (?: trigger\b | "trigger" )
    | (?<! [\w)\]"$?] ) \[ \s* "trigger" \s* [\],]
    | [{,] \s* trigger \s* [,}]
"""
_STEP = r"""(?: \. \s* (?: [A-Za-z_]\w* | "[^"]*" ) | \.? \s* \[ [^\]]* \] )"""
_STEP_LOG = rf"""(?xs) (?<! [\w)\]."$] ) \. (?: steps | "steps" | \[ \s* "steps" \s* \] ) \s* {_STEP}
        \s* (?: \. \s* (?: log\b | "log" ) | \.? \s* \[ \s* "log" \s* \] )
    | \b steps \b [^|]* \| .* (?: (?<! \.outputs ) \. (?: log\b | "log" ) | [{{,] \s* log \s* [,}}] )
    | \[ \s* "steps" \s* , [^\]]* , \s* "log" \s* \]
"""
_PLAIN_LOG = r'\.steps(?:\.\w+|\["[^"]+"\])\.log'

CONDITION_LISTS = {("agent", "break"): "if"}  # by step type and field: which key of its items is a condition
SCRIPT_FIELDS = {"run": ("script", "shell"), "wait": ("command",)}  # by step type: the fields that a shell reads


class ParsedTemplate(Protocol):
    """Text and expressions in turn."""

    @property
    def parts(self) -> Sequence[object]: ...

    @property
    def expressions(self) -> Sequence[str]: ...


ParseTemplate = Callable[[str], ParsedTemplate]  # BadExpression for what is no template
CheckExpression = Callable[[str], str | None]  # what is wrong with some jq, if anything is


class TemplateChecks:
    """Reports what is wrong with templates and conditions."""

    def __init__(self, parse_template: ParseTemplate, check_expression: CheckExpression | None) -> None:
        self._parse = parse_template
        self._check_expression = check_expression
        self._answers: dict[str, str | None] = {}
        self._sent_inputs: frozenset[str] = frozenset()  # those that a webhook sets

    def check_text(self, document: Document, node: ScalarNode) -> None:
        """A text with `${{ }}` in it."""
        try:
            expressions = self._expressions(node.value)
        except BadExpression as error:
            self._tell_invalid(document, node, error.reason)
            return
        for index, expression in enumerate(expressions):
            self._check_jq(document, node, expression, index)

    def _expressions(self, text: str) -> Sequence[str]:
        if "${{" not in re.sub(_SIMPLE_EXPRESSION, "", text):
            return [match["jq"].strip() for match in re.finditer(_SIMPLE_EXPRESSION, text)]
        return self._parse(text).expressions

    def check_script(self, document: Document, node: Node) -> None:
        """A script, or a list or mapping with scripts. What others have sent must not become a part of it."""
        if isinstance(node, ScalarNode):
            text = node.value
            if "${{" in text and ("trigger" in text or self._sent_inputs or ("steps" in text and "log" in text)):
                self._refuse_sent(document, node)
            return
        for child in node.value:
            self.check_script(document, child[1] if isinstance(child, tuple) else child)

    def check_services(self, document: Document, node: Node) -> None:
        """Services by name: `health` is a line for a shell."""
        for _, service in document.entries(node).values() if isinstance(node, MappingNode) else ():
            if isinstance(service, MappingNode) and "health" in (entries := document.entries(service)):
                self.check_script(document, entries["health"][1])

    def _refuse_sent(self, document: Document, node: ScalarNode) -> None:
        try:
            expressions = self._expressions(node.value)
        except BadExpression:
            return  # was told where the text was read
        for index, expression in enumerate(expressions):
            if sent := self._sent_in(expression):
                origin = "its text is command output" if sent.startswith(".steps") else "its values come from outside"
                message = f"`{sent}` must not be used in a script: {origin} and could run commands"
                path = ".trigger.branch" if sent == ".trigger" else sent
                name = re.sub(r"\W", "_", path.rpartition(".")[2]).upper()
                quote = "'" if '"' in path else '"'
                hint = (
                    f'set a variable, such as `env: {{{name}: {quote}${{{{ {path} }}}}{quote}}}`, and use `"${name}"`'
                )
                self._tell_at(document, node, index, message, hint)

    def _sent_in(self, expression: str) -> str | None:
        """What an expression takes that could be anything: the event, an input that a webhook sets, or a log."""
        if re.search(_TRIGGER, expression):
            return ".trigger"
        if log := re.search(_STEP_LOG, expression):
            return log[0] if re.fullmatch(_PLAIN_LOG, log[0]) else ".steps.<id>.log"
        if not re.search(r"\binputs\b", expression):
            return None
        found = (name for name in sorted(self._sent_inputs) if re.search(rf"\b{re.escape(name)}\b", expression))
        return next((f".inputs.{name}" for name in found), None)

    def check_webhook(self, document: Document, node: Node) -> None:
        """The triggers of a flow: a webhook has jq in `if` and `inputs`. To be called before `check_script`."""
        triggers = document.entries(node) if isinstance(node, MappingNode) else {}
        webhook = triggers["webhook"][1] if "webhook" in triggers else None
        entries = document.entries(webhook) if isinstance(webhook, MappingNode) else {}
        written = [entries["if"][1]] if "if" in entries else []
        if "inputs" in entries and isinstance(inputs := entries["inputs"][1], MappingNode):
            sent = document.entries(inputs)
            self._sent_inputs = frozenset(sent)
            written += [value for _, value in sent.values()]
        for each in written:
            if isinstance(each, ScalarNode) and each.value:
                self.check_condition(document, each, each.value)

    def check_condition(self, document: Document, node: Node, condition: str) -> None:
        """jq that is true or not, with or without `${{ }}` around all of it."""
        if not isinstance(node, ScalarNode):
            return
        if "${{" in condition:
            self._check_whole(document, node, condition)
            return
        expression = condition.strip()
        if not expression:
            document.tell(node, "a condition cannot be empty")
        elif re.fullmatch(_SIMPLE_CONDITION, expression) or self._is_balanced(document, node, expression):
            self._check_jq(document, node, expression, 0)

    def _is_balanced(self, document: Document, node: ScalarNode, expression: str) -> bool:
        """Whether strings and braces end, which shows when the expression is put between `${{` and `}}`."""
        reason = "unbalanced `{` or `}`"
        try:
            template = self._parse(f"${{{{ {expression} }}}}")
            if len(template.parts) == 1 and list(template.expressions) == [expression]:
                return True
        except BadExpression as error:
            if "${{" not in error.reason:  # which is ours, and nothing that anybody wrote
                reason = _in_place(error.reason)
        document.tell(node, f"invalid jq expression: {reason}")
        return False

    def _check_whole(self, document: Document, node: ScalarNode, condition: str) -> None:
        """Text around the `${{ }}` of a condition would make it true for ever."""
        try:
            template = self._parse(condition.strip())
        except BadExpression:
            return  # was told where the text was read
        if len(template.parts) != 1 or not template.expressions:
            document.tell(node, "a condition is a single expression: put all of it between `${{` and `}}`")

    def _check_jq(self, document: Document, node: ScalarNode, expression: str, index: int) -> None:
        if self._check_expression is None:
            return
        if expression not in self._answers:
            self._answers[expression] = self._check_expression(expression)
        reason = self._answers[expression]
        if reason is not None:
            self._tell_at(document, node, index, f"invalid jq expression {quoted(expression)}: {reason}")

    def _tell_invalid(self, document: Document, node: ScalarNode, reason: str) -> None:
        """Tell it at the last `${{` before the column that the reason names."""
        column = re.search(_COLUMN, reason)
        end = len(node.value) if column is None else int(column[1]) + 2
        self._tell_at(document, node, node.value.count("${{", 0, end) - 1, f"invalid template: {_in_place(reason)}")

    def _tell_at(self, document: Document, node: ScalarNode, index: int, message: str, hint: str | None = None) -> None:
        """Tell it at the `${{` with this index in what is written, where escapes and line breaks are others."""
        written = document.text[node.start_mark.index : node.end_mark.index]
        offset = -1
        for _ in range(index + 1):
            offset = written.find("${{", offset + 1)
        document.mistakes.add(document.file, *position_in(document, node, max(0, offset)), message, hint)


def _in_place(reason: str) -> str:
    """The reason without its columns, which are those of the template: the place in the file is told."""
    return re.sub(_COLUMN, "", reason)
