"""MiniLM-L6 as a tagger of words: its encoder, the signs of the layout added to the embeddings, and a row of scores."""
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional

SIGNS, WIDTH, LAYERS, HEADS, INNER = 80, 384, 6, 12, 1536
CV_LABELS, POSTING_LABELS = 15, 5


class Layer(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.mixed = nn.Linear(WIDTH, WIDTH)
        self.mixed_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.wide, self.narrow = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden, mask):
        batch, length = hidden.shape[0], hidden.shape[1]
        parts = [
            part(hidden).view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        # Written out: on a processor it learns faster than the fused operator at this length.
        weights = parts[0] @ parts[1].transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        if mask is not None:
            weights = weights + mask
        seen = torch.softmax(weights, dim=-1, dtype=weights.dtype) @ parts[2]
        seen = seen.transpose(1, 2).reshape(batch, length, WIDTH)
        hidden = self.mixed_norm(hidden + self.dropout(self.mixed(seen)))
        return self.norm(hidden + self.dropout(self.narrow(functional.gelu(self.wide(hidden)))))


class Tagger(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.words = nn.Embedding(30522, WIDTH)
        self.positions = nn.Embedding(512, WIDTH)
        self.signs = nn.Linear(SIGNS, WIDTH, bias=False)
        nn.init.zeros_(self.signs.weight)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, CV_LABELS + POSTING_LABELS)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids, signs, mask=None):
        places = torch.arange(input_ids.shape[1], device=input_ids.device)
        hidden = self.words(input_ids) + self.positions(places) + self.signs(signs)
        hidden = self.dropout(self.norm(hidden))
        for layer in self.layers:
            hidden = layer(hidden, mask)
        return self.head(self.dropout(hidden))


def load_encoder(model, onnx_file):
    """Copies the weights of the encoder out of its ONNX file."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(onnx_file).graph
    tensors = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    matrices = {one.name: one.input[1] for one in graph.node if one.op_type == "MatMul"}

    def copy(into, array):
        assert tuple(into.shape) == array.shape, (into.shape, array.shape)
        into.data.copy_(torch.from_numpy(np.array(array, dtype=np.float32)))

    def copy_norm(into, name):
        copy(into.weight, tensors[f"{name}.weight"])
        copy(into.bias, tensors[f"{name}.bias"])

    copy(model.words.weight, tensors["embeddings.word_embeddings.weight"])
    # Every text is of the first type, so that its vector is a part of each position.
    types = tensors["embeddings.token_type_embeddings.weight"]
    copy(model.positions.weight, tensors["embeddings.position_embeddings.weight"] + types[0])
    copy_norm(model.norm, "embeddings.LayerNorm")
    for at, layer in enumerate(model.layers):
        for linear, path in (
            (layer.query, "attention.self.query"),
            (layer.key, "attention.self.key"),
            (layer.value, "attention.self.value"),
            (layer.mixed, "attention.output.dense"),
            (layer.wide, "intermediate.dense"),
            (layer.narrow, "output.dense"),
        ):
            node = f"/encoder/layer.{at}/{path.replace('.', '/')}/MatMul"
            copy(linear.weight, tensors[matrices[node]].T)
            copy(linear.bias, tensors[f"encoder.layer.{at}.{path}.bias"])
        copy_norm(layer.mixed_norm, f"encoder.layer.{at}.attention.output.LayerNorm")
        copy_norm(layer.norm, f"encoder.layer.{at}.output.LayerNorm")
