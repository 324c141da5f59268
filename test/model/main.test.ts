import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const ROW =
  /row\(Guard::(\w+), Subject::\w+, "[^"]+",\s+(?:Some\("(?<file>[^#"]+)#(?<name>\w+)"\)|None),\s+"(?<says>[^"]+)"\)/g;

interface Guard {
  readonly guard: string;
  readonly file: string | undefined;
  readonly name: string | undefined;
}

/** The rows of the model's table, with the names that its command line knows them by. */
function guards(): readonly Guard[] {
  const source = readFileSync(join(import.meta.dirname, 'src/guards.rs'), 'utf8');
  return [...source.matchAll(ROW)].map(({ 1: name = '', groups = {} }) => ({
    guard: name.replaceAll(/(?<!^)([A-Z])/g, '-$1').toLowerCase(),
    file: groups['file'],
    name: groups['name'],
  }));
}

function runWithoutCargo(ci: string): ReturnType<typeof spawnSync> {
  const options = { env: { ...process.env, PATH: '/nowhere', CI: ci }, encoding: 'utf8' } as const;
  return spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts')], options);
}

describe('the formal model', () => {
  it('has at least 20 guards, and each row that is no assumption names code that is there', () => {
    const rows = guards();
    expect(rows.length).toBeGreaterThanOrEqual(20);
    expect(new Set(rows.map(({ guard }) => guard)).size).toBe(rows.length);
    for (const { guard, file, name } of rows) {
      if (file === undefined || name === undefined) continue;
      const path = join(ROOT, file);
      expect(existsSync(path), `${guard}: ${file}`).toBe(true);
      expect(readFileSync(path, 'utf8'), `${guard}: ${file}`).toMatch(new RegExp(`\\b${name}\\b`));
    }
  });

  it('is told in docs/protocols.md row by row', () => {
    const told = readFileSync(join(ROOT, 'docs/protocols.md'), 'utf8').split('\n');
    for (const { guard, file, name } of guards()) {
      const carried = file === undefined ? 'assumed' : `\`${name}\` in \`${file}\``;
      const row = told.find((line) => line.startsWith(`| \`${guard}\` |`));
      expect(row, guard).toMatch(new RegExp(`\\| ${carried.replaceAll('.', '\\.')} \\|$`));
    }
  });

  it('says in one sentence how to get cargo where it is missing, and fails only with CI=true', () => {
    const [here, inCi] = [runWithoutCargo(''), runWithoutCargo('true')];
    expect(here.stdout).toMatch(/^The formal model did NOT RUN: .*cargo.*\.\n$/);
    expect(inCi.stdout).toBe(here.stdout);
    expect([here.status, inCi.status]).toStrictEqual([0, 1]);
  });
});
