"""Where bytes of UTF-8 can be cut without cutting a character."""


def whole_characters(data: bytes) -> int:
    """How many of the bytes are whole UTF-8 characters: all, or up to three fewer if the last one is cut."""
    for length in range(1, min(4, len(data) + 1)):
        last = data[-length]
        if last & 0b1100_0000 != 0b1000_0000:  # not a byte that continues a character
            wanted = 4 if last >= 0xF0 else 3 if last >= 0xE0 else 2 if last >= 0xC0 else 1
            return len(data) - length if wanted > length else len(data)
    return len(data)
