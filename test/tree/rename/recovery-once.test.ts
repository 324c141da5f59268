import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { LogFields } from '../../../src/logger.ts';
import { createRecovery, type Recovery } from '../../../src/tree/rename/recovery.ts';
import type { RenameRegister } from '../../../src/tree/rename/rename-register.ts';
import type { OpenVault } from '../../../src/tree/session.ts';

describe('the recovery of a vault', () => {
  /** A register of which each look has its own end. */
  function start(): {
    recovery: Recovery;
    looks: { readonly vault: OpenVault; readonly end: PromiseWithResolvers<boolean> }[];
    logged: (LogFields | undefined)[];
    vault: (signal?: AbortSignal) => OpenVault;
  } {
    const looks: { vault: OpenVault; end: PromiseWithResolvers<boolean> }[] = [];
    const logged: (LogFields | undefined)[] = [];
    const recover = (vault: OpenVault): Promise<boolean> => {
      const end = Promise.withResolvers<boolean>();
      looks.push({ vault, end });
      return end.promise;
    };
    const logger = { warn: (_: string, fields?: LogFields) => void logged.push(fields) };
    const vault = (signal?: AbortSignal): OpenVault => ({ logger, signal }) as unknown as OpenVault;
    return { recovery: createRecovery({ recover } as RenameRegister), looks, logged, vault };
  }

  it('looks once for all commands, and not with the signal of the first', async () => {
    const { recovery, looks, vault } = start();
    const both = [recovery.before(vault(new AbortController().signal)), recovery.before(vault())];
    looks[0]?.end.resolve(true);
    await Promise.all(both);
    await recovery.before(vault());
    expect(looks).toHaveLength(1);
    expect(looks[0]?.vault.signal).toBeUndefined();
  });

  it('is waited for before a command, for as long as its caller waits', async () => {
    const { recovery, looks, vault } = start();
    let isOver = false;
    const waiting = recovery.before(vault()).then(() => {
      isOver = true;
    });
    const controller = new AbortController();
    const aborted = expect(recovery.before(vault(controller.signal))).rejects.toMatchObject({
      code: 'aborted',
    });
    controller.abort();
    await aborted;
    expect(isOver).toBe(false);
    looks[0]?.end.resolve(false);
    await waiting;
  });

  it('goes on beside a read, which is repeated only where something was finished', async () => {
    for (const [finished, reads] of [
      [true, 2],
      [false, 1],
      [undefined, 1],
    ] as const) {
      const { recovery, looks, vault } = start();
      let count = 0;
      const reading = recovery.beside(vault(), async () => ++count);
      expect(count).toBe(1);
      if (finished === undefined) looks[0]?.end.reject(new Error('of the test'));
      else looks[0]?.end.resolve(finished);
      expect(await reading).toBe(reads);
    }
  });

  it('repeats a read that failed meanwhile, and throws what a read throws otherwise', async () => {
    for (const finished of [true, false]) {
      const { recovery, looks, vault } = start();
      const failure = new MemoryError('not_found', 'nothing there');
      let count = 0;
      const reading = recovery.beside(vault(), async () => {
        if (count++ === 0) throw failure;
        return 'read';
      });
      looks[0]?.end.resolve(finished);
      if (finished) expect(await reading).toBe('read');
      else await expect(reading).rejects.toBe(failure);
      expect(count).toBe(finished ? 2 : 1);
    }
  });

  it('looks again after a failure, whose innermost reason it tells the operator', async () => {
    const { recovery, looks, logged, vault } = start();
    const cause = new MemoryError('timeout', 'slow', { cause: new Error('of the network') });
    for (const [error, code] of [
      [new MemoryError('unavailable', 'not finished', { cause }), 'timeout'],
      [new Error('of the test'), 'unavailable'],
    ] as const) {
      const waiting = recovery.before(vault());
      looks.at(-1)?.end.reject(error);
      await waiting;
      expect(logged.at(-1)).toEqual({ code });
    }
    expect(looks).toHaveLength(2);
  });
});
