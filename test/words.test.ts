import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/**
 * Words that have one meaning, by the stems that stand for them in exported names, and the rooms whose meaning it is.
 */
const WORDS: readonly (readonly [word: string, stem: RegExp, homes: RegExp])[] = [
  ['settle', /settle/i, /^store\//],
  ['session', /session(?!Token)/i, /^(sessions|hosts|open|cli\/serve)\//],
  ['take back', /take(n)?(Put)?Back/i, /^(tree\/staying|cli\/history)\//],
  ['stay', /(?<!\w)stay|Stay|STAY/, /^tree\/(staying\/|read-file)/],
  ['undo', /(?<![a-z])undo(?!ne\b)|Undo(?=[A-Z]|$)/, /^(history|cli\/history)\//],
  ['restore', /restore/i, /^(history|cli\/history)\//],
  ['backup', /back_?up/i, /^(cli\/keys|store\/sqlite)\//],
  ['sightings', /sighting/i, /^(tree\/sightings|history\/past)/],
  ['basis', /basis/i, /^(worker\/turn|agent)\//],
  ['delivery', /delivery|delivered/i, /^worker\//],
];

/** Words that stand for nothing any more. */
const GONE = /^(ground|verdict)$|TurnVerdict|TurnGround|lineage|comparison/i;

const EXPORT = /^export (?:declare )?(?:async )?(?:function\*?|const|interface|type|class) (\w+)/gm;

const exported = globSync('**/*.{ts,tsx}', { cwd: 'src' })
  .filter((path) => !path.startsWith('testing/'))
  .flatMap((path) =>
    [...readFileSync(`src/${path}`, 'utf8').matchAll(EXPORT)].map(([, name = '']) => ({ path, name })),
  );

describe('a word of the glossary', () => {
  it.each(WORDS)('stands for one thing in exported names: %s', (word, stem, homes) => {
    const meant = exported.filter(({ name }) => stem.test(name));
    expect(meant.length).toBeGreaterThan(0);
    const strangers = meant.filter(({ path }) => !homes.test(path));
    expect(strangers.map(({ path, name }) => `src/${path}: ${name}`)).toEqual([]);
    expect(readFileSync('docs/glossary.md', 'utf8')).toMatch(
      new RegExp(`^\\| [^|]*\\b${word}\\b[^|]* \\|`, 'm'),
    );
  });

  it('has taken the place of the words before it', () => {
    expect(exported.filter(({ name }) => GONE.test(name))).toEqual([]);
  });
});
