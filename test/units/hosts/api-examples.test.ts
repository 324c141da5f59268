import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { EXAMPLES, runExamples } from '../../api-reference/examples.ts';

describe('the examples of the API reference for frameworks', () => {
  beforeAll(() => void vi.spyOn(console, 'log').mockReturnValue());
  afterAll(() => void vi.restoreAllMocks());

  it('are there', () => expect(runExamples('of hosts').length).toBeGreaterThan(5));

  it.each(runExamples('of hosts'))('run to their end: %s', async (file) => {
    await import(/* @vite-ignore */ `${EXAMPLES}${file}`);
  });
});
