import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { openPlace } from './place.ts';
import { runLine } from './shell.ts';
import { ASKED, Names, parseTranscript, shownAnswer, type Transcript } from './transcript.ts';

/** `npm run write transcripts` fills in answers that are still asked for; an answer that stands is never changed. */
const isFilled = process.env['TRANSCRIPTS_FILL'] === '1';

export interface Written extends Transcript {
  readonly file: string;
  /** The file's path below `test/commands`. */
  readonly name: string;
  readonly text: string;
}

export function readTranscripts(folder = '**'): readonly Written[] {
  return globSync(`test/commands/${folder}/*.txt`)
    .sort()
    .map((file) => {
      const text = readFileSync(file, 'utf8');
      const name = file.slice('test/commands/'.length, -'.txt'.length);
      return { file: resolve(file), name, text, ...parseTranscript(text) };
    });
}

/**
 * Plays a transcript, its lines typed as `retyped` would have them: what was expected and what was answered, line by
 * line, with the typed lines between.
 */
export async function play({ file, text, steps }: Written, retyped = (line: string): string => line) {
  using place = openPlace();
  const names = new Names(place.folder);
  const [wanted, got]: [string[], string[]] = [[], []];
  const filled = text.split('\n');
  for (const { typed, input, answer } of steps) {
    const shown = shownAnswer(await runLine(names.typed(retyped(typed)), Buffer.from(input), place));
    wanted.push(`$ ${typed}`, ...answer);
    got.push(`$ ${typed}`);
    if (answer.length === 1 && answer[0] === ASKED && isFilled) {
      filled.splice(filled.indexOf(ASKED), 1, ...shown.map((line) => names.fill(line)));
      got.push(ASKED);
      continue;
    }
    for (const [index, line] of shown.entries()) {
      const expected = answer[index];
      got.push(expected !== undefined && names.matches(expected, line) ? expected : line);
    }
  }
  if (isFilled) writeFileSync(file, filled.join('\n'));
  return { wanted: wanted.join('\n'), got: got.join('\n') };
}
