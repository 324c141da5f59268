import { setImmediate as nextTick } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseGivenPath, parseMemoryPath } from '../../../src/language/path.ts';
import { type Claim, type CommandOrder, createCommandOrder } from '../../../src/tool/command-order.ts';

const writes = (path: string): Claim => ({ path: parseMemoryPath(path), mode: 'write' });
const edits = (path: string): Claim => ({ path: parseMemoryPath(path), mode: 'edit' });
const reads = (path: string): Claim => ({ path: parseMemoryPath(path), mode: 'read' });

/** An order whose actions note when they begin and end when they are told to. */
function observe(order: CommandOrder) {
  const started: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<string>>();
  return {
    started,
    call(name: string, claims: readonly Claim[], signal?: AbortSignal): Promise<string> {
      const gate = Promise.withResolvers<string>();
      gates.set(name, gate);
      const action = (): Promise<string> => {
        started.push(name);
        return gate.promise;
      };
      return order.run(claims, action, signal);
    },
    async end(name: string): Promise<void> {
      gates.get(name)?.resolve(name);
      await nextTick();
    },
    async fail(name: string): Promise<void> {
      gates.get(name)?.reject(new Error(name));
      await nextTick();
    },
  };
}

describe('createCommandOrder', () => {
  it('starts a call that overlaps nothing at once and answers what its action answers', async () => {
    const calls = observe(createCommandOrder());
    const only = calls.call('only', [writes('/memories/a')]);
    await nextTick();
    expect(calls.started).toEqual(['only']);
    await calls.end('only');
    expect(await only).toBe('only');
  });

  it('runs writes of one path one after the other, as they were called', async () => {
    const calls = observe(createCommandOrder());
    for (const name of ['first', 'second', 'third']) void calls.call(name, [writes('/memories/a')]);
    await nextTick();
    expect(calls.started).toEqual(['first']);
    await calls.end('first');
    expect(calls.started).toEqual(['first', 'second']);
    await calls.end('second');
    expect(calls.started).toEqual(['first', 'second', 'third']);
  });

  it('lets an edit run behind one that was cancelled while it waited', async () => {
    const calls = observe(createCommandOrder());
    const cancelling = new AbortController();
    void calls.call('write', [writes('/memories/a')]);
    const cancelled = calls.call('cancelled', [edits('/memories/a')], cancelling.signal);
    void calls.call('edit', [edits('/memories/a')]);
    cancelling.abort();
    await expect(cancelled).rejects.toMatchObject({ code: 'aborted' });
    expect(calls.started).toEqual(['write']);
    await calls.end('write');
    expect(calls.started).toEqual(['write', 'edit']);
  });

  it('runs writes of unrelated paths side by side, names with a common beginning included', async () => {
    const calls = observe(createCommandOrder());
    for (const path of ['a', 'ab', 'a.txt', 'b/c', 'b/d']) {
      void calls.call(path, [writes(`/memories/${path}`)]);
    }
    await nextTick();
    expect(calls.started).toEqual(['a', 'ab', 'a.txt', 'b/c', 'b/d']);
  });

  it.each([
    ['a directory', '/memories/d', '/memories/d/e/f'],
    ['a file', '/memories/d/e/f', '/memories/d'],
    ['the root', '/memories', '/memories/x'],
    ['any file', '/memories/x', '/memories'],
    ['the root alone', '/memories', '/memories'],
  ])('keeps writes and reads of %s (%s) and of %s in order', async (_, one, other) => {
    for (const [earlier, later] of [
      [writes(one), reads(other)],
      [reads(one), writes(other)],
    ] as const) {
      const calls = observe(createCommandOrder());
      void calls.call('earlier', [earlier]);
      void calls.call('later', [later]);
      await nextTick();
      expect(calls.started).toEqual(['earlier']);
      await calls.end('earlier');
      expect(calls.started).toEqual(['earlier', 'later']);
    }
  });

  it('runs reads side by side, and a write behind all of them', async () => {
    const calls = observe(createCommandOrder());
    void calls.call('read 1', [reads('/memories/a')]);
    void calls.call('read 2', [reads('/memories')]);
    void calls.call('write', [writes('/memories/a')]);
    void calls.call('read 3', [reads('/memories/a')]);
    await nextTick();
    expect(calls.started).toEqual(['read 1', 'read 2']);
    await calls.end('read 2');
    expect(calls.started).toEqual(['read 1', 'read 2']);
    await calls.end('read 1');
    expect(calls.started).toEqual(['read 1', 'read 2', 'write']);
    await calls.end('write');
    expect(calls.started).toEqual(['read 1', 'read 2', 'write', 'read 3']);
  });

  it('starts edits of one path together, in the order they were called', async () => {
    const calls = observe(createCommandOrder());
    void calls.call('write', [writes('/memories/a')]);
    for (const name of ['edit 1', 'edit 2', 'edit 3']) void calls.call(name, [edits('/memories/a')]);
    void calls.call('read', [reads('/memories/a')]);
    void calls.call('edit 4', [edits('/memories/a')]);
    await calls.end('write');
    expect(calls.started).toEqual(['write', 'edit 1', 'edit 2', 'edit 3']);
    await calls.end('edit 1');
    await calls.end('edit 3');
    expect(calls.started).toHaveLength(4);
    await calls.end('edit 2');
    expect(calls.started.slice(4)).toEqual(['read']);
    await calls.end('read');
    expect(calls.started.slice(5)).toEqual(['edit 4']);
  });

  it('takes the forms of a name for one place, and starts no edit beside one whose path is yet to be found out', async () => {
    const calls = observe(createCommandOrder());
    const inForm = (path: string): Claim => ({ path: parseGivenPath(path), mode: 'edit' });
    for (const [name, path] of Object.entries({
      nfd: 'e\u0301',
      nfc: '\u00e9',
      more: '\u00e9',
      other: 'e',
    })) {
      void calls.call(name, [inForm(`/memories/${path}`)]);
    }
    await nextTick();
    expect(calls.started).toEqual(['nfd', 'other']);
    await calls.end('nfd');
    expect(calls.started).toEqual(['nfd', 'other', 'nfc', 'more']);
    void calls.call('late', [inForm('/memories/e\u0301')]);
    await calls.end('nfc');
    expect(calls.started).not.toContain('late');
    await calls.end('more');
    expect(calls.started).toContain('late');
  });

  it('runs reads of a name in another form side by side', async () => {
    const calls = observe(createCommandOrder());
    const claim: Claim = { path: parseGivenPath('/memories/e\u0301'), mode: 'read' };
    for (const name of ['one', 'two']) void calls.call(name, [claim]);
    await nextTick();
    expect(calls.started).toEqual(['one', 'two']);
  });

  it('keeps calls in order that share an edit and more', async () => {
    const calls = observe(createCommandOrder());
    for (const name of ['one', 'two']) {
      void calls.call(name, [edits('/memories/a'), writes('/memories/b')]);
    }
    await nextTick();
    expect(calls.started).toEqual(['one']);
    await calls.end('one');
    expect(calls.started).toEqual(['one', 'two']);
  });

  it('never starts an edit before one that was called earlier and still waits', async () => {
    const calls = observe(createCommandOrder());
    void calls.call('other', [reads('/memories/a')]);
    void calls.call('edit 1', [edits('/memories/a'), writes('/memories/b')]);
    void calls.call('edit 2', [edits('/memories/a')]);
    await calls.end('other');
    expect(calls.started).toEqual(['other', 'edit 1', 'edit 2']);
  });

  it('keeps an edit of a file and whatever touches a directory above it in order', async () => {
    for (const [earlier, later] of [
      [edits('/memories/d/f'), edits('/memories/d')],
      [edits('/memories/d/f'), writes('/memories/d')],
      [writes('/memories'), edits('/memories/d/f')],
      [edits('/memories/d/f'), reads('/memories')],
    ] as const) {
      const calls = observe(createCommandOrder());
      void calls.call('earlier', [earlier]);
      void calls.call('later', [later]);
      await nextTick();
      expect(calls.started).toEqual(['earlier']);
      await calls.end('earlier');
      expect(calls.started).toEqual(['earlier', 'later']);
    }
  });

  it('makes a call with two claims wait for what overlaps either of them', async () => {
    const calls = observe(createCommandOrder());
    void calls.call('source', [writes('/memories/source')]);
    void calls.call('target', [writes('/memories/target')]);
    void calls.call('rename', [writes('/memories/source'), writes('/memories/target')]);
    void calls.call('behind', [reads('/memories/target')]);
    await calls.end('source');
    expect(calls.started).toEqual(['source', 'target']);
    await calls.end('target');
    expect(calls.started).toEqual(['source', 'target', 'rename']);
    await calls.end('rename');
    expect(calls.started).toEqual(['source', 'target', 'rename', 'behind']);
  });

  it('goes on after a call that fails', async () => {
    const calls = observe(createCommandOrder());
    const failing = calls.call('failing', [writes('/memories/a')]);
    const behind = calls.call('behind', [writes('/memories/a')]);
    const failure = expect(failing).rejects.toThrow('failing');
    await calls.fail('failing');
    await failure;
    await calls.end('behind');
    expect(await behind).toBe('behind');
  });

  it('goes on after an action that throws before it answers a promise', async () => {
    const order = createCommandOrder();
    const failing = order.run([writes('/memories/a')], () => {
      throw new Error('at once');
    });
    const behind = order.run([writes('/memories/a')], async () => 'behind');
    await expect(failing).rejects.toThrow('at once');
    expect(await behind).toBe('behind');
  });
});

