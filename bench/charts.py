"""Tables and charts of result pages: HTML and SVG, without scripts, in the style of the program's pages (src/driver/page.cpp)."""
import html
import re

COLORS = ('#3f74b5', '#d08a2c', '#5a9e5a', '#a05a96', '#888')
ROW, LETTER = 20, 6.7  # Pixels: height of a bar with its gap, and about the width of a letter.
STYLE = '''<style>
:root{color-scheme:light dark}
body{font:14px/1.5 system-ui,sans-serif;max-width:1200px;margin:0 auto;padding:0 16px 48px}
h2{margin:40px 0 4px;border-top:1px solid #8886;padding-top:16px}
h3{margin:20px 0 0;font-size:15px}
p{margin:4px 0;max-width:1000px}
table{border-collapse:collapse;margin:8px 0}
th,td{text-align:right;padding:2px 0 2px 18px;vertical-align:top;font-variant-numeric:tabular-nums}
th:first-child,td:first-child{text-align:left;padding-left:0}
.l{text-align:left}
th{font-weight:600;border-bottom:1px solid #8886}
figure{margin:8px 0 16px}
svg{display:block;max-width:100%;margin:4px 0}
.s{opacity:.65}
.w{color:#dc2626}
nav a{margin-right:14px}
code{font:12px ui-monospace,monospace;overflow-wrap:anywhere}
</style>'''


def page(title, body):
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>%s</title>%s</head><body>\n<h1>%s</h1>\n%s\n'
            '</body></html>\n' % (html.escape(title), STYLE, html.escape(title), body))


def table(header, rows):
    """An HTML table. Columns without numbers are left-aligned, as the first one."""
    words = [not any(re.match(r'[-+]?\.?\d', row[i]) for row in rows) for i in range(len(header))]
    cell = lambda tag, i, c: '<%s%s>%s</%s>' % (tag, ' class="l"' if i and words[i] else '', html.escape(c), tag)
    line = lambda tag, cells: '<tr>%s</tr>' % ''.join(cell(tag, i, c) for i, c in enumerate(cells))
    return '<table>\n%s\n</table>' % '\n'.join([line('th', header)] + [line('td', row) for row in rows])


def text(x, y, words, more=''):
    return '<text x="%.1f" y="%.1f"%s>%s</text>' % (x, y, more, html.escape(words))


def svg(width, height, parts):
    return ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-size="12" '
            'font-family="system-ui, sans-serif" fill="currentColor">\n%s\n</svg>' %
            (width, height, width, height, '\n'.join(parts)))


def legend(names, x):
    parts = []
    for i, name in enumerate(names):
        parts.append('<rect x="%.1f" y="3" width="11" height="11" fill="%s"/>' % (x, COLORS[i]))
        parts.append(text(x + 16, 13, name))
        x += 40 + LETTER * len(name)
    return parts


def bars(rows, names=(), width=760, scale=lambda value: value):
    """A chart of rows (label, [(value, words) or None, ...]): a bar for each name, from 0 to scale(value), which may be negative."""
    left = 12 + LETTER * max(len(label) for label, _ in rows)
    right = 12 + LETTER * max(len(bar[1]) for _, values in rows for bar in values if bar)
    lengths = [scale(bar[0]) for _, values in rows for bar in values if bar]
    least, most = min(0, 0, *lengths), max(0, 0, *lengths)
    pixels = (width - left - right) / ((most - least) or 1)
    zero = left - least * pixels
    parts, y = legend(names, left), 24 if names else 4
    for label, values in rows:
        shown = [(i, bar) for i, bar in enumerate(values) if bar]
        parts.append(text(left - 8, y + 13 + (len(shown) - 1) * (ROW - 4) / 2, label, ' text-anchor="end"'))
        for i, (value, words) in shown:
            length = scale(value) * pixels
            parts.append('<rect x="%.1f" y="%d" width="%.1f" height="14" fill="%s"/>' %
                         (min(zero, zero + length), y + 2, max(abs(length), 1), COLORS[i]))
            parts.append(text(max(zero, zero + length) + 6, y + 13, words))
            y += ROW - 4
        y += 8
    parts.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#8888"/>' % (zero, 22 if names else 0, zero, y))
    return svg(width, y + 4, parts)


def stacked(rows, names, width=760, unit=''):
    """A chart of rows (label, [value, ...], words): a bar with a piece for each name. All rows have one scale."""
    left = 12 + LETTER * max(len(label) for label, _, _ in rows)
    right = 12 + LETTER * max(len(words) for _, _, words in rows)
    pixels = (width - left - right) / (max(sum(values) for _, values, _ in rows) or 1)
    parts, y = legend(names, left), 24
    for label, values, words in rows:
        parts.append(text(left - 8, y + 15, label, ' text-anchor="end"'))
        x = left
        for i, value in enumerate(values):
            length = value * pixels
            if length > 0:
                parts.append('<rect x="%.1f" y="%d" width="%.1f" height="18" fill="%s"><title>%s: %.3g%s</title></rect>' %
                             (x, y + 2, length, COLORS[i], html.escape(names[i]), value, unit))
            x += length
        parts.append(text(x + 6, y + 15, words))
        y += 26
    return svg(width, y + 4, parts)
