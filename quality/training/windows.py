"""Texts cut into windows of whole words, and the row of each word taken from the window that sees most around it."""
import numpy as np

from pieces import CLS, SEP

WINDOW = 256
OVERLAP_WORDS = 40


def window_ranges(counts, first_limit=None):
    """Ranges of words, by the number of pieces of each word. `first_limit`: fewer pieces in the first window."""
    ranges, start, total = [], 0, len(counts)
    limit = first_limit or WINDOW - 2
    while True:
        end, used = start, 0
        while end < total and used + counts[end] <= limit:
            used += counts[end]
            end += 1
        ranges.append((start, end))
        if end >= total:
            return ranges
        start = max(start + 1, end - OVERLAP_WORDS)
        limit = WINDOW - 2


def fill(pieces, signs, start, end):
    """The inputs of one window and the places of its words' first pieces."""
    ids, rows, firsts = [CLS], [None], []
    for word in range(start, end):
        firsts.append(len(ids))
        ids.extend(pieces[word])
        rows.extend([word] * len(pieces[word]))
    ids.append(SEP)
    filled = np.zeros((len(ids), signs.shape[1]), dtype=np.float32)
    filled[1:-1] = signs[rows[1:]]
    return np.array(ids, dtype=np.int64), filled, np.array(firsts, dtype=np.int64)


def scores_of(run, pieces, signs, columns):
    """`run(ids, signs)` gives the logits of one window; log-probabilities over `columns`, a row for each word."""
    total = len(pieces)
    rows = np.zeros((total, columns.stop - columns.start), dtype=np.float32)
    depth = np.full(total, -1, dtype=np.int64)
    for start, end in window_ranges([len(one) for one in pieces]):
        ids, filled, firsts = fill(pieces, signs, start, end)
        logits = run(ids, filled)[firsts][:, columns]
        top = logits.max(axis=1, keepdims=True)
        logs = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        for word in range(start, end):
            before = total if start == 0 else word - start
            after = total if end == total else end - 1 - word
            if min(before, after) > depth[word]:
                depth[word] = min(before, after)
                rows[word] = logs[word - start]
    return rows
