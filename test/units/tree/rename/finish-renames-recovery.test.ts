import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { MEMORY_ROOT } from '../../../../src/language/path.ts';
import type { LogFields } from '../../../../src/logger.ts';
import type { ETag } from '../../../../src/store/port.ts';
import { listDirectory } from '../../../../src/tree/list-directory.ts';
import {
  createRecovery,
  type RecoveryOutcome,
  type RenameRegister,
} from '../../../../src/tree/rename/finish-renames.ts';
import { LEASE_MS } from '../../../../src/tree/rename/register.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { noAnswer } from '../../../stage/store-wrappers.ts';
import { at, bytes, describeOnBothKinds, type TestClient } from '../../../stage/test-tree.ts';

describe('the recovery of a session', () => {
  /** A register of which each look has its own end. */
  function start(): {
    recovery: ReturnType<typeof createRecovery>;
    looks: { readonly work: Work; readonly end: PromiseWithResolvers<RecoveryOutcome> }[];
    logged: (LogFields | undefined)[];
    time: { now: number };
    work: (signal?: AbortSignal) => Work;
  } {
    const looks: { work: Work; end: PromiseWithResolvers<RecoveryOutcome> }[] = [];
    const logged: (LogFields | undefined)[] = [];
    const recover = (work: Work): Promise<RecoveryOutcome> => {
      const end = Promise.withResolvers<RecoveryOutcome>();
      looks.push({ work, end });
      return end.promise;
    };
    const time = { now: 0 };
    const logger = { warn: (_: string, fields?: LogFields) => void logged.push(fields) };
    const work = (signal?: AbortSignal): Work =>
      ({ tenant: { logger, monotonic: () => time.now }, call: { signal } }) as unknown as Work;
    return { recovery: createRecovery({ recover } as unknown as RenameRegister), looks, logged, time, work };
  }

  it('looks once for all commands, and not with the signal of the first', async () => {
    const { recovery, looks, work } = start();
    const both = [recovery.before(work(new AbortController().signal)), recovery.before(work())];
    looks[0]?.end.resolve('idle');
    await Promise.all(both);
    await recovery.before(work());
    expect(looks).toHaveLength(1);
    expect(looks[0]?.work.call.signal).toBeUndefined();
  });

  it('is waited for before a command, for as long as its caller waits', async () => {
    const { recovery, looks, work } = start();
    let isOver = false;
    const waiting = recovery.before(work()).then(() => {
      isOver = true;
    });
    const controller = new AbortController();
    const aborted = expect(recovery.before(work(controller.signal))).rejects.toMatchObject({
      code: 'aborted',
    });
    controller.abort();
    await aborted;
    expect(isOver).toBe(false);
    looks[0]?.end.resolve('idle');
    await waiting;
  });

  it('goes on beside a read, which is repeated only where something was finished', async () => {
    for (const [finished, reads] of [
      ['finished', 2],
      ['under_way', 1],
      ['idle', 1],
      [undefined, 1],
    ] as const) {
      const { recovery, looks, work } = start();
      let count = 0;
      const reading = recovery.beside(work(), async () => ++count);
      expect(count).toBe(1);
      if (finished === undefined) looks[0]?.end.reject(new Error('of the test'));
      else looks[0]?.end.resolve(finished);
      expect(await reading).toBe(reads);
    }
  });

  it('repeats a read that failed meanwhile, and throws what a read throws otherwise', async () => {
    for (const recovered of ['finished', 'idle'] as const) {
      const { recovery, looks, work } = start();
      const failure = new MemoryError('not_found', 'nothing there');
      let count = 0;
      const reading = recovery.beside(work(), async () => {
        if (count++ === 0) throw failure;
        return 'read';
      });
      looks[0]?.end.resolve(recovered);
      if (recovered === 'finished') expect(await reading).toBe('read');
      else await expect(reading).rejects.toBe(failure);
      expect(count).toBe(recovered === 'finished' ? 2 : 1);
    }
  });

  it('repeats no read that begins when the rename is finished already', async () => {
    const { recovery, looks, work } = start();
    const waiting = recovery.before(work());
    looks[0]?.end.resolve('finished');
    await waiting;
    let count = 0;
    expect(await recovery.beside(work(), async () => ++count)).toBe(1);
    expect(looks).toHaveLength(1);
  });

  it('looks again after the lease of a rename that was under way, once', async () => {
    const { recovery, looks, time, work } = start();
    for (const round of [1, 2]) {
      const first = recovery.before(work());
      looks.at(-1)?.end.resolve('under_way');
      await first;
      time.now += LEASE_MS - 1;
      await recovery.before(work());
      expect(looks).toHaveLength(round);
      time.now += 1;
    }
    const last = [recovery.before(work()), recovery.before(work())];
    looks.at(-1)?.end.resolve('idle');
    await Promise.all(last);
    time.now += 10 * LEASE_MS;
    await recovery.before(work());
    expect(looks).toHaveLength(3);
  });

  it('looks again after a failure, whose innermost reason it tells the operator', async () => {
    const { recovery, looks, logged, work } = start();
    const cause = new MemoryError('timeout', 'slow', { cause: new Error('of the network') });
    for (const [error, code] of [
      [new MemoryError('unavailable', 'not finished', { cause }), 'timeout'],
      [new Error('of the test'), 'unavailable'],
    ] as const) {
      const waiting = recovery.before(work());
      looks.at(-1)?.end.reject(error);
      await waiting;
      expect(logged.at(-1)).toEqual({ code });
    }
    expect(looks).toHaveLength(2);
  });
});

describeOnBothKinds('a process whose first command writes', (newSite) => {
  const LATER = at('/memories/later');
  it.each<readonly [string, (client: TestClient, version: ETag) => Promise<unknown>]>([
    ['create', ({ tree }) => tree.create(at('/memories/new'), bytes('new'))],
    ['overwrite', ({ tree }) => tree.overwrite(LATER, bytes('two'))],
    ['replace', ({ tree }, version) => tree.replace(LATER, { content: bytes('two'), version })],
    ['edit', (client) => client.append(LATER, ' two')],
    ['remove', (client) => client.remove(LATER)],
    ['rename', (client) => client.rename(LATER, '/memories/new')],
  ])('finishes the rename that a process which is gone has begun: %s', async (_, command) => {
    const site = await newSite();
    const dying = await site.client();
    await dying.create('/memories/from/a', 'a');
    const version = await dying.tree.create(LATER, bytes('one'));
    let isDead = false;
    dying.intercept((call, proceed) => {
      isDead ||= call.verb === 'delete';
      return isDead ? Promise.reject(noAnswer()) : proceed();
    });
    await dying.rename('/memories/from', '/memories/to').catch(() => {});
    await site.time.pause(LEASE_MS + 1_000);
    const client = await site.client();
    await command(client, version);
    // This look finishes nothing.
    const { files } = await listDirectory(await client.open(), MEMORY_ROOT);
    const paths = files.map(({ path }) => path).filter((path) => path.includes('/a'));
    expect(paths).toEqual(['/memories/to/a']);
  });
});
