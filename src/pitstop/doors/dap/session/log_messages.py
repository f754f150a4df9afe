"""Log messages as editors write them, `{expression}` in a text, made into the templates of a flow."""


def to_template(message: str) -> str:
    """`took {.seconds} s` is `took ${{ .seconds }} s`. What is a template already stays as it is, as do lone braces."""
    if "${{" in message:
        return message
    made: list[str] = []
    at = 0
    while at < len(message):
        end = _closing(message, at) if message[at] == "{" else None
        if end is None:
            made.append(message[at])
            at += 1
        else:
            made.append(f"${{{{ {message[at + 1 : end].strip()} }}}}")
            at = end + 1
    return "".join(made)


def _closing(message: str, opening: int) -> int | None:
    """Where the brace is closed, whatever is in the expression; None when it is not, or when it holds nothing."""
    depth, quoted, at = 0, False, opening
    while at < len(message):
        char = message[at]
        if quoted:
            at += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char in "{}":
            depth += 1 if char == "{" else -1
            if depth == 0:
                return at if message[opening + 1 : at].strip() else None
        at += 1
    return None
