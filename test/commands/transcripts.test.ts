import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { play, readTranscripts } from './play.ts';

const transcripts = readTranscripts();

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
