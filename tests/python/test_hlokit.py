"""Tests the Python module hlokit with the program on the path. Tests that need NumPy are skipped without it.

    PATH=build/bin:$PATH PYTHONPATH=python python3 -m unittest discover -s tests/python
"""
import importlib.util
import os
import pathlib
import stat
import tempfile
import unittest
from unittest import mock

import hlokit
from hlokit import arrays, errors, process

try:
    import numpy
except ImportError:
    numpy = None

ADD = """HloModule add

ENTRY main {
  x = f32[2,3] parameter(0)
  y.1 = f32[2,3] parameter(1)
  ROOT z = f32[2,3] add(x, y.1)
}
"""
BAD = ADD.replace('ROOT z = f32[2,3]', 'ROOT z = f32[3]')
NESTED = """HloModule nested

ENTRY main {
  p = (f32[2], (s32[], pred[3])) parameter(0)
  x = f32[2] get-tuple-element(p), index=0
  inner = (s32[], pred[3]) get-tuple-element(p), index=1
  n = s32[] get-tuple-element(inner), index=0
  doubled = f32[2] add(x, x)
  ROOT t = ((s32[], pred[3]), f32[2]) tuple(inner, doubled)
}
"""
BF16 = 'HloModule b\n\nENTRY main {\n  x = bf16[3] parameter(0)\n  ROOT y = bf16[3] negate(x)\n}\n'


class Program:
    """A script in place of the program."""

    def __init__(self, script):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / 'hlo'
        self.path.write_text('#!/bin/sh\n' + script)
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    def __enter__(self):
        self.patch = mock.patch.dict(os.environ, HLO_PROGRAM=str(self.path))
        self.patch.start()
        return self

    def __exit__(self, *_):
        self.patch.stop()
        self.folder.cleanup()


