"""Word pieces as the uncased BERT vocabulary has them, for words that are cut already."""
import json
import unicodedata
from functools import lru_cache

UNKNOWN, CLS, SEP, MASK = 100, 101, 102, 103
MOST_PIECES = 6
LONGEST_PART = 100


def read_vocabulary(tokenizer_file):
    with open(tokenizer_file, encoding="utf-8") as file:
        return json.load(file)["model"]["vocab"]


def _is_punctuation(char):
    code = ord(char)
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126:
        return True
    return unicodedata.category(char).startswith("P")


def _is_cjk(code):
    return (
        0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0x20000 <= code <= 0x2A6DF
        or 0x2A700 <= code <= 0x2B73F or 0x2B740 <= code <= 0x2B81F or 0x2B820 <= code <= 0x2CEAF
        or 0xF900 <= code <= 0xFAFF or 0x2F800 <= code <= 0x2FA1F
    )


def _parts(word):
    """Cleaned, in small letters, without accents, cut at blanks and at every punctuation mark."""
    clean = []
    for char in word:
        code = ord(char)
        if code == 0 or code == 0xFFFD:
            continue
        if char in "\t\n\r" or unicodedata.category(char) == "Zs":
            clean.append(" ")
        elif unicodedata.category(char).startswith("C"):
            continue
        elif _is_cjk(code):
            clean.append(f" {char} ")
        else:
            clean.append(char)
    plain = unicodedata.normalize("NFD", "".join(clean))
    plain = "".join(char for char in plain if unicodedata.category(char) != "Mn").lower()
    parts = []
    for piece in plain.split():
        start = True
        for char in piece:
            if _is_punctuation(char):
                parts.append(char)
                start = True
            elif start:
                parts.append(char)
                start = False
            else:
                parts[-1] += char
    return parts


class WordPieces:
    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        self.of = lru_cache(maxsize=200_000)(self._of)

    def _of(self, word):
        found = []
        for part in _parts(word):
            found.extend(self._matched(part))
            if len(found) >= MOST_PIECES:
                break
        return tuple(found[:MOST_PIECES]) or (UNKNOWN,)

    def _matched(self, part):
        if len(part) > LONGEST_PART:
            return [UNKNOWN]
        found, start = [], 0
        while start < len(part):
            end = len(part)
            while end > start:
                piece = part[start:end] if start == 0 else "##" + part[start:end]
                if piece in self.vocabulary:
                    break
                end -= 1
            if end == start:
                return [UNKNOWN]
            found.append(self.vocabulary[piece])
            start = end
        return found
