# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of arrays: how each is made, described and handed to the kernels without a copy.

Types are numbers here, the places of their names in NAMES.
"""

import math
import operator
import sys

import numpy as np

from . import _core

NAMES = _core.dtype_names
_CODES = {name: code for code, name in enumerate(NAMES)}
BOOL = _CODES["bool"]
BFLOAT16 = _CODES["bfloat16"]
COMPLEX64 = _CODES["complex64"]  # and from here on
INT64 = _CODES["int64"]
FLOAT16 = _CODES["float16"]  # and from here on no whole numbers
FLOAT64 = _CODES["float64"]
_UINT16 = _CODES["uint16"]


def _promoted(name):
    if name.startswith("uint"):
        return "uint64"
    return "int64" if name == "bool" or name.startswith("int") else name


#: The type of sums and products of each type, as numpy.cumulative_sum has it.
PROMOTED = [_CODES[_promoted(name)] for name in NAMES]


def is_real_code(code):
    """Whether a type is a real floating one."""
    return FLOAT16 <= code < COMPLEX64


class ThreeDimensions:
    """An array's dimensions as those before an axis, the axis, and those behind it. Arrays are
    copied only where these do not follow from their strides."""

    def __init__(self, shape, axis):
        self._shape = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1:]))

    def of(self, array, length=None):
        before, own, behind = self._shape
        return array.reshape((before, own if length is None else length, behind))

    def of_lines(self, array):
        return array.reshape((self._shape[0], self._shape[2]))


def checked_axis(axis, ndim):
    """The axis counted from the front."""
    try:
        counted = operator.index(axis)
    except TypeError:
        raise TypeError(f"kokkos_scan: axis is a {type(axis).__name__}: expected an int.") from None
    if counted < 0:
        counted += ndim
    if not 0 <= counted < ndim:
        raise IndexError(f"kokkos_scan: axis {axis} is out of range for x of rank {ndim}: allowed "
                         f"are {-ndim} to {ndim - 1}.")
    return counted


def checked_flag(flag, name):
    """A flag as a bool: NumPy's are, and so are numbers."""
    if isinstance(flag, (bool, int, np.bool_)):
        return bool(flag)
    raise TypeError(f"kokkos_scan: {name} is a {type(flag).__name__}: expected a bool.")


def _does_not_hold(number, code):
    return ValueError(f"kokkos_scan: initial is {number}, which {NAMES[code]} does not hold.")


def checked_number(number, code):
    """A number that a type holds: rounded where the type is a floating one, else as it is."""
    if code >= FLOAT16:
        if isinstance(number, int):
            try:
                float(number)
            except OverflowError:
                raise _does_not_hold(number, code) from None
        return number
    if code == BOOL:
        return bool(number)
    limits = np.iinfo(NAMES[code])
    # Infinity and NaN are no integers, either.
    if isinstance(number, float) and not number.is_integer():
        raise _does_not_hold(number, code)
    if not limits.min <= number <= limits.max:
        raise _does_not_hold(number, code)
    return int(number)


def as_numpy(x, name):
    """What numpy.asarray makes of lists, Series and whatever else, if these are numbers."""
    refusal = TypeError(f"kokkos_scan: {name} is a {type(x).__name__}: expected an array that speaks "
                        "DLPack or the buffer protocol, or what numpy.asarray makes an array of "
                        "numbers of.")
    if x is None or isinstance(x, str):
        raise refusal
    try:
        # NumPy takes bytes for text, though they have a buffer.
        array = np.asarray(memoryview(x) if isinstance(x, bytes) else x)
    except (TypeError, ValueError):
        raise refusal from None
    # Arrays of another type get a sentence that names it.
    if array.dtype.kind in "OUS" and not hasattr(x, "dtype"):
        raise refusal
    return array


def _refuse_dtype(dtype, name):
    raise TypeError(f"kokkos_scan: {name} has type {dtype}: expected one of {', '.join(NAMES)}.")


