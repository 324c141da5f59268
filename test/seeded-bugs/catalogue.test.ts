import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { RACED_SEAMS } from '../linearizability/raced-seams.ts';
import { SEEDED_BUGS } from './catalogue.ts';
import { SEAMS } from './seams.ts';

/** Chapters that promise nothing of the store, or what another suite proves. */
const PROMISE_NOTHING: readonly string[] = [
  'protocols: Three ideas',
  'protocols: What is assumed',
  'protocols: Why the rules suffice',
  'history: To turn it on',
  'history: What it costs',
  'history: What it does not do',
  'policies: Read-only',
  'policies: Events',
];

const titlesOf = (page: string): readonly string[] =>
  [...readFileSync(`docs/${page}.md`, 'utf8').matchAll(/^## (.+)$/gm)].map(
    ([, title]) => `${page}: ${title}`,
  );
/** The page of the checkpoints is one chapter. */
const chapters = [...['protocols', 'history', 'policies'].flatMap(titlesOf), 'checkpoints'];

describe('the catalogue of seeded bugs', () => {
  it('has at least sixty, as many as docs/testing.md says, each under a name of its own', () => {
    expect(SEEDED_BUGS.length).toBeGreaterThanOrEqual(60);
    const page = readFileSync('docs/testing.md', 'utf8');
    const seenBy = Map.groupBy(SEEDED_BUGS, (bug) => bug.seenBy.run);
    const [simulation, suite, races] = (['simulation', 'suite', 'races'] as const).map(
      (run) => seenBy.get(run)?.length,
    );
    for (const said of [
      `has ${SEEDED_BUGS.length} mistakes`,
      `- ${simulation} in the simulation`,
      `- ${suite} in a suite`,
      `- ${races} in races`,
    ])
      expect(page).toContain(said);
    const names = SEEDED_BUGS.map(({ name }) => name.replace(/\W+/g, '-'));
    expect(new Set(names).size).toBe(names.length);
  });

  it('breaks every chapter that promises something', () => {
    const broken = new Set<string>(SEEDED_BUGS.map(({ breaks }) => breaks));
    expect([...broken].filter((chapter) => !chapters.includes(chapter))).toEqual([]);
    expect(chapters.filter((chapter) => !broken.has(chapter))).toEqual(PROMISE_NOTHING);
  });

  it.each(SEEDED_BUGS)('finds the place and the judge of a bug: $name', ({ name, planted, seenBy }) => {
    const seams = seenBy.run === 'races' ? RACED_SEAMS : SEAMS;
    expect(Object.hasOwn(seams, name)).toBe(planted === 'seam');
    if (planted !== 'seam') {
      expect(readFileSync(planted.file, 'utf8').split(planted.replaces)).toHaveLength(2);
      expect(planted.by).not.toBe(planted.replaces);
    }
    if (seenBy.run !== 'suite') return;
    const source = readFileSync(seenBy.file, 'utf8').replaceAll("\\'", "'");
    // The whole title: the run that CI makes looks for it by all of its words.
    expect(["'", '"', '`'].some((end) => source.includes(`${seenBy.title}${end}`))).toBe(true);
  });

  it('has a bug for each seam', () => {
    const names = SEEDED_BUGS.map(({ name }) => name);
    expect(Object.keys({ ...SEAMS, ...RACED_SEAMS }).filter((name) => !names.includes(name))).toEqual([]);
  });
});
