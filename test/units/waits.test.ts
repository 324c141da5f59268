import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { beginWait, type LongWait, onLongWait, tellLongWait, toldIfLong } from '../../src/waits.ts';

describe('a wait', () => {
  let told: LongWait[];
  let end: () => void;
  beforeEach(() => {
    vi.useFakeTimers();
    told = [];
    end = onLongWait((wait) => told.push(wait));
  });
  afterEach(() => {
    end();
    vi.useRealTimers();
  });

  it('is told once, when it has lasted for a second, with what is left of it', () => {
    const tell = beginWait('rename', { ms: 60_000, clock: Date.now });
    for (let round = 0; round < 12; round++) {
      tell();
      vi.advanceTimersByTime(250);
      if (round < 3) expect(told).toEqual([]);
    }
    expect(told).toEqual([{ for: 'rename', leftMs: 59_000 }]);
  });

  it('for one answer is told while it lasts, and not where it comes soon', async () => {
    const slowly = (ms: number) => () => new Promise((resolve) => setTimeout(() => resolve(ms), ms));
    const bounds = { ms: 50_000, tellAfterMs: 1_000 };
    const soon = toldIfLong('KMS', bounds, slowly(900));
    await vi.advanceTimersByTimeAsync(2_000);
    expect([await soon, told]).toEqual([900, []]);
    const late = toldIfLong('KMS', bounds, slowly(5_000));
    await vi.advanceTimersByTimeAsync(1_500);
    expect(told).toEqual([{ for: 'KMS', leftMs: 49_000 }]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect([await late, told.length]).toEqual([5_000, 1]);
  });

  it('is told to nobody who has ceased to listen', () => {
    end();
    tellLongWait({ for: 'lock', leftMs: 0 });
    expect(told).toEqual([]);
  });
});
