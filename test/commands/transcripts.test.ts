import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { openPlace } from './place.ts';
import { runLine } from './shell.ts';
import { ASKED, Names, parseTranscript, shownAnswer } from './transcript.ts';

/** `npm run write transcripts` fills in answers that are still asked for; an answer that stands is never changed. */
const isFilled = process.env['TRANSCRIPTS_FILL'] === '1';

const transcripts = globSync('test/commands/**/*.txt')
  .sort()
  .map((file) => {
    const text = readFileSync(file, 'utf8');
    const name = file.slice('test/commands/'.length, -'.txt'.length);
    return { file: resolve(file), name, text, ...parseTranscript(text) };
  });

/** Plays a transcript; what was expected and what was answered, line by line, with the typed lines between. */
async function play({ file, text, steps }: (typeof transcripts)[number]) {
  using place = openPlace();
  const names = new Names(place.folder);
  const [wanted, got]: [string[], string[]] = [[], []];
  const filled = text.split('\n');
  for (const { typed, input, answer } of steps) {
    const shown = shownAnswer(await runLine(names.typed(typed), Buffer.from(input), place));
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

describe('the command line', () => {
  it.each(transcripts)('$name: $title', async (transcript) => {
    const { wanted, got } = await play(transcript);
    expect(got).toBe(wanted);
  });

  it('has a transcript for every verb, beside its help', async () => {
    const { createProgram } = await import('../../src/cli/program/program.ts');
    const namesBelow = (command: Command, words = ''): readonly string[] =>
      command.commands.length === 0
        ? [words.trim()]
        : command.commands.flatMap((each) => namesBelow(each, `${words} ${each.name()}`));
    const typed = transcripts
      .filter(({ name }) => !name.startsWith('help/'))
      .flatMap(({ steps }) => steps.map((step) => ` ${step.typed} `));
    const verbs = namesBelow(createProgram(() => {}));
    expect(verbs.length).toBeGreaterThan(40);
    expect(verbs.filter((verb) => !typed.some((line) => line.includes(` sealed-memory ${verb} `)))).toEqual(
      [],
    );
  });
});