describe('createCommandOrder with an AbortSignal', () => {
  it('does not start a call whose signal was aborted before', async () => {
    const calls = observe(createCommandOrder());
    await expect(calls.call('late', [writes('/memories/a')], AbortSignal.abort())).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(calls.started).toEqual([]);
  });

  it('rejects a waiting call as soon as it is aborted, and never starts it', async () => {
    const calls = observe(createCommandOrder());
    const stop = new AbortController();
    void calls.call('first', [writes('/memories/a')]);
    const waiting = calls.call('waiting', [writes('/memories/a')], stop.signal);
    await nextTick();
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await calls.end('first');
    expect(calls.started).toEqual(['first']);
  });

  it('keeps the order for those behind a call that was aborted while it waited', async () => {
    const calls = observe(createCommandOrder());
    const stop = new AbortController();
    void calls.call('first', [writes('/memories/a')]);
    const waiting = calls.call('waiting', [writes('/memories/a'), writes('/memories/b')], stop.signal);
    void calls.call('behind', [writes('/memories/b')]);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await nextTick();
    expect(calls.started).toEqual(['first']);
    await calls.end('first');
    expect(calls.started).toEqual(['first', 'behind']);
  });

  it('leaves a call that has started to its action', async () => {
    const calls = observe(createCommandOrder());
    const stop = new AbortController();
    const running = calls.call('running', [writes('/memories/a')], stop.signal);
    void calls.call('behind', [writes('/memories/a')]);
    await nextTick();
    stop.abort();
    await nextTick();
    expect(calls.started).toEqual(['running']);
    await calls.end('running');
    expect(await running).toBe('running');
    expect(calls.started).toEqual(['running', 'behind']);
  });
});