class _NumpyLike:
    """Arrays of NumPy, and of CuPy, which has the same functions."""

    is_torch = False
    has_reshape = True
    has_casts = True  #: whether results are converted to the type of out

    def __init__(self, module):
        self._module = module
        self._code_of = {np.dtype(name): code for name, code in _CODES.items() if code != BFLOAT16}
        self._dtype_of = {code: dtype for dtype, code in self._code_of.items()}

    def array(self, x, name):
        """x as an array of this module, if it is one, of at least one dimension."""
        if not isinstance(x, self._module.ndarray):
            raise TypeError(f"kokkos_scan: {name} is a {type(x).__name__}, but x is a "
                            f"{self._module.__name__} array.")
        return x if x.ndim else x.reshape(1)

    def code(self, x, name):
        dtype = x.dtype
        code = self._code_of.get(dtype)
        if code is None:
            code = self._unusual_code(dtype, name)
        return code

    def _unusual_code(self, dtype, name):
        # ml_dtypes has NumPy's bfloat16. NumPy's types differ in byte order and in names of the same
        # integer (long and long long).
        if dtype.name == "bfloat16":
            self._dtype_of[BFLOAT16] = dtype
            return BFLOAT16
        code = _CODES.get(dtype.name)
        return _refuse_dtype(dtype, name) if code is None else code

    def output(self, out):
        """An array of this module that results can be written to."""
        if not isinstance(out, self._module.ndarray):
            raise TypeError(f"kokkos_scan: out is a {type(out).__name__}, but x is a "
                            f"{self._module.__name__} array.")
        return self.array(out, "out")

    def dtype(self, dtype):
        try:
            return np.dtype(dtype)
        except TypeError:
            raise TypeError(f"kokkos_scan: dtype is {dtype!r}: expected one of "
                            f"{', '.join(NAMES)}.") from None

    def code_of_dtype(self, dtype):
        dtype = self.dtype(dtype)
        code = self._code_of.get(dtype)
        return self._unusual_code(dtype, "the result") if code is None else code

    def empty(self, like, shape, code):
        """A new array whose axes follow each other in memory as those of another."""
        if len(shape) != like.ndim or like.flags.c_contiguous:
            return self._module.empty(shape, self._dtype_of[code])
        return self._module.empty_like(like, dtype=self._dtype_of[code], shape=shape)

    def empty_rows(self, like, shape, code):
        """A new array, row-major: any axis splits it into three dimensions."""
        return self._module.empty(shape, self._dtype_of[code])

    def coefficients(self, a, b):
        """Those of a recurrence, in the type and the shape of b; a number, which keeps all its digits,
        as a float."""
        if isinstance(a, (bool, int, float)):
            return float(a)
        if not isinstance(a, (self._module.ndarray, np.generic)):
            raise TypeError(f"kokkos_scan: a is a {type(a).__name__}: expected a number or a "
                            f"{self._module.__name__} array.")
        if a.dtype != b.dtype:
            raise TypeError(f"kokkos_scan: a has type {a.dtype}, but b has {b.dtype}.")
        try:
            return self._module.broadcast_to(a, b.shape)
        except ValueError:
            raise ValueError(f"kokkos_scan: a has shape {a.shape}, which does not broadcast to "
                             f"{b.shape}, the shape of b.") from None

    def is_writable(self, out):
        """Whether the kernels can write it: in the machine's byte order, at multiples of its elements' size."""
        return self.exported_as(out) is not None

    def writable(self, out, shape):
        """out as an array of this shape."""
        return out.reshape(1) if out.ndim == 0 and shape == (1,) else out

    def mask(self, mask, name):
        if not isinstance(mask, self._module.ndarray):
            raise TypeError(f"kokkos_scan: {name} is a {type(mask).__name__}, but x is a "
                            f"{self._module.__name__} array.")
        return mask

    def broadcast(self, mask, shape, name):
        mask = self.mask(mask, name)
        if mask.dtype != np.bool_:
            raise TypeError(f"kokkos_scan: {name} has type {mask.dtype}: expected bool.")
        if mask.shape == shape:
            return mask
        try:
            return self._module.broadcast_to(mask, shape)
        except ValueError:
            raise ValueError(f"kokkos_scan: {name} has shape {mask.shape}, which does not broadcast "
                             f"to {shape}, the shape of x.") from None

    def starts(self, initial):
        if not isinstance(initial, (self._module.ndarray, np.generic)):
            raise TypeError(f"kokkos_scan: initial is a {type(initial).__name__}: expected a number "
                            f"or a {self._module.__name__} array.")
        return initial

    def converted(self, initial, code):
        return self._module.asarray(initial).astype(self._dtype_of[code], copy=False)

    def initial(self, initial, lines, code):
        initial = self.starts(initial)
        if initial.dtype.kind == "c" and code < COMPLEX64:
            raise TypeError(f"kokkos_scan: the initial value is complex, but the result has type "
                            f"{NAMES[code]}.")
        if initial.shape not in ((), lines):
            raise ValueError(f"kokkos_scan: initial has shape {initial.shape}, but expected is "
                             f"{lines}, the shape of x without the axis.")
        return self._module.broadcast_to(self.converted(initial, code), lines)

    def finished(self, result, stream):
        return result


