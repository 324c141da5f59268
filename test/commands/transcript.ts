import manifest from '../../package.json' with { type: 'json' };

/** A line that is typed, and what stands below it. */
interface Step {
  readonly typed: string;
  /** The lines of a document that is given as standard input (`<<EOF`). */
  readonly input: string;
  readonly answer: readonly string[];
}

export interface Transcript {
  /** The claim, which stands above the first line that is typed. */
  readonly title: string;
  readonly steps: readonly Step[];
}

/** Stands in the place of an answer that is still to be filled in. */
export const ASKED = '?';

const TYPED = '$ ';
const REMARK = '# ';
/** A line of an answer that begins as another part of a transcript does; a backslash stands before it. */
const LOOKS_LIKE_MORE = /^(?:[$#] |!!? |\\|(?:\[\d+\]|\?)$)/;
/** The words with which a line of standard error begins. */
const NAME_FIRST = 'sealed-memory: ';
const NO_NEWLINE = ' (no newline)';

/** Reads a transcript: a title, and lines that begin with `$ ` with their answers below. */
export function parseTranscript(text: string): Transcript {
  const lines = text.replace(/\n$/, '').split('\n');
  const title = lines.slice(0, lines.indexOf('')).join(' ');
  const steps: { typed: string; input: string; answer: string[] }[] = [];
  let end: string | undefined;
  let isRemark = true;
  for (const line of lines) {
    const step = steps.at(-1);
    if (step !== undefined && end !== undefined) {
      const said = line.replace(/^> ?/, '');
      if (said === end) end = undefined;
      else step.input += `${said}\n`;
      continue;
    }
    if (line.startsWith(TYPED)) {
      const [, typed = '', mark] = /^\$ (.*?)(?: <<(\w+))?$/.exec(line) ?? [];
      steps.push({ typed, input: '', answer: [] });
      end = mark;
      isRemark = false;
    } else if (line.startsWith(REMARK)) {
      isRemark = true;
      if (step?.answer.at(-1) === '') step.answer.pop();
    } else if (!isRemark) step?.answer.push(line);
  }
  return { title, steps };
}

/**
 * Writes an answer as a transcript shows it: standard output, then standard error with `! ` in the place of the
 * program's name or with `!! ` where that does not stand first, then an exit code that is not 0.
 */
export function shownAnswer({
  code,
  stdout,
  stderr,
}: {
  readonly code: number;
  readonly stdout: Uint8Array;
  readonly stderr: string;
}): readonly string[] {
  const out = linesOf(new TextDecoder('utf-8', { ignoreBOM: true }).decode(stdout)).map((line) =>
    line.replace(LOOKS_LIKE_MORE, '\\$&'),
  );
  const err = linesOf(stderr).map((line) =>
    (line.startsWith(NAME_FIRST) ? `! ${line.slice(NAME_FIRST.length)}` : `!! ${line}`).trimEnd(),
  );
  return [...out, ...err, ...(code === 0 ? [] : [`[${code}]`])];
}

function linesOf(text: string): readonly string[] {
  const lines = text.replaceAll('\r', '\\r').split('\n');
  const last = lines.pop() ?? '';
  return last === '' ? lines : [...lines, `${last}${NO_NEWLINE}`];
}

/**
 * Names for what a run makes up: `{v1}` is a version as people see it, `{V1}` its whole name, `{id1}` a word of another
 * kind, `{n1}` a number. A name stands for the same in the whole transcript, in typed lines too. `{here}` is the
 * folder, `{version}` that of the package, and `{*}` any text.
 */
export class Names {
  readonly #bound: Map<string, string>;

  constructor(folder: string) {
    this.#bound = new Map([
      ['here', folder],
      ['version', manifest.version],
    ]);
  }

  /** Puts what they stand for in the place of names. */
  typed(line: string): string {
    return line.replaceAll(NAME, (name, word: string) => this.#value(word) ?? name);
  }

  #value(word: string): string | undefined {
    const whole = this.#bound.get(word.replace(/^v(?=\d)/, 'V'));
    return /^v\d/.test(word) ? (this.#bound.get(word) ?? (whole && shown(whole))) : this.#bound.get(word);
  }

  /** Tells whether a line is what was expected, and notes what its names stand for. */
  matches(expected: string, line: string): boolean {
    const words: string[] = [];
    const pattern = expected
      .split(NAME)
      .map((part, index) => {
        if (index % 2 === 0) return escaped(part);
        if (part === '*') return '.*';
        const value = this.#value(part);
        if (value !== undefined) return escaped(value);
        const earlier = words.indexOf(part);
        if (earlier >= 0) return `\\${earlier + 1}`;
        words.push(part);
        const short = /^V/.test(part) ? this.#bound.get(part.toLowerCase()) : undefined;
        return `(${short === undefined ? SHAPES[part.replace(/\d+$/, '')] : `${escaped(short.slice(1))}[\\w-]{14}`})`;
      })
      .join('');
    const found = new RegExp(`^${pattern}$`).exec(line);
    if (found === null) return false;
    for (const [index, word] of words.entries()) this.#bound.set(word, found[index + 1] ?? '');
    return true;
  }

  /** Writes a line with names for all that is known, and for versions that are new. */
  fill(line: string): string {
    let told = line;
    for (const [word, value] of this.#bound) {
      if (word !== 'version') told = told.replaceAll(value, `{${word}}`);
      if (word.startsWith('V')) told = told.replaceAll(shown(value), `{${word.toLowerCase()}}`);
    }
    return told.replaceAll(MADE_UP, (value) => {
      const kind = value.length === 22 ? 'V' : value.length === 9 ? 'v' : 'id';
      const known = [...this.#bound].find(([word, short]) => word.startsWith('v') && shown(value) === short);
      if (kind === 'V' && known !== undefined) {
        this.#bound.set(known[0].toUpperCase(), value);
        return `{${known[0].toUpperCase()}}`;
      }
      const numbers = [...this.#bound.keys()]
        .filter((word) => word.replace(/\d+$/, '').toLowerCase() === kind.toLowerCase())
        .map((word) => Number(/\d+$/.exec(word)));
      const word = `${kind}${Math.max(0, ...numbers) + 1}`;
      this.#bound.set(word, value);
      return `{${word}}`;
    });
  }
}

/** Matches the words that an author wants a name for: versions, whole and short, and ETags. */
const MADE_UP = new RegExp(
  [
    '(?<=")[\\w-]{22}(?=")',
    '(?<=[ \\t]|^)v(?=[\\w-]*[A-Z\\d_-])[\\w-]{8}(?=[ \\t:]|$)',
    '(?<=")[\\da-f]{32}(?=\\\\?")',
    '(?<=["/:])[\\w-]{43}(?=$|["./])',
  ].join('|'),
  'g',
);

const NAME = /\{(\*|here|version|(?:v|V|id|n)\d+)\}/g;
const SHAPES: Readonly<Record<string, string>> = {
  v: 'v[\\w-]{8}',
  V: '[\\w-]{22}',
  id: '[\\w-]+',
  n: '\\d+',
};

const shown = (version: string): string => `v${version.slice(0, 8)}`;

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
