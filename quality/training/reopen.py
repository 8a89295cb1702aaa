"""
`python reopen.py --network MODEL.onnx --out CHECKPOINT.pt`: a checkpoint from an exported network, for `train.py --begin`. The weights have
the seven bits that they were stored with.
"""
import argparse

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from network import Tagger


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    graph = onnx.load(options.network).graph
    tensors = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    matrices = {one.name: one.input[1] for one in graph.node if one.op_type == "MatMulInteger"}

    def real(stored):
        name = stored.removesuffix("_quantized")
        if name == stored:
            return tensors[stored].astype(np.float32)
        shift = tensors[f"{name}_zero_point"].astype(np.float32)
        return (tensors[stored].astype(np.float32) - shift) * tensors[f"{name}_scale"].astype(np.float32)

    model = Tagger()
    state = {}
    for name, parameter in model.state_dict().items():
        layer = name.rsplit(".", 1)[0].replace("layers.", "layers#").replace(".", "/").replace("#", ".")
        matrix = matrices.get(f"/{layer}/MatMul_quant") if name.endswith(".weight") else None
        if matrix is not None:
            array = real(matrix).T
        else:
            array = real(name if name in tensors else f"{name}_quantized")
        assert array.shape == tuple(parameter.shape), (name, array.shape, tuple(parameter.shape))
        state[name] = torch.from_numpy(array.copy())
    torch.save({"model": state}, options.out)


if __name__ == "__main__":
    main()
