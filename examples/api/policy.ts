import { randomBytes } from 'node:crypto';
import type {
  Policy,
  PolicyFile,
  PolicyFinding,
  PolicyInput,
  PolicyVerdict,
  RedactedRule,
} from 'sealed-memory';
import { openMemory } from 'sealed-memory';

const decoder = new TextDecoder();
const noCodenames: Policy = ({ content }: PolicyFile): PolicyVerdict => {
  const text = content === undefined ? '' : decoder.decode(content);
  if (!text.includes('Bluebird')) return 'allow';
  const findings: readonly PolicyFinding[] = [{ rule: 'codename' }];
  return { redact: Buffer.from(text.replaceAll('Bluebird', '[redacted: codename]')), findings };
};

const policy: PolicyInput = noCodenames;
await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32), policy });
const { redacted } = await memory.files.write('/memories/launch.md', 'Bluebird launches in May.');
const rules = redacted?.map(({ rule, findings }: RedactedRule) => `${rule}: ${findings}`);
console.log(rules);