class WithoutArrays(unittest.TestCase):

    def test_version(self):
        self.assertRegex(hlokit.version(), r'^\d+\.\d+\.\d+$')

    def test_check_of_what_is_valid(self):
        self.assertEqual(hlokit.check(ADD), [])

    def test_check_says_code_and_place(self):
        found = hlokit.check(BAD)
        self.assertEqual([(d.severity, d.file, d.line) for d in found], [('error', '<stdin>', 6)])
        self.assertRegex(found[0].code, r'^V\d+$')
        self.assertIn('f32[2,3]', str(found[0]))
        self.assertTrue(str(found[0]).startswith('<stdin>:6:'))

    def test_check_says_every_error_and_hints(self):
        found = hlokit.check('HloModule m\n\nENTRY main {\n  x = f32[2] parametr(0)\n  ROOT y = f32[2] negatee(x)\n}\n')
        self.assertGreaterEqual(len(found), 2)
        self.assertEqual([d.line for d in found[:2]], [4, 5])

    def test_modules_as_paths_texts_bytes_and_lowered_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'add.hlo'
            path.write_text(ADD)
            proto = pathlib.Path(folder) / 'add.pb'
            hlokit.call('opt', '--passes=', '--emit=pb', '-o', proto, path)
            lowered = mock.Mock(spec=['compiler_ir'])
            lowered.compiler_ir.return_value = mock.Mock(spec=['as_serialized_hlo_module_proto'])
            lowered.compiler_ir.return_value.as_serialized_hlo_module_proto.return_value = proto.read_bytes()
            texts = {hlokit.opt(module, passes=[]) for module in (path, str(path), ADD, proto, proto.read_bytes(), lowered)}
            self.assertEqual(len(texts), 1, texts)
        lowered.compiler_ir.assert_called_with('hlo')
        with self.assertRaises(hlokit.RejectedError):
            hlokit.opt('no/such/file.hlo')

    def test_opt_runs_passes_and_stages(self):
        text = 'HloModule m\n\nENTRY main {\n  x = f32[2,3] parameter(0)\n  t = f32[3,2] transpose(x), dimensions={1,0}\n' \
               '  ROOT y = f32[2,3] transpose(t), dimensions={1,0}\n}\n'
        self.assertIn('transpose', hlokit.opt(text, passes=[]))
        self.assertNotIn('transpose', hlokit.opt(text, passes=['algsimp', 'dce']))
        self.assertIn('.visible .entry', hlokit.opt(ADD, stage='ptx'))

    def test_fmt_keeps_comments(self):
        self.assertIn('// why', hlokit.fmt('// why\n' + ADD))

    def test_inspect_and_doctor_are_dictionaries(self):
        self.assertIsInstance(hlokit.inspect('stats', ADD), dict)
        self.assertIsInstance(hlokit.doctor(), dict)

    def test_flags(self):
        words = process.flag_words(dict(bench=True, libraries=False, seed=3, inject=['a:b', 'c:d'], out=None,
                                        args=pathlib.Path('a.npz')))
        self.assertEqual(words, ['--bench', '--libraries=false', '--seed=3', '--inject=a:b', '--inject=c:d', '--args=a.npz'])

    def test_verdicts(self):
        match = hlokit.verdict(ADD, platform='cpu')
        self.assertTrue(match)
        self.assertEqual((match.word, match.exit, match.culprit), ('MATCH', 0, None))
        self.assertTrue(str(match).startswith('MATCH  '))
        wrong = hlokit.verdict(ADD, platform='cpu', inject='kernel:*:wrong_index')
        self.assertFalse(wrong)
        self.assertEqual((wrong.word, wrong.exit), ('MISMATCH', 1))
        self.assertIn('kernel', wrong.culprit)
        self.assertIn('who is wrong', str(wrong))
        ran = hlokit.verdict(ADD, platform='interpreter', reference_platform='none')
        self.assertTrue(ran)
        self.assertEqual(ran.word, 'RAN')

    def test_errors_by_exit_code(self):
        with self.assertRaises(hlokit.UsageError) as usage:
            hlokit.verdict(ADD, no_such_flag=1)
        self.assertEqual((usage.exception.exit, usage.exception.code), (2, 'F003'))
        with self.assertRaises(hlokit.RejectedError) as rejected:
            hlokit.verdict(BAD)
        self.assertEqual((rejected.exception.exit, rejected.exception.errors[0].line), (3, 6))
        self.assertIn('^', str(rejected.exception))
        with self.assertRaises(hlokit.LimitError) as limit:
            hlokit.opt(NESTED, max_depth=1)
        self.assertIn('max_depth', str(limit.exception))
        unsupported = hlokit.verdict('HloModule r\n\nENTRY main {\n  ROOT c = f32[2] custom-call(), custom_call_target="nobody"\n}\n')
        self.assertEqual(unsupported.exit, 4)
        self.assertTrue(unsupported.word.startswith('UNSUPPORTED('))

    def test_hints_belong_to_the_error_before_them(self):
        found = errors.diagnostics_in('note: x\na.hlo:3:4: warning: [W001] odd\n    3 | odd\nhint: even\nhlo-run: error: [F003] unknown\n')
        self.assertEqual([(d.severity, d.code, d.file, d.line, d.hint) for d in found],
                         [('warning', 'W001', 'a.hlo', 3, 'even'), ('error', 'F003', None, None, None)])

    def test_a_program_that_crashes(self):
        with Program('kill -SEGV $$'), self.assertRaises(hlokit.InternalError) as crash:
            hlokit.opt(ADD)
        self.assertEqual(str(crash.exception), 'hlo was ended by signal 11')

    def test_a_program_that_takes_too_long(self):
        with Program('echo late >&2; exec sleep 10'), self.assertRaises(hlokit.LimitError) as late:
            hlokit.opt(ADD, timeout=0.2)
        self.assertIn('hlo opt took more than 0.2 s', str(late.exception))

    def test_help_is_of_functions(self):
        self.assertEqual([name for name in hlokit.__all__ if isinstance(getattr(hlokit, name), type)], [])
        for name in ('Verdict', 'Difference', 'Diagnostic', 'HloError', 'LimitError'):
            self.assertIsInstance(getattr(hlokit, name), type)
            self.assertIn(name, hlokit.__doc__)

    def test_bundles_and_directories(self):
        with tempfile.TemporaryDirectory() as folder:
            bundle = pathlib.Path(folder) / 'bundle'
            hlokit.call('run', '-qq', '--platform=interpreter', '--arg=x=iota', '--arg=y.1=ones', f'--save_run={bundle}', '-',
                        input=ADD.encode())
            self.assertTrue(hlokit.verdict(bundle))
            self.assertIn('add', hlokit.opt(bundle, passes=[]))
            self.assertEqual(hlokit.check(bundle), [])
            many = pathlib.Path(folder) / 'many'
            many.mkdir()
            for name in 'ab':
                (many / f'{name}.hlo').write_text(ADD)
            for ask in (hlokit.verdict, hlokit.run) if numpy else (hlokit.verdict,):
                with self.assertRaises(hlokit.UsageError) as several:
                    ask(many)
                self.assertIn('2 modules', str(several.exception))

    def test_a_program_that_is_interrupted(self):
        with Program('exit 130'), self.assertRaises(KeyboardInterrupt):
            hlokit.opt(ADD)

    def test_a_program_that_is_not_there(self):
        with mock.patch.dict(os.environ, HLO_PROGRAM='/no/such/hlo'), self.assertRaises(hlokit.DeviceError) as missing:
            hlokit.version()
        self.assertIn('/no/such/hlo does not start', str(missing.exception))
        with mock.patch.dict(os.environ, PATH='', HLO_PROGRAM=''), mock.patch('os.access', return_value=False), \
                self.assertRaises(hlokit.DeviceError) as missing:
            hlokit.version()
        self.assertIn('pip install hlokit', str(missing.exception))

    def test_an_older_glibc_is_one_line_and_no_mismatch(self):
        loader = "echo \"hlo: /lib/libc.so.6: version \\`GLIBC_2.34' not found (required by hlo)\" >&2; exit 1"
        with Program(loader), self.assertRaises(hlokit.DeviceError) as old:
            hlokit.verdict(ADD)
        self.assertIn('newer glibc', str(old.exception))
        self.assertNotIn('\n', str(old.exception))

    def test_an_older_processor(self):
        with Program('echo "hlo: error: [R101] this processor is older" >&2; exit 6'), \
                self.assertRaises(hlokit.DeviceError) as old:
            hlokit.version()
        self.assertEqual(old.exception.code, 'R101')

    def test_without_numpy_the_reason_is_one_line(self):
        with mock.patch.object(arrays, 'numpy', None):
            for call in (lambda: hlokit.run(ADD), lambda: hlokit.verdict(ADD, [1, 2])):
                with self.assertRaises(ImportError) as missing:
                    call()
                self.assertIn('pip install numpy', str(missing.exception))
                self.assertNotIn('\n', str(missing.exception))
            self.assertEqual(hlokit.verdict(ADD, platform='interpreter').exit, 0)

    def test_examples_name_what_there_is(self):
        with self.assertRaises(FileNotFoundError) as missing:
            hlokit.example('nobody')
        self.assertIn('the examples are: ', str(missing.exception))


