# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch tensors in the form that the kernels expect."""

import torch


def stream_of(x):
    """The current stream of x's device, 0 on a host."""
    # PyTorch's default stream is CUDA's legacy default stream, which is 1 in DLPack.
    return (torch.cuda.current_stream(x.device).cuda_stream or 1) if x.is_cuda else 0


def capsule_of(x, stream):
    """A DLPack capsule of a tensor on a CUDA device. PyTorch exports those of the current device alone."""
    index = x.device.index
    if torch.cuda.current_device() == index:
        return x.__dlpack__(stream=stream)
    with torch.cuda.device(index):
        return x.__dlpack__(stream=stream)


def exported(x, stream):
    """What the kernels read a tensor by, if there is one."""
    if x is None:
        return None
    return capsule_of(x.detach(), stream) if stream else x.detach()


def along_lines(x, dim):
    """x, copied if it is broadcast along the axis on a GPU, where kernels read stride 0 slowly."""
    return x.contiguous() if x.is_cuda and x.stride(dim) == 0 else x
