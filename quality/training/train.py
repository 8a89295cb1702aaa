"""
`python train.py --words WORDS.jsonl --encoder MINILM.onnx --tokenizer TOKENIZER.json --out FOLDER --minutes 30`

Stops after the given time, whatever the machine does: the rate of learning follows the time that has passed. A checkpoint is
written every few minutes, after every epoch and at SIGTERM; `--resume` goes on from it, with other texts if wanted.
`--choosing` leaves a part of the CVs out and measures on it. On a busy machine set OMP_WAIT_POLICY=passive.
"""
import argparse
import json
import os
import random
import signal
import time

import numpy as np
import torch
from torch.nn import functional

from documents import Donors, KINDS, Document, examples_of, joined_sentences, mentions_of, read_documents, varied
from network import CV_LABELS, POSTING_LABELS, SIGNS, Tagger, load_encoder
from pieces import WordPieces, read_vocabulary
from windows import scores_of


def batches_of(examples, pieces_a_batch):
    """Windows of about one length together, so that little is padded."""
    examples = sorted(examples, key=lambda one: len(one[0]) + random.random())
    batches, batch = [], []
    for one in examples:
        if batch and len(one[0]) * (len(batch) + 1) > pieces_a_batch:
            batches.append(batch)
            batch = []
        batch.append(one)
    if batch:
        batches.append(batch)
    random.shuffle(batches)
    return batches


def tensors_of(batch):
    longest = max(len(one[0]) for one in batch)
    words = sum(len(one[2]) for one in batch)
    ids = np.zeros((len(batch), longest), dtype=np.int64)
    signs = np.zeros((len(batch), longest, SIGNS), dtype=np.float32)
    mask = np.full((len(batch), 1, 1, longest), -1e4, dtype=np.float32)
    places = np.zeros(words, dtype=np.int64)
    allowed = np.zeros((words, CV_LABELS + POSTING_LABELS), dtype=bool)
    weight = np.zeros(words, dtype=np.float32)
    at = 0
    for row, (one_ids, one_signs, firsts, bits, part) in enumerate(batch):
        ids[row, : len(one_ids)] = one_ids
        signs[row, : len(one_ids)] = one_signs
        mask[row, 0, 0, : len(one_ids)] = 0
        rows = slice(at, at + len(firsts))
        places[rows] = firsts + row * longest
        offset, labels = (CV_LABELS, POSTING_LABELS) if part == "sentence" else (0, CV_LABELS)
        allowed[rows, offset : offset + labels] = (bits[:, None] >> np.arange(labels)) & 1
        weight[rows] = WEIGHTS[part]
        at += len(firsts)
    return [torch.from_numpy(one) for one in (ids, signs, mask, places, allowed, weight)]


WEIGHTS = {"train": 1.0, "choose": 1.0, "written": 1.0, "synthetic": 0.6, "sentence": 1.0}
SMOOTHING = 0.02
# Without these instructions it takes twice the time of single precision.
HAS_BFLOAT16 = torch.cpu._is_avx512_bf16_supported()
SAVED_EVERY_SECONDS = 120


def loss_of(logits, allowed, weight):
    """That one of the allowed labels is right; where several are, nothing is said between them."""
    is_posting = allowed[:, CV_LABELS:].any(dim=1, keepdim=True)
    own = torch.arange(CV_LABELS + POSTING_LABELS)[None] >= CV_LABELS
    logits = logits.masked_fill(own != is_posting, -1e4)
    logs = functional.log_softmax(logits, dim=1)
    right = torch.logsumexp(logs.masked_fill(~allowed, -1e4), dim=1)
    even = logs.masked_fill(own != is_posting, 0).sum(dim=1) / torch.where(is_posting[:, 0], POSTING_LABELS, CV_LABELS)
    losses = -(1 - SMOOTHING) * right - SMOOTHING * even
    return (losses * weight).sum() / weight.sum()


def rate_at(progress):
    return min(1.0, progress / 0.06) * max(0.0, 1 - progress)


def measured(model, documents, word_pieces):
    """F1 of the mentions of every kind by the best label of each word alone."""
    model.eval()
    counts = np.zeros((len(KINDS), 3))

    def run(ids, signs):
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=HAS_BFLOAT16):
            return model(torch.from_numpy(ids)[None], torch.from_numpy(signs)[None])[0].float().numpy()

    for document in documents:
        pieces = [word_pieces.of(word) for word in document.words]
        rows = scores_of(run, pieces, document.signs, slice(0, CV_LABELS))
        labels = rows.argmax(axis=1)
        seen = Document("", document.words, document.signs, (1 << labels).astype(np.int32))
        wanted, found = set(mentions_of(document)), set(mentions_of(seen))
        for kind, _, _ in wanted & found:
            counts[kind, 0] += 1
        for kind, _, _ in wanted:
            counts[kind, 1] += 1
        for kind, _, _ in found:
            counts[kind, 2] += 1
    model.train()
    return {
        kind: round(2 * counts[at, 0] / max(1, counts[at, 1] + counts[at, 2]), 3) for at, kind in enumerate(KINDS)
    }


