import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { createTombstone } from '../../../src/format/tombstone.ts';
import { isResentConflict, resentConflict } from '../../../src/store/port.ts';
import {
  type Around,
  atFirst,
  countCalls,
  loseAnswer,
  noAnswer,
  type StoreCall,
} from '../../stage/store-wrappers.ts';
import { bytesOf, create, KEY, openSite } from './guarded-site.ts';

const down = (): Promise<never> => Promise.reject(new MemoryError('unavailable', 'down'));
const lost = (): Promise<never> => Promise.reject(noAnswer());

describe('what a guarded delete concludes from the answers to its tombstone', () => {
  it('sends it three times where no answer comes and the version is there, and then does not know', async () => {
    const { store, base, calls } = openSite((call, proceed) => (call.verb === 'put' ? lost() : proceed()));
    const ifMatch = await create(base, 'first');
    await expect(store.delete([{ key: KEY, ifMatch }])).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(countCalls(calls)).toEqual({ put: 3, get: 3 });
  });

  it('sends one and the same tombstone every time', async () => {
    const sent = new Set<string>();
    const { store, base } = openSite((call, proceed) => {
      if (call.verb === 'put') sent.add(String(call.body));
      return call.verb === 'put' ? lost() : proceed();
    });
    const ifMatch = await create(base, 'first');
    await store.delete([{ key: KEY, ifMatch }]).catch(() => {});
    expect(sent.size).toBe(1);
  });

  it('recognizes a tombstone of its own that arrived late, behind the answer to a later one', async () => {
    let late: (() => Promise<unknown>) | undefined;
    const { store, base } = openSite(async (call, proceed) => {
      if (call.verb !== 'put') return proceed();
      if (late === undefined) {
        late = proceed;
        throw noAnswer();
      }
      await late();
      return proceed();
    });
    const ifMatch = await create(base, 'first');
    expect(await store.delete([{ key: KEY, ifMatch }])).toEqual([]);
    expect(await base.head(KEY)).toBeUndefined();
  });

  it('takes no other process’s tombstone for its own, and sends no DELETE for it', async () => {
    const { store, base, calls, time } = openSite(
      atFirst('put', async () => {
        await base.put(KEY, createTombstone(time.randomBytes), { mode: 'overwrite' });
        throw noAnswer();
      }),
    );
    const ifMatch = await create(base, 'first');
    await expect(store.delete([{ key: KEY, ifMatch }])).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(countCalls(calls)).toEqual({ put: 1, get: 1 });
  });

  it('takes no object for its tombstone that merely begins like it', async () => {
    const { store, base } = openSite(async (call) => {
      if (call.verb === 'put') {
        await base.put(KEY, Uint8Array.of(...call.body, 0), { mode: 'overwrite' });
        throw noAnswer();
      }
      return base.get(KEY) as never;
    });
    const ifMatch = await create(base, 'first');
    await expect(store.delete([{ key: KEY, ifMatch }])).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect((await base.head(KEY))?.size).toBe(41);
  });

  it('does not know whether what it finds behind a resent tombstone is its own deed', async () => {
    for (const there of ['nothing', 'tombstone', 'file']) {
      const { store, base, time } = openSite(
        atFirst('put', async () => {
          if (there === 'nothing') await base.delete([{ key: KEY }]);
          else {
            const body = there === 'file' ? bytesOf('newer') : createTombstone(time.randomBytes);
            await base.put(KEY, body, { mode: 'overwrite' });
          }
          throw resentConflict();
        }),
      );
      const ifMatch = await create(base, 'first');
      await expect(store.delete([{ key: KEY, ifMatch }])).rejects.toSatisfy(isResentConflict);
      const other = { key: 'data/other' as ObjectKey };
      expect(await store.delete([{ key: KEY, ifMatch }, other])).toEqual([
        { key: KEY, conflict: there === 'file' ? 'changed' : 'missing' },
      ]);
    }
  });

  it('tells a version that was replaced from one that is gone, where it was sent once', async () => {
    for (const [there, conflict] of [
      ['nothing', 'missing'],
      ['tombstone', 'missing'],
      ['file', 'changed'],
    ] as const) {
      for (const vanishes of [false, true]) {
        const { store, base, time } = openSite(
          atFirst('put', async <T>(proceed: () => Promise<T>) => {
            if (vanishes) return { conflict: 'changed' } as T;
            return proceed();
          }),
        );
        const ifMatch = await create(base, 'first');
        if (there === 'nothing') await base.delete([{ key: KEY }]);
        else {
          const body = there === 'file' ? bytesOf('newer') : createTombstone(time.randomBytes);
          await base.put(KEY, body, { mode: 'overwrite' });
        }
        expect(await store.delete([{ key: KEY, ifMatch }])).toEqual([{ key: KEY, conflict }]);
      }
    }
  });

  it('passes on that nothing was sent, as long as nothing was', async () => {
    const { store, base, calls } = openSite(atFirst('put', down));
    const ifMatch = await create(base, 'first');
    await expect(store.delete([{ key: KEY, ifMatch }])).rejects.toMatchObject({ code: 'unavailable' });
    expect(countCalls(calls)).toEqual({ put: 1 });
  });

  it('does not know the outcome when a later attempt, or the look at the object, fails', async () => {
    const secondPut = (): Around => {
      let puts = 0;
      return (call, proceed) => {
        if (call.verb !== 'put') return proceed();
        return puts++ === 0 ? lost() : down();
      };
    };
    const look: Around = (call: StoreCall, proceed) => {
      if (call.verb === 'put') return loseAnswer(proceed);
      return call.verb === 'get' ? down() : proceed();
    };
    for (const around of [secondPut(), look]) {
      const { store, base } = openSite(around);
      const ifMatch = await create(base, 'first');
      await expect(store.delete([{ key: KEY, ifMatch }])).rejects.toMatchObject({
        code: 'outcome_unknown',
        cause: { code: 'unavailable' },
      });
    }
  });
});
