"""scripts/prose-index: which text of a file is prose, which sentences count, and which lines --changed looks at."""
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / 'scripts' / 'prose-index'
_loader = importlib.machinery.SourceFileLoader('prose_index', str(SCRIPT))
prose_index = importlib.util.module_from_spec(importlib.util.spec_from_loader('prose_index', _loader))
sys.dont_write_bytecode = True
_loader.exec_module(prose_index)


def sentences(path, text):
    return [(first, sentence) for block in prose_index.blocks_of(path, text)
            for first, _, sentence, _ in prose_index.sentences_of(block)]


class ProseIndex(unittest.TestCase):

    def test_comments_of_sources(self):
        text = '// Adds two numbers.\n// The result wraps around.\nint f();  // Called once per module.\nint g = 1;\n'
        self.assertEqual(sentences('a.cpp', text), [(1, 'Adds two numbers.'), (2, 'The result wraps around.'),
                                                    (3, 'Called once per module.')])

    def test_strings_of_tables(self):
        text = '// One row per word.\nWORD("MATCH", "All outputs agree.")\n'
        self.assertEqual([sentence for _, sentence in sentences('a.def', text)], ['One row per word.', 'All outputs agree.'])
        self.assertEqual(len(sentences('a.cpp', text)), 1)

    def test_comments_of_scripts(self):
        shell = '#!/bin/sh\n# Removes old files.\nrm -f "$1"  # The caller checked the name.\n'
        self.assertEqual([line for line, _ in sentences('clean', shell)], [2, 3])
        python = 'def f():\n    """Returns the largest value."""\n    return 1\n'
        self.assertEqual(sentences('a.py', python), [(2, 'Returns the largest value.')])

    def test_markdown_without_code(self):
        text = '# A title of four words\n\nA paragraph over\ntwo lines.\n\n```sh\n$ echo of what is this\n```\n\n- An item of a list.\n'
        self.assertEqual(sentences('a.md', text), [(3, 'A paragraph over two lines.'), (10, 'An item of a list.')])

    def test_code_in_backquotes_is_one_word(self):
        (found,) = sentences('a.md', 'The flag `--of what is this` is set.\n')
        self.assertEqual(prose_index.hits_of(found[1]), [])

    def test_patterns(self):
        elliptical = {
            'What is stored on the way.': 'starts-with-what',
            'Where HLO allows it to be so.': 'starts-with-what',
            'It keeps what is needed.': 'what-for-a-noun',
            'The size of what they read.': 'preposition-what',
            'Of a state after a pass.': 'starts-with-of',
            'One that decides goes first.': 'pronoun-for-a-noun',
            'A loop the body of which is empty.': 'of-which',
            'The value lies in memory.': 'picture-word',
            'This is no product.': 'negated-noun',
        }
        for sentence, name in elliptical.items():
            self.assertIn(name, [found for found, _ in prose_index.hits_of(sentence)], sentence)
        for plain in ('What does the pass change?', 'When the loop ends, the buffer is free.', 'There is no GPU here.',
                      'The operand is no longer used.',
                      'Byte offset of the pass name in the file name of a dump.', 'Returns the shape of the result.'):
            self.assertEqual(prose_index.hits_of(plain), [], plain)

    def test_changed_looks_at_added_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {'PATH': os.environ['PATH'], 'HOME': folder, 'GIT_CONFIG_NOSYSTEM': '1'}
            for role in ('AUTHOR', 'COMMITTER'):
                environment.update({f'GIT_{role}_NAME': 'a', f'GIT_{role}_EMAIL': 'a@example.org'})

            def call(*words):
                return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)

            def write(name, text):
                (pathlib.Path(folder) / name).write_text(text)
            old = '// What is old is not counted.\n// Of an old state.\nint x;\n'
            call('git', 'init', '-q')
            write('a.h', old)
            call('git', 'add', '.')
            self.assertEqual(call('git', 'commit', '-qm', 'First').returncode, 0)
            first = call(sys.executable, str(SCRIPT), '--changed')
            self.assertEqual(first.returncode, 0)
            self.assertIn('there is no earlier commit here', first.stdout)
            self.assertEqual(call(sys.executable, str(SCRIPT), '--changed=nowhere').returncode, 1)
            write('a.h', old + '// Returns the number of rows.\nint y;\n')
            clean = call(sys.executable, str(SCRIPT), '--changed=HEAD')
            self.assertEqual((clean.returncode, clean.stdout), (0, '0 of 1 sentences are elliptical, 0.0 % (at most 3 %)\n'))
            write('b.h', '// Of a new file.\n')  # Not tracked yet.
            self.assertEqual(call(sys.executable, str(SCRIPT), '--changed=HEAD').returncode, 0)  # One is always allowed.
            call('git', 'add', '.')
            call('git', 'commit', '-qm', 'Second')
            write('c.md', 'Whatever is new.\n')
            two = call(sys.executable, str(SCRIPT), '--changed')
            self.assertEqual(two.returncode, 1)
            self.assertIn('b.h:1: Of a new file.\n    starts-with-of: ', two.stdout)
            self.assertIn('2 of 3 sentences', two.stdout)
            self.assertNotIn('a.h:1', two.stdout)


if __name__ == '__main__':
    unittest.main()
