import { describe, expect, it } from 'vitest';
import { toBase64url } from '../../../src/format/encoding.ts';
import { OFFSET } from '../../../src/format/header.ts';
import { collectTouches, MOST_TOUCHES, NO_TOUCHES, versionName } from '../../../src/tree/touches.ts';

const read = (path: string, version = '1') => ({ kind: 'read', path, version }) as const;
const written = (path: string, version = '1') => ({ kind: 'written', path, version }) as const;

describe('the touches of a call', () => {
  it('are none at first, and then listed in their order', () => {
    const { add, touches } = collectTouches();
    expect(touches()).toEqual(NO_TOUCHES);
    const all = [read('/a'), written('/a'), { kind: 'deleted', path: '/a' }] as const;
    for (const touch of all) add(touch);
    expect(touches()).toEqual({ list: all, unlisted: 0 });
  });

  it('list a version that is read again once, and what changes it each time', () => {
    const { add, touches } = collectTouches();
    for (const touch of [read('/a'), read('/a'), read('/a', '2'), read('/b'), written('/a'), written('/a')])
      add(touch);
    expect(touches().list).toEqual([read('/a'), read('/a', '2'), read('/b'), written('/a'), written('/a')]);
  });

  it('follow those of an earlier call, with what that had read', () => {
    const from = { list: [written('/x'), read('/a')], unlisted: 3 };
    const { add, touches } = collectTouches(from);
    add(read('/a'));
    add(read('/b'));
    expect(touches()).toEqual({ list: [written('/x'), read('/a'), read('/b')], unlisted: 3 });
    expect(from.list).toEqual([written('/x'), read('/a')]);
  });

  it('are a list of their own at each look', () => {
    const { add, touches } = collectTouches();
    const before = touches();
    add(read('/a'));
    expect([before.list.length, touches().list.length]).toEqual([0, 1]);
  });

  it('are 2,000 at most, and the number of those beyond them', () => {
    expect(MOST_TOUCHES).toBe(2_000);
    const { add, touches } = collectTouches();
    for (let nth = 1; nth <= MOST_TOUCHES + 2; nth++) add(read(`/${nth}`));
    add(read('/1'));
    add(read(`/${MOST_TOUCHES}`));
    expect([touches().list.length, touches().list.at(-1), touches().unlisted]).toEqual([
      MOST_TOUCHES,
      read(`/${MOST_TOUCHES}`),
      2,
    ]);
    // Only the versions of that many reads are known: one beyond them counts each time.
    add(read(`/${MOST_TOUCHES + 1}`));
    expect(touches().unlisted).toBe(3);
  });

  it('name a version by its id, opened or sealed', () => {
    const body = Uint8Array.from({ length: 236 }, (_, index) => index);
    const id = body.slice(OFFSET.id, OFFSET.commitment);
    expect(id).toHaveLength(16);
    expect([versionName({ body }), versionName({ id })]).toEqual([toBase64url(id), toBase64url(id)]);
  });
});