class _Numpy(_NumpyLike):
    def __init__(self):
        super().__init__(np)

    def array(self, x, name):
        if type(x) is np.ndarray and x.ndim:
            return x
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError(f"kokkos_scan: {name} is a masked array: give its data as x and "
                            "~x.mask as mask.")
        return super().array(as_numpy(x, name), name)

    def mask(self, mask, name):
        return mask if isinstance(mask, np.ndarray) else as_numpy(mask, name)

    def starts(self, initial):
        if isinstance(initial, (str, bytes)):
            return super().starts(initial)
        return initial if isinstance(initial, (np.ndarray, np.generic)) else as_numpy(initial, "initial")

    def converted(self, initial, code):
        dtype = self._dtype_of[code]
        if dtype == np.bool_ or np.can_cast(initial.dtype, dtype) or code >= FLOAT16:
            return super().converted(initial, code)
        with np.errstate(invalid="ignore"):
            values = super().converted(initial, code)
        lost = np.asarray(values != initial)
        if lost.any():
            raise _does_not_hold(np.asarray(initial)[lost].flat[0], code)
        return values

    def stream(self, x):
        return 0

    @staticmethod
    def exported_as(x):
        """x, or as what else DLPack sees the same memory; None if it cannot."""
        if not (x.dtype.isnative and x.flags.aligned):
            return None
        size = x.itemsize
        for extent, stride in zip(x.shape, x.strides):
            if stride % size and extent > 1:
                return None
        return x.view(np.uint16) if x.dtype.name == "bfloat16" else x

    def exported(self, x, stream):
        if x.dtype in self._code_of and x.flags.c_contiguous and x.flags.aligned:
            return x
        exported = self.exported_as(x)
        if exported is None:
            exported = self.exported_as(x.astype(x.dtype.newbyteorder("=")))
        return exported


class _Cupy(_NumpyLike):
    def stream(self, x):
        # CuPy's null stream is CUDA's legacy default stream, which DLPack calls 1.
        return self._module.cuda.get_current_stream(x.device.id).ptr or 1

    @staticmethod
    def exported_as(x):
        return x.view(np.uint16) if x.dtype.name == "bfloat16" else x

    def exported(self, x, stream):
        return self.exported_as(x).__dlpack__(stream=stream)


def _namespace_of(x):
    """Where from_dlpack makes an array of the kind of x."""
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    return sys.modules.get(type(x).__module__.partition(".")[0])


class _Dlpack(_Numpy):
    """Arrays of any other library in the memory of the host: NumPy sees their memory, and results
    are made by NumPy and given to the library's from_dlpack."""

    has_reshape = False
    has_casts = False

    def __init__(self, x):
        super().__init__()
        self._type = type(x)
        self._namespace = _namespace_of(x)

    def _seen(self, x, name):
        if not isinstance(x, self._type):
            return x
        try:
            return np.from_dlpack(x)
        except (BufferError, RuntimeError, TypeError):
            # NumPy's own protocols know types that its DLPack does not, such as bfloat16.
            return np.asarray(x)

    def array(self, x, name):
        return super().array(self._seen(x, name), name)

    def output(self, out):
        if not isinstance(out, (self._type, np.ndarray)):
            raise TypeError(f"kokkos_scan: out is a {type(out).__name__}, but x is a "
                            f"{self._type.__name__}.")
        return self.array(out, "out")

    def writable(self, out, shape):
        out = self._seen(out, "out")
        if not self.is_writable(out):
            raise ValueError("kokkos_scan: out does not lie in memory as the kernels need it: its "
                             "elements must be in the machine's byte order, at multiples of their size.")
        return super().writable(out, shape)

    def broadcast(self, mask, shape, name):
        return super().broadcast(self._seen(mask, name), shape, name)

    def initial(self, initial, lines, code):
        return super().initial(self._seen(initial, "initial"), lines, code)

    def finished(self, result, stream):
        if not hasattr(self._namespace, "from_dlpack"):
            return result
        try:
            return self._namespace.from_dlpack(result)
        except (BufferError, RuntimeError, TypeError):
            return self._namespace.asarray(result)  # see _seen()