def main():
    parser = argparse.ArgumentParser()
    for name in ("words", "encoder", "tokenizer", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--pieces", type=int, default=4096, help="word pieces in a batch")
    parser.add_argument("--synthetic", type=int, default=10**9, help="synthetic CVs in an epoch")
    parser.add_argument("--sentences", type=int, default=10**9, help="sentences in an epoch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--choosing", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--begin", help="a checkpoint whose weights a new run begins with")
    parser.add_argument("--dev", help="words that are only measured, after every epoch; the best weights are best.pt")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    torch.set_num_threads(options.threads)
    random.seed(options.seed)
    np.random.seed(options.seed)
    torch.manual_seed(options.seed)

    documents = read_documents(options.words)
    parts = {name: [one for one in documents if one.part == name] for name in WEIGHTS}
    chosen = parts["train"] + parts["written"] + ([] if options.choosing else parts["choose"])
    donors = Donors(chosen + parts["synthetic"])
    word_pieces = WordPieces(read_vocabulary(options.tokenizer))
    model = Tagger()
    load_encoder(model, options.encoder)
    # The words keep their vectors: those that are not in the training texts would be left behind.
    model.words.weight.requires_grad = False
    fast = [model.signs.weight, model.head.weight, model.head.bias]
    slow = [one for one in model.parameters() if one.requires_grad and not any(one is other for other in fast)]
    optimizer = torch.optim.AdamW(
        [{"params": slow, "base": options.rate}, {"params": fast, "base": options.rate * 5}], weight_decay=0.01
    )
    state = {"epoch": 0, "seconds": 0.0, "steps": 0}
    checkpoint = os.path.join(options.out, "checkpoint.pt")
    if options.begin is not None:
        model.load_state_dict(torch.load(options.begin, weights_only=True)["model"])
    if options.resume and os.path.exists(checkpoint):
        stored = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(stored["model"])
        optimizer.load_state_dict(stored["optimizer"])
        state = stored["state"]
    print(json.dumps({name: len(one) for name, one in parts.items()}), flush=True)

    budget = options.minutes * 60
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))

    def save():
        stored = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "state": state}
        torch.save(stored, f"{checkpoint}.new")
        os.replace(f"{checkpoint}.new", checkpoint)

    dev = [] if options.dev is None else [one for one in read_documents(options.dev) if one.part == "synthetic"]
    best = sum(measured(model, dev, word_pieces).values()) / len(KINDS) if dev and options.begin is not None else 0.0
    print(json.dumps({"dev": len(dev), "mean": round(best, 4)}), flush=True)
    model.train()
    while state["seconds"] < budget and not stopped:
        begun, saved, losses = time.monotonic(), time.monotonic(), []
        synthetic = random.sample(parts["synthetic"], min(len(parts["synthetic"]), options.synthetic))
        sentences = joined_sentences(parts["sentence"])
        random.shuffle(sentences)
        examples = [
            example
            for document in chosen + synthetic
            for example in examples_of(varied(document, donors), word_pieces, True)
        ]
        posting, used = [], 0
        for document in sentences:
            if used >= options.sentences:
                break
            used += 1
            posting += examples_of(document, word_pieces, True)
        batches = batches_of(examples, options.pieces) + batches_of(posting, options.pieces)
        random.shuffle(batches)
        for batch in batches:
            now = time.monotonic()
            state["seconds"], begun = state["seconds"] + now - begun, now
            if state["seconds"] >= budget or stopped:
                break
            if now - saved > SAVED_EVERY_SECONDS:
                save()
                saved = now
                print(json.dumps({**state, "loss": round(float(np.mean(losses[-20:])), 4)}), flush=True)
            for group in optimizer.param_groups:
                group["lr"] = group["base"] * rate_at(state["seconds"] / budget)
            ids, signs, mask, places, allowed, weight = tensors_of(batch)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=HAS_BFLOAT16):
                logits = model(ids, signs, mask)
            logits = logits.float().reshape(-1, logits.shape[-1])[places]
            loss = loss_of(logits, allowed, weight)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(slow + fast, 1.0)
            optimizer.step()
            losses.append(loss.item())
            state["steps"] += 1
        state["epoch"] += 1
        save()
        line = {**state, "batches": len(batches), "loss": round(float(np.mean(losses or [0])), 4)}
        if options.choosing:
            line.update(measured(model, parts["choose"], word_pieces))
        if dev:
            line.update(measured(model, dev, word_pieces))
            mean = sum(line[kind] for kind in KINDS) / len(KINDS)
            if mean > best:
                best = mean
                torch.save({"model": model.state_dict(), "state": state}, os.path.join(options.out, "best.pt"))
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
