import { beforeAll, describe, expect, it } from 'vitest';
import { fromBase64url, toBase64url } from '../../../../src/format/encoding.ts';
import { loadSodium } from '../../../../src/format/sodium.ts';
import { NO_ID } from '../../../../src/format/wrap.ts';
import { type Collector, createCollector } from '../../../../src/history/past/collect.ts';
import { livesOf } from '../../../../src/history/past/lives.ts';
import { itemByItem } from '../../../../src/history/past/model.ts';
import { encodeHistoryRecord } from '../../../../src/history/save/history-record.ts';
import { encodeText } from '../../../../src/language/text.ts';
import { at } from '../../../stage/test-tree.ts';

const [A, B, C] = [at('/memories/d/a'), at('/memories/e/a'), at('/memories/c')];

/** The id of a version that a test calls by one letter. */
function idOf(name: string): Uint8Array {
  return new Uint8Array(16).fill(name.charCodeAt(0));
}

/** As a caller would see it. */
function named(name: string): string {
  return toBase64url(idOf(name));
}

interface Told {
  readonly text?: string;
  readonly previous?: string;
  readonly mtime?: number;
}

/** A version as it is bound at a path. */
function factsOf(name: string, path: string, bound: bigint, { text = name, previous, mtime = 0 }: Told = {}) {
  const content = encodeText(text);
  const before = previous === undefined ? NO_ID : idOf(previous);
  return { id: idOf(name), path: at(path), bound, mtime, previous: before, writer: NO_ID, content };
}

/** Gathers a past from what a test tells: what lies where, and what happened where. */
class Telling {
  readonly collector: Collector = createCollector();
  private records = 0;

  private add(record: Parameters<typeof encodeHistoryRecord>[0], event = this.nextId()): this {
    this.collector.addRecord(
      `${'h'.repeat(43)}_${String(this.records).padStart(11, '0')}_${event}`,
      encodeHistoryRecord(record),
    );
    return this;
  }

  private nextId(): string {
    return String(++this.records).padStart(8, '0');
  }

  there(name: string, path: string, bound: bigint, told: Told & { readonly isRenamed?: true } = {}): this {
    const { content, ...facts } = factsOf(name, path, bound, told);
    const origin = told.isRenamed ? idOf('!') : NO_ID;
    this.collector.addFile(facts.path, { ...facts, content, origin, drawnUnder: 1 } as never);
    return this;
  }

  saved(name: string, path: string, bound: bigint, told: Told = {}): this {
    const { content: text, ...facts } = factsOf(name, path, bound, told);
    return this.add({ kind: 'replaced', at: 9, by: NO_ID, version: { ...facts, size: text.length }, text });
  }

  deleted(name: string, path: string, bound: bigint): this {
    return this.add({ kind: 'deleted', at: 9, by: NO_ID, files: [[at(path), idOf(name), bound]] });
  }

  /** Adds the move that the rename of the directory wrote down before it was done. */
  planned(name: string, bound: bigint): this {
    const [from, to] = [at('/memories/d'), at('/memories/e')];
    return this.add(
      { kind: 'moved', at: 9, by: NO_ID, from, to, files: [[A, idOf(name), bound]] },
      'renameAB',
    );
  }
}

function telling(): Telling {
  return new Telling();
}

