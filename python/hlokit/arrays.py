"""Arrays to files and back. A bf16 array is two bytes an element in a file, an f8 array one."""
from pathlib import Path

try:
    import numpy
except ImportError:
    numpy = None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


def need_numpy():
    if numpy is None:
        raise ImportError('hlokit: arrays need NumPy, which is not installed: pip install numpy')
    return numpy


def _as_stored(value):
    """An array that is written as it lies; types of ml_dtypes as their bytes."""
    array = numpy.asarray(value)
    if array.dtype == object:
        raise TypeError(f'hlokit: {type(value).__name__} is no array')
    if array.dtype.kind == 'V' or array.dtype.type.__module__.split('.')[0] == 'ml_dtypes':
        return numpy.ascontiguousarray(array).view(f'V{array.dtype.itemsize}')
    return array


def _leaves(key, value):
    """Keys and arrays of a value, a tuple's by their places: '0.1'."""
    if not isinstance(value, tuple):
        yield key, _as_stored(value)
        return
    for place, part in enumerate(value):
        yield from _leaves(f'{key}.{place}', part)


def argument_words(args, folder):
    """Writes arguments into the folder; the words of the command line that give them.

    `args` is a sequence, by number, or a dictionary, by name or number; what is None or missing is made up. A tuple is
    the argument of a tuple, and then all are given."""
    if args is None or len(args) == 0:
        return []
    need_numpy()
    items = list(args.items() if isinstance(args, dict) else enumerate(args))
    if any(isinstance(value, tuple) for _, value in items):
        stem = '' if isinstance(args, dict) else 'arg'
        arrays = dict(leaf for which, value in items for leaf in _leaves(f'{stem}{which}', value))
        path = Path(folder) / 'args.npz'
        numpy.savez(path, **arrays)
        return [f'--args={path}']
    words = []
    for place, (which, value) in enumerate(items):
        if value is None:
            continue
        path = Path(folder) / f'arg{place}.npy'
        numpy.save(path, _as_stored(value))
        words.append(f'--arg={which}={path}')
    return words


def write_arrays(path, arrays):
    """A .npz of a sequence of arrays, as out0, out1, ..., as the program writes results; or of a dictionary."""
    need_numpy()
    items = arrays.items() if isinstance(arrays, dict) else ((f'out{i}', array) for i, array in enumerate(arrays))
    numpy.savez(path, **dict(leaf for key, value in items for leaf in _leaves(key, value)))


def read_outputs(path):
    """The results of a run, in order; of a tuple within the result a tuple."""
    need_numpy()
    outputs = []
    with numpy.load(path) as stored:
        for key in stored.files:
            index = [int(part) for part in key[len('out'):].split('.')]
            place = outputs
            for part in index[:-1]:
                while len(place) <= part:
                    place.append([])
                place = place[part]
            while len(place) <= index[-1]:
                place.append(None)
            place[index[-1]] = _of_stored(stored[key])
    return [_tuples(value) for value in outputs]


def _tuples(value):
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value


def _of_stored(array):
    return array.view(ml_dtypes.bfloat16) if array.dtype == 'V2' and ml_dtypes is not None else array


def to_float32(array):
    """The values of a bf16 array, which NumPy alone shows as two bytes an element."""
    need_numpy()
    bits = numpy.asarray(array)
    if bits.dtype.itemsize != 2 or bits.dtype.kind == 'f':
        raise TypeError(f'hlokit: an array of bf16 has two bytes an element of no known type, not {bits.dtype}')
    return (numpy.ascontiguousarray(bits).view('u2').astype('u4') << 16).view('f4')
