# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's tensors as the kernels take them."""

import torch


def stream_of(x):
    """The current stream of x's device, 0 on a host."""
    # PyTorch's default stream is CUDA's legacy default stream, which DLPack calls 1.
    return (torch.cuda.current_stream(x.device).cuda_stream or 1) if x.is_cuda else 0


def along_lines(x, dim):
    """x, with a place in memory for each step on a GPU, where kernels read arrays of one value a line
    several times as slowly as they are written."""
    return x.contiguous() if x.is_cuda and x.stride(dim) == 0 else x