describe('the model of the past', () => {
  beforeAll(loadSodium);

  it('has a life at each of the two places at which a rename left a version, and an edit at one of them', async () => {
    const past = await telling()
      .saved('v', A, 1n)
      .there('v', B, 2n, { isRenamed: true })
      .there('s', A, 3n, { previous: 'v' })
      .collector.past();
    const [atA, atB] = past.bindings(named('v'));
    expect([atA?.path, atB?.path]).toEqual([A, B]);
    expect(past.versions.get(named('v'))?.text).toBe('current');
    const lives = (await itemByItem(livesOf(past))).map(({ path, chain }) => `${path} ${chain.length}`);
    expect(lives.sort()).toEqual([`${A} 2`, `${B} 1`].sort());
  });

  it('has both versions that were written over one, and all that came of them', async () => {
    const past = await telling()
      .saved('v', A, 1n)
      .saved('s', A, 3n, { previous: 'v' })
      .there('u', A, 5n, { previous: 's' })
      .there('t', B, 4n, { previous: 'v' })
      .collector.past();
    const ids = (versions: readonly { readonly id: string }[]): readonly string[] =>
      versions.map(({ id }) => String.fromCharCode(fromBase64url(id)?.[0] ?? 0));
    expect(ids(past.successors(named('v')))).toEqual(['s', 't']);
    expect(ids(past.descendants(named('v')))).toEqual(['s', 't', 'u']);
    expect(ids(past.ancestors(named('u')))).toEqual(['s', 'v']);
    expect(ids(past.ancestors(named('t')))).toEqual(['v']);
  });

  it('takes a delete for the end of no binding that is later than what it names', async () => {
    const past = await telling().deleted('v', A, 2n).saved('v', A, 2n).there('v', A, 3n).collector.past();
    expect(past.leavesOf(named('v'))).toMatchObject([{ from: A, bound: 2n }]);
    expect(await itemByItem(livesOf(past))).toMatchObject([{ path: A, deleted: undefined }]);
  });

  it('tells of a delete once, though two processes have written it down', async () => {
    const past = await telling().deleted('v', A, 2n).deleted('v', A, 2n).saved('v', A, 2n).collector.past();
    expect(past.leaves).toHaveLength(1);
    expect(await itemByItem(livesOf(past))).toHaveLength(1);
  });

  it('counts a planned rename as done once the version is known at its new place', async () => {
    const stateOf = async (told: Telling): Promise<string | undefined> =>
      (await told.planned('v', 2n).collector.past()).leaves.find(({ to }) => to === B)?.state;
    expect(await stateOf(telling().there('v', B, 3n, { isRenamed: true }))).toBe('done');
    expect(await stateOf(telling().saved('v', B, 3n))).toBe('done');
    expect(await stateOf(telling().deleted('v', B, 3n))).toBe('done');
    // It lay there before.
    expect(await stateOf(telling().saved('v', B, 1n))).toBe('supposed');
    expect(await stateOf(telling())).toBe('supposed');
  });

  it('counts a planned rename as undone where the version stayed, was replaced or left otherwise', async () => {
    const stateOf = async (told: Telling): Promise<string | undefined> =>
      (await told.planned('v', 2n).collector.past()).leaves.find(({ to }) => to === B)?.state;
    expect(await stateOf(telling().there('v', A, 2n))).toBe('undone');
    expect(await stateOf(telling().saved('v', A, 2n).there('s', A, 3n, { previous: 'v' }))).toBe('undone');
    expect(await stateOf(telling().deleted('v', A, 2n))).toBe('undone');
  });

  it('orders the places of a version by their bounds, there and back', async () => {
    const past = await telling().there('v', C, 7n).saved('v', A, 3n).deleted('v', B, 5n).collector.past();
    expect(past.bindings(named('v')).map(({ path }) => path)).toEqual([A, B, C]);
    expect(past.birthplace(named('v'))).toBe(A);
  });

  it('names an id that two texts or two times bear', async () => {
    const one = await telling().saved('v', A, 1n).there('v', B, 2n).collector.past();
    expect([...one.damaged.versions]).toEqual([]);
    const texts = await telling()
      .saved('v', A, 1n, { text: 'x' })
      .there('v', B, 2n, { text: 'y' })
      .collector.past();
    expect([...texts.damaged.versions]).toEqual([named('v')]);
    const times = await telling()
      .saved('v', A, 1n, { mtime: 1 })
      .there('v', B, 2n, { mtime: 2 })
      .collector.past();
    expect([...times.damaged.versions]).toEqual([named('v')]);
  });

  it('ends a chain that comes back to itself', async () => {
    const past = await telling()
      .saved('v', A, 1n, { previous: 's' })
      .saved('s', A, 2n, { previous: 'v' })
      .collector.past();
    expect(past.ancestors(named('v')).map(({ id }) => id)).toEqual([named('s')]);
    expect(past.descendants(named('v')).map(({ id }) => id)).toEqual([named('s')]);
  });

  it('is made once, until something is added', async () => {
    const told = telling().saved('v', A, 1n);
    const past = await told.collector.past();
    expect(await told.collector.past()).toBe(past);
    expect((await told.there('w', A, 2n, { previous: 'v' }).collector.past()).files.size).toBe(1);
  });

  it('takes what a record may not say for damage, and tells the rest', async () => {
    const told = telling().saved('v', A, 1n);
    told.collector.addRecord('malformed', encodeText('{"kind":"replaced"}'));
    const past = await told.collector.past();
    expect(past.damaged.records).toEqual(['malformed']);
    expect(past.versions.size).toBe(1);
  });
});
