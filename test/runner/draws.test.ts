import { globSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawsOf, seedOfRun } from './draws.ts';

describe('seedOfRun', () => {
  it.each(['true', '1'])('is the same in every run of CI: CI=%s', (CI) => {
    expect(new Set(Array.from({ length: 20 }, () => seedOfRun({ CI }))).size).toBe(1);
  });

  it('is another one in every run of a developer', () => {
    expect(new Set(Array.from({ length: 20 }, () => seedOfRun({}))).size).toBe(20);
  });

  it.each([{}, { CI: 'true' }])('is the one that TEST_SEED names: %j', (environment) => {
    expect(seedOfRun({ ...environment, TEST_SEED: '7' })).toBe(7);
    expect(seedOfRun({ ...environment, TEST_SEED: '0' })).toBe(0);
  });

  it.each(['today', '-1', '1.5', '2147483648'])('refuses a TEST_SEED that is none: %s', (TEST_SEED) => {
    expect(() => seedOfRun({ TEST_SEED })).toThrow(`TEST_SEED=${TEST_SEED} is no whole number`);
  });
});

describe('the draws of a run', () => {
  it('are those of fast-check too, which have the seed that is told when a test fails', () => {
    expect(fc.readConfigureGlobal().seed).toBe(Number(process.env['TEST_SEED']));
    const draw = (): readonly string[] => fc.sample(fc.string(), 20);
    expect(draw()).toEqual(draw());
  });

  it('are the only ones: no test asks Math.random', () => {
    const files = globSync('{test,bench}/**/*.ts', { exclude: (path) => /node_modules/.test(path) });
    expect(files.length).toBeGreaterThan(300);
    expect(files.filter((file) => /\bMath\.random\(/.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('are the same for the same name, and others for another', () => {
    const draw = (name: string): readonly number[] => Array.from({ length: 5 }, drawsOf(name));
    expect(draw('turns')).toEqual(draw('turns'));
    expect(draw('turns')).not.toEqual(draw('bytes'));
  });
});
