import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import type { Policy, PolicyFile, PolicyFinding, PolicyVerdict } from 'sealed-memory/policy';
import { sensitiveInformation } from 'sealed-memory/policy';

const noSecrets = sensitiveInformation();
const tooLong: readonly PolicyFinding[] = [{ rule: 'long-name' }];

/** A policy of one's own beside that of the library. */
const policy: Policy = async (file: PolicyFile): Promise<PolicyVerdict> =>
  file.path.length > 100 ? { refuse: tooLong } : noSecrets(file);

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32), policy });
const path = `/memories/${'very-'.repeat(20)}long.md`;
console.log(await memory.files.write(path, 'text').catch(String));
