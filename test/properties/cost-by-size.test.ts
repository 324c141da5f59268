import { describe, expect, it } from 'vitest';
import { parseRequest } from '../../src/cli/serve/exec-jsonl.ts';
import { MAX_LINE_BYTES, splitLines } from '../../src/cli/serve/lines.ts';
import { patchOf } from '../../src/cli/show/patch.ts';
import { parseCommand } from '../../src/language/command.ts';
import { insertAfterLine, replaceOnce } from '../../src/language/edit.ts';
import { visible } from '../../src/language/invisible.ts';
import { findInLines } from '../../src/language/text.ts';
import { editSnippet, viewFile } from '../../src/language/view.ts';
import { compareTexts } from '../../src/page/client/data/diff-lines.ts';
import { sensitiveInformation } from '../../src/policy/index.ts';
import { parseLines } from '../../src/sessions/page.ts';
import { inTurns } from '../../src/time.ts';
import { fingerprintOf, parseTurnText } from '../../src/worker/turn/turn-message.ts';
import { oneIn, rowsOf } from '../runner/thorough.ts';
import { roundsDuring, watchProcessor } from '../stage/measures.ts';

/*
 * Everything that a text of the model passes takes time in proportion to it. What goes on in steps lets others run for
 * each 64 KiB as well; a view and an edit of a text are one step each, beside engine and cipher, of some milliseconds.
 */

const KIB_64 = 65_536;
/** Made up, in the form of a token of GitHub. */
const TOKEN = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;

/** Repeated up to a size: many lines, one line, and what nearly matches a rule at each place. */
const TEXTS: Readonly<Record<string, string>> = {
  'ordinary lines': 'The quick brown fox met 12 dogs on 2026-11-21, at v1.2.3 and order 4711.\n',
  'line feeds': '\n',
  'a letter in one line': 'a',
  'signs of addresses': '@',
  'names of addresses': 'a.b-c_d.',
  'addresses cut off': 'a@a.',
  addresses: 'a@example.org\n',
  digits: '4',
  'groups of digits': '4111 1111 1111 1112 ',
  'digits one by one': '1 ',
  'beginnings of IBANs': 'DE89 ',
  'beginnings of phone numbers': '+1 (',
  tokens: `${TOKEN}\n`,
  'beginnings of tokens': 'ghs_1_a',
  'characters of three bytes': '\u4e2d\u6587\n',
  'tag characters': '\u{e0061}',
  'zero width spaces': 'a\u200b',
  'joined emoji': '👨\u200d👩\u200d👧\u200d👦',
  'emoji that do not join': '👩\u200d',
};

const textOf = (name: string, size: number): string => {
  const unit = TEXTS[name] ?? '';
  return unit.repeat(Math.ceil(size / unit.length));
};

type Work = (text: string) => unknown;

function judge(options: Parameters<typeof sensitiveInformation>[0]): Work {
  const policy = sensitiveInformation(options);
  return (text) =>
    policy({ path: '/memories/a', content: new TextEncoder().encode(text), signal: undefined });
}

const personal = ['email', 'card', 'iban', 'phone'] as const;
const find = (text: string) => inTurns(findInLines(text, (line) => (/x.?y/iu.test(line) ? line : undefined)));
const compare: Work = (text) =>
  patchOf(
    { path: 'a', text },
    { path: 'b', text: `x\n${text.split('\n').toReversed().join('\n')}` },
    undefined,
  );

const readLines: Work = async (text) => {
  const input = `${JSON.stringify({ command: 'create', path: '/memories/a', file_text: text })}\n`.repeat(2);
  const bytes = new TextEncoder().encode(input);
  // Pipes and sockets hand a line over in pieces.
  const pieces = Array.from({ length: Math.ceil(bytes.length / 1_024) }, (_, at) =>
    bytes.subarray(at * 1_024, (at + 1) * 1_024),
  );
  for await (const line of splitLines(ReadableStream.from(pieces), MAX_LINE_BYTES)) parseRequest(line);
};
const parseTurn: Work = (text) => {
  const messages = [{ role: 'user', content: text }];
  return fingerprintOf(parseTurnText(JSON.stringify({ tenant: 'acme', turn: 't', system: text, messages })));
};
const parseTranscript: Work = (text) =>
  inTurns(parseLines(text.split('\n').map((line) => JSON.stringify({ type: 'user', line }))));

/** The work that goes on in steps. */
const STEPS: Readonly<Record<string, Work>> = {
  'a policy that redacts personal data': judge({ secrets: false, personal, action: 'redact' }),
  'a policy that redacts secrets': judge({ action: 'redact' }),
  'a policy that redacts what cannot be seen': judge({ secrets: false, invisible: true, action: 'redact' }),
  'a search': find,
  'a comparison': compare,
};
const WORKS: Readonly<Record<string, Work>> = {
  ...STEPS,
  'a policy that refuses': judge({ personal }),
  'a line of a program': readLines,
  'a turn of a worker': parseTurn,
  'a transcript': parseTranscript,
  'a comparison on the page': (text) => compareTexts(text, `x\n${text}y`, 10_000),
  'a command with a path that is none': (text) => {
    expect(() => parseCommand({ command: 'view', path: text })).toThrow();
  },
  'a text at a screen': (text) => visible(text),
  'a view': (text) => viewFile({ given: '/memories/a', text }),
  'a view of the last line': (text) =>
    viewFile({ given: '/memories/a', text, viewRange: [text.split('\n').length] }),
  'a str_replace': (text) => editSnippet(replaceOnce(`${text}end`, `${text.slice(-2_000)}end`, 'new')),
  'a str_replace of much': (text) => editSnippet(replaceOnce(`${text}end`, `${text}end`, text)),
  'an insert': (text) => insertAfterLine(text, text.split('\n').length - 1, text),
};

/**
 * Milliseconds of the processor, the least of some runs: what else goes on only adds to it. Less than `enough` ends
 * them.
 */
async function leastTime(work: Work, text: string, enough: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 5 && least > enough; run += 1) {
    const taken = watchProcessor();
    await work(text);
    least = Math.min(least, taken());
  }
  return least;
}

/** Below this a ratio tells of the clock and of what runs beside. */
const TELLING_MS = 4;

describe.each(rowsOf(WORKS))('$name', ({ row: work, at }) => {
  it.each(oneIn(3, Object.keys(TEXTS), at))(
    'of twice as many %s takes three times as long at most',
    async (text) => {
      let size = 2 * KIB_64;
      let [once, twice] = [0, 0];
      await work(textOf(text, size));
      // Another machine's noise passes; what grows with the square does not.
      for (let attempt = 0; attempt < 4; attempt += 1) {
        once = Math.max(TELLING_MS, await leastTime(work, textOf(text, size), TELLING_MS));
        twice = await leastTime(work, textOf(text, 2 * size), 3 * once);
        if (twice <= 3 * once) return;
        size *= 2;
      }
      expect(twice / once).toBeLessThanOrEqual(3);
    },
    60_000,
  );
});

describe.each(rowsOf(STEPS))('$name', ({ name, row: work, at }) => {
  it.each(oneIn(3, Object.keys(TEXTS), at))('of %s lets others run for each 64 KiB', async (text) => {
    const given = textOf(text, 4 * KIB_64);
    const bytes = new TextEncoder().encode(given).length;
    // One line is taken at once by what goes from line to line.
    const steps = /search|comparison/.test(name) && !given.includes('\n') ? 0 : Math.floor(bytes / KIB_64);
    const rounds = await roundsDuring(async () => work(given));
    expect(rounds).toBeGreaterThanOrEqual(steps);
  });
});
