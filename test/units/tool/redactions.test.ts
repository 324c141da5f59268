import { expect, it, vi } from 'vitest';
import { sumRules, watchRedactions } from '../../../src/tool/redactions.ts';

const finding = (rule: string) => ({ rule }) as never;

it('sums the findings of each rule, in the order in which the rules come first', () => {
  expect(sumRules([])).toEqual([]);
  expect(
    sumRules([
      { rule: 'b', findings: 2 },
      { rule: 'a', findings: 1 },
      { rule: 'b', findings: 3 },
    ]),
  ).toEqual([
    { rule: 'b', findings: 5 },
    { rule: 'a', findings: 1 },
  ]);
});

it('notes the last word of a policy, passes every one on, and leaves the other options as they are', () => {
  const onRedacted = vi.fn();
  const { options, redacted } = watchRedactions({ actor: 'me', onRedacted });
  expect(options.actor).toBe('me');
  expect(redacted()).toBeUndefined();
  options.onRedacted?.([finding('a')], 7);
  options.onRedacted?.([finding('b'), finding('a'), finding('b')], 5);
  expect(redacted()).toEqual({
    rules: [
      { rule: 'b', findings: 2 },
      { rule: 'a', findings: 1 },
    ],
    bytes: 5,
  });
  expect(onRedacted.mock.calls.map(([findings, bytes]) => [findings.length, bytes])).toEqual([
    [1, 7],
    [3, 5],
  ]);
});

it('notes it also for a caller who does not listen', () => {
  const { options, redacted } = watchRedactions({});
  options.onRedacted?.([], 0);
  expect(redacted()).toEqual({ rules: [], bytes: 0 });
});
