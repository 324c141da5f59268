import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRecent } from '../../src/recent.ts';

describe('what was used last', () => {
  it('stays within the bound, and the others go, longest ago first, whatever is done in whichever order', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd');
    const step = fc.oneof(
      fc.record({ verb: fc.constant('get' as const), key }),
      fc.record({ verb: fc.constant('delete' as const), key }),
      fc.record({ verb: fc.constant('set' as const), key, size: fc.integer({ min: 1, max: 7 }) }),
    );
    const bounds = fc.record({
      most: fc.integer({ min: 1, max: 12 }),
      least: fc.constantFrom(undefined, 1, 2, 3),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), bounds, (steps, { most, least }) => {
        const left: number[] = [];
        let expectedLeft: number[] = [];
        let model: { key: string; id: number; size: number }[] = [];
        const sizes = new Map<number, number>();
        const recent = createRecent<string, number>({
          most,
          ...(least !== undefined && { least }),
          sizeOf: (id) => sizes.get(id) ?? Number.NaN,
          dispose: (id) => left.push(id),
        });
        for (const [id, step] of steps.entries()) {
          const known = model.find((entry) => entry.key === step.key);
          const others = model.filter((entry) => entry !== known);
          if (step.verb === 'get') {
            expect(recent.get(step.key)).toBe(known?.id);
            model = known === undefined ? others : [...others, known];
            continue;
          }
          if (known !== undefined) expectedLeft = [...expectedLeft, known.id];
          model = others;
          if (step.verb === 'delete') recent.delete(step.key);
          else {
            sizes.set(id, step.size);
            recent.set(step.key, id);
            model = [...model, { key: step.key, id, size: step.size }];
            while (model.length > (least ?? 1) && model.reduce((sum, { size }) => sum + size, 0) > most) {
              const [oldest, ...rest] = model;
              if (oldest !== undefined) expectedLeft = [...expectedLeft, oldest.id];
              model = rest;
            }
          }
          expect([...recent.keys()]).toEqual(model.map((entry) => entry.key));
          expect(left).toEqual(expectedLeft);
        }
      }),
    );
  });

  it.each([
    ['one below the bound', 9, ['small', 'new']],
    ['exactly at the bound', 10, ['new']],
    ['one above the bound', 11, ['new']],
    ['far above the bound', 1_000, ['new']],
  ])('holds a new entry: %s', (_, size, held) => {
    const recent = createRecent<string, number>({ most: 10, sizeOf: (value) => value });
    recent.set('small', 1);
    recent.set('new', size);
    expect([...recent.keys()]).toEqual(held);
    // An entry that was too large goes as soon as there is another one.
    recent.set('next', 1);
    expect(recent.get('new')).toBe(size < 10 ? size : undefined);
  });

  it('is held, too, of the last that are to stay', () => {
    const recent = createRecent<string, number>({ most: 10, least: 2, sizeOf: (value) => value });
    for (const [key, value] of Object.entries({ a: 20, b: 30, c: 1 })) recent.set(key, value);
    expect([...recent.keys()]).toEqual(['b', 'c']);
    recent.get('b');
    recent.set('d', 1);
    expect([...recent.keys()]).toEqual(['b', 'd']);
  });

  it('is counted in entries unless sizes are given', () => {
    const recent = createRecent<string, number>({ most: 2 });
    for (const [value, key] of ['a', 'b', 'c'].entries()) recent.set(key, value);
    expect([...recent.keys()]).toEqual(['b', 'c']);
  });
});
