import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** The share by which a figure may be off before it has to be written again. */
const TOLERANCE = 0.1;

/** The mebibytes in each folder of `node_modules`, and in all of them; what runs keep there is left out. */
function installed(): { readonly parts: ReadonlyMap<string, number>; readonly all: number } {
  const rows = execFileSync('du', ['-k', '--apparent-size', '-d', '1', 'node_modules/'], { encoding: 'utf8' })
    .trim()
    .split('\n');
  const sizes = rows.map((row): readonly [string, number] => {
    const [kibibytes, path = ''] = row.split('\t');
    return [path.replace(/^node_modules\/*/, ''), Number(kibibytes) / 1024];
  });
  const kept = sizes.filter(([name]) => name.startsWith('.') && name !== '.bin');
  const parts = new Map(sizes.filter(([name]) => name !== '' && !name.startsWith('.')));
  const whole = sizes.find(([name]) => name === '')?.[1] ?? 0;
  return { parts, all: whole - kept.reduce((sum, [, size]) => sum + size, 0) };
}

function expectAbout(size: number | undefined, told: string | undefined, name: string): void {
  const off = Math.abs((size ?? 0) / Number(told) - 1);
  expect(off, `${name} is ${size?.toFixed(0)} MB, and told as ${told}`).toBeLessThan(TOLERANCE);
}

// The programs among the packages differ from machine to machine.
it.runIf(process.platform === 'linux' && process.arch === 'x64')(
  'testing.md says how large an install is, and its five largest parts',
  () => {
    const page = readFileSync('docs/testing.md', 'utf8');
    const [, all, list = ''] = /`npm ci` installs (\d+) MB[^:]*: ([^.]*)\./.exec(page) ?? [];
    const told = [...list.matchAll(/`([^`]+)` (\d+)/g)];
    expect(told).toHaveLength(5);
    const { parts, all: size } = installed();
    expectAbout(size, all, 'all');
    for (const [, name = '', figure] of told) expectAbout(parts.get(name), figure, name);
    const smallest = Math.min(...told.map(([, , figure]) => Number(figure)));
    const names = told.map(([, name]) => name);
    const larger = [...parts].filter(
      ([name, each]) => !names.includes(name) && each > smallest * (1 + TOLERANCE),
    );
    expect(larger).toEqual([]);
  },
);
