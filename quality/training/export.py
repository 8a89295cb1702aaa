"""
`python export.py --checkpoint CHECKPOINT.pt … --tokenizer TOKENIZER.json --words WORDS.jsonl --out FOLDER`

Of several checkpoints, of which one began with the other, the mean of their weights is taken. Writes the network as ONNX with weights of a byte (model.onnx), compares it with the network before, and writes a text with
its windows and rows (vector.json) for the tests of the runtime.
"""
import argparse
import hashlib
import json
import os

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from documents import read_documents
from network import CV_LABELS, POSTING_LABELS, SIGNS, Tagger
from pieces import WordPieces, read_vocabulary
from windows import fill, scores_of, window_ranges


def main():
    parser = argparse.ArgumentParser()
    for name in ("tokenizer", "words", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--checkpoint", required=True, nargs="+")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    model = Tagger()
    stored = [torch.load(file, weights_only=True)["model"] for file in options.checkpoint]
    model.load_state_dict({name: sum(one[name] for one in stored) / len(stored) for name in stored[0]})
    model.eval()
    plain, small = (os.path.join(options.out, name) for name in ("plain.onnx", "model.onnx"))
    example = (torch.zeros(1, 7, dtype=torch.int64), torch.zeros(1, 7, SIGNS))
    torch.onnx.export(
        model, example, plain, dynamo=False, opset_version=17,
        input_names=["input_ids", "signs"], output_names=["logits"],
        dynamic_axes={name: {1: "length"} for name in ("input_ids", "signs", "logits")},
    )
    # Weights of seven bits: with eight, processors without VNNI instructions overflow.
    quantize_dynamic(
        plain, small, op_types_to_quantize=["MatMul", "Gather"], per_channel=True, reduce_range=True,
        weight_type=QuantType.QInt8,
    )
    written = onnx.load(small)
    written.ir_version = 8
    written.doc_string = written.producer_version = ""
    onnx.save(written, small)

    word_pieces = WordPieces(read_vocabulary(options.tokenizer))
    texts = [one for one in read_documents(options.words) if one.part == "choose"][:10]
    sessions = []
    for file in (plain, small):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1
        sessions.append(onnxruntime.InferenceSession(file, settings, providers=["CPUExecutionProvider"]))

    def by_session(session):
        return lambda ids, signs: session.run(None, {"input_ids": ids[None], "signs": signs[None]})[0][0]

    def by_torch(ids, signs):
        with torch.no_grad():
            return model(torch.from_numpy(ids)[None], torch.from_numpy(signs)[None])[0].numpy()

    same, words, largest = 0, 0, 0.0
    for text in texts:
        pieces = [word_pieces.of(word) for word in text.words]
        columns = slice(0, CV_LABELS)
        rows = [scores_of(run, pieces, text.signs, columns) for run in (by_torch, *map(by_session, sessions))]
        largest = max(largest, float(np.abs(rows[0] - rows[1]).max()))
        same += int((rows[0].argmax(1) == rows[2].argmax(1)).sum())
        words += len(text.words)
    print(f"ONNX and PyTorch differ by {largest:.6f} at most; of {words} words {same / words:.4f} have the same label in bytes")

    text = min(texts, key=lambda one: abs(len(one.words) - 400))
    pieces = [word_pieces.of(word) for word in text.words]
    ranges = window_ranges([len(one) for one in pieces])
    vector = {
        "words": text.words,
        "signs": [int(one) for one in text.signs.reshape(-1)],
        "windows": [
            {"from": start, "to": end, "ids": fill(pieces, text.signs, start, end)[0].tolist()} for start, end in ranges
        ],
        "cv": scores_of(by_session(sessions[1]), pieces, text.signs, slice(0, CV_LABELS)).round(5).tolist(),
        "posting": scores_of(
            by_session(sessions[1]), pieces, text.signs, slice(CV_LABELS, CV_LABELS + POSTING_LABELS)
        ).round(5).tolist(),
    }
    with open(os.path.join(options.out, "vector.json"), "w", encoding="utf-8") as file:
        json.dump(vector, file)
    with open(small, "rb") as file:
        print(hashlib.sha256(file.read()).hexdigest(), os.path.getsize(small))


if __name__ == "__main__":
    main()
