import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRecent } from '../src/recent.ts';

describe('what was used last', () => {
  it('stays within the bound, and the others go, longest ago first, whatever is done in whichever order', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd');
    const step = fc.oneof(
      fc.record({ verb: fc.constant('get' as const), key }),
      fc.record({ verb: fc.constant('delete' as const), key }),
      fc.record({ verb: fc.constant('set' as const), key, size: fc.integer({ min: 1, max: 7 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 12 }), (steps, most) => {
        const left: number[] = [];
        let expectedLeft: number[] = [];
        let model: { key: string; id: number; size: number }[] = [];
        const sizes = new Map<number, number>();
        const recent = createRecent<string, number>({
          most,
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
            while (model.reduce((sum, { size }) => sum + size, 0) > most) {
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

  it('is counted in entries unless sizes are given', () => {
    const recent = createRecent<string, number>({ most: 2 });
    for (const [value, key] of ['a', 'b', 'c'].entries()) recent.set(key, value);
    expect([...recent.keys()]).toEqual(['b', 'c']);
  });
});
