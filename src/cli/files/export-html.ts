import { createHash } from 'node:crypto';
import { toBase64 } from '../../format/encoding.ts';
import { imageMediaType } from '../../language/image.ts';
import { countInvisible, seenParts, visibleName } from '../../language/invisible.ts';
import { parseGivenPath } from '../../language/path.ts';
import { decodeText } from '../../language/text.ts';
import { isoOf } from '../../time.ts';
import type { FileStat } from '../../tool/files.ts';
import { counted } from '../show/report.ts';

const STYLE = `
:root { color-scheme: light dark; --ground: light-dark(#fdfcfa, #1b1f23); --line: light-dark(#dedad2, #2e343b);
  --text: light-dark(#1d2125, #e7e5e0); --soft: light-dark(#5a6068, #a3a9b1); --warn: light-dark(#7a4b00, #f0bd6a); }
body { max-width: 900px; margin: 0 auto; padding: 24px; background: var(--ground); color: var(--text);
  font: 15px/1.5 ui-sans-serif, system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 22px; } h2 { font-size: 16px; margin: 0; } a { color: inherit; }
.warning { padding: 10px 14px; border: 2px solid var(--warn); border-radius: 8px; color: var(--warn); }
.unseen { padding: 0 4px; border: 1px solid var(--warn); border-radius: 4px; color: var(--warn);
  font: 600 11px ui-monospace, monospace; }
.facts { margin: 0; color: var(--soft); font-size: 13px; }
nav ol { padding-left: 3ch; } article { margin-top: 28px; padding-top: 14px; border-top: 1px solid var(--line); }
pre { font: 13px/1.6 ui-monospace, monospace; white-space: pre-wrap; tab-size: 8; }
img { max-width: 100%; }
`;

/** The policy of the page: no script, no request, and no style but its own. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/**
 * Writes one page that holds the files and needs nothing else. Their contents and names stand in it as text, never as
 * HTML. It shows images of the formats that the memory shows.
 */
export async function* htmlOf(
  files: readonly FileStat[],
  {
    title,
    exported,
    contents,
  }: {
    readonly title: string;
    readonly exported: Date;
    /** These files with their bytes, in the same order. */
    readonly contents: AsyncIterable<{ readonly file: FileStat; readonly bytes: Uint8Array }>;
  },
): AsyncGenerator<string, void> {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const links = files.map(
    ({ path, size }, index) =>
      `<li><a href="#f${index + 1}">${named(path)}</a> <span class="facts">${counted(size, 'byte')}</span></li>`,
  );
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${named(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${named(title)}</h1>
<p class="warning"><strong>This is plain text.</strong> Each person who has this file can read all that the memory held. Keep it where only its readers
come, and delete it when it has been read.</p>
<p class="facts">${counted(files.length, 'file')}, ${counted(bytes, 'byte')}, exported ${isoOf(exported)}</p>
</header>
<nav aria-label="Files"><ol>
${links.join('\n')}
</ol></nav>
<main>
`;
  let index = 0;
  for await (const { file, bytes: content } of contents) {
    yield `<article id="f${++index}">
<h2>${named(file.path)}</h2>
<p class="facts">${counted(file.size, 'byte')}, written ${isoOf(file.modified)}</p>
${contentOf(file.path, content)}
</article>
`;
  }
  yield '</main>\n</body>\n</html>\n';
}

function contentOf(path: string, bytes: Uint8Array): string {
  const type = imageMediaType(parseGivenPath(path), bytes);
  if (type !== undefined) return `<img alt="${named(path)}" src="data:${type};base64,${toBase64(bytes)}">`;
  const text = decodeText(bytes);
  if (text === undefined)
    return `<p>${counted(bytes.length, 'byte')} that are neither UTF-8 text nor an image.</p>`;
  const unseen = countInvisible(text);
  const banner = `<p class="warning"><strong>${counted(unseen, 'character')} here cannot be seen.</strong> Claude reads ${unseen === 1 ? 'it' : 'them'} all the same.</p>\n`;
  const lines = text.split('\n').map((line) => (line === '' ? '' : `<bdi>${boxed(line)}</bdi>`));
  // A parser takes one line break away after the tag.
  return `${unseen > 0 ? banner : ''}<pre>\n${lines.join('\n')}</pre>`;
}

/** Writes a line with a box for each character that cannot be seen, as `open` shows it. */
function boxed(line: string): string {
  return [...seenParts(line)]
    .map((part) =>
      typeof part === 'string'
        ? escaped(part)
        : `<span class="unseen" title="${escaped(part.name)}">${escaped(part.label)}</span>`,
    )
    .join('');
}

function named(name: string): string {
  return escaped(visibleName(name));
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}
