import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { describeLifecycleCrashes } from '../contracts/lifecycle-crashes.ts';
import { describeLifecycleLife } from '../contracts/lifecycle-life.ts';
import { amount } from '../runner/thorough.ts';
import { siteInDirectory } from './lifecycle-sites.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-lifecycle-'));
afterAll(() => rmSync(directory, { recursive: true }));

const newSite = siteInDirectory(directory);
describeLifecycleCrashes('SQLite', { newSite, kills: amount({ usual: 1, thorough: 10 }) });
describeLifecycleLife('SQLite', newSite);
