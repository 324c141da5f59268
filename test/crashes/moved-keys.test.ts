import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { describeMovedKeys } from '../contracts/moved-keys.ts';
import { amount } from '../runner/thorough.ts';
import { siteInDirectory } from './lifecycle-sites.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-moved-'));
afterAll(() => rmSync(directory, { recursive: true }));

const step = process.env['KILLS'] === 'all' ? 1 : amount({ usual: 6, thorough: 2 });
describeMovedKeys('SQLite', siteInDirectory(directory), { step });