@unittest.skipIf(numpy is None, 'NumPy is not installed')
class WithArrays(unittest.TestCase):

    def setUp(self):
        self.x = numpy.arange(6, dtype='f4').reshape(2, 3)

    def test_arguments_by_number_and_name(self):
        for args in ([self.x, 2 * self.x], (self.x, 2 * self.x), {'x': self.x, 'y': 2 * self.x}, {0: self.x, 1: 2 * self.x}):
            (z,) = hlokit.run(ADD, args)
            numpy.testing.assert_array_equal(z, 3 * self.x)
            self.assertEqual(z.dtype, numpy.float32)

    def test_an_argument_that_is_not_given_is_made_up_from_the_seed(self):
        first, again, other = (hlokit.run(ADD, args, random_seed=seed)[0]
                               for args, seed in (([None, self.x], 1), ({'y': self.x}, 1), ([None, self.x], 2)))
        numpy.testing.assert_array_equal(first, again)
        self.assertFalse(numpy.array_equal(first, other))

    def test_what_numpy_load_gives(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'args.npz'
            for stored in ({'arg0': self.x, 'arg1': 2 * self.x}, {'x': self.x, 'y.1': 2 * self.x}):
                numpy.savez(path, **stored)
                with numpy.load(path) as loaded:
                    for args in (loaded, dict(loaded)):
                        numpy.testing.assert_array_equal(hlokit.run(ADD, args)[0], 3 * self.x)
            numpy.savez(path, self.x, 2 * self.x)
            numpy.testing.assert_array_equal(hlokit.run(ADD, numpy.load(path))[0], 3 * self.x)
            hlokit.run(NESTED, save_args=path)
            kept = hlokit.run(NESTED, numpy.load(path))
            numpy.testing.assert_array_equal(kept[1], hlokit.run(NESTED)[1])
            self.assertFalse(hlokit.diff(numpy.load(path), numpy.load(path)))

    def test_numbers_and_lists_have_the_type_of_the_parameter(self):
        (z,) = hlokit.run(ADD, [[[0.1, 2, 3], [4, 5, float('inf')]], self.x])
        numpy.testing.assert_array_equal(z, numpy.array([[0.1, 2, 3], [4, 5, numpy.inf]], 'f4') + self.x)
        (y,) = hlokit.run('HloModule s\n\nENTRY main {\n  n = s32[] parameter(0)\n  ROOT m = s32[] negate(n)\n}\n', [3])
        self.assertEqual(y, -3)
        (y,) = hlokit.run('HloModule s\n\nENTRY main {\n  n = pred[2] parameter(0)\n  ROOT m = pred[2] not(n)\n}\n', [[True, False]])
        self.assertEqual(y.tolist(), [False, True])
        with self.assertRaises(TypeError):
            hlokit.run(ADD, self.x)

    def test_arrays_of_any_order_and_endianness(self):
        (z,) = hlokit.run(ADD, [numpy.asfortranarray(self.x), self.x.astype('>f4')])
        numpy.testing.assert_array_equal(z, 2 * self.x)

    def test_tuples(self):
        given = (numpy.array([1, 2], 'f4'), (numpy.int32(7), numpy.array([True, False, True])))
        (n, flags), doubled = hlokit.run(NESTED, [given])
        self.assertEqual((n, n.dtype, flags.tolist()), (7, numpy.int32, [True, False, True]))
        self.assertEqual(doubled.tolist(), [2, 4])

    def test_bf16(self):
        bits = numpy.array([0x3F80, 0x4000, 0xC040], 'u2')  # 1, 2, -3
        with mock.patch.object(arrays, 'ml_dtypes', None):
            (y,) = hlokit.run(BF16, [bits])
        self.assertEqual(hlokit.to_float32(y).tolist(), [-1, -2, 3])
        if arrays.ml_dtypes is not None:
            (y,) = hlokit.run(BF16, [numpy.array([1, 2, -3], arrays.ml_dtypes.bfloat16)])
            self.assertEqual(y.dtype, arrays.ml_dtypes.bfloat16)
            self.assertEqual(y.astype('f4').tolist(), [-1, -2, 3])
        with self.assertRaises(TypeError):
            hlokit.to_float32(self.x)

    def test_what_does_not_fit_is_refused(self):
        with self.assertRaises(hlokit.UsageError) as name:
            hlokit.run(ADD, {'nobody': self.x})
        self.assertEqual(name.exception.code, 'A005')
        with self.assertRaises(hlokit.UsageError):
            hlokit.run(ADD, [self.x, self.x, self.x])
        with self.assertRaises(hlokit.RejectedError) as shape:
            hlokit.run(ADD, [self.x.T, self.x])
        self.assertEqual(shape.exception.code, 'A004')
        with self.assertRaises(hlokit.RejectedError):
            hlokit.run(ADD, [self.x.astype('f8'), self.x])

    def test_an_error_names_the_argument_and_its_shapes(self):
        x = numpy.zeros((2, 3), 'f4')
        for args, said in (([x, x.T], r"argument 1 \('y.1'\) needs f32\[2,3\], but the array is float32 \(3,2\)"),
                           ({'y': x[0]}, r"argument 1 \('y.1'\) needs f32\[2,3\], but the array is float32 \(3,\)"),
                           ([x, [1, 2]], r"argument 1 \('y.1'\): .*f32\[2,3\]")):
            with self.assertRaisesRegex(hlokit.RejectedError, said):
                hlokit.run(ADD, args)
        with self.assertRaisesRegex(TypeError, 'argument 1 is not an array but has the type object'):
            hlokit.run(ADD, [x, object()])
        with self.assertRaisesRegex(TypeError, "argument 'y' is not an array but has the type object"):
            hlokit.run(ADD, {'y': object()})

    def test_run_compares_when_it_is_asked_to(self):
        (z,) = hlokit.run(ADD, [self.x, self.x], reference_platform='default', platform='cpu')
        numpy.testing.assert_array_equal(z, 2 * self.x)
        with self.assertRaises(hlokit.NegativeError) as wrong:
            hlokit.run(ADD, [self.x, self.x], reference_platform='default', platform='cpu', inject='kernel:*:wrong_index')
        self.assertEqual(wrong.exception.report['verdict'], 'MISMATCH')
        self.assertIn('who is wrong', str(wrong.exception))

    def test_verdict_of_given_arguments(self):
        self.assertEqual(hlokit.verdict(ADD, [self.x, self.x], platform='cpu').word, 'MATCH')

    def test_diff_of_arrays_and_modules(self):
        same = hlokit.diff([self.x], [self.x])
        self.assertFalse(same)
        self.assertIs(same.equal, True)
        other = hlokit.diff([self.x], [self.x + 1])
        self.assertTrue(other)
        self.assertIs(other.equal, False)
        self.assertFalse(hlokit.diff(ADD, ADD.replace('z', 'renamed')))
        self.assertTrue(hlokit.diff(ADD, ADD.replace('add(', 'multiply(')))


@unittest.skipIf(importlib.util.find_spec('jax') is None, 'JAX is not installed')
class WithJax(unittest.TestCase):

    def test_a_lowered_function_is_a_module(self):
        import jax  # The import takes a second, so only this test has it.
        x = numpy.arange(6, dtype='f4').reshape(2, 3)
        lowered = jax.jit(lambda x: (2 * x, x.sum(axis=0))).lower(x)
        doubled, sums = hlokit.run(lowered, [x])
        numpy.testing.assert_array_equal(doubled, 2 * x)
        numpy.testing.assert_array_equal(sums, x.sum(axis=0))
        self.assertEqual(hlokit.verdict(lowered, [jax.numpy.asarray(x)]).word, 'MATCH')
        self.assertIn('multiply', hlokit.opt(lowered, passes=[]))


if __name__ == '__main__':
    unittest.main()
