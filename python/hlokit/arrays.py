"""Writes arrays to files and reads them back. In a file, a bf16 element has two bytes and an f8 element has one."""
import os
import re
from pathlib import Path

try:
    import numpy
except ImportError:
    numpy = None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


_LONGEST_WORD = 100_000  # Bytes of one word of a command line. Linux accepts 128 KiB.


def need_numpy():
    if numpy is None:
        raise ImportError('hlokit: arrays need NumPy, which is not installed: pip install numpy')
    return numpy


def _as_stored(value, name='a value'):
    """The array that is written to a file: types of ml_dtypes as bytes, other types unchanged. `name` is for errors: 'argument 1'."""
    try:
        array = numpy.asarray(value)
    except ValueError as error:  # Lists of different lengths.
        raise ValueError(f'hlokit: {name} is not an array: {error}') from None
    if array.dtype == object:
        raise TypeError(f'hlokit: {name} is not an array but has the type {type(value).__name__}')
    if array.dtype.kind == 'V' or array.dtype.type.__module__.split('.')[0] == 'ml_dtypes':
        return numpy.ascontiguousarray(array).view(f'V{array.dtype.itemsize}')
    return array


def _argument(which):
    """Returns the name of an argument for errors, with its number or its name."""
    return f'argument {which}' if isinstance(which, int) else f'argument {which!r}'


def in_words_of_arrays(said, folder):
    """Returns the program's message `said` with the names of temporary files replaced by words."""
    said = re.sub(re.escape(os.path.join(folder, 'args.npz')) + r':[^\s,\']+', 'the array', said)
    said = re.sub(re.escape(folder) + r'/arg\d+\.npy', 'the array', said)
    return said.replace(f"'{os.path.join(folder, 'args.npz')}'", 'the set of arguments')


def _leaves(key, value):
    """Yields pairs of a key and an array. The key of an element of a tuple has its index, as in '0.1'."""
    if not isinstance(value, tuple):
        yield key, _as_stored(value, repr(key))
        return
    for place, part in enumerate(value):
        yield from _leaves(f'{key}.{place}', part)


def _literal(value):
    """Returns a Python number or nested lists of numbers as HLO text, and None for an array. The parameter determines the type."""
    if isinstance(value, list):
        parts = [_literal(part) for part in value]
        return None if None in parts else '{' + ','.join(parts) + '}'
    if isinstance(value, bool):
        return 'true' if value else 'false'
    return repr(value) if type(value) in (int, float) else None


def _items(args):
    """Returns pairs of a number or name and an argument. A key argN (of hlo) or arr_N (of numpy.savez) becomes the number N."""
    if not hasattr(args, 'keys'):
        if hasattr(args, 'dtype') or isinstance(args, (str, bytes)):
            raise TypeError(f'hlokit: args must be a sequence or a dictionary of arrays, not one {type(args).__name__}')
        return list(enumerate(args))
    keys = list(args.keys())  # The result of numpy.load is not a dictionary.
    numbered = all(isinstance(key, str) and re.fullmatch(r'arg\d+', key) for key in keys) or \
        all(isinstance(key, str) and re.fullmatch(r'arr_\d+', key) for key in keys)
    return [(int(key[3:].lstrip('_')) if numbered else key, args[key]) for key in keys]


def argument_words(args, folder):
    """Writes arguments into the folder and returns the words of the command line that pass them.

    `args` is a sequence, or a dictionary or the result of numpy.load with names or numbers as keys. An argument that is
    None or missing is generated. A tuple is the argument of a tuple parameter, and then all arguments must be given.
    Python numbers and lists of them get the type of the parameter."""
    if args is None or len(args) == 0:
        return []
    need_numpy()
    items = _items(args)
    if hasattr(args, 'keys') and any(re.fullmatch(r'arg\d+(\.\d+)+', str(which)) for which, _ in items):
        path = Path(folder) / 'args.npz'  # Leaves of tuples, as the program writes them.
        numpy.savez(path, **{str(which): _as_stored(value, _argument(which)) for which, value in items})
        return [f'--args={path}']
    if any(isinstance(value, tuple) for _, value in items):
        stem = 'arg' if all(isinstance(which, int) for which, _ in items) else ''
        arrays = dict(leaf for which, value in items for leaf in _leaves(f'{stem}{which}', value))
        path = Path(folder) / 'args.npz'
        numpy.savez(path, **arrays)
        return [f'--args={path}']
    words = []
    for place, (which, value) in enumerate(items):
        if value is None:
            continue
        text = _literal(value)
        if text is not None and len(text) < _LONGEST_WORD:
            words.append(f'--arg={which}={text}')
            continue
        path = Path(folder) / f'arg{place}.npy'
        numpy.save(path, _as_stored(value, _argument(which)))
        words.append(f'--arg={which}={path}')
    return words


def write_arrays(path, arrays):
    """Writes a sequence of arrays to a .npz file with the keys out0, out1, ..., as hlo does, or a dictionary with its keys."""
    need_numpy()
    items = ((key, arrays[key]) for key in arrays.keys()) if hasattr(arrays, 'keys') else ((f'out{i}', array) for i, array in enumerate(arrays))
    numpy.savez(path, **dict(leaf for key, value in items for leaf in _leaves(key, value)))


def read_outputs(path):
    """Returns the results of a run in their order. A nested tuple of results is a tuple."""
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
    """Returns the values of a bf16 array as float32. Without ml_dtypes, NumPy shows a bf16 element as two bytes."""
    need_numpy()
    bits = numpy.asarray(array)
    if bits.dtype.itemsize != 2 or bits.dtype.kind == 'f':
        raise TypeError(f'hlokit: to_float32 needs a bf16 array, whose elements have two bytes and no NumPy type, not {bits.dtype}')
    return (numpy.ascontiguousarray(bits).view('u2').astype('u4') << 16).view('f4')
