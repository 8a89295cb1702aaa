"""What the network learns from, and how it is varied from one epoch to the next."""
import json
import random
from collections import defaultdict

import numpy as np

from pieces import MASK
from windows import WINDOW, fill, window_ranges

# The columns of src/domain/documents/tagger/signs.ts.
SHAPES = slice(0, 16)
BEGINS = slice(16, 19)
FROM_START, MOST_FROM_START = 20, 7
FROM_END, MOST_FROM_END = 28, 3
SECTIONS = slice(32, 42)
LISTS = slice(42, 58)
LINE_NUMBERS = slice(58, 65)
HEADING = 65
LINE_LENGTH = 66
JOINED = 72
CAPITALISED, CAPITAL, SHORT_CAPITALS, SMALL, MIXED, LONG_CAPITALS = 0, 1, 2, 3, 5, 7
KINDS = ("name", "title", "company", "school", "degree", "place", "skill")


class Document:
    def __init__(self, part, words, signs, allowed):
        self.part, self.words, self.signs, self.allowed = part, words, signs, allowed

    def lines(self):
        """Ranges of words that are one line."""
        starts = [int(at) for at in np.flatnonzero(self.signs[:, BEGINS].any(axis=1))]
        if not starts or starts[0] != 0:
            starts.insert(0, 0)
        return list(zip(starts, starts[1:] + [len(self.words)]))


def read_documents(file):
    documents = []
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            packed = np.frombuffer(bytes.fromhex(one["signs"]), dtype=np.uint8)
            signs = np.unpackbits(packed).reshape(len(one["words"]), -1)
            allowed = np.array(one["allowed"], dtype=np.int32)
            documents.append(Document(one["part"], one["words"], signs, allowed))
    return documents


def mentions_of(document):
    """(kind, from, to) of every mention that is marked."""
    found, at, total = [], 0, len(document.words)
    labels = [label_of(bits) for bits in document.allowed]
    while at < total:
        if labels[at] <= 0 or labels[at] % 2 == 0:
            at += 1
            continue
        to = at + 1
        while to < total and labels[to] == labels[at] + 1:
            to += 1
        found.append(((labels[at] - 1) // 2, at, to))
        at = to
    return found


def label_of(bits):
    """The one label that is allowed, or -1."""
    bits = int(bits)
    return bits.bit_length() - 1 if bits & (bits - 1) == 0 else -1


class Donors:
    """Mentions of every kind, to be put in the place of others: a company is one by its place, not by its name."""

    def __init__(self, documents):
        self.of = defaultdict(list)
        for document in documents:
            for kind, start, end in mentions_of(document):
                signs = document.signs[start:end].copy()
                self.of[kind].append((document.words[start:end], signs))

    def swapped(self, document, shares):
        words, signs, allowed, last = [], [], [], 0
        for kind, start, end in mentions_of(document):
            if random.random() >= shares[KINDS[kind]]:
                continue
            new_words, new_signs = random.choice(self.of[kind])
            words += document.words[last:start] + new_words
            signs.append(document.signs[last:start])
            # The looks are the new mention's, the place is the old one's.
            placed = np.repeat(document.signs[start : start + 1], len(new_words), axis=0)
            placed[1:, BEGINS] = 0
            for columns in (SHAPES, LISTS):
                placed[:, columns] = new_signs[:, columns]
            placed[1:, JOINED] = new_signs[1:, JOINED]
            signs.append(placed)
            allowed.append(document.allowed[last:start])
            first = 1 << (1 + 2 * kind)
            allowed.append(np.array([first] + [first << 1] * (len(new_words) - 1), dtype=np.int32))
            last = end
        if last == 0:
            return document
        words += document.words[last:]
        signs.append(document.signs[last:])
        allowed.append(document.allowed[last:])
        changed = Document(document.part, words, np.concatenate(signs), np.concatenate(allowed))
        place_in_lines(changed)
        return changed


def place_in_lines(document):
    signs = document.signs
    signs[:, FROM_START : FROM_END + MOST_FROM_END + 1] = 0
    signs[:, LINE_LENGTH : LINE_LENGTH + 5] = 0
    for start, end in document.lines():
        length = end - start
        size = 0 if length == 1 else 1 if length <= 3 else 2 if length <= 6 else 3 if length <= 12 else 4
        signs[start:end, LINE_LENGTH + size] = 1
        for at in range(start, end):
            signs[at, FROM_START + min(MOST_FROM_START, at - start)] = 1
            signs[at, FROM_END + min(MOST_FROM_END, end - 1 - at)] = 1


def recased(document, is_upper, ranges):
    for start, end in ranges:
        for at in range(start, end):
            shape = int(document.signs[at, SHAPES].argmax())
            if shape not in (CAPITALISED, CAPITAL, SHORT_CAPITALS, SMALL, MIXED, LONG_CAPITALS):
                continue
            length = len(document.words[at])
            capitals = CAPITAL if length == 1 else SHORT_CAPITALS if length <= 4 else LONG_CAPITALS
            document.signs[at, shape] = 0
            document.signs[at, capitals if is_upper else SMALL] = 1


SWAPS = {"name": 0.5, "title": 0.15, "company": 0.35, "school": 0.25, "degree": 0.15, "place": 0.25, "skill": 0.1}


def varied(document, donors):
    """The document with other names, other capitals and less of what the lists and headings say."""
    changed = donors.swapped(document, SWAPS) if random.random() < 0.7 else document
    if changed is document:
        changed = Document(document.part, list(document.words), document.signs.copy(), document.allowed)
    dice = random.random()
    if dice < 0.04:
        recased(changed, False, changed.lines())
    elif dice < 0.09:
        recased(changed, True, changed.lines())
    elif dice < 0.25:
        recased(changed, True, [one for one in changed.lines() if one[1] - one[0] <= 8 and random.random() < 0.4])
    signs, total = changed.signs, len(changed.words)
    if random.random() < 0.2:
        signs[:, SECTIONS] = 0
        signs[:, HEADING] = 0
    if random.random() < 0.1:
        signs[:, LINE_NUMBERS] = 0
    share = 1.0 if random.random() < 0.1 else 0.15
    signs[np.random.random(total) < share, LISTS] = 0
    return changed


HIDDEN = 0.1


def examples_of(document, word_pieces, is_training):
    """Inputs, places of the first pieces, and allowed labels for every window."""
    pieces = [word_pieces.of(word) for word in document.words]
    signs = document.signs
    if is_training:
        signs = signs.copy()
        for at in np.flatnonzero(np.random.random(len(pieces)) < HIDDEN):
            pieces[at] = (MASK,)
            signs[at, LISTS] = 0
    limit = random.randint(60, WINDOW - 2) if is_training and random.random() < 0.5 else None
    found = []
    for start, end in window_ranges([len(one) for one in pieces], limit):
        if end > start:
            ids, filled, firsts = fill(pieces, signs, start, end)
            found.append((ids, filled.astype(np.uint8), firsts, document.allowed[start:end], document.part))
    return found


def joined_sentences(sentences):
    """Some sentences alone and some as the lines of one text, as the engine reads both."""
    joined, at = [], 0
    while at < len(sentences):
        count = random.choice((1, 1, 2, 4, 8))
        group = sentences[at : at + count]
        at += count
        signs = np.concatenate([one.signs for one in group])
        signs[:, LINE_NUMBERS] = 0
        signs[:, SECTIONS] = 0
        words = [word for one in group for word in one.words]
        joined.append(Document("sentence", words, signs, np.concatenate([one.allowed for one in group])))
    return joined
