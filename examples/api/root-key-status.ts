import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { ConfiguredRootKey, RewrapOptions, RewrapReport, RootKeyStatus } from 'sealed-memory';
import { openAdmin, openMemory } from 'sealed-memory';

const store = `sqlite:${mkdtempSync(`${tmpdir()}/memory-`)}/store.sqlite`;
const [former, next] = [randomBytes(32), randomBytes(32)];
await using memory = await openMemory({ store, tenant: 'acme', rootKey: former });
await memory.files.write('/memories/launch.md', 'The launch is in May.');

await using admin = await openAdmin({ store, tenant: 'acme', rootKey: [next, former] });
const rewrap: RewrapOptions = { signal: AbortSignal.timeout(60_000) };
const { rewrapped, rootId }: RewrapReport = await admin.rewrapRoot(rewrap);
const { rootKeys }: RootKeyStatus = await admin.rootKeyStatus();
const unused: readonly ConfiguredRootKey[] = rootKeys.filter(({ wraps }) => !wraps);
console.log(rewrapped, rootId, `no longer needed for this tenant: ${unused.map(({ id }) => id)}`);