describe('a command order of many calls', () => {
  const path = fc
    .constantFrom('', '/a', '/a/b', '/a/b/c', '/a/c', '/ab', '/b')
    .map((tail) => `/memories${tail}`);
  const claims = fc.array(
    fc.record({ path: path.map((text) => parseMemoryPath(text)), mode: fc.constantFrom('read', 'write') }),
    { minLength: 1, maxLength: 2 },
  );

  it('starts exactly those that overlap none of the earlier ones', async () => {
    const overlap = (a: Claim, b: Claim): boolean =>
      (a.mode === 'write' || b.mode === 'write') &&
      (`${a.path}/`.startsWith(`${b.path}/`) || `${b.path}/`.startsWith(`${a.path}/`));
    await fc.assert(
      fc.asyncProperty(fc.array(claims, { maxLength: 8 }), async (all) => {
        const calls = observe(createCommandOrder());
        for (const [name, each] of all.entries()) void calls.call(String(name), each as readonly Claim[]);
        await nextTick();
        const free = all.flatMap((each, name) =>
          all
            .slice(0, name)
            .some((earlier) => each.some((a) => earlier.some((b) => overlap(a as Claim, b as Claim))))
            ? []
            : [String(name)],
        );
        expect(calls.started).toEqual(free);
      }),
    );
  });

  it('compares no calls whose paths have nothing to do with one another', async () => {
    const order = createCommandOrder();
    let looks = 0;
    const calls = Array.from({ length: 2_000 }, (_, i) => {
      const at = parseMemoryPath(`/memories/${i % 10}/${i}`);
      const claim: Claim = {
        get path() {
          looks++;
          return at;
        },
        mode: 'write',
      };
      return order.run([claim], nextTick);
    });
    await Promise.all(calls);
    expect(looks).toBeLessThan(2_000 * 10);
  });
});

describe('CommandOrder.idle', () => {
  it('resolves at once when nothing runs', async () => {
    await createCommandOrder().idle();
  });

  it('waits for what was called before, well or badly ended, and for nothing else', async () => {
    const order = createCommandOrder();
    const calls = observe(order);
    void calls.call('good', [writes('/memories/a')]);
    const bad = expect(calls.call('bad', [writes('/memories/a')])).rejects.toThrow();
    let idle = false;
    const waiting = order.idle().then(() => {
      idle = true;
    });
    void calls.call('later', [writes('/memories/b')]);
    await calls.end('good');
    expect(idle).toBe(false);
    await calls.fail('bad');
    await bad;
    await waiting;
    expect(idle).toBe(true);
  });
});
