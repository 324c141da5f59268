import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import {
  type PersonalData,
  type SensitiveInformationOptions,
  sensitiveInformation,
} from 'sealed-memory/policy';

const personal: readonly PersonalData[] = ['email', 'iban'];
const options: SensitiveInformationOptions = { personal, invisible: true, action: 'redact' };
const policy = sensitiveInformation(options);

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32), policy });
await memory.files.write('/memories/people.md', 'Ada: ada@example.com');
console.log((await memory.files.read('/memories/people.md'))?.text());