class _DeviceArray:
    """Memory of a CUDA device that DLPack described."""

    def __init__(self, array, shape, code, device):
        self.array = array
        self.shape = shape
        self.ndim = len(shape)
        self.code = code
        self.device = device


class _Result:
    """A new array in the memory of a CUDA device, for from_dlpack."""

    def __init__(self, array, device, stream):
        self._array = array
        self._device = device
        self._stream = stream

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream != -1:  # -1: the consumer does without
            _core.wait(self._device[1], 1 if stream is None else stream, self._stream)
        return self._array.__dlpack__(max_version=max_version)

    def __dlpack_device__(self):
        return self._device


class _DlpackCuda:
    """Arrays of any other library in the memory of CUDA devices, by DLPack's rules: the library
    hands them to the stream that is named, here CUDA's legacy default stream."""

    is_torch = False
    has_reshape = False
    has_casts = False
    _stream = 1

    def __init__(self, x):
        self._namespace = _namespace_of(x)
        if not hasattr(self._namespace, "from_dlpack"):
            raise TypeError(f"kokkos_scan: x is a {type(x).__name__} in the memory of a CUDA device, "
                            "and its library has no from_dlpack for the result.")

    def array(self, x, name):
        if isinstance(x, _DeviceArray):
            return x
        if not hasattr(x, "__dlpack__"):
            raise TypeError(f"kokkos_scan: {name} is a {type(x).__name__}: expected an array that "
                            "speaks DLPack.")
        capsule = x.__dlpack__(stream=self._stream)
        array, shape, code = _core.imported(capsule, name)
        return _DeviceArray(array, shape, code, x.__dlpack_device__())

    def output(self, out):
        return self.array(out, "out")

    def code(self, x, name):
        return self.array(x, name).code

    def code_of_dtype(self, dtype):
        return NUMPY.code_of_dtype(dtype)

    def empty(self, like, shape, code):
        array = _core.device_array(like.device[1], list(shape), code)
        return _DeviceArray(array, shape, code, like.device)

    def is_writable(self, out):
        return True

    def writable(self, out, shape):
        return self.array(out, "out")

    def broadcast(self, mask, shape, name):
        return self.array(mask, name)

    def initial(self, initial, lines, code):
        return self.array(initial, "initial")

    def stream(self, x):
        return self._stream

    def exported(self, x, stream):
        return x.array

    def finished(self, result, stream):
        # Before the inputs are let go: now the library's stream waits for the scan that reads them.
        return self._namespace.from_dlpack(_Result(result.array, result.device, stream))


class _Torch:
    is_torch = True


NUMPY = _Numpy()
_core.use_numpy(np.ndarray, np.empty, [NUMPY._dtype_of.get(code) for code in range(len(NAMES))])
_CPU_DEVICES = (1, 3)  # DLPack: kDLCPU, kDLCUDAHost
_kinds = {np.ndarray: NUMPY}


def is_instance(x, module, name):
    """Whether x is an instance of a class of a module, which is not imported for the question."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(x, getattr(loaded, name, ()))


def _find_kind(x):
    if isinstance(x, (np.ndarray, np.generic)):
        return NUMPY
    if is_instance(x, "torch", "Tensor"):
        return _Torch()
    if is_instance(x, "cupy", "ndarray"):
        return _Cupy(sys.modules["cupy"])
    if not hasattr(x, "__dlpack_device__"):
        return NUMPY  # the buffer protocol, or refused there
    return None


def kind_of(x):
    """What makes and describes arrays of the type of x."""
    kind = _kinds.get(type(x))
    if kind is None:
        kind = _find_kind(x)
        if kind is not None:
            _kinds[type(x)] = kind
        else:
            # A library with several kinds of memory.
            is_cpu = x.__dlpack_device__()[0] in _CPU_DEVICES
            key = (type(x), is_cpu)
            if key not in _kinds:
                _kinds[key] = _Dlpack(x) if is_cpu else _DlpackCuda(x)
            kind = _kinds[key]
    return kind
